/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of frames share: blocks that a sanitizer can watch, and the checksum that damage must not trip over. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "dpswitch/edge/frame/checksum.h"
#include "dpswitch/edge/frame/frame.h"

#define AT_IP 14 /* offsets in an untagged frame */
#define AT_UDP 34
#define AT_BTH 42

struct bytes {
	uint8_t *data;
	size_t size;
};

/* Every frame gets a block of its own, so that a sanitizer sees each byte read behind it. */
static inline struct bytes
copy_of(const uint8_t *data, size_t size)
{
	struct bytes copy = { malloc(size), size };

	memcpy(copy.data, data, size);
	return copy;
}

static inline void
fix_ip_checksum(uint8_t *frame)
{
	uint16_t sum;

	memset(frame + AT_IP + 10, 0, 2);
	sum = checksum_fold(checksum_add(0, frame + AT_IP, 20));
	frame[AT_IP + 10] = (uint8_t)(sum >> 8);
	frame[AT_IP + 11] = (uint8_t)sum;
}

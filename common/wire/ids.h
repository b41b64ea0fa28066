/* SPDX-License-Identifier: BSD-3-Clause */
/* Ids of nodes, ports and flows in records, and in data that is not written yet. */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"

#define REC_NONE UINT32_MAX /* no node */
#define REC_NO_PORT UINT16_MAX
#define REC_NAME_LEN 32

/* A flow as headers show it. The protocol is UDP. */
struct rec_tuple {
	uint32_t src_ip, dst_ip;
	uint16_t sport, dport;
	uint32_t reserved;
};

WIRE_AT(rec_tuple, 0, src_ip)
WIRE_AT(rec_tuple, 4, dst_ip)
WIRE_AT(rec_tuple, 8, sport)
WIRE_AT(rec_tuple, 10, dport)
WIRE_AT(rec_tuple, 12, reserved)
WIRE_SIZE(rec_tuple, 16)

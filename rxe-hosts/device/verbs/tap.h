/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A packet socket (packet(7)) on the network device below soft-RoCE: frames of datagrams with contents, with the kernel's times. Who
 * may not open one goes without.
 */
#pragma once

#include <stdint.h>

#include "rxe-hosts/device/verbs/stamps.h"

struct tap {
	int fd; /* -1: none */
	struct stamps *stamps;
	uint64_t to_now_ns,
		gap_ns; /* what CLOCK_REALTIME lacks of clock_now_ns(), and how long reading both took at best */
};

/*
 * @param netdev  its name
 * @return 0, or negative errno: of socket(2), -EPERM without CAP_NET_RAW, -ENODEV
 */
int tap_open(struct tap *tap, const char *netdev);
void tap_close(struct tap *tap);
/* Takes all frames that are there. */
void tap_drain(struct tap *tap);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of a switch's port by class that neither its links nor its telemetry keep: rare events, and peaks. Written by
 * the stage that each comment names; read, and peaks reset, between windows.
 */
#pragma once

#include <stdint.h>

#include "telemetry/pause_count.h"

struct port_counts {
	uint64_t peak_bytes[8]; /* of the egress queue, since it was last reset: transmit.c */
	struct {
		uint64_t packets, bytes;
	} marked[8],                             /* ECN, by this egress: transmit.c */
		dropped[8];                      /* for any reason that the port counts: switch.c */
	struct pause_count received[8], sent[8]; /* by the peer: switch.c; by this port, of its peer: account.c */
	uint8_t touched;                         /* bit p: class p was marked, dropped or paused since it was last reset */
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A port whose peer is a stopwatch: it sends one frame at a time, stamped with the machine's clock, and where such a
 * frame comes out, at this or another port, notes how long it took.
 */
#pragma once

#include "dpswitch/edge/port/port.h"

#define PROBE_SAMPLES 65536

/* Shared by the ports that belong together. */
struct probe {
	const uint8_t *frame; /* to send; the stamp goes to stamp_at, 8 bytes */
	uint32_t frame_bytes, stamp_at;
	uint64_t interval_ns; /* between two frames */
	uint32_t taken;       /* samples so far */
	uint32_t taken_ns[PROBE_SAMPLES];
};

/*
 * @param sends  this port sends, else it only takes
 * @return NULL with err set: -ENOMEM
 */
struct port *port_probe_create(const struct port_config *config, struct probe *probe, bool sends, struct err *err);

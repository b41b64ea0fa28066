/* SPDX-License-Identifier: BSD-3-Clause */
/* The epochs of one port of four, with three flows. For one test program each. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/units.h"
#include "common/wire/record_hdr.h"
#include "telemetry/epochs.h"

static struct flow flows[3] = {
	{ .src_ip = 1, .dst_ip = 2, .sport = 10, .dport = 20 },
	{ .src_ip = 3, .dst_ip = 4, .sport = 30, .dport = 40 },
	{ .src_ip = 5, .dst_ip = 6, .sport = 50, .dport = 60 },
};
static const struct flow_table table = { .flows = flows, .count = 3 };
static const struct telem_config config = { .epoch_ps = PS_PER_MS, .kept = 3, .nports = 4 };

static const struct telem_present nothing;
static struct port_flows port_flows;

static inline void
init(struct epochs *t, const struct telem_config *with, uint16_t port)
{
	port_flows_init(&port_flows, &table);
	assert_int_equal(epochs_init(t, with, &port_flows, port), 0);
}

static inline void
fini(struct epochs *t)
{
	epochs_fini(t);
	port_flows_fini(&port_flows);
}

/* The i-th record of a kind in a buffer, NULL if there are fewer. */
static inline const void *
nth(const struct recbuf *buf, uint16_t type, int n)
{
	for (size_t at = 0; at < buf->used_bytes;) {
		const struct rec_hdr *hdr = (const void *)(buf->data + at);

		if (hdr->type == type && n-- == 0)
			return hdr;
		at += hdr->size;
	}
	return NULL;
}

static inline void
enqueue(struct epochs *t, uint32_t flow, uint16_t in, uint32_t bytes, uint32_t depth, bool paused)
{
	uint32_t slot = port_flows_slot(&port_flows, flow);

	epochs_reserve(t, slot + 1);
	epochs_enqueue(t, slot, flows[flow].prio, in, bytes, depth, paused);
}

static inline void
report(struct epochs *t, const struct telem_present *present, struct recbuf *buf, uint32_t event, uint64_t now_ps)
{
	const struct telem_query query = {
		.extent = TELEM_ROWS, .event = event, .now_ps = now_ps, .present = present, .kept = true
	};

	epochs_report(t, &query, buf);
}

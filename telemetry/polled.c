/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/polled.h"

#include "common/wire/record.h"

bool
polled_before(struct polled *polled, uint32_t event)
{
	uint32_t known = polled->count < POLLED_EVENTS ? polled->count : POLLED_EVENTS;

	for (uint32_t i = 0; i < known; i++)
		if (polled->events[i] == event)
			return true;
	polled->events[polled->count++ % POLLED_EVENTS] = event;
	return false;
}

void
polled_record(const struct pkt *poll, const struct flow_table *flows, uint16_t in_port, uint16_t out_port, bool paused,
	      bool repeated, struct recbuf *records, uint64_t now_ps)
{
	struct rec_poll rec;

	if (poll->arg & POLL_QUIET)
		return;
	rec = (struct rec_poll){
		.hdr.event = poll->psn,
		.victim = flow_tuple(&flows->flows[poll->flow]),
		.in_port = in_port,
		.out_port = out_port,
		.flags = (uint16_t)poll->arg,
		.out_paused = paused,
		.repeated = repeated,
		.ttl = poll->ttl,
	};
	recbuf_put(records, &rec, REC_POLL, sizeof(rec), now_ps);
}

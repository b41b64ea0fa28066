/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry/polled.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/record.h"

int
polled_init(struct polled *polled, bool host)
{
	polled->sets = host ? 1 : POLLED_SETS;
	polled->ways = host ? POLLED_HOST_WAYS : POLLED_WAYS;
	polled->events = calloc((size_t)polled->sets * polled->ways, sizeof(*polled->events));
	return polled->events != NULL ? 0 : -ENOMEM;
}

void
polled_fini(struct polled *polled)
{
	free(polled->events);
	*polled = (struct polled){ 0 };
}

uint8_t
polled_fresh(struct polled *polled, uint32_t event, uint8_t flags)
{
	uint32_t index = (uint32_t)((event * 0x9e3779b97f4a7c15ULL) >> 32) % polled->sets;
	struct polled_event *set = polled->events + (size_t)index * polled->ways;

	for (uint32_t i = 0; i < polled->ways; i++) {
		if (set[i].event == event) {
			uint8_t fresh = flags & (uint8_t)~set[i].flags;

			set[i].flags |= flags;
			return fresh;
		}
	}
	memmove(set + 1, set, (polled->ways - 1) * sizeof(*set));
	set[0] = (struct polled_event){ event, flags };
	return flags;
}

void
polled_record(const struct pkt *poll, const struct flow_table *flows, uint16_t in_port, uint16_t out_port, bool paused,
	      bool repeated, struct recbuf *records, uint64_t now_ps)
{
	struct rec_poll rec;

	if (poll->arg & POLL_QUIET)
		return;
	rec = (struct rec_poll){
		.hdr.event = poll->id,
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

void
polled_passage(const struct pkt *poll, const struct flow_table *flows, struct rec_passage *rec, struct recbuf *records,
	       uint64_t now_ps)
{
	rec->hdr.event = poll->id;
	rec->flow = flow_tuple(&flows->flows[poll->flow]);
	recbuf_put(records, rec, REC_PASSAGE, sizeof(*rec), now_ps);
}

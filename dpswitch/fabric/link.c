/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/fabric/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"
#include "dpswitch/fabric/link_counts.h"

void
link_send_pause(struct link *link, uint32_t parity, uint8_t prio_mask, bool xoff, uint64_t done_ps)
{
	struct link_lane *lane = &link->lane[parity];

	if (link->down)
		return;
	assert(lane->npauses < link->pause_cap);
	lane->pauses[lane->npauses++] = (struct pause_frame){
		.time_ps = done_ps + link->delay_ps,
		.prio_mask = prio_mask,
		.xoff = xoff,
	};
}

struct link_passed
link_passed(const struct link *link, const struct pkt *p)
{
	uint64_t behind = link->ready_filled - (uint64_t)(p - link->ready);

	assert(p >= link->ready && p < link->ready + link->ready_filled);
	return (struct link_passed){ link->sent_frames - behind, link->received_frames - behind };
}

uint32_t
link_arrivals(struct link *link, uint64_t end_ps, struct pkt **pkts)
{
	uint32_t lo = link->ready_head, hi = link->ready_tail;

	*pkts = link->ready + lo;
	if (lo == hi || link->ready[hi - 1].time_ps < end_ps)
		return hi - lo;
	/* The usual leftover is a frame or two: look from the end. */
	while (hi > lo && link->ready[hi - 1].time_ps >= end_ps) {
		if (hi - lo > 64 && link->ready[hi - 64].time_ps >= end_ps)
			hi -= 63;
		hi--;
	}
	return hi - lo;
}

uint32_t
link_pauses(const struct link *link, uint64_t end_ps, const struct pause_frame **pauses)
{
	uint32_t n = 0, left = link->pauses_tail - link->pauses_head;

	*pauses = link->ready_pauses + link->pauses_head;
	while (n < left && (*pauses)[n].time_ps < end_ps)
		n++;
	return n;
}

void
link_consume(struct link *link, uint32_t npkts, uint32_t npauses)
{
	link->ready_head += npkts;
	link->pauses_head += npauses;
	if (link->ready_head == link->ready_tail)
		link->ready_head = link->ready_tail = 0;
}

void
link_in_flight(const struct link *link, uint64_t *packets, uint64_t *bytes)
{
	for (uint32_t i = link->ready_head; i < link->ready_tail; i++, (*packets)++)
		*bytes += link->ready[i].wire_bytes;
	for (uint32_t lane = 0; lane < 2; lane++)
		for (uint32_t i = 0; i < link->lane[lane].npkts; i++, (*packets)++)
			*bytes += link->lane[lane].pkts[i].wire_bytes;
}

/* Everything on the cable is lost. */
static void
release_all(struct link *link)
{
	for (uint32_t i = link->ready_head; i < link->ready_tail; i++)
		body_release(link->bodies, &link->ready[i]);
	for (uint32_t lane = 0; lane < 2; lane++)
		for (uint32_t i = 0; i < link->lane[lane].npkts; i++)
			body_release(link->bodies, &link->lane[lane].pkts[i]);
}

void
link_set_down(struct link *link, bool down)
{
	link->down = down;
	if (!down)
		return;
	link_in_flight(link, &link->down_packets, &link->down_bytes);
	release_all(link);
	link->received_frames -= link->ready_tail - link->ready_head;
	link->received_bytes -= link_bytes_of(link->ready + link->ready_head, link->ready_tail - link->ready_head);
	link_count_pauses(link->received_pauses, link->ready_pauses + link->pauses_head,
			  link->pauses_tail - link->pauses_head, UINT64_MAX);
	link->ready_head = link->ready_tail = link->ready_filled = 0;
	link->pauses_head = link->pauses_tail = 0;
	for (uint32_t lane = 0; lane < 2; lane++) {
		link->sent_frames += link->lane[lane].npkts;
		link->sent_bytes += link_bytes_of(link->lane[lane].pkts, link->lane[lane].npkts);
		link_count_pauses(link->sent_pauses, link->lane[lane].pauses, link->lane[lane].npauses, 1);
		link->lane[lane].npkts = link->lane[lane].npauses = 0;
	}
}

uint64_t
link_ready_ps(const struct link *link)
{
	uint64_t pkt = link->ready_head < link->ready_tail ? link->ready[link->ready_head].time_ps : TIME_NEVER;
	uint64_t pause = link->pauses_head < link->pauses_tail ? link->ready_pauses[link->pauses_head].time_ps : TIME_NEVER;

	return pkt < pause ? pkt : pause;
}

uint64_t
link_sent_ps(const struct link *link, uint32_t parity)
{
	const struct link_lane *lane = &link->lane[parity];
	uint64_t pkt = lane->npkts != 0 ? lane->pkts[0].time_ps : TIME_NEVER;
	uint64_t pause = lane->npauses != 0 ? lane->pauses[0].time_ps : TIME_NEVER;

	return pkt < pause ? pkt : pause;
}

int
link_init(struct link *link, const struct link_config *config)
{
	uint64_t frame_ps = units_serialize_ps(config->min_frame_bytes, config->rate_bps, config->quantum_ps);
	uint64_t pause_ps = units_serialize_ps(config->pause_bytes, config->rate_bps, config->quantum_ps);

	memset(link, 0, sizeof(*link));
	link->rate_bps = config->rate_bps;
	link->quantum_ps = config->quantum_ps;
	link->delay_ps = config->delay_ps;
	link->rx_port = config->rx_port;
	link->inband = config->inband;
	link->bodies = config->bodies;
	link->pause_ps = pause_ps != 0 ? pause_ps : 1;
	frame_ps = frame_ps != 0 ? frame_ps : 1;
	/* Frames that start in one window, plus the one that was under way; pauses that fall due in it. */
	link->lane_cap = (uint32_t)(config->window_ps / frame_ps) + 2;
	/* A receiver asks for XOFF once an arrival at most, for XON once each; a storm as fast as the wire takes it. */
	link->pause_cap = 2 * link->lane_cap + (uint32_t)(config->window_ps / link->pause_ps) + 32;
	/* What a cable as long as the window holds, twice so that compaction is rare; a longer one grows them. */
	link->ready_cap = LINK_LEAD + 4 * link->lane_cap;
	link->pauses_cap = 4 * link->pause_cap;
	link->ready = malloc(link->ready_cap * sizeof(*link->ready));
	link->ready_pauses = malloc(link->pauses_cap * sizeof(*link->ready_pauses));
	if (config->inband)
		link->ready_ints = malloc(link->ready_cap * sizeof(*link->ready_ints));
	for (uint32_t lane = 0; lane < 2; lane++) {
		struct pkt *pkts = malloc((LINK_LEAD + link->lane_cap) * sizeof(*pkts));

		link->lane[lane].pkts = pkts != NULL ? pkts + LINK_LEAD : NULL;
		link->lanes_cap[lane] = LINK_LEAD + link->lane_cap;
		link->lane[lane].pauses = malloc(link->pause_cap * sizeof(struct pause_frame));
		if (config->inband)
			link->lane_ints[lane] = malloc(link->lane_cap * sizeof(struct int_header));
		if (link->lane[lane].pkts == NULL || link->lane[lane].pauses == NULL ||
		    (config->inband && link->lane_ints[lane] == NULL))
			goto fail;
	}
	if (link->ready == NULL || link->ready_pauses == NULL || (config->inband && link->ready_ints == NULL))
		goto fail;
	link->flows = config->flows;
	link->loss_stream = pkt_chance_stream(config->seed, PKT_CHANCE_LOSS, config->id);
	link->corruption_stream = pkt_chance_stream(config->seed, PKT_CHANCE_CORRUPTION, config->id);
	link->delay_stream = pkt_chance_stream(config->seed, PKT_CHANCE_DELAY, config->id);
	return 0;
fail:
	link_fini(link);
	return -ENOMEM;
}

void
link_fini(struct link *link)
{
	release_all(link);
	for (uint32_t lane = 0; lane < 2; lane++) {
		if (link->lane[lane].pkts != NULL)
			free(link->lane[lane].pkts - LINK_LEAD);
		free(link->lane[lane].pauses);
		free(link->lane_ints[lane]);
	}
	free(link->ready);
	free(link->ready_ints);
	free(link->ready_pauses);
	memset(link, 0, sizeof(*link));
}

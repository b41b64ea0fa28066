/* SPDX-License-Identifier: BSD-3-Clause */
/* The receiver's end of a link: what was sent in the window before is taken in, and faults act. */
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/units.h"
#include "dpswitch/fabric/link_counts.h"

/* Makes room at the tail of the ready queue: what is left moves to the front, where the cache is warm. */
static void
link_compact(struct link *link)
{
	uint32_t left = link->ready_tail - link->ready_head;

	if (link->ready_head != 0 && (left <= 16 || link->ready_tail + link->lane_cap > link->ready_cap)) {
		memmove(link->ready, link->ready + link->ready_head, left * sizeof(*link->ready));
		if (link->inband)
			memmove(link->ready_ints, link->ready_ints + link->ready_head, left * sizeof(*link->ready_ints));
		link->ready_head = 0;
		link->ready_tail = left;
	}
}

/* @return the array with room for need elements, moved or not; *cap doubles */
static void *
widened(void *array, uint32_t *cap, uint32_t need, size_t elem_bytes)
{
	if (__builtin_expect(need <= *cap, 1))
		return array;
	while (*cap < need)
		*cap *= 2;
	array = realloc(array, *cap * elem_bytes);
	if (array == NULL)
		log_fatal("out of memory for %u frames on a cable", *cap);
	return array;
}

/*
 * Room for a lane at the end of the ready queue. Frames on a cable are bounded by its delay and rate. Not so PAUSE
 * frames: a port whose accounting changes its mind with every small frame asks for them faster than they can leave.
 */
static void
link_reserve(struct link *link, const struct link_lane *lane)
{
	uint32_t held, need, cap = link->ready_cap;

	link_compact(link);
	/* Twice what it holds, so that compaction is rare. */
	held = 2 * (link->ready_tail - link->ready_head + lane->npkts);
	need = link->ready_tail + lane->npkts;
	need = held > need ? held : need;
	link->ready = widened(link->ready, &link->ready_cap, need, sizeof(*link->ready));
	if (link->inband)
		link->ready_ints = widened(link->ready_ints, &cap, need, sizeof(*link->ready_ints));
}

static void
link_reserve_pauses(struct link *link, const struct link_lane *lane)
{
	uint32_t left = link->pauses_tail - link->pauses_head;

	if (link->pauses_head != 0) {
		memmove(link->ready_pauses, link->ready_pauses + link->pauses_head, left * sizeof(*link->ready_pauses));
		link->pauses_head = 0;
		link->pauses_tail = left;
	}
	if (lane->npauses != 0)
		link->ready_pauses = widened(link->ready_pauses, &link->pauses_cap, link->pauses_tail + lane->npauses,
					     sizeof(*link->ready_pauses));
}

/* @param unit  its chance @return when something arrives that a whole cable would bring at time_ps */
static uint64_t
link_stretch(const struct link *link, uint64_t time_ps, double unit)
{
	return time_ps + link->extra_ps + (uint64_t)(unit * (double)link->jitter_ps);
}

/*
 * A cable keeps the order of its frames, and brings none faster than its rate, however its length changes: what a window can
 * hold is counted on.
 * @param p  at the tail of the ready queue
 */
static void
link_stretch_frame(struct link *link, struct pkt *p)
{
	uint64_t free_ps = 0;

	if (link->ready_tail != link->ready_head)
		free_ps = p[-1].time_ps + units_serialize_ps(p->wire_bytes, link->rate_bps, link->quantum_ps);
	p->time_ps = link_stretch(link, p->time_ps, pkt_chance(link->delay_stream, link->flows, p));
	if (p->time_ps < free_ps)
		p->time_ps = free_ps;
}

static void
link_stretch_pause(struct link *link, struct pause_frame *pause)
{
	uint64_t before_ps = link->pauses_tail != link->pauses_head ? pause[-1].time_ps : 0;

	pause->time_ps = link_stretch(link, pause->time_ps, pkt_chance_unit(prng_mix(link->delay_stream ^ pause->time_ps)));
	if (pause->time_ps < before_ps)
		pause->time_ps = before_ps;
}

static void
link_receive_faulty(struct link *link, const struct link_lane *lane, const struct int_header *ints)
{
	link->faulty_packets += lane->npkts;
	for (uint32_t i = 0; i < lane->npkts; i++) {
		struct pkt *p = &link->ready[link->ready_tail];

		if (link->loss > 0 && pkt_chance(link->loss_stream, link->flows, &lane->pkts[i]) < link->loss) {
			link->injected_packets++;
			link->injected_bytes += lane->pkts[i].wire_bytes;
			link->received_frames += link->silent;
			link->received_bytes += link->silent ? lane->pkts[i].wire_bytes : 0;
			body_release(link->bodies, &lane->pkts[i]);
			continue;
		}
		*p = lane->pkts[i];
		if (ints != NULL)
			link->ready_ints[link->ready_tail] = ints[i];
		if (link->stretched)
			link_stretch_frame(link, p);
		if (link->corruption > 0 &&
		    pkt_chance(link->corruption_stream, link->flows, &lane->pkts[i]) < link->corruption) {
			p->flags |= PKT_CORRUPT;
			link->corrupted_packets++;
			link->damaged = true;
		}
		link->received_bytes += p->wire_bytes;
		link->ready_tail++;
	}
}

/* What a lane holds becomes the ready queue, behind the few frames that are left there. */
static void
link_swap(struct link *link, uint32_t parity, uint32_t left)
{
	struct link_lane *lane = &link->lane[parity];
	struct pkt *ready = link->ready;
	uint32_t cap = link->ready_cap;

	memcpy(lane->pkts - left, ready + link->ready_head, left * sizeof(*ready));
	link->ready = lane->pkts - LINK_LEAD;
	link->ready_cap = link->lanes_cap[parity];
	link->ready_head = LINK_LEAD - left;
	link->ready_tail = LINK_LEAD + lane->npkts;
	lane->pkts = ready + LINK_LEAD;
	link->lanes_cap[parity] = cap;
}

/* @param parity  of the lane. @return frames that come in */
static uint32_t
link_take_frames(struct link *link, uint32_t parity, uint64_t bytes)
{
	const struct link_lane *lane = &link->lane[parity];
	uint32_t left = link->ready_tail - link->ready_head, arrived;
	const struct int_header *ints = link->inband ? link->lane_ints[parity] : NULL;
	bool faulty = link->loss > 0 || link->corruption > 0 || link->stretched;

	link->received_bytes += faulty ? 0 : bytes;
	if (__builtin_expect(!faulty && ints == NULL && left <= LINK_LEAD && left <= lane->npkts, 1)) {
		link_swap(link, parity, left);
		return lane->npkts;
	}
	link_reserve(link, lane);
	arrived = link->ready_tail;
	if (faulty) {
		link_receive_faulty(link, lane, ints);
	} else {
		memcpy(link->ready + link->ready_tail, lane->pkts, lane->npkts * sizeof(*lane->pkts));
		if (ints != NULL)
			memcpy(link->ready_ints + link->ready_tail, ints, lane->npkts * sizeof(*ints));
		link->ready_tail += lane->npkts;
	}
	return link->ready_tail - arrived;
}

static void
link_take_pauses(struct link *link, const struct link_lane *lane)
{
	link_reserve_pauses(link, lane);
	for (uint32_t i = 0; i < lane->npauses; i++) {
		struct pause_frame *pause = &link->ready_pauses[link->pauses_tail];

		*pause = lane->pauses[i];
		if (__builtin_expect(link->stretched, 0))
			link_stretch_pause(link, pause);
		link->pauses_tail++;
	}
	link_count_pauses(link->sent_pauses, lane->pauses, lane->npauses, 1);
	link_count_pauses(link->received_pauses, lane->pauses, lane->npauses, 1);
}

void
link_receive(struct link *link, uint32_t parity)
{
	struct link_lane *lane = &link->lane[parity ^ 1];
	uint32_t npkts = lane->npkts;
	uint64_t bytes;

	if (npkts == 0 && lane->npauses == 0)
		return;
	if (link->stretched && link->extra_ps == 0 && link->jitter_ps == 0 && link->ready_head == link->ready_tail &&
	    link->pauses_head == link->pauses_tail)
		link->stretched = false;
	if (npkts != 0) {
		bytes = link_bytes_of(lane->pkts, npkts);
		link->received_frames += link_take_frames(link, parity ^ 1, bytes);
		link->sent_bytes += bytes;
	}
	if (__builtin_expect(lane->npauses != 0, 0))
		link_take_pauses(link, lane);
	link->sent_frames += npkts;
	link->ready_filled = link->ready_tail;
	lane->npkts = 0;
	lane->npauses = 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/fabric/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/minmax.h"
#include "common/pkt_chance.h"
#include "common/units.h"

/* Room that arrays begin with: frames of full size of some microseconds, and the few PAUSE frames of most ports. */
#define FIRST_FRAMES 32
#define FIRST_PAUSES 8

/* What both files of a link count. */

/*
 * Counts of 802.1Qbb frames that one end has sent, or that have arrived at the other. @param step  1, or -1: they have
 * not
 */
static inline void
link_count_pauses(uint64_t of_class[8], const struct pause_frame *pauses, uint32_t count, uint64_t step)
{
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t classes = pauses[i].prio_mask; classes != 0; classes &= classes - 1)
			of_class[__builtin_ctz(classes)] += step;
}

static inline uint64_t
link_bytes_of(const struct pkt *pkts, uint32_t count)
{
	const struct pkt *end = pkts + count;
	uint64_t bytes = 0;

	if (count % 2 != 0)
		bytes = pkts++->wire_bytes;
	for (; pkts != end; pkts += 2) /* each frame costs as much as the loop itself */
		bytes += (uint32_t)pkts[0].wire_bytes + pkts[1].wire_bytes;
	return bytes;
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

void
link_widen(struct link *link, uint32_t parity)
{
	struct link_lane *lane = &link->lane[parity];
	uint32_t room = LINK_LEAD + link->lane_room[parity];

	assert(lane->npkts < link->lane_cap);
	lane->pkts = (struct pkt *)widened(lane->pkts - LINK_LEAD, &room, room + 1, sizeof(*lane->pkts)) + LINK_LEAD;
	link->lane_room[parity] = min_u32(room - LINK_LEAD, link->lane_cap);
}

void
link_send_pause(struct link *link, uint32_t parity, uint8_t prio_mask, bool xoff, uint64_t done_ps)
{
	struct link_lane *lane = &link->lane[parity];

	if (link->down)
		return;
	assert(lane->npauses < link->pause_cap);
	lane->pauses = widened(lane->pauses, &link->pause_room[parity], lane->npauses + 1, sizeof(*lane->pauses));
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
	/* Frames that start in one window, plus the one in flight; pauses that fall due in it. */
	link->lane_cap = (uint32_t)(config->window_ps / frame_ps) + 2;
	/* A receiver asks for XOFF once an arrival at most, for XON once each; a storm as fast as the wire takes it. */
	link->pause_cap = 2 * link->lane_cap + (uint32_t)(config->window_ps / link->pause_ps) + 32;
	/* Arrays begin with room for a window of full frames, and grow. */
	link->ready_cap = LINK_LEAD + min_u32(link->lane_cap, FIRST_FRAMES);
	link->pauses_cap = FIRST_PAUSES;
	link->ready = malloc(link->ready_cap * sizeof(*link->ready));
	link->ready_pauses = malloc(link->pauses_cap * sizeof(*link->ready_pauses));
	if (config->inband)
		link->ready_ints = malloc(link->ready_cap * sizeof(*link->ready_ints));
	for (uint32_t lane = 0; lane < 2; lane++) {
		struct pkt *pkts = malloc(link->ready_cap * sizeof(*pkts));

		link->lane[lane].pkts = pkts != NULL ? pkts + LINK_LEAD : NULL;
		link->lane_room[lane] = link->ready_cap - LINK_LEAD;
		link->pause_room[lane] = FIRST_PAUSES;
		link->lane[lane].pauses = malloc(FIRST_PAUSES * sizeof(struct pause_frame));
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

/* The receiver's end of a link: frames sent in the window before are taken in, and faults act. */

/* Makes room at the tail of the ready queue: the rest moves to the front, where the cache is warm. */
static void
link_compact(struct link *link, uint32_t room)
{
	uint32_t left = link->ready_tail - link->ready_head;

	if (link->ready_head != 0 && (left <= 16 || link->ready_tail + room > link->ready_cap)) {
		memmove(link->ready, link->ready + link->ready_head, left * sizeof(*link->ready));
		if (link->inband)
			memmove(link->ready_ints, link->ready_ints + link->ready_head, left * sizeof(*link->ready_ints));
		link->ready_head = 0;
		link->ready_tail = left;
	}
}

/*
 * Room for a lane at the end of the ready queue. Frames on a cable are bounded by its delay and rate. Not so PAUSE
 * frames: a port whose accounting changes its mind with every small frame asks for them faster than they can leave.
 */
static void
link_reserve(struct link *link, const struct link_lane *lane)
{
	uint32_t held, need, cap = link->ready_cap;

	link_compact(link, lane->npkts);
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
 * A cable keeps the order of its frames, and brings none faster than its rate, however its length changes: what a
 * window can hold is counted on.
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
static inline void
link_swap(struct link *link, uint32_t parity, uint32_t left)
{
	struct link_lane *lane = &link->lane[parity];
	struct pkt *ready = link->ready;
	uint32_t cap = link->ready_cap;

	for (uint32_t i = 0; i < left; i++)
		lane->pkts[(int64_t)i - left] = ready[link->ready_head + i];
	link->ready = lane->pkts - LINK_LEAD;
	link->ready_cap = LINK_LEAD + link->lane_room[parity];
	link->ready_head = LINK_LEAD - left;
	link->ready_tail = LINK_LEAD + lane->npkts;
	lane->pkts = ready + LINK_LEAD;
	link->lane_room[parity] = min_u32(cap - LINK_LEAD, link->lane_cap);
}

/*
 * A lane with faults or headers, or behind more frames than it has room for: copied. Not inlined: the usual lane needs few
 * registers.
 */
static __attribute__((noinline)) uint32_t
link_copy(struct link *link, uint32_t parity, bool faulty)
{
	const struct link_lane *lane = &link->lane[parity];
	const struct int_header *ints = link->inband ? link->lane_ints[parity] : NULL;
	uint32_t arrived;

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

/* @param parity  of the lane. @return frames that arrive */
static inline uint32_t
link_take_frames(struct link *link, uint32_t parity, uint64_t bytes)
{
	const struct link_lane *lane = &link->lane[parity];
	uint32_t left = link->ready_tail - link->ready_head;
	bool faulty = link->loss > 0 || link->corruption > 0 || link->stretched;

	link->received_bytes += faulty ? 0 : bytes;
	if (__builtin_expect(faulty || link->inband || left > LINK_LEAD || left > lane->npkts, 0))
		return link_copy(link, parity, faulty);
	link_swap(link, parity, left);
	return lane->npkts;
}

static __attribute__((noinline)) void
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

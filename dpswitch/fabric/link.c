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
#define FIRST_ARRAYS 64

/* Arrays of frames. */

static _Noreturn void
no_memory(uint32_t frames)
{
	log_fatal("out of memory for %u frames on a cable", frames);
}

static __attribute__((noinline)) struct link_frames
frames_new(void)
{
	struct link_frames frames = { .room = FIRST_FRAMES };

	frames.pkts = malloc((LINK_LEAD + FIRST_FRAMES) * sizeof(*frames.pkts));
	if (frames.pkts == NULL)
		no_memory(FIRST_FRAMES);
	frames.pkts += LINK_LEAD;
	return frames;
}

/* @return an array from the pool, or a new one */
static inline struct link_frames
frames_take(struct link_pool *pool)
{
	return __builtin_expect(pool != NULL && pool->count != 0, 1) ? pool->free[--pool->count] : frames_new();
}

static __attribute__((noinline)) void
pool_grow(struct link_pool *pool)
{
	pool->cap = pool->cap != 0 ? 2 * pool->cap : FIRST_ARRAYS;
	pool->free = realloc(pool->free, pool->cap * sizeof(*pool->free));
	if (pool->free == NULL)
		log_fatal("out of memory for %u cables", pool->cap);
}

static inline void
pool_push(struct link_pool *pool, struct link_frames frames)
{
	if (__builtin_expect(pool->count == pool->cap, 0))
		pool_grow(pool);
	pool->free[pool->count++] = frames;
}

static void
frames_free(struct link_frames frames)
{
	if (frames.pkts != NULL)
		free(frames.pkts - LINK_LEAD);
}

static inline void
frames_give(struct link_pool *pool, struct link_frames frames)
{
	if (pool != NULL)
		pool_push(pool, frames);
	else
		frames_free(frames);
}

/* @return the array with room for need frames or more, moved or not */
static __attribute__((noinline)) struct link_frames
frames_widen(struct link_frames frames, uint32_t need)
{
	while (frames.room < need)
		frames.room *= 2;
	frames.pkts = realloc(frames.pkts - LINK_LEAD, (LINK_LEAD + frames.room) * sizeof(*frames.pkts));
	if (frames.pkts == NULL)
		no_memory(frames.room);
	frames.pkts += LINK_LEAD;
	return frames;
}

void
link_pool_fini(struct link_pool *pool)
{
	while (pool->count != 0)
		frames_free(pool->free[--pool->count]);
	free(pool->free);
	*pool = (struct link_pool){ 0 };
}

void
link_pool_even(struct link_pool *a, struct link_pool *b)
{
	struct link_pool *from = a->count > b->count ? a : b, *to = from == a ? b : a;

	for (uint32_t n = (from->count - to->count) / 2; n != 0; n--)
		pool_push(to, from->free[--from->count]);
}

/* Counters that both files of a link update. */

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

#define MANY_FRAMES 65536 /* of 65,535 bytes at most: the sum of so many fits 32 bits */

/* The bytes of a lane's frames: the sender's sum. It saves the receiver a loop whose end no processor foresees. */
static inline uint64_t
link_lane_bytes(const struct link *link, uint32_t parity)
{
	const struct link_lane *lane = &link->lane[parity];

	return __builtin_expect(lane->npkts <= MANY_FRAMES, 1) ? link->lane_bytes[parity]
							       : link_bytes_of(lane->pkts, lane->npkts);
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
		no_memory(*cap);
	return array;
}

/* The array of a lane that is full, or none that a pool has. @return false: the link is down */
static __attribute__((noinline)) bool
widen(struct link *link, uint32_t parity)
{
	struct link_lane *lane = &link->lane[parity];
	struct link_frames frames;

	if (link->down)
		return false;
	if (lane->room == 0) {
		frames = frames_take(link->pool);
	} else {
		assert(lane->npkts < link->lane_cap);
		frames = frames_widen((struct link_frames){ lane->pkts, lane->room }, lane->room + 1);
	}
	lane->pkts = frames.pkts;
	lane->room = frames.room;
	return true;
}

bool
link_widen(struct link *link, uint32_t parity)
{
	return widen(link, parity);
}

static __attribute__((noinline)) void
send_wider(struct link *link, uint32_t parity, const struct pkt *p, uint64_t done_ps)
{
	if (widen(link, parity)) {
		link_send(link, parity, p, done_ps);
		return;
	}
	link->down_packets++;
	link->down_bytes += p->wire_bytes;
	body_release(link->bodies, p);
}

void
link_send_wider(struct link *link, uint32_t parity, const struct pkt *p, uint64_t done_ps)
{
	struct link_lane *lane = &link->lane[parity];
	struct link_pool *pool = link->pool;
	struct link_frames frames;

	/* The first frame of a window takes the array that was read last: all that the usual call does. */
	if (__builtin_expect(link->down || lane->room != 0 || pool == NULL || pool->count == 0, 0)) {
		send_wider(link, parity, p, done_ps);
		return;
	}
	frames = pool->free[--pool->count];
	lane->room = frames.room;
	lane->npkts = 1;
	link->lane_bytes[parity] = p->wire_bytes;
	lane->pkts = frames.pkts;
	*frames.pkts = *p;
	frames.pkts->time_ps = done_ps + link->delay_ps;
}

void
link_send_pause(struct link *link, uint32_t parity, uint8_t prio_mask, bool xoff, uint64_t done_ps)
{
	uint32_t at = link->npauses[parity];

	if (link->down)
		return;
	assert(at < link->pause_cap);
	link->lane_pauses[parity] =
		widened(link->lane_pauses[parity], &link->pause_room[parity], at + 1, sizeof(*link->lane_pauses[parity]));
	link->lane_pauses[parity][at] = (struct pause_frame){
		.time_ps = done_ps + link->delay_ps,
		.prio_mask = prio_mask,
		.xoff = xoff,
	};
	link->npauses[parity]++;
	link->pauses_sent[parity] = true;
}

struct link_passed
link_passed(const struct link *link, const struct pkt *p)
{
	const struct pkt *end = link->ready + link->ready_head + link->nready;

	assert(p >= link->ready && p < end);
	return (struct link_passed){ link->sent_frames - (uint64_t)(end - p), link->received_frames - (uint64_t)(end - p) };
}

uint32_t
link_arrivals_before(const struct link *link, uint64_t end_ps)
{
	const struct pkt *first = link->ready + link->ready_head;
	uint32_t n = link->nready;

	/* The usual leftover is a frame or two: look from the end. */
	while (n > 0 && first[n - 1].time_ps >= end_ps) {
		if (n > 64 && first[n - 64].time_ps >= end_ps)
			n -= 63;
		n--;
	}
	return n;
}

uint32_t
link_pauses_before(const struct link *link, uint64_t end_ps)
{
	const struct pause_frame *pauses = link->ready_pauses + link->pauses_head;
	uint32_t n = 0;

	while (n < link->nready_pauses && pauses[n].time_ps < end_ps)
		n++;
	return n;
}

/* Gives the drained ready array to the next sender. Headers beside it make it the link's own. */
static inline void
give_ready_back(struct link *link)
{
	if (link->ready == NULL || link->inband)
		return;
	frames_give(link->rx_pool, (struct link_frames){ link->ready + LINK_LEAD, link->ready_room });
	link->ready = NULL;
}

void
link_consumed(struct link *link)
{
	give_ready_back(link);
}

void
link_in_flight(const struct link *link, uint64_t *packets, uint64_t *bytes)
{
	for (uint32_t i = 0; i < link->nready; i++, (*packets)++)
		*bytes += link->ready[link->ready_head + i].wire_bytes;
	for (uint32_t lane = 0; lane < 2; lane++)
		for (uint32_t i = 0; i < link->lane[lane].npkts; i++, (*packets)++)
			*bytes += link->lane[lane].pkts[i].wire_bytes;
}

/* Everything on the cable is lost. */
static void
release_all(struct link *link)
{
	for (uint32_t i = 0; i < link->nready; i++)
		body_release(link->bodies, &link->ready[link->ready_head + i]);
	for (uint32_t lane = 0; lane < 2; lane++)
		for (uint32_t i = 0; i < link->lane[lane].npkts; i++)
			body_release(link->bodies, &link->lane[lane].pkts[i]);
}

void
link_set_rate(struct link *link, uint64_t rate_bps)
{
	uint64_t pause_ps = units_serialize_ps(link->pause_bytes, rate_bps, link->quantum_ps);

	link->rate_bps = rate_bps;
	link->pause_ps = pause_ps != 0 ? pause_ps : 1;
}

void
link_set_loss(struct link *link, double share)
{
	link->loss = share;
	link->lossy = link->loss > 0 || link->corruption > 0;
}

void
link_set_corruption(struct link *link, double share, uint64_t burst_ps)
{
	link->corruption = share;
	link->burst_ps = burst_ps;
	link->lossy = link->loss > 0 || link->corruption > 0;
}

void
link_empty_lane(struct link *link, uint32_t parity)
{
	struct link_lane *lane = &link->lane[parity];

	link->sent_frames += lane->npkts;
	link->sent_bytes += link_lane_bytes(link, parity);
	link_count_pauses(link->sent_pauses, link->lane_pauses[parity], link->npauses[parity], 1);
	lane->npkts = link->lane_bytes[parity] = link->npauses[parity] = 0;
	link->pauses_sent[parity] = false;
}

void
link_set_down(struct link *link, bool down)
{
	link->down = down;
	if (!down)
		return;
	link_in_flight(link, &link->down_packets, &link->down_bytes);
	release_all(link);
	link->received_frames -= link->nready;
	if (link->nready != 0)
		link->received_bytes -= link_bytes_of(link->ready + link->ready_head, link->nready);
	link_count_pauses(link->received_pauses, link->ready_pauses + link->pauses_head, link->nready_pauses, UINT64_MAX);
	link->ready_head = link->nready = 0;
	link->pauses_head = link->nready_pauses = 0;
	link->pauses_ready = false;
	give_ready_back(link);
	for (uint32_t i = 0; i < 2; i++) {
		struct link_lane *lane = &link->lane[i];

		link_empty_lane(link, i);
		if (lane->room != 0)
			frames_give(link->pool, (struct link_frames){ lane->pkts, lane->room });
		*lane = (struct link_lane){ 0 };
	}
}

uint64_t
link_ready_ps(const struct link *link)
{
	uint64_t pkt = link->nready != 0 ? link->ready[link->ready_head].time_ps : TIME_NEVER;
	uint64_t pause = link->pauses_ready ? link->ready_pauses[link->pauses_head].time_ps : TIME_NEVER;

	return pkt < pause ? pkt : pause;
}

uint64_t
link_sent_ps(const struct link *link, uint32_t parity)
{
	const struct link_lane *lane = &link->lane[parity];
	uint64_t pkt = lane->npkts != 0 ? lane->pkts[0].time_ps : TIME_NEVER;
	uint64_t pause = link->npauses[parity] != 0 ? link->lane_pauses[parity][0].time_ps : TIME_NEVER;

	return pkt < pause ? pkt : pause;
}

int
link_init(struct link *link, const struct link_config *config)
{
	uint64_t frame_ps = units_serialize_ps(config->min_frame_bytes, config->rate_bps, config->quantum_ps);

	memset(link, 0, sizeof(*link));
	link->quantum_ps = config->quantum_ps;
	link->delay_ps = config->delay_ps;
	link->rx_port = config->rx_port;
	link->inband = config->inband;
	link->bodies = config->bodies;
	link->pause_bytes = config->pause_bytes;
	link_set_rate(link, config->rate_bps);
	frame_ps = frame_ps != 0 ? frame_ps : 1;
	/* Frames that start in one window, plus the one in flight; pauses that fall due in it. */
	link->lane_cap = (uint32_t)(config->window_ps / frame_ps) + 2;
	/* A receiver asks for XOFF once an arrival at most, for XON once each; a storm as fast as the wire takes it. */
	link->pause_cap = 2 * link->lane_cap + (uint32_t)(config->window_ps / link->pause_ps) + 32;
	/* Arrays begin small, and grow. */
	link->pauses_cap = FIRST_PAUSES;
	link->ready_pauses = malloc(FIRST_PAUSES * sizeof(*link->ready_pauses));
	link->ints_cap = FIRST_FRAMES;
	if (config->inband)
		link->ready_ints = malloc(link->ints_cap * sizeof(*link->ready_ints));
	for (uint32_t lane = 0; lane < 2; lane++) {
		link->pause_room[lane] = FIRST_PAUSES;
		link->lane_pauses[lane] = malloc(FIRST_PAUSES * sizeof(struct pause_frame));
		if (config->inband)
			link->lane_ints[lane] = malloc(link->lane_cap * sizeof(struct int_header));
		if (link->lane_pauses[lane] == NULL || (config->inband && link->lane_ints[lane] == NULL))
			goto fail;
	}
	if (link->ready_pauses == NULL || (config->inband && link->ready_ints == NULL))
		goto fail;
	link->pool = link->rx_pool = config->pool;
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
		frames_free((struct link_frames){ link->lane[lane].pkts, 0 });
		free(link->lane_pauses[lane]);
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
	uint32_t left = link->nready;

	if (link->ready_head != 0 && (left <= 16 || link->ready_head + left + room > LINK_LEAD + link->ready_room)) {
		memmove(link->ready, link->ready + link->ready_head, left * sizeof(*link->ready));
		if (link->inband)
			memmove(link->ready_ints, link->ready_ints + link->ready_head, left * sizeof(*link->ready_ints));
		link->ready_head = 0;
	}
}

/*
 * Room for a lane at the end of the ready queue. Frames on a cable are bounded by its delay and rate. Not so PAUSE
 * frames: a port whose accounting changes its mind with every small frame asks for them faster than they can leave.
 */
static void
link_reserve(struct link *link, const struct link_lane *lane)
{
	struct link_frames frames;
	uint32_t held, need;

	if (link->ready == NULL) {
		frames = frames_take(link->rx_pool);
	} else {
		link_compact(link, lane->npkts);
		frames = (struct link_frames){ link->ready + LINK_LEAD, link->ready_room };
	}
	/* Twice what it holds, so that compaction is rare. */
	held = 2 * (link->nready + lane->npkts);
	need = max_u32(held, link->ready_head + link->nready + lane->npkts);
	if (need > frames.room)
		frames = frames_widen(frames, need);
	link->ready = frames.pkts - LINK_LEAD;
	link->ready_room = frames.room;
	if (link->inband)
		link->ready_ints = widened(link->ready_ints, &link->ints_cap, need, sizeof(*link->ready_ints));
}

static void
link_reserve_pauses(struct link *link, uint32_t more)
{
	uint32_t left = link->nready_pauses;

	if (link->pauses_head != 0) {
		memmove(link->ready_pauses, link->ready_pauses + link->pauses_head, left * sizeof(*link->ready_pauses));
		link->pauses_head = 0;
	}
	link->ready_pauses = widened(link->ready_pauses, &link->pauses_cap, left + more, sizeof(*link->ready_pauses));
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

	if (link->nready != 0)
		free_ps = p[-1].time_ps + units_serialize_ps(p->wire_bytes, link->rate_bps, link->quantum_ps);
	p->time_ps = link_stretch(link, p->time_ps, pkt_chance(link->delay_stream, link->flows, p));
	if (p->time_ps < free_ps)
		p->time_ps = free_ps;
}

static void
link_stretch_pause(struct link *link, struct pause_frame *pause)
{
	uint64_t before_ps = link->nready_pauses != 0 ? pause[-1].time_ps : 0;

	pause->time_ps = link_stretch(link, pause->time_ps, pkt_chance_unit(prng_mix(link->delay_stream ^ pause->time_ps)));
	if (pause->time_ps < before_ps)
		pause->time_ps = before_ps;
}

/* Is a frame lost by the fault? */
static inline bool
loses(const struct link *link, const struct pkt *p)
{
	return link->loss > 0 && (link->loss_types == 0 || (link->loss_types >> p->type & 1) != 0) &&
	       pkt_chance(link->loss_stream, link->flows, p) < link->loss;
}

/* @return whether a frame is damaged. Bursts belong to the cable, not to packets: they do not depend on who sends. */
static inline bool
corrupts(const struct link *link, const struct pkt *p)
{
	if (link->corruption <= 0)
		return false;
	if (link->burst_ps == 0)
		return pkt_chance(link->corruption_stream, link->flows, p) < link->corruption;
	return pkt_chance_unit(prng_mix(link->corruption_stream + p->time_ps / link->burst_ps * 0x9e3779b97f4a7c15ULL)) <
	       link->corruption;
}

static void
link_receive_faulty(struct link *link, const struct link_lane *lane, const struct int_header *ints)
{
	link->faulty_packets += lane->npkts;
	for (uint32_t i = 0; i < lane->npkts; i++) {
		struct pkt *p = &link->ready[link->ready_head + link->nready];

		if (loses(link, &lane->pkts[i])) {
			link->injected_packets++;
			link->injected_bytes += lane->pkts[i].wire_bytes;
			link->received_frames += link->silent;
			link->received_bytes += link->silent ? lane->pkts[i].wire_bytes : 0;
			body_release(link->bodies, &lane->pkts[i]);
			continue;
		}
		*p = lane->pkts[i];
		if (ints != NULL)
			link->ready_ints[link->ready_head + link->nready] = ints[i];
		if (link->stretched)
			link_stretch_frame(link, p);
		if (corrupts(link, &lane->pkts[i])) {
			p->flags |= PKT_CORRUPT;
			link->corrupted_packets++;
			link->damaged = true;
		}
		link->received_bytes += p->wire_bytes;
		link->nready++;
	}
}

/* A lane's array becomes the ready queue, with the few frames that were left before its own. */
static inline void
link_swap(struct link *link, struct link_lane *lane)
{
	uint32_t left = link->nready;

	for (uint32_t i = 0; i < left; i++)
		lane->pkts[(int64_t)i - left] = link->ready[link->ready_head + i];
	give_ready_back(link);
	link->ready = lane->pkts - LINK_LEAD;
	link->ready_room = lane->room;
	link->ready_head = LINK_LEAD - left;
	link->nready = left + lane->npkts;
	lane->pkts = NULL;
	lane->room = 0;
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
	uint32_t left = link->nready, at;

	link_reserve(link, lane);
	at = link->ready_head + left;
	if (faulty) {
		link_receive_faulty(link, lane, ints);
	} else {
		memcpy(link->ready + at, lane->pkts, lane->npkts * sizeof(*lane->pkts));
		if (ints != NULL)
			memcpy(link->ready_ints + at, ints, lane->npkts * sizeof(*ints));
		link->nready += lane->npkts;
	}
	return link->nready - left;
}

/* @param parity  of the lane. @return frames that arrive */
static inline uint32_t
link_take_frames(struct link *link, uint32_t parity, uint64_t bytes)
{
	struct link_lane *lane = &link->lane[parity];
	bool faulty = link->lossy || link->stretched;

	link->received_bytes += faulty ? 0 : bytes;
	if (__builtin_expect(faulty || link->inband || link->nready > LINK_LEAD, 0))
		return link_copy(link, parity, faulty);
	link_swap(link, lane);
	return lane->npkts;
}

static __attribute__((noinline)) void
link_take_pauses(struct link *link, uint32_t parity)
{
	const struct pause_frame *pauses = link->lane_pauses[parity];
	uint32_t count = link->npauses[parity];

	link_reserve_pauses(link, count);
	for (uint32_t i = 0; i < count; i++) {
		struct pause_frame *pause = &link->ready_pauses[link->nready_pauses];

		*pause = pauses[i];
		if (__builtin_expect(link->stretched, 0))
			link_stretch_pause(link, pause);
		link->nready_pauses++;
	}
	link->pauses_ready = link->nready_pauses != 0;
	link_count_pauses(link->sent_pauses, pauses, count, 1);
	link_count_pauses(link->received_pauses, pauses, count, 1);
	link->npauses[parity] = 0;
	link->pauses_sent[parity] = false;
}

void
link_receive(struct link *link, uint32_t parity)
{
	uint32_t sent = parity ^ 1, npkts = link->lane[sent].npkts;
	uint64_t bytes;

	if (npkts == 0 && !link->pauses_sent[sent])
		return;
	if (link->stretched && link->extra_ps == 0 && link->jitter_ps == 0 && link->nready == 0 && !link->pauses_ready)
		link->stretched = false;
	if (npkts != 0) {
		bytes = link_lane_bytes(link, sent);
		link->received_frames += link_take_frames(link, sent, bytes);
		link->sent_bytes += bytes;
		link->sent_frames += npkts;
		link->lane[sent].npkts = link->lane_bytes[sent] = 0;
	}
	if (__builtin_expect(link->pauses_sent[sent], 0))
		link_take_pauses(link, sent);
}

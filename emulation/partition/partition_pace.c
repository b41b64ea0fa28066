/* SPDX-License-Identifier: BSD-3-Clause */
/* When the next window may start: by the clock, and by how far the other parts are. */
#include <string.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/minmax.h"
#include "common/units.h"
#include "emulation/partition/partition_state.h"

#define LOOKAHEAD_WINDOWS 4
#define LOOKAHEAD_LEAST_PS (200 * PS_PER_US)

uint64_t
partition_horizon(void *ctx)
{
	const struct partitions *partitions = ctx;
	uint64_t horizon_ps = TIME_NEVER;

	for (uint32_t p = 0; p < partitions->count; p++) {
		const struct partition_peer *peer = &partitions->peers[p];

		if (peer->delay_ps != TIME_NEVER && peer->leaves_ps != TIME_NEVER)
			horizon_ps = min_u64(horizon_ps, peer->leaves_ps + peer->delay_ps);
	}
	return horizon_ps;
}

/* The run's time by the clock; 0 before it has begun. */
static uint64_t
run_ps(const struct pacer *pacer, uint64_t now_ns)
{
	return now_ns > pacer->zero_ns ? (now_ns - pacer->zero_ns) * PS_PER_NS : 0;
}

/*
 * With hosts that have their own kernel a frame may come in at any time: it is let in no earlier than was promised, which is for a
 * while ahead, so that not every window of the others waits for a message.
 */
static uint64_t
lookahead_ps(const struct partitions *partitions)
{
	return max_u64(LOOKAHEAD_WINDOWS * partitions->emulation->pacer.window_ps, LOOKAHEAD_LEAST_PS);
}

/* When the next window is to start. */
static uint64_t
goal_of(const struct partitions *partitions, uint64_t earliest_ps, uint64_t start_ps, uint64_t now_ns)
{
	const struct pacer *pacer = &partitions->emulation->pacer;
	uint64_t goal_ps = max_u64(earliest_ps, min_u64(start_ps, boundary_next_ps(&partitions->boundary)));
	uint64_t now_ps = run_ps(pacer, now_ns), frame_ps = max_u64(earliest_ps, max_u64(partitions->promised_ps, now_ps));

	if (pacer->pending == NULL || now_ns < pacer->zero_ns || frame_ps >= goal_ps || !pacer->pending(pacer->ctx))
		return goal_ps;
	return frame_ps;
}

/*
 * What this part starts next starts at goal_ps, unless something comes in before; over a cut cable that arrives at the horizon or
 * later. Whoever has nothing new to say says that he lives.
 */
static void
promise(struct partitions *partitions, uint64_t goal_ps, uint64_t horizon_ps, uint64_t now_ns)
{
	const struct pacer *pacer = &partitions->emulation->pacer;
	uint64_t leaves_ps = min_u64(goal_ps, horizon_ps), ahead_ps = lookahead_ps(partitions);

	if (pacer->pending != NULL && run_ps(pacer, now_ns) + ahead_ps < leaves_ps) {
		leaves_ps = run_ps(pacer, now_ns) + ahead_ps;
		if (leaves_ps < partitions->promised_ps + ahead_ps / 2)
			leaves_ps = partitions->promised_ps; /* a little more is not worth a message */
	}
	if (leaves_ps <= partitions->promised_ps && now_ns - partitions->promised_ns < PARTITION_ALIVE_NS)
		return;
	partitions->promised_ps = max_u64(partitions->promised_ps, leaves_ps);
	partitions->promised_ns = now_ns;
	partitions->promised.leaves_ps = partitions->promised_ps;
	for (uint32_t p = 0; p < partitions->count; p++)
		channel_put(&partitions->peers[p].channel, PARTITION_PROMISE, &partitions->promised,
			    sizeof(partitions->promised), NULL, 0);
}

/* Those that hold the window up: one that is silent, or says the same again and again, is lost. */
static void
watch(struct partitions *partitions, uint64_t end_ps, uint64_t now_ns)
{
	for (uint32_t p = 0; p < partitions->count; p++) {
		struct partition_peer *peer = &partitions->peers[p];

		if (peer->delay_ps == TIME_NEVER || peer->leaves_ps == TIME_NEVER ||
		    peer->leaves_ps + peer->delay_ps >= end_ps) {
			peer->stuck = (struct stall_timer){ 0 };
			peer->silent = (struct stall_timer){ 0 };
			continue;
		}
		if (stall_timer_look(&peer->silent, now_ns) >= PARTITION_SILENCE_NS)
			partition_lose(partitions, p, "it said nothing for 5 s: stopped, stuck, or its network is cut");
		else if (stall_timer_look(&peer->stuck, now_ns) >= PARTITION_STUCK_NS)
			partition_lose(partitions, p, "it did not go on for 30 s");
	}
}

/* The clock at a time of the run. */
static uint64_t
wall_ns(const struct pacer *pacer, uint64_t time_ps)
{
	return pacer->zero_ns + time_ps / PS_PER_NS;
}

uint64_t
partition_pace(void *ctx, uint64_t earliest_ps, uint64_t start_ps)
{
	struct partitions *partitions = ctx;
	struct pacer *pacer = &partitions->emulation->pacer;
	uint64_t goal_ps, horizon_ps, now_ns, until_ns, nap_ns, slept_ns;
	bool blocked = false;

	for (;;) {
		partition_take_in(partitions);
		emulation_answer(partitions->emulation, earliest_ps); /* however long the others take */
		if (partitions->over || interrupt_asked())
			return TIME_NEVER;
		now_ns = clock_now_ns();
		goal_ps = goal_of(partitions, earliest_ps, start_ps, now_ns);
		horizon_ps = partition_horizon(partitions);
		promise(partitions, goal_ps, horizon_ps, now_ns);
		partition_flush(partitions);
		until_ns = wall_ns(pacer, goal_ps);
		if (now_ns >= until_ns && horizon_ps >= goal_ps + pacer->window_ps)
			break;
		stall_timer_look(&pacer->lived, now_ns);
		if (now_ns >= until_ns) {
			watch(partitions, goal_ps + pacer->window_ps, now_ns);
			partitions->blocked_windows += !blocked;
			blocked = true;
			until_ns = now_ns + PARTITION_ALIVE_NS / 2;
		}
		if (pacer->busy)
			continue;
		nap_ns = pacer->pending != NULL ? PACER_NAP_NS : PARTITION_ALIVE_NS / 2;
		partition_sleep(partitions, min_u64(until_ns, now_ns + nap_ns));
		slept_ns = clock_now_ns() - now_ns;
		pacer->slept_ns += slept_ns;
		partitions->waits_ns += blocked ? slept_ns : 0;
		pacer->opened_ns += blocked ? slept_ns : 0; /* no work of this machine's */
	}
	return pacer_wait(pacer, earliest_ps, goal_ps);
}

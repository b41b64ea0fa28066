/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/fluid.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/units.h"
#include "workload/fluid_share.h"

/*
 * Where so many flows are in flight, what one leaves behind when it ends is shared out with what others leave a little
 * later, unless a new flow asks for it: nobody waits longer for it than this part of his whole time.
 */
#define MANY_FLOWS 1024
#define LATE_PART 256

enum phase {
	PHASE_WAITS,
	PHASE_WIRE,    /* its bytes leave, at a speed that changes */
	PHASE_ARRIVES, /* the last of them is under way */
	PHASE_ACK,     /* the last ACK is; of a local step: it computes */
	PHASE_DONE,
};

/* A step in the run. */
struct run_step {
	uint64_t start_ps;
	uint64_t next_ps;  /* when its phase ends */
	uint64_t since_ps; /* PHASE_WIRE: when its speed was set */
	double left_ps;    /* then: what was left of wire_ps */
	double speed;
	uint32_t rank, missing;
	uint32_t heap_at; /* place in the heap, valid from PHASE_WIRE to PHASE_ACK */
	enum phase phase;
};

/* By index of a step, as in schedule->steps. */
struct run {
	const struct chains *chains;
	const struct coll_schedule *schedule;
	struct fluid_step *steps;
	struct run_step *at;
	uint32_t *heap; /* steps by (next_ps, index) */
	uint32_t heap_len;
	uint32_t *dirty; /* steps that came to their NICs, or left them, since these were shared out last */
	uint32_t ndirty, done, in_flight;
	uint64_t share_ps; /* when NICs are shared out anew, if there are dirty ones */
	struct share share;
	uint64_t now_ps;
};

static int run_init(struct run *run, const struct chains *chains, struct fluid_step *steps, uint32_t nports);
static void run_fini(struct run *run);
static void step_start(struct run *run, uint32_t index);
static void end_phase(struct run *run, uint32_t index);
static void share_nics(struct run *run);

int
fluid_run(const struct chains *chains, struct fluid_step *steps, uint32_t nports, uint64_t *length_ps)
{
	struct run run;
	uint32_t all = coll_all_steps(chains->schedule);
	int rc = run_init(&run, chains, steps, nports);

	for (uint32_t i = 0; i < all && rc == 0; i++)
		if (run.at[i].missing == 0 && run.at[i].phase == PHASE_WAITS)
			step_start(&run, i);
	if (rc == 0)
		share_nics(&run);
	while (rc == 0 && run.heap_len != 0) {
		run.now_ps = run.at[run.heap[0]].next_ps;
		if (run.ndirty != 0 && run.share_ps < run.now_ps)
			run.now_ps = run.share_ps;
		while (run.heap_len != 0 && run.at[run.heap[0]].next_ps == run.now_ps)
			end_phase(&run, run.heap[0]);
		if (run.ndirty != 0 && run.share_ps <= run.now_ps)
			share_nics(&run);
	}
	if (rc == 0 && run.done < all)
		rc = -EINVAL;
	*length_ps = run.now_ps;
	run_fini(&run);
	return rc;
}

static int
run_init(struct run *run, const struct chains *chains, struct fluid_step *steps, uint32_t nports)
{
	const struct coll_schedule *schedule = chains->schedule;
	size_t all = coll_all_steps(schedule);

	*run = (struct run){
		.chains = chains,
		.schedule = schedule,
		.steps = steps,
		.at = calloc(all + 1, sizeof(*run->at)),
		.heap = malloc((all + 1) * sizeof(*run->heap)),
		.dirty = malloc((2 * all + 1) * sizeof(*run->dirty)),
	};
	if (run->at == NULL || run->heap == NULL || run->dirty == NULL ||
	    share_init(&run->share, (uint32_t)all, nports) != 0)
		return -ENOMEM;
	for (uint32_t r = 0; r < schedule->ranks; r++)
		for (uint32_t i = schedule->first_step[r]; i < schedule->first_step[r + 1]; i++) {
			run->at[i].rank = r;
			run->at[i].missing =
				chains->first_await[i + 1] - chains->first_await[i] + (chains->entry_of[i] > 1);
		}
	return 0;
}

static void
run_fini(struct run *run)
{
	share_fini(&run->share);
	free(run->at);
	free(run->heap);
	free(run->dirty);
}

static bool
earlier(const struct run *run, uint32_t a, uint32_t b)
{
	if (run->at[a].next_ps != run->at[b].next_ps)
		return run->at[a].next_ps < run->at[b].next_ps;
	return a < b;
}

static void
heap_put(struct run *run, uint32_t place, uint32_t index)
{
	run->heap[place] = index;
	run->at[index].heap_at = place;
}

/* Moves a step whose time has changed, or that is new, to its place. */
static void
heap_sift(struct run *run, uint32_t index)
{
	uint32_t place = run->at[index].heap_at;

	while (place > 0 && earlier(run, index, run->heap[(place - 1) / 2])) {
		heap_put(run, place, run->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	for (;;) {
		uint32_t child = 2 * place + 1;

		if (child + 1 < run->heap_len && earlier(run, run->heap[child + 1], run->heap[child]))
			child++;
		if (child >= run->heap_len || !earlier(run, run->heap[child], index))
			break;
		heap_put(run, place, run->heap[child]);
		place = child;
	}
	heap_put(run, place, index);
}

static void
heap_add(struct run *run, uint32_t index)
{
	heap_put(run, run->heap_len++, index);
	heap_sift(run, index);
}

static void
heap_remove(struct run *run, uint32_t index)
{
	uint32_t last = run->heap[--run->heap_len], place = run->at[index].heap_at;

	if (last == index)
		return;
	heap_put(run, place, last);
	heap_sift(run, last);
}

/* A flow has come to its NICs, or left them: they are shared out within so long. */
static void
add_dirty(struct run *run, uint32_t index, uint64_t within_ps)
{
	if (run->ndirty == 0 || run->now_ps + within_ps < run->share_ps)
		run->share_ps = run->now_ps + within_ps;
	run->dirty[run->ndirty++] = index;
}

/* How long those that a flow has left behind at its NICs can do without what it leaves. */
static uint64_t
wait_limit_ps(const struct run *run, uint32_t index)
{
	const struct fluid_step *step = &run->steps[index];
	uint64_t least_ps = UINT64_MAX;

	if (run->in_flight < MANY_FLOWS)
		return 0;
	for (uint32_t side = 0; side < SHARE_SIDES; side++)
		for (uint32_t at = share_first(&run->share, side, side == SHARE_TX ? step->tx : step->rx); at != SHARE_NONE;
		     at = run->share.flows[at].next[side])
			if (run->at[at].next_ps - run->at[at].start_ps < least_ps)
				least_ps = run->at[at].next_ps - run->at[at].start_ps;
	return least_ps == UINT64_MAX ? 0 : least_ps / LATE_PART;
}

static void
step_start(struct run *run, uint32_t index)
{
	const struct fluid_step *step = &run->steps[index];
	struct run_step *at = &run->at[index];

	at->start_ps = run->now_ps;
	if (step->tx == FLUID_LOCAL) {
		at->phase = PHASE_ACK;
		at->next_ps = run->now_ps + step->wire_ps;
	} else {
		at->phase = PHASE_WIRE;
		at->since_ps = run->now_ps;
		at->left_ps = (double)step->wire_ps;
		at->speed = 1;
		at->next_ps = run->now_ps + step->wire_ps;
		share_add(&run->share, index,
			  &(struct share_demand){ .bytes = step->bytes,
						  .alone_ps = step->wire_ps,
						  .occupies_ps = { step->tx_ps, step->rx_ps },
						  .port = { step->tx, step->rx } });
		run->in_flight++;
		add_dirty(run, index, 0);
	}
	heap_add(run, index);
}

static void
dependency_done(struct run *run, uint32_t rank, uint32_t step)
{
	uint32_t index = (uint32_t)coll_step_index(run->schedule, rank, step);

	if (--run->at[index].missing == 0)
		step_start(run, index);
}

/* The waiters of a step of its own rank, or of the one that it sends to. */
static void
let_go(struct run *run, uint32_t index, bool own)
{
	const struct chains *chains = run->chains;

	for (uint32_t i = chains->first_waiter[index]; i < chains->first_waiter[index + 1]; i++)
		if ((chains->waiters[i].rank == run->at[index].rank) == own)
			dependency_done(run, chains->waiters[i].rank, chains->waiters[i].step);
}

static void
complete(struct run *run, uint32_t index)
{
	struct run_step *at = &run->at[index];
	uint32_t step = index - run->schedule->first_step[at->rank] + 1;
	uint32_t next = chains_next(run->chains, at->rank, step);

	heap_remove(run, index);
	at->phase = PHASE_DONE;
	run->done++;
	run->steps[index].takes_ps = run->now_ps - at->start_ps;
	let_go(run, index, true);
	if (next != 0)
		dependency_done(run, at->rank, next);
}

static void
end_phase(struct run *run, uint32_t index)
{
	const struct fluid_step *step = &run->steps[index];
	struct run_step *at = &run->at[index];

	switch (at->phase) {
	case PHASE_WIRE:
		share_remove(&run->share, index);
		run->in_flight--;
		add_dirty(run, index, wait_limit_ps(run, index));
		at->phase = PHASE_ARRIVES;
		at->next_ps += step->arrive_ps;
		heap_sift(run, index);
		break;
	case PHASE_ARRIVES:
		at->phase = PHASE_ACK;
		at->next_ps += step->ack_ps - step->arrive_ps;
		heap_sift(run, index);
		let_go(run, index, false);
		break;
	default:
		complete(run, index);
	}
}

/* The flows of the ports that were shared out last go on at their speeds. */
static void
set_speeds(struct run *run)
{
	for (uint32_t i = 0; i < run->share.nmembers; i++) {
		uint32_t index = run->share.members[i];
		struct run_step *at = &run->at[index];
		double speed = run->share.flows[index].speed;

		if (speed == at->speed)
			continue;
		at->left_ps = fmax(at->left_ps - (double)(run->now_ps - at->since_ps) * at->speed, 0);
		at->since_ps = run->now_ps;
		at->speed = speed;
		at->next_ps = run->now_ps + (uint64_t)llround(at->left_ps / speed);
		heap_sift(run, index);
	}
}

/* What has come or gone since the last time changes what those get that it met. */
static void
share_nics(struct run *run)
{
	uint32_t round = run->share.round;

	for (uint32_t i = 0; i < run->ndirty; i++) {
		const struct fluid_step *step = &run->steps[run->dirty[i]];

		if (!share_is_since(&run->share, SHARE_TX, step->tx, round)) {
			share_out(&run->share, SHARE_TX, step->tx);
			set_speeds(run);
		}
		if (!share_is_since(&run->share, SHARE_RX, step->rx, round)) {
			share_out(&run->share, SHARE_RX, step->rx);
			set_speeds(run);
		}
	}
	run->ndirty = 0;
}

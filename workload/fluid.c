/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/fluid.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/units.h"

/* Max-min fair shares of NICs among the flows in flight. The run requests them whenever a flow starts or ends. */

#define SHARE_NONE UINT32_MAX

enum share_side { SHARE_TX, SHARE_RX, SHARE_SIDES };

/* A flow in flight, in a place that another one has later. */
struct share_flow {
	uint32_t id;                /* a smaller one goes first where rates are alike */
	uint32_t port[SHARE_SIDES]; /* index into ports; SHARE_NONE: not in flight */
	uint32_t next[SHARE_SIDES], prev[SHARE_SIDES];
	double cost[SHARE_SIDES]; /* share of the port's time that a unit of its rate takes */
	double most;              /* its rate alone */
	double speed;             /* its rate, in shares of that: 1 when nothing hinders it */
	uint32_t round;           /* which sharing out has had it last */
	bool fixed;
};

struct share_port {
	uint32_t first; /* flow in flight */
	uint32_t round;
	/*
	 * While sharing out: flows without a rate yet, the time of the port that other flows leave them, and the cost
	 * of a unit of rate of each.
	 */
	uint32_t open;
	double free, cost;
};

struct share {
	struct share_flow *flows; /* [cap] by place */
	struct share_port *ports; /* [2 * nports] senders', then receivers' */
	uint32_t nports, cap;
	uint32_t *members; /* [cap] flows that share_out() set a speed of */
	uint32_t *slow;    /* [cap] those that may not fill any port even alone, the slowest first */
	uint32_t *touched; /* [2 * nports] ports that they depend on */
	uint32_t nmembers, nslow, ntouched;
	uint32_t round;
};

/* The demand of a flow. */
struct share_demand {
	uint64_t bytes;                    /* of its message: rates are in bytes */
	uint64_t alone_ps;                 /* how long it takes alone */
	uint64_t occupies_ps[SHARE_SIDES]; /* for how much of that it occupies its ports; at most all of it */
	uint32_t port[SHARE_SIDES];
};

/*
 * Shares out anew the capacity of a port and of all ports that its flows depend on: sets the speed of the flows in
 * members. Rates rise together until a port has no time left, or a flow has the rate that it would have alone and keeps
 * it (progressive filling; Bertsekas and Gallager, Data Networks, 2nd ed., 6.5.2).
 */
void share_out(struct share *share, enum share_side side, uint32_t port);

static int share_init(struct share *share, uint32_t nports);
static void share_fini(struct share *share);
/* Makes places for cap flows. @return 0 or -ENOMEM */
static int share_grow(struct share *share, uint32_t cap);
static void share_add(struct share *share, uint32_t flow, uint32_t id, const struct share_demand *demand);
static void share_remove(struct share *share, uint32_t flow);

/* @return the first of a port's flows, SHARE_NONE */
static inline uint32_t
share_first(const struct share *share, enum share_side side, uint32_t port)
{
	return share->ports[port + side * share->nports].first;
}

/* @return whether a port got its share in a later round than this one */
static inline bool
share_is_since(const struct share *share, enum share_side side, uint32_t port, uint32_t round)
{
	return share->ports[port + side * share->nports].round > round;
}

/*
 * With MANY_FLOWS or more in flight, the capacity that an ending flow frees is shared out later, together with that of
 * other ending flows, unless a new flow needs it. The delay of a flow is at most 1 / LATE_PART of its total time.
 */
#define MANY_FLOWS 1024
#define LATE_PART 256

/* Room at first, doubled as need be. */
#define FIRST_PLACES 64
#define FIRST_DIRTY 64

enum phase {
	PHASE_WIRE,    /* its bytes leave, at a speed that changes */
	PHASE_ARRIVES, /* the last byte is in flight */
	PHASE_ACK,     /* the last ACK is; of a local step: it computes */
};

/* A step that has started and is not complete, in a place that another one has later. */
struct run_step {
	uint64_t start_ps;
	uint64_t next_ps;  /* when its phase ends */
	uint64_t since_ps; /* PHASE_WIRE: when its speed was set */
	double left_ps;    /* the remaining wire_ps at since_ps */
	double speed;
	uint32_t rank, index; /* of the step in schedule->steps */
	uint32_t heap_at;     /* place in the heap */
	enum phase phase;
};

struct run {
	const struct chains *chains;
	const struct coll_schedule *schedule;
	const struct fluid_steps *steps;
	uint32_t *missing;   /* [steps] dependencies of each that has not started */
	struct run_step *at; /* [cap] by place; share.flows has the same places */
	uint32_t *unused;    /* [nunused] places without a step */
	uint32_t *heap;      /* [heap_len] places of steps by (next_ps, index) */
	uint32_t nunused, heap_len, cap;
	uint32_t *dirty; /* [ndirty] steps that started or ended on their NICs since the last sharing */
	size_t dirty_cap;
	uint32_t ndirty, done, in_flight;
	uint64_t share_ps; /* when NICs are shared out anew, if there are dirty ones */
	struct share share;
	uint64_t now_ps;
	int rc; /* -ENOMEM: a step could not start */
};

static inline const struct fluid_step *
step_of(const struct run *run, uint32_t index)
{
	return &run->steps->kinds[run->steps->kind_of[index]];
}

static int run_init(struct run *run, const struct chains *chains, const struct fluid_steps *steps, uint32_t nports);
static void run_fini(struct run *run);
static void step_start(struct run *run, uint32_t rank, uint32_t index);
static void end_phase(struct run *run, uint32_t place);
static void share_nics(struct run *run);

int
fluid_run(const struct chains *chains, const struct fluid_steps *steps, uint32_t nports, uint64_t *length_ps)
{
	const struct coll_schedule *schedule = chains->schedule;
	struct run run;
	int rc;

	run.rc = run_init(&run, chains, steps, nports);
	for (uint32_t r = 0; r < schedule->ranks; r++)
		for (uint32_t i = schedule->first_step[r]; i < schedule->first_step[r + 1] && run.rc == 0; i++)
			if (run.missing[i] == 0)
				step_start(&run, r, i);
	if (run.rc == 0)
		share_nics(&run);
	while (run.rc == 0 && run.heap_len != 0) {
		run.now_ps = run.at[run.heap[0]].next_ps;
		if (run.ndirty != 0 && run.share_ps < run.now_ps)
			run.now_ps = run.share_ps;
		while (run.rc == 0 && run.heap_len != 0 && run.at[run.heap[0]].next_ps == run.now_ps)
			end_phase(&run, run.heap[0]);
		if (run.rc == 0 && run.ndirty != 0 && run.share_ps <= run.now_ps)
			share_nics(&run);
	}
	if (run.rc == 0 && run.done < coll_all_steps(schedule))
		run.rc = -EINVAL;
	*length_ps = run.now_ps;
	rc = run.rc;
	run_fini(&run);
	return rc;
}

static int
run_init(struct run *run, const struct chains *chains, const struct fluid_steps *steps, uint32_t nports)
{
	size_t all = coll_all_steps(chains->schedule);

	*run = (struct run){
		.chains = chains,
		.schedule = chains->schedule,
		.steps = steps,
		.missing = malloc((all + 1) * sizeof(*run->missing)),
	};
	if (run->missing == NULL || share_init(&run->share, nports) != 0)
		return -ENOMEM;
	for (uint32_t r = 0, i = 0; r < chains->schedule->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(chains->schedule, r); step++, i++)
			run->missing[i] = chains_awaits(chains, r, step) + (chains_entry(chains, r, step) > 1);
	return 0;
}

static void
run_fini(struct run *run)
{
	share_fini(&run->share);
	free(run->missing);
	free(run->at);
	free(run->unused);
	free(run->heap);
	free(run->dirty);
}

/* Twice as many places; they are given from the first to the last. @return 0 or -ENOMEM */
static int
add_places(struct run *run)
{
	uint32_t cap = run->cap != 0 ? 2 * run->cap : FIRST_PLACES;
	void *at = realloc(run->at, cap * sizeof(*run->at)), *heap, *unused;

	if (at == NULL)
		return -ENOMEM;
	run->at = at;
	heap = realloc(run->heap, cap * sizeof(*run->heap));
	if (heap == NULL)
		return -ENOMEM;
	run->heap = heap;
	unused = realloc(run->unused, cap * sizeof(*run->unused));
	if (unused == NULL)
		return -ENOMEM;
	run->unused = unused;
	if (share_grow(&run->share, cap) != 0)
		return -ENOMEM;
	for (uint32_t place = cap; place > run->cap; place--)
		run->unused[run->nunused++] = place - 1;
	run->cap = cap;
	return 0;
}

static bool
earlier(const struct run *run, uint32_t a, uint32_t b)
{
	if (run->at[a].next_ps != run->at[b].next_ps)
		return run->at[a].next_ps < run->at[b].next_ps;
	return run->at[a].index < run->at[b].index;
}

static void
heap_put(struct run *run, uint32_t at, uint32_t place)
{
	run->heap[at] = place;
	run->at[place].heap_at = at;
}

/* Moves a step whose time has changed, or that is new, to where it belongs. */
static void
heap_sift(struct run *run, uint32_t place)
{
	uint32_t at = run->at[place].heap_at;

	while (at > 0 && earlier(run, place, run->heap[(at - 1) / 2])) {
		heap_put(run, at, run->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child + 1 < run->heap_len && earlier(run, run->heap[child + 1], run->heap[child]))
			child++;
		if (child >= run->heap_len || !earlier(run, run->heap[child], place))
			break;
		heap_put(run, at, run->heap[child]);
		at = child;
	}
	heap_put(run, at, place);
}

static void
heap_add(struct run *run, uint32_t place)
{
	heap_put(run, run->heap_len++, place);
	heap_sift(run, place);
}

static void
heap_remove(struct run *run, uint32_t place)
{
	uint32_t last = run->heap[--run->heap_len], at = run->at[place].heap_at;

	if (last == place)
		return;
	heap_put(run, at, last);
	heap_sift(run, last);
}

/* A flow has started or ended on its NICs: they are shared out anew within this time. */
static void
add_dirty(struct run *run, uint32_t index, uint64_t within_ps)
{
	if (run->ndirty == 0 || run->now_ps + within_ps < run->share_ps)
		run->share_ps = run->now_ps + within_ps;
	if (run->ndirty == run->dirty_cap) {
		size_t cap = run->dirty_cap != 0 ? 2 * run->dirty_cap : FIRST_DIRTY;
		void *dirty = realloc(run->dirty, cap * sizeof(*run->dirty));

		if (dirty == NULL) {
			run->rc = -ENOMEM;
			return;
		}
		run->dirty = dirty;
		run->dirty_cap = cap;
	}
	run->dirty[run->ndirty++] = index;
}

/* How long the remaining flows at a flow's NICs can wait for the capacity that it frees. */
static uint64_t
wait_limit_ps(const struct run *run, uint32_t index)
{
	const struct fluid_step *step = step_of(run, index);
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
step_start(struct run *run, uint32_t rank, uint32_t index)
{
	const struct fluid_step *step = step_of(run, index);
	uint32_t place;

	if (run->nunused == 0 && add_places(run) != 0) {
		run->rc = -ENOMEM;
		return;
	}
	place = run->unused[--run->nunused];
	run->at[place] = (struct run_step){
		.rank = rank,
		.index = index,
		.start_ps = run->now_ps,
		.next_ps = run->now_ps + step->wire_ps,
		.phase = step->tx == FLUID_LOCAL ? PHASE_ACK : PHASE_WIRE,
		.since_ps = run->now_ps,
		.left_ps = (double)step->wire_ps,
		.speed = 1,
	};
	if (step->tx != FLUID_LOCAL) {
		share_add(&run->share, place, index,
			  &(struct share_demand){ .bytes = step->bytes,
						  .alone_ps = step->wire_ps,
						  .occupies_ps = { step->tx_ps, step->rx_ps },
						  .port = { step->tx, step->rx } });
		run->in_flight++;
		add_dirty(run, index, 0);
	}
	heap_add(run, place);
}

static void
dependency_done(struct run *run, uint32_t rank, uint32_t step)
{
	uint32_t index = (uint32_t)coll_step_index(run->schedule, rank, step);

	if (--run->missing[index] == 0)
		step_start(run, rank, index);
}

/* The waiters of a step of its own rank, or of the one that it sends to. */
static void
let_go(struct run *run, uint32_t rank, uint32_t index, bool own)
{
	const struct chains *chains = run->chains;
	uint32_t step = index - run->schedule->first_step[rank] + 1, waiters = chains_waiters(chains, rank, step);

	for (uint32_t i = 0; i < waiters; i++) {
		struct coll_dep waiter = chains_waiter(chains, rank, step, i);

		if ((waiter.rank == rank) == own)
			dependency_done(run, waiter.rank, waiter.step);
	}
}

static void
complete(struct run *run, uint32_t place)
{
	uint32_t rank = run->at[place].rank, index = run->at[place].index;
	uint32_t next = chains_next(run->chains, rank, index - run->schedule->first_step[rank] + 1);

	heap_remove(run, place);
	run->done++;
	run->steps->complete(run->steps->arg, index, run->now_ps - run->at[place].start_ps);
	run->unused[run->nunused++] = place;
	let_go(run, rank, index, true);
	if (next != 0)
		dependency_done(run, rank, next);
}

static void
end_phase(struct run *run, uint32_t place)
{
	struct run_step *at = &run->at[place];
	const struct fluid_step *step = step_of(run, at->index);

	switch (at->phase) {
	case PHASE_WIRE:
		share_remove(&run->share, place);
		run->in_flight--;
		add_dirty(run, at->index, wait_limit_ps(run, at->index));
		at->phase = PHASE_ARRIVES;
		at->next_ps += step->arrive_ps;
		heap_sift(run, place);
		break;
	case PHASE_ARRIVES:
		at->phase = PHASE_ACK;
		at->next_ps += step->ack_ps - step->arrive_ps;
		heap_sift(run, place);
		let_go(run, at->rank, at->index, false);
		break;
	default:
		complete(run, place);
	}
}

/* The flows of the ports that were shared out last go on at their speeds. */
static void
set_speeds(struct run *run)
{
	for (uint32_t i = 0; i < run->share.nmembers; i++) {
		uint32_t place = run->share.members[i];
		struct run_step *at = &run->at[place];
		double speed = run->share.flows[place].speed;

		if (speed == at->speed)
			continue;
		at->left_ps = fmax(at->left_ps - (double)(run->now_ps - at->since_ps) * at->speed, 0);
		at->since_ps = run->now_ps;
		at->speed = speed;
		at->next_ps = run->now_ps + (uint64_t)llround(at->left_ps / speed);
		heap_sift(run, place);
	}
}

/* Flows that started or ended since the last sharing change the shares of the flows on the same NICs. */
static void
share_nics(struct run *run)
{
	uint32_t round = run->share.round;

	for (uint32_t i = 0; i < run->ndirty; i++) {
		const struct fluid_step *step = step_of(run, run->dirty[i]);

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

/* Shares of ports among the flows in flight. */

/* Smaller differences of levels are rounding errors of equal shares. */
#define SAME_LEVEL (1 + 1e-9)

static void gather(struct share *share, uint32_t port);
static void fill(struct share *share);

/* @return 0 or -ENOMEM */
static int
share_init(struct share *share, uint32_t nports)
{
	*share = (struct share){
		.ports = malloc((2 * nports + 1u) * sizeof(*share->ports)),
		.nports = nports,
		.touched = malloc((2 * nports + 1u) * sizeof(*share->touched)),
	};
	if (share->ports == NULL || share->touched == NULL) {
		share_fini(share);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < 2 * nports; i++)
		share->ports[i] = (struct share_port){ .first = SHARE_NONE };
	return 0;
}

static int
share_grow(struct share *share, uint32_t cap)
{
	void *flows = realloc(share->flows, cap * sizeof(*share->flows)), *members, *slow;

	if (flows == NULL)
		return -ENOMEM;
	share->flows = flows;
	members = realloc(share->members, cap * sizeof(*share->members));
	if (members == NULL)
		return -ENOMEM;
	share->members = members;
	slow = realloc(share->slow, cap * sizeof(*share->slow));
	if (slow == NULL)
		return -ENOMEM;
	share->slow = slow;
	for (; share->cap < cap; share->cap++)
		share->flows[share->cap] = (struct share_flow){ .port = { SHARE_NONE, SHARE_NONE } };
	return 0;
}

static void
share_fini(struct share *share)
{
	free(share->flows);
	free(share->ports);
	free(share->members);
	free(share->slow);
	free(share->touched);
	*share = (struct share){ 0 };
}

static void
share_add(struct share *share, uint32_t flow, uint32_t id, const struct share_demand *demand)
{
	struct share_flow *f = &share->flows[flow];

	assert(f->port[SHARE_TX] == SHARE_NONE && demand->bytes > 0 && demand->alone_ps > 0);
	f->id = id;
	f->most = (double)demand->bytes / (double)demand->alone_ps;
	f->speed = 1;
	f->round = 0;
	for (uint32_t side = 0; side < SHARE_SIDES; side++) {
		struct share_port *p;

		assert(demand->port[side] < share->nports && demand->occupies_ps[side] <= demand->alone_ps);
		f->port[side] = demand->port[side] + side * share->nports;
		f->cost[side] = (double)demand->occupies_ps[side] / (double)demand->bytes;
		p = &share->ports[f->port[side]];
		f->prev[side] = SHARE_NONE;
		f->next[side] = p->first;
		if (p->first != SHARE_NONE)
			share->flows[p->first].prev[side] = flow;
		p->first = flow;
	}
}

static void
share_remove(struct share *share, uint32_t flow)
{
	struct share_flow *f = &share->flows[flow];

	for (uint32_t side = 0; side < SHARE_SIDES; side++) {
		if (f->prev[side] != SHARE_NONE)
			share->flows[f->prev[side]].next[side] = f->next[side];
		else
			share->ports[f->port[side]].first = f->next[side];
		if (f->next[side] != SHARE_NONE)
			share->flows[f->next[side]].prev[side] = f->prev[side];
		f->port[side] = SHARE_NONE;
	}
}

void
share_out(struct share *share, enum share_side side, uint32_t port)
{
	gather(share, port + side * share->nports);
	if (share->nmembers == 1)
		share->flows[share->members[0]].speed = 1; /* exactly */
	else
		fill(share);
}

static void
touch(struct share *share, uint32_t port)
{
	struct share_port *p = &share->ports[port];

	if (p->round == share->round)
		return;
	p->round = share->round;
	p->open = 0;
	p->free = 1;
	p->cost = 0;
	share->touched[share->ntouched++] = port;
}

/* The flows of a port, the other ports of those, and so on. */
static void
gather(struct share *share, uint32_t port)
{
	share->round++;
	share->nmembers = 0;
	share->nslow = 0;
	share->ntouched = 0;
	touch(share, port);
	for (uint32_t i = 0; i < share->ntouched; i++) {
		struct share_port *p = &share->ports[share->touched[i]];
		uint32_t side = share->touched[i] >= share->nports ? SHARE_RX : SHARE_TX;

		for (uint32_t at = p->first; at != SHARE_NONE; at = share->flows[at].next[side]) {
			struct share_flow *f = &share->flows[at];

			p->open++;
			p->cost += f->cost[side];
			if (f->round == share->round)
				continue;
			f->round = share->round;
			f->fixed = false;
			share->members[share->nmembers++] = at;
			if (f->most * fmax(f->cost[SHARE_TX], f->cost[SHARE_RX]) * SAME_LEVEL < 1)
				share->slow[share->nslow++] = at;
			touch(share, f->port[!side]);
		}
	}
}

static int
compare_most(const void *a, const void *b, void *flows_arg)
{
	const struct share_flow *flows = flows_arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (flows[x].most != flows[y].most)
		return flows[x].most < flows[y].most ? -1 : 1;
	return ORDER(flows[x].id, flows[y].id);
}

/* A flow has its rate: its share is taken from its ports. */
static void
fix(struct share *share, struct share_flow *f, double rate)
{
	f->fixed = true;
	f->speed = rate >= f->most ? 1 : rate / f->most;
	for (uint32_t side = 0; side < SHARE_SIDES; side++) {
		struct share_port *p = &share->ports[f->port[side]];

		p->free -= f->speed * f->most * f->cost[side];
		p->cost -= f->cost[side];
		p->open--;
	}
}

/* The rate to which all flows of a port without one could rise. */
static double
level_of(const struct share_port *p)
{
	return p->open == 0 || p->cost <= 0 ? INFINITY : fmax(p->free, 0) / p->cost;
}

static void
fix_port(struct share *share, uint32_t port, double rate)
{
	uint32_t side = port >= share->nports ? SHARE_RX : SHARE_TX;

	for (uint32_t at = share->ports[port].first; at != SHARE_NONE; at = share->flows[at].next[side])
		if (!share->flows[at].fixed)
			fix(share, &share->flows[at], rate);
}

static void
fill(struct share *share)
{
	uint32_t slow = 0;

	qsort_r(share->slow, share->nslow, sizeof(*share->slow), compare_most, share->flows);
	for (;;) {
		double least = INFINITY;

		for (uint32_t i = 0; i < share->ntouched; i++)
			least = fmin(least, level_of(&share->ports[share->touched[i]]));
		while (slow < share->nslow && share->flows[share->slow[slow]].fixed)
			slow++;
		if (slow < share->nslow && share->flows[share->slow[slow]].most <= least) {
			fix(share, &share->flows[share->slow[slow]], INFINITY);
			continue;
		}
		if (least == INFINITY)
			break;
		for (uint32_t i = 0; i < share->ntouched; i++)
			if (level_of(&share->ports[share->touched[i]]) <= least * SAME_LEVEL)
				fix_port(share, share->touched[i], least);
	}
	/* Only steps of no cost anywhere can be left. */
	for (uint32_t i = 0; i < share->nmembers; i++)
		if (!share->flows[share->members[i]].fixed)
			fix(share, &share->flows[share->members[i]], INFINITY);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/rating/replay.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "common/prng.h"
#include "diag/run/fill.h"
#include "diag/vedrfolnir/rating/replay_graph.h"

#define EXACT_PLAYERS 8    /* of so many, every set is replayed */
#define MAX_PLAYERS 64     /* of more, those that claim least are one */
#define MIN_PLAYERS 8      /* though they be; */
#define MIN_ORDERS 2u      /* that are sampled: one and its reverse; */
#define REPLAYS 1024.      /* at most of all orders together, and fewer where these went through more than */
#define MAX_WORK 50000000. /* nodes and what these wait for */

struct replay {
	const struct run *run;
	struct replay_graph graph;
	struct replay_claim *claims;
	uint32_t count;
	uint32_t *slot_of;               /* [nplayers] players that claim least share one */
	uint32_t first[MAX_PLAYERS + 1]; /* claims of each slot, in by_slot */
	uint32_t *by_slot;               /* [count] */
	uint32_t nslots, replays;        /* replays: how many there may be, about */
	bool *on_path;                   /* [nnodes] false but while a slot's share is given out */
};

struct total {
	uint32_t player;
	double ps;
};

static int
cmp_claim(const void *pa, const void *pb)
{
	const struct replay_claim *a = pa, *b = pb;

	if (a->player != b->player)
		return a->player < b->player ? -1 : 1;
	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return a->part < b->part ? -1 : a->part > b->part;
}

static int
cmp_total(const void *pa, const void *pb)
{
	const struct total *a = pa, *b = pb;

	if (a->ps != b->ps)
		return a->ps > b->ps ? -1 : 1;
	return a->player < b->player ? -1 : a->player > b->player;
}

/* Of a generator's flow. */
static bool
is_alone(const struct replay *r, const struct replay_claim *claim)
{
	return run_is_flows(&r->run->collectives[r->run->steps[claim->step].collective]);
}

static bool
is_replayed(const struct replay *r, const struct replay_claim *claim)
{
	return !is_alone(r, claim) && r->graph.at[claim->step - r->graph.first_step] != RUN_NONE;
}

/* Players with claims get slots, the largest their own. @param totals  [nplayers] zeroed */
static void
give_slots(struct replay *r, struct total *totals, uint32_t nplayers)
{
	uint32_t most = max_u32(MIN_PLAYERS, min_u32(MAX_PLAYERS, r->replays / MIN_ORDERS));

	for (uint32_t p = 0; p < nplayers; p++)
		totals[p].player = p;
	for (uint32_t i = 0; i < r->count; i++)
		totals[r->claims[i].player].ps += is_replayed(r, &r->claims[i]) ? r->claims[i].ps : 0;
	if (nplayers > 1)
		qsort(totals, nplayers, sizeof(*totals), cmp_total);
	for (uint32_t i = 0; i < nplayers; i++) {
		r->slot_of[totals[i].player] = min_u32(i, most - 1);
		if (totals[i].ps > 0)
			r->nslots = r->slot_of[totals[i].player] + 1;
	}
}

/* Claims by slot, those that nobody waits for left out. */
static void
sort_by_slot(struct replay *r)
{
	uint32_t next[MAX_PLAYERS + 1] = { 0 };

	for (uint32_t i = 0; i < r->count; i++)
		next[r->slot_of[r->claims[i].player] + 1] += is_replayed(r, &r->claims[i]);
	for (uint32_t slot = 0; slot < MAX_PLAYERS; slot++)
		next[slot + 1] += next[slot];
	memcpy(r->first, next, sizeof(r->first));
	for (uint32_t i = 0; i < r->count; i++)
		if (is_replayed(r, &r->claims[i]))
			r->by_slot[next[r->slot_of[r->claims[i].player]]++] = i;
}

static uint32_t
node_of(const struct replay *r, const struct replay_claim *claim)
{
	return r->graph.at[claim->step - r->graph.first_step];
}

/* A slot's claims come back into the replay (sign -1), or leave it (1). */
static void
move(struct replay *r, uint32_t slot, double sign)
{
	for (uint32_t i = r->first[slot]; i < r->first[slot + 1]; i++) {
		const struct replay_claim *claim = &r->claims[r->by_slot[i]];

		r->graph.nodes[node_of(r, claim)].less_ps += sign * claim->ps;
	}
}

/* What a slot adds to the job's time is due to those of its claims that are on the way that takes longest now. */
static void
give(struct replay *r, uint32_t slot, uint32_t last, double share_ps, double regained_ps)
{
	double sum_ps = 0;

	for (uint32_t n = last; n != RUN_NONE; n = r->graph.nodes[n].last)
		r->on_path[n] = true;
	for (uint32_t i = r->first[slot]; i < r->first[slot + 1]; i++) {
		const struct replay_claim *claim = &r->claims[r->by_slot[i]];

		sum_ps += r->on_path[node_of(r, claim)] ? claim->ps : 0;
	}
	for (uint32_t i = r->first[slot]; sum_ps > 0 && i < r->first[slot + 1]; i++) {
		struct replay_claim *claim = &r->claims[r->by_slot[i]];

		if (!r->on_path[node_of(r, claim)])
			continue;
		claim->share_ps += share_ps * claim->ps / sum_ps;
		claim->regained_ps += regained_ps * claim->ps / sum_ps;
	}
	for (uint32_t n = last; n != RUN_NONE; n = r->graph.nodes[n].last)
		r->on_path[n] = false;
}

static double
factorial(uint32_t n)
{
	return n < 2 ? 1 : n * factorial(n - 1);
}

/* Every set of slots. @param end_ps  [2 ^ nslots] */
static void
share_exactly(struct replay *r, double *end_ps)
{
	uint32_t last;

	for (uint32_t set = 0; set < 1u << r->nslots; set++) {
		uint32_t others = (uint32_t)__builtin_popcount(set) - 1;

		for (uint32_t slot = 0; slot < r->nslots && set != 0; slot++)
			if (((set ^ (set - 1)) >> slot & 1) != 0) /* has changed since the set before */
				move(r, slot, (set >> slot & 1) != 0 ? -1 : 1);
		end_ps[set] = replay_graph_end_ps(&r->graph, &last);
		for (uint32_t slot = 0; slot < r->nslots; slot++)
			if ((set >> slot & 1) != 0)
				give(r, slot, last,
				     (end_ps[set] - end_ps[set ^ 1u << slot]) * factorial(others) *
					     factorial(r->nslots - 1 - others) / factorial(r->nslots),
				     0);
	}
}

static void
shuffle(struct prng *prng, uint32_t *order, uint32_t count)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t j = (uint32_t)prng_below(prng, i), swapped = order[i - 1];

		order[i - 1] = order[j];
		order[j] = swapped;
	}
}

/* So many orders, each followed by its reverse; in the end all is back. */
static void
share_by_orders(struct replay *r)
{
	uint32_t orders = max_u32(MIN_ORDERS, r->replays / r->nslots), order[MAX_PLAYERS], last;
	double ps, without_ps;
	struct prng prng;

	prng_init(&prng, 0, 0);
	for (uint32_t slot = 0; slot < r->nslots; slot++)
		order[slot] = slot;
	without_ps = replay_graph_end_ps(&r->graph, &last);
	for (uint32_t o = 0; o < orders; o++) {
		double before_ps = without_ps;

		if (o % 2 == 0)
			shuffle(&prng, order, r->nslots);
		for (uint32_t i = 0; i < r->nslots; i++) {
			uint32_t slot = order[o % 2 == 0 ? i : r->nslots - 1 - i];

			move(r, slot, -1);
			ps = replay_graph_end_ps(&r->graph, &last);
			give(r, slot, last, (ps - before_ps) / orders, 0);
			before_ps = ps;
		}
		for (uint32_t slot = 0; slot < r->nslots && o + 1 < orders; slot++)
			move(r, slot, 1);
	}
}

/* Leaves out what findings explain, or of it the lateness of hosts alone. @return what the job regains */
static double
without_ps(struct replay *r, bool hosts, double all_ps)
{
	double regained_ps = 0;
	uint32_t last;

	for (int sign = 1; sign >= -1; sign -= 2) {
		for (uint32_t i = 0; i < r->first[r->nslots]; i++) {
			const struct replay_claim *claim = &r->claims[r->by_slot[i]];

			r->graph.nodes[node_of(r, claim)].less_ps +=
				(hosts ? claim->host : claim->found) ? sign * claim->ps : 0;
		}
		if (sign > 0)
			regained_ps = all_ps - replay_graph_end_ps(&r->graph, &last);
	}
	return fmax(0, regained_ps);
}

/* What the job regains without each alone, if it is as it was; of a slot of many players, without all of these. */
static void
regain(struct replay *r, double *end_ps, struct replay_together *together)
{
	double all_ps;
	uint32_t last;

	for (uint32_t slot = 0; slot < r->nslots; slot++) {
		move(r, slot, 1);
		end_ps[slot] = replay_graph_end_ps(&r->graph, &last);
		move(r, slot, -1);
	}
	all_ps = replay_graph_end_ps(&r->graph, &last);
	together->hosts_ps = without_ps(r, true, all_ps);
	together->found_ps = without_ps(r, false, all_ps);
	all_ps = replay_graph_end_ps(&r->graph, &last);
	for (uint32_t slot = 0; slot < r->nslots; slot++)
		give(r, slot, last, 0, all_ps - end_ps[slot]);
}

/* All claims are left out at first, and back at last. @return 0 or -ENOMEM */
static int
share(struct replay *r, uint32_t nplayers, struct replay_together *together, struct err *err)
{
	struct total *totals = run_alloc(nplayers, sizeof(*totals), err);
	double *end_ps = run_alloc((size_t)1 << EXACT_PLAYERS, sizeof(*end_ps), err);

	r->slot_of = run_alloc(nplayers, sizeof(*r->slot_of), err);
	r->by_slot = run_alloc(r->count, sizeof(*r->by_slot), err);
	r->on_path = run_alloc(r->graph.nnodes, sizeof(*r->on_path), err);
	if (totals != NULL && end_ps != NULL && r->slot_of != NULL && r->by_slot != NULL && r->on_path != NULL) {
		r->replays = (uint32_t)fmin(REPLAYS, MAX_WORK / ((double)r->graph.nnodes + r->graph.non + 1));
		give_slots(r, totals, nplayers);
		sort_by_slot(r);
		for (uint32_t slot = 0; slot < r->nslots; slot++)
			move(r, slot, 1);
		if (r->nslots <= EXACT_PLAYERS && 1u << r->nslots <= max_u32(r->replays, MIN_ORDERS * r->nslots))
			share_exactly(r, end_ps);
		else
			share_by_orders(r);
		regain(r, end_ps, together);
	}
	free(totals);
	free(end_ps);
	return r->on_path != NULL ? 0 : -ENOMEM;
}

/* Players from 0 without gaps, in their order. @param claims  sorted @return how many they are */
static uint32_t
number_players(struct replay_claim *claims, uint32_t count)
{
	uint32_t nplayers = 0, before = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t player = claims[i].player;

		nplayers += i == 0 || player != before;
		before = player;
		claims[i].player = nplayers - 1;
	}
	return nplayers;
}

int
replay_share(const struct run *run, uint32_t job, struct replay_claim *claims, uint32_t count,
	     struct replay_together *together, struct err *err)
{
	uint32_t nplayers;
	struct replay r = { .run = run, .claims = claims, .count = count };
	int ret = replay_graph_init(&r.graph, run, job, err);

	if (count > 1)
		qsort(claims, count, sizeof(*claims), cmp_claim);
	nplayers = number_players(claims, count);
	for (uint32_t i = 0; i < count; i++)
		claims[i].share_ps = claims[i].regained_ps = is_alone(&r, &claims[i]) ? claims[i].ps : 0;
	if (ret == 0)
		ret = share(&r, nplayers, together, err);
	for (uint32_t i = 0; i < count; i++)
		claims[i].share_ps = rint(claims[i].share_ps); /* sums of parts are not exact */
	for (uint32_t i = 0; ret == 0 && i < count; i++)
		claims[i].regained_ps = rint(claims[i].regained_ps);
	replay_graph_fini(&r.graph);
	free(r.slot_of);
	free(r.by_slot);
	free(r.on_path);
	return ret;
}

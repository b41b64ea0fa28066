/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/chains.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"

/* State while one rank's steps are divided into chains: by step, from 1, and what becomes of the rank. */
struct cut {
	struct chains *chains;
	uint32_t rank, steps;
	void *block;
	uint64_t *lane;  /* [max_steps] of each step, peer and channel */
	uint32_t *order; /* [max_steps] steps by peer, channel, step */
	uint32_t *last;  /* [chains of the rank so far] step at the end of each */
	/* [max_steps] as in struct chains, of this rank */
	uint32_t *before, *behind, *chain_of, *entry_of;
	uint32_t first_lane, first_order; /* in schedule->steps, where those begin */
};

static void find_lanes(const struct cut *cut);
static int keep_lanes(struct cut *cut);
static uint32_t cut_rank(const struct cut *cut);
static int keep_order(struct cut *cut, uint32_t nchains);
static int collect_awaits(struct chains *chains);
static int collect_waiters(struct chains *chains);

static int
cut_all(struct chains *chains)
{
	const struct coll_schedule *schedule = chains->schedule;
	size_t most = coll_max_steps(schedule);
	struct cut cut = { .chains = chains };
	int rc;

	cut.block = slab_alloc(
		(const struct slab_row[]){
			SLAB_ROW(cut.lane, most + 1),
			SLAB_ROW(cut.order, most + 1),
			SLAB_ROW(cut.last, most + 1),
			SLAB_ROW(cut.before, most + 1),
			SLAB_ROW(cut.behind, most + 1),
			SLAB_ROW(cut.chain_of, most + 1),
			SLAB_ROW(cut.entry_of, most + 1),
		},
		7);
	rc = cut.block == NULL ? -ENOMEM : 0;
	for (cut.rank = 0; cut.rank < schedule->ranks && rc == 0; cut.rank++) {
		cut.steps = coll_steps(schedule, cut.rank);
		find_lanes(&cut);
		rc = keep_lanes(&cut);
		if (rc == 0)
			rc = keep_order(&cut, cut_rank(&cut));
	}
	free(cut.block);
	return rc;
}

struct chains *
chains_create(const struct coll_schedule *schedule)
{
	struct chains *chains = calloc(1, sizeof(*chains));
	int rc;

	if (chains == NULL)
		return NULL;
	chains->schedule = schedule;
	chains->block = slab_alloc(
		(const struct slab_row[]){
			SLAB_ROW(chains->first_chain, schedule->ranks + 1u),
			SLAB_ROW(chains->order_at, schedule->ranks + 1u),
			SLAB_ROW(chains->lane_at, schedule->ranks + 1u),
		},
		3);
	chains->first_entry = calloc(coll_all_steps(schedule) + (size_t)1, sizeof(*chains->first_entry));
	rc = chains->block == NULL || chains->first_entry == NULL ? -ENOMEM : cut_all(chains);
	if (rc == 0)
		rc = collect_awaits(chains);
	if (rc == 0)
		rc = collect_waiters(chains);
	coll_lists_keep(&chains->lists);
	if (rc != 0) {
		chains_destroy(chains);
		return NULL;
	}
	return chains;
}

void
chains_destroy(struct chains *chains)
{
	if (chains == NULL)
		return;
	free(chains->block);
	free(chains->first_entry);
	free(chains->entries);
	free(chains->chain_of);
	free(chains->entry_of);
	free(chains->before);
	free(chains->behind);
	free(chains->awaits_of);
	free(chains->waiters_of);
	coll_lists_free(&chains->lists);
	free(chains);
}

static int
compare_lanes(const void *a, const void *b, void *cut_arg)
{
	const struct cut *cut = cut_arg;
	uint32_t s = *(const uint32_t *)a, t = *(const uint32_t *)b;

	return cut->lane[s - 1] != cut->lane[t - 1] ? ORDER(cut->lane[s - 1], cut->lane[t - 1]) : ORDER(s, t);
}

static void
find_lanes(const struct cut *cut)
{
	const struct coll_schedule *schedule = cut->chains->schedule;
	bool sorted = true;

	memset(cut->before, 0, cut->steps * sizeof(*cut->before));
	memset(cut->behind, 0, cut->steps * sizeof(*cut->behind));
	for (uint32_t i = 0; i < cut->steps; i++) {
		const struct coll_step step = coll_step_get(schedule, cut->rank, i + 1);

		cut->lane[i] = (uint64_t)step.peer << 32 | step.channel;
		cut->order[i] = i + 1;
		sorted &= i == 0 || cut->lane[i - 1] <= cut->lane[i];
	}
	if (!sorted)
		qsort_r(cut->order, cut->steps, sizeof(*cut->order), compare_lanes, (void *)cut);
	for (uint32_t i = 1; i < cut->steps; i++) {
		if (cut->lane[cut->order[i - 1] - 1] != cut->lane[cut->order[i] - 1])
			continue;
		cut->before[cut->order[i] - 1] = cut->order[i - 1];
		cut->behind[cut->order[i - 1] - 1] = cut->order[i];
	}
}

/*
 * Keeps the rank's part of an array that begins with the first rank that is kept, and has room for all behind it: what is
 * not written costs no memory.
 * @return 0 or -ENOMEM
 */
static int
keep(uint32_t **array, const struct cut *cut, uint32_t first, const uint32_t *from)
{
	const struct coll_schedule *schedule = cut->chains->schedule;

	if (*array == NULL)
		*array = calloc(coll_all_steps(schedule) - first, sizeof(**array));
	if (*array == NULL)
		return -ENOMEM;
	memcpy(*array + schedule->first_step[cut->rank] - first, from, cut->steps * sizeof(*from));
	return 0;
}

static int
keep_lanes(struct cut *cut)
{
	struct chains *chains = cut->chains;
	uint32_t first = chains->schedule->first_step[cut->rank];
	bool one = true;

	for (uint32_t step = 1; step <= cut->steps && one; step++)
		one = cut->before[step - 1] == step - 1;
	chains->lane_at[cut->rank] = COLL_NONE;
	if (one)
		return 0;
	if (chains->before == NULL)
		cut->first_lane = first;
	chains->lane_at[cut->rank] = first - cut->first_lane;
	return keep(&chains->before, cut, cut->first_lane, cut->before) != 0 ||
			       keep(&chains->behind, cut, cut->first_lane, cut->behind) != 0
		       ? -ENOMEM
		       : 0;
}

/* @return the step at a chain's end that the step follows there; 0: it begins a chain */
static uint32_t
follows(const struct cut *cut, uint32_t step)
{
	const struct coll_schedule *schedule = cut->chains->schedule;
	const struct coll_step at = coll_step_get(schedule, cut->rank, step);
	uint32_t found = 0, before = cut->before[step - 1];

	for (uint32_t i = 0; i < at.ndeps; i++) {
		struct coll_dep dep = coll_step_dep(schedule, cut->rank, step, &at, i);

		if (dep.rank == cut->rank && dep.step < step && dep.step > found &&
		    cut->last[cut->chain_of[dep.step - 1]] == dep.step)
			found = dep.step;
	}
	if (found == 0 && before != 0 && cut->last[cut->chain_of[before - 1]] == before)
		found = before;
	return found;
}

/* @return the number of the rank's chains */
static uint32_t
cut_rank(const struct cut *cut)
{
	uint32_t nchains = 0;

	for (uint32_t step = 1; step <= cut->steps; step++) {
		uint32_t follow = follows(cut, step);

		cut->chain_of[step - 1] = follow != 0 ? cut->chain_of[follow - 1] : nchains++;
		cut->entry_of[step - 1] = follow != 0 ? cut->entry_of[follow - 1] + 1 : 1;
		cut->last[cut->chain_of[step - 1]] = step;
	}
	return nchains;
}

static int
keep_order(struct cut *cut, uint32_t nchains)
{
	struct chains *chains = cut->chains;
	uint32_t first = chains->schedule->first_step[cut->rank], end = first;
	uint32_t *first_entry = chains->first_entry + chains->first_chain[cut->rank];

	chains->first_chain[cut->rank + 1] = chains->first_chain[cut->rank] + nchains;
	for (uint32_t c = 0; c < nchains; c++) {
		first_entry[c] = end;
		end += cut->entry_of[cut->last[c] - 1];
	}
	first_entry[nchains] = end;
	chains->order_at[cut->rank] = COLL_NONE;
	if (nchains <= 1) /* a chain is in the order of the list */
		return 0;
	if (chains->entries == NULL)
		cut->first_order = first;
	chains->order_at[cut->rank] = first - cut->first_order;
	for (uint32_t step = 1; step <= cut->steps; step++)
		cut->order[first_entry[cut->chain_of[step - 1]] - first + cut->entry_of[step - 1] - 1] = step;
	return keep(&chains->entries, cut, cut->first_order, cut->order) != 0 ||
			       keep(&chains->chain_of, cut, cut->first_order, cut->chain_of) != 0 ||
			       keep(&chains->entry_of, cut, cut->first_order, cut->entry_of) != 0
		       ? -ENOMEM
		       : 0;
}

static bool
has_dep(const struct coll_dep *deps, uint32_t count, struct coll_dep dep)
{
	for (uint32_t i = 0; i < count; i++)
		if (deps[i].rank == dep.rank && deps[i].step == dep.step)
			return true;
	return false;
}

/* @param out  room for the step's dependencies and one more. @return number of those on other chains */
static uint32_t
count_other_chains(const struct chains *chains, uint32_t rank, uint32_t step, struct coll_dep *out)
{
	const struct coll_schedule *schedule = chains->schedule;
	const struct coll_step at = coll_step_get(schedule, rank, step);
	struct coll_dep before = { rank, chains_before(chains, rank, step) };
	uint32_t chain = chains_of(chains, rank, step), count = 0;

	for (uint32_t i = 0; i < at.ndeps; i++) {
		struct coll_dep dep = coll_step_dep(schedule, rank, step, &at, i);

		if (dep.rank != rank || chains_of(chains, rank, dep.step) != chain)
			out[count++] = dep;
	}
	if (before.step != 0 && chains_of(chains, rank, before.step) != chain && !has_dep(out, count, before))
		out[count++] = before;
	return count;
}

/* @param deps  [count] of a step; changed. @return their list; COLL_NONE: no memory */
static uint32_t
add_list(struct chains *chains, uint32_t rank, uint32_t step, struct coll_dep *deps, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		deps[i] = (struct coll_dep){ deps[i].rank - rank, deps[i].step - step };
	return coll_lists_add(&chains->lists, deps, count);
}

static int
collect_awaits(struct chains *chains)
{
	const struct coll_schedule *schedule = chains->schedule;
	size_t all = coll_all_steps(schedule);
	uint32_t most = 0;
	struct coll_dep *deps;
	int rc = 0;

	for (uint32_t r = 0; r < schedule->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(schedule, r); step++)
			most = max_u64(most, coll_step_get(schedule, r, step).ndeps);
	deps = malloc((most + 1u) * sizeof(*deps));
	chains->awaits_of = malloc((all + 1) * sizeof(*chains->awaits_of));
	if (deps == NULL || chains->awaits_of == NULL)
		rc = -ENOMEM;
	for (uint32_t r = 0, i = 0; r < schedule->ranks && rc == 0; r++)
		for (uint32_t step = 1; step <= coll_steps(schedule, r) && rc == 0; step++, i++) {
			uint32_t count = count_other_chains(chains, r, step, deps);

			chains->awaits_of[i] = add_list(chains, r, step, deps, count);
			rc = chains->awaits_of[i] != COLL_NONE ? 0 : -ENOMEM;
		}
	free(deps);
	return rc;
}

/* Steps by the one that they wait for, while their lists are made. */
struct waiters {
	uint32_t *first; /* [steps + 2] in steps */
	uint32_t *steps; /* their index */
	uint32_t most;   /* of one */
};

/* @return 0 or -ENOMEM */
static int
find_waiters(const struct chains *chains, struct waiters *waiters)
{
	const struct coll_schedule *schedule = chains->schedule;
	size_t all = coll_all_steps(schedule), count = 0;

	waiters->first = calloc(all + 2, sizeof(*waiters->first));
	if (waiters->first == NULL)
		return -ENOMEM;
	for (uint32_t r = 0; r < schedule->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(schedule, r); step++)
			for (uint32_t i = 0; i < chains_awaits(chains, r, step); i++, count++) {
				struct coll_dep on = chains_await(chains, r, step, i);
				size_t at = coll_step_index(schedule, on.rank, on.step);

				waiters->most = max_u64(waiters->most, ++waiters->first[at + 2]);
			}
	waiters->steps = malloc((count + 1) * sizeof(*waiters->steps));
	if (waiters->steps == NULL)
		return -ENOMEM;
	for (size_t i = 2; i <= all; i++)
		waiters->first[i] += waiters->first[i - 1];
	for (uint32_t r = 0; r < schedule->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(schedule, r); step++)
			for (uint32_t i = 0; i < chains_awaits(chains, r, step); i++) {
				struct coll_dep on = chains_await(chains, r, step, i);
				size_t at = coll_step_index(schedule, on.rank, on.step);

				waiters->steps[waiters->first[at + 1]++] = (uint32_t)coll_step_index(schedule, r, step);
			}
	return 0;
}

/* @param deps  room for those of any step. @return 0 or -ENOMEM */
static int
list_waiters(struct chains *chains, const struct waiters *waiters, struct coll_dep *deps)
{
	const struct coll_schedule *schedule = chains->schedule;

	for (uint32_t r = 0, i = 0; r < schedule->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(schedule, r); step++, i++) {
			uint32_t count = waiters->first[i + 1] - waiters->first[i];

			for (uint32_t w = 0; w < count; w++) {
				uint32_t at = waiters->steps[waiters->first[i] + w];
				bool own = at >= schedule->first_step[r] && at < schedule->first_step[r + 1];
				uint32_t of = own ? r : coll_step_get(schedule, r, step).peer;

				deps[w] = (struct coll_dep){ of, at - schedule->first_step[of] + 1 };
			}
			chains->waiters_of[i] = add_list(chains, r, step, deps, count);
			if (chains->waiters_of[i] == COLL_NONE)
				return -ENOMEM;
		}
	return 0;
}

static int
collect_waiters(struct chains *chains)
{
	struct waiters waiters = { .first = NULL };
	int rc = find_waiters(chains, &waiters);
	struct coll_dep *deps = malloc((waiters.most + 1u) * sizeof(*deps));

	chains->waiters_of = malloc((coll_all_steps(chains->schedule) + (size_t)1) * sizeof(*chains->waiters_of));
	if (deps == NULL || chains->waiters_of == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = list_waiters(chains, &waiters, deps);
	free(deps);
	free(waiters.first);
	free(waiters.steps);
	return rc;
}

/* Steps that wait for nothing more, in order; a ring buffer, since few of a schedule's millions are ready at once. */
struct ready {
	struct coll_dep *steps; /* [cap], a power of two */
	size_t cap, first, count;
};

#define FIRST_READY 1024

/* @return 0 or -ENOMEM */
static int
ready_push(struct ready *ready, struct coll_dep step)
{
	if (ready->count == ready->cap) {
		size_t cap = ready->cap != 0 ? 2 * ready->cap : FIRST_READY;
		struct coll_dep *steps = malloc(cap * sizeof(*steps));

		if (steps == NULL)
			return -ENOMEM;
		for (size_t i = 0; i < ready->count; i++)
			steps[i] = ready->steps[(ready->first + i) & (ready->cap - 1)];
		free(ready->steps);
		*ready = (struct ready){ .steps = steps, .cap = cap, .count = ready->count };
	}
	ready->steps[(ready->first + ready->count++) & (ready->cap - 1)] = step;
	return 0;
}

static struct coll_dep
ready_pop(struct ready *ready)
{
	struct coll_dep step = ready->steps[ready->first];

	ready->first = (ready->first + 1) & (ready->cap - 1);
	ready->count--;
	return step;
}

/* All that a finished step lets go. @return 0 or -ENOMEM */
static int
let_go(const struct chains *chains, struct coll_dep done, uint32_t *depths, uint32_t *missing, struct ready *ready)
{
	const struct coll_schedule *schedule = chains->schedule;
	size_t at = coll_step_index(schedule, done.rank, done.step);
	uint32_t waiters = chains_waiters(chains, done.rank, done.step);
	uint32_t next = chains_next(chains, done.rank, done.step);

	for (uint32_t i = 0; i < waiters + (next != 0); i++) {
		struct coll_dep waiter =
			i < waiters ? chains_waiter(chains, done.rank, done.step, i) : (struct coll_dep){ done.rank, next };
		size_t w = coll_step_index(schedule, waiter.rank, waiter.step);

		if (depths[w] <= depths[at])
			depths[w] = depths[at] + 1;
		if (--missing[w] == 0 && ready_push(ready, waiter) != 0)
			return -ENOMEM;
	}
	return 0;
}

uint32_t *
chains_depths(const struct chains *chains)
{
	const struct coll_schedule *schedule = chains->schedule;
	size_t all = coll_all_steps(schedule), done = 0;
	uint32_t *depths = calloc(all + 1, sizeof(*depths)), *missing = calloc(all + 1, sizeof(*missing));
	struct ready ready = { .steps = NULL };
	bool memory = depths != NULL && missing != NULL;

	for (uint32_t r = 0; memory && r < schedule->ranks; r++)
		for (uint32_t step = 1; step <= coll_steps(schedule, r); step++) {
			size_t at = coll_step_index(schedule, r, step);

			depths[at] = 1;
			missing[at] = chains_awaits(chains, r, step) + (chains_entry(chains, r, step) > 1);
			if (missing[at] == 0)
				memory &= ready_push(&ready, (struct coll_dep){ r, step }) == 0;
		}
	for (; memory && ready.count != 0; done++)
		memory = let_go(chains, ready_pop(&ready), depths, missing, &ready) == 0;
	free(missing);
	free(ready.steps);
	if (!memory || done < all) {
		free(depths);
		depths = NULL;
		errno = memory ? EINVAL : ENOMEM;
	}
	return depths;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/data.h"
#include "common/array.h"
#include "common/prng.h"
#include "tests/unit/collectives/schedule_rig.h"

#define ITERATION 3

static const uint32_t rank_counts[] = { 2, 3, 4, 5, 8, 16, 128 };

/* Every rank's memory, and what has been done. Chooses among what may happen next by chance. */
struct executor {
	const struct coll_schedule *schedule;
	enum coll_type type;
	uint8_t **vectors;
	uint32_t *started, *arrived; /* [ranks] steps */
};

static bool
may_start(const struct executor *x, uint32_t rank)
{
	struct coll_dep arrival;

	if (x->started[rank] == coll_steps(x->schedule, rank) || x->arrived[rank] < x->started[rank])
		return false;
	arrival = coll_step_arrival(x->schedule, rank, x->started[rank] + 1);
	return arrival.rank == COLL_NONE || x->arrived[arrival.rank] >= arrival.step;
}

/* The data moves when the send arrives: the latest that a network may read it. */
static void
arrive(struct executor *x, uint32_t rank)
{
	const struct coll_step *s = coll_step_at(x->schedule, rank, ++x->arrived[rank]);
	size_t elem = coll_elem_bytes(x->type);
	uint8_t *dst = x->vectors[s->peer] + s->dst_elems * elem;
	const uint8_t *src = x->vectors[rank] + s->src_elems * elem;

	if (s->reduce)
		coll_data_reduce(dst, src, x->type, s->count_elems);
	else
		memcpy(dst, src, s->count_elems * elem);
}

static void
run_to_the_end(struct executor *x, uint64_t seed)
{
	uint32_t ranks = x->schedule->ranks;
	struct prng prng;

	prng_init(&prng, seed, 0);
	for (uint64_t left = 2ULL * coll_all_steps(x->schedule); left > 0; left--) {
		uint32_t first = (uint32_t)prng_below(&prng, ranks), i;

		for (i = 0; i < ranks; i++) {
			uint32_t rank = (first + i) % ranks;

			if (x->arrived[rank] < x->started[rank] && prng_unit(&prng) < 0.5) {
				arrive(x, rank);
				break;
			}
			if (may_start(x, rank)) {
				x->started[rank]++;
				break;
			}
			if (x->arrived[rank] < x->started[rank] && i == ranks - 1) {
				arrive(x, rank);
				break;
			}
		}
		if (i == ranks) { /* only unlucky arrivals were left */
			for (i = 0; i < ranks && x->arrived[i] == x->started[i]; i++)
				;
			assert_int_not_equal(i, ranks);
			arrive(x, i);
		}
	}
}

/* @return wrong elements over all ranks after running with random timing */
static uint64_t
execute(const struct coll_schedule *schedule, enum coll_type type, uint64_t seed)
{
	struct executor x = { .schedule = schedule, .type = type };
	uint64_t wrong = 0;

	x.vectors = calloc(schedule->ranks, sizeof(*x.vectors));
	x.started = calloc(schedule->ranks, sizeof(*x.started));
	x.arrived = calloc(schedule->ranks, sizeof(*x.arrived));
	for (uint32_t rank = 0; rank < schedule->ranks; rank++) {
		x.vectors[rank] = malloc(schedule->count_elems * coll_elem_bytes(type));
		coll_data_fill(x.vectors[rank], schedule, type, rank, ITERATION);
		assert_int_not_equal(coll_data_wrong(x.vectors[rank], schedule, type, rank, ITERATION), 0);
	}
	run_to_the_end(&x, seed);
	for (uint32_t rank = 0; rank < schedule->ranks; rank++) {
		wrong += coll_data_wrong(x.vectors[rank], schedule, type, rank, ITERATION);
		free(x.vectors[rank]);
	}
	free(x.vectors);
	free(x.started);
	free(x.arrived);
	return wrong;
}

static void
every_collective_is_complete(void **state)
{
	for (int algorithm = 0; algorithm < ENUM_COUNT(COLL_ALGORITHMS); algorithm++) {
		for (int op = 0; op < ENUM_COUNT(COLL_OPS); op++) {
			for (size_t i = 0; i < ARRAY_LEN(rank_counts); i++) {
				uint32_t ranks = rank_counts[i];
				struct coll_schedule *schedule;
				struct err err = { 0 };

				if (!coll_algorithm_has(algorithm, op))
					continue;
				schedule =
					coll_schedule_create(&(struct coll_params){ .op = op,
										    .algorithm = algorithm,
										    .ranks = ranks,
										    .count_elems = 7 * ranks + ranks / 2 },
							     &err);
				if (schedule == NULL && errno == EINVAL && (ranks & (ranks - 1)) != 0)
					continue; /* every algorithm serves powers of two */
				assert_non_null(schedule);
				if (coll_schedule_check(schedule, &err) != 0)
					fail_msg("%s %s %u: %s", coll_algorithm_name(algorithm), coll_op_name(op), ranks,
						 err.text);
				for (uint64_t seed = 0; seed < 5; seed++) {
					assert_int_equal(execute(schedule, COLL_INT32, seed), 0);
					assert_int_equal(execute(schedule, COLL_FLOAT32, seed), 0);
				}
				coll_schedule_destroy(schedule);
			}
		}
	}
}

static void
steps_of_a_block_send_one_block(void **state)
{
	for (int algorithm = 0; algorithm < ENUM_COUNT(COLL_ALGORITHMS); algorithm++) {
		struct coll_schedule *schedule;
		bool equal = true;

		if (!coll_algorithm_has(algorithm, COLL_ALLGATHER))
			continue;
		schedule = make_schedule(COLL_ALLGATHER, algorithm, 8, 800);
		for (uint32_t i = 0; i < coll_all_steps(schedule); i++)
			equal &= schedule->steps[i].count_elems == 100;
		assert_int_equal(coll_block_steps(algorithm, COLL_ALLGATHER), equal);
		coll_schedule_destroy(schedule);
	}
}

static void
bad_arguments_are_refused(void **state)
{
	static const struct {
		enum coll_algorithm algorithm;
		uint32_t ranks;
		uint64_t count;
		const char *says;
	} cases[] = {
		{ COLL_RING, 1, 10, "at least 2 ranks, not 1" },
		{ COLL_RING, COLL_MAX_RANKS + 1, 1 << 20, "at most 1024" },
		{ COLL_RING, 4, 3, "3 elements for 4 ranks" },
		{ COLL_HALVING_DOUBLING, 12, 100, "power of two ranks, not 12: use 8 or 16 ranks" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };

		assert_null(coll_schedule_create(&(struct coll_params){ .op = COLL_ALLREDUCE,
									.algorithm = cases[i].algorithm,
									.ranks = cases[i].ranks,
									.count_elems = cases[i].count },
						 &err));
		assert_int_equal(errno, EINVAL);
		assert_non_null(strstr(err.text, cases[i].says));
	}
}

/* Hand-computed: 8 ranks, Thakur et al. The paper's Fig. 1b: F0 sends to node 4 first, then to node 2. */
static void
halving_doubling_partners(void **state)
{
	static const uint32_t peers[] = { 4, 2, 1, 1, 2, 4 };
	static const uint64_t offsets[] = { 8, 4, 2, 0, 0, 0 }, counts[] = { 8, 4, 2, 2, 4, 8 };
	struct coll_schedule *schedule = make_schedule(COLL_ALLREDUCE, COLL_HALVING_DOUBLING, 8, 16);

	assert_int_equal(coll_max_steps(schedule), 6);
	for (uint32_t step = 1; step <= 6; step++) {
		const struct coll_step *s = coll_step_at(schedule, 0, step);

		assert_int_equal(s->peer, peers[step - 1]);
		assert_int_equal(s->src_elems, offsets[step - 1]);
		assert_int_equal(s->dst_elems, offsets[step - 1]);
		assert_int_equal(s->count_elems, counts[step - 1]);
		assert_int_equal(s->reduce, step <= 3);
		assert_int_equal(s->ndeps, step == 1 ? 0 : 2);
		if (step > 1)
			assert_int_equal(arrival_of(schedule, 0, step)->rank, peers[step - 2]);
	}
	coll_schedule_destroy(schedule);
}

/* The paper's Fig. 4: in a ring reduce-scatter of 4, F1S2 waits for F4S1 (ranks 0 and 3 here) beside its own F1S1. */
static void
ring_waits_as_in_figure_4(void **state)
{
	struct coll_schedule *schedule = make_schedule(COLL_REDUCESCATTER, COLL_RING, 4, 8);

	assert_int_equal(coll_max_steps(schedule), 3);
	for (uint32_t rank = 0; rank < 4; rank++)
		for (uint32_t step = 1; step <= 3; step++) {
			const struct coll_step *s = coll_step_at(schedule, rank, step);

			assert_int_equal(s->peer, (rank + 1) % 4);
			assert_int_equal(s->ndeps, step == 1 ? 0 : 2);
			if (step == 1)
				continue;
			assert_int_equal(schedule->deps[s->first_dep].rank, rank);
			assert_int_equal(schedule->deps[s->first_dep].step, step - 1);
			assert_int_equal(arrival_of(schedule, rank, step)->rank, (rank + 3) % 4);
			assert_int_equal(arrival_of(schedule, rank, step)->step, step - 1);
		}
	coll_schedule_destroy(schedule);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_collective_is_complete), cmocka_unit_test(steps_of_a_block_send_one_block),
		cmocka_unit_test(bad_arguments_are_refused),    cmocka_unit_test(halving_doubling_partners),
		cmocka_unit_test(ring_waits_as_in_figure_4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

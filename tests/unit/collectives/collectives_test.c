/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "tests/unit/collectives/execute_rig.h"
#include "tests/unit/unit.h"

static void
every_collective_is_complete(void **state)
{
	const uint32_t orders = unit_wide(1, 3, "orders in which each collective is executed");
	const uint32_t tries = unit_wide(1, 4, "parameters of each collective of 14 ranks or more, of four");
	static struct rig_try try;
	uint32_t tried = 0;

	for (int algorithm = 0; algorithm < ENUM_COUNT(COLL_ALGORITHMS); algorithm++)
		for (int op = 0; op < ENUM_COUNT(COLL_OPS); op++)
			for (uint32_t i = 0; i < 4 * ARRAY_LEN(rig_ranks); i++) {
				uint32_t ranks = rig_ranks[i / 4];
				struct coll_schedule *schedule;
				struct err err = { 0 };

				if (ranks >= 14 && tries == 1 && i % 4 != (uint32_t)(algorithm + op) % 4)
					continue;
				if (!rig_try(&try, op, algorithm, ranks, i % 4))
					continue;
				tried++;
				schedule = coll_schedule_create(&try.params, &err);
				if (schedule == NULL || coll_schedule_check(schedule, NULL, &err) != 0)
					fail_msg("%s %s %u try %u: %s", coll_algorithm_name(algorithm), coll_op_name(op),
						 ranks, i % 4, err.text);
				for (uint64_t seed = 0; seed < (ranks < 20 ? orders : 1); seed++) {
					assert_int_equal(execute(schedule, COLL_INT32, seed), 0);
					assert_int_equal(execute(schedule, COLL_FLOAT32, seed), 0);
				}
				coll_schedule_destroy(schedule);
			}
	assert_true(tried > 1000);
}

/* Steps can be counted without memory for them: all of one channel, and at least so many as several channels have. */
static void
steps_are_counted_without_a_schedule(void **state)
{
	const uint32_t tries = unit_wide(1, 4, "parameters that steps of 14 ranks or more are counted of, of four");
	static struct rig_try try;
	uint32_t tried = 0;

	for (int algorithm = 0; algorithm < ENUM_COUNT(COLL_ALGORITHMS); algorithm++)
		for (int op = 0; op < ENUM_COUNT(COLL_OPS); op++)
			for (uint32_t i = 0; i < 4 * ARRAY_LEN(rig_ranks); i++) {
				struct coll_step_count count;
				struct coll_schedule *schedule;

				if (rig_ranks[i / 4] >= 14 && tries == 1 && i % 4 != (uint32_t)(algorithm + op) % 4)
					continue;
				if (!rig_try(&try, op, algorithm, rig_ranks[i / 4], i % 4))
					continue;
				tried++;
				schedule = coll_schedule_create(&try.params, &(struct err){ 0 });
				assert_int_equal(coll_schedule_count(&try.params, &count), 0);
				assert_true(count.all <= coll_all_steps(schedule) && count.all > 0);
				assert_true(count.most <= coll_max_steps(schedule) && count.most > 0);
				if (try.params.channels <= 1)
					assert_true(count.all == coll_all_steps(schedule) &&
						    count.most == coll_max_steps(schedule));
				coll_schedule_destroy(schedule);
			}
	assert_true(tried > 1000);
}

static void
steps_of_no_schedule_are_none(void **state)
{
	const struct coll_params one = { .op = COLL_ALLREDUCE, .algorithm = COLL_RING, .ranks = 1, .count_elems = 10 };
	struct coll_step_count count = { .all = 1 };

	assert_int_equal(coll_schedule_count(&one, &count), -EINVAL);
	assert_int_equal(count.all, 0);
}

/* Without the own block, which AllToAll copies. */
static void
steps_of_a_block_send_one_block(void **state)
{
	static struct rig_try try;

	for (int algorithm = 0; algorithm < ENUM_COUNT(COLL_ALGORITHMS); algorithm++)
		for (int op = 0; op < ENUM_COUNT(COLL_OPS); op++) {
			struct coll_schedule *schedule;
			bool equal = true;

			if (!rig_try(&try, op, algorithm, 8, 0))
				continue;
			try.params.count_elems = 800;
			schedule = coll_schedule_create(&try.params, &(struct err){ 0 });
			for (uint32_t i = 0; i < coll_all_steps(schedule); i++)
				equal &= schedule->steps[i].count_elems == 100;
			if (coll_block_steps(algorithm, op) != (equal && !coll_algorithm_ops(algorithm)->of[op].chunks))
				fail_msg("%s %s", coll_algorithm_name(algorithm), coll_op_name(op));
			coll_schedule_destroy(schedule);
		}
}

#define OF(op_, algorithm_, ranks_, count_, ...)                                                                           \
	{                                                                                                                  \
		.op = op_, .algorithm = algorithm_, .ranks = ranks_, .count_elems = count_, __VA_ARGS__                    \
	}

static void
bad_arguments_are_refused(void **state)
{
	static const struct coll_pair plugin = { 1, 4 }, self = { 2, 2 };
	static const uint64_t nothing[16], much[16] = { [6] = 20, [7] = 20 };
	static const struct {
		struct coll_params params;
		const char *message;
	} cases[] = {
		{ OF(COLL_ALLREDUCE, COLL_RING, 1, 10), "at least 2 ranks, not 1" },
		{ OF(COLL_ALLREDUCE, COLL_RING, COLL_MAX_RANKS + 1, 1 << 20), "at most 65536" },
		{ OF(COLL_ALLREDUCE, COLL_RING, 4, 3), "3 elements for 4 ranks" },
		{ OF(COLL_BROADCAST, COLL_BINOMIAL_TREE, 4, 0), "0 elements for 4 ranks" },
		{ OF(COLL_ALLREDUCE, COLL_HALVING_DOUBLING, 12, 100), "power of two ranks, not 12: use 8 or 16 ranks" },
		{ OF(COLL_ALLTOALL, COLL_RING, 4, 100),
		  "no alltoall by algorithm \"ring\": use \"linear\", \"pairwise\", \"bruck\"" },
		{ OF(COLL_ALLREDUCE, COLL_LINEAR, 4, 100),
		  "use \"ring\", \"halving-doubling\", \"binomial-tree\", \"double-binary-tree\"" },
		{ OF(COLL_ALLREDUCE, COLL_FILE, 4, 100), "use \"ring\", \"halving-doubling\"" },
		{ OF(COLL_CUSTOM, COLL_FILE, 4, 100), "custom is what files hold: no algorithm makes it" },
		{ OF(COLL_ALLTOALL, COLL_BRUCK, 4, 99), "use 100 elements, or algorithm pairwise" },
		{ OF(COLL_ALLREDUCE, COLL_RING, 4, 100, .root = 1), "allreduce has no root" },
		{ OF(COLL_REDUCE, COLL_RING, 4, 100, .root = 4), "root 4: there are ranks 0 to 3" },
		{ OF(COLL_ALLREDUCE, COLL_RING, 4, 100, .chunks = 2), "is no pipeline" },
		{ OF(COLL_REDUCE, COLL_RING, 4, 9999, .chunks = COLL_MAX_CHUNKS + 1), "at most 4096" },
		{ OF(COLL_ALLREDUCE, COLL_RING, 4, 9999, .channels = COLL_MAX_CHANNELS + 1), "at most 64" },
		{ OF(COLL_ALLREDUCE, COLL_RING, 4, 11, .channels = 3),
		  "11 elements for 3 channels of 4 ranks: at least 12 are needed" },
		{ OF(COLL_ALLTOALLV, COLL_LINEAR, 4, 11), "how many elements go from each rank to each" },
		{ OF(COLL_ALLTOALLV, COLL_LINEAR, 4, 11, .counts = nothing), "no rank sends anything" },
		{ OF(COLL_ALLTOALLV, COLL_LINEAR, 4, 39, .counts = much), "rank 1 sends more than the 39 elements" },
		{ OF(COLL_ALLTOALL, COLL_LINEAR, 4, 39, .counts = much), "alltoall has no separate counts" },
		{ OF(COLL_SENDRECV, COLL_LINEAR, 4, 11), "needs pairs" },
		{ OF(COLL_SENDRECV, COLL_LINEAR, 4, 11, .pairs = &plugin, .npairs = 1), "1 to 4: there are ranks 0 to 3" },
		{ OF(COLL_SENDRECV, COLL_LINEAR, 4, 11, .pairs = &self, .npairs = 1), "rank 2 sends to itself" },
		{ OF(COLL_SENDRECV, COLL_RING, 4, 11, .pairs = &self, .npairs = 1), "it takes no pairs" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };

		assert_null(coll_schedule_create(&cases[i].params, &err));
		assert_int_equal(errno, EINVAL);
		if (strstr(err.text, cases[i].message) == NULL)
			fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.text, cases[i].message);
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

UNIT_TEST(collectives)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_collective_is_complete),  cmocka_unit_test(steps_are_counted_without_a_schedule),
		cmocka_unit_test(steps_of_no_schedule_are_none), cmocka_unit_test(steps_of_a_block_send_one_block),
		cmocka_unit_test(bad_arguments_are_refused),     cmocka_unit_test(halving_doubling_partners),
		cmocka_unit_test(ring_waits_as_in_figure_4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

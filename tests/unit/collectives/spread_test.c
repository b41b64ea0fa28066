/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules of groups, spread over a job: copies with the job's rank numbers, behind computations. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "collectives/data.h"
#include "collectives/schedule.h"
#include "tests/unit/unit.h"

#define RANKS 7
#define COMPUTE_PS 5000

/* Two groups of three, in an order of their own; rank 3 has no part. */
static const uint32_t rank_of[] = { 6, 0, 2, 1, 5, 4 };
static const bool computes[RANKS] = { [0] = true, [5] = true };

static struct coll_schedule *
ring_of_three(void)
{
	struct err err = { "" };

	return coll_schedule_create(
		&(struct coll_params){ .op = COLL_ALLREDUCE, .algorithm = COLL_RING, .ranks = 3, .count_elems = 11 }, &err);
}

static struct coll_schedule *
spread_over(const struct coll_schedule *one, const bool *computing)
{
	struct coll_spread spread = { RANKS, 2, rank_of, computing, COMPUTE_PS };
	struct err err = { "" };
	struct coll_schedule *all = coll_schedule_spread(one, &spread, &err);

	if (all == NULL)
		fail_msg("%s", err.text);
	return all;
}

static void
groups_are_copies_with_the_jobs_ranks(void **state)
{
	struct coll_schedule *one = ring_of_three(), *all = spread_over(one, (const bool[RANKS]){ 0 });

	assert_int_equal(all->ranks, RANKS);
	assert_int_equal(all->group_ranks, 3);
	assert_int_equal(coll_steps(all, 3), 0);
	assert_int_equal(coll_member(all, 3), COLL_NONE);
	assert_int_equal(coll_all_steps(all), 2 * coll_all_steps(one));
	for (uint32_t i = 0; i < 6; i++) {
		uint32_t rank = rank_of[i], member = i % 3;

		assert_int_equal(coll_member(all, rank), member);
		assert_int_equal(coll_steps(all, rank), coll_steps(one, member));
		for (uint32_t s = 1; s <= coll_steps(one, member); s++) {
			const struct coll_step *is = coll_step_at(all, rank, s), *was = coll_step_at(one, member, s);

			assert_int_equal(is->peer, rank_of[i / 3 * 3 + was->peer]);
			assert_int_equal(is->src_elems, was->src_elems);
			assert_int_equal(is->dst_elems, was->dst_elems);
			assert_int_equal(is->count_elems, was->count_elems);
			assert_int_equal(is->reduce, was->reduce);
			assert_int_equal(is->ndeps, was->ndeps);
			for (uint32_t d = 0; d < is->ndeps; d++) {
				assert_int_equal(all->deps[is->first_dep + d].rank,
						 rank_of[i / 3 * 3 + one->deps[was->first_dep + d].rank]);
				assert_int_equal(all->deps[is->first_dep + d].step, one->deps[was->first_dep + d].step);
			}
		}
	}
	coll_schedule_destroy(all);
	coll_schedule_destroy(one);
}

static void
steps_wait_for_the_computation(void **state)
{
	struct coll_schedule *one = ring_of_three(), *all = spread_over(one, computes);
	const struct coll_step *head = coll_step_at(all, 0, 1), *first = coll_step_at(all, 0, 2);
	const struct coll_step *second = coll_step_at(all, 0, 3), *of_six = coll_step_at(all, 2, 2);

	assert_int_equal(head->peer, 0);
	assert_int_equal(head->count_elems, 0);
	assert_int_equal(head->compute_ps, COMPUTE_PS);
	assert_int_equal(head->ndeps, 0);
	assert_int_equal(coll_steps(all, 0), coll_steps(one, 1) + 1);
	assert_int_equal(coll_steps(all, 6), coll_steps(one, 0));
	assert_int_equal(first->ndeps, 1);
	assert_int_equal(all->deps[first->first_dep].rank, 0);
	assert_int_equal(all->deps[first->first_dep].step, 1);
	/* Rank 0's second send waits for its own first, now step 2, and for the arrival of rank 6's first. */
	assert_int_equal(second->ndeps, 2);
	assert_int_equal(all->deps[second->first_dep].step, 2);
	assert_int_equal(all->deps[second->first_dep + 1].rank, 6);
	assert_int_equal(all->deps[second->first_dep + 1].step, 1);
	/* Rank 2 waits for the arrival of rank 0's first send, which is step 2 there. */
	assert_int_equal(all->deps[of_six->first_dep + 1].rank, 0);
	assert_int_equal(all->deps[of_six->first_dep + 1].step, 2);
	coll_schedule_destroy(all);
	coll_schedule_destroy(one);
}

/* Runs a schedule in an order that it allows, on real elements. */
static void
run(const struct coll_schedule *s, int32_t *const *memory)
{
	bool *done = calloc(coll_all_steps(s) + 1u, sizeof(*done));
	uint32_t left = coll_all_steps(s);

	assert_non_null(done);
	while (left != 0) {
		uint32_t before = left;

		for (uint32_t r = 0; r < s->ranks; r++)
			for (uint32_t n = 1; n <= coll_steps(s, r); n++) {
				const struct coll_step *step = coll_step_at(s, r, n);
				bool ready = !done[coll_step_index(s, r, n)];

				for (uint32_t d = 0; d < step->ndeps && ready; d++)
					ready = done[coll_step_index(s, s->deps[step->first_dep + d].rank,
								     s->deps[step->first_dep + d].step)];
				if (!ready)
					continue;
				if (step->reduce)
					coll_data_reduce(memory[step->peer] + step->dst_elems, memory[r] + step->src_elems,
							 COLL_INT32, step->count_elems);
				else if (step->count_elems != 0)
					memcpy(memory[step->peer] + step->dst_elems, memory[r] + step->src_elems,
					       step->count_elems * sizeof(int32_t));
				done[coll_step_index(s, r, n)] = true;
				left--;
			}
		assert_int_not_equal(left, before);
	}
	free(done);
}

/* Each group ends with its own sum; a mixture of both would be noticed, and so would a rank without part. */
static void
each_group_has_a_result_of_its_own(void **state)
{
	struct coll_schedule *one = ring_of_three(), *all = spread_over(one, computes);
	int32_t *memory[RANKS];

	for (uint32_t r = 0; r < RANKS; r++) {
		memory[r] = calloc(all->memory_elems, sizeof(int32_t));
		coll_data_fill(memory[r], all, COLL_INT32, r, 0);
		assert_int_equal(coll_data_wrong(memory[r], all, COLL_INT32, r, 0), r == 3 ? 0 : 11);
	}
	run(all, memory);
	for (uint32_t r = 0; r < RANKS; r++) {
		assert_int_equal(coll_data_wrong(memory[r], all, COLL_INT32, r, 0), 0);
		free(memory[r]);
	}
	assert_int_equal(coll_contents_count(all, 3, COLL_OUT), 0);
	coll_schedule_destroy(all);
	coll_schedule_destroy(one);
}

UNIT_TEST(spread)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_copies_with_the_jobs_ranks),
		cmocka_unit_test(steps_wait_for_the_computation),
		cmocka_unit_test(each_group_has_a_result_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/data.h"
#include "collectives/queues.h"
#include "collectives/report.h"
#include "common/prng.h"

#define ITERATION 3

static const uint32_t rank_counts[] = { 2, 3, 4, 5, 8, 16, 128 };

static bool
possible(enum coll_algorithm algorithm, uint32_t ranks)
{
	return algorithm == COLL_RING || (ranks & (ranks - 1)) == 0;
}

static struct coll_schedule *
create(enum coll_op op, enum coll_algorithm algorithm, uint32_t ranks, uint64_t count)
{
	struct err err = { 0 };
	struct coll_schedule *schedule = coll_schedule_create(op, algorithm, ranks, count, &err);

	if (schedule == NULL)
		fail_msg("%s", err.text);
	return schedule;
}

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
	const struct coll_step *s;

	if (x->started[rank] == x->schedule->steps || x->arrived[rank] < x->started[rank])
		return false;
	s = coll_step_at(x->schedule, rank, x->started[rank] + 1);
	return s->depends_rank == COLL_NONE || x->arrived[s->depends_rank] >= s->depends_step;
}

/* The data moves when the send arrives: the latest that a network may read it. */
static void
arrive(struct executor *x, uint32_t rank)
{
	const struct coll_step *s = coll_step_at(x->schedule, rank, ++x->arrived[rank]);
	size_t elem = coll_elem_bytes(x->type);
	uint8_t *dst = x->vectors[s->peer] + s->offset_elems * elem;
	const uint8_t *src = x->vectors[rank] + s->offset_elems * elem;

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
	for (uint64_t left = 2ULL * ranks * x->schedule->steps; left > 0; left--) {
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
		if (schedule->steps > 0)
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
	for (int algorithm = COLL_RING; algorithm <= COLL_HALVING_DOUBLING; algorithm++) {
		for (int op = COLL_ALLGATHER; op <= COLL_ALLREDUCE; op++) {
			for (size_t i = 0; i < sizeof(rank_counts) / sizeof(rank_counts[0]); i++) {
				uint32_t ranks = rank_counts[i];
				struct coll_schedule *schedule;
				struct err err = { 0 };

				if (!possible(algorithm, ranks))
					continue;
				schedule = create(op, algorithm, ranks, 7 * ranks + ranks / 2);
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

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = { 0 };

		assert_null(coll_schedule_create(COLL_ALLREDUCE, cases[i].algorithm, cases[i].ranks, cases[i].count, &err));
		assert_int_equal(errno, EINVAL);
		assert_non_null(strstr(err.text, cases[i].says));
	}
}

/* Kinds of damage; each gets a sound schedule and breaks it. */
static void
wait_for_each_other(struct coll_schedule *s)
{
	for (uint32_t rank = 0; rank < 4; rank++) {
		coll_step_at(s, rank, 1)->depends_rank = (rank + 3) % 4;
		coll_step_at(s, rank, 1)->depends_step = 1;
	}
}

static void
forget_dependency(struct coll_schedule *s)
{
	coll_step_at(s, 2, 2)->depends_rank = COLL_NONE;
}

static void
depend_too_early(struct coll_schedule *s)
{
	coll_step_at(s, 2, 3)->depends_step = 1;
}

static void
send_other_block(struct coll_schedule *s)
{
	coll_step_at(s, 1, 3)->offset_elems = coll_step_at(s, 1, 2)->offset_elems;
}

static void
add_when_gathering(struct coll_schedule *s)
{
	coll_step_at(s, 1, 4)->reduce = true;
}

static void
send_less(struct coll_schedule *s)
{
	coll_step_at(s, 1, 3)->count_elems = 1;
}

static void
reduce_instead(struct coll_schedule *s)
{
	coll_step_at(s, 3, 3)->reduce = true;
}

static void
overwrite_instead(struct coll_schedule *s)
{
	coll_step_at(s, 3, 2)->reduce = false;
}

static void
send_to_oneself(struct coll_schedule *s)
{
	coll_step_at(s, 3, 3)->peer = 3;
}

static void
send_too_much(struct coll_schedule *s)
{
	coll_step_at(s, 3, 2)->count_elems = UINT64_MAX;
}

static void
depend_on_nothing_known(struct coll_schedule *s)
{
	coll_step_at(s, 3, 2)->depends_step = 9;
}

static void
depend_on_another(struct coll_schedule *s)
{
	coll_step_at(s, 3, 2)->depends_rank = 0;
}

static void
damage_is_found(void **state)
{
	static const struct {
		void (*damage)(struct coll_schedule *schedule);
		enum coll_op op;
		const char *says;
	} cases[] = {
		/* 8 elements, 4 ranks: block b is elements 2b, 2b+1 */
		{ wait_for_each_other, COLL_ALLGATHER, "rank 0 step 1 waits for itself, through step 1 of rank 3" },
		{ forget_dependency, COLL_ALLGATHER,
		  "race at rank 2: rank 2 step 2 sends elements 2..3 while rank 1 step 1 overwrites them" },
		{ forget_dependency, COLL_REDUCESCATTER,
		  "race at rank 2: rank 2 step 2 sends elements 0..1 while rank 1 step 1 adds to them" },
		{ depend_too_early, COLL_ALLGATHER,
		  "race at rank 2: rank 2 step 3 sends elements 0..1 while rank 1 step 2 overwrites them" },
		{ send_other_block, COLL_ALLGATHER,
		  "race at rank 2: rank 1 step 3 overwrites elements 0..1 while rank 2 step 3 sends them" },
		{ add_when_gathering, COLL_ALLREDUCE,
		  "rank 1 step 4 adds the contribution of rank 2 to elements 2..3 of rank 2 a second time" },
		{ send_less, COLL_ALLGATHER,
		  "rank 2 ends incomplete: the contribution of rank 3 to elements 7..7 is missing" },
		{ send_less, COLL_REDUCESCATTER,
		  "rank 2 ends incomplete: the contribution of rank 0 to elements 5..5 is missing" },
		{ reduce_instead, COLL_ALLGATHER,
		  "rank 3 step 3 adds to elements 2..3, of which rank 0 has none" },
		{ overwrite_instead, COLL_REDUCESCATTER,
		  "rank 3 step 2 sends elements 2..3 before they are complete: the contribution of rank 0 is missing" },
		{ send_to_oneself, COLL_ALLGATHER, "rank 3 step 3 sends to rank 3: must be another" },
		{ send_too_much, COLL_ALLGATHER, "rank 3 step 2 sends 18446744073709551615 elements from 4" },
		{ depend_on_nothing_known, COLL_ALLGATHER, "depends on step 9 of rank 2, which does not exist" },
		{ depend_on_another, COLL_ALLGATHER, "depends on step 1 of rank 0, which goes to rank 1" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct coll_schedule *schedule = create(cases[i].op, COLL_RING, 4, 8);
		struct err err = { 0 };

		cases[i].damage(schedule);
		assert_int_equal(coll_schedule_check(schedule, &err), -EINVAL);
		if (strstr(err.text, cases[i].says) == NULL)
			fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.text, cases[i].says);
		coll_schedule_destroy(schedule);
	}
}

/* No schedule names a dependency that it does not need: without any one of them, something races. */
static void
every_dependency_is_needed(void **state)
{
	for (int i = 0; i < 6; i++) {
		struct coll_schedule *schedule = create(i % 3, i / 3, 8, 20);

		for (uint32_t rank = 0; rank < 8; rank++) {
			for (uint32_t step = 2; step <= schedule->steps; step++) {
				struct coll_step *s = coll_step_at(schedule, rank, step);
				uint32_t depends_rank = s->depends_rank;
				struct err err = { 0 };

				s->depends_rank = COLL_NONE;
				assert_int_equal(coll_schedule_check(schedule, &err), -EINVAL);
				assert_non_null(strstr(err.text, "race at rank"));
				s->depends_rank = depends_rank;
			}
		}
		coll_schedule_destroy(schedule);
	}
}

/* The check must see what only some timings would show: overwriting what a slow peer still sends. */
static void
reuse_before_sent_is_found(void **state)
{
	struct coll_step at[4] = {
		{ .peer = 1, .depends_rank = COLL_NONE, .offset_elems = 0, .count_elems = 1 },
		{ .peer = 1, .depends_rank = COLL_NONE, .offset_elems = 0, .count_elems = 1 },
		{ .peer = 0, .depends_rank = COLL_NONE, .offset_elems = 1, .count_elems = 1 },
		{ .peer = 0, .depends_rank = COLL_NONE, .offset_elems = 1, .count_elems = 1 },
	};
	struct coll_schedule schedule = { 2, 2, COLL_ALLGATHER, COLL_RING, 2, at };
	struct err err = { 0 };

	assert_int_equal(coll_schedule_check(&schedule, &err), 0); /* sending twice what one has harms nobody */
	at[1].offset_elems = 1; /* rank 0 returns rank 1's own element, which rank 1 may still be sending */
	at[1].depends_rank = 1;
	at[1].depends_step = 1;
	assert_int_equal(coll_schedule_check(&schedule, &err), -EINVAL);
	assert_non_null(strstr(err.text, "while rank"));
}

/* Hand-computed: 8 ranks, Thakur et al. The paper's Fig. 1b: F0 sends to node 4 first, then to node 2. */
static void
halving_doubling_partners(void **state)
{
	static const uint32_t peers[] = { 4, 2, 1, 1, 2, 4 };
	static const uint64_t offsets[] = { 8, 4, 2, 0, 0, 0 }, counts[] = { 8, 4, 2, 2, 4, 8 };
	struct coll_schedule *schedule = create(COLL_ALLREDUCE, COLL_HALVING_DOUBLING, 8, 16);

	assert_int_equal(schedule->steps, 6);
	for (uint32_t step = 1; step <= 6; step++) {
		const struct coll_step *s = coll_step_at(schedule, 0, step);

		assert_int_equal(s->peer, peers[step - 1]);
		assert_int_equal(s->offset_elems, offsets[step - 1]);
		assert_int_equal(s->count_elems, counts[step - 1]);
		assert_int_equal(s->reduce, step <= 3);
		assert_int_equal(s->depends_rank, step == 1 ? COLL_NONE : peers[step - 2]);
	}
	coll_schedule_destroy(schedule);
}

/* The paper's Fig. 4: in a ring reduce-scatter of 4, F1S2 waits for F4S1 (ranks 0 and 3 here) beside its own F1S1. */
static void
ring_waits_as_in_figure_4(void **state)
{
	struct coll_schedule *schedule = create(COLL_REDUCESCATTER, COLL_RING, 4, 8);
	struct coll_queues *queues = coll_queues_create(schedule);
	char name[24];

	assert_int_equal(schedule->steps, 3);
	assert_int_equal(coll_step_at(schedule, 0, 1)->depends_rank, COLL_NONE);
	assert_int_equal(coll_step_at(schedule, 0, 2)->depends_rank, 3);
	assert_int_equal(coll_step_at(schedule, 0, 2)->depends_step, 1);
	for (uint32_t rank = 0; rank < 4; rank++) {
		assert_int_equal(coll_queues_receives(queues, rank), 3);
		for (uint32_t step = 1; step <= 3; step++) {
			const struct coll_receive *receive = &queues->rsq[queues->rsq_start[rank] + step - 1];

			assert_int_equal(queues->ssq[rank * 3 + step - 1], (rank + 1) % 4);
			assert_int_equal(receive->rank, (rank + 3) % 4);
			assert_int_equal(receive->step, step);
			assert_int_equal(receive->needed_by, step == 3 ? COLL_NONE : step + 1);
		}
	}
	assert_string_equal(coll_step_name(1, 2, name), "F1S2");
	coll_queues_destroy(queues);
	coll_schedule_destroy(schedule);
}

static void
queues_follow_changing_partners(void **state)
{
	static const uint32_t partners[] = { 4, 2, 1, 1, 2, 4 };
	struct coll_schedule *schedule = create(COLL_ALLREDUCE, COLL_HALVING_DOUBLING, 8, 64);
	struct coll_queues *queues = coll_queues_create(schedule);

	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(queues->ssq[5 * 6 + i], 5 ^ partners[i]);
		assert_int_equal(queues->rsq[queues->rsq_start[5] + i].rank, 5 ^ partners[i]);
		assert_int_equal(queues->rsq[queues->rsq_start[5] + i].step, i + 1);
	}
	coll_queues_destroy(queues);
	coll_schedule_destroy(schedule);
}

static void
wrong_elements_are_counted(void **state)
{
	struct coll_schedule *schedule = create(COLL_ALLREDUCE, COLL_RING, 3, 10);
	int32_t vector[10] = { 0 }, other[10];

	for (uint32_t rank = 0; rank < 3; rank++) {
		coll_data_fill(other, schedule, COLL_INT32, rank, 0);
		coll_data_reduce(vector, other, COLL_INT32, 10);
	}
	assert_int_equal(coll_data_wrong(vector, schedule, COLL_INT32, 1, 0), 0);
	assert_int_equal(coll_data_wrong(vector, schedule, COLL_INT32, 1, 1), 10); /* another iteration's result */
	vector[4]++;
	vector[9]--;
	assert_int_equal(coll_data_wrong(vector, schedule, COLL_INT32, 1, 0), 2);
	coll_schedule_destroy(schedule);
}

/* The largest sum must still be exact: added in both directions, from either end, it is the same float. */
static void
float_sums_are_exact(void **state)
{
	struct coll_schedule *schedule = create(COLL_ALLREDUCE, COLL_RING, COLL_MAX_RANKS, 2048);
	float *sum = calloc(2048, sizeof(*sum)), *other = calloc(2048, sizeof(*other));

	for (uint32_t rank = 0; rank < COLL_MAX_RANKS; rank++) {
		coll_data_fill(other, schedule, COLL_FLOAT32, rank, 0);
		coll_data_reduce(sum, other, COLL_FLOAT32, 2048);
	}
	assert_int_equal(coll_data_wrong(sum, schedule, COLL_FLOAT32, 0, 0), 0);
	coll_data_fill(other, schedule, COLL_FLOAT32, 0, 0);
	coll_data_reduce(sum, other, COLL_FLOAT32, 2048); /* the smallest contribution twice is noticed everywhere */
	assert_int_equal(coll_data_wrong(sum, schedule, COLL_FLOAT32, 0, 0), 2048);
	sum[7] = NAN;
	assert_int_equal(coll_data_wrong(sum, schedule, COLL_FLOAT32, 0, 0), 2048);
	free(sum);
	free(other);
	coll_schedule_destroy(schedule);
}

/* Figures by hand: 8 ranks, 32 MiB of float, 1 ms: 33.554432 GB/s; factors 7/8 and 14/8. */
static void
report_has_nccl_columns(void **state)
{
	struct coll_result result = {
		.op = COLL_ALLREDUCE, .type = COLL_FLOAT32, .ranks = 8, .count_elems = 8388608, .time_ps = 1000000000, .wrong = 0
	};
	char buf[512];

	assert_string_equal(coll_report_row(&result, buf, sizeof(buf)),
			    "    33554432       8388608     float     sum      -1   1000.0   33.55   58.72      0\n");
	result.op = COLL_ALLGATHER;
	result.type = COLL_INT32;
	result.wrong = COLL_WRONG_UNCHECKED;
	result.time_ps = 20000000000;
	assert_string_equal(coll_report_row(&result, buf, sizeof(buf)),
			    "    33554432       1048576     int32    none      -1    20000    1.68    1.47    N/A\n");
	assert_string_equal(coll_report_header(buf, sizeof(buf)),
			    "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
			    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       \n");
}

static void
busbw_factors(void **state)
{
	assert_true(fabs(coll_busbw_factor(COLL_ALLREDUCE, 4) - 1.5) < 1e-12);
	assert_true(fabs(coll_busbw_factor(COLL_ALLGATHER, 4) - 0.75) < 1e-12);
	assert_true(fabs(coll_busbw_factor(COLL_REDUCESCATTER, 8) - 0.875) < 1e-12);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_collective_is_complete),
		cmocka_unit_test(bad_arguments_are_refused),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(every_dependency_is_needed),
		cmocka_unit_test(reuse_before_sent_is_found),
		cmocka_unit_test(halving_doubling_partners),
		cmocka_unit_test(ring_waits_as_in_figure_4),
		cmocka_unit_test(queues_follow_changing_partners),
		cmocka_unit_test(wrong_elements_are_counted),
		cmocka_unit_test(float_sums_are_exact),
		cmocka_unit_test(report_has_nccl_columns),
		cmocka_unit_test(busbw_factors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

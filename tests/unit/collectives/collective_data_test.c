/* SPDX-License-Identifier: BSD-3-Clause */
/* Element data of collectives, its verification, and the columns of results. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>

#include "collectives/bandwidth.h"
#include "tests/unit/collectives/schedule_rig.h"
#include "tests/unit/unit.h"

static void
wrong_elements_are_counted(void **state)
{
	struct coll_schedule *schedule = make_schedule(COLL_ALLREDUCE, COLL_RING, 3, 10);
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
	struct coll_schedule *schedule = make_schedule(COLL_ALLREDUCE, COLL_HALVING_DOUBLING, COLL_MAX_FLOAT_RANKS, 2048);
	float *sum = calloc(2048, sizeof(*sum)), *other = calloc(2048, sizeof(*other));

	for (uint32_t rank = 0; rank < COLL_MAX_FLOAT_RANKS; rank++) {
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

/* Beyond, floats are summed as integers: 2,048 contributions, from either end, and one that is there twice. */
static void
sums_of_more_ranks_are_of_integers(void **state)
{
	const uint32_t ranks = 2 * COLL_MAX_FLOAT_RANKS, count = 2 * COLL_MAX_FLOAT_RANKS;
	struct coll_schedule *schedule = make_schedule(COLL_ALLREDUCE, COLL_HALVING_DOUBLING, ranks, count);
	int32_t *up = calloc(count, sizeof(*up)), *down = calloc(count, sizeof(*down)),
		*other = calloc(count, sizeof(*other));
	enum coll_type type = coll_data_type(COLL_FLOAT32, schedule);

	(void)state;
	assert_int_equal(type, COLL_INT32);
	assert_int_equal(coll_data_type(COLL_INT32, schedule), COLL_INT32);
	for (uint32_t rank = 0; rank < ranks; rank++) {
		coll_data_fill(other, schedule, type, rank, 3);
		coll_data_reduce(up, other, type, count);
		coll_data_fill(other, schedule, type, ranks - 1 - rank, 3);
		coll_data_reduce(down, other, type, count);
	}
	assert_int_equal(coll_data_wrong(up, schedule, type, 0, 3), 0);
	assert_memory_equal(up, down, count * sizeof(*up));
	coll_data_reduce(up, other, type, count);
	assert_int_equal(coll_data_wrong(up, schedule, type, ranks - 1, 3), count);
	free(up);
	free(down);
	free(other);
	coll_schedule_destroy(schedule);
	schedule = make_schedule(COLL_ALLREDUCE, COLL_HALVING_DOUBLING, COLL_MAX_FLOAT_RANKS, COLL_MAX_FLOAT_RANKS);
	assert_int_equal(coll_data_type(COLL_FLOAT32, schedule), COLL_FLOAT32);
	coll_schedule_destroy(schedule);
}

/* Figures by hand: 8 ranks, 32 MiB of float, 1 ms: 33.554432 GB/s; factors 7/8 and 14/8. */
static void
report_has_nccl_columns(void **state)
{
	struct coll_result result = { .job = "train",
				      .collective = "grads",
				      .iteration = 3,
				      .op = COLL_ALLREDUCE,
				      .type = COLL_FLOAT32,
				      .ranks = 8,
				      .count_elems = 8388608,
				      .time_ps = 1000000000,
				      .wrong = 0 };
	char buf[512];

	assert_string_equal(coll_bandwidth_row(&result, buf, sizeof(buf)),
			    "    33554432       8388608     float     sum      -1   1000.0   33.55   58.72      0  train   "
			    "      grads           3\n");
	result.op = COLL_ALLGATHER;
	result.type = COLL_INT32;
	result.wrong = COLL_WRONG_UNCHECKED;
	result.time_ps = 20000000000;
	assert_string_equal(coll_bandwidth_row(&result, buf, sizeof(buf)),
			    "    33554432       1048576     int32    none      -1    20000    1.68    1.47    N/A  train   "
			    "      grads           3\n");
	result.count_elems = 0; /* of messages that are no one collective */
	result.op = COLL_CUSTOM;
	assert_string_equal(coll_bandwidth_row(&result, buf, sizeof(buf)),
			    "           -             -     int32    none      -1    20000       -       -    N/A  train   "
			    "      grads           3\n");
	assert_string_equal(coll_bandwidth_header(buf, sizeof(buf)),
			    "#       size         count      type   redop    root     time   algbw   busbw #wrong  job     "
			    "      collective      iteration\n"
			    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n");
}

static void
busbw_factors(void **state)
{
	assert_true(fabs(coll_busbw_factor(COLL_ALLREDUCE, 4) - 1.5) < 1e-12);
	assert_true(fabs(coll_busbw_factor(COLL_ALLGATHER, 4) - 0.75) < 1e-12);
	assert_true(fabs(coll_busbw_factor(COLL_REDUCESCATTER, 8) - 0.875) < 1e-12);
}

UNIT_TEST(collective_data)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_elements_are_counted),
		cmocka_unit_test(float_sums_are_exact),
		cmocka_unit_test(sums_of_more_ranks_are_of_integers),
		cmocka_unit_test(report_has_nccl_columns),
		cmocka_unit_test(busbw_factors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

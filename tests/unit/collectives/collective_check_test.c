/* SPDX-License-Identifier: BSD-3-Clause */
/* The symbolic check: schedules with every kind of damage, and what must be said of each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "tests/unit/collectives/schedule_rig.h"
#include "tests/unit/unit.h"

/* Kinds of damage; each gets a sound schedule and breaks it. */
static void
wait_for_each_other(struct coll_schedule *s)
{
	for (uint32_t rank = 0; rank < 4; rank++) {
		coll_step_at(s, rank, 1)->first_dep = coll_step_at(s, rank, 2)->first_dep + 1; /* the left one's step 1 */
		coll_step_at(s, rank, 1)->ndeps = 1;
	}
}

static void
forget_dependency(struct coll_schedule *s)
{
	coll_step_at(s, 2, 2)->ndeps = 1;
}

static void
depend_too_early(struct coll_schedule *s)
{
	arrival_of(s, 2, 3)->step = 1;
}

static void
send_other_block(struct coll_schedule *s)
{
	coll_step_at(s, 1, 3)->src_elems = coll_step_at(s, 1, 2)->src_elems;
	coll_step_at(s, 1, 3)->dst_elems = coll_step_at(s, 1, 2)->src_elems;
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
send_to_no_host(struct coll_schedule *s)
{
	coll_step_at(s, 3, 3)->peer = 4;
}

static void
send_too_much(struct coll_schedule *s)
{
	coll_step_at(s, 3, 2)->count_elems = UINT64_MAX;
}

static void
depend_on_nothing_known(struct coll_schedule *s)
{
	arrival_of(s, 3, 2)->step = 9;
}

static void
depend_on_another(struct coll_schedule *s)
{
	arrival_of(s, 3, 2)->rank = 0;
}

static void
damage_is_found(void **state)
{
	static const struct {
		void (*damage)(struct coll_schedule *schedule);
		enum coll_op op;
		const char *message;
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
		{ reduce_instead, COLL_ALLGATHER, "rank 3 step 3 adds to elements 2..3, of which rank 0 has none" },
		{ overwrite_instead, COLL_REDUCESCATTER,
		  "rank 1 ends incomplete: the contribution of rank 0 to elements 2..3 is missing" },
		{ send_to_no_host, COLL_ALLGATHER, "rank 3 step 3 sends to rank 4: must be one of the 4 ranks" },
		{ send_too_much, COLL_ALLGATHER, "rank 3 step 2 moves 18446744073709551615 elements from 4 to 4" },
		{ depend_on_nothing_known, COLL_ALLGATHER, "depends on step 9 of rank 2, which does not exist" },
		{ depend_on_another, COLL_ALLGATHER, "depends on step 1 of rank 0, which is sent to rank 1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct coll_schedule *schedule = make_schedule(cases[i].op, COLL_RING, 4, 8);
		struct err err = { 0 };

		cases[i].damage(schedule);
		assert_int_equal(coll_schedule_check(schedule, NULL, &err), -EINVAL);
		if (strstr(err.text, cases[i].message) == NULL)
			fail_msg("case %zu: \"%s\" lacks \"%s\"", i, err.text, cases[i].message);
		coll_schedule_destroy(schedule);
	}
}

/* No schedule names a dependency that it does not need: without any one of them, something races. */
static void
every_dependency_is_needed(void **state)
{
	for (int i = 0; i < 6; i++) {
		struct coll_schedule *schedule = make_schedule(i % 3, i / 3, 8, 20);

		for (uint32_t rank = 0; rank < 8; rank++) {
			for (uint32_t step = 2; step <= coll_steps(schedule, rank); step++) {
				struct coll_step *s = coll_step_at(schedule, rank, step);
				struct err err = { 0 };

				s->ndeps = 1;
				assert_int_equal(coll_schedule_check(schedule, NULL, &err), -EINVAL);
				assert_non_null(strstr(err.text, "race at rank"));
				s->ndeps = 2;
			}
		}
		coll_schedule_destroy(schedule);
	}
}

/* The check must see what only some timings would show: overwriting what a slow peer still sends. */
static void
reuse_before_sent_is_found(void **state)
{
	struct coll_builder *builder = coll_builder_create(2);
	struct coll_chunk own[2] = { { 0, 0, 1, false }, { 1, 1, 1, false } };
	struct coll_schedule *schedule;
	struct coll_dep second;
	struct err err = { 0 };

	for (uint32_t rank = 0; rank < 2; rank++) {
		coll_builder_send(builder, rank, 1 - rank, 0, &own[rank]);
		second = coll_builder_send(builder, rank, 1 - rank, 0, &own[rank]);
		coll_builder_depend(builder, second, (struct coll_dep){ 1 - rank, 1 });
	}
	schedule = finish_allgather(builder, 2, 2, 2, &err);
	assert_int_equal(coll_schedule_check(schedule, NULL, &err), 0); /* sending twice what one has harms nobody */
	/* Rank 0 returns rank 1's own element, which rank 1 may still be sending. */
	coll_step_at(schedule, 0, 2)->src_elems = coll_step_at(schedule, 0, 2)->dst_elems = 1;
	assert_int_equal(coll_schedule_check(schedule, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "while rank"));
	coll_schedule_destroy(schedule);
}

/* Rank 0's element reaches rank 2 directly and through rank 1, in either order. */
static void
two_overwrites_race(void **state)
{
	static const struct {
		uint32_t rank, peer, elem;
	} sends[] = { { 0, 1, 0 }, { 0, 2, 0 }, { 1, 2, 0 }, { 1, 2, 1 }, { 2, 0, 2 }, { 2, 1, 2 } };
	struct coll_builder *builder = coll_builder_create(3);
	struct coll_schedule *schedule;
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(sends); i++) {
		struct coll_chunk chunk = { sends[i].elem, sends[i].elem, 1, false };

		coll_builder_send(builder, sends[i].rank, sends[i].peer, 0, &chunk);
	}
	coll_builder_depend(builder, (struct coll_dep){ 1, 1 }, (struct coll_dep){ 0, 1 });
	schedule = finish_allgather(builder, 3, 3, 3, &err);
	assert_int_equal(coll_schedule_check(schedule, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "race at rank 2: "));
	assert_non_null(strstr(err.text, "overwrites elements 0..0 while"));
	coll_schedule_destroy(schedule);
}

UNIT_TEST(collective_check)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(every_dependency_is_needed),
		cmocka_unit_test(reuse_before_sent_is_found),
		cmocka_unit_test(two_overwrites_race),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

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
		{ reduce_instead, COLL_ALLGATHER, "rank 3 step 3 adds to elements 2..3, of which rank 0 has none" },
		{ overwrite_instead, COLL_REDUCESCATTER,
		  "rank 3 step 2 sends elements 2..3 before they are complete: the contribution of rank 0 is missing" },
		{ send_to_oneself, COLL_ALLGATHER, "rank 3 step 3 sends to rank 3: must be another" },
		{ send_too_much, COLL_ALLGATHER, "rank 3 step 2 sends 18446744073709551615 elements from 4" },
		{ depend_on_nothing_known, COLL_ALLGATHER, "depends on step 9 of rank 2, which does not exist" },
		{ depend_on_another, COLL_ALLGATHER, "depends on step 1 of rank 0, which goes to rank 1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct coll_schedule *schedule = make_schedule(cases[i].op, COLL_RING, 4, 8);
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
		struct coll_schedule *schedule = make_schedule(i % 3, i / 3, 8, 20);

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

/* Rank 0's element reaches rank 2 directly and through rank 1, in either order. */
static void
two_overwrites_race(void **state)
{
	struct coll_step at[3 * 2] = {
		{ .peer = 1, .depends_rank = COLL_NONE, .offset_elems = 0, .count_elems = 1 },
		{ .peer = 2, .depends_rank = COLL_NONE, .offset_elems = 0, .count_elems = 1 },
		{ .peer = 2, .depends_rank = 0, .depends_step = 1, .offset_elems = 0, .count_elems = 1 },
		{ .peer = 2, .depends_rank = COLL_NONE, .offset_elems = 1, .count_elems = 1 },
		{ .peer = 0, .depends_rank = COLL_NONE, .offset_elems = 2, .count_elems = 1 },
		{ .peer = 1, .depends_rank = COLL_NONE, .offset_elems = 2, .count_elems = 1 },
	};
	struct coll_schedule schedule = { 3, 2, COLL_ALLGATHER, COLL_RING, 3, at };
	struct err err = { 0 };

	assert_int_equal(coll_schedule_check(&schedule, &err), -EINVAL);
	assert_non_null(strstr(err.text, "race at rank 2: "));
	assert_non_null(strstr(err.text, "overwrites elements 0..0 while"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(every_dependency_is_needed),
		cmocka_unit_test(reuse_before_sent_is_found),
		cmocka_unit_test(two_overwrites_race),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

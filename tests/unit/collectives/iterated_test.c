/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Iterations in a row, as the step engine has them (rxe-hosts/steps/rank.h), written out as one schedule: two memories
 * a rank, used in turn, and at the end of its part of an iteration a rank fills that iteration's memory anew. The proof
 * finds a race where a message may come more than one iteration early.
 */
#include "collectives/schedule.h"

#include <string.h>

#include "tests/unit/collectives/import_rig.h"
#include "tests/unit/collectives/schedule_rig.h"
#include "tests/unit/unit.h"

#define ITERATIONS 3 /* the third uses the memory of the first */
#define FILLING 9999 /* a channel that no schedule has */

/* A step's number when a rank fills its memory behind each iteration. */
static struct coll_dep
in_iteration(const struct coll_schedule *one, struct coll_dep dep, uint32_t iteration)
{
	return (struct coll_dep){ dep.rank, iteration * (coll_steps(one, dep.rank) + 1) + dep.step };
}

static struct coll_dep
filled(const struct coll_schedule *one, uint32_t rank, uint32_t iteration)
{
	return in_iteration(one, (struct coll_dep){ rank, coll_steps(one, rank) + 1 }, iteration);
}

/* A rank's part of an iteration, and its end. */
static void
add_part(struct coll_builder *builder, const struct coll_schedule *one, uint32_t rank, uint32_t iteration)
{
	uint64_t base = iteration % 2 * one->memory_elems;
	struct coll_chunk anew = { 2 * one->memory_elems, base, one->memory_elems, false };

	for (uint32_t n = 1; n <= coll_steps(one, rank); n++) {
		const struct coll_step *at = coll_step_at(one, rank, n);
		struct coll_chunk chunk = { base + at->src_elems, base + at->dst_elems, at->count_elems, at->reduce };
		struct coll_dep step;

		if (at->peer == rank)
			step = coll_builder_local(builder, rank, at->channel, &chunk, at->compute_ps);
		else
			step = coll_builder_send(builder, rank, at->peer, at->channel, &chunk);
		for (uint32_t d = 0; d < at->ndeps; d++)
			coll_builder_depend(builder, step, in_iteration(one, one->deps[at->first_dep + d], iteration));
		if (iteration > 0)
			coll_builder_depend(builder, step, filled(one, rank, iteration - 1));
	}
	coll_builder_local(builder, rank, FILLING, &anew, 0);
}

/* All that a rank sends and gets in an iteration comes before its end. */
static void
end_parts(struct coll_builder *builder, const struct coll_schedule *one, uint32_t iteration)
{
	for (uint32_t rank = 0; rank < one->ranks; rank++)
		for (uint32_t n = 1; n <= coll_steps(one, rank); n++) {
			struct coll_dep step = in_iteration(one, (struct coll_dep){ rank, n }, iteration);
			uint32_t peer = coll_step_at(one, rank, n)->peer;

			coll_builder_depend(builder, filled(one, rank, iteration), step);
			if (peer != rank)
				coll_builder_depend(builder, filled(one, peer, iteration), step);
		}
}

/* @return 0, or -EINVAL with err set: iterations get in each other's way */
static int
check_iterations(const struct coll_schedule *one, struct err *err)
{
	struct coll_params params = { .op = COLL_CUSTOM, .algorithm = COLL_FILE, .ranks = one->ranks };
	struct coll_layout layout = { .memory_elems = 3 * one->memory_elems };
	struct coll_builder *builder = coll_builder_create(one->ranks);
	struct coll_schedule *row;
	int rc;

	for (uint32_t iteration = 0; iteration < ITERATIONS; iteration++) {
		for (uint32_t rank = 0; rank < one->ranks; rank++)
			add_part(builder, one, rank, iteration);
		end_parts(builder, one, iteration);
	}
	row = coll_builder_finish(builder, &params, &layout, err);
	if (row == NULL)
		fail_msg("%s", err->text);
	rc = coll_schedule_check(row, NULL, err);
	coll_schedule_destroy(row);
	return rc;
}

/*
 * What closing makes of a schedule may be iterated; what it leaves alone could be, and what it changes could not.
 * @return whether it got a barrier
 */
static bool
try_closing(struct coll_schedule *schedule, const char *name)
{
	struct err race = { .text = "" }, err = { .text = "" };
	bool races = check_iterations(schedule, &race) != 0;
	uint32_t steps = coll_all_steps(schedule);
	struct coll_schedule *closed = coll_schedule_close(schedule, &err);
	bool barrier;

	if (closed == NULL || check_iterations(closed, &err) != 0)
		fail_msg("%s, closed: %s", name, err.text);
	barrier = closed != schedule;
	if (barrier != races)
		fail_msg("%s: %s, but %s", name, barrier ? "gets a barrier" : "is left alone",
			 races ? race.text : "does not race");
	assert_true(barrier ? coll_all_steps(closed) > steps : coll_all_steps(closed) == steps);
	if (races && (strstr(race.text, "race at rank") == NULL || strstr(race.text, "while rank") == NULL))
		fail_msg("%s: %s", name, race.text);
	assert_ptr_equal(coll_schedule_close(closed, &err), closed);
	coll_schedule_destroy(closed);
	return barrier;
}

/* @return whether each of some tries is iterated behind a barrier: COLL_NONE: some are */
static uint32_t
barriers_of(enum coll_op op, enum coll_algorithm algorithm, uint32_t *tried)
{
	static struct rig_try try;
	const uint32_t tries = unit_wide(2, 4, "parameters of each collective that is iterated, of four");
	uint32_t barriers = 0, first = *tried;

	for (uint32_t i = 0; i < 8 * 4; i++) {
		struct err err = { .text = "" };
		struct coll_schedule *schedule;
		char name[96];

		if (tries == 2 && (i / 8 + i) % 2 != (uint32_t)(algorithm + op) % 2)
			continue;
		if (!rig_try(&try, op, algorithm, 2 + i % 8, i / 8))
			continue;
		snprintf(name, sizeof(name), "%s by %s, %u ranks, try %u", coll_op_name(op), coll_algorithm_name(algorithm),
			 2 + i % 8, i / 8);
		schedule = coll_schedule_create(&try.params, &err);
		if (schedule == NULL)
			fail_msg("%s: %s", name, err.text);
		++*tried;
		barriers += try_closing(schedule, name);
	}
	return barriers == 0 ? false : barriers == *tried - first ? true : COLL_NONE;
}

/* A root runs away from those below it, and leaves from theirs, but not where blocks go all ways. */
static uint32_t
expected(enum coll_op op, enum coll_algorithm algorithm)
{
	if (op == COLL_BROADCAST || op == COLL_REDUCE)
		return algorithm != COLL_HALVING_DOUBLING;
	if (op == COLL_SENDRECV && algorithm == COLL_PIPELINE)
		return true;
	return op == COLL_SENDRECV || op == COLL_ALLTOALLV ? COLL_NONE : false;
}

static void
algorithms_get_a_barrier_where_they_need_one(void **state)
{
	uint32_t tried = 0;

	for (uint32_t algorithm = 0; algorithm < ENUM_COUNT(COLL_ALGORITHMS); algorithm++)
		for (uint32_t op = 0; op < ENUM_COUNT(COLL_OPS); op++) {
			uint32_t before = tried, barriers = barriers_of(op, algorithm, &tried);

			if (tried != before && barriers != expected(op, algorithm))
				fail_msg("%s by %s: %u", coll_op_name(op), coll_algorithm_name(algorithm), barriers);
		}
	assert_true(tried > 300);
}

static void
files_get_a_barrier_where_they_need_one(void **state)
{
	static const struct {
		const char *name, *text;
		bool barrier;
	} files[] = {
		{ "a line",
		  "num_ranks 3\nrank 0 {\na: send 9b to 1\n}\nrank 1 {\na: recv 9b from 0\nb: send 9b to 2\nb requires "
		  "a\n}\n"
		  "rank 2 {\na: recv 9b from 1\n}\n",
		  true },
		/* Rank 1 hears of rank 2 by rank 0's next message. */
		{ "a line and back",
		  "num_ranks 3\nrank 0 {\na: send 9b to 1\nb: recv 1b from 2\n}\n"
		  "rank 1 {\na: recv 9b from 0\nb: send 9b to 2\nb requires a\n}\n"
		  "rank 2 {\na: recv 9b from 1\nb: send 1b to 0\nb requires a\n}\n",
		  false },
		/* That does not help when rank 1 does not wait for it. */
		{ "a round",
		  "num_ranks 3\nrank 0 {\na: send 9b to 1\nb: recv 1b from 2\n}\n"
		  "rank 1 {\na: recv 9b from 0\nb: send 9b to 2\n}\n"
		  "rank 2 {\na: recv 9b from 1\nb: send 1b to 0\nb requires a\n}\n",
		  true },
		{ "there and back",
		  "num_ranks 2\nrank 0 {\na: send 9b to 1\nb: recv 1b from 1\n}\n"
		  "rank 1 {\na: recv 9b from 0\nb: send 1b to 0\nb requires a\n}\n",
		  false },
	};

	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		assert_int_equal(try_closing(must_import(IMPORT_GOAL, files[i].text, 0, 0), files[i].name),
				 files[i].barrier);
}

UNIT_TEST(iterated)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(algorithms_get_a_barrier_where_they_need_one),
		cmocka_unit_test(files_get_a_barrier_where_they_need_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

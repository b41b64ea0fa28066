/* SPDX-License-Identifier: BSD-3-Clause */
/* GOAL texts: what they mean, and what is refused, with its line. */
#include <errno.h>

#include "collectives/import/program.h"
#include "common/array.h"
#include "common/units.h"
#include "tests/unit/collectives/import_rig.h"
#include "tests/unit/unit.h"

static struct coll_schedule *
goal(const char *text)
{
	return must_import(IMPORT_GOAL, text, 0, 0);
}

static void
refuse(const char *text, int line, const char *why)
{
	must_refuse(IMPORT_GOAL, text, 0, line, why);
}

static void
a_send_waits_for_what_it_requires(void **state)
{
	struct coll_schedule *s = goal("num_ranks 3\n"
				       "// rank 1 forwards\n"
				       "rank 0 {\n l1: send 10b to 1 tag 5\n}\n"
				       "rank 1 {\n"
				       "l1: recv 10b from 0 tag 5 /* in a\n block */\n"
				       "l2: calc 100 cpu 0\n"
				       "l3: send 20b to 2 cpu 0 nic 0 tag 6\n"
				       "l2 requires l1\nl3 requires l2\n"
				       "}\n"
				       "rank 2{ recv 20b from 1 tag 6 }\n");

	assert_int_equal(s->op, COLL_CUSTOM);
	assert_int_equal(coll_steps(s, 0), 1);
	assert_int_equal(coll_steps(s, 1), 2);
	assert_int_equal(coll_steps(s, 2), 0);
	assert_int_equal(coll_step_at(s, 0, 1)->count_elems, 10);
	assert_int_equal(coll_step_at(s, 1, 1)->peer, 1);
	assert_int_equal(coll_step_at(s, 1, 1)->compute_ps, 100 * PS_PER_NS);
	assert_true(waits_for(s, 1, 1, 0, 1));
	assert_int_equal(coll_step_at(s, 1, 2)->ndeps, 1); /* the computation has waited for the message */
	assert_true(waits_for(s, 1, 2, 1, 1));
	coll_schedule_destroy(s);
}

static void
a_receive_alone_delays_none(void **state)
{
	struct coll_schedule *s = goal("num_ranks 2\nrank 0 {\na: send 1b to 1\nb: recv 1b from 1\n}\n"
				       "rank 1 {\na: send 1b to 0\nb: recv 1b from 0\n}\n");

	assert_int_equal(coll_step_at(s, 0, 1)->ndeps, 0);
	assert_int_equal(coll_step_at(s, 1, 1)->ndeps, 0);
	coll_schedule_destroy(s);
}

static void
a_join_of_no_length_is_no_step(void **state)
{
	struct coll_schedule *s = goal("num_ranks 2\nrank 0 {\na: send 1b to 1 tag 1\nb: send 1b to 1 tag 2\n"
				       "c: calc 0\nc requires a\nc requires b\nd: calc 7\nd requires c\n}\n"
				       "rank 1 {\nrecv 1b from 0 tag 2\nrecv 1b from 0 tag 1\n}\n");

	assert_int_equal(coll_steps(s, 0), 3);
	assert_int_equal(coll_step_at(s, 0, 3)->ndeps, 2);
	/* Messages of two tags are under way at once. */
	assert_int_not_equal(coll_step_at(s, 0, 1)->channel, coll_step_at(s, 0, 2)->channel);
	coll_schedule_destroy(s);
}

/* "c irequires b": c waits for what b waits for, and for what is before b on its channel; not for b. */
static void
irequires_waits_for_the_start(void **state)
{
	struct coll_schedule *s =
		goal("num_ranks 2\nrank 0 {\nz: send 5b to 1 tag 1\na: calc 10\nb: send 9b to 1 tag 1\n"
		     "b requires a\nc: calc 3 cpu 1\nc irequires b\n}\n"
		     "rank 1 {\nrecv 5b from 0 tag 1\nr: recv 9b from 0 tag 1\nd: calc 4\nd irequires r\n}\n");
	uint32_t c = 0, a = 0, z = 0;

	for (uint32_t step = 1; step <= 4; step++) {
		const struct coll_step *at = coll_step_at(s, 0, step);

		c = at->compute_ps == 3 * PS_PER_NS ? step : c;
		a = at->compute_ps == 10 * PS_PER_NS ? step : a;
		z = at->count_elems == 5 ? step : z;
	}
	assert_int_equal(coll_step_at(s, 0, c)->ndeps, 2);
	assert_true(waits_for(s, 0, c, 0, a));
	assert_true(waits_for(s, 0, c, 0, z));
	assert_int_equal(coll_step_at(s, 1, 1)->ndeps, 0); /* the receive may start at once */
	coll_schedule_destroy(s);
}

/* On one cpu what is ready first goes first, whatever the order of the lines. */
static void
a_cpu_takes_what_is_ready(void **state)
{
	struct coll_schedule *s = goal("num_ranks 2\nrank 0 {\nw: recv 1b from 1\nlate: calc 5\nlate requires w\n"
				       "soon: calc 6\n}\nrank 1 {\nc: calc 1000000\nd: send 1b to 0\nd requires c\n}\n");

	assert_int_equal(coll_step_at(s, 0, 1)->compute_ps, 6 * PS_PER_NS);
	assert_int_equal(coll_step_at(s, 0, 2)->compute_ps, 5 * PS_PER_NS);
	assert_int_equal(coll_step_at(s, 0, 1)->channel, coll_step_at(s, 0, 2)->channel);
	coll_schedule_destroy(s);
}

/* Many receives that one waits for are bundled, and the set is not written out at each. */
static void
a_thousand_receives_are_one_set(void **state)
{
	size_t room = 1 << 20, used = 0;
	char *text = malloc(room);
	struct coll_schedule *s;

	assert_non_null(text);
	used += (size_t)snprintf(text, room, "num_ranks 2\nrank 0 {\n");
	for (int i = 0; i < 1000; i++)
		used += (size_t)snprintf(text + used, room - used, "s%d: send 8b to 1 tag %d\n", i, i);
	used += (size_t)snprintf(text + used, room - used, "}\nrank 1 {\n");
	for (int i = 0; i < 1000; i++) {
		used += (size_t)snprintf(text + used, room - used, "r%d: recv 8b from 0 tag %d\n", i, i);
		if (i > 0)
			used += (size_t)snprintf(text + used, room - used, "r%d requires r%d\n", i, i - 1);
	}
	snprintf(text + used, room - used, "e: calc 1\ne requires r999\n}\n");
	s = goal(text);
	for (uint32_t step = 1; step <= coll_steps(s, 1); step++)
		assert_in_range(coll_step_at(s, 1, step)->ndeps, 0, 65);
	assert_int_equal(coll_step_at(s, 1, coll_steps(s, 1))->compute_ps, PS_PER_NS);
	coll_schedule_destroy(s);
	free(text);
}

#define TWO "num_ranks 2\nrank 0 {\n"

static const struct {
	const char *text;
	int line;
	const char *why;
} refused[] = {
	{ "", 1, "in place of num_ranks" },
	{ "num_ranks 1\n", 1, "2 to 65536" },
	{ "num_ranks 99999999999999999999\n", 1, "2 to 65536" },
	{ "num_ranks 2\nnum_ranks 2\n", 2, "a second time" },
	{ "rank 0 {\n}\n", 1, "before num_ranks" },
	{ "num_ranks 2\nsend 1b to 0\n", 2, "a rank would be right" },
	{ "num_ranks 2\nrank 2 {\n}\n", 2, "0 to 1" },
	{ TWO "}\nrank 0 {\n}\n", 4, "rank 0 a second time" },
	{ TWO "a: calc 1\n", 4, "ends within rank 0 of line 2" },
	{ TWO "}\nrank 1 {\n}\n", 6, "without operations" },
	{ TWO "/* no end\n", 3, "within a comment" },
	{ TWO "a: put 1b to 1\n}\n", 3, "\"put\"; send, recv or calc" },
	{ TWO "a: send 0b to 1\n}\n", 3, "1b to" },
	{ TWO "a: send -5b to 1\n}\n", 3, "1b to" },
	{ TWO "a: send 99999999999999999999b to 1\n}\n", 3, "1b to" },
	{ TWO "a: send 5b to 7\n}\n", 3, "rank \"7\"; 0 to 1" },
	{ TWO "a: send 5b to 0\n}\n", 3, "sends to itself" },
	{ TWO "a: recv 5b from -1\n}\n", 3, "from any rank" },
	{ TWO "a: recv 5b from 1 tag -1\n}\n", 3, "of any tag" },
	{ TWO "a: send 5b to 1 nic 1\n}\n", 3, "one NIC here" },
	{ TWO "a: send 5b to 1 tag\n}\n", 3, "found tag \"nothing\"" },
	{ TWO "a: send 5b to 1 colour 3\n}\n", 3, "tag, cpu or nic" },
	{ TWO "a: calc 99999999999999999\n}\n", 3, "ns would be right" },
	{ TWO "a: calc 1\na: calc 2\n}\n", 4, "\"a\" is a label of line 3 already" },
	{ TWO "a: calc 1\na requires b\n}\n", 4, "has no \"b\"" },
	{ TWO "a: calc 1\na requires a\n}\n", 4, "requires itself" },
	{ TWO "a requires b\n}\n", 3, "has no \"a\"" },
	{ TWO "a requires\n}\n", 3, "LABEL requires LABEL" },
	{ TWO "1a: calc 1\n}\n", 3, "LABEL: OPERATION" },
	{ TWO "a-b: calc 1\n}\n", 3, "LABEL: OPERATION" },
	{ TWO "a:\n}\n", 3, "LABEL: OPERATION" },
	{ TWO "1a requires b\n}\n", 3, "LABEL requires LABEL" },
	{ TWO "a irequires 1b\n}\n", 3, "LABEL irequires LABEL" },
	{ "num_ranks 2 3\n", 1, "num_ranks NUMBER" },
	{ "num_ranks 2\nrank 0\n", 2, "rank NUMBER {" },
	{ "num_ranks 2\nrank 0 1 {\n}\n", 2, "rank NUMBER {" },
	{ "num_ranks 2\nrank 0 }\n", 2, "rank NUMBER {" },
	{ "num_ranks 2\nrank 0 1\n", 2, "rank NUMBER {" },
	{ TWO "rank 1 {\n}\n}\n", 3, "rank 0 of line 2 has no closing bracket" },
	{ TWO "a: calc\n}\n", 3, "found calc \"\"" },
	{ TWO "calc\n}\n", 3, "found calc \"\"" },
	{ TWO "a: calc 1 cpu 256\n}\n", 3, "found cpu \"256\"; 0 to 255" },
	{ TWO "a: send 1b\n}\n", 3, "BYTESb to RANK" },
	{ TWO "a: send 1b from 1\n}\n", 3, "BYTESb to RANK" },
	{ TWO "a: recv 1b to 1\n}\n", 3, "BYTESb from RANK" },
	{ TWO "a: send b to 1\n}\n", 3, "found length \"b\"" },
	{ TWO "a: send 2147483649b to 1\n}\nrank 1 {\nrecv 2147483649b from 0\n}\n", 3, "2 GiB at most" },
	{ TWO "a: calc 1\na: calc 2\nb: calc 1\nb: calc 2\n}\n", 4, "is a label of line 3 already" },
	{ TWO "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n}\n", 3, "more than 16 words" },
	{ TWO "a: send 5b to 1\n}\nrank 1 {\n}\n", 3, "has no receive of it" },
	{ TWO "a: recv 5b from 1\n}\nrank 1 {\n}\n", 3, "is a receive without a send" },
	{ TWO "send 5b to 1 tag 1\n}\nrank 1 {\nrecv 5b from 0 tag 2\n}\n", 3, "has no receive of it" },
	{ TWO "send 5b to 1\n}\nrank 1 {\nrecv 6b from 0\n}\n", 3, "to one that wants 6" },
	{ TWO "a: calc 1\nb: calc 2\na requires b\nb requires a\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}\n", 0,
	  "waits for itself, through" },
	{ TWO "a: recv 1b from 1\nb: send 1b to 1\nb requires a\n}\n"
	      "rank 1 {\na: recv 1b from 0\nb: send 1b to 0\nb requires a\n}\n",
	  0, "waits for itself, through" },
};

static void
what_cannot_be_is_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++)
		refuse(refused[i].text, refused[i].line, refused[i].why);
}

/* Comments of both kinds, labels with what C allows in them, lengths without a unit, a text that ends in a word. */
static void
spelling_is_free(void **state)
{
	static const char text[] = "/* two */ num_ranks 2 // ranks / of\r\n"
				   "rank 0 { // one {\n_a1_: send 5 to 1\tcpu 3\n/* a\n * b / c */ B: calc 4 / /* */\n}\n"
				   "rank 1{recv 5b from 0}//";
	struct coll_schedule *s;
	struct err err = { 0 };

	assert_null(import_text(IMPORT_GOAL, text, 0, 0, &err)); /* a slash alone is a word */
	assert_non_null(strstr(err.text, "text:5: found \"/\"; tag, cpu or nic"));
	s = goal("/* two */ num_ranks 2 // ranks / of\r\nrank 0 {\r\n_a1_: send 15 to 1\tcpu 3\r\n/* a\n * b / c */ B: "
		 "calc 4\n}\nrank 1{recv 15b from 0}//");
	assert_int_equal(coll_steps(s, 0), 2);
	assert_int_equal(coll_step_at(s, 0, 1)->count_elems + coll_step_at(s, 0, 2)->count_elems, 15);
	coll_schedule_destroy(s);
	refuse("num_ranks 2", 1, "a schedule without operations");
	refuse("num_ranks 2\nx", 2, "a rank would be right");
}

static void
a_byte_of_zero_is_no_text(void **state)
{
	static const char text[] = "num_ranks 2\n\0";
	const struct import_options options = { .kind = IMPORT_GOAL, .path = write_file("zero", text, sizeof(text)) };
	struct err err = { 0 };

	assert_null(import_schedule(&options, &err));
	assert_non_null(strstr(err.text, "zero:1: no text: there is a byte of zero"));
	unlink(options.path);
}

/* What an importer reads is a file, of a size that it can have. */
static void
files_are_opened_with_care(void **state)
{
	struct import_options options = { .kind = IMPORT_GOAL, .path = "/no/such/file" };
	struct err err = { 0 };

	assert_null(import_schedule(&options, &err));
	assert_int_equal(errno, ENOENT);
	assert_string_equal(err.text, "/no/such/file: No such file or directory");
	err.text[0] = '\0';
	options.path = write_file("large", "", 0);
	assert_int_equal(truncate(options.path, (off_t)IMPORT_MAX_BYTES + 1), 0);
	assert_null(import_schedule(&options, &err));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(err.text, "is no regular file of at most 1024 MiB"));
	unlink(options.path);
}

/* Lanes share the channels that there are; the longest computations, one behind another, do not end before they begin. */
static void
channels_and_times_have_limits(void **state)
{
	static char text[1 << 12];
	struct import_options options = { .kind = IMPORT_GOAL, .elem_bytes = 1, .max_channels = 2 };
	size_t used = (size_t)snprintf(text, sizeof(text), "num_ranks 2\nrank 0 {\n");
	struct err err = { 0 };
	struct coll_schedule *s;
	int longest = 0;

	for (int i = 0; i < 20; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "send 1b to 1 tag %d\ncalc %llu\n", i,
					 PROGRAM_MAX_PS / PS_PER_NS);
	used += (size_t)snprintf(text + used, sizeof(text) - used, "}\nrank 1 {\n");
	for (int i = 0; i < 20; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "recv 1b from 0 tag %d\n", i);
	snprintf(text + used, sizeof(text) - used, "}\n");
	options.path = write_file("channels", text, strlen(text));
	s = import_schedule(&options, &err);
	assert_non_null(s);
	assert_int_equal(coll_steps(s, 0), 40);
	for (uint32_t step = 1; step <= 40; step++)
		assert_true(coll_step_at(s, 0, step)->channel < 2);
	for (uint32_t step = 1; step <= 40; step++)
		longest += coll_step_at(s, 0, step)->compute_ps == PROGRAM_MAX_PS / PS_PER_NS * PS_PER_NS;
	assert_int_equal(longest, 20);
	coll_schedule_destroy(s);
	unlink(options.path);
}

static char *
describe(const struct program *program, const struct program_place *place, char *buf)
{
	snprintf(buf, PROGRAM_PLACE, "%s:%u", program->files[place->file], (unsigned)place->at);
	return buf;
}

/* A program without the size of a file has the limits alone. */
static void
limits_are_named(void **state)
{
	static const char *const files[] = { "f" };
	const struct program_op op = { .kind = PROGRAM_JOIN, .place = { 0, 7, 0 } };
	struct program program;
	struct err err = { 0 };

	program_init(&program, 0, 1, 1, files, describe);
	program.max_ops = program.max_waits = 1;
	assert_int_equal(program_add(&program, &op, &err), 0);
	assert_int_equal(program_add(&program, &op, &err), PROGRAM_NONE);
	assert_int_equal(errno, E2BIG);
	assert_string_equal(err.text, "f:7: more than 1 operations");
	err.text[0] = '\0';
	assert_int_equal(program_wait(&program, 0, 0, false, &err), 0);
	assert_int_equal(program_wait(&program, 0, 0, false, &err), -E2BIG);
	assert_string_equal(err.text, "f:7: more than 1 dependencies");
	err.text[0] = '\0';
	assert_int_equal(program_too_many_steps(&program, 0, 5, &err), -E2BIG);
	assert_string_equal(err.text, "f:7: more than 5 steps that operations wait for");
	program_fini(&program);
}

/* Four computations at once, a join of them, and another: as many steps as that are to be waited for, and no more. */
static void
sets_have_limits(void **state)
{
	static const char *const files[] = { "f" };
	static const struct {
		uint32_t max_sets;
		uint64_t max_copies;
		const char *why;
	} cases[] = {
		{ 8, 100, NULL },
		{ 3, 100, "f:4: more than 3 steps that operations wait for" },
		{ 8, 7, "f:5: more than 8 steps that operations wait for" },
		{ 7, 100, "f:5: more than 7 steps that operations wait for" },
	};
	const struct coll_params params = { .op = COLL_CUSTOM, .algorithm = COLL_FILE, .ranks = 2, .count_elems = 1 };
	const struct coll_layout layout = { .out_elems = 1, .scratch_elems = 2, .memory_elems = 2 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct coll_schedule *schedule;
		struct program program;
		struct err err = { 0 };

		program_init(&program, 0, 2, 1, files, describe);
		program.max_sets = cases[i].max_sets;
		program.max_copies = cases[i].max_copies;
		for (uint32_t op = 0; op < 6; op++)
			program_add(&program,
				    &(struct program_op){ .kind = op < 4 ? PROGRAM_LOCAL : PROGRAM_JOIN,
							  .lane = op,
							  .compute_ps = 1000,
							  .place = { 0, op, 0 } },
				    &err);
		for (uint32_t wait = 0; wait < 8; wait++)
			assert_int_equal(program_wait(&program, 4 + wait / 4, wait % 4, false, &err), 0);
		schedule = program_schedule(&program, &params, &layout, &err);
		if ((schedule != NULL) != (cases[i].why == NULL))
			fail_msg("case %zu: \"%s\"", i, err.text);
		if (schedule == NULL)
			assert_string_equal(err.text, cases[i].why);
		coll_schedule_destroy(schedule);
		program_fini(&program);
	}
}

UNIT_TEST(import_goal)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_send_waits_for_what_it_requires),
		cmocka_unit_test(a_receive_alone_delays_none),
		cmocka_unit_test(a_join_of_no_length_is_no_step),
		cmocka_unit_test(irequires_waits_for_the_start),
		cmocka_unit_test(a_cpu_takes_what_is_ready),
		cmocka_unit_test(a_thousand_receives_are_one_set),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(spelling_is_free),
		cmocka_unit_test(a_byte_of_zero_is_no_text),
		cmocka_unit_test(files_are_opened_with_care),
		cmocka_unit_test(channels_and_times_have_limits),
		cmocka_unit_test(limits_are_named),
		cmocka_unit_test(sets_have_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

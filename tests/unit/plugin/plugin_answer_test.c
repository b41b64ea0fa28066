/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of outside programs: what is taken, what is not and why, and what plugins.json makes of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/layout.h"
#include "plugin/account.h"
#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

#define WHERE "\"where\": {\"ports\": [\"6:2\"]}"
#define TIME "\"time\": {\"start_ns\": 1, \"end_ns\": 2}"
#define REST "\"confidence\": 0.5, \"evidence\": \"so it is\""
#define FINDING(members) "{\"finding\": {" members "}}"
#define WHOLE "\"type\": \"deep-queue\", " WHERE ", " TIME ", " REST

static int
read_line(const char *line, struct plugin_answer *answer, struct err *err)
{
	*err = (struct err){ "" };
	return plugin_answer_read(line, strlen(line), answer, err);
}

static void
test_what_is_asked(void **state)
{
	struct plugin_answer answer;
	struct err err;

	(void)state;
	assert_int_equal(read_line("{\"done\": 7}", &answer, &err), 0);
	assert_int_equal(answer.kind, PLUGIN_DONE);
	assert_int_equal(answer.turn, 7);
	assert_int_equal(read_line("{\"poll\": {\"port\": \"6:2\"}}", &answer, &err), 0);
	assert_int_equal(answer.kind, PLUGIN_POLL_PORT);
	assert_string_equal(answer.name, "6:2");
	assert_int_equal(read_line("{\"poll\": {\"flow\": \"a->b/1>2\"}}", &answer, &err), 0);
	assert_int_equal(answer.kind, PLUGIN_POLL_FLOW);
	assert_string_equal(answer.name, "a->b/1>2");
	assert_int_equal(read_line("{\"probe\": {\"from\": \"a\", \"to\": \"b\"}}", &answer, &err), 0);
	assert_int_equal(answer.kind, PLUGIN_PROBE);
	assert_string_equal(answer.name, "a");
	assert_string_equal(answer.to, "b");
}

static void
test_a_finding(void **state)
{
	static const char line[] = FINDING(WHOLE ", \"flows\": [\"a->b/1>2\"], \"collective\": 3, \"explained_ns\": 9, "
						 "\"steps\": [{\"collective\": 3, \"rank\": 1, \"step\": 2}]");
	struct plugin_answer answer;
	struct err err;

	(void)state;
	assert_int_equal(read_line(line, &answer, &err), 0);
	assert_int_equal(answer.kind, PLUGIN_FINDING);
	assert_string_equal(answer.finding.type, "deep-queue");
	assert_int_equal(answer.finding.ports.count, 1);
	assert_string_equal(answer.finding.flows.names[0], "a->b/1>2");
	assert_int_equal(answer.finding.start_ps, 1000);
	assert_int_equal(answer.finding.explained_ps, 9000);
	assert_int_equal(answer.finding.collective, 3);
	assert_int_equal(answer.finding.job, REC_NONE);
	assert_int_equal(answer.finding.steps[0].iteration, 0);
	assert_int_equal(answer.finding.steps[0].step, 2);
	plugin_answer_fini(&answer);
}

static const struct {
	const char *line, *message;
} wrong_lines[] = {
	{ "", "no JSON" },
	{ "{\"done\": 1", "no JSON" },
	{ "{\"done\": 1} {}", "no JSON" },
	{ "[]", "no object with one of" },
	{ "{}", "no object with one of" },
	{ "{\"stop\": 1}", "no object with one of" },
	{ "{\"done\": 1, \"poll\": {}}", "no object with one of" },
	{ "{\"done\": 1, \"done\": 2}", "duplicate" },
	{ "{\"done\": -1}", "number of a turn" },
	{ "{\"done\": \"1\"}", "number of a turn" },
	{ "{\"poll\": {}}", "either \"port\" or \"flow\"" },
	{ "{\"poll\": {\"port\": \"a\", \"flow\": \"b\"}}", "either" },
	{ "{\"poll\": {\"host\": \"a\"}}", "which no poll has" },
	{ "{\"poll\": {\"port\": 7}}", "an integer; right would be a text" },
	{ "{\"poll\": {\"port\": \"\"}}", "0 bytes" },
	{ "{\"probe\": {\"from\": \"a\"}}", "\"to\" is missing" },
	{ FINDING(""), "\"type\" is missing" },
	{ FINDING("\"type\": \"Deep\", " WHERE ", " TIME ", " REST), "small letters" },
	{ FINDING("\"type\": \"x\", " TIME ", " REST), "\"where\" is no object" },
	{ FINDING("\"type\": \"x\", \"where\": {\"ports\": []}, " TIME ", " REST), "no port, link or host" },
	{ FINDING("\"type\": \"x\", \"where\": {\"port\": []}, " TIME ", " REST), "which no where has" },
	{ FINDING("\"type\": \"x\", \"where\": {\"ports\": \"6:2\"}, " TIME ", " REST), "no array" },
	{ FINDING("\"type\": \"x\", " WHERE ", " REST), "\"time\" is no object" },
	{ FINDING("\"type\": \"x\", " WHERE ", \"time\": {\"start_ns\": 2, \"end_ns\": 1}, " REST), "before" },
	{ FINDING("\"type\": \"x\", " WHERE ", " TIME ", \"confidence\": true, \"evidence\": \"e\""), "true" },
	{ FINDING(WHOLE ", \"steps\": [3]"), "a step is no object" },
	{ FINDING(WHOLE ", \"job\": 4294967295"), "0 to 4294967294" },
	{ FINDING(WHOLE ", \"job\": -1"), "\"job\" is -1; right would be 0 to" },
	{ FINDING(WHOLE ", \"job\": 1.5"), "a real number; right would be an integer" },
	{ FINDING(WHOLE ", \"explained_ns\": 1152921504606847"), "0 to 1152921504606846" },
	{ FINDING(WHOLE ", \"explained_ns\": 1152921504606846, \"root\": 1"), "\"root\", which no finding has" },
	{ FINDING("\"type\": \"x\", \"where\": 7, " TIME ", " REST), "\"where\" is no object" },
	{ FINDING("\"type\": \"x\", \"where\": {\"links\": [7]}, " TIME ", " REST), "an integer; right would be a text" },
	{ FINDING("\"type\": \"x\", \"where\": {\"hosts\": [\"\\u001b\"]}, " TIME ", " REST), "control character, 27" },
	{ FINDING("\"type\": \"x\", \"where\": {\"hosts\": [\"\\u007f\"]}, " TIME ", " REST), "control character, 127" },
	{ FINDING("\"type\": \"x\", " WHERE ", \"time\": {\"end_ns\": 1}, " REST), "\"start_ns\" is missing" },
	{ FINDING("\"type\": \"x\", " WHERE ", \"time\": {\"start_ns\": 1}, " REST), "\"end_ns\" is missing" },
	{ FINDING("\"type\": \"x\", " WHERE ", \"time\": {\"at_ns\": 1}, " REST), "which no time has" },
	{ FINDING("\"type\": \"x\", " WHERE ", \"time\": 1, " REST), "\"time\" is no object" },
	{ FINDING("\"type\": \"x\", " WHERE ", " TIME ", \"confidence\": 1.5, \"evidence\": \"e\""),
	  "1.5; right would be 0" },
	{ FINDING("\"type\": \"x\", " WHERE ", " TIME ", \"confidence\": -1, \"evidence\": \"e\""),
	  "-1; right would be 0" },
	{ FINDING("\"type\": \"x\", " WHERE ", " TIME ", \"confidence\": 1"), "\"evidence\" is missing" },
	{ FINDING(WHOLE ", \"steps\": [{\"rank\": 1}]"), "\"collective\" is missing" },
	{ FINDING(WHOLE ", \"steps\": [{\"collective\": 1, \"iteration\": true}]"), "true; right would be an integer" },
	{ FINDING(WHOLE ", \"steps\": [{\"collective\": 1}]"), "\"rank\" is missing" },
	{ FINDING(WHOLE ", \"steps\": [{\"collective\": 1, \"rank\": 1}]"), "\"step\" is missing" },
	{ FINDING(WHOLE ", \"steps\": [{\"host\": 1}]"), "which no step has" },
	{ "{\"finding\": 7}", "a finding is no object" },
	{ "{\"done\": 1.5}", "number of a turn" },
	{ "{\"done\": null}", "number of a turn" },
	{ "5", "no JSON" },
	{ "{\"finding\": null}", "a finding is no object" },
	{ "{\"finding\": [1]}", "a finding is no object" },
	{ "{\"poll\": [1]}", "\"poll\" is no object" },
	{ "{\"poll\": {\"port\": \"\\u0000\"}}", "no JSON" },
	{ FINDING("\"type\": \"x\", \"where\": {\"ports\": [null]}, " TIME ", " REST), "null; right would be a text" },
	{ FINDING("\"type\": \"x\", \"where\": {\"ports\": [[1]]}, " TIME ", " REST), "an array; right would be a text" },
	{ FINDING("\"type\": \"x\", \"where\": [1], " TIME ", " REST), "\"where\" is no object" },
	{ FINDING("\"type\": \"x\", " WHERE ", " TIME ", \"confidence\": \"1\", \"evidence\": \"e\""),
	  "a text; right would be a number" },
	{ FINDING(WHOLE ", \"steps\": [[1]]"), "a step is no object" },
	{ FINDING(WHOLE ", \"steps\": {}"), "\"steps\" is no array" },
	{ FINDING(WHOLE ", \"job\": -1"), "-1; right would be 0" },
	{ "{\"poll\": 7}", "\"poll\" is no object" },
	{ "{\"probe\": 7}", "\"probe\" is no object" },
	{ "{\"probe\": {\"to\": \"a\"}}", "\"from\" is missing" },
	{ "{\"probe\": {\"via\": \"a\"}}", "which no probe has" },
};

static void
test_what_is_wrong(void **state)
{
	struct plugin_answer answer;
	struct err err;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong_lines); i++) {
		assert_int_equal(read_line(wrong_lines[i].line, &answer, &err), -EINVAL);
		if (strstr(err.text, wrong_lines[i].message) == NULL)
			fail_msg("%s: \"%s\" no answer of \"%s\"", wrong_lines[i].line, err.text, wrong_lines[i].message);
		plugin_answer_fini(&answer);
	}
}

static void
test_too_many_places(void **state)
{
	char line[4096] = "{\"finding\": {\"type\": \"x\", \"where\": {\"ports\": [\"6:2\"";
	struct plugin_answer answer;
	struct err err;

	(void)state;
	for (uint32_t i = 0; i < PLUGIN_PLACES; i++)
		strcat(line, ", \"6:2\"");
	strcat(line, "]}, " TIME ", " REST "}}");
	assert_int_equal(read_line(line, &answer, &err), -EINVAL);
	assert_non_null(strstr(err.text, "65 entries; right would be 64"));
	plugin_answer_fini(&answer);
}

/* What is written is read as it was. */
static void
test_the_file(void **state)
{
	char path[] = "/tmp/rocelab-outside-XXXXXX";
	struct plugin_account account;
	const struct plugin_account *accounts[] = { &account };
	struct plugin_report report = { 0 };
	struct plugin_answer answer;
	struct err err;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	plugin_account_init(&account, "/a/b/threshold.py", NULL, 0);
	assert_string_equal(account.name, "./threshold");
	account.polls = 5;
	assert_int_equal(
		read_line(FINDING(WHOLE ", \"job\": 4, \"collective\": 3, "
					"\"steps\": [{\"collective\": 3, \"iteration\": 1, \"rank\": 5, \"step\": 2}]"),
			  &answer, &err),
		0);
	assert_int_equal(plugin_account_add(&account, &answer.finding), 0);
	account.findings[0].reported_ps = 3000;
	assert_int_equal(plugin_report_write(accounts, 1, path, &err), 0);
	assert_int_equal(plugin_report_read(path, &report, &err), 0);
	assert_int_equal(report.count, 1);
	assert_string_equal(report.programs[0].path, "/a/b/threshold.py");
	assert_int_equal(report.programs[0].polls, 5);
	assert_int_equal(report.programs[0].nfindings, 1);
	assert_int_equal(report.programs[0].findings[0].reported_ps, 3000);
	assert_string_equal(report.programs[0].findings[0].evidence, "so it is");
	assert_int_equal(report.programs[0].findings[0].job, 4);
	assert_int_equal(report.programs[0].findings[0].collective, 3);
	assert_int_equal(report.programs[0].findings[0].nsteps, 1);
	assert_int_equal(report.programs[0].findings[0].steps[0].iteration, 1);
	assert_int_equal(report.programs[0].findings[0].steps[0].rank, 5);
	plugin_report_fini(&report);
	unlink(path);
	assert_int_equal(plugin_report_read(path, &report, &err), 0);
	assert_int_equal(report.count, 0);
	plugin_account_fini(&account);
}

/* A finding whose places have no memory is an error, and leaves nothing. */
static void
test_without_memory(void **state)
{
	static const char line[] = FINDING("\"type\": \"x\", \"where\": {\"ports\": [\"6:2\"], \"links\": [\"a-b\"], "
					   "\"hosts\": [\"a\"]}, \"flows\": [\"f\"], " TIME ", " REST);
	uint32_t refused = 0;

	(void)state;
	FOR_EACH_REFUSED(nth)
	{
		struct plugin_answer answer;
		struct err err;
		int rc = read_line(line, &answer, &err);
		bool was = alloc_was_refused();

		assert_int_equal(rc, was ? -ENOMEM : 0);
		plugin_answer_fini(&answer);
		if (!was)
			break;
		assert_string_equal(err.text, "out of memory for a finding");
		refused++;
	}
	assert_int_equal(refused, 4); /* a list each */
}

/* What is no account of plugins is refused, with the file. */
static void
test_bad_files(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "{", ": " },
		{ "{}", "\"programs\" is no array" },
		{ "{\"programs\": 5}", "\"programs\" is no array" },
		{ "{\"programs\": [5]}", "" },
		{ "{\"programs\": [{\"name\": \"threshold\"}]}", "" },
	};
	char path[] = "/tmp/rocelab-plugins-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct plugin_report report = { 0 };
		struct err err = { 0 };
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		assert_true(fputs(cases[i].text, file) >= 0);
		assert_int_equal(fclose(file), 0);
		assert_int_equal(plugin_report_read(path, &report, &err), -EINVAL);
		assert_non_null(strstr(err.text, path));
		assert_non_null(strstr(err.text, cases[i].why));
		plugin_report_fini(&report);
	}
	unlink(path);
}

static void
test_names(void **state)
{
	static const struct {
		const char *path, *name;
	} named[] = { { "./p.py", "./p" }, { "/x/p", "./p-2" }, { "../p.sh", "./p-3" }, { "./.sh", "./" } };
	struct plugin_account accounts[ARRAY_LEN(named)];
	const struct plugin_account *before[ARRAY_LEN(named)];

	(void)state;
	for (uint32_t i = 0; i < ARRAY_LEN(named); i++) {
		plugin_account_init(&accounts[i], named[i].path, before, i);
		assert_string_equal(accounts[i].name, named[i].name);
		before[i] = &accounts[i];
	}
}

UNIT_TEST(plugin_answer)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_asked),  cmocka_unit_test(test_a_finding),
		cmocka_unit_test(test_what_is_wrong),  cmocka_unit_test(test_too_many_places),
		cmocka_unit_test(test_the_file),       cmocka_unit_test(test_names),
		cmocka_unit_test(test_without_memory), cmocka_unit_test(test_bad_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What plugin programs found, in a verdict: their names looked up, those left out that name what does not exist. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include "common/array.h"
#include "common/wire/record.h"
#include "diag/plugin/plugin.h"
#include "diag/report/json.h"
#include "diag/report/report.h"
#include "diag/report/text.h"
#include "tests/unit/alloc.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

static const struct diagnoser_writers writers = { .json = plugin_json, .text = plugin_text };

/* @param texts  [count] findings as a program writes them */
static struct plugin_account
account_of(const char *const *texts, uint32_t count)
{
	struct plugin_account account;

	plugin_account_init(&account, "/x/deep.py", NULL, 0);
	for (uint32_t i = 0; i < count; i++) {
		struct plugin_finding finding = { 0 };
		struct err err = { 0 };
		json_t *from = json_loads(texts[i], 0, NULL);

		assert_non_null(from);
		if (plugin_finding_read(from, &finding, &err) != 0)
			fail_msg("%s: %s", texts[i], err.text);
		finding.reported_ps = 3 * MS;
		assert_int_equal(plugin_account_add(&account, &finding), 0);
		json_decref(from);
	}
	return account;
}

static int
build(const struct plugin_report *report, struct diagnoser *rows, struct verdict **v, struct err *err)
{
	struct diagnosis *asked = calloc(report->count, sizeof(*asked));
	struct evidence ev;
	struct records r;
	int rc;

	assert_non_null(asked);
	case_study(&r);
	records_end(&r, REC_END_COMPLETE, 80 * MS);
	records_evidence(&r, &ev);
	plugin_rows(report, &writers, rows, asked);
	rc = verdict_build(&ev, asked, report->count, v, err);
	evidence_fini(&ev);
	records_fini(&r);
	free(asked);
	return rc;
}

static struct verdict *
diagnosed(const struct plugin_report *report, struct diagnoser *rows)
{
	struct verdict *v = NULL;
	struct err err = { 0 };

	if (build(report, rows, &v, &err) != 0)
		fail_msg("%s", err.text);
	records_report(v);
	return v;
}

#define TIMES "\"time\": {\"start_ns\": 1000000, \"end_ns\": 2000000}, \"confidence\": 0.5"

#define AT "\"where\": {\"ports\": [\"6:2\"]}"

static const char *const good[] = {
	"{\"type\": \"deep-queue\", \"where\": {\"ports\": [\"6:2\", \"2:3\"], \"hosts\": [\"17\"]}, "
	"\"flows\": [\"17->18/10000>10000\"], "
	"\"steps\": [{\"collective\": 0, \"iteration\": 0, \"rank\": 0, \"step\": 2}], \"collective\": 0, \"job\": 0, "
	"\"explained_ns\": 1500000, \"evidence\": \"the {queue} was deep\", " TIMES "}",
	"{\"type\": \"odd-link\", \"where\": {\"links\": [\"3:1\"]}, \"evidence\": \"odd\", " TIMES "}",
	"{\"type\": \"odd-host\", \"where\": {\"hosts\": [\"13\"]}, \"evidence\": \"odd\", " TIMES "}",
};

static void
findings_join_those_of_others(void **state)
{
	struct plugin_account account = account_of(good, ARRAY_LEN(good));
	const struct plugin_report report = { &account, 1 };
	struct diagnoser row;
	struct verdict *v = diagnosed(&report, &row);
	const struct finding *deep = NULL;
	char *text = records_text(v);

	(void)state;
	assert_int_equal(v->nfindings, 3);
	for (uint32_t i = 0; i < v->nfindings; i++)
		deep = strcmp(v->findings[i].type->key, "deep-queue") == 0 ? &v->findings[i] : deep;
	assert_non_null(deep);
	assert_string_equal(deep->type->title, "deep queue");
	assert_string_equal(deep->root, "6:2");
	assert_int_equal(deep->nports, 2);
	assert_int_equal(deep->nflows, 1);
	assert_int_equal(deep->nsteps, 1);
	assert_non_null(strstr(case_evidence(v, deep), "the (queue) was deep"));
	assert_int_equal(plugin_left_out(v), 0);
	plugin_print(v, true);
	assert_non_null(strstr(text, "Findings of ./deep"));
	assert_non_null(strstr(text, "1. deep-queue at 6:2: the {queue} was deep; seen 1.000 ms to 2.000 ms, reported at "
				     "3.000 ms; confidence 0.50; by its estimate this cost 1.500 ms"));
	assert_non_null(strstr(text, "3. odd-host at 13: odd;"));
	free(text);
	verdict_destroy(v);
	plugin_account_fini(&account);
}

/* Up to the finding that names what is not there; those before it stay. */
static void
names_of_nothing_exclude_a_program(void **state)
{
	static const struct {
		const char *fields, *why;
	} cases[] = {
		{ "\"where\": {\"ports\": [\"9:9\"]}", "a finding names port \"9:9\", and no record does" },
		{ "\"where\": {\"links\": [\"9:9\"]}", "a finding names the port of a link, \"9:9\", and no record does" },
		{ "\"where\": {\"hosts\": [\"99\"]}", "a finding names host \"99\", and no record does" },
		{ "\"where\": {\"hosts\": [\"6\"]}", "a finding names host \"6\", and no record does" }, /* a switch */
		{ AT ", \"flows\": [\"none\"]", "a finding names flow \"none\", and no record does" },
		{ AT ", \"steps\": [{\"collective\": 0, \"iteration\": 0, \"rank\": 7, \"step\": 1}]",
		  "a finding names step 1 of rank 7 in iteration 0 of collective 0, and there is none" },
		{ AT ", \"steps\": [{\"collective\": 0, \"iteration\": 4, \"rank\": 0, \"step\": 1}]",
		  "a finding names step 1 of rank 0 in iteration 4 of collective 0, and there is none" },
		{ AT ", \"collective\": 5", "a finding names collective 5, and there is none" },
		{ AT ", \"job\": 5", "a finding names job 5, and there is none" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char wrong[512], *text;
		const char *texts[] = { good[1], wrong, good[2] };
		struct plugin_account account;
		const struct plugin_report report = { &account, 1 };
		struct diagnoser row;
		struct verdict *v;

		snprintf(wrong, sizeof(wrong), "{\"type\": \"t\", %s, \"evidence\": \"e\", " TIMES "}", cases[i].fields);
		account = account_of(texts, ARRAY_LEN(texts));
		v = diagnosed(&report, &row);
		assert_int_equal(v->nfindings, 1);
		assert_int_equal(plugin_left_out(v), 1);
		plugin_print(v, false);
		text = records_text(v);
		if (strstr(text, cases[i].why) == NULL)
			fail_msg("not \"%s\" but %s", cases[i].why, text);
		assert_non_null(strstr(text, "not all of its output is accepted; left out at 117.000 ms: "));
		free(text);
		verdict_destroy(v);
		plugin_account_fini(&account);
	}
}

/* One that the run left out, with what it was refused; one that found nothing; one with more than are shown. */
static void
dealings_are_reported(void **state)
{
	const char *many[13];
	struct plugin_account accounts[3];
	const struct plugin_report report = { accounts, ARRAY_LEN(accounts) };
	struct diagnoser rows[ARRAY_LEN(accounts)];
	struct verdict *v;
	char *text;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = good[1];
	accounts[0] = account_of(good, 1);
	accounts[1] = account_of(NULL, 0);
	accounts[2] = account_of(many, ARRAY_LEN(many));
	strcpy(accounts[1].name, "./none");
	strcpy(accounts[2].name, "./many");
	accounts[0].left_out = true;
	accounts[0].left_ps = 5 * MS;
	accounts[0].refused = accounts[0].dropped_records = accounts[0].turns = 2;
	accounts[1].missed = 3;
	strcpy(accounts[0].why, "it exited");
	strcpy(accounts[0].refused_why, "poll of nothing");
	v = diagnosed(&report, rows);
	text = records_text(v);
	assert_int_equal(plugin_left_out(v), 1);
	plugin_print(v, false);
	plugin_print(v, true);
	assert_non_null(strstr(text,
			       "2 turns, 0 polls and 0 probes asked for; 2 of its requests and findings were refused, "
			       "the first a poll of nothing; it did not keep up, and lacks 2 records and 0 turns; left "
			       "out at 5.000 ms: it exited."));
	assert_non_null(strstr(text, "asked for; it found nothing; it did not keep up, and lacks 0 records and 3 turns."));
	assert_non_null(strstr(text, "12. odd-link"));
	assert_null(strstr(text, "13. odd-link"));
	assert_non_null(strstr(text, "... and 1 more, in verdict.json"));
	free(text);
	verdict_destroy(v);
	for (size_t i = 0; i < ARRAY_LEN(accounts); i++)
		plugin_account_fini(&accounts[i]);
}

static void
refusals_of_memory_are_reported(void **state)
{
	struct plugin_account account = account_of(good, 1);
	const struct plugin_report report = { &account, 1 };
	struct diagnosis asked;
	struct diagnoser row;
	struct evidence ev;
	struct records r;

	(void)state;
	plugin_rows(&report, &writers, &row, &asked);
	case_fabric(&r);
	records_step(&r, 1, H15, REC_NONE, 0, 31 * MS);
	records_step(&r, 2, H17, REC_NONE, 31 * MS, 62 * MS);
	records_end(&r, REC_END_COMPLETE, 80 * MS);
	FOR_EACH_REFUSED(nth)
	{
		struct verdict *v = NULL;
		struct err err = { 0 };
		bool was;
		int rc;

		alloc_refuse(0);
		records_evidence(&r, &ev);
		alloc_refuse(nth);
		rc = verdict_build(&ev, &asked, 1, &v, &err);
		was = alloc_was_refused();
		evidence_fini(&ev);
		if (was ? rc != -ENOMEM : rc != 0)
			fail_msg("allocation %u: %d \"%s\"", (unsigned)nth, rc, err.text);
		if (v != NULL)
			verdict_destroy(v);
		if (!was)
			break;
	}
	records_fini(&r);
	plugin_account_fini(&account);
}

UNIT_TEST(plugin)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(findings_join_those_of_others),
		cmocka_unit_test(names_of_nothing_exclude_a_program),
		cmocka_unit_test(dealings_are_reported),
		cmocka_unit_test(refusals_of_memory_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Suspects of a scenario, what a verdict claims of them, and what reruns say they cost. */
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
#include "scenario/scenario.h"
#include "tests/unit/unit.h"
#include "twin/rerun/rerun.h"
#include "twin/rerun/suspect.h"
#include "workload/plan.h"

static const char text[] =
	"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 1; hosts_per_leaf = 4; };\n"
	"jobs = ( { name = \"train\"; ranks = [ \"h0\", \"h4\" ]; delays = ( { rank = 1; delay = \"50us\"; } );\n"
	"           collectives = ( { bytes = \"1MB\"; sport = 100; } ); },\n"
	"         { name = \"other\"; ranks = [ \"h1\", \"h5\" ]; start = \"1ms\";\n"
	"           collectives = ( { bytes = \"1MB\"; sport = 200; } ); } );\n"
	"flows = ( { src = \"h2\"; dst = \"h4\"; sport = 1; bytes = \"1MB\"; },\n"
	"          { src = \"h3\"; dst = \"h4\"; sport = 2; bytes = \"1MB\"; enabled = false; },\n"
	"          { src = \"h2\"; dst = \"h4\"; sport = 3; bytes = \"1MB\"; } );\n"
	"generators = ( { kind = \"incast\"; src = [ \"h[1-3]\" ]; dst = [ \"h7\" ]; degree = 2; bytes = \"9KB\"; } );\n"
	"faults = ( { kind = \"slow-host\"; host = \"h4\"; delay = \"1us\"; },\n"
	"           { kind = \"loss\"; port = \"l0:5\"; rate = 0.1; }, { kind = \"loss\"; port = \"l0:5\"; rate = 0.2; },\n"
	"           { kind = \"delay\"; port = \"l1:5\"; extra = \"5us\"; },\n"
	"           { kind = \"pfc-storm\"; port = \"s0:1\"; start = \"1ms\"; duration = \"1ms\"; } );\n";

static char path[] = "/tmp/rocelab-rerun-XXXXXX", store_path[sizeof(path) + 8];
static struct scenario *scenario;
static struct rerun_case c;

static int
load(void **state)
{
	struct err err = { 0 };
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return -1;
	close(fd);
	snprintf(store_path, sizeof(store_path), "%s.sqlite", path);
	scenario = scenario_load(&(struct scenario_options){ .path = path }, &err);
	if (scenario == NULL)
		printf("%s\n", err.text);
	return scenario != NULL ? 0 : -1;
}

static int
unload(void **state)
{
	(void)state;
	scenario_destroy(scenario);
	unlink(store_path);
	return unlink(path);
}

static int
begin(void **state)
{
	struct err err = { 0 };

	(void)state;
	c = (struct rerun_case){ .family = "f", .index = 3, .scenario = path, .dir = "/nowhere", .loaded = scenario };
	return suspects_list(scenario, 0, &c.suspects, &err);
}

static int
end(void **state)
{
	(void)state;
	rerun_case_fini(&c);
	return 0;
}

static void
all_that_is_enabled_is_suspect(void **state)
{
	static const char *const rows[][3] = {
		{ "flow", "h2->h4/1>4791", "flows.[0].enabled=false" },
		{ "flow", "h2->h4/3>4791", "flows.[2].enabled=false" },
		{ "generator", "generator@incast", "generators.[0].enabled=false" },
		{ "job", "job@other", "jobs.[1].enabled=false" },
		{ "fault", "pfc-storm@s0:1", "faults.[4].enabled=false" },
		{ "fault", "loss@l0:5", "faults.[1].enabled=false" },
		{ "fault", "loss@l0:5#2", "faults.[2].enabled=false" },
		{ "fault", "delay@l1:5", "faults.[3].enabled=false" },
		{ "fault", "slow-host@h4", "faults.[0].enabled=false" },
		{ "straggler", "straggler@train/1", "jobs.[0].delays.[0].delay=0ps" },
	};

	(void)state;
	assert_int_equal(c.suspects.count, sizeof(rows) / sizeof(*rows));
	for (size_t i = 0; i < c.suspects.count; i++) {
		assert_string_equal(c.suspects.at[i].kind, rows[i][0]);
		assert_string_equal(c.suspects.at[i].name, rows[i][1]);
		assert_string_equal(c.suspects.at[i].set, rows[i][2]);
	}
	assert_int_equal(json_array_size(c.suspects.at[2].flows), 2);
	assert_int_equal(json_array_size(c.suspects.at[3].flows), 2);
	assert_string_equal(json_string_value(json_array_get(c.suspects.at[5].ports, 1)), "s0:1");
	assert_string_equal(json_string_value(json_array_get(c.suspects.at[8].nodes, 0)), "h4");
}

/* What leaves a suspect out is a key that the scenario takes, and afterwards it is none any more. */
static void
each_can_be_left_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < c.suspects.count; i++) {
		struct scenario_options options = { .path = path, .sets = { c.suspects.at[i].set }, .nsets = 1 };
		struct suspects left = { 0 };
		struct err err = { 0 };
		struct scenario *without = scenario_load(&options, &err);

		if (without == NULL)
			fail_msg("%s: %s", c.suspects.at[i].set, err.text);
		assert_int_equal(without->plan->flows.count, scenario->plan->flows.count - (i == 2 ? 2 : 0));
		assert_int_equal(suspects_list(without, 0, &left, &err), 0);
		assert_int_equal(left.count, c.suspects.count - 1);
		suspects_fini(&left);
		scenario_destroy(without);
	}
}

static void
refused(const char *const *names, size_t count, const char *word)
{
	struct err err = { 0 };

	assert_int_equal(suspects_keep(&c.suspects, names, count, &err), -22);
	if (strstr(err.text, word) == NULL)
		fail_msg("%s lacks %s", err.text, word);
}

static void
some_can_be_named(void **state)
{
	struct err err = { 0 };

	(void)state;
	refused((const char *const[]){ "h2->h4" }, 1, "h2->h4/3>4791");
	refused((const char *const[]){ "job@othr" }, 1, "job@other");
	refused((const char *const[]){ "loss@l0:5", "loss@l0:5" }, 2, "twice");
	assert_int_equal(suspects_keep(&c.suspects, (const char *const[]){ "slow-host@h4", "h2->h4/3>4791" }, 2, &err), 0);
	assert_int_equal(c.suspects.count, 2);
	assert_string_equal(c.suspects.at[0].set, "faults.[0].enabled=false");
	assert_int_equal(suspects_add_remedy(&c.suspects, "switch.pfc.alpha", &err), -22);
	assert_int_equal(suspects_add_remedy(&c.suspects, "switch.pfc.alpha=1", &err), 0);
	assert_string_equal(c.suspects.at[2].kind, "remedy");
}

/*
 * Two flows 3 to 1; what two losses and a storm may have done at one place, and what the storm did; a slow host; a loss
 * on a flow's way, and a delay without effect; another job's flow; a stranger's. Of the second job nothing counts.
 */
static const struct {
	const char *type, *root, *flows, *without_effect, *iterations;
} reported[] = {
	{ "flow-contention", "l1:1", "\"h2->h4/1>4791\", \"h2->h4/3>4791\"", "false",
	  "{ \"job\": 0, \"explained_ns\": 250, \"flows_explained_ns\": [ 200, 50 ] },"
	  "{ \"job\": 0, \"explained_ns\": 150, \"flows_explained_ns\": [ 100, 50 ] },"
	  "{ \"job\": 1, \"explained_ns\": 9, \"flows_explained_ns\": [ 5, 4 ] }" },
	{ "packet-loss", "s0:1", "", "false", "{ \"job\": 0, \"explained_ns\": 100 }" },
	{ "pfc-storm", "s0:1", "", "false", "{ \"job\": 0, \"explained_ns\": 30 }" },
	{ "slow-host", "h4", "", "false",
	  "{ \"job\": 0, \"explained_ns\": 20 }, { \"job\": 0, \"explained_ns\": 30 }, { \"job\": 1, \"explained_ns\": "
	  "7000 }" },
	{ "packet-loss", "h0->h4/100>4791", "", "false", "{ \"job\": 0, \"explained_ns\": 20 }" },
	{ "path-delay", "h0->h4/100>4791", "", "true", "{ \"job\": 0, \"explained_ns\": 5 }" },
	{ "flow-contention", "l0:1", "\"h1->h5/200>4791\"", "false",
	  "{ \"job\": 0, \"explained_ns\": 40, \"flows_explained_ns\": [ 40 ] }" },
	{ "flow-contention", "l1:2", "\"x->y/1>2\"", "false",
	  "{ \"job\": 0, \"explained_ns\": 10, \"flows_explained_ns\": [ 10 ] }" },
};

/* A switch may drop at any of its ports; a fault at a port is at that port alone. */
static const struct {
	const char *type, *root;
	bool fits[3]; /* the loss at l1:5, the blackhole of l1, the missing route of l1 */
} at_nodes[] = {
	{ "blackhole", "l1", { false, true, true } },      { "blackhole", "l1:2", { false, true, true } },
	{ "blackhole", "l1:5", { true, true, true } },     { "blackhole", "l0:2", { false, false, false } },
	{ "blackhole", "l11:2", { false, false, false } }, { "packet-loss", "l1:2", { false, false, false } },
	{ "packet-loss", "l1:5", { true, false, false } }, { "silent-fault", "l1:5", { true, true, false } },
};

static const char node_faults[] =
	"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 1; hosts_per_leaf = 4; };\n"
	"collectives = ( { bytes = \"1MB\"; ranks = [ \"h0\", \"h4\" ]; } );\n"
	"faults = ( { kind = \"blackhole\"; switch = \"l1\"; dst = \"h4\"; start = \"1us\"; duration = \"1us\"; },\n"
	"           { kind = \"missing-route\"; switch = \"l1\"; dst = \"h4\"; start = \"5us\"; duration = \"1us\"; },\n"
	"           { kind = \"loss\"; port = \"l1:5\"; rate = 0.1; } );\n";

static void
a_switch_is_named_by_its_ports(void **state)
{
	char file[] = "/tmp/rocelab-nodes-XXXXXX";
	struct suspects suspects = { 0 };
	struct scenario *nodes;
	struct err err = { 0 };
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, node_faults, strlen(node_faults)), strlen(node_faults));
	close(fd);
	nodes = scenario_load(&(struct scenario_options){ .path = file }, &err);
	unlink(file);
	if (nodes == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(suspects_list(nodes, 0, &suspects, &err), 0);
	assert_int_equal(suspects.count, 3);
	assert_string_equal(suspects.at[0].name, "loss@l1:5");
	for (size_t i = 0; i < ARRAY_LEN(at_nodes); i++) {
		json_t *finding = json_pack("{s:s, s:s}", "type", at_nodes[i].type, "root", at_nodes[i].root);

		for (size_t s = 0; s < suspects.count; s++)
			if (suspect_is_named(&suspects, s, finding) != at_nodes[i].fits[s])
				fail_msg("%s at %s and %s", at_nodes[i].type, at_nodes[i].root, suspects.at[s].name);
		json_decref(finding);
	}
	suspects_fini(&suspects);
	scenario_destroy(nodes);
}

static json_t *
make_verdict(void)
{
	json_t *findings = json_array();
	char row[1024];

	for (size_t i = 0; i < ARRAY_LEN(reported); i++) {
		snprintf(row, sizeof(row),
			 "{ \"type\": \"%s\", \"root\": \"%s\", \"flows\": [ %s ], \"without_effect\": %s, "
			 "\"iterations\": [ %s ] }",
			 reported[i].type, reported[i].root, reported[i].flows, reported[i].without_effect,
			 reported[i].iterations);
		json_array_append_new(findings, json_loads(row, 0, NULL));
	}
	assert_int_equal(json_array_size(findings), ARRAY_LEN(reported));
	return json_pack("{s:o}", "findings", findings);
}

static void
findings_are_mapped_to_suspects(void **state)
{
	static const double claimed_ns[] = { 300, 100, 0, 40, 30, 60, 60, 5, 25, 25 };
	json_t *verdict = make_verdict();
	struct claims claims;

	(void)state;
	claims_read(verdict, &c.suspects, 0, &claims);
	json_decref(verdict);
	for (size_t i = 0; i < c.suspects.count; i++) {
		assert_float_equal(claims.ns[i], claimed_ns[i], 1e-9);
		assert_int_equal(claims.named[i], claimed_ns[i] > 5); /* the delay is no root cause */
	}
	assert_float_equal(claims.others_ns, 10, 1e-9);
	assert_float_equal(claims_share(&claims, &c.suspects, 0), 300.0 / 645, 1e-9);
}

/* By the twin one culprit of a finding has no effect on the job, or all of the finding has none: neither is named. */
static void
what_the_twin_acquits_is_not_named(void **state)
{
	static const char findings[] =
		"{ \"findings\": [ { \"type\": \"flow-contention\", \"root\": \"l1:1\", \"without_effect\": false, "
		"\"flows\": [ \"h2->h4/1>4791\", \"h2->h4/3>4791\" ], \"iterations\": [ { \"job\": 0, "
		"\"explained_ns\": 250, \"flows_explained_ns\": [ 200, 50 ], \"without_effect\": false, "
		"\"flows_without_effect\": [ \"h2->h4/3>4791\" ] } ] }, { \"type\": \"slow-host\", \"root\": \"h4\", "
		"\"without_effect\": false, \"iterations\": [ { \"job\": 0, \"explained_ns\": 40, "
		"\"without_effect\": true, \"flows_without_effect\": [ ] } ] } ] }";
	json_t *verdict = json_loads(findings, 0, NULL);
	double left_ns = 290;
	struct claims claims;
	uint32_t named = 0;

	(void)state;
	assert_non_null(verdict);
	claims_read(verdict, &c.suspects, 0, &claims);
	json_decref(verdict);
	for (size_t i = 0; i < c.suspects.count; i++) {
		left_ns -= claims.ns[i];
		named += claims.named[i];
	}
	assert_true(claims.named[0]);
	assert_int_equal(named, 1);
	assert_float_equal(left_ns, 0, 1e-9); /* their figures stay */
}

static void
put(struct rerun_store *store, uint64_t without, uint32_t draw, uint64_t time_ns, bool complete)
{
	struct err err = { 0 };
	const struct rerun_result rerun = { "f", 3, without, draw, 0, time_ns, complete };

	assert_int_equal(rerun_store_add(store, &rerun, &err), 0);
}

static void
the_store_reports_what_each_cost(void **state)
{
	struct err err = { 0 };
	struct rerun_store *store = rerun_store_open(store_path, "", &err);
	struct rerun_truth truth;

	(void)state;
	assert_non_null(store);
	assert_int_equal(suspects_keep(&c.suspects, (const char *const[]){ "slow-host@h4", "loss@l0:5" }, 2, &err), 0);
	assert_int_equal(rerun_case_init(&c, &err), 0);
	assert_int_equal(c.starts_ns[1], 1000000);
	assert_string_equal(c.policy, "vedrfolnir");
	assert_true(c.rtt_ns > 5000 && c.rtt_ns < 20000);
	assert_int_equal(c.nsets_out, 4);
	put(store, 0, 0, 10000000, true);
	put(store, 1, 0, 9990000 + c.rtt_ns / 2, true);
	put(store, 2, 0, 6000000, true);
	assert_int_equal(rerun_truth(store, &c, &truth, &err), -61); /* one is missing */
	put(store, 3, 0, 5000000, false);
	assert_int_equal(rerun_truth(store, &c, &truth, &err), 0);
	rerun_store_close(store);
	assert_true(truth.base_complete && !truth.all_complete && truth.has_shapley);
	assert_float_equal(truth.costs[1].regained_ns, 4e6, 1e-3);
	assert_true(truth.costs[1].has_effect);
	assert_true(truth.costs[0].has_none); /* less than a base RTT, and than 0.5 % */
	assert_float_equal(truth.costs[0].shapley_ns + truth.costs[1].shapley_ns, 5e6, 1e-3);
	assert_float_equal(truth.costs[0].shapley_ns, (truth.costs[0].regained_ns + 1e6) / 2, 1e-3);
}

/* Each draw is a pair with and without: what all of them share is no error of the cost. */
static void
costs_are_means_over_draws(void **state)
{
	struct err err = { 0 };
	struct rerun_store *store = rerun_store_open(store_path, "", &err);
	struct rerun_truth truth;

	(void)state;
	assert_non_null(store);
	c.index = 3;
	c.draws = 3;
	assert_int_equal(suspects_keep(&c.suspects, (const char *const[]){ "loss@l0:5" }, 1, &err), 0);
	assert_int_equal(rerun_case_init(&c, &err), 0);
	for (uint32_t draw = 0; draw < 3; draw++) {
		put(store, 0, draw, 10000000 + draw * 3000000, true);
		assert_int_equal(rerun_truth(store, &c, &truth, &err), -61);
		put(store, 1, draw, 8000000 + draw * 2000000, true);
	}
	assert_int_equal(rerun_truth(store, &c, &truth, &err), 0);
	assert_float_equal(truth.base_ns, 13e6, 1e-3);
	assert_float_equal(truth.all_ns, 10e6, 1e-3);
	assert_float_equal(truth.base_error_ns, 1732051, 1); /* 3 ms / sqrt(3) */
	assert_float_equal(truth.costs[0].regained_ns, 3e6, 1e-3);
	assert_float_equal(truth.costs[0].regained_error_ns, 577350, 1); /* 1 ms / sqrt(3) */
	assert_float_equal(truth.costs[0].error_ns, 577350, 1);
	assert_float_equal(truth.limit, 4.30265, 1e-4);
	assert_true(truth.costs[0].has_effect && !truth.costs[0].has_none); /* 3 ms are 5.2 errors */
	put(store, 1, 0, 7500000, true); /* 2.5, 3 and 5 ms are 4.5; 2, 3 and 5 ms 3.8, which three draws leave open */
	put(store, 1, 2, 11000000, true);
	assert_int_equal(rerun_truth(store, &c, &truth, &err), 0);
	assert_true(truth.costs[0].has_effect);
	put(store, 1, 0, 8000000, true);
	assert_int_equal(rerun_truth(store, &c, &truth, &err), 0);
	assert_true(!truth.costs[0].has_effect && !truth.costs[0].has_none);
	put(store, 1, 2, 12000000, true);
	for (uint32_t draw = 0; draw < 3; draw++) /* 2, -1 and 2 ms: it may cost something */
		put(store, 1, draw, 8000000 + draw * 3000000 + (draw == 1) * 3000000, true);
	assert_int_equal(rerun_truth(store, &c, &truth, &err), 0);
	assert_true(!truth.costs[0].has_effect && !truth.costs[0].has_none);
	rerun_store_close(store);
}

/* The times of a job that was not done are bounds. */
static void
a_job_that_was_not_done_is_bounded(void **state)
{
	static const struct {
		uint64_t base_ns, without_ns;
		bool base_complete, complete, has_effect, has_none;
	} rows[] = {
		{ 9000000, 5000000, true, true, true, false },    { 9000000, 9000000, true, true, false, true },
		{ 9000000, 5000000, false, true, true, false },   { 9000000, 9000000, false, true, false, false },
		{ 9000000, 60000000, true, false, false, true },  { 9000000, 5000000, true, false, false, false },
		{ 9000000, 5000000, false, false, false, false }, { 9000000, 9000000, false, false, false, false },
	};
	struct err err = { 0 };
	struct rerun_store *store;
	struct rerun_truth truth;

	(void)state;
	store = rerun_store_open(store_path, "", &err);
	assert_non_null(store);
	c.index = 3;
	assert_int_equal(suspects_keep(&c.suspects, (const char *const[]){ "loss@l0:5" }, 1, &err), 0);
	assert_int_equal(rerun_case_init(&c, &err), 0);
	for (uint32_t i = 0; i < ARRAY_LEN(rows); i++) {
		put(store, 0, 0, rows[i].base_ns, rows[i].base_complete);
		put(store, 1, 0, rows[i].without_ns, rows[i].complete);
		assert_int_equal(rerun_truth(store, &c, &truth, &err), 0);
		if (truth.costs[0].has_effect != rows[i].has_effect || truth.costs[0].has_none != rows[i].has_none)
			fail_msg("row %u: effect %d, none %d", i, truth.costs[0].has_effect, truth.costs[0].has_none);
	}
	rerun_store_close(store);
}

/* Beyond those that Shapley takes: none, each alone, all. */
static void
many_are_left_out_one_by_one(void **state)
{
	struct err err = { 0 };

	(void)state;
	assert_int_equal(rerun_case_init(&c, &err), 0);
	assert_int_equal(c.nsets_out, 12);
	assert_int_equal(c.sets_out[0], 0);
	assert_int_equal(c.sets_out[1], 1);
	assert_int_equal(c.sets_out[10], 512);
	assert_int_equal(c.sets_out[11], 1023);
}

UNIT_TEST(rerun)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(all_that_is_enabled_is_suspect),
		TEST(each_can_be_left_out),
		TEST(some_can_be_named),
		TEST(findings_are_mapped_to_suspects),
		TEST(what_the_twin_acquits_is_not_named),
		cmocka_unit_test(a_switch_is_named_by_its_ports),
		TEST(the_store_reports_what_each_cost),
		TEST(costs_are_means_over_draws),
		TEST(a_job_that_was_not_done_is_bounded),
		TEST(many_are_left_out_one_by_one),
	};

	return cmocka_run_group_tests(tests, load, unload);
}

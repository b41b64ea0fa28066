/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole runs in one process, without EAL: a scenario in a line or two, and what must hold at its end. Every run is made
 * three times, the last on two threads, and must give the same digest.
 */
#include <pthread.h>
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
#include "common/clock.h"
#include "common/units.h"
#include "dpswitch/pipeline/switch.h"
#include "emulation/emulation.h"
#include "emulation/outputs/outputs.h"
#include "emulation/service.h"
#include "rxe-hosts/faults/host_faults.h"
#include "scenario/scenario.h"
#include "tests/unit/unit.h"

/* What a run left behind. */
struct outcome {
	enum rec_end_reason reason;
	uint64_t digest, end_ps;
	uint64_t drops[REC_DROP_REASONS]; /* packets dropped by switches */
	struct invariant invariants[EMULATION_INVARIANTS];
	uint32_t failed;
};

static void *
second_lcore(void *arg)
{
	fabric_run(arg, 1);
	return NULL;
}

static void
look(const struct emulation *emulation, struct outcome *outcome)
{
	const struct topo *topo = emulation->scenario->topo;

	*outcome = (struct outcome){
		.reason = emulation->fabric->end_reason,
		.digest = fabric_digest(emulation->fabric),
		.end_ps = emulation->fabric->window.end_ps,
	};
	outcome->failed = emulation_check(emulation, outcome->invariants);
	for (uint32_t i = 0; i < topo->nnodes; i++)
		for (uint16_t p = 0; emulation->switches[i] != NULL && p < topo->nodes[i].nports; p++)
			for (uint32_t r = 0; r < REC_DROP_REASONS; r++)
				outcome->drops[r] += emulation->switches[i]->ports[p].telem.drops->of[r].packets;
	assert_int_equal(results_wrong(emulation), 0);
}

static void
run_once(const char *path, uint32_t lcores, struct outcome *outcome)
{
	struct scenario_options options = { .path = path };
	struct err err = { "" };
	struct scenario *scenario = scenario_load(&options, &err);
	struct exporter *exporter = NULL;
	struct emulation *emulation = NULL;
	pthread_t second;

	if (scenario != NULL)
		exporter = exporter_create(&scenario->exporter, NULL, 0, &err);
	if (exporter != NULL)
		emulation = emulation_create(
			scenario,
			&(struct emulation_options){ .lcores = lcores, .phase = EMULATION_RUN, .services = run_services },
			&err);
	if (emulation == NULL)
		fail_msg("%s", err.text);
	emulation_begin(emulation, exporter, clock_now_ns());
	if (lcores == 2)
		assert_int_equal(pthread_create(&second, NULL, second_lcore, emulation->fabric), 0);
	fabric_run(emulation->fabric, 0);
	if (lcores == 2)
		pthread_join(second, NULL);
	emulation_end(emulation);
	look(emulation, outcome);
	emulation_destroy(emulation);
	exporter_destroy(exporter);
	scenario_destroy(scenario);
}

/* Runs a scenario three times; all invariants must hold and nothing may differ. */
static struct outcome
run(const char *text)
{
	char path[] = "/tmp/emulation-test-XXXXXX";
	struct outcome first, again;
	FILE *file = fdopen(mkstemp(path), "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	run_once(path, 1, &first);
	for (uint32_t i = 0; i < EMULATION_INVARIANTS; i++)
		if (!first.invariants[i].holds)
			fail_msg("%s: %s", first.invariants[i].name, first.invariants[i].text);
	/* lcores spin: two on one CPU would wait for each other's time slices */
	for (uint32_t lcores = 1; lcores <= (sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1); lcores++) {
		run_once(path, lcores, &again);
		assert_int_equal(again.digest, first.digest);
		assert_int_equal(again.end_ps, first.end_ps);
	}
	unlink(path);
	return first;
}

/* More flows wait at a NIC when it is first reported than its rows had room for. */
static void
many_flows_wait_at_a_nic(void **state)
{
	char text[4096];
	int used = snprintf(text, sizeof(text),
			    "topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"S\" ];"
			    " links = ( \"a S\", \"b S\" ); };\n"
			    "collectives = ( { ranks = [ \"a\", \"b\" ]; step_bytes = \"100KB\"; start = \"20us\"; } );\n"
			    "flows = ( ");

	(void)state;
	for (int i = 0; i < 20; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used,
				 "%s{ src = \"a\"; dst = \"b\"; sport = %d; bytes = \"500KB\"; start = \"%dus\"; }",
				 i != 0 ? ", " : "", 20000 + i, i < 2 ? 0 : 22);
	snprintf(text + used, sizeof(text) - (size_t)used, " );\ndetection = { spacing = \"2us\"; };\n");
	assert_int_equal(run(text).reason, REC_END_COMPLETE);
}

#define TWO_HOSTS                                                                                                          \
	"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"S\" ];"                                \
	" links = ( \"a S\", \"b S\" ); };\n"
#define ONE_FLOW "flows = ( { src = \"a\"; dst = \"b\"; sport = 20000; bytes = \"1MB\"; } );\n"

/* The RESUME of a's paused NIC falls into the time without a cable. */
static void
pause_does_not_outlive_its_cable(void **state)
{
	(void)state;
	assert_int_equal(run(TWO_HOSTS ONE_FLOW
			     "faults = ( { kind = \"pfc-storm\"; port = \"S:1\"; start = \"10us\"; duration = \"20us\"; },"
			     " { kind = \"link-down\"; port = \"S:1\"; start = \"20us\"; duration = \"20us\"; } );\n")
				 .reason,
			 REC_END_COMPLETE);
}

/* T is full of what b's paused port holds back, and the cable between S and T comes up again and again. */
static void
flapping_cable_overruns_no_headroom(void **state)
{
	struct outcome outcome = run(
		"topology = { kind = \"explicit\"; hosts = [ \"a\", \"b\" ]; switches = [ \"S\", \"T\" ];"
		" links = ( \"a S\", \"S T\", \"T b\" ); };\n" ONE_FLOW "host = { window = \"none\"; cc = \"none\"; };\n"
		"switch = { pfc = { model = \"static\"; xoff = \"20KB\"; }; };\n"
		"faults = ( { kind = \"pfc-storm\"; port = \"b:1\"; duration = \"300us\"; },"
		" { kind = \"link-down\"; port = \"T:1\"; start = \"50us\"; duration = \"2us\"; period = \"10us\"; } );\n"
		"limits = { virtual_time = \"2ms\"; };\n");

	(void)state;
	assert_true(outcome.reason == REC_END_COMPLETE || outcome.reason == REC_END_VIRTUAL_TIME);
}

/* Of two storms at one port, of two classes, each ends by itself; so do two cuts of one cable. */
static void
overlapping_faults_end_one_by_one(void **state)
{
	static const char storms[] = TWO_HOSTS
		"switch = { pfc = { priorities = [ \"3\", \"4\" ]; }; };\n"
		"flows = ( { src = \"a\"; dst = \"b\"; sport = 20000; bytes = \"1MB\"; },"
		" { src = \"a\"; dst = \"b\"; sport = 20001; bytes = \"1MB\"; prio = 4; } );\n"
		"faults = ( { kind = \"pfc-storm\"; port = \"%s\"; start = \"10us\"; duration = \"300us\"; },"
		" { kind = \"pfc-storm\"; port = \"%s\"; priority = 4; start = \"20us\"; duration = \"600us\"; } );\n";
	char text[sizeof(storms) + 16];
	struct outcome outcome;

	(void)state;
	for (int i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), storms, i == 0 ? "S:1" : "b:1", i == 0 ? "S:1" : "b:1");
		outcome = run(text);
		assert_int_equal(outcome.reason, REC_END_COMPLETE);
		assert_in_range(outcome.end_ps, 620 * PS_PER_US, 800 * PS_PER_US);
	}
	outcome = run(TWO_HOSTS ONE_FLOW
		      "host = { timeout = \"50us\"; retry_count = 100; };\n"
		      "faults = ( { kind = \"link-down\"; port = \"a:1\"; start = \"10us\"; duration = \"900us\"; },"
		      " { kind = \"link-down\"; port = \"S:1\"; start = \"20us\"; duration = \"100us\"; } );\n");
	assert_int_equal(outcome.reason, REC_END_COMPLETE);
	assert_in_range(outcome.end_ps, 910 * PS_PER_US, 1500 * PS_PER_US);
}

/* A PAUSE frame takes 672 ns at 1 Gbps: the storm cannot send one every 100 ns. */
static void
storm_is_no_faster_than_the_wire(void **state)
{
	static const char text[] =
		"topology = { kind = \"explicit\"; rate = \"1Gbps\"; delay = \"20us\"; hosts = [ \"a\", \"b\" ];"
		" switches = [ \"S\" ]; links = ( \"a S\", \"b S\" ); };\n"
		"flows = ( { src = \"a\"; dst = \"b\"; sport = 20000; bytes = \"50KB\"; } );\n"
		"faults = ( { kind = \"pfc-storm\"; port = \"S:1\"; interval = \"100ns\"; duration = \"1ms\"; },"
		" { kind = \"pfc-storm\"; port = \"b:1\"; interval = \"100ns\"; duration = \"1ms\"; } );\n";

	(void)state;
	assert_int_equal(run(text).reason, REC_END_COMPLETE);
}

/* Cables of 200 ms would make windows whose offsets fit no key of the accounting, and lanes of gigabytes. */
static void
very_long_cables_do_not_make_long_windows(void **state)
{
	static const char text[] = "topology = { kind = \"explicit\"; delay = \"200ms\"; hosts = [ \"a\", \"b\", \"c\" ]; "
				   "switches = [ \"S\" ];"
				   " links = ( \"a S\", \"b S\", \"c S\" ); };\n"
				   "host = { window = \"none\"; timeout = \"2s\"; };\n"
				   "flows = ( { src = \"a\"; dst = \"c\"; sport = 20000; bytes = \"1MB\"; },"
				   " { src = \"b\"; dst = \"c\"; sport = 20001; bytes = \"1MB\"; } );\n"
				   "telemetry = { epoch = \"1s\"; };\n";
	struct outcome outcome = run(text);

	(void)state;
	assert_int_equal(outcome.reason, REC_END_COMPLETE);
	assert_in_range(outcome.end_ps, 800 * PS_PER_MS, 801 * PS_PER_MS);
}

/* What can be read of a fault's own table by name, for truth.json, is there and one value. */
static void
check_reported(const struct fault_ops *ops)
{
	for (const char *const *key = ops->truth_keys; key != NULL && *key != NULL; key++) {
		bool found = false;

		for (size_t i = 0; i < ops->table->nfields; i++) {
			enum cfg_type type = ops->table->fields[i].type;

			found |= strcmp(ops->table->fields[i].name, *key) == 0 && type != CFG_PATH && type != CFG_STRINGS;
		}
		assert_true(found);
	}
}

static void
every_fault_is_a_whole_row(void **state)
{
	const struct fault_ops *const *const folders[] = { switch_faults, host_faults };
	const char *kinds[64];
	size_t count = 0;

	for (size_t f = 0; f < ARRAY_LEN(folders); f++) {
		for (const struct fault_ops *const *row = folders[f]; *row != NULL; row++) {
			const struct fault_ops *ops = *row;

			assert_true(ops->resolve != NULL && ops->target != NULL && ops->affected != NULL &&
				    ops->idle != NULL);
			assert_true(ops->set != NULL || ops->start_delay_ps != NULL); /* it does something */
			assert_string_equal(ops->table->path, "faults");
			assert_true(ops->table->list && ops->table->size >= sizeof(struct fault_common));
			check_reported(ops);
			for (size_t i = 0; i < count; i++)
				assert_string_not_equal(kinds[i], ops->kind);
			kinds[count++] = ops->kind;
		}
	}
	assert_true(count >= 8);
}

UNIT_TEST(emulation)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fault_is_a_whole_row),
		cmocka_unit_test(many_flows_wait_at_a_nic),
		cmocka_unit_test(pause_does_not_outlive_its_cable),
		cmocka_unit_test(flapping_cable_overruns_no_headroom),
		cmocka_unit_test(overlapping_faults_end_one_by_one),
		cmocka_unit_test(storm_is_no_faster_than_the_wire),
		cmocka_unit_test(very_long_cables_do_not_make_long_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

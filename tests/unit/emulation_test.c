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

#include "cli/emulation/emulation.h"
#include "cli/emulation/results.h"

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
				outcome->drops[r] += emulation->switches[i]->ports[p].drops[r].packets;
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
		exporter = exporter_create(&scenario->exporter, NULL, -1, &err);
	if (exporter != NULL)
		emulation = emulation_create(scenario, exporter, lcores, &err);
	if (emulation == NULL)
		fail_msg("%s", err.text);
	emulation_begin(emulation);
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
	for (uint32_t lcores = 1; lcores <= 2; lcores++) {
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_flows_wait_at_a_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

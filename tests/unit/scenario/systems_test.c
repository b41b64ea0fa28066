/* SPDX-License-Identifier: BSD-3-Clause */
/* Systems that diagnose: what a scenario needs for each, and what it says where one cannot be had. */
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
#include "common/wire/detection.h"
#include "common/wire/volume.h"
#include "scenario/scenario.h"
#include "scenario/systems.h"
#include "tests/unit/unit.h"
#include "workload/plan.h"

#define FABRIC                                                                                                             \
	"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 2; rate = \"100Gbps\"; "             \
	"delay = \"1us\"; };\n"
#define RING "collectives = ( { bytes = \"1MB\"; }, { bytes = \"4MB\"; iterations = 3; } );\n"
#define FLOW "flows = ( { src = \"h0\"; dst = \"h3\"; sport = 7; bytes = \"1MB\"; } );\n"

static char path[64];

static struct scenario_options
write_scenario(const char *text)
{
	struct scenario_options options = { .path = path };
	FILE *file;

	strcpy(path, "/tmp/systems-test-XXXXXX");
	file = fdopen(mkstemp(path), "w");
	assert_non_null(file);
	fprintf(file, "%s", text);
	fclose(file);
	return options;
}

/* With so many systems of a list of names. @return NULL with err */
static struct scenario *
with(const char *text, const char *const *names, size_t count, struct system_sets *sets, struct err *err)
{
	struct scenario_options options = write_scenario(text);
	const struct system_row *of[SYSTEMS_MAX];
	struct scenario *sc, *made;
	struct err why = { "" };

	for (size_t i = 0; i < count; i++)
		of[i] = system_find(names[i]);
	sc = scenario_load(&options, &why);
	if (sc == NULL)
		fail_msg("%s", why.text);
	made = systems_load(&options, sc, of, count, (1u << count) - 1, sets, err);
	scenario_destroy(sc);
	unlink(path);
	return made;
}

static void
refuse(const char *text, const char *words)
{
	struct scenario_options options = write_scenario(text);
	struct err err = { "" };

	assert_null(scenario_load(&options, &err));
	unlink(path);
	if (strstr(err.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void
lists_are_checked(void **state)
{
	(void)state;
	refuse(FABRIC RING "diagnosers = [ \"vedrfolnir\", \"hawkey\" ];\n",
	       ":3: diagnosers: \"hawkey\" is none of vedrfolnir, flowpulse, flowtracer, pingmesh, ");
	refuse(FABRIC RING "diagnosers = [ \"flowpulse\", \"pingmesh\", \"flowpulse\" ];\n",
	       ":3: diagnosers: \"flowpulse\" is there twice");
}

static void
passive_ones_share_a_run(void **state)
{
	static const char *const names[] = { "vedrfolnir", "flowpulse", "flowtracer" };
	struct system_sets sets;
	struct err err = { "" };
	struct scenario *sc = with(FABRIC RING "detection = { policy = \"off\"; }; pingmesh = { enabled = true; };\n",
				   names, ARRAY_LEN(names), &sets, &err);

	(void)state;
	if (sc == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(sc->detection.policy, REC_POLICY_VEDRFOLNIR);
	assert_true(sc->volumes.enabled);
	assert_true(sc->flowtracer.enabled);
	assert_false(sc->pingmesh.enabled);
	assert_false(sc->plan->collectives[0].measured); /* of two jobs the one that sends more */
	assert_true(sc->plan->collectives[1].measured);
	assert_int_equal(sc->volumes.prediction, REC_PREDICTION_SIMULATED); /* packets are not spread */
	scenario_destroy(sc);
}

/* Runs of the same packets: what one of the systems asks of them, all runs have. */
static void
who_is_not_at_work_gets_its_packets_too(void **state)
{
	struct scenario_options options = write_scenario(FABRIC RING);
	const struct system_row *const of[] = { system_find("flowpulse"), system_find("pingmesh") };
	struct system_sets sets;
	struct err err = { "" };
	struct scenario *sc = scenario_load(&options, &err), *made = systems_load(&options, sc, of, 2, 0, &sets, &err);

	(void)state;
	unlink(path);
	if (made == NULL)
		fail_msg("%s", err.text);
	assert_false(made->volumes.enabled || made->pingmesh.enabled);
	assert_true(made->plan->collectives[1].measured);
	assert_int_equal(made->pingmesh.duration_ps, 200 * PS_PER_MS);
	scenario_destroy(made);
	scenario_destroy(sc);
}

static void
none_is_silence(void **state)
{
	struct system_sets sets;
	struct err err = { "" };
	struct scenario *sc = with(FABRIC RING "flowtracer = { enabled = true; };\n", NULL, 0, &sets, &err);

	(void)state;
	if (sc == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(sc->detection.policy, REC_POLICY_OFF);
	assert_false(sc->volumes.enabled || sc->flowtracer.enabled || sc->pingmesh.enabled);
	scenario_destroy(sc);
}

/* It has time for periods of its analysis, however short the work is, and what a scenario says of that stays. */
static void
probing_has_its_horizon(void **state)
{
	static const char *const names[] = { "pingmesh" };
	struct system_sets sets;
	struct err err = { "" };
	struct scenario *sc = with(FABRIC RING, names, 1, &sets, &err);

	(void)state;
	if (sc == NULL)
		fail_msg("%s", err.text);
	assert_true(sc->pingmesh.enabled);
	assert_true(sc->pingmesh.time_factor > 0.00199 && sc->pingmesh.time_factor < 0.00201);
	assert_int_equal(sc->pingmesh.duration_ps, 200 * PS_PER_MS);
	assert_int_equal(sc->detection.policy, REC_POLICY_OFF);
	scenario_destroy(sc);
	sc = with(FABRIC RING "pingmesh = { time_factor = 0.01; };\n", names, 1, &sets, &err);
	assert_non_null(sc);
	assert_true(sc->pingmesh.time_factor > 0.0099 && sc->pingmesh.time_factor < 0.0101);
	assert_int_equal(sc->pingmesh.duration_ps, PS_PER_S);
	scenario_destroy(sc);
	sc = with(FABRIC RING "pingmesh = { time_factor = 1.0; duration = \"0s\"; };\n", names, 1, &sets, &err);
	assert_non_null(sc); /* defaults that are written out, as in a run's effective.cfg, ask for nothing */
	assert_int_equal(sc->pingmesh.duration_ps, 200 * PS_PER_MS);
	scenario_destroy(sc);
	sc = with(FABRIC RING "pingmesh = { enabled = true; duration = \"3s\"; };\n", names, 1, &sets, &err);
	assert_non_null(sc);
	assert_true(sc->pingmesh.time_factor > 0.99 && sc->pingmesh.time_factor < 1.01);
	assert_int_equal(sc->pingmesh.duration_ps, 3 * PS_PER_S);
	scenario_destroy(sc);
}

static void
without_a_collective_there_are_no_volumes(void **state)
{
	static const char *const names[] = { "flowpulse" };
	struct system_sets sets;
	struct err err = { "" };

	(void)state;
	assert_null(with(FABRIC FLOW, names, 1, &sets, &err));
	assert_non_null(strstr(err.text, "there are none"));
	err.text[0] = '\0';
	assert_null(with("topology = { kind = \"explicit\"; switches = [ \"a\", \"b\" ]; hosts = [ \"h\", \"i\" ]; rate = "
			 "\"100Gbps\"; delay = \"1us\"; links = ( \"h a\", \"i b\", \"a b\" ); };\n" RING,
			 names, 1, &sets, &err)); /* no switch is above another */
	assert_non_null(strstr(err.text, "there are none"));
	err.text[0] = '\0';
	assert_null(with(FABRIC RING
			 "load_balancing = { kind = \"flowlet\"; }; flowpulse = { prediction = \"simulated\"; };\n",
			 names, 1, &sets, &err));
	if (strstr(err.text, "flowpulse.prediction") == NULL)
		fail_msg("%s", err.text);
}

/* Each row by itself can be had in a plain scenario, and is the only one at work there. */
static void
every_row_stands_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < nsystems; i++) {
		struct system_sets sets;
		struct err err = { "" };
		struct scenario *sc = with(FABRIC RING, &systems[i].name, 1, &sets, &err);

		if (sc == NULL)
			fail_msg("%s: %s", systems[i].name, err.text);
		assert_int_equal((sc->detection.policy != REC_POLICY_OFF) + sc->volumes.enabled + sc->flowtracer.enabled +
					 sc->pingmesh.enabled,
				 1);
		scenario_destroy(sc);
	}
}

UNIT_TEST(systems)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_are_checked),
		cmocka_unit_test(passive_ones_share_a_run),
		cmocka_unit_test(who_is_not_at_work_gets_its_packets_too),
		cmocka_unit_test(none_is_silence),
		cmocka_unit_test(probing_has_its_horizon),
		cmocka_unit_test(without_a_collective_there_are_no_volumes),
		cmocka_unit_test(every_row_stands_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What an operator knows of a scenario before its run, and what a simulation of that foretells. */
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

#include "emulation/emulation.h"
#include "emulation/service.h"
#include "emulation/volumes.h"
#include "tests/unit/unit.h"
#include "workload/plan.h"
#include "workload/workload.h"

#define FABRIC                                                                                                             \
	"topology = { kind = \"leaf-spine\"; leaves = 3; spines = 2; hosts_per_leaf = 1; rate = \"100Gbps\"; "             \
	"delay = \"30us\"; }; load_balancing = { kind = \"adaptive\"; }; "                                                 \
	"flowpulse = { enabled = true; prediction = \"simulated\"; simulations = 3; grace = \"100us\"; }; "
#define SELECTIVE "host = { transport = \"selective\"; }; "
#define MEASURED "{ bytes = \"600KB\"; iterations = 9; measured = true; }"
#define KNOWN "{ kind = \"loss\"; port = \"l1:2\"; rate = 0.1; known = true; start = \"1s\"; }"

static struct scenario *
load(const char *rest)
{
	char path[] = "/tmp/operator-test-XXXXXX";
	struct scenario_options options = { .path = path };
	FILE *file = fdopen(mkstemp(path), "w");
	struct scenario *sc;
	struct err err = { "" };

	assert_non_null(file);
	fprintf(file, "%s%s", FABRIC, rest);
	fclose(file);
	sc = scenario_load(&options, &err);
	unlink(path);
	if (sc == NULL)
		fail_msg("%s", err.text);
	return sc;
}

static struct scenario *
operator_of(const struct scenario *sc)
{
	struct err err = { "" };
	struct scenario *made = scenario_operator(sc, 4, 77, &err);

	if (made == NULL)
		fail_msg("%s", err.text);
	return made;
}

static bool
has_flow(const struct scenario *sc, const struct flow *like)
{
	bool found = false;

	for (uint32_t i = 0; i < sc->plan->flows.count; i++) {
		const struct flow *flow = &sc->plan->flows.flows[i];

		found |= flow->src_node == like->src_node && flow->dst_node == like->dst_node &&
			 flow->sport == like->sport && flow->dport == like->dport && flow->kind == FLOW_COLLECTIVE;
	}
	return found;
}

static void
only_what_is_known_is_left(void **state)
{
	struct scenario *sc =
		load(SELECTIVE
		     "collectives = ( " MEASURED ", { bytes = \"1MB\"; } ); "
		     "faults = ( { kind = \"loss\"; port = \"l0:2\"; rate = 0.2; }, " KNOWN " ); "
		     "flows = ( { src = \"h0\"; dst = \"h1\"; sport = 7; dport = 8; bytes = \"1MB\"; } ); "
		     "generators = ( { kind = \"poisson\"; sizes = \"websearch\"; load = 0.1; until = \"1ms\"; } ); "
		     "paths = ( { src = \"h0\"; dst = \"h1\"; sport = 7; dport = 8; data = [ \"l0:2\", \"s0:2\", \"l1:1\" "
		     "]; } );");
	struct scenario *made = operator_of(sc);
	const struct fault_common *fault = made->faults.faults[0].params;

	(void)state;
	assert_int_equal(made->faults.count, 1);
	assert_true(fault->known);
	assert_int_equal(fault->start_ps, 0); /* it is there */
	assert_int_equal(made->nbackgrounds, 0);
	assert_int_equal(made->traffic->ngenerators, 0);
	assert_int_equal(made->pins->count, 0);
	assert_int_equal(made->root.seed, 77);
	assert_int_equal(made->routing.seed, sc->routing.seed); /* hashes are configured */
	assert_int_equal(made->plan->ncollectives, 2);
	assert_int_equal(made->plan->collectives[0].iterations, 4);
	assert_true(made->plan->collectives[0].enabled);
	assert_false(made->plan->collectives[1].enabled);
	for (uint32_t i = 0; i < made->plan->flows.count; i++)
		assert_true(has_flow(sc, &made->plan->flows.flows[i]));
	scenario_destroy(made);
	scenario_destroy(sc);
}

static void
stragglers_are_unknown(void **state)
{
	struct scenario *sc =
		load(SELECTIVE
		     "jobs = ( { name = \"a\"; iterations = 2; measured = true; collectives = ( { bytes = \"1MB\"; } ); "
		     "delays = ( { rank = 1; delay = \"1ms\"; } ); } );");
	struct scenario *made = operator_of(sc);

	(void)state;
	assert_int_equal(sc->workload->jobs[0].nstragglers, 1);
	assert_int_equal(made->workload->jobs[0].nstragglers, 0);
	assert_int_equal(made->plan->collectives[0].iterations, 2);
	scenario_destroy(made);
	scenario_destroy(sc);
}

static uint64_t
sum_of(const struct prediction *prediction, uint32_t run)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < prediction->nrows; i++)
		bytes += prediction->rows[i].run == run ? prediction->rows[i].predicted.bytes : 0;
	return bytes;
}

static void
it_is_simulated(void **state)
{
	struct scenario *sc = load(SELECTIVE "collectives = ( " MEASURED " );");
	struct scenario *faulty =
		load(SELECTIVE "collectives = ( " MEASURED " ); "
			       "faults = ( { kind = \"loss\"; port = \"l1:2\"; rate = 0.3; silent = true; } );");
	struct err err = { "" };
	struct prediction *prediction, *other;

	(void)state;
	assert_true(prediction_is_asked(sc));
	prediction = predict_by_simulation(sc, run_services, &err);
	other = predict_by_simulation(faulty, run_services, &err);
	if (prediction == NULL || other == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(prediction->runs, 3);
	assert_int_equal(prediction->iterations, 4);
	assert_int_equal(prediction->nrows, 3 * 3 * 2); /* runs, leaves of one sender, spines */
	assert_int_equal(sum_of(prediction, 0), sum_of(prediction, 2));
	assert_int_equal(other->nrows, prediction->nrows);
	for (uint32_t i = 0; i < prediction->nrows; i++) {
		assert_int_equal(prediction->rows[i].run, i / 6);
		assert_int_equal(prediction->rows[i].predicted.bytes, other->rows[i].predicted.bytes);
	}
	prediction_destroy(prediction);
	prediction_destroy(other);
	scenario_destroy(faulty);
	scenario_destroy(sc);
}

/* In virtual time, and without their kernels. */
static void
hosts_with_a_kernel_are_simulated(void **state)
{
	struct scenario *sc = load("collectives = ( " MEASURED " ); hosts = ( { kind = \"guest\"; } );");
	struct err err = { "" };
	struct prediction *prediction;

	(void)state;
	assert_int_equal(sc->nexternal, 3);
	prediction = predict_by_simulation(sc, run_services, &err);
	if (prediction == NULL)
		fail_msg("%s", err.text);
	assert_int_equal(prediction->nrows, 3 * 3 * 2);
	assert_int_equal(sc->nexternal, 3);
	prediction_destroy(prediction);
	scenario_destroy(sc);
}

UNIT_TEST(operator)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_known_is_left),
		cmocka_unit_test(stragglers_are_unknown),
		cmocka_unit_test(it_is_simulated),
		cmocka_unit_test(hosts_with_a_kernel_are_simulated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

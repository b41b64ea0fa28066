/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of a running fabric that another thread asks for: their values, their moment, and who waits for whom. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "dpswitch/control/counters.h"
#include "dpswitch/control/switch_answer.h"
#include "tests/unit/alloc.h"
#include "tests/unit/dpswitch/switch_rig.h"
#include "tests/unit/unit.h"

#define AROUND 20 /* preamble and gap: bytes of the wire, not of a frame */

static struct counters *
make(struct frig *rig, const bool *remote)
{
	struct err err = { 0 };
	struct counters *counters = counters_create(rig->topo, rig->switches, remote, rig->routes, &err);

	if (counters == NULL)
		fail_msg("%s", err.text);
	return counters;
}

/* An asker's thread: asks once. */
struct asker {
	pthread_t thread;
	struct counters *counters;
	struct counters_view view;
	struct counters_port ports[256];
	_Atomic bool done;
};

static void *
ask_once(void *arg)
{
	struct asker *asker = arg;

	asker->view = counters_ask(asker->counters);
	memcpy(asker->ports, asker->view.ports, asker->view.nports * sizeof(asker->ports[0]));
	counters_done(asker->counters);
	atomic_store(&asker->done, true);
	return NULL;
}

static void
ask_in_thread(struct asker *asker, struct counters *counters)
{
	*asker = (struct asker){ .counters = counters };
	assert_int_equal(pthread_create(&asker->thread, NULL, ask_once, asker), 0);
}

/* The fabric is between windows at now_ps, until an asker has been answered. */
static void
serve(struct counters *counters, struct asker *asker, uint64_t now_ps)
{
	ask_in_thread(asker, counters);
	while (!atomic_load(&asker->done)) {
		counters_serve(counters, now_ps);
		sched_yield();
	}
	pthread_join(asker->thread, NULL);
}

/* a sends more than b's cable carries: S pauses it. */
static void
run_paused(struct frig *rig)
{
	uint32_t flow;

	frig_init(rig, narrow);
	static_pfc(rig);
	flow = frig_flow(rig, "a", "b", 3);
	start(rig);
	frig_send(rig, flow, 0, 1000, 60);
	frig_run(rig, PS_PER_MS);
}

static void
counters_are_those_of_the_ports(void **state)
{
	struct counters *counters;
	struct asker asker;
	struct frig rig;
	struct sw *sw;

	(void)state;
	run_paused(&rig);
	sw = frig_switch(&rig, "S");
	counters = make(&rig, NULL);
	serve(counters, &asker, 77);
	assert_true(asker.view.fresh);
	assert_int_equal(asker.view.time_ps, 77);
	assert_int_equal(asker.view.nports, 3);
	assert_int_equal(asker.view.lossless, sw->account.lossless);
	for (uint16_t i = 0; i < 3; i++) {
		struct swm_port expected = answer_port(sw, i);

		assert_ptr_equal(asker.view.places[i].sw, sw);
		assert_int_equal(asker.view.places[i].port, i);
		assert_memory_equal(&asker.ports[i].port, &expected, sizeof(expected));
	}
	assert_int_equal(asker.ports[PORT_A].in_octets, 60 * (1000 - AROUND));
	assert_int_equal(asker.ports[PORT_A].out_octets, 0);
	assert_int_equal(asker.ports[PORT_B].out_octets, 60 * (1000 - AROUND));
	assert_int_equal(asker.ports[PORT_A].tx_pfc[3], frig_host(&rig, "a")->npauses);
	assert_true(asker.ports[PORT_A].tx_pfc[3] >= 2);
	assert_int_equal(asker.ports[PORT_A].tx_pfc[2] + asker.ports[PORT_A].rx_pfc[3], 0);
	counters_destroy(counters);
	frig_stop(&rig);
}

/* The sets of equal cost as they are configured, each once with the number of its destinations. */
static void
groups_are_listed_once(void **state)
{
	enum { LEAVES = 18, SPINES = 3, HOSTS = 2 }; /* more sets than there is room for at first */
	static const char clos[] = "topology = { kind = \"leaf-spine\"; leaves = 18; spines = 3; hosts_per_leaf = 2; "
				   "rate = \"100Gbps\"; delay = \"1us\"; };";
	struct counters *counters;
	struct asker asker;
	struct frig rig;
	bool *remote;

	(void)state;
	frig_init(&rig, clos);
	rig.setup.all.pfc.headroom_bytes = 100000;
	start(&rig);
	counters = make(&rig, NULL);
	ask_in_thread(&asker, counters);
	counters_end(counters, 1);
	pthread_join(asker.thread, NULL);
	assert_int_equal(asker.view.ngroups, LEAVES);
	for (uint32_t i = 0; i < LEAVES; i++) {
		const struct counters_group *group = &asker.view.groups[i];

		assert_int_equal(group->destinations, (LEAVES - 1) * HOSTS);
		assert_int_equal(group->count, SPINES);
		assert_ptr_equal(asker.view.places[group->first].sw, rig.switches[group->node]);
		for (uint32_t m = 0; m < SPINES; m++)
			assert_int_equal(rig.topo->nodes[topo_port_of(rig.topo, group->node, group->members[m])->peer].kind,
					 TOPO_SWITCH);
	}
	counters_destroy(counters);
	remote = calloc(rig.topo->nnodes, sizeof(*remote));
	for (uint32_t i = 0; i < rig.topo->nnodes; i++)
		remote[i] = i != topo_find(rig.topo, "l3");
	counters = make(&rig, remote);
	counters_end(counters, 1);
	asker.view = counters_ask(counters);
	counters_done(counters);
	assert_int_equal(asker.view.nports, SPINES + HOSTS);
	assert_int_equal(asker.view.ngroups, 1);
	counters_destroy(counters);
	free(remote);
	frig_stop(&rig);
}

/* A fabric that stands still is not waited for: the last copy is returned, and says so. */
static void
an_asker_gets_the_last_copy_of_a_fabric_that_stands(void **state)
{
	struct counters *counters;
	struct counters_view view;
	struct asker asker;
	uint64_t start_ns;
	struct frig rig;

	(void)state;
	run_paused(&rig);
	counters = make(&rig, NULL);
	serve(counters, &asker, 5);
	start_ns = clock_now_ns();
	view = counters_ask(counters);
	assert_false(view.fresh);
	assert_int_equal(view.time_ps, 5);
	assert_memory_equal(view.ports, asker.ports, 3 * sizeof(*view.ports));
	counters_done(counters);
	assert_true(clock_now_ns() - start_ns >= COUNTERS_TIMEOUT_NS);
	serve(counters, &asker, 6); /* it goes on */
	assert_true(asker.view.fresh);
	assert_int_equal(asker.view.time_ps, 6);
	counters_destroy(counters);
	frig_stop(&rig);
}

/* Also to an asker that was waiting: it gets the last counters, and does not wait out its limit. */
static void
after_the_end_all_get_the_last_counters(void **state)
{
	struct counters *counters;
	struct counters_view view;
	struct asker asker;
	uint64_t start_ns;
	struct frig rig;

	(void)state;
	run_paused(&rig);
	for (uint32_t i = 0; i < 20; i++) {
		counters = make(&rig, NULL);
		ask_in_thread(&asker, counters);
		for (uint32_t n = 0; n < i; n++)
			sched_yield();
		counters_end(counters, 9);
		pthread_join(asker.thread, NULL);
		start_ns = clock_now_ns();
		view = counters_ask(counters);
		assert_false(view.fresh);
		assert_int_equal(view.time_ps, 9);
		assert_int_equal(view.ports[PORT_B].out_octets, 60 * (1000 - AROUND));
		counters_done(counters);
		counters_destroy(counters);
		if (clock_now_ns() - start_ns >= COUNTERS_TIMEOUT_NS)
			fail_msg("an asker waited for a fabric that is over");
	}
	frig_stop(&rig);
}

static void
counters_without_memory_are_refused(void **state)
{
	uint32_t refused = 0;
	struct frig rig;

	(void)state;
	frig_init(&rig, "topology = { kind = \"leaf-spine\"; leaves = 18; spines = 2; hosts_per_leaf = 1; "
			"rate = \"100Gbps\"; delay = \"1us\"; };");
	rig.setup.all.pfc.headroom_bytes = 100000;
	start(&rig);
	FOR_EACH_REFUSED(nth)
	{
		struct err err = { 0 };
		struct counters *counters = counters_create(rig.topo, rig.switches, NULL, rig.routes, &err);
		bool was = alloc_was_refused();

		assert_true((counters == NULL) == was);
		counters_destroy(counters);
		if (!was)
			break;
		assert_int_equal(errno, ENOMEM);
		assert_non_null(strstr(err.text, "out of memory for the counters of"));
		refused++;
	}
	assert_int_equal(refused, 5); /* themselves, places, the copy, sets and more sets */
	frig_stop(&rig);
}

UNIT_TEST(counters)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counters_are_those_of_the_ports),
		cmocka_unit_test(groups_are_listed_once),
		cmocka_unit_test(an_asker_gets_the_last_copy_of_a_fabric_that_stands),
		cmocka_unit_test(after_the_end_all_get_the_last_counters),
		cmocka_unit_test(counters_without_memory_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

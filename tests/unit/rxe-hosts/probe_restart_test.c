/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R-Pingmesh's agent dies and starts again: its new QPs, what is lost with it, and connections that came and went
 * meanwhile.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/rxe-hosts/probe_rig.h"
#include "tests/unit/unit.h"

static struct probe_rig probes;

static int
setup(void **state)
{
	(void)state;
	probe_rig_init(&probes);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	probe_rig_stop(&probes);
	return 0;
}

static void
restart(uint32_t host, uint64_t now_ps)
{
	struct device *dev = probes.rig.hosts[host].dev;

	assert_int_equal(probe_agent_restart(probes.agents[host], now_ps), 0);
	dev->ops->set_timer(dev, now_ps);
}

/* Who starts again has another number: probes to the old one time out until pinglists are pulled. */
static void
a_restart_has_other_numbers(void **state)
{
	uint32_t before, n = 0, whole = 0, old = 0, late = 0;
	const struct rec_probe *probe;

	(void)state;
	probe_rig_start(&probes);
	probe_rig_run(&probes, 5 * PS_PER_MS);
	before = probes.qpns[1];
	probe_agent_stop(probes.agents[1]);
	assert_true(probe_agent_next_ps(probes.agents[1]) == TIME_NEVER);
	probe_rig_run(&probes, 8 * PS_PER_MS);
	probe_agent_stop(probes.agents[1]); /* it does not die twice */
	restart(1, probes.rig.window.end_ps);
	probe_rig_run(&probes, 50 * PS_PER_MS);
	assert_int_not_equal(probes.qpns[1], before);
	assert_int_equal(((const struct rec_rnic *)probe_rig_record(&probes, 1, REC_RNIC, 1))->qpn, probes.qpns[1]);
	while ((probe = probe_rig_record(&probes, 0, REC_PROBE, n++)) != NULL) {
		bool ok = probe->result == REC_PROBE_OK;

		whole += ok && probe->sent_ps < 5 * PS_PER_MS;
		old += !ok && probe->sent_ps >= 5 * PS_PER_MS && probe->target_qpn == before;
		late += ok && probe->sent_ps > 21 * PS_PER_MS && probe->target_qpn == probes.qpns[1];
	}
	assert_in_range(whole, 20, 25);  /* one each 200 us */
	assert_in_range(old, 74, 80);    /* until host 0 asks again, 20 ms after it began */
	assert_in_range(late, 130, 150); /* and then all are well */
	assert_int_equal(probe_agent_counts(probes.agents[1]).deaths, 1);
	assert_true(rig_conserves(&probes.rig));
}

/* Results not yet uploaded are lost with a prober; it continues with its connections, which it receives when it starts. */
static void
a_restart_finds_the_connections_that_are_there(void **state)
{
	uint32_t flows[3], n = 0;
	const struct rec_connection *rec;
	const struct rec_probe *probe;
	uint32_t kept = 0, lost = 0;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		flows[i] = rig_flow(&probes.rig, 0, 0);
	probe_rig_start(&probes);
	probe_rig_run(&probes, PS_PER_MS);
	probe_agent_connection(probes.agents[0], flows[0], 4, true, PS_PER_MS);
	probe_agent_connection(probes.agents[0], flows[1], 4, true, PS_PER_MS);
	probe_agent_stop(probes.agents[0]);
	probe_agent_connection(probes.agents[0], flows[1], 4, false, PS_PER_MS);
	probe_agent_connection(probes.agents[0], flows[2], 4, true, PS_PER_MS);
	probe_agent_connection(probes.agents[0], flows[2], 4, false, PS_PER_MS);
	probe_agent_connection(probes.agents[0], flows[2], 4, true, PS_PER_MS);
	assert_null(probe_rig_record(&probes, 0, REC_CONNECTION, 2));
	restart(0, probes.rig.window.end_ps);
	probe_rig_run(&probes, 6 * PS_PER_MS);
	rec = probe_rig_record(&probes, 0, REC_CONNECTION, 2);
	assert_non_null(rec);
	assert_int_equal(rec->open, 1);
	assert_int_equal(rec->tuple.sport, probes.rig.flows[flows[2]].sport);
	rec = probe_rig_record(&probes, 0, REC_CONNECTION, 3);
	assert_non_null(rec);
	assert_int_equal(rec->open, 0);
	assert_int_equal(rec->tuple.sport, probes.rig.flows[flows[1]].sport);
	assert_null(probe_rig_record(&probes, 0, REC_CONNECTION, 4));
	while ((probe = probe_rig_record(&probes, 0, REC_PROBE, n++)) != NULL) {
		lost += probe->sent_ps < PS_PER_MS;
		assert_int_not_equal(probe->tuple.sport, probes.rig.flows[flows[1]].sport);
		kept += probe->kind == REC_PROBE_SERVICE && probe->result == REC_PROBE_OK;
	}
	assert_int_equal(lost, 0);
	assert_in_range(kept, 150, 300);
}

UNIT_TEST(probe_restart)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_restart_has_other_numbers, setup, teardown),
		cmocka_unit_test_setup_teardown(a_restart_finds_the_connections_that_are_there, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

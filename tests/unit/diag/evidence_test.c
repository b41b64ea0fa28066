/* SPDX-License-Identifier: BSD-3-Clause */
/* Evidence joins what the decoder lets through: flows, ports, epochs, steps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "tests/unit/diag/collect_rig.h"
#include "tests/unit/diag/records.h"
#include "tests/unit/unit.h"

/* A host's flows are distinguished by its NICs where it has several. */
static void
test_flow_names(void **state)
{
	struct records r;
	struct evidence ev;
	struct err err;
	char name[96];

	for (uint32_t nics = 1; nics <= 2; nics++) {
		struct rec_poll poll = { .victim = records_tuple(9, 2, 10000), .in_port = 0, .out_port = 1 };

		fabric(&r, nics);
		schedule(&r);
		RECORDS_PUT(&r, poll, REC_POLL, 0, 1);
		assert_int_equal(decode(&r, SIZE_MAX / 2, &ev, &err), 0);
		evidence_flow_name(&ev, ev.steps[0].flow, name);
		assert_string_equal(name, nics == 2 ? "a:1->b/10000>10000" : "a->b/10000>10000");
		evidence_flow_name(&ev, evidence_flow(&ev, &poll.victim), name);
		assert_string_equal(name, nics == 2 ? "a:2->b/10000>10000" : "10.0.0.10->b/10000>10000");
		evidence_fini(&ev);
		records_fini(&r);
	}
}

static void
test_latest_row_wins(void **state)
{
	struct rec_port_row old = records_port_row(1, 3, 3, 10, 0, 0), young = records_port_row(1, 3, 4, 25, 0, 0);
	struct rec_flow_row row = records_flow_row(1, records_tuple(1, 2, 10000), 3, 4, 25, 7);
	struct evidence ev;
	struct records r;

	two_hosts(&r);
	records_put_port(&r, 0, young); /* ends later, and arrives first */
	records_put_port(&r, 0, old);
	records_put_flow(&r, 0, row);
	for (int i = 0; i < 1000; i++) /* more than the first array holds */
		records_put_port(&r, 0, old);
	records_put_port(&r, 0, records_port_row(1, 5, 5, 1, 0, 0));
	records_evidence(&r, &ev);
	assert_int_equal(ev.nepochs, 2);
	assert_int_equal(ev.epochs[0].port, evidence_port(&ev, 0, 1));
	assert_int_equal(ev.epochs[0].packets, 25);
	assert_int_equal(ev.epochs[0].epoch_last, 4);
	assert_int_equal(ev.epochs[0].nflows, 1);
	assert_int_equal(ev.epochs[1].packets, 1);
	assert_int_equal(ev.epochs[1].nflows, 0);
	assert_int_equal(ev.kinds[REC_PORT_ROW], 1003);
	evidence_fini(&ev);
	records_fini(&r);
}

/* A flow's row of an epoch that was open when it was reported, and no row of its port. */
static void
test_open_epoch(void **state)
{
	struct rec_flow_row row = records_flow_row(1, records_tuple(1, 2, 10000), 0, 4, 5, 1);
	struct evidence ev;
	struct records r;
	struct err err;

	(void)state;
	two_hosts(&r);
	row.in_port = 0;
	RECORDS_PUT(&r, row, REC_FLOW_ROW, 0, 4 * RECORDS_EPOCH_PS + 7);
	records_end(&r, REC_END_COMPLETE, 5 * RECORDS_EPOCH_PS);
	assert_int_equal(decode(&r, SIZE_MAX, &ev, &err), 0);
	assert_int_equal(ev.nepochs, 1);
	assert_int_equal(ev.epochs[0].to_ps, 4 * RECORDS_EPOCH_PS + 7);
	evidence_fini(&ev);
	records_fini(&r);
}

/* Later counters of an epoch replace earlier ones; what was so at that moment stays, once however often it came. */
static void
test_states_stay(void **state)
{
	struct rec_port_row open = records_port_row(1, 3, 3, 10, 0, 0), closed = records_port_row(1, 3, 4, 25, 0, 0);
	struct rec_port_row alone = { .port = 1, .state_only = 1, .epoch_first = 3, .epoch_last = 3 };
	const struct rec_port_row *states;
	struct evidence ev;
	struct records r;

	two_hosts(&r);
	open.pausing = 1;
	open.ingress_xoff_bytes = 9000;
	open.hdr.event = 7;
	records_put_port(&r, 0, closed); /* says nothing of a moment */
	records_put_port(&r, 0, open);
	open.pausing = 0;
	RECORDS_PUT(&r, open, REC_PORT_ROW, 0, 3 * PS_PER_MS);
	r.seq--;
	RECORDS_PUT(&r, open, REC_PORT_ROW, 0, 3 * PS_PER_MS);
	RECORDS_PUT(&r, alone, REC_PORT_ROW, 0, 9 * PS_PER_MS); /* of a moment alone: no counters, and replaces none */
	records_evidence(&r, &ev);
	assert_int_equal(ev.nepochs, 1);
	assert_int_equal(ev.epochs[0].packets, 25);
	assert_int_equal(ev.states.count, 3);
	assert_int_equal(ev.ports[evidence_port(&ev, 0, 1)].nstates, 3);
	assert_int_equal(ev.ports[evidence_port(&ev, 0, 0)].nstates, 0);
	states = EV_AT(ev.states, struct rec_port_row, ev.ports[evidence_port(&ev, 0, 1)].first_state);
	assert_int_equal(states[0].hdr.time_ps, 3 * PS_PER_MS);
	assert_int_equal(states[0].pausing, 0);
	assert_int_equal(states[1].pausing, 1);
	evidence_fini(&ev);
	records_fini(&r);
}

/* A port that is asked all the time, and has nothing to say, takes room in the time of steps alone. */
static void
test_quiet_ports(void **state)
{
	const uint32_t near = 95, ends = 3; /* rows to 76 ms after the last step; of two rows of them the ends behind it */
	struct rec_step computed = { .step = 1, .start_ps = 20 * PS_PER_MS, .end_ps = 900 * PS_PER_MS, WAITED_NONE };
	const struct rec_port_row *states;
	struct evidence ev;
	struct records r;

	(void)state;
	two_hosts(&r);
	RECORDS_PUT(&r, computed, REC_STEP, 2, 900 * PS_PER_MS);
	records_step(&r, 1, 1, REC_NONE, 0, 10 * PS_PER_MS);
	records_step(&r, 1, 2, REC_NONE, 10 * PS_PER_MS, 20 * PS_PER_MS);
	for (uint32_t epoch = 1; epoch <= 1000; epoch++) {
		struct rec_port_row row = records_port_row(1, epoch, epoch, epoch == 500, 0, 0);

		row.to_ps = row.from_ps + PS_PER_US;
		row.ingress_xoff_bytes = epoch == 500 ? 0 : REC_NO_XOFF;
		records_put_port(&r, 0, row);
	}
	records_evidence(&r, &ev);
	assert_int_equal(ev.kinds[REC_PORT_ROW], 1000);
	assert_int_equal(ev.states.count, near + ends);
	assert_int_equal(ev.nepochs, near + ends + 1);
	states = EV_AT(ev.states, struct rec_port_row, 0);
	for (uint32_t i = 0; i < near; i++) {
		assert_int_equal(states[i].epoch_first, i + 1);
		assert_int_equal(states[i].from_ps, (i + 1) * RECORDS_EPOCH_PS);
		assert_int_equal(states[i].hdr.time_ps, (i + 1) * RECORDS_EPOCH_PS + PS_PER_US);
		assert_int_equal(states[i].to_ps, states[i].hdr.time_ps);
	}
	assert_int_equal(states[near].epoch_last, 499);
	assert_int_equal(states[near + 1].epoch_last, 501);
	assert_int_equal(states[near + 2].epoch_last, 1000);
	assert_int_equal(ev.epochs[near + 1].packets, 1);
	evidence_fini(&ev);
	records_fini(&r);
}

static void
test_join(void **state)
{
	struct rec_step stray = { .step = 1, WAITED_NONE };
	struct evidence ev;
	struct records r;
	char name[96];

	two_hosts(&r);
	records_step(&r, 1, 1, REC_NONE, 0, 10 * PS_PER_MS);
	records_step(&r, 2, 1, 2, 12 * PS_PER_MS, 20 * PS_PER_MS);
	records_step(&r, 1, 2, REC_NONE, 0, 12 * PS_PER_MS);
	records_step(&r, 2, 2, REC_NONE, 12 * PS_PER_MS, 20 * PS_PER_MS);
	/* a step of the other host's rank */
	RECORDS_PUT(&r, stray, REC_STEP, 2, 1);
	records_put_flow(&r, 0, records_flow_row(1, records_tuple(7, 2, 99), 0, 0, 1, 1));
	records_evidence(&r, &ev);
	/* rank major: a1 a2 b1 b2 */
	assert_int_equal(ev.nsteps, 4);
	assert_int_equal(ev.unscheduled_steps, 1);
	assert_int_equal(ev.steps[1].ndeps, 2); /* its own, which is the one before on the channel, too; the message */
	assert_int_equal(ev.deps[ev.steps[1].first_dep], 0);
	assert_int_equal(ev.deps[ev.steps[1].first_dep + 1], 2);
	assert_int_equal(ev.steps[1].waited_for, 2);
	assert_int_equal(ev.steps[3].ndeps, 2);
	assert_int_equal(ev.deps[ev.steps[3].first_dep], 2);
	assert_int_equal(ev.deps[ev.steps[3].first_dep + 1], 0);
	assert_int_equal(ev.steps[2].ndeps, 0);
	assert_int_equal(ev.steps[3].waited_for, 2);
	assert_int_equal(ev.steps[0].waited_for, EV_NONE);
	assert_string_equal(evidence_flow_name(&ev, ev.steps[0].flow, name), "a->b/10000>10000");
	assert_true(ev.flows[ev.steps[0].flow].collective);
	assert_int_equal(ev.nflows, 3); /* the stray one's is in no schedule and no telemetry */
	assert_string_equal(evidence_flow_name(&ev, 2, name), "10.0.0.8->b/99>99");
	assert_false(ev.flows[2].collective);
	assert_string_equal(evidence_port_name(&ev, evidence_port(&ev, 0, 1), name), "s:2");
	assert_int_equal(ev.ports[evidence_port(&ev, 0, 1)].peer, evidence_port(&ev, 2, 0));
	evidence_fini(&ev);
	records_fini(&r);
}

/*
 * The latest report of a step counts, wherever it stands in the stream, with what it waited for and with its end; of
 * more reports than are looked at side by side.
 */
static void
test_latest_report_counts(void **state)
{
	struct evidence ev;
	struct records r;
	struct rec_step report;

	(void)state;
	two_hosts(&r);
	records_step(&r, 1, 1, REC_NONE, 0, 10 * PS_PER_MS);
	records_step(&r, 2, 1, 2, 12 * PS_PER_MS, 20 * PS_PER_MS);
	records_step(&r, 2, 1, REC_NONE, 12 * PS_PER_MS, 30 * PS_PER_MS);
	records_step(&r, 2, 2, 1, 5 * PS_PER_MS, 14 * PS_PER_MS);
	for (uint64_t i = 0; i < 100; i++)
		records_step(&r, 2, 2, REC_NONE, 0, (12 - i % 2) * PS_PER_MS);
	records_evidence(&r, &ev);
	assert_int_equal(ev.nsteps, 4);
	assert_int_equal(ev.unscheduled_steps, 0);
	assert_true(evidence_report(&ev, 1, &report));
	assert_int_equal(report.end_ps, 30 * PS_PER_MS);
	assert_int_equal(ev.steps[1].waited_for, 0);
	assert_true(evidence_report(&ev, 3, &report));
	assert_int_equal(report.end_ps, 14 * PS_PER_MS);
	assert_int_equal(ev.steps[3].waited_for, 0);
	assert_false(evidence_report(&ev, 2, &report));
	assert_int_equal(ev.steps_end_ps, 30 * PS_PER_MS);
	evidence_fini(&ev);
	records_fini(&r);
}

/* Of notifications what a run asks for is there, in order of time. */
static void
test_notifications(void **state)
{
	struct evidence ev;
	struct records r;

	two_hosts(&r);
	for (uint32_t i = 0; i < 100; i++) {
		struct rec_notify notify = { .to = 2, .step = 1, .detections = i };

		RECORDS_PUT(&r, notify, REC_NOTIFY, 1, (100 - i) * PS_PER_MS);
	}
	records_evidence(&r, &ev);
	assert_int_equal(ev.notifies.count, 100);
	for (uint32_t i = 0; i < 100; i++) {
		assert_int_equal(EV_AT(ev.notifies, struct ev_notify, i)->time_ps, (i + 1) * PS_PER_MS);
		assert_int_equal(EV_AT(ev.notifies, struct ev_notify, i)->node, 1);
		assert_int_equal(EV_AT(ev.notifies, struct ev_notify, i)->detections, 99 - i);
	}
	evidence_release_steps(&ev);
	assert_null(ev.steps);
	assert_int_equal(ev.notifies.count, 0);
	evidence_fini(&ev);
	records_fini(&r);
}

/* By its whole name, with and without quotes; of one that goes on in the next record what the first has. */
static void
test_settings(void **state)
{
	static const char *const texts[] = { "host.cc_of=\"swift\"", "host.cc=\"dcqcn\"", "host.mtu=1024" };
	char buf[REC_SETTING_TEXT + 1];
	struct rec_setting full = { 0 };
	struct evidence ev;
	struct records r;

	(void)state;
	two_hosts(&r);
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct rec_setting setting = { 0 };

		snprintf(setting.text, sizeof(setting.text), "%s", texts[i]);
		RECORDS_PUT(&r, setting, REC_SETTING, REC_NONE, 0);
	}
	memset(full.text, 'x', sizeof(full.text));
	memcpy(full.text, "long=\"", 6);
	RECORDS_PUT(&r, full, REC_SETTING, REC_NONE, 0);
	records_evidence(&r, &ev);
	assert_string_equal(evidence_setting(&ev, "host.cc", buf), "dcqcn");
	assert_string_equal(evidence_setting(&ev, "host.mtu", buf), "1024");
	assert_int_equal(strlen(evidence_setting(&ev, "long", buf)), REC_SETTING_TEXT - 6);
	assert_null(evidence_setting(&ev, "host.c", buf));
	assert_null(evidence_setting(&ev, "host.cc.x", buf));
	evidence_fini(&ev);
	records_fini(&r);
}

/* Probes are kept in few bytes, of any values, and their tuples once each, however many there are. */
static void
test_probes(void **state)
{
	enum { TUPLES = 1000, PROBES = 40 * TUPLES };
	struct ev_probe_reader reader = { 0 };
	struct evidence ev;
	struct err err;
	uint32_t block = 0;

	evidence_init(&ev);
	for (uint32_t i = 0; i < PROBES; i++) {
		struct rec_probe rec = { .hdr.type = REC_PROBE,
					 .hdr.size = sizeof(rec),
					 .tuple = { .src_ip = i % 2, .dst_ip = 7, .sport = (uint16_t)(i % TUPLES) },
					 .result = REC_PROBE_TIMEOUT,
					 .target_qpn = i % 3 != 0 ? 17 : UINT32_MAX,
					 .seq = i % 5 != 0 ? i : UINT32_MAX - i,
					 .rtt_ps = i % 7 != 0 ? i : UINT64_MAX - i,
					 .responder_ps = i % 2 != 0 ? i : RECORD_MAX_PS,
					 .sent_ps = i % 11 != 0 ? 1000 + i : RECORD_MAX_PS - i };

		assert_int_equal(evidence_add(&ev, &rec.hdr, &err), 0);
	}
	assert_int_equal(ev.kinds[REC_PROBE], PROBES);
	assert_int_equal(ev.probes.count, PROBES);
	assert_int_equal(ev.probe_tuples.count, TUPLES);
	for (uint32_t i = 0; i < PROBES; i++) {
		const struct ev_probe *probe;
		const struct rec_tuple *tuple;

		if (reader.left == 0) {
			if (block != 0)
				evidence_release_probes(&ev, block - 1);
			evidence_read_probes(&ev, block++, &reader);
		}
		probe = evidence_next_probe(&reader);
		assert_non_null(probe);
		tuple = EV_AT(ev.probe_tuples, struct rec_tuple, probe->tuple);
		assert_int_equal(probe->target_qpn, i % 3 != 0 ? 17 : UINT32_MAX);
		assert_int_equal(probe->seq, i % 5 != 0 ? i : UINT32_MAX - i);
		assert_true(probe->rtt_ps == (i % 7 != 0 ? i : UINT64_MAX - i));
		assert_true(probe->responder_ps == (i % 2 != 0 ? i : RECORD_MAX_PS));
		assert_int_equal(probe->prober_ps, 0);
		assert_true(probe->sent_ps == (i % 11 != 0 ? 1000 + i : RECORD_MAX_PS - i));
		assert_int_equal(probe->result, REC_PROBE_TIMEOUT);
		assert_int_equal(tuple->src_ip, i % 2);
		assert_int_equal(tuple->sport, i % TUPLES);
	}
	assert_null(evidence_next_probe(&reader));
	assert_int_equal(block, ev.probes.blocks.count);
	assert_true(ev.probes.size < 32 * PROBES);
	evidence_fini(&ev);
}

UNIT_TEST(evidence)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flow_names),    cmocka_unit_test(test_latest_row_wins),
		cmocka_unit_test(test_open_epoch),    cmocka_unit_test(test_states_stay),
		cmocka_unit_test(test_join),          cmocka_unit_test(test_latest_report_counts),
		cmocka_unit_test(test_notifications), cmocka_unit_test(test_settings),
		cmocka_unit_test(test_probes),        cmocka_unit_test(test_quiet_ports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

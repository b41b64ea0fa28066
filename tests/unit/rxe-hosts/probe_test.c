/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R-Pingmesh's agent: what its six times give, what is lost and how that is called, slow CPUs, old QPNs, service
 * tracing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/wire/probe.h"
#include "rxe-hosts/probe/prober.h"
#include "tests/unit/rxe-hosts/probe_rig.h"
#include "tests/unit/unit.h"

#define SERIALIZE_PS (80 * 142) /* a probe or ACK at 100 Gbps, see ud_qp_test.c */

static struct probe_rig probes;
static uint32_t lose; /* which datagram of all, from 1 on; 0: none */

static int
setup(void **state)
{
	(void)state;
	probe_rig_init(&probes);
	lose = 0;
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	probe_rig_stop(&probes);
	return 0;
}

static bool
loses_one(struct rig *rig, uint32_t from, struct pkt *p)
{
	(void)from;
	return p->type != PKT_UD || ++rig->state != lose;
}

static const struct rec_probe *
result(uint32_t n)
{
	const struct rec_probe *rec = probe_rig_record(&probes, 0, REC_PROBE, n);

	assert_non_null(rec);
	return rec;
}

/* Of an application that is never late each delay is exact: the cable's, and a frame's length in each host. */
static void
delays_are_those_of_the_wire(void **state)
{
	const struct rec_probe *rec;
	const struct rec_upload *upload;
	const struct rec_rnic *rnic;

	(void)state;
	probe_rig_start(&probes);
	probe_rig_run(&probes, 4 * PS_PER_MS);
	for (uint32_t n = 0; n < 3; n++) {
		rec = result(n);
		assert_int_equal(rec->result, REC_PROBE_OK);
		assert_int_equal(rec->kind, REC_PROBE_TOR_MESH);
		assert_int_equal(rec->seq, n);
		assert_int_equal(rec->target_qpn, probes.qpns[1]);
		assert_int_equal(rec->tuple.sport, probes.rig.flows[probes.flow].sport);
		assert_int_equal(rec->rtt_ps, 2 * RIG_DELAY_PS);
		assert_int_equal(rec->prober_ps, SERIALIZE_PS);
		assert_int_equal(rec->responder_ps, SERIALIZE_PS);
		assert_int_equal(rec->sent_ps - result(0)->sent_ps, n * PROBE_RIG_INTERVAL_PS);
	}
	upload = probe_rig_record(&probes, 0, REC_UPLOAD, 1);
	assert_non_null(upload);
	assert_int_equal(upload->probes, 5);
	assert_int_equal(upload->timeouts + upload->dropped, 0);
	rnic = probe_rig_record(&probes, 1, REC_RNIC, 0);
	assert_non_null(rnic);
	assert_int_equal(rnic->qpn, probes.qpns[1]);
	assert_int_equal(rnic->hdr.time_ps, 2 * PROBE_RIG_MANAGEMENT_PS);
	assert_non_null(probe_rig_record(&probes, 1, REC_UPLOAD, 0)); /* who probes nobody lives, too */
}

/* Both hosts' delays are what their CPUs' chance says, the network's is as before. */
static void
delays_of_applications_are_drawn(void **state)
{
	struct probe_cpu prober, responder;
	uint64_t left_ps, taken_ps;

	(void)state;
	probes.cpu_ps = 3 * PS_PER_US;
	probe_rig_start(&probes);
	probe_rig_run(&probes, 3 * PS_PER_MS);
	probe_cpu_init(&prober, probes.cpu_ps, 5, 0);
	probe_cpu_init(&responder, probes.cpu_ps, 5, 1);
	left_ps = probe_cpu_draw(&prober);
	taken_ps = 2 * RIG_DELAY_PS + SERIALIZE_PS + probe_cpu_draw(&responder) + probe_cpu_draw(&prober);
	if (taken_ps < left_ps) /* one completion after the other */
		taken_ps = left_ps;
	assert_int_equal(result(0)->rtt_ps, 2 * RIG_DELAY_PS);
	assert_int_equal(result(0)->responder_ps + 2 * RIG_DELAY_PS + result(0)->prober_ps, taken_ps + SERIALIZE_PS);
	for (uint32_t n = 1; n < 5; n++) {
		assert_int_equal(result(n)->rtt_ps, 2 * RIG_DELAY_PS);
		assert_true(result(n)->prober_ps >= SERIALIZE_PS + probes.cpu_ps / 2);
		assert_int_not_equal(result(n)->prober_ps, result(n - 1)->prober_ps);
	}
}

static void
expect_lost(uint32_t which, uint32_t as, bool knows_prober, bool knows_responder)
{
	const struct rec_probe *rec;

	lose = which;
	probes.rig.filter = loses_one;
	probe_rig_start(&probes);
	probe_rig_run(&probes, 3 * PS_PER_MS);
	rec = result(0);
	assert_int_equal(rec->result, as);
	assert_int_equal(rec->rtt_ps, 0);
	assert_int_equal(rec->prober_ps != 0, knows_prober);
	assert_int_equal(rec->responder_ps != 0, knows_responder);
	assert_int_equal(result(1)->result, REC_PROBE_OK);
	assert_int_equal(probe_agent_counts(probes.agents[0]).timeouts, 1);
}

static void
lost_probe(void **state)
{
	(void)state;
	expect_lost(1, REC_PROBE_TIMEOUT, false, false);
}

static void
lost_ack(void **state)
{
	(void)state;
	expect_lost(2, REC_PROBE_FIRST_LOST, false, true);
}

static void
lost_second_ack(void **state)
{
	(void)state;
	expect_lost(3, REC_PROBE_SECOND_LOST, true, false);
}

/* Probes that came are reported with each upload: the first and the last of them, and after which. */
static void
responders_report_what_they_received(void **state)
{
	const struct rec_responder *first, *next;

	(void)state;
	lose = 4; /* of three datagrams a probe: the second probe */
	probes.rig.filter = loses_one;
	probe_rig_start(&probes);
	probe_rig_run(&probes, 6 * PS_PER_MS);
	assert_int_equal(result(1)->result, REC_PROBE_TIMEOUT);
	first = probe_rig_record(&probes, 1, REC_RESPONDER, 0);
	next = probe_rig_record(&probes, 1, REC_RESPONDER, 1);
	assert_non_null(first);
	assert_non_null(next);
	assert_int_equal(first->tuple.sport, probes.rig.flows[probes.flow].sport);
	assert_int_equal(first->qpn, probes.qpns[0]);
	assert_int_equal(first->chained, 0);
	assert_int_equal(first->first_seq, 0);
	assert_int_equal(first->count, first->last_seq); /* one is missing */
	assert_int_equal(next->chained, 1);
	assert_int_equal(next->after_seq, first->last_seq);
	assert_int_equal(next->first_seq, first->last_seq + 1);
	assert_int_equal(next->count, next->last_seq - next->first_seq + 1);
}

static void
old_number_times_out(void **state)
{
	(void)state;
	probes.is_stale = true;
	probe_rig_start(&probes);
	probe_rig_run(&probes, 3 * PS_PER_MS);
	assert_int_equal(result(0)->result, REC_PROBE_TIMEOUT);
	assert_int_equal(result(0)->target_qpn, probes.qpns[1] + 7);
	assert_int_equal(probe_agent_counts(probes.agents[1]).answered, 0);
}

/* A responder without time looks like loss; a prober without time takes what had come before he judges. */
static void
overload_is_reported_of_the_responder_alone(void **state)
{
	(void)state;
	probe_rig_start(&probes);
	probe_agent_load(probes.agents[1], 4 * PROBE_RIG_TIMEOUT_PS);
	probe_rig_run(&probes, 3 * PS_PER_MS);
	assert_int_equal(result(0)->result, REC_PROBE_TIMEOUT);
	assert_true(probe_agent_counts(probes.agents[1]).overloaded > 0);
	probe_rig_stop(&probes);
	probe_rig_init(&probes);
	probe_rig_start(&probes);
	probe_agent_load(probes.agents[0], 4 * PROBE_RIG_TIMEOUT_PS);
	probe_rig_run(&probes, 8 * PS_PER_MS);
	assert_int_equal(result(0)->result, REC_PROBE_OK);
	assert_int_equal(result(0)->rtt_ps, 2 * RIG_DELAY_PS);
	assert_true(result(0)->prober_ps > 2 * PROBE_RIG_TIMEOUT_PS);
	probe_agent_load(probes.agents[0], 0);
}

/* What comes after the timeout is reported, once, beside that: the probe was not lost, and whose time it took. */
static void
late_acks_are_reported(void **state)
{
	const struct rec_probe *rec;
	const struct rec_upload *upload;
	uint32_t late = 0, ended = 0, answered = 0;

	(void)state;
	probe_rig_start(&probes);
	probe_agent_load(probes.agents[1], 4 * PROBE_RIG_TIMEOUT_PS);
	probe_rig_run(&probes, 8 * PS_PER_MS);
	for (uint32_t n = 0; (rec = probe_rig_record(&probes, 0, REC_PROBE, n)) != NULL; n++) {
		late += rec->seq == 0 && rec->result == REC_PROBE_LATE;
		ended += rec->result != REC_PROBE_LATE;
		if (rec->result != REC_PROBE_LATE)
			continue;
		assert_int_equal(rec->rtt_ps, 2 * RIG_DELAY_PS);
		assert_true(rec->responder_ps > PROBE_RIG_TIMEOUT_PS);
	}
	assert_int_equal(late, 1);
	for (uint32_t n = 0; (upload = probe_rig_record(&probes, 0, REC_UPLOAD, n)) != NULL; n++)
		answered += upload->probes;
	assert_int_equal(answered, ended);
	probe_agent_load(probes.agents[1], 0);
}

/* A connection is probed by its own 5-tuple while it is there, once the controller knows its peer's number. */
static void
connections_are_traced(void **state)
{
	const struct rec_connection *rec;
	uint32_t flow = rig_flow(&probes.rig, 0, 0), n = 0, traced = 0;
	const struct rec_probe *probe;

	(void)state;
	probe_rig_start(&probes);
	probe_rig_run(&probes, PS_PER_MS);
	probe_agent_connection(probes.agents[0], flow, 4, true, PS_PER_MS);
	probe_agent_wake(probes.agents[0], PS_PER_MS);
	probes.rig.hosts[0].dev->ops->set_timer(probes.rig.hosts[0].dev, probe_agent_next_ps(probes.agents[0]));
	probe_rig_run(&probes, 2 * PS_PER_MS);
	probe_agent_connection(probes.agents[0], flow, 4, false, 2 * PS_PER_MS);
	probe_rig_run(&probes, 5 * PS_PER_MS);
	rec = probe_rig_record(&probes, 0, REC_CONNECTION, 0);
	assert_non_null(rec);
	assert_int_equal(rec->open, 1);
	assert_int_equal(rec->collective, 4);
	rec = probe_rig_record(&probes, 0, REC_CONNECTION, 1);
	assert_non_null(rec);
	assert_int_equal(rec->open, 0);
	while ((probe = probe_rig_record(&probes, 0, REC_PROBE, n++)) != NULL) {
		if (probe->kind != REC_PROBE_SERVICE)
			continue;
		traced++;
		assert_int_equal(probe->result, REC_PROBE_OK);
		assert_int_equal(probe->tuple.sport, probes.rig.flows[flow].sport);
		assert_in_range(probe->sent_ps, PS_PER_MS + 2 * PROBE_RIG_MANAGEMENT_PS, 2 * PS_PER_MS);
	}
	assert_in_range(traced, 46, 50); /* one each 20 us, from when the number is known */
	assert_int_equal(probes.asked[3], 1);
}

static struct wire_probe traced; /* what a packet of a traceroute held that a switch would have ended */
static uint32_t nended;

/* Two switches stand between the hosts: TTL 1 and 2 end there. */
static bool
ends_twice(struct rig *rig, uint32_t from, struct pkt *p)
{
	struct pkt_message message;

	if (p->type != PKT_UD || from != 0 || p->ttl > 2)
		return true;
	embedded_describe(rig->shared, &rig->params, p, &message);
	memcpy(&traced, message.payload, sizeof(traced));
	nended++;
	return false;
}

/* Who is missing may register soon: pinglists that lack it are asked for again, long before they are old. */
static void
short_pinglists_are_asked_for_again(void **state)
{
	for (uint32_t left_out = 0; left_out < 2; left_out++) {
		uint64_t next_ps;

		probes.left_out = left_out;
		probes.slow_ps = 300 * PS_PER_S;
		probe_rig_start(&probes);
		probe_rig_run(&probes, 3 * PS_PER_MS);
		next_ps = probe_agent_next_ps(probes.agents[1]);
		assert_int_equal(next_ps < PS_PER_S + 3 * PS_PER_MS, left_out);
		assert_true(next_ps > PS_PER_S);
		teardown(state);
		setup(state);
	}
}

static void
paths_are_traced_hop_by_hop(void **state)
{
	const struct rec_probe_hop *hop;
	struct datagram expired = { .contents = &traced, .bytes = sizeof(traced), .type = PKT_EXPIRED };

	(void)state;
	probes.traces = true;
	probes.rig.filter = ends_twice;
	nended = 0;
	expired.flow = probes.flow;
	probe_rig_start(&probes);
	for (uint32_t answered = 0, i = 1; i <= 3000; i++) {
		probe_rig_run(&probes, i * PS_PER_US);
		if (nended == answered)
			continue;
		answered = nended;
		expired.arg = (answered % 2 != 0 ? 5u : 6u) << EXPIRED_NODE_SHIFT | 3;
		probe_agent_received(probes.agents[0], &expired, i * PS_PER_US);
	}
	for (uint32_t n = 0; n < 6; n++) {
		hop = probe_rig_record(&probes, 0, REC_PROBE_HOP, n);
		assert_non_null(hop);
		assert_int_equal(hop->hop, n % 2 + 1);
		assert_int_equal(hop->at, n % 2 != 0 ? 6 : 5);
		assert_int_equal(hop->port, 3);
		assert_int_equal(hop->last, n % 2);
		assert_int_equal(hop->back, 0);
		assert_int_equal(hop->trace, n / 2 + 1);
		assert_int_equal(hop->tuple.sport, probes.rig.flows[probes.flow].sport);
	}
	assert_null(probe_rig_record(&probes, 1, REC_PROBE_HOP, 0)); /* its way back ends nowhere */
	assert_int_equal(result(0)->result, REC_PROBE_OK);
}

static void
what_is_no_probe_is_counted(void **state)
{
	static const char text[50] = "nothing of ours";
	struct datagram datagram = { .contents = text, .bytes = sizeof(text), .type = PKT_UD };
	struct device *dev;

	(void)state;
	probe_rig_start(&probes);
	probe_rig_run(&probes, PS_PER_MS);
	datagram.flow = probes.flow;
	datagram.qpn = probes.qpns[1];
	dev = probes.rig.hosts[0].dev;
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(dev->ops->post_datagram(dev, &datagram), 0);
		datagram.bytes -= 1;
	}
	probe_rig_run(&probes, 2 * PS_PER_MS);
	assert_int_equal(probe_agent_counts(probes.agents[1]).strange, 3);
	assert_true(rig_conserves(&probes.rig));
}

static int
by_value(const void *a, const void *b)
{
	return *(const uint64_t *)a < *(const uint64_t *)b ? -1 : *(const uint64_t *)a > *(const uint64_t *)b;
}

/* 0.5 + 0.5 x / ln 2 of the median for x exponential: its median is the median, P99 is 3.822 of it. */
static void
law_of_the_cpu(void **state)
{
	static uint64_t draws[100001];
	struct probe_cpu cpu;

	(void)state;
	probe_cpu_init(&cpu, 10 * PS_PER_US, 1, 2);
	for (size_t i = 0; i < 100001; i++)
		draws[i] = probe_cpu_draw(&cpu);
	qsort(draws, 100001, sizeof(*draws), by_value);
	assert_true(draws[0] >= 5 * PS_PER_US);
	assert_in_range(draws[50000], 9900000, 10100000);
	assert_in_range(draws[99000], 37400000, 39000000);
	probe_cpu_init(&cpu, 10 * PS_PER_US, 1, 2);
	cpu.load_ps = PS_PER_MS;
	assert_true(probe_cpu_draw(&cpu) >= 505 * PS_PER_US);
	assert_int_equal(cpu.overloaded, 1);
	/* teardown wants a rig */
	probe_rig_start(&probes);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TEST(probe)
{
	const struct CMUnitTest tests[] = {
		T(delays_are_those_of_the_wire),
		T(delays_of_applications_are_drawn),
		T(lost_probe),
		T(lost_ack),
		T(lost_second_ack),
		T(responders_report_what_they_received),
		T(old_number_times_out),
		T(overload_is_reported_of_the_responder_alone),
		T(late_acks_are_reported),
		T(connections_are_traced),
		T(short_pinglists_are_asked_for_again),
		T(paths_are_traced_hop_by_hop),
		T(what_is_no_probe_is_counted),
		T(law_of_the_cpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that switches sample: with what probability, what is reported of them, and of which ports. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/flow.h"
#include "common/wire/poll.h"
#include "common/wire/roce.h"
#include "dpswitch/control/switch_answer.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define BURST 64

/* A sampler of one port, without a switch. */
struct sampler {
	struct samples_port port;
	struct switch_samples samples;
	struct swm_sample ring[SWM_MAX_SAMPLES], rows[SWM_MAX_SAMPLES];
	struct flow flow;
	struct flow_table flows;
};

static void
sampler_begin(struct sampler *s, uint32_t rate, uint64_t seed)
{
	memset(s, 0, sizeof(*s));
	s->flow = (struct flow){ .src_ip = 1, .dst_ip = 2, .sport = 3, .dport = 4791 };
	s->flows = (struct flow_table){ .flows = &s->flow, .count = 1 };
	s->samples = (struct switch_samples){ .rate = rate, .nports = 1, .ports = &s->port };
	prng_init(&s->port.prng, seed, 0);
	s->port.skip = samples_draw(&s->port.prng, rate);
	s->port.ring = s->ring;
}

/* So many packets arrive, in windows of so many. */
static void
arrive(struct sampler *s, uint32_t packets, uint32_t window)
{
	static const struct pkt pkts[BURST] = { { .type = PKT_DATA } };

	for (uint32_t count; packets != 0; packets -= count) {
		count = packets < window ? packets : window;
		switch_samples_count(&s->samples, 0, &s->flows, pkts, count);
	}
}

static void
one_in_so_many_is_taken(void **state)
{
	(void)state;
	for (uint32_t rate = 1; rate <= 10000; rate *= 10) {
		struct sampler s;
		double expected, deviation;

		sampler_begin(&s, rate, rate);
		arrive(&s, 1000000, 7);
		expected = 1e6 / rate;
		deviation = sqrt(expected * (1 - 1.0 / rate));
		assert_int_equal(s.port.pool, 1000000);
		assert_true(fabs((double)s.port.taken - expected) <= 4 * deviation);
	}
}

/* The probability that a flow of n packets is seen is 1 - (1 - 1/N)^n. */
static void
flows_are_seen_as_often_as_the_formula_predicts(void **state)
{
	static const struct {
		uint32_t rate, packets;
	} cases[] = { { 2, 1 },    { 50, 1 },     { 50, 10 },     { 50, 50 },
		      { 50, 200 }, { 1000, 100 }, { 1000, 1000 }, { 1000, 4000 } };
	const uint32_t flows = 20000;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		double seen = 1 - pow(1 - 1.0 / cases[i].rate, cases[i].packets), share;
		uint32_t count = 0;
		struct sampler s;

		sampler_begin(&s, cases[i].rate, i);
		for (uint32_t f = 0; f < flows; f++) {
			uint64_t before = s.port.taken;

			arrive(&s, cases[i].packets, 1 + f % BURST);
			count += s.port.taken != before;
		}
		share = (double)count / flows;
		assert_true(fabs(share - seen) < 4 * sqrt(seen * (1 - seen) / flows));
	}
}

static void
windows_change_nothing(void **state)
{
	struct sampler one, other;

	(void)state;
	sampler_begin(&one, 17, 5);
	sampler_begin(&other, 17, 5);
	arrive(&one, 50000, 1);
	arrive(&other, 50000, BURST);
	assert_int_equal(one.port.taken, other.port.taken);
	assert_int_equal(one.port.skip, other.port.skip);
	assert_int_equal(one.port.pool, other.port.pool);
	sampler_begin(&other, 17, 6);
	arrive(&other, 50000, BURST);
	assert_int_not_equal(one.port.skip + 100000 * one.port.taken, other.port.skip + 100000 * other.port.taken);
}

/* Of the latest, the oldest first. */
static void
the_latest_are_kept(void **state)
{
	struct swm_samples list;
	struct sampler s;

	(void)state;
	sampler_begin(&s, 1, 1);
	for (uint32_t i = 0; i < SWM_MAX_SAMPLES + 10; i++) {
		s.flow.sport = (uint16_t)i;
		arrive(&s, 1, 1);
	}
	assert_true(switch_samples_list(&s.samples, 0, &list, s.rows));
	assert_int_equal(list.count, SWM_MAX_SAMPLES);
	assert_int_equal(list.taken, SWM_MAX_SAMPLES + 10);
	assert_int_equal(list.sample_pool, SWM_MAX_SAMPLES + 10);
	assert_int_equal(list.sampling_rate, 1);
	for (uint32_t i = 0; i < SWM_MAX_SAMPLES; i++)
		assert_int_equal(s.rows[i].sport, i + 10);
	assert_false(switch_samples_list(&s.samples, 1, &list, s.rows));
}

/* What is asked of a leaf's port, as a tool asks. */
static const struct swm_samples *
ask(struct frig *rig, uint16_t port, uint8_t *reply)
{
	const struct answer_device leaf = { .topo = rig->topo,
					    .node = topo_find(rig->topo, "l0"),
					    .sw = frig_switch(rig, "l0") };
	struct {
		struct swm_hdr hdr;
		struct swm_sampled body;
	} request = { { SWM_MAGIC, SWM_VERSION, SWM_SAMPLES, sizeof(request.body), 7 }, { .port = port } };
	const struct swm_hdr *hdr = (const void *)reply;

	answer_request(&leaf, &request, sizeof(request), reply);
	return hdr->type == SWM_SAMPLE_LIST ? (const void *)(hdr + 1) : NULL;
}

static void
start(struct frig *rig, uint32_t rate)
{
	frig_init(rig,
		  "topology = { kind = \"leaf-spine\"; leaves = 2; spines = 4; hosts_per_leaf = 2; rate = \"100Gbps\"; "
		  "delay = \"1us\"; };");
	rig->setup.all.pfc.headroom_bytes = 100000;
	rig->setup.all.params.sampling = rate;
	frig_flow(rig, "h0", "h2", 3);
	frig_flow(rig, "h2", "h0", 3);
	if (frig_start(rig) < 0)
		fail_msg("%s", rig->err.text);
}

/* Packets of hosts alone: what comes down from spines was sampled where it came in. */
static void
leaves_report_what_hosts_send(void **state)
{
	static _Alignas(8) uint8_t reply[ANSWER_MAX_BYTES];
	const struct swm_samples *list;
	const struct swm_sample *rows;
	struct pkt ack = { .flow = 1,
			   .type = PKT_ACK,
			   .opcode = ROCE_RC_ACK,
			   .flags = PKT_REVERSE,
			   .wire_bytes = 84,
			   .ttl = PKT_TTL_INIT };
	struct pkt notify = { .flow = 0, .type = PKT_NOTIFY, .wire_bytes = 90, .ttl = PKT_TTL_INIT };
	uint32_t ports = 0;
	struct frig rig;

	(void)state;
	start(&rig, 1);
	frig_send(&rig, 0, 1000, 1000, 30);
	frig_send(&rig, 1, 1000, 1000, 50);
	frig_host_send(frig_host(&rig, "h0"), 100 * PS_PER_US, &ack);
	frig_send_pkt(&rig, 100 * PS_PER_US, &notify);
	frig_run(&rig, PS_PER_MS);
	for (uint16_t i = 0; i < frig_switch(&rig, "l0")->node.nports; i++) {
		list = ask(&rig, i, reply);
		ports += list != NULL;
		if (list == NULL || list->count == 0)
			continue;
		rows = (const void *)(list + 1);
		assert_int_equal(list->count, 32);
		assert_int_equal(list->sample_pool, 32);
		assert_int_equal(rows[0].src_ip, rig.flows[0].src_ip);
		assert_int_equal(rows[0].sport, rig.flows[0].sport);
		assert_true(rows[0].is_rocev2 && rows[0].protocol == 17);
		for (uint32_t k = 30; k < 32; k++) {
			bool is_ack = rows[k].is_rocev2;

			assert_false(is_ack && sample_is_of_flow(&rows[k]));
			assert_int_equal(rows[k].opcode, is_ack ? ROCE_RC_ACK : 0);
			assert_int_equal(rows[k].src_ip, rig.flows[0].src_ip);
			assert_int_equal(rows[k].dport, is_ack ? rig.flows[1].dport : NOTIFY_UDP_PORT);
		}
	}
	assert_int_equal(ports, 2);
	assert_null(ask(&rig, 99, reply));
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

static void
flows_are_distinguished_from_other_packets(void **state)
{
	static const struct {
		struct swm_sample sample;
		bool is_flow;
	} cases[] = {
		{ { .is_rocev2 = 1, .opcode = ROCE_RC_WRITE_FIRST }, true },
		{ { .is_rocev2 = 1, .opcode = ROCE_RC_SEND_ONLY }, true },
		{ { .is_rocev2 = 1, .opcode = 0x0c }, true },  /* READ request */
		{ { .is_rocev2 = 1, .opcode = 0x0d }, false }, /* and its response */
		{ { .is_rocev2 = 1, .opcode = ROCE_RC_ACK }, false },
		{ { .is_rocev2 = 1, .opcode = 0x13 }, true }, /* compare and swap */
		{ { .is_rocev2 = 1, .opcode = ROCE_UD_SEND_ONLY }, false },
		{ { .is_rocev2 = 1, .opcode = ROCE_CNP }, false },
		{ { .protocol = 6 }, true },
		{ { .protocol = 17 }, true },
		{ { .protocol = 1 }, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(sample_is_of_flow(&cases[i].sample), cases[i].is_flow);
}

UNIT_TEST(samples)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_in_so_many_is_taken),
		cmocka_unit_test(flows_are_seen_as_often_as_the_formula_predicts),
		cmocka_unit_test(windows_change_nothing),
		cmocka_unit_test(the_latest_are_kept),
		cmocka_unit_test(leaves_report_what_hosts_send),
		cmocka_unit_test(flows_are_distinguished_from_other_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

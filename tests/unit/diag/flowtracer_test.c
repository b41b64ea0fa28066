/* SPDX-License-Identifier: BSD-3-Clause */
/* FlowTracer's diagnoser: ways of flows to counts, the metric, throughput, and what flows that met cost. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include "common/array.h"
#include "common/wire/ending.h"
#include "common/wire/record.h"
#include "diag/flowtracer/section.h"
#include "diag/registry.h"
#include "diag/report/facts.h"
#include "diag/report/json.h"
#include "diag/report/text.h"
#include "tests/unit/diag/records.h"
#include "tests/unit/diag/refused_rig.h"
#include "tests/unit/unit.h"

/*
 * Leaves 0 and 1, spines 2 and 3, hosts 4 and 5 at ports 0 and 1 of leaf 0, 6 and 7 of leaf 1; ports 2 and 3 of a leaf:
 * spines.
 */
#define HOST(i) (4u + (i))
#define UPLINKS 0xcu
/*
 * What a step's 360 MB take at 100 Gbps; their frames have 1348 bytes for 1300. A base RTT would have passed all the
 * same.
 */
#define ALONE_PS (28800 * PS_PER_US)
#define LOST_MS (28.8 * (2 - 1348.0 / 1300) - 0.01)

static void
put_network(struct records *r, uint32_t round_trips)
{
	struct rec_tracer tracer = {
		.rtt_ps = round_trips * PS_PER_MS, .connections = REC_TRACE_PARALLEL, .processes = 1, .threads = 8
	};

	records_init(r);
	records_run(r);
	for (uint32_t i = 0; i < 4; i++)
		records_node(r, i, (const char *[]){ "l0", "l1", "s0", "s1" }[i], false, i < 2 ? 4 : 2);
	for (uint32_t i = 0; i < 4; i++)
		records_node(r, HOST(i), (const char *[]){ "h0", "h1", "h2", "h3" }[i], true, 1);
	for (uint32_t i = 0; i < 4; i++)
		records_link(r, i / 2, (uint16_t)(i % 2), false, HOST(i), 0, true);
	for (uint32_t i = 0; i < 4; i++)
		records_link(r, i / 2, (uint16_t)(2 + i % 2), false, 2 + i % 2, (uint16_t)(i / 2), false);
	RECORDS_PUT(r, tracer, REC_TRACER, REC_NONE, 0);
}

static void
put_hop(struct records *r, struct rec_tuple tuple, uint32_t node, uint16_t hop, uint64_t set, uint16_t first,
	uint16_t in_port, uint16_t out_port)
{
	struct rec_traced_hop rec = {
		.tuple = tuple, .set_low = set, .hop = hop, .first = first, .in_port = in_port, .out_port = out_port
	};

	RECORDS_PUT(r, rec, REC_TRACED_HOP, node, PS_PER_MS / 2);
}

/* From a host of leaf 0 to one of leaf 1 by a spine. */
static void
put_path(struct records *r, uint32_t src, uint32_t dst, uint32_t spine)
{
	struct rec_tuple tuple = records_tuple(HOST(src), HOST(dst), 10000);
	struct rec_traced traced = { .tuple = tuple, .set_low = 1, .reported_ps = PS_PER_MS / 4, .messages = 1 };

	/* The choices of a leaf in two records, as where they are far from each other. */
	put_hop(r, tuple, 0, 1, 1 << 2, 0, (uint16_t)src, (uint16_t)(2 + spine));
	put_hop(r, tuple, 0, 1, 1, 3, (uint16_t)src, (uint16_t)(2 + spine));
	put_hop(r, tuple, 2 + spine, 2, 2, 0, 0, 1);
	put_hop(r, tuple, 1, 3, UINT64_C(1) << (dst - 2), 0, (uint16_t)(2 + spine), (uint16_t)(dst - 2));
	RECORDS_PUT(r, traced, REC_TRACED, HOST(src), PS_PER_MS / 2);
}

static struct verdict *
verdict_of(struct records *r)
{
	struct verdict *v = NULL;
	struct err err = { 0 };
	struct evidence ev;

	records_evidence(r, &ev);
	if (registry_diagnose(&ev, &v, &err) != 0)
		fail_msg("%s", err.text);
	evidence_fini(&ev);
	records_report(v);
	records_shake(r);
	records_fini(r);
	return v;
}

static void
put_round(struct records *r, uint32_t flows, uint32_t traced, uint64_t end_ps)
{
	struct rec_trace_round round = { .sent_bytes = 100,
					 .received_bytes = 200,
					 .flows = flows,
					 .traced = traced,
					 .questions = 4 * flows,
					 .connections = 4,
					 .complete = traced == flows };

	RECORDS_PUT(r, round, REC_TRACE_ROUND, HOST(0), PS_PER_MS);
	records_end(r, REC_END_COMPLETE, end_ps);
}

static struct verdict *
diagnose(struct records *r, uint32_t flows, uint32_t traced, uint64_t end_ps)
{
	put_round(r, flows, traced, end_ps);
	return verdict_of(r);
}

static const struct flowtracer *
own_of(const struct verdict *v)
{
	assert_non_null(verdict_section(v, FLOWTRACER_NAME));
	return verdict_section(v, FLOWTRACER_NAME)->own;
}

/* A finding of VEDRFOLNIR. */
static const struct finding *
find(const struct verdict *v, const char *type, const char *root)
{
	for (uint32_t i = 0; i < v->nfindings; i++)
		if (strcmp(v->findings[i].type->key, type) == 0 && strcmp(v->findings[i].root, root) == 0)
			return &v->findings[i];
	return NULL;
}

/* h0 and h1 send to two hosts, for twice as long as would be enough. */
static void
put_steps(struct records *r, uint32_t dst0, uint32_t dst1)
{
	records_collective(r, 2, 1);
	records_schedule(r, 0, 1, HOST(0), HOST(dst0), REC_NONE, ALONE_PS);
	records_schedule(r, 1, 1, HOST(1), HOST(dst1), REC_NONE, ALONE_PS);
}

static void
put_times(struct records *r)
{
	records_step(r, 1, HOST(0), REC_NONE, 0, 2 * ALONE_PS);
	records_step(r, 1, HOST(1), REC_NONE, 0, 2 * ALONE_PS);
}

/* Two flows share one uplink, the other is idle: each has half of what it could. */
static void
flows_that_contend_cost_what_sharing_takes(void **state)
{
	const struct flowtracer_collision *c;
	const struct flowtracer *own;
	char evidence[FACTS_EVIDENCE];
	struct records r;
	struct verdict *v;

	(void)state;
	put_network(&r, 1);
	put_steps(&r, 2, 3);
	put_path(&r, 0, 2, 0);
	put_path(&r, 1, 3, 0);
	put_times(&r);
	v = diagnose(&r, 2, 2, 2 * ALONE_PS);
	own = own_of(v);
	assert_int_equal(own->ncollisions, 1);
	c = &own->collisions[0];
	assert_string_equal(v->run.ports[c->port].name, "l0:3");
	assert_string_equal(v->run.ports[c->other].name, "l0:4");
	assert_int_equal(c->most, 2);
	assert_int_equal(c->least, 0);
	assert_int_equal(c->nflows, 2);
	assert_float_equal(c->cost_ps / 1e9, LOST_MS, 1e-6); /* both of its steps end earlier */
	assert_float_equal(c->steps_ps / 1e9, 2 * LOST_MS, 1e-5);
	assert_float_equal(own->cost_ps / 1e9, LOST_MS, 1e-6);
	assert_int_equal(v->nfindings, 2);
	assert_non_null(find(v, "path-imbalance", "l0:3"));
	assert_non_null(strstr(facts_evidence(v, find(v, "path-imbalance", "l0:3"), evidence),
			       "2 flows left by l0:3 at once while 0 left by l0:4"));
	verdict_destroy(v);
}

/*
 * No switch reports its queues: that h0 and h1 filled the uplink that traces show them on explains why both took twice as
 * long, each by the other. They would have been slow for another reason if they had left by two, or sent less.
 */
static void
a_full_link_explains_what_no_telemetry_shows(void **state)
{
	static const struct {
		uint32_t spine, times;
	} cases[] = { { 0, 2 }, { 1, 2 }, { 0, 3 } };

	(void)state;
	for (uint32_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct finding *found;
		char evidence[FACTS_EVIDENCE];
		struct records r;
		struct verdict *v;

		put_network(&r, 1);
		put_steps(&r, 2, 3);
		put_path(&r, 0, 2, 0);
		put_path(&r, 1, 3, cases[i].spine);
		records_step(&r, 1, HOST(0), REC_NONE, 0, cases[i].times * ALONE_PS);
		records_step(&r, 1, HOST(1), REC_NONE, 0, cases[i].times * ALONE_PS);
		v = diagnose(&r, 2, 2, cases[i].times * ALONE_PS);
		found = find(v, "flow-contention", "l0:3");
		assert_int_equal(found != NULL, i == 0);
		if (found != NULL) {
			assert_int_equal(found->nflows, 2);
			assert_int_equal(found->nvictims, 2);
			assert_float_equal(found->confidence, 0.5, 1e-9); /* inferred */
			assert_float_equal(found->flow_ps[0] + found->flow_ps[1], found->critical_ps, 1);
			assert_float_equal(found->critical_ps, ALONE_PS, 1); /* all that was lost */
			assert_non_null(strstr(facts_evidence(v, found, evidence),
					       "l0:3 was 104 % full: 276923 packets of h1->h3/10000>10000 passed there "
					       "beside its 276923"));
		}
		verdict_destroy(v);
	}
}

/* A reply of a round to a flow that has a set of ports to leave by. */
static void
put_reply(struct records *r, struct rec_tuple tuple, uint32_t round, uint32_t node, uint64_t set, uint16_t out_port)
{
	struct rec_traced_hop rec = { .tuple = tuple, .set_low = set, .round = round, .hop = 1, .out_port = out_port };

	RECORDS_PUT(r, rec, REC_TRACED_HOP, node, (1 + 30 * (uint64_t)round) * PS_PER_MS);
}

/* The data path of h0->h2 by a spine, and that of its ACKs by the other. */
static void
put_routes(struct records *r, uint32_t spine)
{
	const uint32_t hops[2][4][2] = { { { HOST(0), 0 }, { 0, 2 + spine }, { 2 + spine, 1 }, { 1, 0 } },
					 { { HOST(2), 0 }, { 1, 3 - spine }, { 3 - spine, 0 }, { 0, 0 } } };

	for (uint32_t i = 0; i < 8; i++) {
		struct rec_route rec = { .flow = records_tuple(HOST(0), HOST(2), 10000),
					 .hop = (uint16_t)(i % 4),
					 .port = (uint16_t)hops[i / 4][i % 4][1],
					 .reverse = i >= 4,
					 .ecmp = REC_NO_ECMP };

		RECORDS_PUT(r, rec, REC_ROUTE, hops[i / 4][i % 4][0], 0);
	}
}

/*
 * The cable from leaf 1 to spine 1 goes down. h3->h1 leaves it within h0's step, which sent again: its packets passed
 * that cable from the spine, or its ACKs from the leaf. If l1 has it as a choice still, no link is down.
 */
static void
a_link_that_routes_no_longer_use(void **state)
{
	static const struct {
		uint32_t spine;
		bool used;
		const char *evidence;
	} cases[] = { { 1, false, "it was sent by s1:2 to l1:4, and that no flow was since then" },
		      { 0, false, "its ACKs were sent by l1:4 to s1:2, and traces of flows show that none was since then" },
		      { 0, true, NULL },
		      { 1, true, NULL } };
	const struct rec_tuple left = records_tuple(HOST(3), HOST(1), 10000),
			       stays = records_tuple(HOST(1), HOST(3), 10000);

	(void)state;
	for (uint32_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_step step = { .step = 1,
					 WAITED_NONE,
					 .bytes = 360000000,
					 .acked_bytes = 360000000,
					 .retransmits = 9,
					 .waited_ns = 40000000,
					 .end_ps = 80 * PS_PER_MS };
		const struct finding *found;
		char evidence[FACTS_EVIDENCE];
		struct records r;
		struct verdict *v;

		put_network(&r, 1);
		put_steps(&r, 2, 3);
		put_routes(&r, cases[i].spine);
		RECORDS_PUT(&r, step, REC_STEP, HOST(0), 80 * PS_PER_MS);
		for (uint32_t round = 0; round < 2; round++) {
			bool away = round == 1;

			put_reply(&r, left, round, 1, away && !cases[i].used ? 4 : UPLINKS, away ? 2 : 3);
			put_reply(&r, left, round, away ? 2 : 3, 1, 0);
			put_reply(&r, stays, round, 0, UPLINKS, 2);
			put_reply(&r, stays, round, 2, 2, 1);
		}
		records_end(&r, REC_END_COMPLETE, 80 * PS_PER_MS);
		v = verdict_of(&r);
		found = find(v, "link-down", "l1:4");
		assert_int_equal(found != NULL, cases[i].evidence != NULL);
		if (found != NULL)
			assert_non_null(strstr(facts_evidence(v, found, evidence), cases[i].evidence));
		verdict_destroy(v);
	}
}

/*
 * A NIC sends its flows in turn: h0 has one by spine 0, beside h1's at a load of 1.5, and one by spine 1, where there
 * is room. All take three times as long as one alone on its NIC: those on the link lose a third of it, and the other is
 * held as long, but for what it would have needed with half of its NIC.
 */
static void
flows_of_one_nic_are_held_together(void **state)
{
	const double alone_ms = 28.8, held_ms = 3 * alone_ms - 2 * alone_ms * 1348 / 1300;
	const struct flowtracer_collision *c;
	struct records r;
	struct verdict *v;

	(void)state;
	put_network(&r, 1);
	records_collective(&r, 2, 2);
	records_schedule(&r, 0, 1, HOST(0), HOST(2), REC_NONE, ALONE_PS);
	records_schedule(&r, 0, 2, HOST(0), HOST(3), REC_NONE, ALONE_PS);
	records_schedule(&r, 1, 1, HOST(1), HOST(3), REC_NONE, ALONE_PS);
	records_schedule(&r, 1, 2, HOST(1), HOST(2), REC_NONE, ALONE_PS);
	put_path(&r, 0, 2, 0);
	put_path(&r, 0, 3, 1);
	put_path(&r, 1, 3, 0);
	records_step(&r, 1, HOST(0), REC_NONE, 0, 3 * ALONE_PS);
	records_step(&r, 2, HOST(0), REC_NONE, 0, 3 * ALONE_PS);
	records_step(&r, 1, HOST(1), REC_NONE, 0, 3 * ALONE_PS);
	v = diagnose(&r, 3, 3, 3 * ALONE_PS);
	assert_int_equal(own_of(v)->ncollisions, 1);
	c = &own_of(v)->collisions[0];
	assert_string_equal(v->run.ports[c->port].name, "l0:3");
	assert_string_equal(v->run.ports[c->other].name, "l0:4");
	assert_int_equal(c->nsteps, 3);
	assert_float_equal(c->steps_ps / 1e9, 2 * alone_ms + held_ms, 1e-6);
	assert_float_equal(own_of(v)->cost_ps / 1e9, held_ms, 1e-6); /* of the step that loses least */
	verdict_destroy(v);
}

/* Two messages of one flow at a time are one flow on the link, until the later one ends. */
static void
messages_of_a_flow_are_one(void **state)
{
	const struct flowtracer_collision *c;
	struct records r;
	struct verdict *v;

	(void)state;
	put_network(&r, 1);
	records_collective(&r, 2, 2);
	records_schedule(&r, 0, 1, HOST(0), HOST(2), REC_NONE, ALONE_PS);
	records_schedule(&r, 0, 2, HOST(0), HOST(2), REC_NONE, ALONE_PS);
	records_schedule(&r, 1, 1, HOST(1), HOST(3), REC_NONE, ALONE_PS);
	records_schedule(&r, 1, 2, HOST(1), HOST(3), REC_NONE, ALONE_PS);
	put_path(&r, 0, 2, 0);
	put_path(&r, 1, 3, 0);
	records_step(&r, 1, HOST(0), REC_NONE, 0, 2 * ALONE_PS);
	records_step(&r, 2, HOST(0), REC_NONE, 0, 3 * ALONE_PS);
	records_step(&r, 1, HOST(1), REC_NONE, 2 * ALONE_PS, 3 * ALONE_PS);
	v = diagnose(&r, 2, 2, 3 * ALONE_PS);
	assert_int_equal(own_of(v)->ncollisions, 1);
	c = &own_of(v)->collisions[0];
	assert_string_equal(v->run.ports[c->port].name, "l0:3");
	assert_int_equal(c->most, 2);
	assert_int_equal(c->nflows, 2);
	verdict_destroy(v);
}

/* Eq. 1 by layer, over the links that flows could have taken. */
static void
layers_have_their_imbalance(void **state)
{
	/*
	 * From, to, links, flows, FIM: uplinks 2 and 0 of 1, and so behind them, though no flow passed s1; others had
	 * no choice.
	 */
	static const struct {
		uint32_t from, to, links, flows;
		double fim, expected;
	} layers[] = { { 0, 1, 2, 2, 0, 0 }, { 1, 2, 2, 2, 100, 50 }, { 2, 1, 2, 2, 100, 50 }, { 1, 0, 2, 2, 0, 0 } };
	const struct flowtracer *own;
	struct records r;
	struct verdict *v;

	(void)state;
	put_network(&r, 1);
	put_steps(&r, 2, 3);
	put_path(&r, 0, 2, 0);
	put_path(&r, 1, 3, 0);
	put_times(&r);
	v = diagnose(&r, 2, 2, 2 * ALONE_PS);
	own = own_of(v);
	assert_int_equal(own->nlayers, ARRAY_LEN(layers));
	for (uint32_t i = 0; i < ARRAY_LEN(layers); i++) {
		assert_int_equal(own->layers[i].tiers.from, layers[i].from);
		assert_int_equal(own->layers[i].tiers.to, layers[i].to);
		assert_int_equal(own->layers[i].links, layers[i].links);
		assert_int_equal(own->layers[i].flows, layers[i].flows);
		assert_float_equal(own->layers[i].fim, layers[i].fim, 1e-9);
		assert_float_equal(own->layers[i].expected, layers[i].expected, 1e-9);
	}
	assert_int_equal(own->nlinks, 8);
	assert_float_equal(own->fim, 400.0 / 6, 1e-9);
	assert_float_equal(own->expected, 200.0 / 6, 1e-9);
	assert_float_equal(own->fim_all, 50, 1e-9);
	assert_float_equal(own->expected_all, 25, 1e-9);
	assert_int_equal(own->npairs, 2);
	assert_float_equal(own->pairs[0].bps / 1e9, 50, 1e-6);
	verdict_destroy(v);
}

/* Slow for another reason, or at a link without an alternative: that is not the work of hashes. */
static void
without_a_choice_nothing_collides(void **state)
{
	static const struct {
		uint32_t dst, spine;
	} second[] = { { 3, 1 }, { 2, 1 } }; /* two ways; the same with one receiver */

	(void)state;
	for (uint32_t i = 0; i < ARRAY_LEN(second); i++) {
		struct records r;
		struct verdict *v;

		put_network(&r, 1);
		put_steps(&r, 2, second[i].dst);
		put_path(&r, 0, 2, 0);
		put_path(&r, 1, second[i].dst, second[i].spine);
		put_times(&r);
		v = diagnose(&r, 2, 2, 2 * ALONE_PS);
		assert_int_equal(own_of(v)->ncollisions, 0);
		assert_null(find(v, "path-imbalance", "l0:3"));
		assert_int_equal(v->nfindings, i); /* with one receiver they contend at its port */
		assert_int_equal(find(v, "flow-contention", "l1:1") != NULL, i == 1);
		verdict_destroy(v);
	}
}

/* From a host of leaf 1 to one of leaf 0 by spine 0. */
static void
put_path_back(struct records *r, uint32_t src, uint32_t dst)
{
	struct rec_tuple tuple = records_tuple(HOST(src), HOST(dst), 10000);
	struct rec_traced traced = { .tuple = tuple, .set_low = 1, .reported_ps = PS_PER_MS / 4, .messages = 1 };

	put_hop(r, tuple, 1, 1, UPLINKS, 0, (uint16_t)(src - 2), 2);
	put_hop(r, tuple, 2, 2, 1, 0, 1, 0);
	put_hop(r, tuple, 0, 3, UINT64_C(1) << dst, 0, 2, (uint16_t)dst);
	RECORDS_PUT(r, traced, REC_TRACED, HOST(src), PS_PER_MS / 2);
}

/*
 * Two collide at each leaf. If the steps of both leaves end together, neither link costs the job time while the other is
 * left: the first by its number stands for both. If those of one end earlier, the other's link costs the rest by itself.
 */
static void
links_that_cost_only_together_have_one_finding(void **state)
{
	static const struct {
		uint64_t back_ps;
		double alone_ms, all_ms; /* lost by the first link, and by both */
	} cases[] = { { 2 * ALONE_PS, 0, LOST_MS }, { 3 * ALONE_PS / 2, 14.4, LOST_MS } };

	for (uint32_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct flowtracer *own;
		const struct finding *found;
		char evidence[FACTS_EVIDENCE];
		struct records r;
		struct verdict *v;

		put_network(&r, 1);
		records_collective(&r, 4, 1);
		for (uint32_t h = 0; h < 4; h++)
			records_schedule(&r, h, 1, HOST(h), HOST((h + 2) % 4), REC_NONE, ALONE_PS);
		put_path_back(&r, 2, 0);
		put_path_back(&r, 3, 1);
		put_path(&r, 0, 2, 0);
		put_path(&r, 1, 3, 0);
		for (uint32_t h = 0; h < 4; h++)
			records_step(&r, 1, HOST(h), REC_NONE, 0, h < 2 ? 2 * ALONE_PS : cases[i].back_ps);
		v = diagnose(&r, 4, 4, 2 * ALONE_PS);
		own = own_of(v);
		assert_int_equal(own->ncollisions, 2);
		assert_string_equal(v->run.ports[own->collisions[0].port].name, "l0:3");
		assert_string_equal(v->run.ports[own->collisions[1].port].name, "l1:3");
		assert_float_equal(own->collisions[0].cost_ps / 1e9, cases[i].alone_ms, 0.01);
		assert_float_equal(own->collisions[1].cost_ps, 0, 1);
		assert_float_equal(own->cost_ps / 1e9, cases[i].all_ms, 0.01);
		found = find(v, "path-imbalance", "l0:3");
		assert_non_null(found);
		assert_null(find(v, "path-imbalance", "l1:3"));
		assert_int_equal(strstr(facts_evidence(v, found, evidence), "shared further links") != NULL, i == 0);
		verdict_destroy(v);
	}
}

/* A flow that is of no step counts as long as it had sent anything; one that nobody traced is not there. */
static void
flows_without_tuple_collide_too(void **state)
{
	(void)state;
	for (uint32_t traced = 1; traced <= 2; traced++) {
		struct records r;
		struct verdict *v;

		put_network(&r, 1);
		records_collective(&r, 2, 1);
		records_schedule(&r, 0, 1, HOST(0), HOST(2), REC_NONE, ALONE_PS);
		records_schedule(&r, 1, 1, HOST(2), HOST(0), REC_NONE, ALONE_PS);
		put_path(&r, 0, 2, 0);
		if (traced == 2)
			put_path(&r, 1, 3, 0);
		records_step(&r, 1, HOST(0), REC_NONE, 0, 2 * ALONE_PS);
		records_step(&r, 1, HOST(2), REC_NONE, 0, ALONE_PS);
		v = diagnose(&r, 2, traced, 2 * ALONE_PS);
		assert_int_equal(own_of(v)->ncollisions, traced - 1);
		if (traced == 2) {
			assert_string_equal(v->run.flows[own_of(v)->collisions[0].flows[1]].name, "h1->h3/10000>10000");
			assert_float_equal(own_of(v)->collisions[0].cost_ps / 1e9, LOST_MS, 1e-6);
			assert_float_equal(v->findings[0].confidence, 1, 1e-9);
		} else {
			assert_false(own_of(v)->rounds[0].complete);
		}
		verdict_destroy(v);
	}
}

/*
 * A step that lost time delays those that wait for it, and by no more: h0 and h2 send to each other twice, the first
 * step of h0 beside a flow of nobody's. Both second steps wait for it; h2's first had time to spare.
 */
static void
what_waits_is_earlier_too(void **state)
{
	const uint64_t first_ps = 2 * ALONE_PS;
	struct records r;
	struct verdict *v;

	(void)state;
	put_network(&r, 1);
	records_collective(&r, 2, 2);
	for (uint32_t step = 1; step <= 2; step++) {
		records_schedule(&r, 0, step, HOST(0), HOST(2), step == 1 ? REC_NONE : 1, ALONE_PS);
		records_schedule(&r, 1, step, HOST(2), HOST(0), step == 1 ? REC_NONE : 0, ALONE_PS);
	}
	put_path(&r, 0, 2, 0);
	put_path(&r, 1, 3, 0);
	records_step(&r, 1, HOST(2), REC_NONE, 0, ALONE_PS);
	records_step(&r, 1, HOST(0), REC_NONE, 0, first_ps);
	records_step(&r, 2, HOST(2), HOST(0), first_ps, first_ps + ALONE_PS);
	records_step(&r, 2, HOST(0), REC_NONE, first_ps, first_ps + ALONE_PS);
	v = diagnose(&r, 2, 2, first_ps + ALONE_PS);
	assert_int_equal(own_of(v)->ncollisions, 1);
	assert_int_equal(own_of(v)->collisions[0].nsteps, 1);
	assert_float_equal(own_of(v)->collisions[0].cost_ps / 1e9, LOST_MS, 1e-6);
	assert_float_equal(own_of(v)->cost_ps / 1e9, LOST_MS, 1e-6);
	verdict_destroy(v);
}

/*
 * Hosts of one round name more flows together than 32 bits count, one of them begins it by a clock that is ahead, and no
 * record of the round before arrived.
 */
static void
rounds_add_up(void **state)
{
	const struct rec_trace_round most = { .start_ps = PS_PER_S,
					      .round = 1,
					      .flows = UINT32_MAX,
					      .traced = 1u << 31,
					      .questions = UINT32_MAX,
					      .connections = UINT32_MAX };
	const struct flowtracer *own;
	struct records r;
	struct verdict *v;

	(void)state;
	put_network(&r, 1);
	for (uint32_t i = 1; i < 3; i++) {
		struct rec_trace_round round = most;

		RECORDS_PUT(&r, round, REC_TRACE_ROUND, HOST(i), PS_PER_MS);
	}
	records_end(&r, REC_END_COMPLETE, PS_PER_MS);
	v = verdict_of(&r);
	own = own_of(v);
	assert_int_equal(own->nrounds, 2);
	assert_int_equal(own->rounds[0].hosts, 0);
	assert_int_equal(own->rounds[0].start_ps, 0);
	assert_false(own->rounds[0].complete);
	assert_int_equal(own->rounds[1].flows, 2ULL * UINT32_MAX);
	assert_int_equal(own->rounds[1].traced, 1ULL << 32);
	assert_int_equal(own->rounds[1].questions, 2ULL * UINT32_MAX);
	assert_int_equal(own->rounds[1].connections, 2ULL * UINT32_MAX);
	assert_true(own->rounds[1].end_ps >= own->rounds[1].start_ps);
	verdict_destroy(v);
}

/* Text and JSON of all of that, and of a stream in which the tracer never got an answer. */
static void
reports_hold_it(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	json_t *root;
	struct records r;
	struct verdict *v;

	(void)state;
	put_network(&r, 1);
	put_steps(&r, 2, 3);
	put_path(&r, 0, 2, 0);
	put_path(&r, 1, 3, 0);
	put_times(&r);
	v = diagnose(&r, 2, 2, 2 * ALONE_PS);
	assert_int_equal(text_write(v, "", to), 0);
	fclose(to);
	assert_non_null(strstr(text, "2 of 2 flows of 1 host were traced"));
	assert_non_null(strstr(text, "leaf to spine"));
	assert_non_null(strstr(text, "2 steps lost"));
	free(text);
	root = json_document(v);
	assert_int_equal(json_array_size(json_object_get(json_object_get(root, "flowtracer"), "paths")), 2);
	json_decref(root);
	verdict_destroy(v);

	put_network(&r, 1);
	put_steps(&r, 2, 3);
	put_times(&r);
	v = diagnose(&r, 2, 0, 2 * ALONE_PS);
	assert_int_equal(own_of(v)->nlinks, 0);
	assert_int_equal(v->nfindings, 0);
	verdict_destroy(v);
}

static bool
expectation_is_unknown(const struct verdict *v)
{
	const struct flowtracer *own = own_of(v);
	bool unknown = isnan(own->expected) || isnan(own->expected_all);

	for (uint32_t i = 0; i < own->nlayers; i++)
		unknown |= isnan(own->layers[i].expected);
	return unknown;
}

/* The same two flows, with one allocation less each time; what chance would do is then unknown at worst. */
static void
memory_is_needed(void **state)
{
	struct records r;

	(void)state;
	put_network(&r, 0);
	put_steps(&r, 2, 3);
	put_path(&r, 0, 2, 0);
	put_path(&r, 1, 3, 0);
	put_times(&r);
	put_round(&r, 2, 2, 2 * PS_PER_MS);
	each_refusal_is_reported(&r, expectation_is_unknown);
}

UNIT_TEST(flowtracer)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_that_contend_cost_what_sharing_takes),
		cmocka_unit_test(a_full_link_explains_what_no_telemetry_shows),
		cmocka_unit_test(a_link_that_routes_no_longer_use),
		cmocka_unit_test(memory_is_needed),
		cmocka_unit_test(flows_of_one_nic_are_held_together),
		cmocka_unit_test(messages_of_a_flow_are_one),
		cmocka_unit_test(layers_have_their_imbalance),
		cmocka_unit_test(without_a_choice_nothing_collides),
		cmocka_unit_test(flows_without_tuple_collide_too),
		cmocka_unit_test(what_waits_is_earlier_too),
		cmocka_unit_test(links_that_cost_only_together_have_one_finding),
		cmocka_unit_test(rounds_add_up),
		cmocka_unit_test(reports_hold_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What follows from what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/array.h"
#include "diag/verdict.h"
#include "tests/unit/diag/types.h"
#include "tests/unit/unit.h"

/* Nodes 0 and 1 have ports 0 and 2, and 1 and 3; ports 0 and 1 are the ends of one link. */
static struct run_port ports[] = {
	{ .node = 0, .peer_node = 1, .peer_port = 1 },
	{ .node = 1, .peer_node = 0, .peer_port = 0 },
	{ .node = 0, .peer_node = 2, .peer_port = RUN_NONE },
	{ .node = 3, .peer_node = RUN_NONE, .peer_port = RUN_NONE },
};

static void
consequences_have_causes(void **state)
{
	static const struct {
		const struct finding_type *cause, *of;
		uint32_t cause_port, port;
		uint64_t end_ps;
		bool follows;
	} rows[] = {
		{ FINDING_LINK_DOWN, FINDING_BLACKHOLE, 0, 2, 20, true },
		{ FINDING_LINK_DOWN, FINDING_BLACKHOLE, 1, 2, 20, true }, /* the other end's switch */
		{ FINDING_LINK_DOWN, FINDING_BLACKHOLE, 0, 3, 20, false },
		{ FINDING_LINK_DOWN, FINDING_BLACKHOLE, 0, 2, 5, false },        /* over before */
		{ FINDING_LINK_DOWN, FINDING_FLOW_CONTENTION, 0, 2, 20, false }, /* no flow has fewer paths */
		{ FINDING_LINK_DOWN, FINDING_SLOW_HOST, 0, 2, 20, false },
		{ FINDING_TAIL_DROP, FINDING_PACKET_LOSS, 2, 2, 20, true },
		{ FINDING_TAIL_DROP, FINDING_PACKET_LOSS, 2, 0, 20, false },
		{ FINDING_NO_PFC, FINDING_TAIL_DROP, 2, 2, 20, true },
		{ FINDING_NO_PFC, FINDING_TAIL_DROP, 2, 0, 20, false },
		{ FINDING_PFC_WATCHDOG, FINDING_TAIL_DROP, 2, 0, 20, true },
		{ FINDING_PFC_WATCHDOG, FINDING_PACKET_LOSS, 2, 0, 20, true },
		{ FINDING_PFC_STORM, FINDING_PFC_BACKPRESSURE, 0, 1, 20, true },
		{ FINDING_PACKET_LOSS, FINDING_TAIL_DROP, 2, 2, 20, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct finding findings[] = {
			{ .type = rows[i].of, .root_port = rows[i].port, .end_ps = rows[i].end_ps },
			{ .type = rows[i].cause, .root_port = rows[i].cause_port, .start_ps = 10, .end_ps = 20 },
		};
		const struct verdict v = { .run = { .ports = ports, .nports = ARRAY_LEN(ports) },
					   .findings = findings,
					   .nfindings = ARRAY_LEN(findings) };

		if ((verdict_cause_of(&v, 0) == 1) != rows[i].follows)
			fail_msg("row %zu", i);
		if (rows[i].follows)
			assert_int_equal(verdict_cause_of(&v, 1), RUN_NONE);
	}
}

/*
 * Hosts 0 and 1 at leaf 2, host 5 at leaf 4, host 7 at leaf 6; spines 3 and 8 between the leaves. The link between spine 3
 * and leaf 4 is down. Flows from leaf 2 to host 5 have one path instead of two; those to host 7 still have two.
 */
enum { LINKS = 10, NODES = 9, DOWN = 5 };
static const uint32_t links[LINKS][2] = { { 0, 2 }, { 1, 2 }, { 5, 4 }, { 7, 6 }, { 2, 3 },
					  { 4, 3 }, { 6, 3 }, { 2, 8 }, { 4, 8 }, { 6, 8 } };

/* @return the port of the link that is down, at its first end  @param fabric  [2 * LINKS] set  @param nodes  [NODES] */
static uint32_t
make_fabric(struct run_port *fabric, struct run_node *nodes)
{
	uint32_t count = 0, down = RUN_NONE;

	for (uint32_t n = 0; n < NODES; n++) {
		nodes[n] = (struct run_node){ .host = n == 0 || n == 1 || n == 5 || n == 7, .first_port = count };
		for (uint32_t l = 0; l < LINKS; l++) {
			for (uint32_t e = 0; e < 2; e++) {
				if (links[l][e] != n)
					continue;
				if (l == DOWN && e == 0)
					down = count;
				fabric[count++] =
					(struct run_port){ .node = n, .peer_node = links[l][!e], .peer_port = RUN_NONE };
				nodes[n].nports++;
			}
		}
	}
	return down;
}

static uint32_t
port_to(const struct run_port *fabric, const struct run_node *nodes, uint32_t node, uint32_t next)
{
	uint32_t at = nodes[node].first_port;

	while (fabric[at].peer_node != next)
		at++;
	return at;
}

static void
fewer_paths_are_felt_far_from_the_link(void **state)
{
	static const struct {
		uint32_t node, next; /* the contention is at the port that leads from one to the other */
		uint32_t src, dst;   /* of a flow that is part of it */
		bool follows;
	} rows[] = {
		{ 2, 8, 0, 5, true },        /* at the leaf that has one way up less */
		{ 8, 4, 0, 5, true },        /* at the other spine, which has all of it */
		{ 6, 8, 7, 5, true },        /* at any leaf */
		{ 4, 5, 0, 5, false },       /* the last hop has them all anyway, at a switch of the link too */
		{ 2, 8, 0, 7, false },       /* no path to there leads by the link */
		{ 0, 2, 0, 5, false },       /* all paths begin */
		{ 2, 0, 5, 0, false },       /* and end here */
		{ 2, 8, 0, RUN_NONE, false } /* nobody knows where it goes */
	};
	struct run_port fabric[2 * LINKS];
	struct run_node nodes[NODES];
	uint32_t down = make_fabric(fabric, nodes);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct run_flow flow = { .src = rows[i].src, .dst = rows[i].dst };
		uint32_t victims[] = { 0 };
		struct finding findings[] = {
			{ .type = FINDING_FLOW_CONTENTION, .end_ps = 20, .victims = victims, .nvictims = 1 },
			{ .type = FINDING_LINK_DOWN, .root_port = down, .start_ps = 10, .end_ps = 20 },
		};

		findings[0].root_port = port_to(fabric, nodes, rows[i].node, rows[i].next);
		const struct verdict v = { .run = { .ports = fabric,
						    .nports = ARRAY_LEN(fabric),
						    .nodes = nodes,
						    .nnodes = NODES,
						    .flows = &flow,
						    .nflows = 1 },
					   .findings = findings,
					   .nfindings = ARRAY_LEN(findings) };

		if ((verdict_cause_of(&v, 0) == 1) != rows[i].follows)
			fail_msg("row %zu", i);
	}
}

/* A flow to host 5, with one path instead of two, and one to host 7, at the port to spine 8: the time of each counts. */
static void
most_of_the_time_counts(void **state)
{
	struct run_flow flows[] = { { .src = 0, .dst = 5 }, { .src = 1, .dst = 7 }, { .src = 0, .dst = 7 } };
	struct run_step steps[] = { { .flow = 0 }, { .flow = 1 } };
	struct run_port fabric[2 * LINKS];
	struct run_node nodes[NODES];
	uint32_t down = make_fabric(fabric, nodes);

	(void)state;
	for (int most = 0; most < 2; most++) {
		struct finding_claim claims[] = { { .step = 0, .flow = 1, .ps = most == 0 ? 3 : 1 },
						  { .step = 1, .flow = 2, .ps = most == 0 ? 1 : 3 } };
		struct finding findings[] = {
			{ .type = FINDING_FLOW_CONTENTION,
			  .end_ps = 20,
			  .root_port = port_to(fabric, nodes, 2, 8),
			  .claims = claims,
			  .nclaims = ARRAY_LEN(claims) },
			{ .type = FINDING_LINK_DOWN, .root_port = down, .start_ps = 10, .end_ps = 20 },
		};
		const struct verdict v = { .run = { .ports = fabric,
						    .nports = ARRAY_LEN(fabric),
						    .nodes = nodes,
						    .nnodes = NODES,
						    .flows = flows,
						    .nflows = ARRAY_LEN(flows),
						    .steps = steps,
						    .nsteps = ARRAY_LEN(steps) },
					   .findings = findings,
					   .nfindings = ARRAY_LEN(findings) };

		assert_int_equal(verdict_cause_of(&v, 0), most == 0 ? 1 : RUN_NONE);
	}
}

/* The paths of 0 and 1 to 5: one by this spine, if any, the other by 8. Another path crosses the link. @param hops  [9] */
static void
set_paths(struct run_hop *hops, const struct run_port *fabric, const struct run_node *nodes, uint32_t spine)
{
	const uint32_t path[2][5] = { { 0, 2, spine, 4, 5 }, { 1, 2, 8, 4, 5 } };

	for (uint32_t h = 0; h < 8 && spine != 0; h++)
		hops[h].port = port_to(fabric, nodes, path[h / 4][h % 4], path[h / 4][h % 4 + 1]);
	hops[8] = (struct run_hop){ .flow = 2, .port = port_to(fabric, nodes, 3, 4), .reverse = true };
}

/*
 * Two flows to host 5 would share the queue to either spine in one of two cases: half of the time is the link's. Where it
 * is known that one of them was to pass the link's spine, all of it is; where both were to pass the other, none.
 */
static void
a_link_gets_its_share(void **state)
{
	static const struct {
		uint32_t spine; /* of the first flow; 0: no path is configured */
		double given_ps;
	} rounds[] = { { 0, 40 }, { 3, 80 }, { 8, 0 } };
	struct run_step steps[] = { { .flow = 0, .end_ps = 20 }, { .flow = 0, .end_ps = 10 } };
	struct run_port fabric[2 * LINKS];
	struct run_node nodes[NODES];
	uint32_t down = make_fabric(fabric, nodes);

	(void)state;
	for (size_t r = 0; r < ARRAY_LEN(rounds); r++) {
		uint32_t spine = rounds[r].spine, nhops = spine != 0 ? 4 : 0;
		struct run_flow flows[] = { { .src = 0, .dst = 5, .nhops = nhops },
					    { .src = 1, .dst = 5, .first_hop = 4, .nhops = nhops } };
		struct run_hop hops[9] = { 0 };
		const struct run run = { .ports = fabric,
					 .nports = ARRAY_LEN(fabric),
					 .nodes = nodes,
					 .nnodes = NODES,
					 .flows = flows,
					 .nflows = ARRAY_LEN(flows),
					 .hops = hops,
					 .nhops = ARRAY_LEN(hops),
					 .steps = steps,
					 .nsteps = ARRAY_LEN(steps) };
		struct finding_claim claims[2][2];
		struct finding findings[] = {
			{ .type = FINDING_FLOW_CONTENTION, .root_port = port_to(fabric, nodes, 2, 8), .nclaims = 2 },
			{ .type = FINDING_LINK_DOWN, .root_port = down, .start_ps = 10 },
			{ .type = FINDING_FLOW_CONTENTION, .root_port = port_to(fabric, nodes, 4, 5), .nclaims = 2 },
		};
		struct err err;

		set_paths(hops, fabric, nodes, spine);
		for (uint32_t i = 0; i < 3; i += 2) {
			claims[i / 2][0] = (struct finding_claim){ .step = 0, .flow = 1, .ps = 80 };
			claims[i / 2][1] = (struct finding_claim){ .step = 1, .flow = 1, .ps = 8 }; /* over by then */
			findings[i].claims = claims[i / 2];
			findings[i].explained_ps = 88;
			findings[i].end_ps = 20;
		}
		assert_int_equal(findings_give_links(&run, findings, 3, &err), 0);
		assert_int_equal(findings[1].nclaims, rounds[r].given_ps > 0);
		assert_true(findings[1].explained_ps == rounds[r].given_ps);
		assert_true(claims[0][0].ps == 80 - rounds[r].given_ps && claims[0][1].ps == 8);
		assert_true(findings[0].explained_ps == 88 - rounds[r].given_ps);
		assert_true(claims[1][0].ps == 80 && findings[2].explained_ps == 88); /* the last hop has them anyway */
		assert_int_equal(findings[0].lacks, rounds[r].given_ps > 0 ? down + 1 : 0);
		assert_int_equal(findings[2].lacks, 0);
		if (findings[1].nclaims != 0) {
			assert_int_equal(findings[1].claims[0].flow, RUN_NONE);
			assert_int_equal(findings[1].claims[0].step, 0);
			assert_true(findings[1].claims[0].ps == rounds[r].given_ps);
		}
		free(findings[1].claims);
	}
}

UNIT_TEST(consequences)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(consequences_have_causes),
		cmocka_unit_test(fewer_paths_are_felt_far_from_the_link),
		cmocka_unit_test(most_of_the_time_counts),
		cmocka_unit_test(a_link_gets_its_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

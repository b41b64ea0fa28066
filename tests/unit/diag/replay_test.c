/* SPDX-License-Identifier: BSD-3-Clause */
/* A job's waiting graph replayed without its causes, and what that makes of these. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/ending.h"
#include "diag/vedrfolnir/rating/rating.h"
#include "tests/unit/unit.h"

#define MAX_STEPS 64

/* A job of one collective an iteration, two ranks, steps as they are added. */
static struct {
	struct run run;
	struct run_job job;
	struct run_iteration iterations[2];
	struct run_collective collectives[2];
	struct run_rank ranks[4];
	struct run_step steps[MAX_STEPS];
	uint32_t depends[MAX_STEPS];
} rig;

static struct replay_together together; /* of the latest share() */

static void
begin(void)
{
	memset(&rig, 0, sizeof(rig));
	rig.run = (struct run){ .jobs = &rig.job,
				.njobs = 1,
				.iterations = rig.iterations,
				.niterations = 1,
				.collectives = rig.collectives,
				.ncollectives = 1,
				.ranks = rig.ranks,
				.nranks = 2,
				.steps = rig.steps,
				.depends = rig.depends };
	rig.job.niterations = 1;
	for (uint32_t i = 0; i < ARRAY_LEN(rig.collectives); i++) {
		rig.iterations[i] = (struct run_iteration){ .iteration = i, .first_collective = i, .ncollectives = 1 };
		rig.collectives[i] = (struct run_collective){ .iteration = i, .in = i, .first_rank = 2 * i, .nranks = 2 };
	}
	for (uint32_t i = 0; i < ARRAY_LEN(rig.ranks); i++)
		rig.ranks[i].part = true;
}

/* @param on  the step that it depends on, RUN_NONE: none */
static uint32_t
step(uint32_t collective, uint32_t rank, uint32_t on, uint64_t start_ps, uint64_t end_ps)
{
	uint32_t index = rig.run.nsteps++;

	rig.steps[index] = (struct run_step){ .collective = collective,
					      .rank = rank,
					      .peer = rank ^ 1,
					      .reported = true,
					      .started = true,
					      .start_ps = start_ps,
					      .end_ps = end_ps,
					      .first_dep = rig.run.ndepends,
					      .ndeps = on != RUN_NONE };
	if (on != RUN_NONE)
		rig.depends[rig.run.ndepends++] = on;
	if (rig.iterations[collective].nsteps++ == 0)
		rig.iterations[collective].first_step = rig.collectives[collective].first_step = index;
	rig.collectives[collective].nsteps++;
	return index;
}

static void
share(struct replay_claim *claims, uint32_t count)
{
	struct err err = { 0 };

	assert_int_equal(replay_share(&rig.run, 0, claims, count, &together, &err), 0);
}

/* One after the other: each cost what it claims. */
static void
test_chain(void **state)
{
	struct replay_claim claims[2] = { { .step = 0, .player = 0, .ps = 30 },
					  { .step = 1, .player = 4000000000u, .ps = 40 } };

	begin();
	step(0, 0, RUN_NONE, 0, 50);
	step(0, 1, 0, 55, 120);
	share(claims, 2);
	assert_true(claims[0].share_ps == 30 && claims[0].regained_ps == 30);
	assert_true(claims[1].share_ps == 40 && claims[1].regained_ps == 40);
}

/*
 * A run ends at 100, when step 0 fails: 60 of that are lost, and half of its bytes are left. Step 1 still sends, and step 2
 * waits for step 0. Had the run been complete, its end would be that of step 1 in any case.
 */
static void
test_a_run_that_failed_goes_on(void **state)
{
	for (int failed = 0; failed < 2; failed++) {
		struct replay_claim claim = { .step = 0, .player = 0, .ps = 60 };

		begin();
		rig.run.end_reason = failed ? REC_END_QP_ERROR : REC_END_COMPLETE;
		step(0, 0, RUN_NONE, 0, 100);
		step(0, 1, RUN_NONE, 90, 100);
		step(0, 1, 0, 0, 0);
		for (uint32_t i = 0; i < 3; i++) {
			rig.steps[i].open = true;
			rig.steps[i].bytes = 1000;
			rig.steps[i].acked_bytes = i == 0 ? 500 : 0;
			rig.steps[i].expect_ps = 80;
			rig.steps[i].started = i != 2;
		}
		share(&claim, 1);
		assert_true(claim.regained_ps == (failed ? 40 : 0)); /* from 100 + 40 + 80 to the end of step 1, 100 + 80 */
	}
}

/*
 * Step 0 lost 60 of 100, step 2 waits for it and has no report: in a run that finished it was done, in 80 as expected, and
 * the job waited for it, not for step 1. Of a run cut short nothing is known of it, nor where step 2 had to wait.
 */
static void
test_a_step_without_a_report(void **state)
{
	for (int of = 0; of < 3; of++) {
		struct replay_claim claim = { .step = 0, .player = 0, .ps = 60 };

		begin();
		rig.run.end_reason = of == 1 ? REC_END_INTERRUPT : REC_END_COMPLETE;
		step(0, 0, RUN_NONE, 0, 100);
		step(0, 1, RUN_NONE, 0, 110);
		step(0, 1, 0, 0, 0);
		rig.steps[2] = (struct run_step){ .collective = 0,
						  .rank = 1,
						  .peer = 0,
						  .expect_ps = 80,
						  .waits = of == 2,
						  .first_dep = rig.steps[2].first_dep,
						  .ndeps = 1 };
		share(&claim, 1);
		assert_true(claim.regained_ps == (of == 0 ? 60 : 0));
	}
}

#define PORT_BPS UINT64_C(8000000000000) /* a byte in 1 ps */

/* Steps 0 and 1 have a path each, of one hop. */
static void
put_paths(uint32_t port_of_1)
{
	static struct run_port ports[2];
	static struct run_flow flows[2];
	static struct run_hop hops[2];

	ports[0].rate_bps = ports[1].rate_bps = PORT_BPS;
	for (uint32_t i = 0; i < 2; i++) {
		flows[i] = (struct run_flow){ .first_hop = i, .nhops = 1 };
		hops[i] = (struct run_hop){ .flow = i, .port = i == 0 ? 0 : port_of_1 };
		rig.steps[i].flow = i;
		rig.steps[i].bytes = 100;
	}
	rig.run.ports = ports;
	rig.run.nports = 2;
	rig.run.flows = flows;
	rig.run.nflows = 2;
	rig.run.hops = hops;
	rig.run.nhops = 2;
	rig.run.config.payload_bytes = 10;
	rig.run.config.frame_bytes = 11;
}

/*
 * A storm held step 0 up for 100, meanwhile step 1 had the port of both for itself. It would have waited for step 0 there:
 * of 230 the port sends for 220. Where each has a port, all of the 100 are regained up to the end of step 1; and so is what
 * step 0 waited for step 1, as without that they have a port each.
 */
static void
test_a_busy_port(void **state)
{
	for (uint32_t port = 0; port < 2; port++) {
		struct replay_claim claims[2] = { { .step = 0, .player = 0, .ps = 100 },
						  { .step = 0, .player = 1, .ps = 20, .shifts = true } };

		begin();
		step(0, 0, RUN_NONE, 0, 230);
		step(0, 1, RUN_NONE, 0, 115);
		put_paths(port);
		share(claims, 2);
		assert_true(claims[0].player == 0 && claims[0].regained_ps == (port == 0 ? 10 : 100));
		assert_true(claims[1].regained_ps == 20);
	}
}

/* Side by side, of 10 each, one 10 too late and one 9: either alone would have cost nearly as much. */
static void
test_side_by_side(void **state)
{
	struct replay_claim claims[2] = { { .step = 0, .player = 0, .ps = 1000, .host = true },
					  { .step = 1, .player = 1, .ps = 900, .host = true } };

	begin();
	step(0, 0, RUN_NONE, 0, 2000);
	step(0, 1, RUN_NONE, 0, 1900);
	share(claims, 2);
	assert_true(claims[0].share_ps == 550 && claims[0].regained_ps == 100);
	assert_true(claims[1].share_ps == 450 && claims[1].regained_ps == 0);
	assert_true(together.hosts_ps == 1000);
}

/* What is off the way that takes longest, whatever is left out, costs nothing. */
static void
test_hidden(void **state)
{
	struct replay_claim claims[2] = { { .step = 0, .player = 0, .ps = 300 }, { .step = 1, .player = 1, .ps = 200 } };

	begin();
	step(0, 0, RUN_NONE, 0, 2000);
	step(0, 1, RUN_NONE, 0, 1000);
	share(claims, 2);
	assert_true(claims[0].share_ps == 300 && claims[0].regained_ps == 300);
	assert_true(claims[1].share_ps == 0 && claims[1].regained_ps == 0);
}

/* A player's claims in several places: what it costs is where the longest way has them. */
static void
test_places(void **state)
{
	struct replay_claim claims[3] = { { .step = 0, .player = 0, .ps = 60, .owner = 1 },
					  { .step = 1, .player = 0, .ps = 20, .owner = 2 },
					  { .step = 2, .player = 0, .ps = 50, .owner = 3 } };

	begin();
	step(0, 0, RUN_NONE, 0, 100);
	step(0, 0, 0, 100, 200);
	step(0, 1, RUN_NONE, 0, 150);
	share(claims, 3);
	assert_true(claims[0].owner == 1 && claims[0].share_ps == 60 && claims[0].regained_ps == 60);
	assert_true(claims[1].owner == 2 && claims[1].share_ps == 20);
	assert_true(claims[2].owner == 3 && claims[2].share_ps == 0);
}

/* A rank continues to the next iteration when it is done with this one: what delays it there is not lost once more. */
static void
test_iterations(void **state)
{
	struct replay_claim claims[2] = { { .step = 0, .player = 0, .ps = 70 }, { .step = 2, .player = 1, .ps = 10 } };

	begin();
	rig.run.ncollectives = rig.run.niterations = rig.job.niterations = 2;
	rig.run.nranks = 4;
	step(0, 0, RUN_NONE, 0, 100);
	step(0, 1, RUN_NONE, 0, 30);
	step(1, 0, RUN_NONE, 105, 145); /* both ranks have received at 100 */
	step(1, 1, RUN_NONE, 105, 135);
	share(claims, 2);
	assert_true(claims[0].share_ps == 70 && claims[1].share_ps == 10);
}

/* More players than all sets are gone through of, and than have orders of their own: sums stay, equals are about equal. */
static void
test_many(void **state)
{
	for (uint32_t players = 12; players <= 60; players += 48) {
		struct replay_claim claims[MAX_STEPS];
		double sum_ps = 0;

		begin();
		for (uint32_t i = 0; i < players; i++) {
			step(0, i % 2, i >= 2 ? i - 2 : RUN_NONE, i / 2 * 1000, (i / 2 + 1) * 1000);
			claims[i] = (struct replay_claim){ .step = i, .player = i, .ps = 100 };
		}
		share(claims, players);
		for (uint32_t i = 0; i < players; i++) {
			sum_ps += claims[i].share_ps;
			assert_true(claims[i].share_ps > 20 && claims[i].share_ps < 80);
			assert_true(claims[i].regained_ps == 0);
		}
		assert_true(sum_ps > players / 2 * 100 - players && sum_ps < players / 2 * 100 + players);
	}
}

/* Nobody waits for a generator's flows: each counts. */
static void
test_flows(void **state)
{
	struct replay_claim claims[2] = { { .step = 0, .player = 0, .ps = 5 }, { .step = 1, .player = 0, .ps = 7 } };

	begin();
	rig.collectives[0].op = COLL_FLOWS;
	step(0, 0, RUN_NONE, 0, 100);
	step(0, 1, RUN_NONE, 0, 20);
	share(claims, 2);
	assert_true(claims[0].share_ps == 5 && claims[1].share_ps == 7);
}

/* Records may be wrong: steps that wait for each other are left out, and so is what was never started. */
static void
test_circle(void **state)
{
	struct replay_claim claims[2] = { { .step = 0, .player = 0, .ps = 5 }, { .step = 2, .player = 1, .ps = 10 } };

	begin();
	step(0, 0, 1, 0, 100);
	step(0, 1, 0, 0, 100);
	step(0, 0, RUN_NONE, 0, 50);
	rig.steps[step(0, 1, 2, 0, 0)].started = false;
	share(claims, 2);
	assert_true(claims[0].share_ps == 0 && claims[1].share_ps == 10);
}

UNIT_TEST(replay)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_a_run_that_failed_goes_on),
		cmocka_unit_test(test_a_step_without_a_report),
		cmocka_unit_test(test_a_busy_port),
		cmocka_unit_test(test_side_by_side),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_iterations),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_circle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

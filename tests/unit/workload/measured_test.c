/* SPDX-License-Identifier: BSD-3-Clause */
/* What of collectives has tags: which flows, in which class, with which iteration; and what is refused. */
#include "common/tag.h"
#include "common/units.h"
#include "tests/unit/rxe-hosts/steps_rig.h"
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "workload/plan.h"
#include "workload/workload.h"

#define LEAF_SPINE "topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 3; };\n"
#define RING "bytes = 4000; measured = true; "

static const struct plan_options options = { .data_prio = 3, .measured_prio = 5 };
static struct cfg *cfg;
static struct topo *topo;
static struct workload *workload;
static struct plan *plan;
static struct err err;

static int
fini(void **state)
{
	plan_destroy(plan);
	workload_destroy(workload);
	topo_destroy(topo);
	cfg_destroy(cfg);
	plan = NULL;
	workload = NULL;
	topo = NULL;
	cfg = NULL;
	return 0;
}

static bool
load(const char *text)
{
	char scenario[2048];

	fini(NULL);
	err.text[0] = '\0';
	snprintf(scenario, sizeof(scenario), LEAF_SPINE "%s", text);
	cfg = cfg_load_string(scenario, "s.cfg", &err);
	assert_non_null(cfg);
	assert_int_equal(topo_build(cfg, &topo, &err), 0);
	workload = workload_create(cfg, topo, 1, &err);
	if (workload != NULL)
		plan = plan_create(topo, &options, workload, NULL, 0, &err);
	return plan != NULL;
}

static void
loaded(const char *text)
{
	if (!load(text))
		fail_msg("%s", err.text);
}

static void
refused(const char *text, const char *why)
{
	if (load(text) || strstr(err.text, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

/* The data flow between two ranks of a collective. */
static const struct plan_flow *
flow_of(uint32_t collective, uint32_t from, uint32_t to)
{
	const struct plan_collective *c = &plan->collectives[collective];

	for (uint32_t i = c->first_flow; i < c->first_flow + c->nflows; i++)
		if (plan->of[i].rank == from && plan->of[i].peer == to)
			return &plan->of[i];
	fail_msg("rank %u sends nothing to rank %u", from, to);
	return NULL;
}

static uint32_t
measured_flows(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->flows.count; i++) {
		assert_int_equal(plan->flows.flows[i].prio, plan->of[i].measured ? 5 : 3);
		count += plan->of[i].measured;
	}
	return count;
}

static void
a_measured_collective_has_a_class_of_its_own(void **state)
{
	loaded("collectives = ( { " RING "}, { bytes = 4000; } );");
	assert_int_equal(measured_flows(), 6);
	assert_true(plan->collectives[0].measured);
	assert_false(plan->collectives[1].measured);
	assert_true(flow_of(0, 5, 0)->measured);
	assert_false(flow_of(1, 5, 0)->measured);
}

static void
pairs_choose_flows_of_all_channels(void **state)
{
	loaded("collectives = ( { op = \"alltoall\"; algorithm = \"linear\"; bytes = 2400; measured = true; "
	       "measured_pairs = [ \"0 3\", \"4 1\" ]; } );");
	assert_int_equal(measured_flows(), 2);
	assert_true(flow_of(0, 0, 3)->measured);
	assert_true(flow_of(0, 4, 1)->measured);
	assert_false(flow_of(0, 3, 0)->measured);
	loaded("collectives = ( { " RING "channels = 2; measured_pairs = [ \"2 3\" ]; } );");
	assert_int_equal(measured_flows(), 2);
	refused("collectives = ( { " RING "measured_pairs = [ \"0 2\" ]; } );", "rank 0 sends nothing to rank 2");
	refused("collectives = ( { " RING "measured_pairs = [ \"0 6\" ]; } );", "0 to 5");
	refused("collectives = ( { " RING "measured_pairs = [ \"0-6\" ]; } );", "s.cfg:2: collectives.[0].measured_pairs");
	refused("collectives = ( { bytes = 4000; measured_pairs = [ \"0 1\" ]; } );", "needs measured = true");
}

static void
a_stride_is_another_order_of_a_ring(void **state)
{
	loaded("collectives = ( { bytes = 4000; stride = 5; } );");
	for (uint32_t rank = 0; rank < 6; rank++)
		flow_of(0, rank, (rank + 5) % 6);
	assert_int_equal(plan->collectives[0].nflows, 6);
	refused("collectives = ( { bytes = 4000; stride = 4; } );", "4 and 6 ranks of a group have a divisor in common");
	loaded("jobs = ( { name = \"j\"; dims = ( { name = \"a\"; size = 3; }, { name = \"b\"; size = 2; } ); collectives "
	       "= ( "
	       "{ bytes = 4000; group = \"a\"; stride = 2; } ); } );");
	flow_of(0, 0, 2);
	flow_of(0, 5, 4);
}

static void
a_leaf_receives_those_of_one_job(void **state)
{
	refused("collectives = ( { " RING "ranks = [ \"h0\", \"h3\" ]; },\n { " RING "ranks = [ \"h1\", \"h4\" ]; } );",
		"s.cfg:3: collectives.[1].measured: switch");
	/* Within a leaf nothing comes from a spine; a job that is not enabled sends nothing. */
	loaded("collectives = ( { " RING "ranks = [ \"h0\", \"h1\" ]; }, { " RING "ranks = [ \"h2\", \"h4\" ]; } );");
	loaded("collectives = ( { " RING "ranks = [ \"h0\", \"h3\" ]; }, { " RING
	       "enabled = false; ranks = [ \"h1\", \"h4\" ]; } );");
	/* Of one job all have its iterations. */
	loaded("jobs = ( { name = \"j\"; collectives = ( { " RING "}, { " RING "stride = 5; after = [ ]; } ); } );");
	assert_int_equal(measured_flows(), 12);
}

static void
a_jobs_transfers_are_measured_with_it(void **state)
{
	const char *const job = "jobs = ( { name = \"j\"; %s dims = ( { name = \"tensor\"; size = 3; }, "
				"{ name = \"pipeline\"; size = 2; } ); pipeline = { micro_batches = 2; bytes = 4000; }; "
				"collectives = ( { bytes = 4000; group = \"tensor\"; phase = \"forward\"; %s }, "
				"{ bytes = 4000; group = \"tensor\"; phase = \"backward\"; %s } ); } );";
	char text[1024];

	snprintf(text, sizeof(text), job, "measured = true;", "", "");
	loaded(text);
	assert_int_equal(measured_flows(), plan->flows.count);
	snprintf(text, sizeof(text), job, "", "measured = true;", "");
	loaded(text);
	for (uint32_t c = 0; c < plan->ncollectives; c++)
		assert_int_equal(plan->collectives[c].measured, workload->works[c].config.phase == PHASE_FORWARD &&
									workload->works[c].to_stage == WORK_NO_STAGE);
	assert_in_range(measured_flows(), 1, plan->flows.count - 1);
}

static uint64_t
takes_ps(uint32_t host, uint32_t flow, uint32_t imm, uint64_t bytes)
{
	return (100 + host) * PS_PER_US;
}

/* Every message has its iteration's, and those of another collective have none. */
static void
messages_have_the_tag_of_their_iteration(void **state)
{
	static struct steps_rig rig;
	uint32_t seen[STAR_MAX_HOSTS] = { 0 };

	steps_rig_init(&rig, 3, REC_POLICY_OFF,
		       "collectives = ( { bytes = 1200; iterations = 18; measured = true; }, { bytes = 1200; } );", NULL,
		       NULL);
	steps_rig_run(&rig, takes_ps);
	for (uint32_t host = 0; host < 3; host++) {
		for (uint32_t i = 0; i < rig.dev[host].nposts; i++) {
			const struct scripted_post *post = &rig.dev[host].posts[i];

			if (rig.plan->of[post->flow].owner == 0)
				assert_int_equal(post->wr.tag, tag_make(seen[host]++ / 2));
			else
				assert_int_equal(post->wr.tag, 0);
		}
		assert_int_equal(seen[host], 18 * 2);
	}
	steps_rig_fini(&rig);
}

UNIT_TEST(measured)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_measured_collective_has_a_class_of_its_own, fini),
		cmocka_unit_test_teardown(pairs_choose_flows_of_all_channels, fini),
		cmocka_unit_test_teardown(a_stride_is_another_order_of_a_ring, fini),
		cmocka_unit_test_teardown(a_leaf_receives_those_of_one_job, fini),
		cmocka_unit_test_teardown(a_jobs_transfers_are_measured_with_it, fini),
		cmocka_unit_test(messages_have_the_tag_of_their_iteration),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs of a scenario, resolved: ranks, groups, order, pipelines; and what is refused, with its place. */
#include "common/array.h"
#include "common/units.h"
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "workload/workload.h"

#define LEAF_SPINE "topology = { kind = \"leaf-spine\"; leaves = 4; spines = 1; hosts_per_leaf = 4; };\n"

static struct cfg *cfg;
static struct topo *topo;
static struct workload *workload;
static struct err err;

static int
fini(void **state)
{
	workload_destroy(workload);
	topo_destroy(topo);
	cfg_destroy(cfg);
	workload = NULL;
	topo = NULL;
	cfg = NULL;
	return 0;
}

/* Keys are checked as a scenario's are. @return NULL with err set where the text is refused */
static struct workload *
load(const char *text)
{
	static const struct cfg_table *const tables[] = { &collective_table, &job_table,     &job_collective_table,
							  &placement_table,  &jitter_table,  &straggler_table,
							  &dims_table,       &pipeline_table };
	struct cfg_known known[32];
	char scenario[4096];
	size_t count = topo_tables(known, ARRAY_LEN(known));

	fini(NULL);
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		known[count++] = (struct cfg_known){ tables[i], NULL };
	snprintf(scenario, sizeof(scenario), LEAF_SPINE "%s", text);
	err.text[0] = '\0';
	cfg = cfg_load_string(scenario, "s.cfg", &err);
	assert_non_null(cfg);
	assert_int_equal(topo_build(cfg, &topo, &err), 0);
	if (cfg_check(cfg, known, count, &err) == 0)
		workload = workload_create(cfg, topo, 1, &err);
	return workload;
}

static void
loaded(const char *text)
{
	if (load(text) == NULL)
		fail_msg("%s", err.text);
}

static void
refused(const char *text, const char *message)
{
	assert_null(load(text));
	assert_string_equal(err.text, message);
}

/* "h0 h1 " */
static const char *
ranks_of(uint32_t job)
{
	static char text[512];

	text[0] = '\0';
	for (uint32_t r = 0; r < workload->jobs[job].grid.ranks; r++)
		sprintf(text + strlen(text), "%s ", topo->nodes[workload->jobs[job].ranks[r].node].name);
	return text;
}

/* Names of what a collective comes after, "a b ". */
static const char *
after(uint32_t w)
{
	static char text[512];
	const struct work_item *work = &workload->works[w];

	text[0] = '\0';
	for (uint32_t i = 0; i < work->nafter; i++)
		sprintf(text + strlen(text), "%s ", workload->works[workload->after[work->first_after + i]].name);
	return text;
}

static uint32_t
find(const char *name)
{
	for (uint32_t w = 0; w < workload->nworks; w++)
		if (strcmp(workload->works[w].name, name) == 0)
			return w;
	fail_msg("no collective \"%s\"", name);
	return 0;
}

/* "0,1 2,3 " */
static const char *
groups(const char *name)
{
	static char text[1024];
	struct work_groups groups;

	assert_int_equal(workload_groups(workload, find(name), &groups), 0);
	text[0] = '\0';
	for (uint32_t i = 0; i < groups.groups * groups.ranks; i++)
		sprintf(text + strlen(text), "%u%c", groups.rank_of[i], i % groups.ranks + 1 == groups.ranks ? ' ' : ',');
	free(groups.rank_of);
	return text;
}

static void
top_level_collectives_are_jobs(void **state)
{
	loaded("collectives = ( { bytes = 1600; ranks = [ \"h[4-5,9]\" ]; start = \"5us\"; iterations = 3; },\n"
	       " { op = \"allreduce\"; name = \"sum\"; bytes = 1600; gap = \"2us\"; } );");
	assert_int_equal(workload->njobs, 2);
	assert_int_equal(workload->nworks, 2);
	assert_string_equal(workload->jobs[0].name, "allgather-0");
	assert_string_equal(workload->works[0].name, "allgather-0");
	assert_string_equal(ranks_of(0), "h4 h5 h9 ");
	assert_int_equal(workload->jobs[0].start_ps, 5 * PS_PER_US);
	assert_int_equal(workload->jobs[0].iterations, 3);
	assert_string_equal(workload->jobs[1].name, "sum");
	assert_int_equal(workload->jobs[1].grid.ranks, 16);
	assert_int_equal(workload->works[1].job, 1);
	assert_string_equal(after(1), "");
}

static void
collectives_follow_one_another_or_their_own_order(void **state)
{
	loaded("collectives = ( { bytes = 1600; } );\n"
	       "jobs = ( { name = \"j\"; ranks = [ \"h[0-3]\" ]; iterations = 2; start = \"1us\"; gap = \"3us\"; compute = "
	       "\"7us\";\n"
	       " collectives = ( { name = \"a\"; bytes = 1600; compute = \"2us\"; }, { bytes = 1600; },\n"
	       "  { name = \"c\"; bytes = 1600; after = []; }, { name = \"d\"; bytes = 1600; after = [ \"a\", \"c\", \"a\" "
	       "]; },\n"
	       "  { name = \"e\"; bytes = 1600; } ); } );");
	assert_int_equal(workload->njobs, 2);
	assert_int_equal(workload->nworks, 6);
	assert_string_equal(after(find("a")), "");
	assert_string_equal(after(find("allgather-2")), "a ");
	assert_string_equal(after(find("c")), "");
	assert_string_equal(after(find("d")), "a c ");
	assert_string_equal(after(find("e")), "d ");
	assert_int_equal(workload->works[find("a")].compute_ps, 9 * PS_PER_US);
	assert_int_equal(workload->works[find("c")].compute_ps, 7 * PS_PER_US);
	assert_int_equal(workload->works[find("d")].compute_ps, 0);
	for (uint32_t w = 1; w < 6; w++) {
		assert_int_equal(workload->works[w].job, 1);
		assert_int_equal(workload->works[w].config.iterations, 2);
		assert_int_equal(workload->works[w].config.start_ps, PS_PER_US);
		assert_int_equal(workload->works[w].config.gap_ps, 3 * PS_PER_US);
	}
	assert_string_equal(groups("d"), "0,1,2,3 ");
}

#define ONE "collectives = ( { bytes = 1600; } ); "

static void
placements_take_what_named_ranks_leave(void **state)
{
	loaded("jobs = ( { name = \"a\"; placement = { count = 3; }; " ONE "},\n"
	       " { name = \"b\"; ranks = [ \"h[0-2]\" ]; " ONE "},\n"
	       " { name = \"c\"; ranks = [ \"h[2-3]\" ]; " ONE "},\n"
	       " { name = \"d\"; placement = { kind = \"spread\"; count = 4; }; " ONE "} );");
	assert_string_equal(ranks_of(0), "h4 h5 h6 ");
	assert_string_equal(ranks_of(1), "h0 h1 h2 ");
	assert_string_equal(ranks_of(2), "h2 h3 "); /* named ranks may share hosts */
	assert_string_equal(ranks_of(3), "h7 h8 h12 h9 ");
}

static void
groups_are_cut_by_dims(void **state)
{
	loaded("jobs = ( { name = \"j\"; placement = { count = 8; };\n dims = ( \"tensor 2\", { name = \"data\"; size = 4; "
	       "} );\n"
	       " collectives = ( { name = \"t\"; group = \"tensor\"; bytes = 1600; }, { name = \"d\"; group = \"data\"; "
	       "bytes = 1600; },\n"
	       "  { name = \"all\"; group = \"data+tensor\"; bytes = 1600; } ); } );");
	assert_string_equal(groups("t"), "0,1 2,3 4,5 6,7 ");
	assert_string_equal(groups("d"), "0,2,4,6 1,3,5,7 ");
	assert_string_equal(groups("all"), "0,1,2,3,4,5,6,7 ");
}

#define PIPELINE                                                                                                           \
	"jobs = ( { name = \"j\"; placement = { count = 8; }; dims = ( \"tensor 2\", \"data 2\", \"pipeline 2\" );\n"      \
	" pipeline = { micro_batches = 2; bytes = 4000; };\n"                                                              \
	" collectives = ( { name = \"f\"; phase = \"forward\"; group = \"tensor\"; bytes = 1600; compute = \"5us\"; },\n"  \
	"  { name = \"g\"; phase = \"forward\"; group = \"tensor\"; bytes = 1600; },\n"                                    \
	"  { name = \"b\"; phase = \"backward\"; bytes = 1600; },\n"                                                       \
	"  { name = \"sum\"; group = \"data\"; bytes = 1600; } ); } );"

/* Stage 0: F0 F1 B0 B1; stage 1: F0 B0 F1 B1. */
static void
pipelines_are_written_out(void **state)
{
	loaded(PIPELINE);
	assert_int_equal(workload->nworks, 2 * 2 * 3 + 2 * 2 + 1);
	assert_string_equal(groups("f.m0.s0"), "0,1 2,3 ");
	assert_string_equal(groups("g.m1.s1"), "4,5 6,7 ");
	assert_string_equal(groups("b.m0.s1"), "4,5,6,7 ");
	assert_string_equal(groups("activations.m1.s0"), "0,4 1,5 2,6 3,7 ");
	assert_string_equal(groups("gradients.m0.s1"), "4,0 5,1 6,2 7,3 ");
	assert_string_equal(groups("sum"), "0,2 1,3 4,6 5,7 ");
	assert_string_equal(after(find("f.m0.s0")), "");
	assert_string_equal(after(find("g.m0.s0")), "f.m0.s0 ");
	assert_string_equal(after(find("activations.m0.s0")), "f.m0.s0 g.m0.s0 ");
	assert_string_equal(after(find("f.m1.s0")), "f.m0.s0 g.m0.s0 ");
	assert_string_equal(after(find("f.m0.s1")), "activations.m0.s0 ");
	assert_string_equal(after(find("b.m0.s1")), "f.m0.s1 g.m0.s1 ");
	assert_string_equal(after(find("gradients.m0.s1")), "b.m0.s1 ");
	assert_string_equal(after(find("f.m1.s1")), "b.m0.s1 activations.m1.s0 ");
	assert_string_equal(after(find("b.m0.s0")), "f.m1.s0 g.m1.s0 gradients.m0.s1 ");
	assert_string_equal(after(find("b.m1.s0")), "b.m0.s0 gradients.m1.s1 ");
	assert_string_equal(after(find("sum")), "b.m1.s0 gradients.m1.s1 b.m1.s1 ");
	assert_int_equal(workload->works[find("activations.m1.s0")].config.bytes, 4000);
	assert_int_equal(workload->works[find("f.m1.s1")].compute_ps, 5 * PS_PER_US);
	for (uint32_t w = 0; w < workload->nworks; w++) /* what comes before stands before */
		for (uint32_t i = 0; i < workload->works[w].nafter; i++)
			assert_true(workload->after[workload->works[w].first_after + i] < w);
}

static void
stragglers_and_jitter_are_the_jobs(void **state)
{
	struct compute compute;

	loaded("jobs = ( { name = \"j\"; placement = { count = 4; }; jitter = { kind = \"uniform\"; spread = \"1us\"; };\n"
	       " delays = ( \"2 50us\", { rank = 1; delay = \"3us\"; collective = \"a\"; } );\n"
	       " collectives = ( { name = \"a\"; bytes = 1600; } ); } );");
	compute = workload_compute(workload, 0);
	assert_string_equal(compute.job, "j");
	assert_string_equal(compute.collective, "a");
	assert_int_equal(compute.jitter.spread_ps, PS_PER_US);
	assert_int_equal(compute.nstragglers, 2);
	assert_in_range(compute_actual_ps(&compute, 2, 0, 1), 50 * PS_PER_US, 51 * PS_PER_US + 1);
}

#define JOB(body) "jobs = ( {\n name = \"j\"; ranks = [ \"h[0-3]\" ];\n " body " } );"

static void
mistakes_are_named_with_their_place(void **state)
{
	refused("jobs = ( {\n " ONE "} );",
		"s.cfg:2: jobs.[0]: name is missing: Its name in reports: letters, digits, '_', '.' and '-', at most 31.");
	refused(JOB(""), "s.cfg:2: jobs.[0]: job \"j\" has no collectives");
	refused(JOB(ONE "placement = { };"), "s.cfg:4: jobs.[0].placement: the job's ranks are named; give one of both");
	refused(JOB(ONE "dims = ( \"data 3\" );"),
		"s.cfg:4: jobs.[0].dims.[0]: the dimensions' sizes multiply to 3; the job has 4 ranks");
	refused(JOB(ONE "dims = ( \"data\" );"), "s.cfg:4: jobs.[0].dims.[0]: size is missing: Number of ranks along it.");
	refused(JOB(ONE "dims = ( \"data 4 5\" );"),
		"s.cfg:4: jobs.[0].dims.[0]: found \"data 4 5\"; at most the words \"name size\" would be right");
	refused(JOB(ONE "jitter = { spread = \"1us\"; };"),
		"s.cfg:4: jobs.[0].jitter.spread: jitter has a kind and a spread, or neither");
	refused(JOB(ONE "jitter = { kind = \"normal\"; };"),
		"s.cfg:4: jobs.[0].jitter.kind: jitter has a kind and a spread, or neither");
	refused(JOB(ONE "delays = ( \"4 1us\" );"), "s.cfg:4: jobs.[0].delays.[0].rank: 4: the job has ranks 0 to 3");
	refused(JOB(ONE "delays = ( \"3 1us x\" );"),
		"s.cfg:4: jobs.[0].delays.[0].collective: \"x\" is no collective of job \"j\"");
	refused(JOB(ONE "iterations = 2; delays = ( { rank = 0; delay = \"1us\"; iteration = 2; } );"),
		"s.cfg:4: jobs.[0].delays.[0].iteration: 2: the job has iterations 0 to 1");
	refused(JOB("collectives = ( { bytes = 8;\n after = [ \"x\" ]; } );"),
		"s.cfg:5: jobs.[0].collectives.[0].after: \"x\" is no collective before it in the job's list; a name from "
		"there "
		"would be right");
	refused(JOB("collectives = ( { name = \"a\"; bytes = 8;\n after = [ \"a\" ]; } );"),
		"s.cfg:5: jobs.[0].collectives.[0].after: \"a\" is no collective before it in the job's list; a name from "
		"there "
		"would be right");
	refused(JOB("collectives = ( { name = \"a\"; bytes = 8; },\n { name = \"a\"; bytes = 8; } );"),
		"s.cfg:5: jobs.[0].collectives.[1].name: \"a\" is the name of another collective of the job");
	refused(JOB("collectives = ( { name = \"a b\"; bytes = 8; } );"),
		"s.cfg:4: jobs.[0].collectives.[0].name: \"a b\": letters, digits, '_', '.' and '-' would be right");
	refused(JOB("collectives = ( { name = \"a123456789b123456789c123456789d1\"; bytes = 8; } );"),
		"s.cfg:4: jobs.[0].collectives.[0].name: \"a123456789b123456789c123456789d1\" has 32 characters; 1 to 31 "
		"would be "
		"right");
	refused(JOB("collectives = ( { group = \"data\"; bytes = 8; } );"),
		"s.cfg:4: jobs.[0].collectives.[0].group: \"data\": the job has no dims");
	refused(JOB("collectives = ( { phase = \"forward\"; bytes = 8; } );"),
		"s.cfg:4: jobs.[0].collectives.[0].phase: the job has no pipeline");
	refused(JOB("collectives = ( { grup = \"data\"; bytes = 8; } );"),
		"s.cfg:4: jobs.[0].collectives.[0].grup: unknown key; did you mean \"group\"?");
	refused(JOB(ONE) "collectives = ( { name = \"j\"; bytes = 8; } );",
		"s.cfg:3: jobs.[0].name: \"j\" is the name of another job");
	refused("jobs = ( { name = \"a\"; placement = { count = 12; }; " ONE
		"},\n { name = \"b\"; placement = { count = 5; }; " ONE "} );",
		"s.cfg:3: jobs.[1].placement.count: 5 hosts asked for; 4 are free: ask for fewer, or let it share = true "
		"those of "
		"other jobs");
}

static void
bad_pipelines_are_refused(void **state)
{
	refused(JOB("collectives = ( { phase = \"forward\"; bytes = 8; } ); pipeline = { micro_batches = 1; bytes = 8; };"),
		"s.cfg:4: jobs.[0].pipeline.dim: \"pipeline\": the job has no dims");
	refused(JOB("collectives = ( { phase = \"forward\"; bytes = 8; } ); dims = ( \"pipeline 4\" );\n"
		    "pipeline = { micro_batches = 1; bytes = 8; };"),
		"s.cfg:5: jobs.[0].pipeline: the job has no collective of phase \"backward\": what does a stage do then? "
		"In "
		"groups of one rank it only computes");
	refused(JOB("collectives = ( { phase = \"forward\"; bytes = 8; } ); dims = ( \"pipeline 1\", \"data 4\" );\n"
		    "pipeline = { micro_batches = 1; bytes = 8; };"),
		"s.cfg:5: jobs.[0].pipeline.dim: \"pipeline\" has size 1; a pipeline has 2 stages or more");
	refused(JOB("collectives = ( { phase = \"forward\"; bytes = 8; group = \"pipeline\"; },\n { phase = \"backward\"; "
		    "bytes = 8; "
		    "} ); dims = ( \"pipeline 4\" );\n pipeline = { micro_batches = 1; bytes = 8; };"),
		"s.cfg:4: jobs.[0].collectives.[0].group: \"pipeline\" goes along the pipeline, which a phase has a stage "
		"of at a "
		"time");
	refused(JOB("collectives = ( { phase = \"forward\"; bytes = 8; name = \"a123456789b123456789c12345\"; },\n"
		    "{ phase = \"backward\"; bytes = 8; } ); dims = ( \"pipeline 2\", \"data 2\" );\n"
		    "pipeline = { micro_batches = 1; bytes = 8; };"),
		"s.cfg:4: jobs.[0].collectives.[0].name: \"a123456789b123456789c12345.m0.s0\" has 32 characters; 1 to 31 "
		"would be "
		"right");
	refused(JOB("collectives = ( { phase = \"forward\"; bytes = 8; name = \"f\"; },\n"
		    "{ phase = \"backward\"; bytes = 8; after = [ \"f\" ]; } ); dims = ( \"pipeline 2\", \"data 2\" );\n"
		    "pipeline = { micro_batches = 1; bytes = 8; };"),
		"s.cfg:5: jobs.[0].collectives.[1].after: \"f\" is no collective before it in the job's list and of its "
		"phase; a "
		"name from there would be right");
}

UNIT_TEST(workload)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(top_level_collectives_are_jobs, fini),
		cmocka_unit_test_teardown(collectives_follow_one_another_or_their_own_order, fini),
		cmocka_unit_test_teardown(placements_take_what_named_ranks_leave, fini),
		cmocka_unit_test_teardown(groups_are_cut_by_dims, fini),
		cmocka_unit_test_teardown(pipelines_are_written_out, fini),
		cmocka_unit_test_teardown(stragglers_and_jitter_are_the_jobs, fini),
		cmocka_unit_test_teardown(mistakes_are_named_with_their_place, fini),
		cmocka_unit_test_teardown(bad_pipelines_are_refused, fini),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

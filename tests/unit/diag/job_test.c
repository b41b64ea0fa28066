/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job whose schedules are no chains. Its collective "forward" (1): both ranks compute for 10 ms; then rank 0, at 17,
 * sends to rank 1, at 15, on two channels at once, and rank 1 computes again when it has both and its own. Its
 * collective "grads" (2) follows: each rank sends to the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/record.h"
#include "diag/report/facts.h"
#include "diag/report/jobs.h"
#include "diag/report/json.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

#define FORWARD 1
#define GRADS 2
#define CASE_STEPS 4 /* the case's own come first */
enum { F0_COMPUTE = CASE_STEPS, F0_SEND, F0_SEND_TOO, F1_COMPUTE, F1_AFTER, G0, G1 };

static const struct scheduled {
	uint32_t collective, rank, step, peer, channel, own, from_rank, from_step, depends;
} schedule[] = {
	{ FORWARD, 0, 1, 0, 0, 0, REC_NONE, 0, 0 }, { FORWARD, 0, 2, 1, 0, 1, REC_NONE, 0, 0 },
	{ FORWARD, 0, 3, 1, 1, 1, REC_NONE, 0, 0 }, { FORWARD, 1, 1, 1, 0, 0, REC_NONE, 0, 0 },
	{ FORWARD, 1, 2, 1, 0, 0, 0, 2, 1 },        { GRADS, 0, 1, 1, 0, 0, REC_NONE, 0, 0 },
	{ GRADS, 1, 1, 0, 0, 0, REC_NONE, 0, 0 },
};
#define STEPS (sizeof(schedule) / sizeof(schedule[0]))

static uint32_t
host_of(uint32_t rank)
{
	return rank == 0 ? H17 : H15;
}

/* @param usual_ns  how much longer computations usually take at most */
static void
describe(struct records *r, uint32_t usual_ns)
{
	struct rec_collective forward = { .id = FORWARD,
					  .job = 1,
					  .ranks = 2,
					  .steps = 5,
					  .rank_steps = 3,
					  .bytes = 1000,
					  .expect_ps = 25 * MS,
					  .name = "forward",
					  .job_name = "train" };
	struct rec_collective grads = forward;
	struct rec_follow follow = { .collective = GRADS, .after = FORWARD };
	struct rec_depend depend = { .collective = FORWARD, .step = 2, .rank = 1, .on_collective = FORWARD, .on_step = 3 };

	grads.id = GRADS;
	grads.steps = 2;
	grads.rank_steps = 1;
	memcpy(grads.name, "grads\0\0", 8);
	case_fabric(r);
	RECORDS_PUT(r, forward, REC_COLLECTIVE, REC_NONE, 0);
	RECORDS_PUT(r, grads, REC_COLLECTIVE, REC_NONE, 0);
	RECORDS_PUT(r, follow, REC_FOLLOW, REC_NONE, 0);
	for (uint32_t i = 0; i < STEPS; i++) {
		const struct scheduled *s = &schedule[i];
		uint16_t port = (uint16_t)(20000 + 10 * s->collective + s->channel);
		struct rec_schedule rec = { .collective = s->collective,
					    .rank = s->rank,
					    .step = s->step,
					    .peer = s->peer,
					    .channel = s->channel,
					    .own_step = s->own,
					    .depends_rank = s->from_rank,
					    .depends_step = s->from_step,
					    .depends = s->depends,
					    .ideal_ps = 10 * MS,
					    .expect_ps = 10 * MS,
					    .base_rtt_ps = 10 * PS_PER_US };

		if (s->peer != s->rank)
			rec.flow = records_tuple(host_of(s->rank), host_of(s->peer), port);
		else
			rec.spread_ns = usual_ns;
		RECORDS_PUT(r, rec, REC_SCHEDULE, host_of(s->rank), 0);
		if (s->depends != 0)
			RECORDS_PUT(r, depend, REC_DEPEND, host_of(s->rank), 0);
	}
}

/* A finished step, numbered as in the run. @param waited  the step that it waited for, 0: none */
static void
report(struct records *r, uint32_t index, uint32_t waited, uint64_t start_ps, uint64_t end_ps)
{
	const struct scheduled *s = &schedule[index - CASE_STEPS];
	const struct scheduled *on = waited != 0 ? &schedule[waited - CASE_STEPS] : NULL;
	struct rec_step rec = { .collective = s->collective,
				.rank = s->rank,
				.step = s->step,
				.waited_collective = on != NULL ? on->collective : REC_NONE,
				.waited_rank = on != NULL ? on->rank : REC_NONE,
				.waited_step = on != NULL ? on->step : 0,
				.start_ps = start_ps,
				.end_ps = end_ps };

	RECORDS_PUT(r, rec, REC_STEP, host_of(s->rank), end_ps);
}

/* All in time, but for rank 1: it computes until then, and begins to compute again then. */
static void
report_all(struct records *r, uint64_t computed_ps, uint64_t again_ps)
{
	report(r, F0_COMPUTE, 0, 0, 10 * MS);
	report(r, F0_SEND, F0_COMPUTE, 10 * MS, 20 * MS);
	report(r, F0_SEND_TOO, F0_COMPUTE, 10 * MS, 20 * MS);
	report(r, F1_COMPUTE, 0, 0, computed_ps);
	report(r, F1_AFTER, computed_ps > 20 * MS ? F1_COMPUTE : F0_SEND_TOO, again_ps, again_ps + 10 * MS);
	report(r, G0, F0_SEND_TOO, 20 * MS, 30 * MS);
	report(r, G1, F1_AFTER, again_ps + 10 * MS, again_ps + 20 * MS);
}

static struct verdict *
diagnose_usual(uint32_t usual_ns, uint64_t computed_ps, uint64_t again_ps)
{
	struct records r;

	describe(&r, usual_ns);
	report_all(&r, computed_ps, again_ps);
	return case_conclude(&r, REC_END_COMPLETE);
}

static struct verdict *
diagnose(uint64_t computed_ps, uint64_t again_ps)
{
	return diagnose_usual(0, computed_ps, again_ps);
}

static void
dependencies_are_joined(void **state)
{
	struct verdict *v = diagnose(10 * MS, 20 * MS);
	const struct run_step *after = &v->run.steps[F1_AFTER];

	/* the message, the other message, and the computation before on its channel; nothing else orders the two sends */
	assert_int_equal(after->ndeps, 3);
	assert_int_equal(v->run.depends[after->first_dep], F0_SEND);
	assert_int_equal(v->run.depends[after->first_dep + 1], F0_SEND_TOO);
	assert_int_equal(v->run.depends[after->first_dep + 2], F1_COMPUTE);
	assert_int_equal(after->waited_for, F0_SEND_TOO);
	assert_int_equal(v->run.steps[F0_SEND_TOO].ndeps, 1);
	assert_true(run_is_local(after) && !run_is_local(&v->run.steps[F0_SEND]));
	assert_int_equal(v->run.steps[F0_SEND_TOO].channel, 1);
	for (uint32_t i = CASE_STEPS; i < v->run.nsteps; i++) {
		assert_int_equal(v->run.steps[i].late_ps, 0);
		assert_int_equal(v->run.steps[i].long_ps, 0);
	}
	verdict_destroy(v);
}

static void
one_graph_for_an_iteration(void **state)
{
	struct verdict *v = diagnose(10 * MS, 20 * MS);
	const struct run_iteration *it = &v->run.iterations[1];
	const struct waiting_graph *w = &vedrfolnir_of(v)->waiting[1];

	assert_int_equal(v->run.njobs, 2);
	assert_string_equal(v->run.jobs[1].name, "train");
	assert_int_equal(it->ncollectives, 2);
	assert_int_equal(it->first_step, CASE_STEPS);
	assert_int_equal(it->nsteps, STEPS);
	assert_true(it->complete);
	assert_int_equal(it->end_ps, 40 * MS);
	/* through both collectives, and through computation */
	assert_int_equal(w->npath, 4);
	assert_int_equal(w->path[0], F0_COMPUTE);
	assert_int_equal(w->path[1], F0_SEND_TOO);
	assert_int_equal(w->path[2], F1_AFTER);
	assert_int_equal(w->path[3], G1);
	assert_int_equal(w->exec_ps, 40 * MS);
	/* nobody waited for the other message, nor for the computation of rank 1 */
	assert_true(w->vertices[WGRAPH_END(F0_SEND - CASE_STEPS)].pruned);
	assert_true(w->vertices[WGRAPH_START(F1_COMPUTE - CASE_STEPS)].pruned);
	assert_false(w->vertices[WGRAPH_END(F1_AFTER - CASE_STEPS)].pruned);
	verdict_destroy(v);
}

/* 20 ms more than configured are the host's, and so the network's are none of them. */
static void
long_computation_is_a_slow_host(void **state)
{
	struct verdict *v = diagnose(30 * MS, 30 * MS);
	const struct finding *slow = case_find(v, FINDING_SLOW_HOST, "15", NULL);

	assert_int_equal(v->run.steps[F1_COMPUTE].long_ps, 20 * MS);
	assert_int_equal(v->nfindings, 1);
	assert_non_null(slow);
	/* without it, the job would wait for the other message, 10 ms later */
	assert_true(slow->explained_ps == (double)(20 * MS) && slow->critical_ps == (double)(10 * MS));
	assert_int_equal(slow->nvictims, 0);
	assert_string_equal(case_evidence(v, slow),
			    "15 computed, in step 1, for 20.000 ms longer than the 10.000 ms configured");
	assert_int_equal(slow->start_ps, 0);
	assert_int_equal(slow->end_ps, 30 * MS);
	assert_false(v->run.steps[F1_COMPUTE].slow);
	verdict_destroy(v);
}

/* Where all are complete, the first sentence is of the iteration that is worst, and not of one of its collectives. */
static void
an_iteration_of_several_has_one_headline(void **state)
{
	char headline[FACTS_REASON];
	struct facts facts;
	struct verdict *v;
	struct records r;

	describe(&r, 0);
	for (uint32_t step = 1; step <= 2; step++) {
		records_step(&r, step, H15, step == 1 ? REC_NONE : H17, (step - 1) * EXPECT, step * EXPECT);
		records_step(&r, step, H17, step == 1 ? REC_NONE : H15, (step - 1) * EXPECT, step * EXPECT);
	}
	report_all(&r, 30 * MS, 30 * MS);
	v = case_conclude(&r, REC_END_COMPLETE);
	facts = facts_of(v);
	assert_string_equal(facts_headline(&facts, headline, sizeof(headline)),
			    "Iteration 0 of job train, 2 collectives over 2 ranks, took 50.000 ms; it lost 10.000 ms of "
			    "that, most in forward.");
	verdict_destroy(v);
}

/* What a computation usually takes longer than configured is no fault of its host. */
static void
usual_variation_is_no_slow_host(void **state)
{
	static const struct {
		uint64_t computed_ps;
		uint32_t findings;
	} cases[] = { { 12 * MS, 0 }, { 12 * MS + MS / 10, 0 }, { 12 * MS + MS / 5, 1 } };

	char reason[FACTS_REASON];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct verdict *v = diagnose_usual(2000000, cases[i].computed_ps, 20 * MS);

		assert_int_equal(v->nfindings, cases[i].findings);
		assert_int_equal(v->run.steps[F1_COMPUTE].long_ps, cases[i].findings * (cases[i].computed_ps - 10 * MS));
		if (cases[i].findings == 0)
			assert_string_equal(facts_reason(v, reason),
					    "Every step reported took at most 1 % longer than expected, but for "
					    "computations within their usual variation.");
		verdict_destroy(v);
	}
}

/* All it needs is there at 20 ms. */
static void
late_start_is_later_than_all_dependencies(void **state)
{
	struct verdict *v = diagnose(10 * MS, 33 * MS);

	assert_int_equal(v->run.steps[F1_AFTER].late_ps, 13 * MS);
	assert_string_equal(case_evidence(v, case_find(v, FINDING_SLOW_HOST, "15", NULL)),
			    "15 began to compute, in step 2, 13.000 ms after everything it depends on was there (10.000 ms "
			    "configured)");
	/* what follows is not late: rank 1's part of "forward" was not over before */
	assert_int_equal(v->run.steps[G1].late_ps, 0);
	verdict_destroy(v);
}

/* A collective that follows another is late against its rank's own part of that one. */
static void
followers_are_late_against_their_own_part(void **state)
{
	struct records r;
	struct verdict *v;

	describe(&r, 0);
	report(&r, F0_COMPUTE, 0, 0, 10 * MS);
	report(&r, F0_SEND, F0_COMPUTE, 10 * MS, 20 * MS);
	report(&r, F0_SEND_TOO, F0_COMPUTE, 10 * MS, 20 * MS);
	report(&r, F1_COMPUTE, 0, 0, 10 * MS);
	report(&r, F1_AFTER, F0_SEND_TOO, 20 * MS, 30 * MS);
	report(&r, G0, F0_SEND_TOO, 27 * MS, 37 * MS);
	report(&r, G1, F1_AFTER, 32 * MS, 42 * MS);
	v = case_conclude(&r, REC_END_COMPLETE);
	/* both pause for 2 ms at least */
	assert_int_equal(v->run.steps[G0].late_ps, 5 * MS);
	assert_int_equal(v->run.steps[G1].late_ps, 0);
	verdict_destroy(v);
}

/* Two sends at once share their NIC as planned, and so what comes behind; a flow that is not scheduled is a culprit. */
static void
planned_sharing_is_no_contention(void **state)
{
	for (int i = 0; i < 4; i++) {
		int planned = i % 2, behind = i / 2;
		struct rec_tuple other = planned ? records_tuple(H17, H15, 20011) : records_tuple(H17, H19, 99);
		struct records r;
		struct verdict *v;

		describe(&r, 0);
		report(&r, F0_COMPUTE, 0, 0, 10 * MS);
		report(&r, F0_SEND, F0_COMPUTE, 10 * MS, 50 * MS);
		report(&r, F0_SEND_TOO, F0_COMPUTE, 10 * MS, 50 * MS);
		case_contention(&r, behind ? SW2 : H17, behind ? 2 : 0, 10, 49, 60, records_tuple(H17, H15, 20010), 250000,
				other, 250000);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_true(v->run.steps[F0_SEND].slow);
		assert_int_equal(case_find(v, FINDING_FLOW_CONTENTION, behind ? "2:3" : "17:1", NULL) == NULL, planned);
		verdict_destroy(v);
	}
}

/* Rank 1 has no part in the collective between: it passes over it, and is late against the one before that. */
static void
ranks_pass_over_what_is_not_theirs(void **state)
{
	struct rec_collective alone = { .id = 3, .job = 1, .ranks = 2, .steps = 1, .rank_steps = 1, .name = "alone" };
	struct rec_collective last = { .id = 4, .job = 1, .ranks = 2, .steps = 2, .rank_steps = 1, .name = "last" };
	struct rec_follow follow = { .collective = 3, .after = GRADS }, next = { .collective = 4, .after = 3 };
	struct rec_schedule step = { .collective = 3, .step = 1, .depends_rank = REC_NONE, .expect_ps = 10 * MS };
	struct rec_step done = { .collective = 3, .step = 1, WAITED_NONE, .start_ps = 40 * MS, .end_ps = 50 * MS };
	struct records r;
	struct verdict *v;

	describe(&r, 0);
	RECORDS_PUT(&r, alone, REC_COLLECTIVE, REC_NONE, 0);
	RECORDS_PUT(&r, last, REC_COLLECTIVE, REC_NONE, 0);
	RECORDS_PUT(&r, follow, REC_FOLLOW, REC_NONE, 0);
	RECORDS_PUT(&r, next, REC_FOLLOW, REC_NONE, 0);
	RECORDS_PUT(&r, step, REC_SCHEDULE, H17, 0);
	for (step.collective = 4, step.rank = 0; step.rank < 2; step.rank++) {
		step.peer = step.rank;
		RECORDS_PUT(&r, step, REC_SCHEDULE, host_of(step.rank), 0);
	}
	report(&r, G0, 0, 20 * MS, 30 * MS);
	report(&r, G1, 0, 20 * MS, 40 * MS);
	RECORDS_PUT(&r, done, REC_STEP, H17, 50 * MS);
	done.collective = 4;
	for (uint32_t rank = 0; rank < 2; rank++) {
		done.rank = rank;
		done.start_ps = rank == 0 ? 50 * MS : 47 * MS;
		done.end_ps = done.start_ps + 10 * MS;
		RECORDS_PUT(&r, done, REC_STEP, host_of(rank), done.end_ps);
	}
	v = case_conclude(&r, REC_END_COMPLETE);
	assert_int_equal(v->run.steps[G1 + 1].late_ps, 0);
	assert_int_equal(v->run.steps[G1 + 2].late_ps, 0);
	assert_int_equal(v->run.steps[G1 + 3].late_ps, 7 * MS); /* both are done with "grads" at 40 ms */
	verdict_destroy(v);
}

/* What a job's report says: of 40 ms on the critical path 20 are computation, and none is lost. */
static void
a_job_is_reported(void **state)
{
	struct verdict *v = diagnose(10 * MS, 20 * MS);
	struct job_facts facts;

	assert_int_equal(job_facts(v, 1, &facts), 0);
	assert_int_equal(facts.iterations, 1);
	assert_int_equal(facts.unfinished, 0);
	assert_int_equal(facts.end_ps, 40 * MS);
	assert_int_equal(facts.path_ps, 40 * MS);
	assert_int_equal(facts.compute_ps, 20 * MS);
	assert_int_equal(facts.lost_ps, 0);
	assert_int_equal(facts.nparts, 2);
	assert_int_equal(v->run.collectives[facts.parts[0].collective].id, FORWARD);
	assert_int_equal(facts.parts[0].path_ps, 10 * MS);
	assert_int_equal(facts.parts[1].path_ps, 10 * MS);
	job_facts_fini(&facts);
	verdict_destroy(v);

	/* computed 20 ms too long, which is on the path, and began 3 ms late: the job took 13 ms more for it */
	v = diagnose(30 * MS, 33 * MS);
	assert_int_equal(job_facts(v, 1, &facts), 0);
	assert_int_equal(facts.lost_ps, 13 * MS);
	assert_int_equal(facts.compute_ps, 40 * MS);
	job_facts_fini(&facts);
	verdict_destroy(v);
}

/* Every name in verdict.json is one that collectives[] has, with the same meaning. */
static void
names_in_the_verdict_join(void **state)
{
	struct verdict *v = diagnose(30 * MS, 33 * MS);
	json_t *root = json_document(v), *jobs = json_object_get(root, "jobs"), *step;
	json_t *grads = json_array_get(json_object_get(root, "collectives"), 2);
	json_t *finding = json_array_get(json_object_get(root, "findings"), 0),
	       *path = json_object_get(root, "critical_path");
	size_t i;

	assert_int_equal(json_array_size(jobs), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(jobs, 1), "name")), "train");
	assert_int_equal(json_integer_value(json_object_get(grads, "job")), 1);
	assert_int_equal(json_integer_value(json_object_get(grads, "collective")), GRADS);
	assert_string_equal(json_string_value(json_object_get(grads, "name")), "grads");
	finding = json_array_get(json_object_get(finding, "iterations"), 0);
	assert_int_equal(json_integer_value(json_object_get(finding, "job")), 1);
	assert_int_equal(json_integer_value(json_object_get(finding, "collective")), FORWARD);
	step = json_array_get(json_object_get(finding, "steps"), 0);
	assert_int_equal(json_integer_value(json_object_get(step, "rank")), 1);
	assert_int_equal(json_array_size(path), 3);
	json_array_foreach(path, i, step)
		assert_int_equal(json_integer_value(json_object_get(step, "collective")), i < 2 ? FORWARD : GRADS);
	step = json_array_get(path, 2);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(step, "waited_for"), "collective")), FORWARD);
	assert_int_equal(json_integer_value(json_object_get(json_object_get(step, "waited_for"), "step")), 2);
	assert_true(json_is_null(json_object_get(json_array_get(path, 0), "flow")));
	json_decref(root);
	verdict_destroy(v);
}

UNIT_TEST(job)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dependencies_are_joined),
		cmocka_unit_test(one_graph_for_an_iteration),
		cmocka_unit_test(long_computation_is_a_slow_host),
		cmocka_unit_test(an_iteration_of_several_has_one_headline),
		cmocka_unit_test(usual_variation_is_no_slow_host),
		cmocka_unit_test(late_start_is_later_than_all_dependencies),
		cmocka_unit_test(followers_are_late_against_their_own_part),
		cmocka_unit_test(planned_sharing_is_no_contention),
		cmocka_unit_test(ranks_pass_over_what_is_not_theirs),
		cmocka_unit_test(a_job_is_reported),
		cmocka_unit_test(names_in_the_verdict_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

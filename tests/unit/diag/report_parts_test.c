/* SPDX-License-Identifier: BSD-3-Clause */
/* What the reports are made of: spellings, escapes, sentences. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/units.h"
#include "diag/report/facts.h"
#include "diag/report/fmt.h"
#include "diag/report/report.h"
#include "diag/verdict.h"
#include "tests/unit/alloc.h"
#include "tests/unit/diag/report_fixture.h"
#include "tests/unit/unit.h"

static void
numbers(void **state)
{
	struct fmt_unit ms = fmt_unit_for(10 * PS_PER_MS), us = fmt_unit_for(10 * PS_PER_MS - 1);

	assert_string_equal(fmt_time(ms, 46973092 * PS_PER_NS).text, "46.973 ms");
	assert_string_equal(fmt_time_bare(us, 46973092 * PS_PER_NS).text, "46973.092");
	assert_string_equal(fmt_time(fmt_unit_for(9999 * PS_PER_NS), 1500).text, "1.500 ns");
	assert_string_equal(fmt_count(0).text, "0");
	assert_string_equal(fmt_count(999).text, "999");
	assert_string_equal(fmt_count(1000).text, "1,000");
	assert_string_equal(fmt_count(UINT64_MAX).text, "18,446,744,073,709,551,615");
	assert_string_equal(fmt_score(0).text, "0");
	assert_string_equal(fmt_score(0.416).text, "0.42");
	assert_string_equal(fmt_score(37.06).text, "37.1");
	assert_string_equal(fmt_score(412).text, "412");
	assert_string_equal(fmt_score(999.4).text, "999");
	assert_string_equal(fmt_score(999.6).text, "1.00 k");
	assert_string_equal(fmt_score(99960).text, "100 k");
	assert_string_equal(fmt_score(7.41e7).text, "74.1 M");
	assert_string_equal(fmt_bytes(512).text, "512 B");
	assert_string_equal(fmt_bytes(56340).text, "56.3 kB");
	assert_string_equal(fmt_change(0.5278).text, "+52.8 %");
	assert_string_equal(fmt_change(-0.0001).text, "+0.0 %");
	assert_string_equal(fmt_change(-0.25).text, "-25.0 %");
}

/* What a report shows of parts adds up to the whole that it shows. */
static void
parts_add_up(void **state)
{
	double parts[] = { 2958400, 216400, 26400 }, thirds[] = { 1, 1, 1 }, none[] = { 5.4, 1.2 };

	assert_int_equal(fmt_add_up(parts, 3, 3201200, 1000), 0); /* 2.958 + 0.216 + 0.026 are 3.200 */
	assert_true(parts[0] == 2959000 && parts[1] == 216000 && parts[2] == 26000);
	assert_int_equal(fmt_add_up(thirds, 3, 3, 2), 0);
	assert_true(thirds[0] == 2 && thirds[1] == 2 && thirds[2] == 0);
	assert_int_equal(fmt_add_up(none, 2, 1, 1), 0); /* no parts of it */
	assert_true(none[0] == 5 && none[1] == 1);
	alloc_refuse(1);
	assert_int_equal(fmt_add_up(parts, 3, 3201000, 1000), -ENOMEM);
	assert_true(alloc_was_refused());
	assert_true(parts[0] == 2959000);
}

static void
quoted_text(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	escape_dotf(to, "%s\n%s", "a\"b\\", "c");
	fclose(to);
	assert_string_equal(text, "\"a\\\"b\\\\\\nc\"");
	free(text);
}

static void
ranges(void **state)
{
	static const uint32_t steps[] = { 1, 2, 3, 5, 7, 8 };
	uint32_t many[60];
	char buf[FACTS_RANGES];

	assert_string_equal(facts_ranges(steps, 6, buf, sizeof(buf)), "1-3, 5, 7-8");
	assert_string_equal(facts_ranges(steps, 0, buf, sizeof(buf)), "");
	for (uint32_t i = 0; i < ARRAY_LEN(many); i++)
		many[i] = 4000000000 + 3 * (i / 2) + i % 2;
	assert_string_equal(facts_ranges(many, ARRAY_LEN(many), buf, sizeof(buf)),
			    "4000000000-4000000001, 4000000003-4000000004, 4000000006-4000000007, 4000000009-4000000010, "
			    "4000000012-4000000013, 4000000015-4000000016 and 48 more");
}

static void
flow_names(void **state)
{
	struct verdict *v = fixture_case();
	char buf[96];

	assert_string_equal(facts_flow(v, F17_18, buf, sizeof(buf)), "17->18");
	/* A second flow of the same pair: only the whole name distinguishes them. */
	v->run.flows[F18_19].tuple = v->run.flows[F17_18].tuple;
	v->run.flows[F18_19].tuple.sport++;
	assert_string_equal(facts_flow(v, F17_18, buf, sizeof(buf)), "17->18/10000>10000");
	v->run.flows[F17_18].src = RUN_NONE;
	v->run.flows[F18_19].tuple.src_ip++;
	assert_string_equal(facts_flow(v, F17_18, buf, sizeof(buf)), "17->18/10000>10000");
	verdict_destroy(v);
}

static void
finding_sentences(void **state)
{
	static const struct {
		const struct finding_type *type;
		const char *reported;
	} cases[] = {
		{ FINDING_FLOW_CONTENTION, "Flow contention at 6:2: 13->19 ahead of 17->18 in steps 1-2" },
		{ FINDING_INCAST, "Incast at 6:2: 13->19 ahead of 17->18 in steps 1-2" },
		{ FINDING_PFC_STORM, "PFC storm from 6:2 pauses 2:3; delays 17->18 in steps 1-2" },
		{ FINDING_PFC_BACKPRESSURE,
		  "PFC backpressure from 6:2 pauses 2:3; filled by 13->19; delays 17->18 in steps 1-2" },
		{ FINDING_SLOW_HOST, "Slow host 6:2: 13->19 ahead of 17->18 in steps 1-2" },
	};
	struct verdict *v = fixture_case();
	struct finding *finding = &v->findings[1];
	char buf[FACTS_TEXT];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		finding->type = cases[i].type;
		assert_string_equal(facts_finding(v, finding, buf, sizeof(buf)), cases[i].reported);
	}
	finding->type = FINDING_PFC_DEADLOCK;
	finding->origin_port = RUN_NONE;
	assert_string_equal(facts_finding(v, finding, buf, sizeof(buf)),
			    "PFC deadlock at 6:2 pauses 2:3; began in the loop; delays 17->18 in steps 1-2");
	finding->origin_port = fixture_port(v, "3:2");
	assert_string_equal(facts_finding(v, finding, buf, sizeof(buf)),
			    "PFC deadlock at 6:2 pauses 2:3; began out of the loop at 3:2; delays 17->18 in steps 1-2");
	finding->type = FINDING_PACKET_LOSS;
	finding->nflows = 0;
	assert_string_equal(facts_finding(v, finding, buf, sizeof(buf)), "Packet loss at 6:2: hits 17->18 in steps 1-2");
	assert_string_equal(facts_step_causes(v, fixture_step(v, 6, 2), buf, sizeof(buf)), "contention 3:2 by 13->19");
	assert_string_equal(facts_step_causes(v, fixture_step(v, 0, 1), buf, sizeof(buf)), "");
	verdict_destroy(v);
}

/* A step's cause is no culprit of another step's: neither its own flow, nor one that had not begun or was over. */
static void
a_step_blames_who_was_there(void **state)
{
	struct verdict *v = fixture_case();
	uint32_t step = fixture_step(v, 6, 2), other = v->run.steps[fixture_step(v, 0, 1)].flow, at = 0;
	const struct run_step *victim = &v->run.steps[step];
	char buf[FACTS_TEXT], name[96], reported[128];
	struct finding *finding;

	while (!facts_finding_has_step(&v->findings[at], step))
		at++;
	finding = &v->findings[at];
	assert_int_equal(finding->nflows, 1);
	finding->flows = realloc(finding->flows, 3 * sizeof(*finding->flows));
	finding->flow_ps = realloc(finding->flow_ps, 3 * sizeof(*finding->flow_ps));
	assert_true(finding->flows != NULL && finding->flow_ps != NULL);
	finding->flows[2] = finding->flows[0];
	finding->flows[1] = other;
	finding->flows[0] = victim->flow;
	finding->flow_ps[1] = finding->flow_ps[2] = 0;
	finding->nparts = (free(finding->parts[0].flow_ps), 0);
	finding->nflows = 3;
	for (uint32_t s = 0; s < v->run.nsteps; s++)
		if (v->run.steps[s].flow == other)
			v->run.steps[s].start_ps = v->run.steps[s].end_ps = victim->end_ps;
	assert_string_equal(facts_step_causes(v, step, buf, sizeof(buf)), "contention 3:2 by 13->19");
	v->run.steps[fixture_step(v, 0, 1)].start_ps = victim->end_ps - 1;
	v->run.steps[fixture_step(v, 0, 1)].end_ps = victim->end_ps + 1;
	snprintf(reported, sizeof(reported), "contention 3:2 by %s", facts_flow(v, other, name, sizeof(name)));
	assert_string_equal(facts_step_causes(v, step, buf, sizeof(buf)), reported);
	verdict_destroy(v);
}

static void
worst_collective_is_first(void **state)
{
	struct verdict *v = fixture_case();
	struct run_collective *c = calloc(3, sizeof(*c));
	char buf[FACTS_TEXT];

	assert_non_null(c);
	for (int i = 0; i < 3; i++)
		c[i] = v->run.collectives[0];
	free(v->run.collectives);
	v->run.collectives = c;
	v->run.ncollectives = 3;
	c[1].end_ps += PS_PER_MS;
	assert_int_equal(facts_of(v).worst, 1);
	c[2].complete = false; /* unfinished is worse than any time */
	assert_int_equal(facts_of(v).worst, 2);
	c[0].complete = c[0].begun = false; /* and of these, one that began */
	assert_int_equal(facts_of(v).worst, 2);
	c[0].complete = c[0].begun = true;
	/* and findings say which one they are about */
	c[1].iteration = 7;
	v->findings[1].collective = v->findings[1].parts[0].collective = 1;
	v->findings[1].type = FINDING_INCAST;
	assert_string_equal(facts_finding(v, &v->findings[1], buf, sizeof(buf)),
			    "Incast at 6:2: 13->19 ahead of 17->18 in steps 1-2 of grads, iteration 7");
	v->run.ncollectives = 1;
	verdict_destroy(v);
}

/* The path's slow steps that no finding names. @return one; its run's number of steps if there is none */
static uint32_t
slow_on_path(const struct verdict *v)
{
	const struct waiting_graph *w = &vedrfolnir_of(v)->waiting[0];

	for (uint32_t i = 0; i < w->npath; i++)
		if (v->run.steps[w->path[i]].slow)
			return w->path[i];
	return v->run.nsteps;
}

/* What runs of the twin cost by one finding, of which estimates said nothing: the conclusion is by these costs. */
static void
costs_change_the_conclusion(void **state)
{
	char file[] = "/tmp/rocelab-costs-XXXXXX", reason[FACTS_REASON], text[FACTS_TEXT];
	struct verdict *v = fixture_case();
	struct claim *claim = &v->sections[0].claim;
	struct err err = { 0 };
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	dprintf(fd,
		"{\"jobs\": [{\"job\": 0, \"suspects\": [{\"word\": \"cost\", \"cost_ns\": 4e7, \"alone_ns\": 4e7, "
		"\"confidence\": 0.9, \"claims\": [{\"type\": \"%s\", \"root\": \"%s\", \"finding\": 0, "
		"\"flows\": [\"%s\"], \"cost_ns\": 4e7}]}]}]}",
		v->findings[0].type->key, v->findings[0].root, v->run.flows[F13_19].name);
	close(fd);
	for (uint32_t i = 0; i < v->nfindings; i++) {
		v->findings[i].costless = true;
		v->findings[i].nsteps = 0;
	}
	*claim =
		(struct claim){ .kind = CLAIM_NO_EFFECT, .slow = 6, .left = true, .lost_ps = 50e9, .unexplained_ps = 40e9 };
	assert_string_equal(facts_word(v), "unknown");
	assert_int_equal(costs_apply(v, file, &err), 0);
	unlink(file);
	assert_int_equal(claim->kind, CLAIM_FAULT);
	assert_float_equal(claim->confidence, 0.9, 1e-9);
	assert_string_equal(facts_word(v), "guilty");
	assert_true(facts_budget(v, 0)->explained_ps >= 40e9);
	assert_non_null(strstr(facts_reason(v, reason), "strongest cause"));
	assert_true(slow_on_path(v) != v->run.nsteps);
	assert_string_equal(facts_step_causes(v, slow_on_path(v), text, sizeof(text)), "by the twin: contention 6:2");
	verdict_destroy(v);
}

/* A second culprit, that costs nothing yet, of a finding with one. */
static void
add_culprit(struct finding *finding, uint32_t flow)
{
	assert_int_equal(finding->nflows, 1);
	finding->nflows = 2;
	finding->flows = realloc(finding->flows, 2 * sizeof(*finding->flows));
	finding->flow_ps = realloc(finding->flow_ps, 2 * sizeof(*finding->flow_ps));
	finding->flows[1] = flow;
	finding->flow_ps[1] = 0;
	for (uint32_t p = 0; p < finding->nparts; p++) {
		finding->parts[p].flow_ps = realloc(finding->parts[p].flow_ps, 2 * sizeof(double));
		finding->parts[p].flow_ps[1] = 0;
	}
}

/* Of two culprits one costs less than the twin's error: the report acquits it, and keeps its figure. */
static void
a_culprit_within_the_error_is_acquitted(void **state)
{
	char file[] = "/tmp/rocelab-costs-XXXXXX", text[FACTS_TEXT], name[96];
	struct verdict *v = fixture_case();
	struct finding *finding = &v->findings[0];
	struct err err = { 0 };
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	add_culprit(finding, finding->flows[0] == 0);
	assert_string_equal(facts_innocents(v, finding, text, sizeof(text)), "");
	for (int i = 0; i < 2; i++)
		dprintf(fd,
			"%s{\"word\": \"%s\", \"cost_ns\": %d, \"alone_ns\": 4e7, \"confidence\": 0.9, \"claims\": "
			"[{\"type\": \"%s\", \"root\": \"%s\", \"finding\": %d, \"flows\": [\"%s\"], \"cost_ns\": %d}]}%s",
			i == 0 ? "{\"jobs\": [{\"job\": 0, \"suspects\": [" : ", ", i == 0 ? "cost" : "unknown",
			i == 0 ? 40000000 : 2000000, finding->type->key, finding->root, (int)(finding - v->findings),
			v->run.flows[finding->flows[i]].name, i == 0 ? 40000000 : 2000000, i == 0 ? "" : "]}]}");
	close(fd);
	assert_int_equal(costs_apply(v, file, &err), 0);
	unlink(file);
	finding = &v->findings[0];
	assert_int_equal(finding->nflows, 2);
	assert_float_equal(finding->flow_ps[1], 2e9, 1);
	assert_false(finding->parts[0].costless[0]);
	assert_true(finding->parts[0].costless[1]);
	assert_string_equal(facts_innocents(v, finding, text, sizeof(text)),
			    facts_flow(v, finding->flows[1], name, sizeof(name)));
	verdict_destroy(v);
}

/* Where no finding about the network costs anything by the twin, nothing is held against it, whatever is left. */
static void
nothing_by_the_twin_is_no_fault(void **state)
{
	struct finding finding = {
		.type = FINDING_PATH_DELAY, .costless = true, .cost_from = FINDING_BY_TWIN, .confidence = 1, .borne_out = 1
	};
	double sure;

	(void)state;
	assert_int_equal(findings_blame(&finding, 1, false, &sure), CLAIM_NO_EFFECT);
	finding.cost_unknown = true;
	assert_int_equal(findings_blame(&finding, 1, false, &sure), CLAIM_FAULT);
	assert_int_equal(findings_blame(&finding, 1, true, &sure), CLAIM_NO_EFFECT);
}

/* A host that costs most of the time, and a step that is slower yet: the sentence says both. */
static void
hosts_have_their_share_of_the_reason(void **state)
{
	char reason[FACTS_REASON], expected[256];
	struct verdict *v = fixture_case();

	(void)state;
	for (uint32_t i = 1; i < v->nfindings; i++)
		v->findings[i].critical_ps = 0;
	v->findings[0].type = FINDING_HOST_LIMITED;
	v->findings[0].critical_ps = 48e9;
	v->sections[0].claim = (struct claim){
		.kind = CLAIM_NO_SIGN, .slow = 1, .paused = true, .left = true, .lost_ps = 50e9, .unexplained_ps = 2e9
	};
	snprintf(expected, sizeof(expected),
		 "NIC below its line rate at 6:2 explains 96.0 %% of the lost time; 1 of %u steps were slow beyond that, "
		 "and the pauses on their path explain too little of the rest.",
		 v->run.nsteps);
	assert_string_equal(facts_reason(v, reason), expected);
	/* Likewise a host whose steps begin late: what else was slow and unwatched is not all. */
	v->findings[0].type = FINDING_SLOW_HOST;
	v->sections[0].claim.kind = CLAIM_UNWATCHED;
	v->sections[0].claim.unwatched = 1;
	snprintf(
		expected, sizeof(expected),
		"Slow host 6:2 explains 96.0 %% of the lost time; 1 of %u steps were slow beyond that and nothing that was "
		"reported explains it, but 1 of them went without telemetry for half of their time or more.",
		v->run.nsteps);
	assert_string_equal(facts_reason(v, reason), expected);
	verdict_destroy(v);
}

UNIT_TEST(report_parts)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(parts_add_up),
		cmocka_unit_test(quoted_text),
		cmocka_unit_test(ranges),
		cmocka_unit_test(flow_names),
		cmocka_unit_test(finding_sentences),
		cmocka_unit_test(a_step_blames_who_was_there),
		cmocka_unit_test(worst_collective_is_first),
		cmocka_unit_test(costs_change_the_conclusion),
		cmocka_unit_test(a_culprit_within_the_error_is_acquitted),
		cmocka_unit_test(nothing_by_the_twin_is_no_fault),
		cmocka_unit_test(hosts_have_their_share_of_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

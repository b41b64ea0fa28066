/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sentence of facts.h on the evidence for a finding: the clauses of its type, with the facts of its evidence in
 * them.
 */
#include <inttypes.h>
#include <string.h>

#include "common/array.h"
#include "common/units.h"
#include "common/wire/ending.h"
#include "common/wire/roce.h"
#include "diag/report/facts.h"

#define LINKS_NAMED 6

typedef void render_fn(const struct run *run, const struct finding_evidence *seen, char *buf);

static void
put_ms(char *buf, double ps)
{
	fmt_append(buf, FACTS_EVIDENCE, "%.3f", ps / 1e9);
}

static void
put_port(const struct run *run, uint32_t port, char *buf)
{
	fmt_append(buf, FACTS_EVIDENCE, "%s", port < run->nports ? run->ports[port].name : "?");
}

static void
put_flow(const struct run *run, uint32_t flow, char *buf)
{
	fmt_append(buf, FACTS_EVIDENCE, "%s", flow < run->nflows ? run->flows[flow].name : "?");
}

/* "17->18/10000>10000 step 2 took 70.134 ms instead of 30.757 ms" */
static void
render_step(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	const struct run_step *step = &run->steps[seen->step];
	double exec_ms = (double)(step->end_ps - step->start_ps) / 1e9, expect_ms = (double)step->expect_ps / 1e9;

	put_flow(run, step->flow, buf);
	fmt_append(buf, FACTS_EVIDENCE,
		   step->open ? " step %u was still open after %.3f ms (%.3f ms expected)"
			      : " step %u took %.3f ms instead of %.3f ms",
		   step->step, exec_ms, expect_ms);
}

static void
render_number(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	fmt_append(buf, FACTS_EVIDENCE, "%u", run->steps[seen->step].step);
}

static void
render_expected(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	put_ms(buf, (double)run->steps[seen->step].expect_ps);
}

/* The packets that the step sent again; at a QP error, that its retries are spent. */
static void
render_again(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	const struct run_step *step = &run->steps[seen->step];
	bool spent = step->open && !run->truncated && run->end_reason == REC_END_QP_ERROR && run->end_node == step->host;

	if (step->retransmits == 0 && spent)
		fmt_append(buf, FACTS_EVIDENCE, "it sent packets again until its retries were spent");
	else
		fmt_append(buf, FACTS_EVIDENCE, "it sent %u packets again", step->retransmits);
}

static void
render_port(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	put_port(run, seen->port, buf);
}

static void
render_other(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	put_port(run, seen->other_port, buf);
}

static void
render_node(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	fmt_append(buf, FACTS_EVIDENCE, "%s", seen->node < run->nnodes ? run->nodes[seen->node].name : "?");
}

static void
render_flow(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	put_flow(run, seen->flow, buf);
}

/* "13->19/10001>10001 and 2 others" */
static void
render_flows(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	if (seen->flows == 0) {
		fmt_append(buf, FACTS_EVIDENCE, "flows that were not reported");
		return;
	}
	put_flow(run, seen->flow, buf);
	if (seen->flows > 1)
		fmt_append(buf, FACTS_EVIDENCE, " and %u other%s", seen->flows - 1, seen->flows > 2 ? "s" : "");
}

static void
render_count(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	fmt_append(buf, FACTS_EVIDENCE, "%llu", (unsigned long long)seen->count);
}

static void
render_depth(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	fmt_append(buf, FACTS_EVIDENCE, "%u", seen->depth_packets);
}

static void
render_held(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	fmt_append(buf, FACTS_EVIDENCE, "%llu", (unsigned long long)seen->held_bytes);
}

static void
render_threshold(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	fmt_append(buf, FACTS_EVIDENCE, "%llu", (unsigned long long)seen->threshold_bytes);
}

static void
render_packets(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	fmt_append(buf, FACTS_EVIDENCE, "%.0f", seen->packets);
}

static void
render_waits(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	fmt_append(buf, FACTS_EVIDENCE, "%.0f", seen->waits);
}

static void
render_each(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	fmt_append(buf, FACTS_EVIDENCE, "%.2f", seen->waits / seen->packets);
}

static void
render_ms(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	put_ms(buf, seen->ps);
}

static void
render_of_ms(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	put_ms(buf, seen->of_ps);
}

static void
render_percent(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	fmt_append(buf, FACTS_EVIDENCE, "%.0f", seen->percent);
}

/* A timer as InfiniBand encodes them, with room for four round trips of the step's path. */
static void
render_timer(const struct run *run, const struct finding_evidence *seen, char *buf)
{
	uint64_t timer_ps = roce_timer_ps(ROCE_TIMER_ROUND_TRIPS * run->steps[seen->step].base_rtt_ps);

	fmt_append(buf, FACTS_EVIDENCE, "%lluus", (unsigned long long)((timer_ps + PS_PER_US - 1) / PS_PER_US));
}

/* The facts of each {NAME} in a clause. */
static const struct {
	const char *name;
	render_fn *render;
} facts[] = {
	{ "step", render_step },           { "number", render_number },   { "expected", render_expected },
	{ "again", render_again },         { "port", render_port },       { "other", render_other },
	{ "node", render_node },           { "flow", render_flow },       { "flows", render_flows },
	{ "count", render_count },         { "depth", render_depth },     { "held", render_held },
	{ "threshold", render_threshold }, { "packets", render_packets }, { "waits", render_waits },
	{ "each", render_each },           { "ms", render_ms },           { "of ms", render_of_ms },
	{ "percent", render_percent },     { "timer", render_timer },
};

/* @param name  of len characters  @return NULL: there is no such fact */
static render_fn *
find_fact(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		if (strncmp(facts[i].name, name, len) == 0 && facts[i].name[len] == '\0')
			return facts[i].render;
	}
	return NULL;
}

/* "h4:1, l1:1 and l1:5": the ports that may be the place; of many "12 links of l1". */
static void
render_links(const struct run *run, const struct finding *finding, char *buf)
{
	uint32_t count = finding->nports;

	if (count > LINKS_NAMED || count != finding->evidence.count) {
		fmt_append(buf, FACTS_EVIDENCE, "%" PRIu64 " links", finding->evidence.count);
		if (finding->evidence.node < run->nnodes)
			fmt_append(buf, FACTS_EVIDENCE, " of %s", run->nodes[finding->evidence.node].name);
		return;
	}
	for (uint32_t i = 0; i < count; i++) {
		fmt_append(buf, FACTS_EVIDENCE, "%s", i == 0 ? "" : i + 1 == count ? " and " : ", ");
		put_port(run, finding->ports[i], buf);
	}
}

static void
render_clause(const struct run *run, const struct finding *finding, const char *clause, char *buf)
{
	while (*clause != '\0') {
		size_t plain = strcspn(clause, "{"), name;
		render_fn *render;

		fmt_append(buf, FACTS_EVIDENCE, "%.*s", (int)plain, clause);
		clause += plain;
		if (*clause == '\0')
			return;
		name = strcspn(clause + 1, "}");
		render = find_fact(clause + 1, name);
		if (render != NULL)
			render(run, &finding->evidence, buf);
		else if (strncmp(clause + 1, "links}", 6) == 0)
			render_links(run, finding, buf);
		else
			fmt_append(buf, FACTS_EVIDENCE, "%.*s}", (int)name + 1, clause);
		clause += name + 1 + (clause[name + 1] == '}');
	}
}

char *
facts_known(const struct run *run, const struct run_known *known, char *buf, size_t cap)
{
	struct fmt_unit unit = fmt_unit_for(known->extra_ps);

	buf[0] = '\0';
	fmt_append(buf, cap, "%s", known->kind);
	if (known->rate > 0 && known->rate < 1)
		fmt_append(buf, cap, " of %g %%", 100 * known->rate);
	if (known->extra_ps != 0)
		fmt_append(buf, cap, " of %s", fmt_time(unit, known->extra_ps).text);
	fmt_append(buf, cap, " at %s",
		   known->port != RUN_NONE ? run->ports[known->port].name : run->nodes[known->node].name);
	return buf;
}

void
facts_append_cause(const struct verdict *v, const struct finding *finding, const char *mark, char *buf, size_t cap)
{
	uint32_t cause = RUN_NONE;

	if (finding >= v->findings && finding < v->findings + v->nfindings)
		cause = verdict_cause_of(v, (uint32_t)(finding - v->findings));
	if (cause != RUN_NONE)
		fmt_append(buf, cap, "%s a consequence of %s %s%s", mark, v->findings[cause].type->title,
			   v->findings[cause].type->preposition, v->findings[cause].root);
}

char *
facts_evidence(const struct verdict *v, const struct finding *finding, char *buf)
{
	const struct finding_evidence *seen = &finding->evidence;
	char known[128];

	buf[0] = '\0';
	for (uint32_t i = 0; i < seen->nclauses; i++)
		render_clause(&v->run, finding, finding->type->clauses[seen->clauses[i]], buf);
	if (finding->known != 0)
		fmt_append(buf, FACTS_EVIDENCE, "; known before the run: %s",
			   facts_known(&v->run, &v->run.known[finding->known - 1], known, sizeof(known)));
	facts_append_cause(v, finding, ";", buf, FACTS_EVIDENCE);
	if (finding->lacks != 0)
		fmt_append(buf, FACTS_EVIDENCE, ", with which it would cost this");
	return buf;
}

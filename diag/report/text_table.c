/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/text_table.h"
#include "collectives/bandwidth.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/schedule.h"
#include "common/array.h"
#include "common/printable.h"
#include "common/units.h"
#include "diag/report/flows.h"
#include "diag/report/table.h"

/* One spelling of numbers for every collective, whatever the report's unit: as in nccl-tests. */
static void
collective_row(const struct verdict *v, const struct run_collective *c, FILE *to)
{
	uint64_t took_ps = facts_took_ps(v, c);
	double took_us = (double)took_ps / PS_PER_US, expect_us = (double)c->expect_ps / PS_PER_US;
	double algbw = took_ps > 0 ? (double)c->bytes / ((double)took_ps / PS_PER_NS) : 0;
	double busbw = algbw * coll_busbw_factor((enum coll_op)c->op, c->group_ranks);
	char name[48], plain[64], size[24] = "-";

	snprintf(name, sizeof(name), "%s/%s", facts_op_key(c->op), facts_algorithm_name(c->algorithm));
	if (c->bytes != 0)
		snprintf(size, sizeof(size), "%" PRIu64, c->bytes);
	fprintf(to, "%12s  %-30s %5u %6u  %10.*f  %10.*f ", size, name, c->group_ranks, c->rank_steps,
		took_us >= 10000 ? 0 : 1, took_us, expect_us >= 10000 ? 0 : 1, expect_us);
	if (c->complete && c->bytes == 0)
		fprintf(to, " %6s %6s", "-", "-");
	else if (c->complete)
		fprintf(to, " %6.*f %6.*f", coll_bw_decimals(algbw), algbw, coll_bw_decimals(busbw), busbw);
	else
		fprintf(to, " %13s", "unfinished");
	if (v->run.ncollectives > 1)
		fprintf(to, "  %9u  %s", c->iteration, printable_text(c->name, plain, sizeof(plain)));
	fputc('\n', to);
}

void
text_collectives(const struct facts *facts, FILE *to)
{
	const struct verdict *v = facts->v;
	uint32_t shown = 0;

	bool several = v->run.ncollectives > 1;

	fprintf(to, "# %10s  %-30s %5s %6s  %10s  %10s  %6s %6s%s\n", "size", "collective", "ranks", "steps", "time",
		"expected", "algbw", "busbw", several ? "  iteration  name" : "");
	fprintf(to, "# %10s  %-30s %5s %6s  %10s  %10s  %6s %6s\n", "(B)", "", "", "", "(us)", "(us)", "(GB/s)", "(GB/s)");
	for (uint32_t c = 0; c < v->run.ncollectives; c++) {
		/* The worst one is told of above the table: it must be in it. */
		if (shown >= TEXT_MAX_COLLECTIVES && c != facts->worst)
			continue;
		collective_row(v, &v->run.collectives[c], to);
		shown++;
	}
	if (shown < v->run.ncollectives)
		fprintf(to, "# ... and %u more, in verdict.json\n", v->run.ncollectives - shown);
}

static uint64_t
lost_ps(const struct run_step *step)
{
	uint64_t exec_ps = facts_exec_ps(step);

	return exec_ps > step->expect_ps ? exec_ps - step->expect_ps : 0;
}

/* The smallest loss that is still shown when only TEXT_MAX_PATH steps are. */
static uint64_t
path_threshold_ps(const struct verdict *v, const struct waiting_graph *w)
{
	uint64_t low = 0, high = UINT64_MAX;

	if (w->npath <= TEXT_MAX_PATH)
		return 0;
	while (low < high) { /* at most 64 rounds */
		uint64_t mid = low + (high - low) / 2;
		uint32_t above = 0;

		for (uint32_t i = 0; i < w->npath; i++)
			above += lost_ps(&v->run.steps[w->path[i]]) > mid;
		if (above > TEXT_MAX_PATH)
			low = mid + 1;
		else
			high = mid;
	}
	return low + 1;
}

/* Does it send, or compute, for too long? */
static bool
is_slow(const struct run_step *step)
{
	return step->slow || step->long_ps != 0;
}

static int
path_row(struct libscols_table *table, const struct facts *facts, uint32_t index)
{
	const struct verdict *v = facts->v;
	const struct run_step *step = &v->run.steps[index];
	uint64_t exec_ps = facts_exec_ps(step);
	struct fmt number, change = fmt_change(facts_excess(exec_ps, step->expect_ps));
	bool longer = is_slow(step) && exec_ps > step->expect_ps; /* one that is stuck may not be yet */
	char doer[160], flow[96], name[64], causes[FACTS_TEXT], plain[FACTS_TEXT];

	snprintf(number.text, sizeof(number.text), "%u", step->step);
	facts_step_causes(v, index, causes, sizeof(causes));
	if (step->open && !run_is_local(step))
		snprintf(causes, sizeof(causes), "STILL OPEN, %s of %s acknowledged",
			 fmt_bytes((double)step->acked_bytes).text, fmt_bytes((double)step->bytes).text);
	else if (causes[0] == '\0' && is_slow(step))
		snprintf(causes, sizeof(causes), "not explained");
	if (v->run.iterations[v->run.collectives[step->collective].in].ncollectives > 1)
		snprintf(doer, sizeof(doer), "%s: %s",
			 printable_text(v->run.collectives[step->collective].name, name, sizeof(name)),
			 facts_doer(v, step, flow, sizeof(flow)));
	else
		facts_doer(v, step, doer, sizeof(doer));
	return table_row(table, number.text, doer, fmt_time_bare(facts->unit, step->start_ps).text,
			 fmt_time_bare(facts->unit, exec_ps).text, fmt_time_bare(facts->unit, step->expect_ps).text,
			 longer ? change.text : "", printable_text(causes, plain, sizeof(plain)), NULL);
}

int
text_path(const struct facts *facts, uint32_t iteration, FILE *to)
{
	static const char *const columns[] = { "STEP", "FLOW", "START", "TOOK", "EXPECTED", "CHANGE", "CAUSE" };
	static const bool right[] = { true, false, true, true, true, true, false };
	const struct waiting_graph *w = &vedrfolnir_of(facts->v)->waiting[iteration];
	struct libscols_table *table = table_create(columns, right, ARRAY_LEN(right));
	uint64_t threshold_ps = path_threshold_ps(facts->v, w);
	uint32_t shown = 0, slow = 0;
	int rc = table == NULL ? -ENOMEM : 0;

	for (uint32_t i = 0; rc == 0 && i < w->npath; i++) {
		const struct run_step *step = &facts->v->run.steps[w->path[i]];

		if (w->npath > TEXT_MAX_PATH && (!is_slow(step) || lost_ps(step) < threshold_ps)) {
			slow += is_slow(step);
			continue;
		}
		rc = path_row(table, facts, w->path[i]);
		shown++;
	}
	if (rc == 0 && shown > 0)
		rc = table_print(table, to);
	if (slow > 0)
		fprintf(to, "  %u slow steps on it lost less time.\n", slow);
	if (shown + slow < w->npath)
		fprintf(to, "  %u %ssteps on it took at most %d %% longer than expected.\n", w->npath - shown - slow,
			shown > 0 ? "more " : "", RUN_SLOW_PERCENT);
	table_destroy(table);
	return rc;
}

static void
share_text(const struct verdict *v, const struct contributor *contributor, char *buf, size_t cap)
{
	char flow[96];

	buf[0] = '\0';
	for (uint32_t i = 0; i < contributor->nshares && i < 3; i++) {
		const struct run_step *step = &v->run.steps[contributor->shares[i].step];

		fmt_append(buf, cap, "%s%s step %u: %s", i > 0 ? ", " : "", facts_flow(v, step->flow, flow, sizeof(flow)),
			   step->step, fmt_score(contributor->shares[i].score).text);
	}
	if (contributor->nshares > 3)
		fmt_append(buf, cap, ", ...");
}

int
text_contributors(const struct facts *facts, FILE *to)
{
	const char *const columns[] = { "FLOW", "SCORE", "SHARE",
					flows_alone(facts->v) ? "OF SLOW FLOWS" : "ON THE CRITICAL PATH" };
	static const bool right[] = { false, true, true, false };
	const struct verdict *v = facts->v;
	struct libscols_table *table = table_create(columns, right, ARRAY_LEN(right));
	int rc = table == NULL ? -ENOMEM : 0;

	for (uint32_t i = 0; rc == 0 && i < vedrfolnir_of(v)->ncontributors && i < TEXT_MAX_CONTRIBUTORS; i++) {
		const struct contributor *contributor = &vedrfolnir_of(v)->contributors[i];
		char shares[FACTS_TEXT];
		struct fmt share;

		snprintf(share.text, sizeof(share.text), "%.1f %%", 100 * facts_share(v, contributor));
		share_text(v, contributor, shares, sizeof(shares));
		rc = table_row(table, v->run.flows[contributor->flow].name, fmt_score(contributor->score).text, share.text,
			       shares, NULL);
	}
	if (rc == 0)
		rc = table_print(table, to);
	if (vedrfolnir_of(v)->ncontributors > TEXT_MAX_CONTRIBUTORS)
		fprintf(to, "  ... and %u more, in verdict.json\n",
			vedrfolnir_of(v)->ncontributors - TEXT_MAX_CONTRIBUTORS);
	table_destroy(table);
	return rc;
}

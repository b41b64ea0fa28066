/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/text.h"

#include <errno.h>
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/bandwidth.h"
#include "collectives/schedule.h"
#include "common/array.h"
#include "common/printable.h"
#include "common/units.h"
#include "diag/report/facts.h"
#include "diag/report/flows.h"
#include "diag/verdict.h"

struct libscols_table *
table_create(const char *const *columns, const bool *right, size_t count)
{
	struct libscols_table *table = scols_new_table();

	if (table == NULL)
		return NULL;
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	scols_table_set_termwidth(table, 4096);
	scols_table_set_column_separator(table, "  ");
	for (size_t i = 0; i < count; i++) {
		if (scols_table_new_column(table, columns[i], 0, right[i] ? SCOLS_FL_RIGHT : 0) == NULL) {
			scols_unref_table(table);
			return NULL;
		}
	}
	return table;
}

int
table_row(struct libscols_table *table, ...)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	const char *cell;
	size_t column = 0;
	va_list ap;
	int rc = line == NULL ? -ENOMEM : 0;

	va_start(ap, table);
	while (rc == 0 && (cell = va_arg(ap, const char *)) != NULL)
		rc = scols_line_set_data(line, column++, cell);
	va_end(ap);
	return rc;
}

int
table_print(struct libscols_table *table, FILE *to)
{
	char *text = NULL, *save = NULL;

	if (scols_print_table_to_string(table, &text) != 0)
		return -ENOMEM;
	for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
		size_t len = strlen(line);

		while (len > 0 && line[len - 1] == ' ')
			len--;
		fprintf(to, "  %.*s\n", (int)len, line);
	}
	free(text);
	return 0;
}

void
table_destroy(struct libscols_table *table)
{
	scols_unref_table(table);
}

#define TEXT_MAX_COLLECTIVES 12
#define TEXT_MAX_PATH 24
#define TEXT_MAX_CONTRIBUTORS 10

/* One spelling of numbers for every collective, whatever the report's unit: as in nccl-tests. */
static void
collective_row(const struct verdict *v, const struct run_collective *c, FILE *to)
{
	uint64_t took_ps = facts_took_ps(v, c);
	double took_us = (double)took_ps / PS_PER_US, expect_us = (double)c->expect_ps / PS_PER_US;
	double algbw = facts_algbw(v, c), busbw = facts_busbw(v, c);
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
		fprintf(to, " %13s", c->begun || v->run.truncated ? "unfinished" : "not begun");
	if (v->run.ncollectives > 1)
		fprintf(to, "  %9u  %s", c->iteration, printable_text(c->name, plain, sizeof(plain)));
	fputc('\n', to);
}

/* Columns as nccl-tests prints them (src/common.cu), with the expected value beside. */
static void
text_collectives(const struct facts *facts, FILE *to)
{
	const struct verdict *v = facts->v;
	uint32_t shown = 0;

	bool several = v->run.ncollectives > 1;

	fprintf(to, "# %10s  %-30s %5s %6s  %10s  %10s  %6s %6s%s\n", "size", "collective", "ranks", "steps", "time",
		"expected", "algbw", "busbw", several ? "  iteration  name" : "");
	fprintf(to, "# %10s  %-30s %5s %6s  %10s  %10s  %6s %6s\n", "(B)", "", "", "", "(us)", "(us)", "(GB/s)", "(GB/s)");
	for (uint32_t c = 0; c < v->run.ncollectives; c++) {
		/* The sentence above the table names the worst one: it must be in the table. */
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
	bool longer =
		(is_slow(step) || run_varied(step)) && exec_ps > step->expect_ps; /* one that is stuck may not be yet */
	char doer[160], flow[96], name[64], causes[FACTS_TEXT], plain[FACTS_TEXT];

	snprintf(number.text, sizeof(number.text), "%u", step->step);
	facts_step_causes(v, index, causes, sizeof(causes));
	if (step->open && !run_is_local(step))
		snprintf(causes, sizeof(causes), "STILL OPEN, %s of %s acknowledged",
			 fmt_bytes((double)step->acked_bytes).text, fmt_bytes((double)step->bytes).text);
	else if (causes[0] == '\0' && is_slow(step))
		snprintf(causes, sizeof(causes), "not explained");
	else if (causes[0] == '\0' && run_varied(step))
		snprintf(causes, sizeof(causes), "its usual variation");
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

#define TEXT_WIDTH 96
#define TEXT_MAX_FINDINGS 6

enum style { STYLE_NONE, STYLE_BOLD, STYLE_BAD, STYLE_GOOD, STYLE_DIM };

static void
set_style(const struct text *text, enum style style)
{
	static const char *const codes[] = { "\033[0m", "\033[1m", "\033[1;31m", "\033[1;32m", "\033[2m" };

	if (text->color)
		fputs(codes[style], text->to);
}

void
text_wrap(const struct text *text, const char *raw, int indent)
{
	char plain[2048];
	int column = indent;
	const char *p = printable_text(raw, plain, sizeof(plain));

	while (*p != '\0') {
		int len = (int)strcspn(p, " \n");

		if (p[len] == ' ' && p[len + 1] == '%') /* "100.0 %" stays together */
			len += 1 + (int)strcspn(p + len + 1, " \n");
		if (column > indent && column + 1 + len > TEXT_WIDTH) {
			fprintf(text->to, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', text->to);
			column++;
		}
		fprintf(text->to, "%.*s", len, p);
		column += len;
		p += len;
		p += strspn(p, " \n");
	}
	fputc('\n', text->to);
}

void
text_title(const struct text *text, const char *title)
{
	fputc('\n', text->to);
	set_style(text, STYLE_BOLD);
	fputs(title, text->to);
	set_style(text, STYLE_NONE);
	fputc('\n', text->to);
}

static int
write_head(const struct text *text)
{
	const struct verdict *v = text->facts.v;
	char sentence[FACTS_TEXT], missing[FACTS_INCOMPLETE], twins[FACTS_REASON];
	bool good = facts_innocent(v) && v->nfindings == 0;

	set_style(text, good ? STYLE_GOOD : STYLE_BAD);
	text_wrap(text, facts_headline(&text->facts, sentence, sizeof(sentence)), 0);
	set_style(text, STYLE_NONE);
	text_wrap(text, facts_conclusion(&text->facts, sentence, sizeof(sentence)), 0);
	if (!verdict_complete(v)) {
		set_style(text, STYLE_BAD);
		fputs("Incomplete evidence: ", text->to);
		set_style(text, STYLE_NONE);
		text_wrap(text, facts_incomplete(v, missing), 21);
	}
	if (facts_recording_lost(&text->facts, sentence, sizeof(sentence)) != NULL) {
		set_style(text, STYLE_BAD);
		text_wrap(text, sentence, 0);
		set_style(text, STYLE_NONE);
	}
	if (facts_lateness(&text->facts, sentence, sizeof(sentence)) != NULL)
		text_wrap(text, sentence, 0);
	if (facts_twins(&text->facts, twins) != NULL)
		text_wrap(text, twins, 0);
	if (v->run.ncollectives == 0)
		return 0;
	fputc('\n', text->to);
	if (flows_alone(v))
		return flows_text(text);
	text_collectives(&text->facts, text->to);
	return 0;
}

/* Does leaving it out alone regain more than its share beside the others, as printed? */
static bool
regains_more(const struct finding *finding)
{
	return !finding->costless && finding->regained_ps > 1.01 * finding->critical_ps;
}

static void
write_finding(const struct text *text, uint32_t i)
{
	const struct verdict *v = text->facts.v;
	const struct finding *finding = &v->findings[i];
	char sentence[FACTS_TEXT], evidence[FACTS_EVIDENCE], innocents[FACTS_EVIDENCE], cost[96];

	fprintf(text->to, "  %u. ", i + 1);
	set_style(text, STYLE_BOLD);
	text_wrap(text, facts_finding(v, finding, sentence, sizeof(sentence)), 5);
	set_style(text, STYLE_NONE);
	fprintf(text->to, "     ");
	text_wrap(text, facts_evidence(v, finding, evidence), 5);
	set_style(text, STYLE_DIM);
	snprintf(sentence, sizeof(sentence), "cost %s; ",
		 facts_cost(&text->facts, &text->shown, finding, cost, sizeof(cost)));
	if (regains_more(finding))
		fmt_append(sentence, sizeof(sentence), "regains %s alone; ",
			   fmt_time(text->facts.unit, fmt_ps(finding->regained_ps)).text);
	if (facts_innocents(v, finding, innocents, sizeof(innocents))[0] != '\0')
		fmt_append(sentence, sizeof(sentence), "%s: no effect, or less than the twin's error; ", innocents);
	fmt_append(sentence, sizeof(sentence), "confidence %.2f; seen %s to %s", finding->confidence,
		   fmt_time(text->facts.unit, finding->start_ps).text, fmt_time(text->facts.unit, finding->end_ps).text);
	fprintf(text->to, "     ");
	text_wrap(text, sentence, 5);
	if (finding->nparts > 1) {
		fprintf(text->to, "     ");
		text_wrap(text, facts_parts(&text->facts, finding, sentence, sizeof(sentence)), 5);
	}
	set_style(text, STYLE_NONE);
}

/* Findings of one group: those with an effect, or those without. */
struct group {
	uint32_t first, end; /* in verdict->findings */
	bool costless;
};

static bool
is_cause(const struct verdict *v, uint32_t i)
{
	bool is = false;

	for (uint32_t f = 0; f < v->nfindings && !is; f++)
		is = verdict_cause_of(v, f) == i;
	return is;
}

static void
write_one(const struct text *text, const struct group *group, uint32_t i)
{
	const struct finding *finding = &text->facts.v->findings[i];
	char sentence[FACTS_TEXT], cost[96], evidence[FACTS_EVIDENCE];

	if (!group->costless) {
		write_finding(text, i);
		return;
	}
	fprintf(text->to, "  %u. ", i + 1);
	facts_finding(text->facts.v, finding, sentence, sizeof(sentence));
	if (finding->critical_ps > 0)
		fmt_append(sentence, sizeof(sentence), ": %s",
			   facts_cost(&text->facts, &text->shown, finding, cost, sizeof(cost)));
	else if (is_cause(text->facts.v, i)) /* its time is its consequences' */
		fmt_append(sentence, sizeof(sentence), ": %s", facts_evidence(text->facts.v, finding, evidence));
	text_wrap(text, sentence, 5);
}

/* "... and 65 more: 3.113 ms, in report.html" */
static void
write_rest(const struct text *text, const char *what, uint32_t count, double ps)
{
	if (count != 0)
		fprintf(text->to, "  ... and %u %s: %s, in report.html\n", count, what,
			fmt_time(text->facts.unit, fmt_ps(ps + 0.5)).text);
}

static void
write_group(const struct text *text, const struct group *group)
{
	uint32_t shown = 0, more = 0, folded = 0;
	double more_ps = 0, folded_ps = 0;

	for (uint32_t i = group->first; i < group->end; i++) {
		const struct finding *finding = &text->facts.v->findings[i];

		if (finding_folded(finding)) {
			folded++;
			folded_ps += text->shown.cost_ps[i];
		} else if (shown == TEXT_MAX_FINDINGS) {
			more++;
			more_ps += text->shown.cost_ps[i];
		} else {
			write_one(text, group, i);
			shown++;
		}
	}
	write_rest(text, "more", more, more_ps);
	write_rest(text, folded == 1 ? "of less than 0.3 confidence" : "of less than 0.3 confidence each", folded,
		   folded_ps);
}

static void
write_findings(const struct text *text)
{
	uint32_t costly = facts_costly(text->facts.v), timed = facts_timed(text->facts.v);

	if (costly != 0) {
		text_title(text, "Root causes, by the time that they cost or would regain alone");
		write_group(text, &(struct group){ 0, costly, false });
	}
	if (timed > costly) {
		text_title(text, "Seen as well; leaving any one of these out alone would regain nothing");
		write_group(text, &(struct group){ costly, timed, true });
	}
}

static void
write_evidence(const struct text *text, const char *dir)
{
	const struct verdict *v = text->facts.v;
	const struct run_overhead *o = &v->run.overhead;
	char line[512], complete[64];

	text_title(text, "Evidence");
	if (v->run.truncated)
		snprintf(complete, sizeof(complete), "how much is missing is not known");
	else
		snprintf(complete, sizeof(complete), "%.1f %% complete%s", 100 * o->completeness,
			 o->dropped > 0 ? "" : ", nothing dropped");
	snprintf(line, sizeof(line),
		 "%s records, %s of telemetry; %s polling packets (%s), %s notifications (%s) on the wire; %s.",
		 fmt_count(o->records).text, fmt_bytes((double)o->row_bytes).text, fmt_count(o->polling_packets).text,
		 fmt_bytes((double)o->polling_bytes).text, fmt_count(o->notification_packets).text,
		 fmt_bytes((double)o->notification_bytes).text, complete);
	fputs("  ", text->to);
	text_wrap(text, line, 2);
	if (o->dropped > 0 || o->deferred > 0)
		fprintf(text->to, "  %s records deferred and %s dropped by the exporter's budget.\n",
			fmt_count(o->deferred).text, fmt_count(o->dropped).text);
	if (v->run.clock_error_ps != 0) {
		snprintf(line, sizeof(line),
			 "Hosts used their own clocks, which are known to within %s; between two hosts, to within twice "
			 "that.",
			 fmt_time(fmt_unit_for(v->run.clock_error_ps), v->run.clock_error_ps).text);
		fputs("  ", text->to);
		text_wrap(text, line, 2);
	}
	if (v->run.config.exact_contention)
		fprintf(text->to,
			"  Waits are exact counts (telemetry.contention = \"exact\"): no hardware reports them.\n");
	if (dir != NULL)
		fprintf(text->to, "\nReport: %s/report.html\n", plain_line(dir).text);
}

int
text_write(const struct verdict *v, const char *dir, FILE *to)
{
	struct text text = { .facts = facts_of(v), .to = to, .color = isatty(fileno(to)) && getenv("NO_COLOR") == NULL };
	int rc = facts_shown_init(&text.shown, &text.facts);

	if (rc == 0)
		rc = write_head(&text);
	if (rc == 0)
		write_findings(&text);
	facts_shown_fini(&text.shown);
	for (uint32_t i = 0; i < v->nsections && rc == 0; i++) {
		const struct section *section = &v->sections[i];

		if (section->by->writers.text != NULL)
			rc = section->by->writers.text(&text, section);
	}
	if (rc != 0)
		return rc;
	write_evidence(&text, dir);
	return ferror(to) ? -EIO : 0;
}

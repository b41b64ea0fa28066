/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/printable.h"
#include "diag/report/flows.h"
#include "diag/report/text_table.h"

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
	char sentence[FACTS_TEXT], missing[FACTS_INCOMPLETE];
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
	if (v->run.ncollectives == 0)
		return 0;
	fputc('\n', text->to);
	if (flows_alone(v))
		return flows_text(text);
	text_collectives(&text->facts, text->to);
	return 0;
}

static void
write_finding(const struct text *text, uint32_t i)
{
	const struct verdict *v = text->facts.v;
	const struct finding *finding = &v->findings[i];
	char sentence[FACTS_TEXT], evidence[FACTS_EVIDENCE], cost[64];

	fprintf(text->to, "  %u. ", i + 1);
	set_style(text, STYLE_BOLD);
	text_wrap(text, facts_finding(v, finding, sentence, sizeof(sentence)), 5);
	set_style(text, STYLE_NONE);
	fprintf(text->to, "     ");
	text_wrap(text, facts_evidence(v, finding, evidence), 5);
	set_style(text, STYLE_DIM);
	fprintf(text->to, "     cost %s; confidence %.2f; seen %s to %s\n",
		facts_cost(&text->facts, finding, cost, sizeof(cost)), finding->confidence,
		fmt_time(text->facts.unit, finding->start_ps).text, fmt_time(text->facts.unit, finding->end_ps).text);
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

static void
write_one(const struct text *text, const struct group *group, uint32_t i)
{
	const struct finding *finding = &text->facts.v->findings[i];
	char sentence[FACTS_TEXT], cost[64];

	if (!group->costless) {
		write_finding(text, i);
		return;
	}
	fprintf(text->to, "  %u. ", i + 1);
	facts_finding(text->facts.v, finding, sentence, sizeof(sentence));
	if (finding->critical_ps > 0)
		fmt_append(sentence, sizeof(sentence), ": %s", facts_cost(&text->facts, finding, cost, sizeof(cost)));
	text_wrap(text, sentence, 5);
}

/* "... and 65 more: 3.113 ms, in report.html" */
static void
write_rest(const struct text *text, const char *what, uint32_t count, double ps)
{
	if (count != 0)
		fprintf(text->to, "  ... and %u %s: %s, in report.html\n", count, what,
			fmt_time(text->facts.unit, (uint64_t)(ps + 0.5)).text);
}

static void
write_group(const struct text *text, const struct group *group)
{
	uint32_t shown = 0, more = 0, folded = 0;
	double more_ps = 0, folded_ps = 0;

	for (uint32_t i = group->first; i < group->end; i++) {
		const struct finding *finding = &text->facts.v->findings[i];

		if (facts_folded(finding)) {
			folded++;
			folded_ps += finding->critical_ps;
		} else if (shown == TEXT_MAX_FINDINGS) {
			more++;
			more_ps += finding->critical_ps;
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
		text_title(text, "Root causes, by the time that they cost");
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
			 "Hosts stamped times by clocks of their own, known to within %s; between two hosts, to within "
			 "twice "
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
	int rc = write_head(&text);

	write_findings(&text);
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

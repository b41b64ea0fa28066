/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/html.h"

#include <errno.h>
#include <stdarg.h>

#include "diag/report/assets.h"
#include "diag/report/html_page.h"

const char *
page_excess_class(const struct run_step *step)
{
	double excess = facts_excess(facts_exec_ps(step), step->expect_ps);

	if (step->open)
		return "xo";
	if (100 * excess <= RUN_SLOW_PERCENT)
		return "x0";
	return excess <= 0.1 ? "x1" : excess <= 0.5 ? "x2" : "x3";
}

void
page_excess_legend(const struct page *page)
{
	fprintf(page->to,
		"<span><i class=\"key x0\"></i>as expected (within %d %%)</span><span><i class=\"key x1\"></i>time "
		"lost, "
		"step up to 10 %% longer</span><span><i class=\"key x2\"></i>up to 50 %%</span>"
		"<span><i class=\"key x3\"></i>more</span><span><i class=\"key xo\"></i>still open</span>",
		RUN_SLOW_PERCENT);
}

void
page_title(const struct page *page, const char *fmt, ...)
{
	char text[2048];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fputs("<title>", page->to);
	escape_html(page->to, text);
	fputs("</title>", page->to);
}

void
page_step_title(const struct page *page, uint32_t index)
{
	const struct verdict *v = page->v;
	const struct run_step *step = &v->run.steps[index];
	struct fmt_unit unit = page->facts.unit;
	char causes[FACTS_TEXT], waited[128] = "";

	if (!step->started) {
		page_title(page, "%s step %u\nnot started", v->run.flows[step->flow].name, step->step);
		return;
	}
	facts_step_causes(v, index, causes, sizeof(causes));
	if (step->waited_for != RUN_NONE)
		snprintf(waited, sizeof(waited), "\nwaited for %s step %u",
			 v->run.flows[v->run.steps[step->waited_for].flow].name, v->run.steps[step->waited_for].step);
	page_title(page, "%s step %u%s\n%s to %s%s\ntook %s, expected %s (%s)%s\n%u detections, %u packets sent again%s%s",
		   v->run.flows[step->flow].name, step->step,
		   vedrfolnir_step(v, step)->critical ? ", on the critical path" : "", fmt_time(unit, step->start_ps).text,
		   fmt_time(unit, step->end_ps).text, step->open ? ", still open" : "",
		   fmt_time(unit, facts_exec_ps(step)).text, fmt_time(unit, step->expect_ps).text, facts_change(step).text,
		   waited, step->detections, step->retransmits, causes[0] != '\0' ? "\n" : "", causes);
}

uint32_t
page_victim(const struct page *page)
{
	const struct verdict *v = page->v;
	const struct finding *root = facts_root(v);
	uint32_t worst = page->facts.worst, victim = root != NULL && root->nvictims > 0 ? root->victims[0] : RUN_NONE;
	double most = 0;

	for (uint32_t i = 0; worst != RUN_NONE && i < vedrfolnir_of(v)->waiting[worst].npath; i++) {
		uint32_t index = vedrfolnir_of(v)->waiting[worst].path[i];
		const struct run_step *step = &v->run.steps[index];
		double excess = facts_excess(facts_exec_ps(step), step->expect_ps);

		if (step->slow && excess > most && (root == NULL || facts_finding_has_step(root, index))) {
			most = excess;
			victim = step->flow;
		}
	}
	return victim;
}

static void
tile(const struct page *page, const char *class, const char *label, const char *value, const char *note)
{
	fprintf(page->to, "<div class=\"tile %s\"><span>%s</span><b>", class, label);
	escape_html(page->to, value);
	fputs("</b><small>", page->to);
	escape_html(page->to, note);
	fputs("</small></div>\n", page->to);
}

static void
write_cause_tiles(const struct page *page)
{
	const struct verdict *v = page->v;
	const struct finding *root = v->nfindings > 0 ? &v->findings[0] : NULL;
	char note[FACTS_TEXT], flow[96];

	if (root != NULL)
		tile(page, "bad", "Root cause at", root->root, facts_type_title(root->type));
	else
		tile(page, facts_innocent(v) ? "good" : "", "Root cause", "none",
		     facts_innocent(v) ? "the network is innocent" : "not found");
	if (vedrfolnir_of(v)->ncontributors > 0) {
		snprintf(note, sizeof(note), "%.1f %% of the score of flows outside the collective",
			 100 * facts_share(v, &vedrfolnir_of(v)->contributors[0]));
		tile(page, "bad", "Top contributor",
		     facts_flow(v, vedrfolnir_of(v)->contributors[0].flow, flow, sizeof(flow)), note);
	}
	if (v->run.truncated)
		snprintf(flow, sizeof(flow), "not known");
	else
		snprintf(flow, sizeof(flow), "%.1f %%", 100 * v->run.overhead.completeness);
	snprintf(note, sizeof(note), "%s records, %s of telemetry", fmt_count(v->run.overhead.records).text,
		 fmt_bytes((double)v->run.overhead.row_bytes).text);
	tile(page, !verdict_complete(v) ? "bad" : "", "Evidence complete", flow, note);
}

static void
write_excess_tile(const struct page *page, const struct run_collective *c, uint64_t took_ps, bool slow)
{
	uint32_t npath = vedrfolnir_of(page->v)->waiting[page->facts.worst].npath;
	char note[FACTS_TEXT];

	snprintf(note, sizeof(note), "no time lost of %u steps on the critical path", npath);
	if (slow)
		snprintf(note, sizeof(note), "%s lost over %u steps of the critical path",
			 fmt_time(page->facts.unit, took_ps - c->expect_ps).text, npath);
	tile(page, slow ? "bad" : "good", "Against expected", fmt_change(facts_excess(took_ps, c->expect_ps)).text, note);
}

static void
write_tiles(const struct page *page)
{
	const struct verdict *v = page->v;
	char note[FACTS_TEXT];

	fputs("<div class=\"tiles\">\n", page->to);
	if (page->facts.worst != RUN_NONE) {
		const struct run_collective *c = &v->run.collectives[page->facts.worst];
		uint64_t took_ps = facts_took_ps(v, c);
		bool slow = 100 * facts_excess(took_ps, c->expect_ps) > RUN_SLOW_PERCENT;

		snprintf(note, sizeof(note), "expected %s, ideal %s", fmt_time(page->facts.unit, c->expect_ps).text,
			 fmt_time(page->facts.unit, c->ideal_ps).text);
		tile(page, "", c->complete ? "Collective time" : "Unfinished after",
		     fmt_time(page->facts.unit, took_ps).text, note);
		if (!c->complete) {
			struct fmt done, all = fmt_count(c->nsteps);

			done = fmt_count(facts_done(v, c));
			snprintf(note, sizeof(note), "of %s steps", all.text);
			tile(page, "bad", "Steps done", done.text, note);
		} else {
			write_excess_tile(page, c, took_ps, slow);
		}
	}
	write_cause_tiles(page);
	fputs("</div>\n", page->to);
}

static void
write_head(const struct page *page)
{
	const struct verdict *v = page->v;
	char sentence[FACTS_TEXT], missing[FACTS_INCOMPLETE];
	bool good = facts_innocent(v) && v->nfindings == 0;

	fputs("<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n<meta "
	      "charset=\"utf-8\"/>\n"
	      "<meta name=\"viewport\" content=\"width=device-width\"/>\n<title>",
	      page->to);
	escape_htmlf(page->to, "%s: verdict", v->run.config.name);
	fprintf(page->to, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<header class=\"%s\">\n<p class=\"run\">",
		assets_css, good ? "good" : "bad");
	escape_htmlf(page->to, "%s / detection: %s, %u a step, threshold %u %% of the base RTT", v->run.config.name,
		     facts_policy_name(v->run.config.policy), v->run.config.detections, v->run.config.rtt_percent);
	fputs("</p>\n<h1>", page->to);
	escape_html(page->to, facts_headline(&page->facts, sentence, sizeof(sentence)));
	fputs("</h1>\n<p class=\"why\">", page->to);
	escape_html(page->to, facts_conclusion(&page->facts, sentence, sizeof(sentence)));
	fputs("</p>\n", page->to);
	if (!verdict_complete(v)) {
		fputs("<p class=\"warn\">Incomplete evidence: ", page->to);
		escape_html(page->to, facts_incomplete(v, missing));
		fputs("</p>\n", page->to);
	}
	if (facts_recording_lost(&page->facts, sentence, sizeof(sentence)) != NULL) {
		fputs("<p class=\"warn\">", page->to);
		escape_html(page->to, sentence);
		fputs("</p>\n", page->to);
	}
	fputs("</header>\n<main>\n", page->to);
	write_tiles(page);
}

int
html_write(const struct verdict *v, FILE *to)
{
	struct page page = { .to = to, .facts = facts_of(v), .v = v };
	int rc;

	write_head(&page);
	page_findings(&page);
	rc = page_topology(&page);
	if (rc == 0)
		rc = page_timeline(&page);
	if (rc == 0)
		page_contributors(&page);
	if (rc == 0)
		rc = page_waiting(&page);
	if (rc == 0)
		rc = page_provenance(&page);
	if (rc != 0)
		return rc;
	page_evidence(&page);
	fprintf(to, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", assets_js);
	return ferror(to) ? -EIO : 0;
}

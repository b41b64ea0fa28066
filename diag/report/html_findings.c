/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/html_page.h"

#define MAX_FINDINGS 40

static const char *
kind_class(uint32_t type)
{
	switch (type) {
	case FINDING_PFC_BACKPRESSURE:
	case FINDING_PFC_STORM:
	case FINDING_PFC_DEADLOCK:
		return "pfc";
	case FINDING_FLOW_CONTENTION:
	case FINDING_INCAST:
	case FINDING_LOAD_IMBALANCE:
		return "seen";
	case FINDING_SLOW_HOST:
		return "host";
	default:
		return "lost";
	}
}

void
page_findings(const struct page *page)
{
	const struct verdict *v = page->v;
	struct fmt_unit unit = page->facts.unit;
	char sentence[FACTS_TEXT];

	if (v->nfindings == 0)
		return;
	fputs("<section><h2>Root causes</h2>\n<table class=\"findings\"><thead><tr><th></th><th>finding and "
	      "evidence</th>"
	      "<th class=\"r\">seen from</th><th class=\"r\">to</th><th class=\"r\">score</th></tr></thead><tbody>\n",
	      page->to);
	for (uint32_t i = 0; i < v->nfindings && i < MAX_FINDINGS; i++) {
		const struct finding *finding = &v->findings[i];

		fprintf(page->to, "<tr><td><span class=\"badge %s\">%s</span></td><td><b>", kind_class(finding->type),
			facts_type_title(finding->type));
		escape_html(page->to, facts_finding(v, finding, sentence, sizeof(sentence)));
		fputs("</b><br/>", page->to);
		escape_html(page->to, finding->evidence);
		fprintf(page->to, "</td><td class=\"r\">%s</td><td class=\"r\">%s</td><td class=\"r\">%s</td></tr>\n",
			fmt_time(unit, finding->start_ps).text, fmt_time(unit, finding->end_ps).text,
			fmt_score(finding->score).text);
	}
	fputs("</tbody></table>\n<p class=\"legend\"><span>Ordered by the time that they explain on the critical path. "
	      "Score: packet-waits caused to the collective's flows.</span>",
	      page->to);
	if (v->nfindings > MAX_FINDINGS)
		fprintf(page->to, "<span>%u more findings are in verdict.json.</span>", v->nfindings - MAX_FINDINGS);
	fputs("</p></section>\n", page->to);
}

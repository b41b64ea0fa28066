/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/html_page.h"

#define MAX_CONTRIBUTORS 20
#define MAX_SHARES 8

static void
write_shares(const struct page *page, const struct contributor *contributor)
{
	const struct verdict *v = page->v;
	char flow[96];

	for (uint32_t i = 0; i < contributor->nshares && i < MAX_SHARES; i++) {
		const struct run_step *step = &v->run.steps[contributor->shares[i].step];

		fputs("<span class=\"share\">", page->to);
		escape_htmlf(page->to, "%s step %u: %s", facts_flow(v, step->flow, flow, sizeof(flow)), step->step,
			     fmt_score(contributor->shares[i].score).text);
		fputs("</span>", page->to);
	}
	if (contributor->nshares > MAX_SHARES)
		fprintf(page->to, "<span class=\"share\">and %u more</span>", contributor->nshares - MAX_SHARES);
}

void
page_contributors(const struct page *page)
{
	const struct verdict *v = page->v;

	if (vedrfolnir_of(v)->ncontributors == 0)
		return;
	fputs("<section><h2>Contributors</h2>\n<p>Flows outside the collective, by what they did to the critical path: "
	      "the "
	      "packet-waits each caused to its steps (Eq. 1 and 2), weighted by the time each step lost (Eq. 3).</p>\n"
	      "<table class=\"bars\"><thead><tr><th>flow</th><th class=\"r\">score</th><th class=\"r\">share</th>"
	      "<th class=\"bar\"></th><th>on the critical path</th></tr></thead><tbody>\n",
	      page->to);
	for (uint32_t i = 0; i < vedrfolnir_of(v)->ncontributors && i < MAX_CONTRIBUTORS; i++) {
		const struct contributor *contributor = &vedrfolnir_of(v)->contributors[i];
		double share = facts_share(v, contributor), top = facts_share(v, &vedrfolnir_of(v)->contributors[0]);

		fputs("<tr><td class=\"n\">", page->to);
		escape_html(page->to, v->run.flows[contributor->flow].name);
		fprintf(page->to,
			"</td><td class=\"r\">%s</td><td class=\"r\">%.1f %%</td><td class=\"bar\"><i "
			"style=\"width:%.1f%%\"></i>"
			"</td><td>",
			fmt_score(contributor->score).text, 100 * share, top > 0 ? 100 * share / top : 0);
		write_shares(page, contributor);
		fputs("</td></tr>\n", page->to);
	}
	fputs("</tbody></table>\n", page->to);
	if (vedrfolnir_of(v)->ncontributors > MAX_CONTRIBUTORS)
		fprintf(page->to, "<p class=\"legend\"><span>%u more are in verdict.json.</span></p>\n",
			vedrfolnir_of(v)->ncontributors - MAX_CONTRIBUTORS);
	fputs("</section>\n", page->to);
}

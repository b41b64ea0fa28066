/* SPDX-License-Identifier: BSD-3-Clause */
/* What the diagnosis rests on, what it cost, and what is missing. */
#include "diag/report/html_page.h"

static void
row(const struct page *page, const char *name, const char *value, const char *note)
{
	fprintf(page->to, "<tr><td>%s</td><td class=\"r\">%s</td><td>", name, value);
	escape_html(page->to, note);
	fputs("</td></tr>\n", page->to);
}

static void
write_overhead(const struct page *page)
{
	const struct run_overhead *o = &page->v->run.overhead;

	fputs("<table><thead><tr><th>overhead</th><th class=\"r\"></th><th></th></tr></thead><tbody>\n", page->to);
	row(page, "records received", fmt_count(o->records).text, "of all kinds");
	row(page, "telemetry", fmt_bytes((double)o->row_bytes).text, "polls and rows from switches and NICs");
	row(page, "on the wire", fmt_bytes((double)o->telemetry_bytes).text, "reports, headers included");
	row(page, "collected", fmt_bytes((double)o->telemetry_bytes_collected).text, "reports not kept included");
	row(page, "sent by the exporter", fmt_bytes((double)o->report_bytes).text, "");
	row(page, "polling packets", fmt_count(o->polling_packets).text, fmt_bytes((double)o->polling_bytes).text);
	row(page, "notification packets", fmt_count(o->notification_packets).text,
	    fmt_bytes((double)o->notification_bytes).text);
	row(page, "deferred by the budget", fmt_count(o->deferred).text, "records that arrived late");
	row(page, "dropped by the budget", fmt_count(o->dropped).text, "records");
	fputs("</tbody></table>\n", page->to);
}

static void
write_kinds(const struct page *page)
{
	const struct run_overhead *o = &page->v->run.overhead;

	if (o->nkinds == 0)
		return;
	fputs("<table><thead><tr><th>record</th><th class=\"r\">received</th><th class=\"r\">bytes</th><th "
	      "class=\"r\">dropped</th>"
	      "</tr></thead><tbody>\n",
	      page->to);
	for (uint32_t i = 0; i < o->nkinds; i++)
		fprintf(page->to,
			"<tr><td>%s</td><td class=\"r\">%s</td><td class=\"r\">%s</td><td class=\"r\">%s</td></tr>\n",
			facts_record_name(o->kinds[i].kind), fmt_count(o->kinds[i].records).text,
			fmt_bytes((double)o->kinds[i].bytes).text, fmt_count(o->kinds[i].dropped).text);
	fputs("</tbody></table>\n", page->to);
}

void
page_evidence(const struct page *page)
{
	const struct verdict *v = page->v;
	char reason[FACTS_REASON], missing[FACTS_INCOMPLETE];

	fputs("<section><h2>Evidence</h2>\n<p>", page->to);
	escape_html(page->to, facts_reason(v, reason));
	fputs("</p>\n<p>", page->to);
	if (!verdict_complete(v))
		escape_html(page->to, facts_incomplete(v, missing));
	else
		fputs("Everything that was offered arrived.", page->to);
	if (v->run.config.exact_contention)
		fputs(" Who waited behind whom was counted exactly: more than hardware reports.", page->to);
	else
		fputs(" Who waited behind whom is estimated by replaying flow rows, as hardware reports them.", page->to);
	fputs("</p>\n<div class=\"columns\">\n", page->to);
	write_overhead(page);
	write_kinds(page);
	fputs("</div></section>\n", page->to);
}

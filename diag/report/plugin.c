/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a plugin's findings (struct diagnoser_writers). */
#include "diag/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>

#include "common/err.h"
#include "common/units.h"
#include "diag/diagnoser.h"
#include "diag/flowtracer/section.h"
#include "diag/pingmesh/section.h"
#include "diag/plugin/plugin.h"
#include "diag/report/json.h"
#include "diag/report/text.h"
#include "diag/verdict.h"

#define FINDINGS_SHOWN 12u

/* ---- verdict.json ---- */

/* Its place in the list of all: the type of each is its own. */
static json_int_t
index_of(const struct verdict *v, const struct plugin_finding *finding)
{
	for (uint32_t i = 0; i < v->nfindings; i++)
		if (v->findings[i].type->key == finding->type)
			return i;
	return -1;
}

static json_t *
findings_json(const struct verdict *v, const struct plugin *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->nfindings; i++) {
		const struct plugin_finding *finding = &own->account->findings[i];

		array = value_add(array,
				  value_set(plugin_finding_json(finding), "finding", json_integer(index_of(v, finding))));
	}
	return array;
}

int
plugin_json(const struct verdict *v, const struct section *section, struct json_t *root)
{
	const struct plugin *own = section->own;
	const struct plugin_account *a = own->account;
	json_t *all = json_object_get(root, "plugins");
	json_t *object = json_pack(
		"{s:o, s:o, s:b, s:o, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:I, s:o}", "name", value_text(a->name), "path",
		value_text(a->path), "left_out", own->why[0] != '\0', "why", value_text(own->why), "left_ns",
		own->why[0] != '\0' ? value_ns(own->left_ps) : json_null(), "turns", (json_int_t)a->turns, "missed_turns",
		(json_int_t)a->missed, "polls", (json_int_t)a->polls, "probes", (json_int_t)a->probes, "refused",
		(json_int_t)a->refused, "refused_why", value_text(a->refused_why), "dropped_records",
		(json_int_t)a->dropped_records, "findings", findings_json(v, own));

	if (all == NULL) {
		all = json_array();
		if (json_object_set_new(root, "plugins", all) != 0)
			all = NULL;
	}
	return object != NULL && all != NULL && json_array_append_new(all, object) == 0 ? 0 : -ENOMEM;
}

/* ---- report.txt ---- */

/* "2 turns, 3 polls" */
static void
print_dealings(const struct text *text, const struct plugin *own)
{
	const struct plugin_account *a = own->account;
	char line[2 * FACTS_TEXT];

	snprintf(line, sizeof(line),
		 "%s, a plugin diagnoser: %" PRIu64 " turns, %" PRIu64 " polls and %" PRIu64 " probes asked for%s%s",
		 a->path, a->turns, a->polls, a->probes, a->nfindings == 0 ? "; it found nothing" : "",
		 own->nfindings < a->nfindings && a->nfindings != 0 ? "; not all of its output is accepted" : "");
	if (a->refused != 0)
		fmt_append(line, sizeof(line), "; %" PRIu64 " of its requests and findings were refused, the first a %s",
			   a->refused, a->refused_why);
	if (a->dropped_records != 0 || a->missed != 0)
		fmt_append(line, sizeof(line), "; it did not keep up, and lacks %" PRIu64 " records and %" PRIu64 " turns",
			   a->dropped_records, a->missed);
	if (own->why[0] != '\0')
		fmt_append(line, sizeof(line), "; left out at %s: %s", fmt_time(text->facts.unit, own->left_ps).text,
			   own->why);
	fmt_append(line, sizeof(line), ".");
	fputs("  ", text->to);
	text_wrap(text, line, 2);
}

static void
print_finding(const struct text *text, const struct plugin_finding *f, uint32_t number)
{
	char line[2 * FACTS_TEXT];
	const char *place = f->ports.count != 0   ? f->ports.names[0]
			    : f->links.count != 0 ? f->links.names[0]
						  : f->hosts.names[0];

	snprintf(line, sizeof(line), "%s at %s: %s; seen %s to %s, reported at %s; confidence %.2f", f->type, place,
		 f->evidence, fmt_time(text->facts.unit, f->start_ps).text, fmt_time(text->facts.unit, f->end_ps).text,
		 fmt_time(text->facts.unit, f->reported_ps).text, f->confidence);
	if (f->explained_ps != 0)
		fmt_append(line, sizeof(line), "; by its estimate this cost %s",
			   fmt_time(text->facts.unit, f->explained_ps).text);
	fprintf(text->to, "  %u. ", number);
	text_wrap(text, line, 5);
}

int
plugin_text(const struct text *text, const struct section *section)
{
	const struct plugin *own = section->own;
	char title[128];

	snprintf(title, sizeof(title), "Findings of %s", own->account->name);
	text_title(text, title);
	print_dealings(text, own);
	for (uint32_t i = 0; i < own->nfindings && i < FINDINGS_SHOWN; i++)
		print_finding(text, &own->account->findings[i], i + 1);
	if (own->nfindings > FINDINGS_SHOWN)
		fprintf(text->to, "  ... and %u more, in verdict.json\n", own->nfindings - FINDINGS_SHOWN);
	return ferror(text->to) ? -EIO : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/page.h"

#include <errno.h>
#include <string.h>

#include "common/units.h"
#include "diag/report/facts.h"
#include "diag/report/json.h"
#include "diag/report/page_data.h"
#include "diag/vedrfolnir/section.h"

#define REAL_DIGITS 7

static json_t *document(const struct verdict *v);

/* '<' stands in strings alone; escaped, nothing in them can end the script element or open another (HTML, 13.1.2.6). */
static int
write_escaped(const char *buffer, size_t size, void *data)
{
	FILE *to = data;

	for (const char *end = buffer + size; buffer < end;) {
		const char *special = memchr(buffer, '<', (size_t)(end - buffer));
		size_t plain = (size_t)((special != NULL ? special : end) - buffer);

		if (fwrite(buffer, 1, plain, to) != plain || (special != NULL && fputs("\\u003c", to) == EOF))
			return -1;
		buffer += plain + (special != NULL);
	}
	return 0;
}

int
page_write(const struct verdict *v, const char *page, FILE *to)
{
	const char *mark = strstr(page, PAGE_DATA_MARK);
	json_t *data = document(v);
	int rc;

	if (data == NULL)
		return -ENOMEM;
	fwrite(page, 1, (size_t)(mark - page), to);
	rc = json_dump_callback(data, write_escaped, to, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));
	json_decref(data);
	fputs(mark + strlen(PAGE_DATA_MARK), to);
	return rc == 0 && !ferror(to) ? 0 : -EIO;
}

static json_t *
run(const struct verdict *v)
{
	struct facts facts = facts_of(v);
	json_int_t root = facts_root(v) != NULL ? facts_root(v) - v->findings : -1;
	json_int_t first = facts_first(v) != NULL ? facts_first(v) - v->findings : -1;
	char headline[FACTS_TEXT], conclusion[FACTS_TEXT], lost[FACTS_TEXT], late[FACTS_TEXT];

	return json_pack("{s:o, s:s, s:I, s:I, s:s, s:f, s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "name",
			 value_text(v->run.name), "policy", facts_policy_name(v->run.config.policy), "detections",
			 (json_int_t)v->run.config.detections, "rtt_percent", (json_int_t)v->run.config.rtt_percent, "unit",
			 facts.unit.name, "unit_ns", (double)facts.unit.ps / (double)PS_PER_NS, "worst",
			 page_index(facts.worst), "root", root, "first", first, "headline",
			 value_text(facts_headline(&facts, headline, sizeof(headline))), "conclusion",
			 value_text(facts_conclusion(&facts, conclusion, sizeof(conclusion))), "recording_lost",
			 value_text(facts_recording_lost(&facts, lost, sizeof(lost)) != NULL ? lost : ""), "lateness",
			 value_text(facts_lateness(&facts, late, sizeof(late)) != NULL ? late : ""));
}

static json_t *
nodes(const struct verdict *v)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < v->run.nnodes; i++)
		array = value_add(array, json_pack("{s:o, s:b}", "name", value_text(v->run.nodes[i].name), "host",
						   v->run.nodes[i].host));
	return array;
}

/* What telemetry said of a port; nothing of one that none came of. */
static int
add_activity(json_t *to, const struct run_port *port)
{
	json_t *activity = json_pack("{s:I, s:I, s:I, s:o, s:I, s:I, s:I}", "bytes", (json_int_t)port->bytes, "packets",
				     (json_int_t)port->packets, "depth_max", (json_int_t)port->depth_max, "pause_ns",
				     value_ns(port->pause_ps), "pauses_received", (json_int_t)port->pauses_received,
				     "pauses_sent", (json_int_t)port->pauses_sent, "drops", (json_int_t)port->drops);

	return json_object_set_new(to, "reported", activity);
}

static json_t *
ports(const struct verdict *v)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < v->run.nports; i++) {
		const struct run_port *port = &v->run.ports[i];
		json_t *item = json_pack("{s:o, s:I, s:I, s:I, s:I}", "name", value_text(port->name), "node",
					 page_index(port->node), "peer_node", page_index(port->peer_node), "peer_port",
					 page_index(port->peer_port), "rate_bps", (json_int_t)port->rate_bps);

		if (port->reported && add_activity(item, port) != 0) {
			json_decref(array);
			array = NULL;
		}
		array = value_add(array, item);
	}
	return array;
}

/* @param[in,out] hop  the first hop of the flow or a later flow; moved behind the flow's own */
static json_t *
path(const struct verdict *v, uint32_t flow, uint32_t *hop)
{
	json_t *array = json_array();

	for (; *hop < v->run.nhops && v->run.hops[*hop].flow <= flow; (*hop)++) {
		if (v->run.hops[*hop].flow == flow && !v->run.hops[*hop].reverse)
			array = value_add(array, json_integer(page_index(v->run.hops[*hop].port)));
	}
	return array;
}

static json_t *
flows(const struct verdict *v)
{
	json_t *array = json_array();
	uint32_t hop = 0;
	char name[96];

	for (uint32_t i = 0; i < v->run.nflows; i++)
		array = value_add(array, json_pack("{s:o, s:o, s:b, s:o}", "name", value_text(v->run.flows[i].name),
						   "short", value_text(facts_flow(v, i, name, sizeof(name))), "collective",
						   v->run.flows[i].collective, "path", path(v, i, &hop)));
	return array;
}

static json_t *
collectives_at(const struct finding *finding)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < finding->nparts; i++)
		array = value_add(array, json_integer(page_index(finding->parts[i].collective)));
	return array;
}

/* verdict.json names flows, ports and steps; drawings want them by index. @return 0 or -1 */
static int
add_references(const struct verdict *v, json_t *findings)
{
	struct facts facts = facts_of(v);
	json_t *item;
	size_t i;

	json_array_foreach(findings, i, item)
	{
		const struct finding *f = &v->findings[i];
		char sentence[FACTS_TEXT], cost[64], parts[FACTS_TEXT];
		json_t *more = json_pack(
			"{s:s, s:s, s:b, s:o, s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "title", f->type->title,
			"family", f->type->badge, "untimed", (f->type->traits & FINDING_UNTIMED) != 0, "sentence",
			value_text(facts_finding(v, f, sentence, sizeof(sentence))), "collective_at",
			page_index(f->collective), "collectives_at", collectives_at(f), "root_at", page_index(f->root_port),
			"ports_at", page_indices(f->ports, f->nports), "flows_at", page_indices(f->flows, f->nflows),
			"victims_at", page_indices(f->victims, f->nvictims), "steps_at", page_indices(f->steps, f->nsteps),
			"everywhere_ns", value_real(f->explained_ps / PS_PER_NS), "cost",
			value_text(facts_cost(&facts, f, cost, sizeof(cost))), "parts",
			value_text(facts_parts(&facts, f, parts, sizeof(parts))));
		int rc = json_object_update(item, more);

		json_decref(more);
		if (rc != 0)
			return -1;
	}
	return 0;
}

static int
add_contributor_references(const struct verdict *v, json_t *contributors)
{
	json_t *item;
	size_t i;

	json_array_foreach(contributors, i, item)
	{
		const struct contributor *c = &vedrfolnir_of(v)->contributors[i];
		json_t *steps = json_array();

		for (uint32_t s = 0; s < c->nshares; s++)
			steps = value_add(steps, json_integer(page_index(c->shares[s].step)));
		if (json_object_set_new(item, "flow_at", json_integer(page_index(c->flow))) != 0 ||
		    json_object_set_new(item, "steps_at", steps) != 0)
			return -1;
	}
	return 0;
}

/* verdict.json, but for the critical path, which steps tell, and what drawings need besides. */
static json_t *
document(const struct verdict *v)
{
	json_t *root = json_document(v);
	json_t *more =
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "run", run(v), "generated", page_generated(v),
			  "nodes", nodes(v), "ports", ports(v), "flows", flows(v), "graphs", page_graphs(v), "detections",
			  page_detections(v), "notifications", page_notifications(v), "polls", page_polls(v));

	if (root == NULL || json_object_update(root, more) != 0 ||
	    add_references(v, json_object_get(root, "findings")) != 0 ||
	    add_contributor_references(v, json_object_get(root, "contributors")) != 0 || page_add_steps(v, root) != 0) {
		json_decref(root);
		root = NULL;
	} else {
		json_object_del(root, "critical_path");
	}
	json_decref(more);
	return root;
}

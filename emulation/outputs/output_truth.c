/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/log.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "common/units.h"
#include "dpswitch/truth/port_truth.h"
#include "emulation/injection.h"
#include "emulation/outputs/outputs.h"
#include "scenario/scenario.h"
#include "workload/plan.h"

/* Contentions shorter than this are left out: two frames in one queue are not worth a line. */
#define CONTENTION_MIN_PS PS_PER_US
#define CONTENTIONS_MOST 100000 /* listed, about 20 MB: an AllToAll of some thousand connections has millions */

/* "h0", or "h0:2" where a host has several NICs with addresses of their own: as the verdict names it. */
static void
endpoint_name(const struct topo *topo, uint32_t node, uint16_t nic, char name[64])
{
	if (topo->nodes[node].nports > 1 && !topo->nodes[node].bonded)
		topo_port_name(topo, topo->nodes[node].first_port + nic, name);
	else
		snprintf(name, 64, "%s", topo->nodes[node].name);
}

void
output_flow_name(const struct scenario *scenario, uint32_t flow, char *buf, size_t cap)
{
	const struct flow *f = &scenario->plan->flows.flows[flow];
	char src[64], dst[64];

	endpoint_name(scenario->topo, f->src_node, f->src_nic, src);
	endpoint_name(scenario->topo, f->dst_node, f->dst_nic, dst);
	snprintf(buf, cap, "%s->%s/%u>%u", src, dst, f->sport, f->dport);
}

/* @return NULL: a word that was not given */
static json_t *
parameter(const struct cfg_field *field, const void *params)
{
	const void *at = (const char *)params + field->offset;

	switch (field->type) {
	case CFG_FLOAT:
		return json_real(*(const double *)at);
	case CFG_BOOL:
		return json_boolean(*(const bool *)at);
	case CFG_STRING:
		return *(const char *const *)at != NULL ? json_string(*(const char *const *)at) : NULL;
	case CFG_ENUM:
		for (const struct cfg_choice *choice = field->choices; choice->name != NULL; choice++)
			if (choice->value == *(const int *)at)
				return json_string(choice->name);
		return NULL;
	case CFG_TIME:
		return json_integer((json_int_t)(*(const uint64_t *)at / PS_PER_NS));
	default:
		return json_integer(*(const int64_t *)at);
	}
}

/* What a value's unit adds to its key. */
static const char *
unit(enum cfg_type type)
{
	return type == CFG_TIME ? "_ns" : type == CFG_RATE ? "_bps" : type == CFG_BYTES ? "_bytes" : "";
}

/* Keys of a fault's own table. */
static void
add_parameters(json_t *entry, const struct fault *fault)
{
	const struct cfg_table *table = fault->ops->table;

	for (const char *const *key = fault->ops->truth_keys; key != NULL && *key != NULL; key++)
		for (size_t i = 0; i < table->nfields; i++) {
			const struct cfg_field *field = &table->fields[i];
			json_t *value = strcmp(field->name, *key) == 0 ? parameter(field, fault->params) : NULL;
			char name[64];

			snprintf(name, sizeof(name), "%s%s", *key, unit(field->type));
			if (value != NULL)
				json_object_set_new(entry, name, value);
		}
}

static json_t *
faults_json(const struct emulation *emulation)
{
	const struct scenario *scenario = emulation->scenario;
	json_t *list = json_array();

	for (uint32_t i = 0; i < scenario->faults.count; i++) {
		const struct fault *fault = &scenario->faults.faults[i];
		const struct fault_common *common = fault->params;
		char target[64];
		json_t *entry;

		if (!common->enabled)
			continue;
		fault->ops->target(fault->params, scenario->topo, target);
		entry = json_pack("{s:s, s:s, s:I, s:I, s:I, s:b}", "kind", fault->ops->kind, "target", target, "start_ns",
				  (json_int_t)(common->start_ps / PS_PER_NS), "duration_ns",
				  (json_int_t)(common->duration_ps / PS_PER_NS), "period_ns",
				  (json_int_t)(common->period_ps / PS_PER_NS), "acted", fault_idle(fault) == NULL);
		if (common->known)
			json_object_set_new(entry, "known", json_true());
		add_parameters(entry, fault);
		json_array_append_new(list, entry);
	}
	return list;
}

static json_t *
background_json(const struct emulation *emulation)
{
	const struct plan *plan = emulation->scenario->plan;
	json_t *list = json_array();

	for (uint32_t i = 0; i < plan->nbackgrounds; i++) {
		const struct plan_background *flow = &plan->backgrounds[i];
		char name[OUTPUT_FLOW_NAME];

		if (flow->start_ps == TIME_NEVER)
			continue;
		output_flow_name(emulation->scenario, flow->flow, name, sizeof(name));
		json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:b}", "flow", name, "bytes",
						      (json_int_t)flow->bytes, "start_ns",
						      (json_int_t)(flow->start_ps / PS_PER_NS), "repeat", flow->repeat));
	}
	return list;
}

/* A list in the making. What stands in a file already takes no memory. */
struct truth_list {
	json_t *list; /* elements that are not written yet */
	FILE *file;   /* NULL: the list is kept */
	bool begun;   /* an element was written */
};

/* Elements of a list of an object: what the whole tree's json_dumpf() would write. */
static void
write_elements(struct truth_list *to)
{
	size_t i;
	json_t *element;

	json_array_foreach(to->list, i, element) {
		char *text = json_dumps(element, JSON_INDENT(1) | JSON_PRESERVE_ORDER);

		fputs(to->begun ? ",\n  " : "[\n  ", to->file);
		to->begun = true;
		for (const char *c = text; c != NULL && *c != '\0'; c++) {
			fputc(*c, to->file);
			if (*c == '\n')
				fputs("  ", to->file);
		}
		if (text == NULL)
			log_fatal("out of memory for truth.json");
		free(text);
	}
	json_array_clear(to->list);
}

/* The list has more elements. */
static void
truth_list_grown(struct truth_list *to)
{
	if (to->file != NULL)
		write_elements(to);
}

/* Two flows that shared the queue of a port. */
struct shared {
	struct flow_contention pair;
	uint32_t port, flows[2];
	uint64_t order; /* of ports and slots */
};

/* Those found so far, of which the longest are kept. */
struct longest {
	struct shared *at; /* [2 * CONTENTIONS_MOST] */
	size_t count;
	uint64_t seen;
};

/* By time together in the file's unit, which partitions' reports have as well; the longest first. */
static int
compare_longest(const void *a, const void *b)
{
	const struct shared *x = a, *y = b;
	uint64_t x_ns = x->pair.together_ps / PS_PER_NS, y_ns = y->pair.together_ps / PS_PER_NS;

	return x_ns != y_ns ? (x_ns < y_ns) - (x_ns > y_ns) : (x->order > y->order) - (x->order < y->order);
}

static int
compare_order(const void *a, const void *b)
{
	const struct shared *x = a, *y = b;

	return (x->order > y->order) - (x->order < y->order);
}

static void
keep_longest(struct longest *kept)
{
	if (kept->count <= CONTENTIONS_MOST)
		return;
	qsort(kept->at, kept->count, sizeof(*kept->at), compare_longest);
	kept->count = CONTENTIONS_MOST;
}

static void
find_contentions(struct longest *kept, const struct port_truth *truth, uint32_t port)
{
	const struct port_flows *flows = truth->flows;

	for (uint32_t a = 0; a < flows->count; a++) {
		for (uint32_t b = a + 1; b < flows->count; b++) {
			struct flow_contention pair = port_truth_contention(truth, a, b);

			if (pair.together_ps < CONTENTION_MIN_PS)
				continue;
			if (kept->count == 2 * CONTENTIONS_MOST)
				keep_longest(kept);
			kept->at[kept->count++] =
				(struct shared){ pair, port, { flows->flow[a], flows->flow[b] }, kept->seen++ };
		}
	}
}

static json_t *
contention_json(const struct emulation *emulation, const struct shared *shared)
{
	char port_name[64], names[2][OUTPUT_FLOW_NAME];

	topo_port_name(emulation->scenario->topo, shared->port, port_name);
	for (uint32_t i = 0; i < 2; i++)
		output_flow_name(emulation->scenario, shared->flows[i], names[i], sizeof(names[i]));
	return json_pack("{s:s, s:[s,s], s:I, s:I, s:I, s:f, s:I}", "port", port_name, "flows", names[0], names[1],
			 "together_ns", (json_int_t)(shared->pair.together_ps / PS_PER_NS), "first_ns",
			 (json_int_t)(shared->pair.first_ps / PS_PER_NS), "last_ns",
			 (json_int_t)(shared->pair.last_ps / PS_PER_NS), "depth_mean",
			 (double)shared->pair.depth_time / (double)shared->pair.together_ps, "depth_max",
			 (json_int_t)shared->pair.depth_max);
}

/*
 * The CONTENTIONS_MOST pairs that shared a queue longest, in the order of ports.
 * @return flows whose contention with each other is not known, over all ports, and pairs that are not listed
 */
static uint64_t
list_contentions(const struct emulation *emulation, struct truth_list *to)
{
	const struct topo *topo = emulation->scenario->topo;
	struct longest kept = { .at = malloc(2 * CONTENTIONS_MOST * sizeof(*kept.at)) };
	uint64_t left_out = 0;

	if (kept.at == NULL)
		log_fatal("out of memory for %d pairs of flows that shared a queue", CONTENTIONS_MOST);
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		for (uint16_t p = 0; p < topo->nodes[i].nports; p++) {
			const struct port_truth *truth = emulation_truth_of(emulation, i, p);

			if (truth == NULL)
				continue;
			find_contentions(&kept, truth, topo->nodes[i].first_port + p);
			left_out += port_truth_left_out(truth);
		}
	}
	keep_longest(&kept);
	left_out += kept.seen - kept.count;
	qsort(kept.at, kept.count, sizeof(*kept.at), compare_order);
	for (size_t i = 0; i < kept.count; i++) {
		json_array_append_new(to->list, contention_json(emulation, &kept.at[i]));
		truth_list_grown(to);
	}
	free(kept.at);
	return left_out;
}

static int
compare_overtakings(const void *a, const void *b)
{
	const struct overtaking *x = a, *y = b;

	return x->flow != y->flow ? (x->flow > y->flow) - (x->flow < y->flow) : x->acks - y->acks;
}

static void
add_overtakings(const struct emulation *emulation, json_t *list, const struct overtakings *all, uint32_t port)
{
	struct overtaking *sorted = calloc(all->count + 1u, sizeof(*sorted));
	double byte_ns = 8e9 / (double)emulation->scenario->topo->ports[port].rate_bps;
	uint32_t count = 0;

	for (uint32_t i = 0; sorted != NULL && i < all->cap; i++)
		if (all->at[i].packets != 0)
			sorted[count++] = all->at[i];
	qsort(sorted, count, sizeof(*sorted), compare_overtakings);
	for (uint32_t i = 0; i < count; i++) {
		char port_name[64], flow[OUTPUT_FLOW_NAME];

		topo_port_name(emulation->scenario->topo, port, port_name);
		output_flow_name(emulation->scenario, sorted[i].flow, flow, sizeof(flow));
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:b, s:I, s:I, s:I, s:I}", "port", port_name, "flow", flow,
						"acks", sorted[i].acks, "packets", (json_int_t)sorted[i].packets, "link_ns",
						(json_int_t)((double)sorted[i].wire_bytes * byte_ns), "first_ns",
						(json_int_t)(sorted[i].first_ps / PS_PER_NS), "last_ns",
						(json_int_t)(sorted[i].last_ps / PS_PER_NS)));
	}
	free(sorted);
}

/* Whose frames of class 0 went ahead of data that waited. */
static void
list_overtakings(const struct emulation *emulation, struct truth_list *to)
{
	const struct topo *topo = emulation->scenario->topo;

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		for (uint16_t p = 0; p < topo->nodes[i].nports; p++) {
			const struct port_truth *truth = emulation_truth_of(emulation, i, p);

			if (truth != NULL)
				add_overtakings(emulation, to->list, &truth->overtakings, topo->nodes[i].first_port + p);
			truth_list_grown(to);
		}
	}
}

/* Flows that waited at a paused port. */
static json_t *
held_json(const struct emulation *emulation, const struct port_truth *truth)
{
	json_t *list = json_array();

	for (uint32_t slot = 0; slot < truth->flows->count; slot++) {
		struct flow_contention held = port_truth_held(truth, slot);
		char name[OUTPUT_FLOW_NAME];

		if (held.together_ps < CONTENTION_MIN_PS)
			continue;
		output_flow_name(emulation->scenario, truth->flows->flow[slot], name, sizeof(name));
		json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I}", "flow", name, "held_ns",
						      (json_int_t)(held.together_ps / PS_PER_NS), "first_ns",
						      (json_int_t)(held.first_ps / PS_PER_NS), "last_ns",
						      (json_int_t)(held.last_ps / PS_PER_NS)));
	}
	return list;
}

/* Ports that their peers paused, NICs included. */
static void
list_pauses(const struct emulation *emulation, struct truth_list *to)
{
	const struct topo *topo = emulation->scenario->topo;

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		for (uint16_t p = 0; p < topo->nodes[i].nports; p++) {
			const struct port_truth *truth = emulation_truth_of(emulation, i, p);
			uint64_t paused_ps = 0;
			char name[64];

			if (truth != NULL)
				paused_ps = port_truth_paused_ps(truth, emulation->fabric->window.end_ps);
			if (paused_ps == 0)
				continue;
			topo_port_name(topo, topo->nodes[i].first_port + p, name);
			json_array_append_new(to->list,
					      json_pack("{s:s, s:s, s:I, s:b, s:o}", "port", name, "by",
							topo->nodes[topo_port_of(topo, i, p)->peer].name, "paused_ns",
							(json_int_t)(paused_ps / PS_PER_NS), "at_end", truth->paused,
							"held", held_json(emulation, truth)));
			truth_list_grown(to);
		}
	}
}

json_t *
output_truth_own(const struct emulation *emulation)
{
	struct truth_list contentions = { .list = json_array() }, pauses = { .list = json_array() };
	struct truth_list overtakings = { .list = json_array() };
	uint64_t left_out = list_contentions(emulation, &contentions);

	list_pauses(emulation, &pauses);
	list_overtakings(emulation, &overtakings);
	return json_pack("{s:o, s:I, s:o, s:o}", "contentions", contentions.list, "contentions_left_out",
			 (json_int_t)left_out, "pauses", pauses.list, "overtakings", overtakings.list);
}

/* Behind an object's key. */
static void
end_list(struct truth_list *to)
{
	fputs(to->begun ? "\n ]" : "[]", to->file);
	to->begun = false;
}

/* The same facts one by one: the tree of a large fabric takes several times the file's bytes. */
static void
write_own(const struct emulation *emulation, FILE *file)
{
	struct truth_list to = { .list = json_array(), .file = file };
	uint64_t left_out;

	fputs(",\n \"contentions\": ", file);
	left_out = list_contentions(emulation, &to);
	end_list(&to);
	fprintf(file, ",\n \"contentions_left_out\": %llu,\n \"pauses\": ", (unsigned long long)left_out);
	list_pauses(emulation, &to);
	end_list(&to);
	fputs(",\n \"overtakings\": ", file);
	list_overtakings(emulation, &to);
	end_list(&to);
	fputs("\n}", file);
	json_decref(to.list);
}

static int
write_whole(const struct emulation *emulation, json_t *root, const char *dir, struct err *err)
{
	char *head = json_dumps(root, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	struct outfile out;
	int ret = head != NULL ? outfile_open(&out, dir, RUN_TRUTH, err)
			       : err_set(err, -ENOMEM, "%s: out of memory", RUN_TRUTH);

	if (ret == 0) {
		fwrite(head, 1, strlen(head) - strlen("\n}"), out.file); /* it goes on */
		write_own(emulation, out.file);
		ret = outfile_close(&out, ret, err);
	}
	free(head);
	json_decref(root);
	return ret;
}

/* The lists of all partitions together may be longer than one may be. */
static void
cut_contentions(json_t *root)
{
	json_t *list = json_object_get(root, "contentions"), *left_out = json_object_get(root, "contentions_left_out");
	size_t count = json_array_size(list);
	struct shared *at;
	json_t *cut;

	if (count <= CONTENTIONS_MOST)
		return;
	cut = json_array();
	at = calloc(count, sizeof(*at));
	if (at == NULL)
		log_fatal("out of memory for %zu pairs of flows that shared a queue", count);
	for (size_t i = 0; i < count; i++) {
		const json_t *together = json_object_get(json_array_get(list, i), "together_ns");

		at[i].pair.together_ps = (uint64_t)json_integer_value(together) * PS_PER_NS;
		at[i].order = i;
	}
	qsort(at, count, sizeof(*at), compare_longest);
	qsort(at, CONTENTIONS_MOST, sizeof(*at), compare_order);
	for (size_t i = 0; i < CONTENTIONS_MOST; i++)
		json_array_append(cut, json_array_get(list, at[i].order));
	free(at);
	json_object_set_new(root, "contentions", cut);
	json_integer_set(left_out, json_integer_value(left_out) + (json_int_t)(count - CONTENTIONS_MOST));
}

int
output_truth(const struct emulation *emulation, const char *dir, struct err *err)
{
	json_t *root = json_pack("{s:i, s:o, s:o}", "schema_version", 1, "faults", faults_json(emulation),
				 "background_flows", background_json(emulation));
	json_t *own;

	if (emulation->partition == NULL)
		return write_whole(emulation, root, dir, err);
	own = output_truth_own(emulation);
	json_object_update(root, own);
	json_decref(own);
	output_partition_add(emulation, "truth", root);
	cut_contentions(root);
	return output_json(root, dir, RUN_TRUTH, err);
}

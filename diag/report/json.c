/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/json.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"
#include "common/units.h"
#include "diag/report/facts.h"
#include "diag/report/flows.h"
#include "diag/verdict.h"

#define NUMBER_BYTES 21 /* of the longest: a sign and 20 digits */
#define LIST_BYTES 4096

/* Before a list's text: no string that is UTF-8, as all others are, begins so. */
#define LIST_MARK '\xff'

/* @return where number, pair or end may be written; NULL: no memory */
static char *
list_room(struct value_list *list)
{
	size_t cap_bytes = list->cap_bytes != 0 ? 2 * list->cap_bytes : LIST_BYTES;
	char *text;

	if (list->failed)
		return NULL;
	if (list->cap_bytes - list->used_bytes >= 2 * NUMBER_BYTES + 4) /* and "[", two commas, "]" */
		return list->text + list->used_bytes;
	text = realloc(list->text, cap_bytes);
	list->failed = text == NULL;
	if (text == NULL)
		return NULL;
	if (list->cap_bytes == 0) {
		text[0] = LIST_MARK;
		text[1] = '[';
		list->used_bytes = 2;
	}
	list->text = text;
	list->cap_bytes = cap_bytes;
	return text + list->used_bytes;
}

/* @return behind it */
static char *
put_number(char *to, json_int_t number)
{
	uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;
	char digits[NUMBER_BYTES], *first = digits + sizeof(digits);

	do
		*--first = (char)('0' + left % 10);
	while ((left /= 10) != 0);
	if (number < 0)
		*--first = '-';
	return mempcpy(to, first, (size_t)(digits + sizeof(digits) - first));
}

void
value_list_number(struct value_list *list, json_int_t number)
{
	char *to = list_room(list);

	if (to == NULL)
		return;
	to = put_number(to, number);
	*to++ = ',';
	list->used_bytes = (size_t)(to - list->text);
}

void
value_list_pair(struct value_list *list, json_int_t number, json_int_t times)
{
	char *to = list_room(list);

	if (to == NULL)
		return;
	*to++ = '[';
	to = put_number(to, number);
	*to++ = ',';
	to = put_number(to, times);
	*to++ = ']';
	*to++ = ',';
	list->used_bytes = (size_t)(to - list->text);
}

json_t *
value_list_end(struct value_list *list)
{
	char *end = list_room(list);
	json_t *value = NULL;

	if (end != NULL) {
		end -= end[-1] == ','; /* which would go before the next one */
		*end++ = ']';
		value = json_stringn_nocheck(list->text, (size_t)(end - list->text));
	}
	free(list->text);
	*list = (struct value_list){ 0 };
	return value;
}

/* Can a character stand in a string of a page as it is? Escaped, no '<' ends the script element (HTML, 13.1.2.6). */
static bool
is_plain(char c)
{
	return (unsigned char)c >= ' ' && c != '"' && c != '\\' && c != '<';
}

/* Without jansson, which sets up a table to find circles in for each value. @param text  UTF-8 @return 0 or -1 */
static int
write_text(const char *text, size_t bytes, FILE *to)
{
	const char *end = text + bytes;
	int rc = fputc('"', to);

	for (size_t count; text < end && rc != EOF; text += count) {
		for (count = 0; text + count < end && is_plain(text[count]); count++)
			;
		if (count != 0) {
			rc = fwrite(text, 1, count, to) == count ? 0 : EOF;
			continue;
		}
		count = 1;
		if (*text == '"' || *text == '\\')
			rc = fprintf(to, "\\%c", *text);
		else
			rc = *text == '\n' ? fputs("\\n", to) : fprintf(to, "\\u%04x", (unsigned char)*text);
	}
	return rc < 0 || fputc('"', to) == EOF ? -1 : 0;
}

/* A list, or another string or number. */
static int
write_leaf(const json_t *value, int digits, FILE *to)
{
	const char *text = json_string_value(value);
	size_t bytes = json_string_length(value);

	if (text == NULL)
		return json_dumpf(value, to, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits));
	if (bytes == 0 || text[0] != LIST_MARK)
		return write_text(text, bytes, to);
	return fwrite(text + 1, 1, bytes - 1, to) == bytes - 1 ? 0 : -1;
}

int
json_write_page(json_t *root, int digits, FILE *to)
{
	char number[NUMBER_BYTES], before;
	json_t *item;
	const char *key;
	size_t i;
	int rc = 0;

	if (json_is_integer(root)) {
		size_t bytes = (size_t)(put_number(number, json_integer_value(root)) - number);

		return fwrite(number, 1, bytes, to) == bytes ? 0 : -1;
	}
	if (json_is_array(root)) {
		before = '[';
		json_array_foreach(root, i, item) {
			rc |= fputc(before, to) == EOF ? -1 : json_write_page(item, digits, to);
			before = ',';
		}
		return (before == '[' && fputc('[', to) == EOF) || fputc(']', to) == EOF ? -1 : rc;
	}
	if (!json_is_object(root))
		return write_leaf(root, digits, to);
	before = '{';
	json_object_foreach(root, key, item) {
		rc |= fputc(before, to) == EOF || write_text(key, strlen(key), to) != 0 || fputc(':', to) == EOF
			      ? -1
			      : json_write_page(item, digits, to);
		before = ',';
	}
	return (before == '{' && fputc('{', to) == EOF) || fputc('}', to) == EOF ? -1 : rc;
}

json_t *
value_add(json_t *array, json_t *item)
{
	if (json_array_append_new(array, item) == 0)
		return array;
	json_decref(array);
	return NULL;
}

json_t *
value_set(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) == 0)
		return object;
	json_decref(object);
	return NULL;
}

json_t *
value_ns(uint64_t time_ps)
{
	return json_integer((json_int_t)(time_ps / PS_PER_NS));
}

#define MOST_NS 0x1p62 /* of a sum of costs, either side of 0 */

json_t *
value_cost(double ps)
{
	return json_integer((json_int_t)fmax(-MOST_NS, fmin((ps + PS_PER_NS / 2.0) / PS_PER_NS, MOST_NS)));
}

json_t *
value_real(double value)
{
	return json_real(isfinite(value) ? value : 0);
}

json_t *
value_text(const char *raw)
{
	char safe[1024];

	return json_string(printable_text(raw, safe, sizeof(safe)));
}

json_t *
value_flow(const struct verdict *v, uint32_t flow)
{
	return flow < v->run.nflows ? value_text(v->run.flows[flow].name) : json_null();
}

/*
 * {"job", "collective", "iteration"}: the meaning of these keys in every file. @param collective  index into
 * run.collectives
 */
static json_t *
value_collective(const struct verdict *v, uint32_t collective)
{
	const struct run_collective *c = &v->run.collectives[collective];

	return json_pack("{s:I, s:I, s:I}", "job", (json_int_t)run_job_of(&v->run, collective)->id, "collective",
			 (json_int_t)c->id, "iteration", (json_int_t)c->iteration);
}

json_t *
value_step(const struct verdict *v, const struct run_step *step, json_t *more)
{
	json_t *value = value_collective(v, step->collective);
	json_t *name = json_pack("{s:I, s:I}", "rank", (json_int_t)step->rank, "step", (json_int_t)step->step);

	if (value == NULL || name == NULL || more == NULL || json_object_update(value, name) != 0 ||
	    json_object_update(value, more) != 0) {
		json_decref(value);
		value = NULL;
	}
	json_decref(name);
	json_decref(more);
	return value;
}

static json_t *headline(const struct verdict *v);
static json_t *network(const struct verdict *v);
static json_t *collectives(const struct verdict *v);
static json_t *findings(const struct verdict *v);
static json_t *twins(const struct verdict *v);
static json_t *overhead(const struct verdict *v);
static json_t *evidence(const struct verdict *v);

/*
 * Any missing part (out of memory) makes the whole NULL: "o" of json_pack refuses NULL. The keys of VEDRFOLNIR's
 * section are always there.
 */
json_t *
json_document(const struct verdict *v)
{
	json_t *root = json_pack("{s:i, s:[], s:o, s:o, s:[], s:o, s:[], s:[], s:o, s:o}", "schema_version",
				 VERDICT_SCHEMA_VERSION, "jobs", "collectives", collectives(v), "network", network(v),
				 "critical_path", "findings", findings(v), "contributors", "unjudged", "overhead",
				 overhead(v), "evidence", evidence(v));
	int rc = root != NULL ? json_object_set_new(root, "headline", headline(v)) : -ENOMEM;

	rc = rc == 0 ? 0 : -ENOMEM;
	if (rc == 0 && flows_alone(v))
		rc = json_object_set_new(root, "flows", flows_json(v)) == 0 ? 0 : -ENOMEM;
	if (rc == 0 && v->run.nlateness != 0)
		rc = json_object_set_new(root, "lateness", json_lateness(v)) == 0 ? 0 : -ENOMEM;
	if (rc == 0 && v->ntwins != 0)
		rc = json_object_set_new(root, "twins", twins(v)) == 0 ? 0 : -ENOMEM;
	if (rc == 0 && v->prefixes != 0)
		rc = json_object_set_new(root, "detection_prefixes", json_integer(v->prefixes)) == 0 ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < v->nsections && rc == 0; i++) {
		const struct section *section = &v->sections[i];

		if (section->by->writers.json != NULL)
			rc = section->by->writers.json(v, section, root);
	}
	if (rc == 0)
		return root;
	json_decref(root);
	return NULL;
}

int
json_write(const struct verdict *v, FILE *to)
{
	json_t *root = json_document(v);
	int rc;

	if (root == NULL)
		return -ENOMEM;
	rc = json_dumpf(root, to, JSON_INDENT(2));
	json_decref(root);
	return rc == 0 && fputc('\n', to) != EOF ? 0 : -EIO;
}

/* The report's first sentences, and their collective; null: of none. */
static json_t *
headline(const struct verdict *v)
{
	struct facts facts = facts_of(v);
	char text[FACTS_TEXT], conclusion[FACTS_TEXT];

	return json_pack("{s:o, s:o, s:o}", "of", facts.worst != RUN_NONE ? value_collective(v, facts.worst) : json_null(),
			 "text", value_text(facts_headline(&facts, text, sizeof(text))), "conclusion",
			 value_text(facts_conclusion(&facts, conclusion, sizeof(conclusion))));
}

static json_t *
network(const struct verdict *v)
{
	const struct facts_loss loss = facts_loss_shown(v, PS_PER_NS);
	char reason[FACTS_REASON];
	double confidence;
	bool sure = facts_confidence(v, &confidence);

	return json_pack("{s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "innocent", facts_innocent(v), "word",
			 facts_word(v), "confidence", sure ? value_real(confidence) : json_null(), "lost_ns",
			 value_cost(loss.lost_ps), "explained_ns", value_cost(loss.causes_ps), "without_effect_ns",
			 value_cost(loss.alone_ps), "late_little_ns", value_cost(loss.little_ps), "unexplained_ns",
			 value_cost(loss.unexplained_ps), "reason", value_text(facts_reason(v, reason)));
}

static json_t *
flow_names(const struct verdict *v, const uint32_t *flows, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		array = value_add(array, value_flow(v, flows[i]));
	return array;
}

/* Of the lost time on the critical path, in the order of the finding's flows. */
static json_t *
flow_times(const double *flow_ps, uint32_t nflows)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < nflows; i++)
		array = value_add(array, value_cost(flow_ps[i]));
	return array;
}

static json_t *
port_names(const struct verdict *v, const uint32_t *ports, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		array = value_add(array, value_text(v->run.ports[ports[i]].name));
	return array;
}

/* Of a collective of a size that is complete. */
static json_t *
bandwidth(double gbps)
{
	return gbps > 0 ? value_real(gbps) : json_null();
}

static json_t *
collective(const struct verdict *v, uint32_t index)
{
	const struct run_collective *c = &v->run.collectives[index];
	json_t *value = value_collective(v, index);
	json_t *more =
		json_pack("{s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "name",
			  value_text(c->name), "algorithm", facts_algorithm_name(c->algorithm), "op", facts_op_key(c->op),
			  "ranks", (json_int_t)c->ranks, "group_ranks", (json_int_t)c->group_ranks, "bytes",
			  (json_int_t)c->bytes, "step_bytes", (json_int_t)c->step_bytes, "start_ns", value_ns(c->start_ps),
			  "end_ns", c->complete ? value_ns(c->end_ps) : json_null(), "ideal_ns", value_ns(c->ideal_ps),
			  "expect_ns", value_ns(c->expect_ps), "complete", c->complete, "algbw",
			  bandwidth(facts_algbw(v, c)), "busbw", bandwidth(facts_busbw(v, c)));

	if (value == NULL || more == NULL || json_object_update(value, more) != 0) {
		json_decref(value);
		value = NULL;
	}
	json_decref(more);
	return value;
}

static json_t *
collectives(const struct verdict *v)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < v->run.ncollectives; i++)
		array = value_add(array, collective(v, i));
	return array;
}

/* Of one collective, which is named beside them: the rest of their names. */
static json_t *
steps(const struct verdict *v, const struct finding *finding, uint32_t collective)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < finding->nsteps; i++) {
		const struct run_step *step = &v->run.steps[finding->steps[i]];

		if (step->collective != collective)
			continue;
		array = value_add(array,
				  json_pack("{s:I, s:I}", "rank", (json_int_t)step->rank, "step", (json_int_t)step->step));
	}
	return array;
}

/* By the twin: whether the finding, and which of its flows, has no effect on a part, or less than the twin's error. */
static json_t *
add_costless(const struct verdict *v, const struct finding *finding, const struct finding_part *part, json_t *to)
{
	json_t *flows = json_array();
	bool all = finding->nflows != 0 || part->costless[finding->nflows];

	for (uint32_t f = 0; f < finding->nflows; f++) {
		all &= part->costless[f];
		if (part->costless[f])
			flows = value_add(flows, value_text(v->run.flows[finding->flows[f]].name));
	}
	return value_set(value_set(to, "without_effect", json_boolean(all)), "flows_without_effect", flows);
}

/* Its cost in each affected iteration of a collective. @param cost_ps  what they add up to, as it is written */
static json_t *
iterations(const struct verdict *v, const struct finding *finding, double cost_ps)
{
	json_t *array = json_array();
	double *costs = calloc((size_t)finding->nparts + 1, sizeof(*costs));

	for (uint32_t i = 0; costs != NULL && i < finding->nparts; i++)
		costs[i] = fmax(finding->parts[i].critical_ps, 0);
	if (costs == NULL || fmt_add_up(costs, finding->nparts, cost_ps, PS_PER_NS) != 0) {
		free(costs);
		json_decref(array);
		return NULL;
	}

	for (uint32_t i = 0; i < finding->nparts; i++) {
		const struct finding_part *part = &finding->parts[i];
		json_t *value = value_collective(v, part->collective);
		json_t *more =
			json_pack("{s:o, s:o, s:o}", "explained_ns", value_cost(costs[i]), "flows_explained_ns",
				  flow_times(part->flow_ps, finding->nflows), "steps", steps(v, finding, part->collective));

		if (value == NULL || more == NULL || json_object_update(value, more) != 0) {
			json_decref(value);
			value = NULL;
		}
		json_decref(more);
		if (part->costless != NULL)
			value = add_costless(v, finding, part, value);
		array = value_add(array, value);
	}
	free(costs);
	return array;
}

/* Where a deadlock began. */
static json_t *
add_origin(const struct verdict *v, const struct finding *finding, json_t *to)
{
	bool has_origin = finding->origin_port != RUN_NONE;

	return value_set(value_set(to, "origin", json_string(has_origin ? "out of loop" : "in loop")), "origin_port",
			 has_origin ? value_text(v->run.ports[finding->origin_port].name) : json_null());
}

/* When it could first have been reported. */
static json_t *
add_detection(const struct finding *finding, json_t *to)
{
	return value_set(value_set(to, "detected_ns", value_ns(finding->detected_ps)), "undetected_ns",
			 value_ns(finding->undetected_ps));
}

/* What its cost rests on, and whether it is known. */
static json_t *
add_cost_from(const struct finding *finding, json_t *to)
{
	static const char *const names[] = { FINDING_COSTS(ENUM_NAME) };

	return value_set(value_set(to, "cost_from", json_string(names[finding->cost_from])), "cost_unknown",
			 json_boolean(finding->cost_unknown));
}

/* The twin of each job that was run without its causes. */
static json_t *
twins(const struct verdict *v)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < v->ntwins; i++) {
		const struct verdict_twin *twin = &v->twins[i];

		array = value_add(array,
				  json_pack("{s:I, s:o, s:o, s:o, s:o, s:b, s:I}", "job",
					    (json_int_t)v->run.jobs[twin->job].id, "measured_ns",
					    value_cost(twin->measured_ps), "twin_ns", value_cost(twin->twin_ps), "error",
					    value_real(twin->error), "steps_error", value_real(twin->steps_error), "usable",
					    twin->usable, "runs", (json_int_t)twin->runs));
	}
	return array;
}

static json_t *
findings(const struct verdict *v)
{
	char evidence[FACTS_EVIDENCE];
	json_t *array = json_array();
	double *costs = facts_costs(v, PS_PER_NS);

	for (uint32_t i = 0; costs != NULL && i < v->nfindings; i++) {
		const struct finding *f = &v->findings[i];

		uint32_t cause = verdict_cause_of(v, i);
		json_t *finding = json_pack(
			"{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "type",
			f->type->key, "fault", (f->type->traits & FINDING_OF_FAULT) != 0, "root", value_text(f->root),
			"ports", port_names(v, f->ports, f->nports), "flows", flow_names(v, f->flows, f->nflows),
			"flows_explained_ns", flow_times(f->flow_ps, f->nflows), "explained_ns", value_cost(costs[i]),
			"regained_ns", value_cost(f->regained_ps), "without_effect", f->costless, "confidence",
			value_real(f->confidence), "victims", flow_names(v, f->victims, f->nvictims), "iterations",
			iterations(v, f, costs[i]), "start_ns", value_ns(f->start_ps), "end_ns", value_ns(f->end_ps),
			"score", value_real(f->score), "evidence", value_text(facts_evidence(v, f, evidence)));

		finding = add_cost_from(f, finding);
		if ((f->type->traits & FINDING_OF_CIRCLE) != 0)
			finding = add_origin(v, f, finding);
		if (cause != RUN_NONE)
			finding = value_set(finding, "consequence_of", json_integer(cause));
		if (v->run.nlateness != 0)
			finding = value_set(finding, "machine_share", value_real(f->machine));
		if (v->prefixes != 0)
			finding = add_detection(f, finding);
		if (f->known != 0)
			finding = value_set(
				finding, "known",
				value_text(facts_known(&v->run, &v->run.known[f->known - 1], evidence, sizeof(evidence))));
		array = value_add(array, finding);
	}
	if (costs == NULL) {
		json_decref(array);
		return NULL;
	}
	free(costs);
	return array;
}

static json_t *
kinds(const struct run_overhead *o)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < o->nkinds; i++)
		array = value_add(array,
				  json_pack("{s:s, s:I, s:I, s:I}", "kind", facts_record_name(o->kinds[i].kind), "records",
					    (json_int_t)o->kinds[i].records, "bytes", (json_int_t)o->kinds[i].bytes,
					    "dropped", (json_int_t)o->kinds[i].dropped));
	return array;
}

static json_t *
overhead(const struct verdict *v)
{
	const struct run_overhead *o = &v->run.overhead;

	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}",
			 "telemetry_bytes", (json_int_t)o->telemetry_bytes, "telemetry_bytes_collected",
			 (json_int_t)o->telemetry_bytes_collected, "bandwidth_bytes", (json_int_t)o->bandwidth_bytes,
			 "polls", (json_int_t)o->polling_packets, "reports", (json_int_t)o->reports, "reports_collected",
			 (json_int_t)o->reports_collected, "triggers", (json_int_t)o->triggers, "row_bytes",
			 (json_int_t)o->row_bytes, "records", (json_int_t)o->records, "polling_packets",
			 (json_int_t)o->polling_packets, "polling_bytes", (json_int_t)o->polling_bytes,
			 "notification_packets", (json_int_t)o->notification_packets, "notification_bytes",
			 (json_int_t)o->notification_bytes, "report_bytes", (json_int_t)o->report_bytes, "deferred",
			 (json_int_t)o->deferred, "dropped", (json_int_t)o->dropped, "left_out", (json_int_t)o->left_out,
			 "completeness", v->run.truncated ? json_null() : value_real(o->completeness), "kinds", kinds(o));
}

/* Names of switches that reported nothing; NULL: out of memory. */
static json_t *
unreported(const struct verdict *v)
{
	uint32_t *nodes = calloc((size_t)v->run.nnodes + 1, sizeof(*nodes));
	uint32_t count = nodes != NULL ? facts_unreported(v, nodes) : RUN_NONE;
	json_t *array = count != RUN_NONE ? json_array() : NULL;

	for (uint32_t i = 0; array != NULL && i < count; i++)
		array = value_add(array, value_text(v->run.nodes[nodes[i]].name));
	free(nodes);
	return array;
}

static json_t *
evidence(const struct verdict *v)
{
	char missing[FACTS_INCOMPLETE];

	return json_pack("{s:s, s:o, s:I, s:I, s:o, s:o, s:o, s:b, s:s, s:i, s:s}", "policy",
			 facts_policy_name(v->run.config.policy), "unreported", unreported(v), "steps",
			 (json_int_t)v->run.nsteps, "steps_reported",
			 (json_int_t)(v->run.nsteps - v->run.missing.steps - v->run.missing.waiting), "missing",
			 value_text(facts_incomplete(v, missing)), "end_ns", value_ns(v->run.end_ps), "clock_error_ns",
			 value_ns(v->run.clock_error_ps), "truncated", v->run.truncated, "ending", facts_ending_key(v),
			 "recording_lost", (int)v->run.recording_errno, "contention",
			 v->run.config.exact_contention ? "exact" : "replay");
}

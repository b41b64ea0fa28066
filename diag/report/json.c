/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/json.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "common/plain.h"
#include "common/units.h"
#include "diag/report/facts.h"

static json_t *text(const char *raw);
static json_t *collectives(const struct verdict *v);
static json_t *critical_path(const struct verdict *v);
static json_t *findings(const struct verdict *v);
static json_t *contributors(const struct verdict *v);
static json_t *overhead(const struct verdict *v);
static json_t *evidence(const struct verdict *v);

/* Any missing part (out of memory) makes the whole NULL: "o" of json_pack refuses NULL. */
int
json_write(const struct verdict *v, FILE *to)
{
	json_t *network = json_pack("{s:b, s:o}", "innocent", v->innocent, "reason", text(v->reason));
	json_t *root =
		json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "schema_version", VERDICT_SCHEMA_VERSION,
			  "collectives", collectives(v), "network", network, "critical_path", critical_path(v), "findings",
			  findings(v), "contributors", contributors(v), "overhead", overhead(v), "evidence", evidence(v));
	int rc;

	if (root == NULL)
		return -ENOMEM;
	rc = json_dumpf(root, to, JSON_INDENT(2));
	json_decref(root);
	return rc == 0 && fputc('\n', to) != EOF ? 0 : -EIO;
}

/* @return array, or NULL once anything failed: a report that lacks a row would look whole */
static json_t *
add(json_t *array, json_t *item)
{
	if (json_array_append_new(array, item) == 0)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *
ns(uint64_t time_ps)
{
	return json_integer((json_int_t)(time_ps / PS_PER_NS));
}

static json_t *
real(double value)
{
	return json_real(isfinite(value) ? value : 0);
}

/* Names come from the stream: what is no UTF-8 must not make the report fail. */
static json_t *
text(const char *raw)
{
	char safe[1024];

	return json_string(plain_text(raw, safe, sizeof(safe)));
}

static json_t *
flow_name(const struct verdict *v, uint32_t flow)
{
	return flow < v->run.nflows ? text(v->run.flows[flow].name) : json_null();
}

static json_t *
flow_names(const struct verdict *v, const uint32_t *flows, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		array = add(array, flow_name(v, flows[i]));
	return array;
}

static json_t *
port_names(const struct verdict *v, const uint32_t *ports, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		array = add(array, text(v->run.ports[ports[i]].name));
	return array;
}

static json_t *
collectives(const struct verdict *v)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < v->run.ncollectives; i++) {
		const struct run_collective *c = &v->run.collectives[i];

		array = add(array, json_pack("{s:I, s:I, s:s, s:s, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:b}", "id",
					     (json_int_t)c->id, "iteration", (json_int_t)c->iteration, "algorithm",
					     facts_algorithm_name(c->algorithm), "op", facts_op_key(c->op), "ranks",
					     (json_int_t)c->ranks, "bytes", (json_int_t)c->bytes, "step_bytes",
					     (json_int_t)c->step_bytes, "start_ns", ns(c->start_ps), "end_ns",
					     c->complete ? ns(c->end_ps) : json_null(), "ideal_ns", ns(c->ideal_ps),
					     "expect_ns", ns(c->expect_ps), "complete", c->complete));
	}
	return array;
}

static json_t *
waited_for(const struct verdict *v, const struct run_step *step)
{
	if (step->waited_for == RUN_NONE || step->waited_for != step->depends)
		return json_string("-");
	return text(v->run.nodes[v->run.steps[step->depends].host].name);
}

static json_t *
critical_path(const struct verdict *v)
{
	json_t *array = json_array();

	for (uint32_t c = 0; c < v->run.ncollectives; c++) {
		for (uint32_t i = 0; i < vedrfolnir_of(v)->waiting[c].npath; i++) {
			const struct run_step *step = &v->run.steps[vedrfolnir_of(v)->waiting[c].path[i]];

			array = add(array,
				    json_pack("{s:I, s:o, s:I, s:o, s:o, s:o, s:o, s:b, s:o}", "collective", (json_int_t)c,
					      "flow", flow_name(v, step->flow), "step", (json_int_t)step->step, "start_ns",
					      ns(step->start_ps), "end_ns", ns(step->end_ps), "expect_ns",
					      ns(step->expect_ps), "waited_for", waited_for(v, step), "open", step->open,
					      "completeness", real(step->completeness)));
		}
	}
	return array;
}

static json_t *
step_numbers(const struct verdict *v, const struct finding *finding)
{
	uint32_t *numbers = calloc((size_t)finding->nsteps + 1, sizeof(*numbers)), count;
	json_t *array;

	if (numbers == NULL)
		return NULL;
	count = facts_step_numbers(v, finding, numbers);
	array = json_array();
	for (uint32_t i = 0; i < count; i++)
		array = add(array, json_integer(numbers[i]));
	free(numbers);
	return array;
}

/* Where a deadlock began. */
static void
add_origin(const struct verdict *v, const struct finding *finding, json_t *to)
{
	bool outside = finding->origin_port != RUN_NONE;

	json_object_set_new(to, "origin", json_string(outside ? "out of loop" : "in loop"));
	json_object_set_new(to, "origin_port", outside ? text(v->run.ports[finding->origin_port].name) : json_null());
}

static json_t *
findings(const struct verdict *v)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < v->nfindings; i++) {
		const struct finding *f = &v->findings[i];

		json_t *finding = json_pack(
			"{s:s, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:o, s:o, s:o, s:o}", "type", finding_type_name(f->type),
			"root", text(f->root), "ports", port_names(v, f->ports, f->nports), "flows",
			flow_names(v, f->flows, f->nflows), "victims", flow_names(v, f->victims, f->nvictims), "steps",
			step_numbers(v, f), "collective", (json_int_t)f->collective, "iteration",
			(json_int_t)v->run.collectives[f->collective].iteration, "start_ns", ns(f->start_ps), "end_ns",
			ns(f->end_ps), "score", real(f->score), "evidence", text(f->evidence));

		if (f->type == FINDING_PFC_DEADLOCK)
			add_origin(v, f, finding);
		array = add(array, finding);
	}
	return array;
}

static json_t *
shares(const struct verdict *v, const struct contributor *contributor)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < contributor->nshares; i++) {
		const struct run_step *step = &v->run.steps[contributor->shares[i].step];

		array = add(array, json_pack("{s:I, s:o, s:I, s:o}", "collective", (json_int_t)step->collective, "flow",
					     flow_name(v, step->flow), "step", (json_int_t)step->step, "score",
					     real(contributor->shares[i].score)));
	}
	return array;
}

static json_t *
contributors(const struct verdict *v)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < vedrfolnir_of(v)->ncontributors; i++)
		array = add(array,
			    json_pack("{s:o, s:o, s:o}", "flow", flow_name(v, vedrfolnir_of(v)->contributors[i].flow),
				      "score", real(vedrfolnir_of(v)->contributors[i].score), "per_critical_flow",
				      shares(v, &vedrfolnir_of(v)->contributors[i])));
	return array;
}

static json_t *
kinds(const struct run_overhead *o)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < o->nkinds; i++)
		array = add(array, json_pack("{s:s, s:I, s:I, s:I, s:I}", "kind", facts_record_name(o->kinds[i].kind),
					     "records", (json_int_t)o->kinds[i].records, "bytes",
					     (json_int_t)o->kinds[i].bytes, "dropped", (json_int_t)o->kinds[i].dropped,
					     "dropped_bytes", (json_int_t)o->kinds[i].dropped_bytes));
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
			 "completeness", v->run.truncated ? json_null() : real(o->completeness), "kinds", kinds(o));
}

static json_t *
evidence(const struct verdict *v)
{
	return json_pack("{s:s, s:o, s:o, s:b, s:s, s:i, s:s}", "policy", facts_policy_name(v->run.config.policy),
			 "missing", text(v->incomplete), "end_ns", ns(v->run.end_ps), "truncated", v->run.truncated,
			 "ending", facts_ending_key(v), "recording_lost", (int)v->run.recording_errno, "contention",
			 v->run.config.exact_contention ? "exact" : "replay");
}

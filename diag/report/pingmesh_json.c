/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include <jansson.h>

#include "common/units.h"
#include "diag/pingmesh/section.h"
#include "diag/report/pingmesh.h"
#include "diag/report/value.h"

static const char *const causes[] = { PINGMESH_CAUSES(ENUM_NAME) };
static const char *const algorithms[] = { REC_PINGMESH_ALGORITHMS(ENUM_NAME) };
static const char *const limits[] = { PINGMESH_LIMITS(ENUM_NAME) };
static const char *const bases[] = { PINGMESH_BASES(ENUM_NAME) };
static const char *const problems[] = { PINGMESH_PROBLEMS(ENUM_NAME) };
static const char *const networks[PINGMESH_NNETWORKS] = { "cluster", "service" };
static const char *const quantiles[PINGMESH_QUANTILES] = { "p50", "p90", "p99", "p999" };

static const char *
node_name(const struct verdict *v, uint32_t node)
{
	return node < v->run.nnodes ? v->run.nodes[node].name : "?";
}

static double
share(uint64_t part, uint64_t of)
{
	return of != 0 ? (double)part / (double)of : 0;
}

/* The metrics of the public Go implementation (github.com/yuuki/rpingmesh), where it has the same. */
static json_t *
spread_json(const struct pingmesh_spread *spread)
{
	json_t *object = json_pack("{s:I}", "count", (json_int_t)spread->count);

	for (uint32_t i = 0; i < PINGMESH_QUANTILES; i++)
		if (json_object_set_new(object, quantiles[i],
					spread->count != 0 ? value_real(spread->ps[i] / PS_PER_NS) : json_null()) != 0) {
			json_decref(object);
			return NULL;
		}
	return object;
}

static json_t *
failed_json(const struct pingmesh_sla *sla)
{
	json_t *object = json_object();

	for (uint32_t i = PINGMESH_ANSWERED + 1; i < PINGMESH_NCAUSES; i++)
		if (json_object_set_new(object, causes[i], json_integer((json_int_t)sla->causes[i])) != 0) {
			json_decref(object);
			return NULL;
		}
	return object;
}

static json_t *
sla_json(const struct pingmesh_sla *sla)
{
	json_t *object = json_pack(
		"{s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "rpingmesh.probe_total", (json_int_t)sla->probes,
		"rpingmesh.probe_success_total", (json_int_t)sla->causes[PINGMESH_ANSWERED], "rpingmesh.probe_failed_total",
		failed_json(sla), "rnic_drop_rate", value_real(share(sla->causes[PINGMESH_RNIC], sla->probes)),
		"switch_drop_rate", value_real(share(sla->causes[PINGMESH_SWITCH], sla->probes)),
		"rpingmesh.network_rtt_ns", spread_json(&sla->rtt), "rpingmesh.prober_delay_ns", spread_json(&sla->prober),
		"rpingmesh.responder_delay_ns", spread_json(&sla->responder));

	if (sla->one_way.count != 0 &&
	    json_object_set_new(object, "rpingmesh.one_way_ns", spread_json(&sla->one_way)) != 0) {
		json_decref(object);
		return NULL;
	}
	return object;
}

static json_t *
bits_json(uint32_t bits, const char *const *names, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		if ((bits & 1u << i) != 0)
			array = value_add(array, json_string(names[i]));
	return array;
}

static json_t *
job_name(const struct verdict *v, const struct pingmesh *own, uint32_t service)
{
	return value_text(v->run.jobs[own->services[service].job].name);
}

static json_t *
ports_json(const struct verdict *v, const struct pingmesh_problem *p)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < p->nports; i++)
		array = value_add(array, value_text(v->run.ports[p->ports[i]].name));
	return array;
}

/* What a problem is to each service that uses its place. */
static json_t *
impacts_json(const struct verdict *v, const struct pingmesh *own, const struct pingmesh_problem *p)
{
	json_t *array = json_array();

	for (uint32_t i = p->first_impact; i < p->first_impact + p->nimpacts; i++) {
		const struct pingmesh_impact *impact = &own->impacts[i];
		json_t *flows = json_array();

		for (uint32_t f = 0; f < PINGMESH_FLOWS && impact->flows[f] != RUN_NONE; f++)
			flows = value_add(flows, value_text(v->run.flows[impact->flows[f]].name));
		array = value_add(array, json_pack("{s:o, s:s, s:o, s:I, s:o}", "job", job_name(v, own, impact->service),
						   "priority", impact->priority == 0 ? "P0" : "P1", "degradation",
						   impact->known ? value_real(impact->degradation) : json_null(),
						   "crossing_flows", (json_int_t)impact->nflows, "flows", flows));
	}
	return array;
}

static json_t *
problem_json(const struct verdict *v, const struct pingmesh *own, uint32_t index)
{
	const struct pingmesh_problem *p = &own->problems[index];
	const struct finding *finding = pingmesh_finding(v, own, index);
	char priority[] = { 'P', (char)('0' + p->priority), '\0' };

	return json_pack("{s:s, s:o, s:s, s:o, s:o, s:o, s:I, s:I, s:b, s:o, s:o, s:b, s:o, s:o, s:I, s:I, s:I, s:o, s:o, "
			 "s:o, s:I, s:I, "
			 "s:o, "
			 "s:o, s:o}",
			 "type", problems[p->kind], "finding",
			 finding != NULL ? json_integer(finding - v->findings) : json_null(), "priority", priority, "node",
			 p->node != RUN_NONE ? value_text(node_name(v, p->node)) : json_null(), "ports", ports_json(v, p),
			 "or_switch", p->or_node != RUN_NONE ? value_text(node_name(v, p->or_node)) : json_null(),
			 "or_rnics", (json_int_t)p->or_rnics, "alike", (json_int_t)p->alike, "both_directions", p->both,
			 "seen_by", bits_json(p->networks, networks, PINGMESH_NNETWORKS), "by",
			 bits_json(p->bases, bases, PINGMESH_NBASES), "in_service_network", p->in_service, "degradation",
			 value_real(p->degradation), "services", impacts_json(v, own, p), "first_period",
			 (json_int_t)p->first_period, "last_period", (json_int_t)p->last_period, "periods",
			 (json_int_t)p->periods, "start_ns", value_ns(p->start_ps), "end_ns", value_ns(p->end_ps),
			 "found_ns", value_ns(p->found_ps), "probes", (json_int_t)p->probes, "bad", (json_int_t)p->bad,
			 "usual_ns", value_real(p->base_ps / PS_PER_NS), "high_ns", value_real(p->high_ps / PS_PER_NS),
			 "confidence", value_real(p->confidence));
}

static json_t *
problems_json(const struct verdict *v, const struct pingmesh *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->nproblems; i++)
		array = value_add(array, problem_json(v, own, i));
	return array;
}

static json_t *
services_json(const struct verdict *v, const struct pingmesh *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->nservices; i++) {
		const struct pingmesh_service *s = &own->services[i];

		array = value_add(array,
				  json_pack("{s:o, s:I, s:I, s:b, s:I, s:I, s:o, s:o, s:o}", "job", job_name(v, own, i),
					    "connections", (json_int_t)s->connections, "traced_connections",
					    (json_int_t)s->traced, "known", s->metric.known, "iterations",
					    (json_int_t)s->metric.iterations, "degraded", (json_int_t)s->metric.degraded,
					    "worst", s->metric.known ? value_real(s->metric.worst) : json_null(),
					    "network_innocent",
					    s->decided && s->metric.degraded != 0 ? json_boolean(s->innocent) : json_null(),
					    "service", sla_json(&s->sla)));
	}
	return array;
}

static json_t *
periods_json(const struct pingmesh *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->nperiods; i++) {
		const struct pingmesh_period *p = &own->periods[i];

		array = value_add(array,
				  json_pack("{s:o, s:o, s:b, s:I, s:o, s:o}", "start_ns", value_ns(p->start_ps), "end_ns",
					    value_ns(p->end_ps), "complete", p->complete, "rnics_over_10_percent",
					    (json_int_t)p->plain_rnics, "cluster", sla_json(&p->networks[PINGMESH_CLUSTER]),
					    "service", sla_json(&p->networks[PINGMESH_SERVICE])));
	}
	return array;
}

static json_t *
servers_json(const struct verdict *v, const struct pingmesh *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < own->nservers; i++)
		array = value_add(array, json_pack("{s:o, s:o}", "host", value_text(node_name(v, own->servers[i].host)),
						   "service", sla_json(&own->servers[i].sla)));
	return array;
}

static json_t *
limits_json(const struct pingmesh *own)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < PINGMESH_NLIMITS; i++)
		if (own->limits[i] != 0)
			array = value_add(array, json_pack("{s:s, s:I, s:s}", "because", limits[i], "count",
							   (json_int_t)own->limits[i], "text", pingmesh_limits[i]));
	return array;
}

static json_t *
metric_json(const struct pingmesh *own)
{
	const struct pingmesh_metric *m = &own->metric;

	return json_pack("{s:s, s:b, s:I, s:I, s:o, s:o, s:b}", "metric", "iteration time", "known", m->known, "iterations",
			 (json_int_t)m->iterations, "degraded", (json_int_t)m->degraded, "threshold",
			 value_real(m->threshold), "worst", value_real(m->worst), "paper_innocent", own->innocent);
}

static json_t *
analysis_json(const struct pingmesh *own)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b}", "algorithm",
			 algorithms[own->config.algorithm], "cpu_by_several_rnics", (json_int_t)own->cpu.several,
			 "cpu_by_delay", (json_int_t)own->cpu.delay, "cpu_by_both", (json_int_t)own->cpu.both,
			 "cpu_by_agent", (json_int_t)own->cpu.agent, "several_rnics_refuted",
			 (json_int_t)own->cpu.several_refuted, "votes", (json_int_t)own->votes, "most_votes_elsewhere",
			 (json_int_t)own->strongest_elsewhere, "untraced", (json_int_t)own->untraced, "results_dropped",
			 (json_int_t)own->dropped, "left_out", (json_int_t)own->strangers, "sprayed", own->sprayed,
			 "inband", own->inband);
}

int
pingmesh_json(const struct verdict *v, const struct section *section, struct json_t *root)
{
	const struct pingmesh *own = section->own;
	json_t *object = json_pack("{s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "time_factor",
				   value_real((double)own->config.time_factor_ppm / 1e6), "software_times",
				   own->config.software_times != 0, "period_ns", value_ns(own->config.period_ps),
				   "problems", problems_json(v, own), "cluster", sla_json(&own->networks[PINGMESH_CLUSTER]),
				   "service", sla_json(&own->networks[PINGMESH_SERVICE]), "services", services_json(v, own),
				   "servers", servers_json(v, own), "periods", periods_json(own), "cannot_tell",
				   limits_json(own), "impact", metric_json(own), "analysis", analysis_json(own));

	return object != NULL && json_object_set_new(root, "pingmesh", object) == 0 ? 0 : -ENOMEM;
}

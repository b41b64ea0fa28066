/* SPDX-License-Identifier: BSD-3-Clause */
/* How R-Pingmesh's section is reported; see diag/diagnoser.h. */
#include "diag/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/err.h"
#include "common/run_files.h"
#include "common/units.h"
#include "diag/diagnoser.h"
#include "diag/flowtracer/section.h"
#include "diag/pingmesh/section.h"
#include "diag/report/fmt.h"
#include "diag/report/json.h"
#include "diag/report/text.h"
#include "diag/verdict.h"

/* The impact of problems on each service, and the known facts of a service, as text. */

#define IMPACTS_SHOWN 3u
#define FLOWS_SHOWN 2u

#define LIMIT_TEXT(ID, VALUE, KEY, TEXT) [ID] = (TEXT),
/* [enum pingmesh_limit] "RNICs apart from ..., because ...": the tests that were not made, and why */
static const char *const pingmesh_limits[PINGMESH_NLIMITS] = { PINGMESH_LIMITS(LIMIT_TEXT) };

static const char *
job_name(const struct verdict *v, const struct pingmesh *own, uint32_t service)
{
	return v->run.jobs[own->services[service].job].name;
}

/* "h0->h3/49152>4791 and 3 other connections cross it" */
static void
append_flows(const struct verdict *v, const struct pingmesh_impact *impact, char *line, size_t cap)
{
	uint32_t named = 0;

	for (; named < FLOWS_SHOWN && impact->flows[named] != RUN_NONE; named++)
		fmt_append(line, cap, "%s%s",
			   named == 0                    ? "; "
			   : named + 1 == impact->nflows ? " and "
							 : ", ",
			   v->run.flows[impact->flows[named]].name);
	if (named != 0 && impact->nflows > named)
		fmt_append(line, cap, " and %u other connection%s", impact->nflows - named,
			   impact->nflows - named == 1 ? "" : "s");
	if (named != 0)
		fmt_append(line, cap, " cross%s it", impact->nflows == 1 ? "es" : "");
}

static void
append_impact(const struct verdict *v, const struct pingmesh *own, const struct pingmesh_impact *impact, char *line,
	      size_t cap)
{
	fmt_append(line, cap, " P%u for job %s: ", impact->priority, job_name(v, own, impact->service));
	if (!impact->known)
		fmt_append(line, cap, "there is no iteration to compare with");
	else if (impact->degradation > 0)
		fmt_append(line, cap, "an iteration took %s meanwhile", fmt_change(impact->degradation).text);
	else
		fmt_append(line, cap, "it got no slower");
	append_flows(v, impact, line, cap);
	fmt_append(line, cap, ".");
}

/* Services that share a place where probes wait interfere there (Table 2, #11). */
static void
append_shared(const struct verdict *v, const struct pingmesh *own, const struct pingmesh_problem *p, char *line, size_t cap)
{
	uint32_t crossing = 0, named = 0;

	for (uint32_t i = p->first_impact; i < p->first_impact + p->nimpacts; i++)
		crossing += own->impacts[i].nflows != 0;
	if (p->kind != PINGMESH_PROBLEM_RTT || crossing < 2)
		return;
	fmt_append(line, cap, " Jobs ");
	for (uint32_t i = p->first_impact; i < p->first_impact + p->nimpacts && named < IMPACTS_SHOWN; i++)
		if (own->impacts[i].nflows != 0)
			fmt_append(line, cap, "%s%s",
				   named++ == 0        ? ""
				   : named == crossing ? " and "
						       : ", ",
				   job_name(v, own, own->impacts[i].service));
	if (crossing > named)
		fmt_append(line, cap, " and %u more", crossing - named);
	fmt_append(line, cap, " share it.");
}

/*
 * Appends the impact of a problem on each service that uses its place, with the connections that cross it, to a line.
 */
static void
pingmesh_impacts_text(const struct verdict *v, const struct pingmesh *own, const struct pingmesh_problem *p, char *line,
		      size_t cap)
{
	bool traced = true; /* all connections of all services */

	for (uint32_t i = 0; i < own->nservices; i++)
		traced &= own->services[i].connections != 0 && own->services[i].traced == own->services[i].connections;
	if (p->nimpacts == 0)
		fmt_append(line, cap, traced ? " No service uses it." : " No service is known to use it.");
	for (uint32_t i = 0; i < p->nimpacts && i < IMPACTS_SHOWN; i++)
		append_impact(v, own, &own->impacts[p->first_impact + i], line, cap);
	if (p->nimpacts > IMPACTS_SHOWN)
		fmt_append(line, cap, " %u other jobs use it.", p->nimpacts - IMPACTS_SHOWN);
	append_shared(v, own, p, line, cap);
}

/* Sets a line: whether a service is slower, whether its network is innocent, and the open questions. */
static void
pingmesh_service_text(const struct verdict *v, const struct pingmesh_service *s, char *line, size_t cap)
{
	const struct pingmesh_metric *m = &s->metric;

	line[0] = '\0';
	fmt_append(line, cap, "Job %s: ", v->run.jobs[s->job].name);
	if (!m->known)
		fmt_append(line, cap,
			   "cannot determine whether it is slower, because fewer than two of its iterations ended.");
	else if (m->degraded == 0)
		fmt_append(line, cap, "no iteration took %.0f %% longer than usual.", 100 * m->threshold);
	else
		fmt_append(line, cap, "%u of %u iterations took %.0f %% longer than usual or more, the slowest %s.",
			   m->degraded, m->iterations, 100 * m->threshold, fmt_change(m->worst).text);
	if (m->degraded != 0 && s->innocent)
		fmt_append(line, cap,
			   " No problem of the network on its paths overlaps these: by the paper's rule its network is "
			   "innocent.");
	if (s->connections == 0)
		fmt_append(line, cap,
			   " Cannot determine which problems are on its paths, because service tracing saw no connection "
			   "of it.");
	else if (s->traced < s->connections)
		fmt_append(line, cap,
			   " Cannot determine all problems on its paths, because %u of its %u connections %s not traced.",
			   s->connections - s->traced, s->connections, s->connections - s->traced == 1 ? "was" : "were");
}

#define PROBLEMS_SHOWN 12u
#define SERVICES_SHOWN 8u

static int write_periods(const struct verdict *v, FILE *to);

const struct diagnoser_file pingmesh_files[PINGMESH_FILES] = {
	{ .name = RUN_PINGMESH, .write = write_periods },
};

static const char *const causes[] = { PINGMESH_CAUSES(ENUM_NAME) };
static const char *const problems[] = { PINGMESH_PROBLEMS(ENUM_NAME) };
static const char *const networks[PINGMESH_NNETWORKS] = { "cluster", "service" };
static const char *const quantiles[PINGMESH_QUANTILES] = { "p50", "p90", "p99", "p999" };

static double
share(uint64_t part, uint64_t of)
{
	return of != 0 ? (double)part / (double)of : 0;
}

/* ---- pingmesh.csv ---- */

static void
write_spread(const struct pingmesh_spread *spread, FILE *to)
{
	for (uint32_t i = 0; i < PINGMESH_QUANTILES; i++) {
		if (spread->count != 0)
			fprintf(to, ",%.3f", spread->ps[i] / PS_PER_NS);
		else
			fputs(",", to);
	}
}

static int
write_periods(const struct verdict *v, FILE *to)
{
	static const char *const spreads[] = { "network_rtt_ns", "prober_delay_ns", "responder_delay_ns" };
	const struct section *section = verdict_section(v, PINGMESH_NAME);
	const struct pingmesh *own = section->own;

	fputs("period,start_ns,network,probe_total,probe_success_total", to);
	for (uint32_t i = PINGMESH_ANSWERED + 1; i < PINGMESH_NCAUSES; i++)
		fprintf(to, ",%s", causes[i]);
	for (uint32_t i = 0; i < ARRAY_LEN(spreads); i++)
		for (uint32_t q = 0; q < PINGMESH_QUANTILES; q++)
			fprintf(to, ",%s_%s", spreads[i], quantiles[q]);
	fputs("\n", to);
	for (uint32_t i = 0; i < own->nperiods; i++) {
		for (uint32_t n = 0; n < PINGMESH_NNETWORKS; n++) {
			const struct pingmesh_sla *sla = &own->periods[i].networks[n];

			fprintf(to, "%u,%llu,%s,%" PRIu64, i, own->periods[i].start_ps / PS_PER_NS, networks[n],
				sla->probes);
			for (uint32_t c = 0; c < PINGMESH_NCAUSES; c++)
				fprintf(to, ",%" PRIu64, sla->causes[c]);
			write_spread(&sla->rtt, to);
			write_spread(&sla->prober, to);
			write_spread(&sla->responder, to);
			fputs("\n", to);
		}
	}
	return ferror(to) ? -EIO : 0;
}

/* ---- report.txt ---- */

/* The finding that problem index of the section became. @return NULL where the verdict has none */
static const struct finding *
pingmesh_finding(const struct verdict *v, const struct pingmesh *own, uint32_t index)
{
	for (uint32_t i = 0; i < v->nfindings; i++)
		if (v->findings[i].key == index &&
		    strcmp(v->findings[i].type->key, problems[own->problems[index].kind]) == 0)
			return &v->findings[i];
	return NULL;
}

/* "47.8 us" */
static void
print_us(double ps, char *buf, size_t cap)
{
	snprintf(buf, cap, ps >= (double)PS_PER_MS ? "%.1f ms" : "%.1f us",
		 ps / (double)(ps >= (double)PS_PER_MS ? PS_PER_MS : PS_PER_US));
}

/* Periods last for seconds, whatever the unit of steps is: "31.037 s" */
static const char *
time_text(uint64_t time_ps, char text[32])
{
	bool seconds = time_ps >= PS_PER_S;

	snprintf(text, 32, seconds ? "%.3f s" : "%.3f ms", (double)time_ps / (double)(seconds ? PS_PER_S : PS_PER_MS));
	return text;
}

static void
print_problem(const struct text *text, const struct section *section, uint32_t i)
{
	const struct verdict *v = text->facts.v;
	const struct pingmesh *own = section->own;
	const struct pingmesh_problem *p = &own->problems[i];
	const struct finding *finding = pingmesh_finding(v, own, i);
	char line[4 * FACTS_TEXT] = "", evidence[FACTS_EVIDENCE], from[32], to[32];

	if (finding == NULL)
		return;
	fmt_append(line, sizeof(line), "P%u: %s %s%s: %s.", p->priority, finding->type->title, finding->type->preposition,
		   finding->root, facts_evidence(v, finding, evidence));
	if (p->both && p->alike == 1 && p->kind != PINGMESH_PROBLEM_RNIC)
		fmt_append(line, sizeof(line), " In both directions.");
	fmt_append(line, sizeof(line), " Seen by %s%s%s, from %s to %s",
		   (p->networks & 1u << PINGMESH_CLUSTER) != 0 ? "the cluster's monitoring" : "",
		   p->networks == (1u << PINGMESH_CLUSTER | 1u << PINGMESH_SERVICE) ? " and " : "",
		   (p->networks & 1u << PINGMESH_SERVICE) != 0 ? "service tracing" : "", time_text(p->start_ps, from),
		   time_text(p->end_ps, to));
	fmt_append(line, sizeof(line), ", %u period%s; confidence %.2f.", p->periods, p->periods == 1 ? "" : "s",
		   finding->confidence);
	pingmesh_impacts_text(v, own, p, line, sizeof(line));
	text_wrap(text, line, 5);
}

static void
print_problems(const struct text *text, const struct section *section)
{
	const struct pingmesh *own = section->own;

	for (uint32_t i = 0; i < own->nproblems && i < PROBLEMS_SHOWN; i++) {
		fprintf(text->to, "  %u. ", i + 1);
		print_problem(text, section, i);
	}
	if (own->nproblems > PROBLEMS_SHOWN)
		fprintf(text->to, "  ... and %u more, in verdict.json\n", own->nproblems - PROBLEMS_SHOWN);
}

static int
add_row(struct libscols_table *table, const char *name, const struct pingmesh_sla *sla)
{
	const double values[] = { sla->rtt.ps[0], sla->rtt.ps[2], sla->rtt.ps[3], sla->prober.ps[2], sla->responder.ps[2] };
	char cells[ARRAY_LEN(values)][32], rnic[32], sw[32];

	for (uint32_t i = 0; i < ARRAY_LEN(values); i++) {
		if (sla->rtt.count != 0)
			print_us(values[i], cells[i], sizeof(cells[i]));
		else
			snprintf(cells[i], sizeof(cells[i]), "-");
	}
	snprintf(rnic, sizeof(rnic), "%.3f %%", 100 * share(sla->causes[PINGMESH_RNIC], sla->probes));
	snprintf(sw, sizeof(sw), "%.3f %%", 100 * share(sla->causes[PINGMESH_SWITCH], sla->probes));
	return table_row(table, name, fmt_count(sla->probes).text, rnic, sw, cells[0], cells[1], cells[2], cells[3],
			 cells[4], NULL);
}

static int
show_networks(const struct text *text, const struct verdict *v, const struct pingmesh *own)
{
	static const char *const columns[] = { "NETWORK", "PROBES",   "RNIC LOSS",  "SWITCH LOSS",  "RTT P50",
					       "RTT P99", "RTT P999", "PROBER P99", "RESPONDER P99" };
	static const bool right[] = { false, true, true, true, true, true, true, true, true };
	struct libscols_table *table = table_create(columns, right, ARRAY_LEN(columns));
	int rc = table != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < PINGMESH_NNETWORKS && rc == 0; i++)
		if (own->networks[i].probes != 0)
			rc = add_row(table, networks[i], &own->networks[i]);
	for (uint32_t i = 0; i < own->nservices && own->nservices > 1 && i < SERVICES_SHOWN && rc == 0; i++) {
		char name[REC_NAME_LEN + 8];

		snprintf(name, sizeof(name), "job %s", v->run.jobs[own->services[i].job].name);
		if (own->services[i].sla.probes != 0)
			rc = add_row(table, name, &own->services[i].sla);
	}
	if (rc == 0)
		rc = table_print(table, text->to);
	table_destroy(table);
	return rc;
}

static void
print_services(const struct text *text, const struct section *section)
{
	const struct pingmesh *own = section->own;
	char line[FACTS_TEXT];

	for (uint32_t i = 0; i < own->nservices && i < SERVICES_SHOWN; i++) {
		pingmesh_service_text(text->facts.v, &own->services[i], line, sizeof(line));
		fprintf(text->to, "  ");
		text_wrap(text, line, 2);
	}
	if (own->nservices > SERVICES_SHOWN)
		fprintf(text->to, "  ... and %u more jobs, in verdict.json\n", own->nservices - SERVICES_SHOWN);
}

/* The tests that could not be made, once each. */
static void
print_limits(const struct text *text, const struct pingmesh *own)
{
	char line[FACTS_TEXT];

	for (uint32_t i = 0; i < PINGMESH_NLIMITS; i++) {
		if (own->limits[i] == 0)
			continue;
		snprintf(line, sizeof(line), "Cannot judge %s %s.", fmt_count(own->limits[i]).text, pingmesh_limits[i]);
		fprintf(text->to, "  ");
		text_wrap(text, line, 2);
	}
}

/* Observations that are no problem. */
static void
print_rest(const struct text *text, const struct pingmesh *own)
{
	uint64_t reset = 0, undecided = 0;
	char line[FACTS_TEXT] = "";

	for (uint32_t i = 0; i < PINGMESH_NNETWORKS; i++) {
		reset += own->networks[i].causes[PINGMESH_QPN_RESET];
		undecided += own->networks[i].causes[PINGMESH_UNDECIDED];
	}
	if (own->nperiods == 0)
		fmt_append(line, sizeof(line),
			   "Agents had no result of a probe to report; their first upload is after %g s, and a period "
			   "takes %g s.",
			   (double)own->config.upload_ps / PS_PER_S, (double)own->config.period_ps / PS_PER_S);
	else if (own->nproblems == 0)
		fmt_append(line, sizeof(line), "No problem was found.");
	if (reset != 0)
		fmt_append(line, sizeof(line), " %s probes were for QPs that an agent's restart had replaced.",
			   fmt_count(reset).text);
	if (undecided != 0)
		fmt_append(line, sizeof(line), " %s probes got no ACK from hosts that fell silent shortly before the end.",
			   fmt_count(undecided).text);
	fmt_append(line, sizeof(line), " R-Pingmesh does not estimate the time that a problem costs.");
	fprintf(text->to, "  ");
	text_wrap(text, line[0] == ' ' ? line + 1 : line, 2);
}

/* Of one-way probes, whose two clocks differ by a constant that has been taken off. */
static void
print_one_way(const struct text *text, const struct pingmesh_spread *spread)
{
	char us[3][32];

	for (uint32_t i = 0; i < ARRAY_LEN(us); i++)
		print_us(spread->ps[i], us[i], sizeof(us[i]));
	fprintf(text->to, "  One-way, between RNICs of a host: P50 %s, P90 %s, P99 %s of %s probes.\n", us[0], us[1], us[2],
		fmt_count(spread->count).text);
}

int
pingmesh_text(const struct text *text, const struct section *section)
{
	const struct pingmesh *own = section->own;
	int rc;

	text_title(text, "Problems, by probes between RNICs (R-Pingmesh)");
	print_problems(text, section);
	print_services(text, section);
	print_rest(text, own);
	print_limits(text, own);
	rc = own->nperiods != 0 ? show_networks(text, text->facts.v, own) : 0;
	if (rc == 0 && own->networks[PINGMESH_CLUSTER].one_way.count != 0)
		print_one_way(text, &own->networks[PINGMESH_CLUSTER].one_way);
	if (rc == 0 && own->config.software_times)
		fprintf(text->to, "  Kernels measured the RTTs, when they were scheduled: none is reported as high.\n");
	if (rc == 0 && own->sprayed)
		fprintf(text->to, "  Switches choose a path for each packet: between ToRs, %s.\n",
			own->inband ? "a link is named if the evidence is significant, else its switch"
				    : "switches are named, and seldom links");
	if (rc == 0 && own->config.algorithm == REC_PINGMESH_PAPER)
		fprintf(text->to, "  Losses at switches are placed by the paper's Algorithm 1 alone.\n");
	if (rc == 0 && own->config.time_factor_ppm != 1000000)
		fprintf(text->to, "  All of the protocol's times are multiplied by %g.\n",
			(double)own->config.time_factor_ppm / 1e6);
	return rc;
}

static const char *const algorithms[] = { REC_PINGMESH_ALGORITHMS(ENUM_NAME) };
static const char *const limits[] = { PINGMESH_LIMITS(ENUM_NAME) };
static const char *const bases[] = { PINGMESH_BASES(ENUM_NAME) };

static const char *
node_name(const struct verdict *v, uint32_t node)
{
	return node < v->run.nnodes ? v->run.nodes[node].name : "?";
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
job_json(const struct verdict *v, const struct pingmesh *own, uint32_t service)
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

/* The impact of a problem on each service that uses its place. */
static json_t *
impacts_json(const struct verdict *v, const struct pingmesh *own, const struct pingmesh_problem *p)
{
	json_t *array = json_array();

	for (uint32_t i = p->first_impact; i < p->first_impact + p->nimpacts; i++) {
		const struct pingmesh_impact *impact = &own->impacts[i];
		json_t *flows = json_array();

		for (uint32_t f = 0; f < PINGMESH_FLOWS && impact->flows[f] != RUN_NONE; f++)
			flows = value_add(flows, value_text(v->run.flows[impact->flows[f]].name));
		array = value_add(array, json_pack("{s:o, s:s, s:o, s:I, s:o}", "job", job_json(v, own, impact->service),
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
				  json_pack("{s:o, s:I, s:I, s:b, s:I, s:I, s:o, s:o, s:o}", "job", job_json(v, own, i),
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

/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/pingmesh.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/run_files.h"
#include "common/units.h"
#include "diag/pingmesh/section.h"
#include "diag/report/table.h"
#include "diag/report/text.h"

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

const struct finding *
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

/* What no test could judge, once each. */
static void
print_limits(const struct text *text, const struct pingmesh *own)
{
	char line[FACTS_TEXT];

	for (uint32_t i = 0; i < PINGMESH_NLIMITS; i++) {
		if (own->limits[i] == 0)
			continue;
		snprintf(line, sizeof(line), "Cannot tell %s %s.", fmt_count(own->limits[i]).text, pingmesh_limits[i]);
		fprintf(text->to, "  ");
		text_wrap(text, line, 2);
	}
}

/* What no problem was made of. */
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
			   "Agents had no result of a probe to tell; their first upload comes after %g s, and a whole "
			   "period takes %g s.",
			   (double)own->config.upload_ps / PS_PER_S, (double)own->config.period_ps / PS_PER_S);
	else if (own->nproblems == 0)
		fmt_append(line, sizeof(line), "No problem was found.");
	if (reset != 0)
		fmt_append(line, sizeof(line), " %s probes were for QPs that an agent's restart had replaced.",
			   fmt_count(reset).text);
	if (undecided != 0)
		fmt_append(line, sizeof(line), " %s probes got no ACK from hosts that fell silent shortly before the end.",
			   fmt_count(undecided).text);
	fmt_append(line, sizeof(line), " What a problem costs in time is not R-Pingmesh's to say.");
	fprintf(text->to, "  ");
	text_wrap(text, line[0] == ' ' ? line + 1 : line, 2);
}

/* Of probes of one way, whose two clocks are apart by a constant that has been taken off. */
static void
print_one_way(const struct text *text, const struct pingmesh_spread *spread)
{
	char us[3][32];

	for (uint32_t i = 0; i < ARRAY_LEN(us); i++)
		print_us(spread->ps[i], us[i], sizeof(us[i]));
	fprintf(text->to, "  One way, between RNICs of a host: P50 %s, P90 %s, P99 %s of %s probes.\n", us[0], us[1], us[2],
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
		fprintf(text->to, "  Kernels took the times of RTTs, when they had their turn: none is called high.\n");
	if (rc == 0 && own->sprayed)
		fprintf(text->to, "  Switches send each packet its own way: between ToRs, %s.\n",
			own->inband ? "a link is told where chance lets tell it, else its switch"
				    : "switches are told, and seldom links");
	if (rc == 0 && own->config.algorithm == REC_PINGMESH_PAPER)
		fprintf(text->to, "  Losses at switches are placed by the paper's Algorithm 1 alone.\n");
	if (rc == 0 && own->config.time_factor_ppm != 1000000)
		fprintf(text->to, "  All of the protocol's times are multiplied by %g.\n",
			(double)own->config.time_factor_ppm / 1e6);
	return rc;
}

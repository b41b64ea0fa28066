/* SPDX-License-Identifier: BSD-3-Clause */
/* What problems mean to each service, and what is known of a service, as text. */
#include "diag/report/pingmesh.h"

#include "diag/report/fmt.h"

#define IMPACTS_SHOWN 3u
#define FLOWS_SHOWN 2u

#define LIMIT_TEXT(ID, VALUE, KEY, TEXT) [ID] = (TEXT),
const char *const pingmesh_limits[PINGMESH_NLIMITS] = { PINGMESH_LIMITS(LIMIT_TEXT) };

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

void
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

void
pingmesh_service_text(const struct verdict *v, const struct pingmesh_service *s, char *line, size_t cap)
{
	const struct pingmesh_metric *m = &s->metric;

	line[0] = '\0';
	fmt_append(line, cap, "Job %s: ", v->run.jobs[s->job].name);
	if (!m->known)
		fmt_append(line, cap, "cannot tell whether it is slower, because no two of its iterations are over.");
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
		fmt_append(
			line, cap,
			" Cannot tell which problems are on its paths, because service tracing saw no connection of it.");
	else if (s->traced < s->connections)
		fmt_append(
			line, cap,
			" Cannot tell all problems that are on its paths, because %u of its %u connections %s not traced.",
			s->connections - s->traced, s->connections, s->connections - s->traced == 1 ? "was" : "were");
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/pingmesh/section.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/wire/record.h"
#include "diag/collect/evidence.h"
#include "diag/pingmesh/service.h"
#include "diag/run/fill.h"

#define DEGRADATION 0.1
#define PLACES_NAMED 3u
#define MOST_PERCENT 100000

/* ---- types of findings ---- */

enum {
	CLAUSE_MESH,
	CLAUSE_VOTES,
	CLAUSE_NOWHERE,
	CLAUSE_SILENT,
	CLAUSE_SEVERAL,
	CLAUSE_DELAY,
	CLAUSE_SEVERAL_DELAY,
	CLAUSE_LATE,
	CLAUSE_RTT
};
static const char *const clauses[] = {
	[CLAUSE_MESH] = "{percent} % of {count} ToR-mesh probes to and from it had no ACKs",
	[CLAUSE_VOTES] = "{percent} % of {count} probes over it had no ACKs, more than over any other place",
	[CLAUSE_NOWHERE] = "{count} probes had no ACKs, and their paths were not traced",
	[CLAUSE_SILENT] = "its agent uploaded nothing for {ms} ms; {count} probes to it had no ACKs",
	[CLAUSE_SEVERAL] = "several of its RNICs lost probes at once, {count} in all",
	[CLAUSE_DELAY] = "its processing delay (P99) was {ms} ms where {of ms} ms is usual; {count} probes had no ACKs",
	[CLAUSE_SEVERAL_DELAY] =
		"processing (P99) took {ms} ms where {of ms} ms is usual; several RNICs lost {count} probes at once",
	[CLAUSE_LATE] = "its agent was {ms} ms late for its own timers; {count} probes had no ACKs",
	[CLAUSE_RTT] = "{percent} % of {count} probes over it had an RTT of about {ms} ms where {of ms} ms is usual",
};

#define TYPE(ID, VALUE, KEY, TITLE, BADGE, TRAITS)                                                                         \
	[ID] = { .key = (KEY),                                                                                             \
		 .title = (TITLE),                                                                                         \
		 .preposition = "at ",                                                                                     \
		 .badge = (BADGE),                                                                                         \
		 .traits = FINDING_UNTIMED | (TRAITS),                                                                     \
		 .clauses = clauses,                                                                                       \
		 .nclauses = ARRAY_LEN(clauses) },
static const struct finding_type types[] = { PINGMESH_PROBLEMS(TYPE) };

int
pingmesh_degradation(void *options, const char *value, struct err *err)
{
	struct pingmesh_options *own = options;
	char *end;

	errno = 0;
	own->degradation = strtod(value, &end) / 100;
	if (errno != 0 || end == value || *end != '\0' || !(own->degradation > 0) ||
	    own->degradation > MOST_PERCENT / 100.0)
		return err_set(err, -EINVAL, "give a percentage above 0, such as 10");
	return 0;
}

int
pingmesh_algorithm(void *options, const char *value, struct err *err)
{
	static const char *const names[] = { REC_PINGMESH_ALGORITHMS(ENUM_NAME) };
	struct pingmesh_options *own = options;

	for (uint16_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(value, names[i]) != 0)
			continue;
		own->chosen = true;
		own->algorithm = i;
		return 0;
	}
	return err_set(err, -EINVAL, "give likelihood or paper");
}

/* ---- findings ---- */

static uint32_t
clause_of(const struct pingmesh_problem *p)
{
	bool several = (p->bases & 1u << PINGMESH_BY_SEVERAL) != 0, slow = (p->bases & 1u << PINGMESH_BY_DELAY) != 0;

	switch (p->kind) {
	case PINGMESH_PROBLEM_HOST:
		return CLAUSE_SILENT;
	case PINGMESH_PROBLEM_CPU:
		if (!slow && (p->bases & 1u << PINGMESH_BY_AGENT) != 0)
			return CLAUSE_LATE;
		return several && slow ? CLAUSE_SEVERAL_DELAY : several ? CLAUSE_SEVERAL : CLAUSE_DELAY;
	case PINGMESH_PROBLEM_RTT:
		return CLAUSE_RTT;
	default:
		if (p->node == RUN_NONE && p->nports == 0)
			return CLAUSE_NOWHERE;
		return (p->bases & 1u << PINGMESH_BY_MESH) != 0 ? CLAUSE_MESH : CLAUSE_VOTES;
	}
}

static struct finding_evidence
evidence_of(const struct pingmesh_problem *p)
{
	uint32_t clause = clause_of(p);
	bool of_all = clause == CLAUSE_MESH || clause == CLAUSE_VOTES || clause == CLAUSE_RTT;
	double ps = clause == CLAUSE_SILENT ? (double)(p->end_ps - p->start_ps) : p->high_ps;

	return (struct finding_evidence){ .clauses = { clause },
					  .nclauses = 1,
					  .node = p->node,
					  .port = p->nports != 0 ? p->ports[0] : RUN_NONE,
					  .count = of_all ? p->probes : p->bad,
					  .percent = p->probes != 0 ? 100.0 * (double)p->bad / (double)p->probes : 0,
					  .ps = ps,
					  .of_ps = p->base_ps };
}

/* "l0:3", "l0:3 or s1:2", "h3", "l1 or all of its RNICs", "an unknown place" */
static void
name_root(const struct run *run, const struct pingmesh_problem *p, char *root, size_t cap)
{
	size_t used = 0;

	snprintf(root, cap, "%s", p->node != RUN_NONE ? run->nodes[p->node].name : "an unknown place");
	for (uint32_t i = 0; i < p->nports && i < PLACES_NAMED && used < cap; i++)
		used += (size_t)snprintf(root + used, cap - used, "%s%s", i != 0 ? " or " : "",
					 run->ports[p->ports[i]].name);
	if (p->or_rnics != 0)
		snprintf(root, cap, "%s or all of its RNICs", run->nodes[p->node].name);
	if (p->or_node != RUN_NONE)
		snprintf(root + used, cap - used, " or %s", run->nodes[p->or_node].name);
	else if (p->alike > PLACES_NAMED && used < cap)
		snprintf(root + used, cap - used, " or %u other%s", p->alike - PLACES_NAMED,
			 p->alike - PLACES_NAMED == 1 ? "" : "s");
}

/* Reported when the analyzer has all of a period, and not with the period before. @param period_ps  of analysis */
static int
make_finding(const struct run *run, const struct pingmesh_problem *p, uint64_t period_ps, uint32_t key,
	     struct finding *finding, struct err *err)
{
	*finding = (struct finding){ .type = &types[p->kind],
				     .key = key,
				     .root_port = p->alike == 1 ? p->ports[0] : RUN_NONE,
				     .origin_port = RUN_NONE,
				     .collective = RUN_NONE,
				     .start_ps = p->start_ps,
				     .end_ps = p->end_ps,
				     .detected_ps = p->found_ps,
				     .undetected_ps = p->found_ps - min_u64(p->found_ps, period_ps),
				     .confidence = p->confidence * run->overhead.completeness,
				     .borne_out = p->confidence * run->overhead.completeness,
				     .machine = p->machine,
				     .costless = true,
				     .evidence = evidence_of(p) };
	name_root(run, p, finding->root, sizeof(finding->root));
	finding->ports = run_alloc(PINGMESH_PLACES, sizeof(*finding->ports), err);
	if (finding->ports == NULL)
		return -ENOMEM;
	memcpy(finding->ports, p->ports, p->nports * sizeof(*finding->ports));
	finding->nports = p->nports;
	return 0;
}

static int
find(const struct pingmesh *own, const struct run *run, struct section *section, struct err *err)
{
	section->findings = run_alloc(own->nproblems, sizeof(*section->findings), err);
	if (section->findings == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < own->nproblems; i++) {
		int rc = make_finding(run, &own->problems[i], own->config.period_ps, i, &section->findings[i], err);

		if (rc != 0)
			return rc;
		section->nfindings++;
	}
	return 0;
}

int
pingmesh_diagnose(const struct evidence *ev, const struct run *run, const void *options, struct section *section,
		  struct err *err)
{
	const struct pingmesh_options *chosen = options;
	struct pingmesh *own = section->own = run_alloc(1, sizeof(*own), err);
	struct judging j = { .own = own, .run = run, .err = err };
	int rc = own != NULL ? 0 : -ENOMEM;

	section->claim = (struct claim){ .kind = CLAIM_UNTIMED };
	if (rc != 0 || ev->pingmeshes.count == 0)
		return rc;
	rc = net_init(&j.net, ev, run, err);
	if (chosen != NULL && chosen->chosen)
		j.net.config.algorithm = chosen->algorithm;
	own->config = j.net.config;
	own->strangers = j.net.strangers;
	own->dropped = j.net.dropped;
	own->inband = j.net.inband;
	own->sprayed = net_is_sprayed(&j.net);
	if (rc == 0)
		rc = judge_all(&j);
	if (rc == 0)
		rc = impact_assess(&j, chosen != NULL && chosen->degradation > 0 ? chosen->degradation : DEGRADATION);
	if (rc == 0)
		rc = find(own, run, section, err);
	net_fini(&j.net);
	free(j.flows);
	return rc;
}

void
pingmesh_destroy(void *section)
{
	struct pingmesh *own = section;

	free(own->problems);
	free(own->periods);
	free(own->servers);
	free(own->services);
	free(own->impacts);
	free(own);
}

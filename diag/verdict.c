/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/verdict.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "diag/collect/evidence.h"
#include "diag/join.h"
#include "diag/run/fill.h"

static int ask(struct verdict *v, const struct evidence *evidence, const struct diagnosis *diagnosis, struct err *err);
static int gather_findings(struct verdict *v, struct err *err);

int
verdict_build(const struct evidence *evidence, const struct diagnosis *asked, uint32_t nasked, struct verdict **out,
	      struct err *err)
{
	struct verdict *v = run_alloc(1, sizeof(*v), err);
	int rc;

	if (v == NULL)
		return -ENOMEM;
	rc = run_build(&v->run, evidence, err);
	if (rc == 0) {
		v->sections = run_alloc(nasked, sizeof(*v->sections), err);
		rc = v->sections != NULL ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; i < nasked && rc == 0; i++)
		rc = ask(v, evidence, &asked[i], err);
	if (rc == 0)
		rc = gather_findings(v, err);
	if (rc != 0) {
		verdict_destroy(v);
		return rc;
	}
	*out = v;
	return 0;
}

static bool
has_kinds(const struct evidence *evidence, uint64_t reads)
{
	for (uint32_t kind = 0; kind < RECORD_KINDS; kind++) {
		if ((reads & DIAGNOSER_READS(kind)) != 0 && evidence->kinds[kind] != 0)
			return true;
	}
	return false;
}

static int
ask(struct verdict *v, const struct evidence *evidence, const struct diagnosis *diagnosis, struct err *err)
{
	const struct diagnoser *by = diagnosis->by;
	void *defaults = NULL;
	int rc;

	if (!has_kinds(evidence, by->reads))
		return 0;
	if (diagnosis->options == NULL) {
		defaults = run_alloc(1, by->options_bytes, err);
		if (defaults == NULL)
			return -ENOMEM;
	}
	v->sections[v->nsections].by = by;
	rc = by->diagnose(evidence, &v->run, defaults != NULL ? defaults : diagnosis->options, &v->sections[v->nsections],
			  err);
	v->nsections++;
	free(defaults);
	return rc;
}

/* At the place that a finding names: its root; of several links, one of them. */
static uint32_t
known_of(const struct run *run, const struct finding *f)
{
	uint32_t known = RUN_NONE, node = RUN_NONE;

	if (f->root_port != RUN_NONE)
		return run_known_at(run, f->root_port, run->ports[f->root_port].node);
	for (uint32_t i = 0; i < run->nnodes; i++)
		node = strcmp(run->nodes[i].name, f->root) == 0 ? i : node;
	if (node != RUN_NONE)
		return run_known_at(run, RUN_NONE, node);
	for (uint32_t i = 0; i < f->nports && known == RUN_NONE; i++)
		known = run_known_at(run, f->ports[i], RUN_NONE);
	return known;
}

static void
mark_known(struct verdict *v)
{
	for (uint32_t i = 0; i < v->nfindings; i++) {
		struct finding *f = &v->findings[i];

		if ((f->type->traits & FINDING_OF_FAULT) != 0)
			f->known = known_of(&v->run, f) + 1; /* RUN_NONE + 1 is 0 */
	}
}

/* Of all sections: those of one cause at one place are one. */
static int
gather_findings(struct verdict *v, struct err *err)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < v->nsections; i++)
		count += v->sections[i].nfindings;
	v->findings = run_alloc(count, sizeof(*v->findings), err);
	if (v->findings == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->nsections; i++) {
		struct section *section = &v->sections[i];

		for (uint32_t f = 0; f < section->nfindings; f++)
			v->findings[v->nfindings++] = section->findings[f];
		free(section->findings);
		section->findings = NULL;
		section->nfindings = 0;
	}
	if (findings_join(&v->run, v->findings, &v->nfindings, err) != 0)
		return -ENOMEM;
	mark_known(v);
	return 0;
}

static void
free_findings(struct finding *findings, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		finding_fini(&findings[i]);
	free(findings);
}

void
verdict_destroy(struct verdict *v)
{
	if (v == NULL)
		return;
	for (uint32_t i = 0; i < v->nsections; i++) {
		free_findings(v->sections[i].findings, v->sections[i].nfindings);
		if (v->sections[i].own != NULL)
			v->sections[i].by->destroy(v->sections[i].own);
	}
	free_findings(v->findings, v->nfindings);
	free(v->sections);
	run_fini(&v->run);
	free(v);
}

const struct claim *
verdict_claim(const struct verdict *v)
{
	const struct claim *innocent = NULL;

	for (uint32_t i = 0; i < v->nsections; i++) {
		const struct claim *claim = &v->sections[i].claim;

		if (claim->kind == CLAIM_UNTIMED)
			continue;
		if (!claim->innocent)
			return claim;
		innocent = innocent != NULL ? innocent : claim;
	}
	return innocent;
}

bool
verdict_complete(const struct verdict *v)
{
	for (uint32_t i = 0; i < v->nsections; i++) {
		if (v->sections[i].skipped != 0)
			return false;
	}
	return run_complete(&v->run);
}

const struct section *
verdict_section(const struct verdict *v, const char *name)
{
	for (uint32_t i = 0; i < v->nsections; i++) {
		if (strcmp(v->sections[i].by->name, name) == 0)
			return &v->sections[i];
	}
	return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of facts.h about the lost time, by its parts, and its confidence. */
#include <stdio.h>
#include <stdlib.h>

#include "diag/report/facts.h"

struct facts_loss
facts_loss(const struct verdict *v)
{
	const struct claim *claim = verdict_claim(v);
	const struct vedrfolnir *own = vedrfolnir_of(v);
	struct facts_loss loss = { 0 };

	if (claim == NULL)
		return loss;
	loss.lost_ps = claim->lost_ps;
	loss.unexplained_ps = claim->unexplained_ps;
	for (uint32_t i = 0; own != NULL && i < v->run.ncollectives; i++)
		loss.little_ps += own->budgets[i].little_ps;
	for (uint32_t i = 0; i < v->nfindings; i++) {
		const struct finding *finding = &v->findings[i];

		if (finding->critical_ps <= 0)
			continue;
		loss.causes += !finding->costless;
		loss.alone += finding->costless;
		loss.causes_ps += finding->costless ? 0 : finding->critical_ps;
		loss.alone_ps += finding->costless ? finding->critical_ps : 0;
	}
	return loss;
}

bool
facts_confidence(const struct verdict *v, double *confidence)
{
	const struct claim *claim = verdict_claim(v);

	*confidence = claim != NULL ? claim->confidence : 0;
	return claim != NULL && (claim->innocent || facts_is_guilty(v));
}

bool
facts_folded(const struct finding *finding)
{
	return finding->confidence < FACTS_FOLDED;
}

char *
facts_cost(const struct facts *facts, const struct finding *finding, char *buf, size_t cap)
{
	double lost_ps = facts_loss(facts->v).lost_ps;

	snprintf(buf, cap, "%s", fmt_time(facts->unit, fmt_ps(finding->critical_ps)).text);
	if (lost_ps > 0)
		fmt_append(buf, cap, ", %.1f %% of the lost time", 100 * finding->critical_ps / lost_ps);
	return buf;
}

#define PARTS_SHOWN 8 /* the page's data has all */

static int
cmp_part(const void *pa, const void *pb, void *arg)
{
	const struct finding *finding = arg;
	const uint32_t *a = pa, *b = pb;
	double x = finding->parts[*a].critical_ps, y = finding->parts[*b].critical_ps;

	if (x != y)
		return x > y ? -1 : 1;
	return *a < *b ? -1 : 1;
}

char *
facts_parts(const struct facts *facts, const struct finding *finding, char *buf, size_t cap)
{
	const struct run *run = &facts->v->run;
	uint32_t *order = calloc((size_t)finding->nparts + 1, sizeof(*order)), named = RUN_NONE;

	buf[0] = '\0';
	for (uint32_t i = 0; i < finding->nparts && order != NULL; i++)
		order[i] = i;
	if (finding->nparts > 1 && order != NULL)
		qsort_r(order, finding->nparts, sizeof(*order), cmp_part, (void *)finding);
	for (uint32_t i = 0; i < finding->nparts && finding->nparts > 1 && order != NULL; i++) {
		const struct finding_part *part = &finding->parts[order[i]];
		const struct run_collective *c = &run->collectives[part->collective];

		if (part->critical_ps <= 0)
			break;
		if (i == PARTS_SHOWN) {
			fmt_append(buf, cap, " and more");
			break;
		}
		fmt_append(buf, cap, "%s%s", i != 0 ? ", " : "", fmt_time(facts->unit, fmt_ps(part->critical_ps)).text);
		if (c->id != named)
			fmt_append(buf, cap, " in %s", c->name);
		if (!run_is_flows(c))
			fmt_append(buf, cap, " iteration %u", c->iteration);
		named = c->id;
	}
	free(order);
	return buf;
}

/* "6.900 ms (87.0 %)" */
static void
append_share(const struct facts *facts, double ps, double lost_ps, char *buf, size_t cap)
{
	fmt_append(buf, cap, "%s (%.1f %%)", fmt_time(facts->unit, fmt_ps(ps + 0.5)).text, 100 * ps / lost_ps);
}

/* The lost time, by its parts. */
static void
append_loss(const struct facts *facts, char *buf, size_t cap)
{
	const struct facts_loss loss = facts_loss(facts->v);

	fmt_append(buf, cap, " Of the %s lost%s, ", fmt_time(facts->unit, fmt_ps(loss.lost_ps)).text,
		   facts->v->run.ncollectives > 1 ? " in all" : "");
	if (loss.causes != 0) {
		fmt_append(buf, cap, "%u root cause%s ", loss.causes, loss.causes == 1 ? " explains" : "s explain");
		append_share(facts, loss.causes_ps, loss.lost_ps, buf, cap);
	}
	if (loss.alone != 0) {
		fmt_append(buf, cap, "%s%u finding%s that would regain nothing alone %s ", loss.causes != 0 ? ", " : "",
			   loss.alone, loss.alone == 1 ? "" : "s", loss.alone == 1 ? "explains" : "explain");
		append_share(facts, loss.alone_ps, loss.lost_ps, buf, cap);
	}
	if (loss.little_ps > 0) {
		fmt_append(buf, cap, "%shosts late by too little to be named explain ",
			   loss.causes + loss.alone != 0 ? ", " : "");
		append_share(facts, loss.little_ps, loss.lost_ps, buf, cap);
	}
	if (loss.causes + loss.alone != 0 || loss.little_ps > 0)
		fmt_append(buf, cap, ", and ");
	append_share(facts, loss.unexplained_ps, loss.lost_ps, buf, cap);
	fmt_append(buf, cap, " is unexplained.");
}

void
facts_append_trust(const struct facts *facts, char *buf, size_t cap)
{
	double confidence;

	if (facts_loss(facts->v).lost_ps > 0 && !facts_innocent(facts->v))
		append_loss(facts, buf, cap);
	if (facts_confidence(facts->v, &confidence))
		fmt_append(buf, cap, " Confidence that the network is %s: %.2f.", facts_word(facts->v), confidence);
}

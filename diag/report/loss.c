/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts of facts.h about the lost time, by its parts, and its confidence. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/array.h"
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
	if (v->ntwins != 0) { /* runs without causes regain what no estimate spreads over waits; estimates keep the rest */
		loss.causes_ps = fmin(loss.causes_ps, loss.lost_ps);
		loss.little_ps = fmin(loss.little_ps, loss.lost_ps - loss.causes_ps);
		loss.alone_ps = fmin(loss.alone_ps, loss.lost_ps - loss.causes_ps - loss.little_ps);
		loss.unexplained_ps = loss.lost_ps - loss.causes_ps - loss.alone_ps - loss.little_ps;
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

struct facts_loss
facts_loss_shown(const struct verdict *v, double step_ps)
{
	struct facts_loss loss = facts_loss(v);
	double parts[] = { loss.causes_ps, loss.alone_ps, loss.little_ps, fmax(loss.unexplained_ps, 0) };

	if (fmt_add_up(parts, ARRAY_LEN(parts), loss.lost_ps, step_ps) != 0)
		return loss;
	loss.lost_ps = round(loss.lost_ps / step_ps) * step_ps;
	loss.causes_ps = parts[0];
	loss.alone_ps = parts[1];
	loss.little_ps = parts[2];
	loss.unexplained_ps = parts[3];
	return loss;
}

double *
facts_costs(const struct verdict *v, double step_ps)
{
	const struct facts_loss loss = facts_loss_shown(v, step_ps);
	double *costs = calloc((size_t)v->nfindings + 1, sizeof(*costs));
	uint32_t costly = facts_costly(v);

	if (costs == NULL)
		return NULL;
	for (uint32_t i = 0; i < v->nfindings; i++)
		costs[i] = fmax(v->findings[i].critical_ps, 0);
	if (fmt_add_up(costs, costly, loss.causes_ps, step_ps) != 0 ||
	    fmt_add_up(costs + costly, v->nfindings - costly, loss.alone_ps, step_ps) != 0) {
		free(costs);
		return NULL;
	}
	return costs;
}

/* Times are shown with three decimals. */
static double
time_step_ps(const struct facts *facts)
{
	return (double)facts->unit.ps / 1000;
}

/* Shares are shown with one decimal of a percent. */
static double
share_step_ps(const struct verdict *v)
{
	return facts_loss(v).lost_ps / 1000;
}

int
facts_shown_init(struct facts_shown *shown, const struct facts *facts)
{
	*shown = (struct facts_shown){ .cost_ps = facts_costs(facts->v, time_step_ps(facts)) };
	if (shown->cost_ps == NULL)
		return -ENOMEM;
	if (!(facts_loss(facts->v).lost_ps > 0))
		return 0;
	shown->share_ps = facts_costs(facts->v, share_step_ps(facts->v));
	if (shown->share_ps == NULL)
		facts_shown_fini(shown);
	return shown->share_ps != NULL ? 0 : -ENOMEM;
}

void
facts_shown_fini(struct facts_shown *shown)
{
	free(shown->cost_ps);
	free(shown->share_ps);
	*shown = (struct facts_shown){ 0 };
}

char *
facts_cost(const struct facts *facts, const struct facts_shown *shown, const struct finding *finding, char *buf, size_t cap)
{
	double lost_ps = facts_loss(facts->v).lost_ps;
	size_t at = (size_t)(finding - facts->v->findings);

	snprintf(buf, cap, "%s",
		 fmt_time(facts->unit, fmt_ps(shown->cost_ps != NULL ? shown->cost_ps[at] : finding->critical_ps)).text);
	if (lost_ps > 0)
		fmt_append(buf, cap, ", %.1f %% of the lost time",
			   100 * (shown->share_ps != NULL ? shown->share_ps[at] : finding->critical_ps) / lost_ps);
	if (facts->v->ntwins != 0)
		fmt_append(buf, cap, "%s",
			   finding->cost_unknown                     ? ", within the twin's error"
			   : finding->cost_from == FINDING_ESTIMATED ? ", estimated"
			   : finding->cost_from == FINDING_BY_TWIN   ? ", by the twin"
								     : ", partly by the twin");
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
append_share(const struct facts *facts, double time_ps, double share_ps, char *buf, size_t cap)
{
	fmt_append(buf, cap, "%s (%.1f %%)", fmt_time(facts->unit, fmt_ps(time_ps + 0.5)).text,
		   100 * share_ps / facts_loss(facts->v).lost_ps);
}

/* The lost time, by its parts. */
static void
append_loss(const struct facts *facts, char *buf, size_t cap)
{
	const struct facts_loss loss = facts_loss_shown(facts->v, time_step_ps(facts));
	const struct facts_loss share = facts_loss_shown(facts->v, share_step_ps(facts->v));

	fmt_append(buf, cap, " Of the %s lost%s, ", fmt_time(facts->unit, fmt_ps(loss.lost_ps)).text,
		   facts->v->run.ncollectives > 1 ? " in all" : "");
	if (loss.causes != 0) {
		fmt_append(buf, cap, "%u root cause%s ", loss.causes, loss.causes == 1 ? " explains" : "s explain");
		append_share(facts, loss.causes_ps, share.causes_ps, buf, cap);
	}
	if (loss.alone != 0) {
		fmt_append(buf, cap, "%s%u finding%s that would regain nothing alone %s ", loss.causes != 0 ? ", " : "",
			   loss.alone, loss.alone == 1 ? "" : "s", loss.alone == 1 ? "explains" : "explain");
		append_share(facts, loss.alone_ps, share.alone_ps, buf, cap);
	}
	if (loss.little_ps > 0) {
		fmt_append(buf, cap, "%shosts late by too little to be named explain ",
			   loss.causes + loss.alone != 0 ? ", " : "");
		append_share(facts, loss.little_ps, share.little_ps, buf, cap);
	}
	if (loss.causes + loss.alone != 0 || loss.little_ps > 0)
		fmt_append(buf, cap, ", and ");
	append_share(facts, loss.unexplained_ps, share.unexplained_ps, buf, cap);
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

/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/report.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/input_file.h"
#include "common/units.h"
#include "diag/report/facts.h"

/* What a suspect cost by one finding. */
struct share {
	uint32_t job; /* index into run.jobs */
	const char *word;
	double cost_ps, alone_ps, confidence;
	const json_t *flows; /* its own among the finding's culprits; empty: the finding is about a place */
};

/* What is known of a finding while its shares are taken. */
struct progress {
	uint32_t shares, costs, unknown;
	double cost_ps, alone_ps, confident_ps;
	bool *by_twin;    /* [nparts * (nflows + 1)] a flow's part, the last: that of the place */
	bool *has_effect; /* likewise: it is by_twin, and its cost is more than the twin's error */
};

static uint32_t
job_of(const struct verdict *v, const struct finding_part *part)
{
	return v->run.iterations[v->run.collectives[part->collective].in].job;
}

static bool
lists(const json_t *flows, const char *name)
{
	const json_t *flow;
	size_t i;

	json_array_foreach(flows, i, flow)
		if (json_is_string(flow) && strcmp(json_string_value(flow), name) == 0)
			return true;
	return false;
}

/* Is a cell, of a part and a culprit, or of a part as a whole, the share's? */
static bool
is_cell(const struct verdict *v, const struct finding *finding, const struct share *share, uint32_t part, uint32_t flow)
{
	if (job_of(v, &finding->parts[part]) != share->job)
		return false;
	if (finding->nflows == 0)
		return flow == finding->nflows;
	return flow < finding->nflows && lists(share->flows, v->run.flows[finding->flows[flow]].name);
}

static double *
cell(struct finding *finding, uint32_t part, uint32_t flow)
{
	return flow < finding->nflows ? &finding->parts[part].flow_ps[flow] : &finding->parts[part].critical_ps;
}

/* Spreads a share over its cells, as the estimates were. */
static void
take_share(const struct verdict *v, struct finding *finding, const struct share *share, struct progress *progress)
{
	uint32_t cells = 0, columns = finding->nflows + 1;
	double sum_ps = 0;

	for (uint32_t at = 0; at < finding->nparts * columns; at++) {
		if (!is_cell(v, finding, share, at / columns, at % columns))
			continue;
		cells++;
		sum_ps += progress->by_twin[at] ? 0 : *cell(finding, at / columns, at % columns);
	}
	for (uint32_t at = 0; at < finding->nparts * columns; at++) {
		double *ps = cell(finding, at / columns, at % columns), before_ps = progress->by_twin[at] ? 0 : *ps,
		       share_ps;

		if (!is_cell(v, finding, share, at / columns, at % columns))
			continue;
		share_ps = share->cost_ps * (sum_ps > 0 ? before_ps / sum_ps : 1.0 / cells);
		if (finding->nflows != 0)
			finding->parts[at / columns].critical_ps += share_ps - before_ps;
		*ps += share_ps - before_ps;
		progress->by_twin[at] = true;
		progress->has_effect[at] |= strcmp(share->word, "cost") == 0;
	}
	progress->shares += cells != 0;
	progress->costs += strcmp(share->word, "cost") == 0;
	progress->unknown += strcmp(share->word, "unknown") == 0;
	progress->cost_ps += share->cost_ps;
	progress->alone_ps += share->alone_ps;
	progress->confident_ps += share->cost_ps * share->confidence;
}

/* Which of a finding's cells with a cost are no estimates any more. */
static uint32_t
cost_from(struct finding *finding, const struct progress *progress)
{
	uint32_t columns = finding->nflows + 1;

	for (uint32_t at = 0; at < finding->nparts * columns; at++)
		if (!progress->by_twin[at] && (finding->nflows == 0 || at % columns < finding->nflows) &&
		    *cell(finding, at / columns, at % columns) > 0)
			return FINDING_PARTLY_TWIN;
	return FINDING_BY_TWIN;
}

/* Sums of a finding whose parts have changed. */
static void
sum_up(struct finding *finding, const struct progress *progress)
{
	finding->cost_from = cost_from(finding, progress);
	finding->critical_ps = 0;
	for (uint32_t f = 0; f < finding->nflows; f++)
		finding->flow_ps[f] = 0;
	for (uint32_t p = 0; p < finding->nparts; p++) {
		finding->critical_ps += finding->parts[p].critical_ps;
		for (uint32_t f = 0; f < finding->nflows; f++)
			finding->flow_ps[f] += finding->parts[p].flow_ps[f];
	}
	finding->regained_ps = progress->alone_ps;
	finding->cost_unknown = progress->costs == 0 && progress->unknown != 0;
	finding->costless = progress->costs == 0 && (finding->costless || finding->cost_from == FINDING_BY_TWIN);
	if (progress->cost_ps > 0)
		finding->confidence = finding->borne_out = progress->confident_ps / progress->cost_ps;
}

/* Which culprits have no effect on which part, or less than the twin's error. @return 0 or -ENOMEM */
static int
note_costless(struct finding *finding, const struct progress *progress)
{
	uint32_t columns = finding->nflows + 1;

	for (uint32_t p = 0; p < finding->nparts; p++) {
		finding->parts[p].costless = calloc(columns, sizeof(bool));
		if (finding->parts[p].costless == NULL)
			return -ENOMEM;
		for (uint32_t f = 0; f < columns; f++)
			finding->parts[p].costless[f] =
				progress->by_twin[p * columns + f] && !progress->has_effect[p * columns + f];
	}
	return 0;
}

static const char *
text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

static bool
is_of(const json_t *claim, const struct finding *finding)
{
	return strcmp(text_of(claim, "type"), finding->type->key) == 0 &&
	       strcmp(text_of(claim, "root"), finding->root) == 0;
}

/* Takes all shares of one finding. */
static void
take_finding(const struct verdict *v, uint32_t index, const json_t *jobs, struct progress *progress)
{
	struct finding *finding = &v->findings[index];
	const json_t *job, *suspect, *claim;
	size_t j, s, c;

	json_array_foreach(jobs, j, job) {
		json_array_foreach(json_object_get(job, "suspects"), s, suspect) {
			double cost_ns = json_number_value(json_object_get(suspect, "cost_ns"));

			json_array_foreach(json_object_get(suspect, "claims"), c, claim) {
				double part_ns = json_number_value(json_object_get(claim, "cost_ns"));
				const struct share share = {
					.job = (uint32_t)json_integer_value(json_object_get(job, "job")),
					.word = text_of(suspect, "word"),
					.cost_ps = part_ns * PS_PER_NS,
					.alone_ps = json_number_value(json_object_get(suspect, "alone_ns")) * PS_PER_NS *
						    (cost_ns > 0 ? part_ns / cost_ns : 0),
					.confidence = json_number_value(json_object_get(suspect, "confidence")),
					.flows = json_object_get(claim, "flows"),
				};

				if (json_integer_value(json_object_get(claim, "finding")) == (json_int_t)index &&
				    is_of(claim, finding))
					take_share(v, finding, &share, progress);
			}
		}
	}
}

/* @return 0, or -EINVAL with err set */
static int
read_twins(struct verdict *v, const json_t *jobs, const char *path, struct err *err)
{
	const json_t *job;
	size_t i;

	v->twins = calloc(json_array_size(jobs) + 1, sizeof(*v->twins));
	if (v->twins == NULL)
		return err_set(err, -ENOMEM, "out of memory for twins");
	json_array_foreach(jobs, i, job) {
		json_int_t index = json_integer_value(json_object_get(job, "job"));

		if (index < 0 || index >= (json_int_t)v->run.njobs)
			return err_set(err, -EINVAL, "%s: job %lld; these records have %u", path, (long long)index,
				       v->run.njobs);
		v->twins[v->ntwins++] = (struct verdict_twin){
			.job = (uint32_t)index,
			.measured_ps = json_number_value(json_object_get(job, "measured_ns")) * PS_PER_NS,
			.twin_ps = json_number_value(json_object_get(job, "twin_ns")) * PS_PER_NS,
			.error = json_number_value(json_object_get(job, "error")),
			.steps_error = json_number_value(json_object_get(job, "steps_error")),
			.usable = json_is_true(json_object_get(job, "usable")),
			.runs = (uint32_t)json_integer_value(json_object_get(job, "runs")),
		};
	}
	return 0;
}

static void
scale(struct finding *finding, double by)
{
	finding->critical_ps *= by;
	finding->regained_ps *= by;
	for (uint32_t f = 0; f < finding->nflows; f++)
		finding->flow_ps[f] *= by;
	for (uint32_t p = 0; p < finding->nparts; p++) {
		finding->parts[p].critical_ps *= by;
		for (uint32_t f = 0; f < finding->nflows; f++)
			finding->parts[p].flow_ps[f] *= by;
	}
}

static bool
is_rest_of(const struct finding *finding, const struct finding *link)
{
	return finding->lacks != 0 && finding->lacks == link->root_port + 1 && finding->cost_from == FINDING_ESTIMATED;
}

/* What a link costs more or less by the twin, the queues that follow from it cost less or more. @param more_ps  of it */
static void
leave_rest(struct verdict *v, const struct finding *link, double more_ps)
{
	double sum_ps = 0;

	for (uint32_t i = 0; i < v->nfindings; i++)
		sum_ps += is_rest_of(&v->findings[i], link) ? v->findings[i].critical_ps : 0;
	for (uint32_t i = 0; i < v->nfindings && sum_ps > 0; i++)
		if (is_rest_of(&v->findings[i], link))
			scale(&v->findings[i], fmax(0, 1 - more_ps / sum_ps));
}

/* What findings explain of each collective, by the costs that they have now. */
static void
explain_again(struct verdict *v)
{
	struct vedrfolnir *own = vedrfolnir_of(v);

	for (uint32_t i = 0; own != NULL && i < v->run.ncollectives; i++)
		own->budgets[i].explained_ps = own->budgets[i].little_ps;
	for (uint32_t i = 0; own != NULL && i < v->nfindings; i++) {
		const struct finding *finding = &v->findings[i];

		for (uint32_t p = 0; p < finding->nparts && (finding->type->traits & FINDING_UNTIMED) == 0; p++)
			own->budgets[finding->parts[p].collective].explained_ps += finding->parts[p].critical_ps;
	}
}

/* The costs of one finding. @return 0 or -ENOMEM with err */
static int
apply(struct verdict *v, uint32_t index, const json_t *jobs, struct err *err)
{
	struct finding *finding = &v->findings[index];
	size_t cells = (size_t)finding->nparts * (finding->nflows + 1) + 1;
	struct progress progress = { .by_twin = calloc(cells, sizeof(bool)), .has_effect = calloc(cells, sizeof(bool)) };
	double before_ps = finding->critical_ps;
	int ret = progress.by_twin != NULL && progress.has_effect != NULL ? 0 : -ENOMEM;

	if (ret == 0)
		take_finding(v, index, jobs, &progress);
	if (progress.shares != 0) {
		sum_up(finding, &progress);
		ret = note_costless(finding, &progress);
	}
	if (progress.shares != 0 && finding->root_port != RUN_NONE)
		leave_rest(v, finding, finding->critical_ps - before_ps);
	free(progress.by_twin);
	free(progress.has_effect);
	return ret == 0 ? 0 : err_set(err, ret, "out of memory for the costs of a finding");
}

int
costs_apply(struct verdict *v, const char *path, struct err *err)
{
	const json_t *jobs;
	json_t *root;
	int ret;

	errno = 0;
	root = input_json(path, 0, NULL);
	jobs = json_object_get(root, "jobs");
	if (json_is_array(jobs))
		ret = read_twins(v, jobs, path, err);
	else if (errno == ENOMEM)
		ret = err_set(err, -ENOMEM, "%s: out of memory", path);
	else
		ret = err_set(err, -EINVAL, "%s cannot be read: it has no costs of a twin", path);

	for (uint32_t i = 0; i < v->nfindings && ret == 0; i++)
		ret = apply(v, i, jobs, err);
	if (ret == 0)
		ret = findings_order(&v->run, v->findings, v->nfindings, err);
	if (ret == 0) {
		explain_again(v);
		verdict_conclude(v, facts_loss(v).unexplained_ps);
	}
	json_decref(root);
	return ret;
}

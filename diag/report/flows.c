/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/flows.h"

#include <errno.h>
#include <stdlib.h>

#include "common/slowdown.h"
#include "diag/report/json.h"

/* Results of flows: of one generator, or of all. */
struct fared {
	uint32_t flows, slow, open;
	struct slowdown_bucket buckets[SLOWDOWN_BUCKETS];
};

bool
flows_alone(const struct verdict *v)
{
	for (uint32_t c = 0; c < v->run.ncollectives; c++)
		if (!run_is_flows(&v->run.collectives[c]))
			return false;
	return v->run.ncollectives != 0;
}

/* @return 0 or -ENOMEM */
static int
sum_up(const struct run *run, uint32_t first, uint32_t count, struct fared *fared)
{
	struct slowdown_flow *complete = calloc((size_t)count + 1, sizeof(*complete));
	double *scratch = calloc((size_t)count + 1, sizeof(*scratch));
	size_t ncomplete = 0;

	*fared = (struct fared){ .flows = count };
	for (uint32_t i = first; complete != NULL && i < first + count; i++) {
		const struct run_step *step = &run->steps[i];

		fared->slow += step->slow;
		fared->open += !step->reported || step->open;
		if (step->reported && !step->open && step->ideal_ps != 0)
			complete[ncomplete++] =
				(struct slowdown_flow){ step->bytes, step->end_ps - step->start_ps, step->ideal_ps };
	}
	if (complete != NULL && scratch != NULL)
		slowdown_summary(complete, ncomplete, scratch, fared->buckets);
	free(complete);
	free(scratch);
	return complete != NULL && scratch != NULL ? 0 : -ENOMEM;
}

/* Planned flows without any record: the evidence is truncated. */
static uint32_t
unheard_of(const struct run *run)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < run->ncollectives; i++)
		if (run->collectives[i].steps > run->collectives[i].nsteps)
			count += run->collectives[i].steps - run->collectives[i].nsteps;
	return count;
}

char *
flows_headline(const struct verdict *v, char *buf, size_t cap)
{
	const struct slowdown_bucket *all;
	struct fared fared;

	buf[0] = '\0';
	if (sum_up(&v->run, 0, v->run.nsteps, &fared) != 0)
		return buf;
	all = &fared.buckets[SLOWDOWN_BUCKETS - 1];
	fmt_append(buf, cap, "%u of %u flows took longer than on an idle fabric, by more than %d %% and a base RTT",
		   fared.slow, fared.flows, RUN_SLOW_PERCENT);
	if (all->flows != 0)
		fmt_append(buf, cap, "; slowdown %.2f at the median, %.2f at the 99th percentile, %.2f at most", all->p50,
			   all->p99, all->max);
	if (fared.open != 0)
		fmt_append(buf, cap, "; %u did not finish", fared.open);
	if (unheard_of(&v->run) != 0)
		fmt_append(buf, cap, "; %u more did not finish, as far as is known", unheard_of(&v->run));
	fmt_append(buf, cap, ".");
	return buf;
}

int
flows_text(const struct text *text)
{
	const struct fmt_unit unit = text->facts.unit;
	struct fared fared;
	int rc = sum_up(&text->facts.v->run, 0, text->facts.v->run.nsteps, &fared);

	if (rc != 0)
		return rc;
	fprintf(text->to, "# slowdown: time of a flow by that on an idle fabric; FCT: its time, in %s\n", unit.name);
	fprintf(text->to, "# %-14s %8s %10s %10s %10s %12s %12s %12s\n", "size", "flows", "p50", "p99", "max", "FCT p50",
		"FCT p99", "FCT max");
	for (int b = 0; b < SLOWDOWN_BUCKETS; b++) {
		const struct slowdown_bucket *bucket = &fared.buckets[b];

		if (bucket->flows != 0)
			fprintf(text->to, "  %-14s %8zu %10.2f %10.2f %10.2f %12s %12s %12s\n", bucket->name, bucket->flows,
				bucket->p50, bucket->p99, bucket->max, fmt_time_bare(unit, fmt_ps(bucket->fct_p50_ps)).text,
				fmt_time_bare(unit, fmt_ps(bucket->fct_p99_ps)).text,
				fmt_time_bare(unit, fmt_ps(bucket->fct_max_ps)).text);
	}
	return 0;
}

static json_t *
buckets_json(const struct fared *fared)
{
	json_t *buckets = json_array();

	for (int b = 0; b < SLOWDOWN_BUCKETS; b++) {
		const struct slowdown_bucket *bucket = &fared->buckets[b];

		buckets = value_add(buckets, json_pack("{s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "size", bucket->name,
						       "flows", (json_int_t)bucket->flows, "p50", value_real(bucket->p50),
						       "p99", value_real(bucket->p99), "max", value_real(bucket->max),
						       "fct_p50_ns", value_ns(fmt_ps(bucket->fct_p50_ps)), "fct_p99_ns",
						       value_ns(fmt_ps(bucket->fct_p99_ps)), "fct_max_ns",
						       value_ns(fmt_ps(bucket->fct_max_ps))));
	}
	return buckets;
}

static json_t *
generator_json(const struct verdict *v, const struct run_collective *c)
{
	struct fared fared;

	if (sum_up(&v->run, c->first_step, c->nsteps, &fared) != 0)
		return NULL;
	return json_pack("{s:I, s:o, s:I, s:I, s:I, s:o}", "collective", (json_int_t)c->id, "name", value_text(c->name),
			 "flows", (json_int_t)fared.flows, "slow", (json_int_t)fared.slow, "open", (json_int_t)fared.open,
			 "slowdown", buckets_json(&fared));
}

json_t *
flows_all_json(const struct verdict *v)
{
	struct fared fared;

	if (sum_up(&v->run, 0, v->run.nsteps, &fared) != 0)
		return NULL;
	return json_pack("{s:I, s:I, s:I, s:o}", "flows", (json_int_t)fared.flows, "slow", (json_int_t)fared.slow, "open",
			 (json_int_t)fared.open, "slowdown", buckets_json(&fared));
}

json_t *
flows_json(const struct verdict *v)
{
	json_t *array = json_array();

	for (uint32_t c = 0; c < v->run.ncollectives; c++)
		if (run_is_flows(&v->run.collectives[c]))
			array = value_add(array, generator_json(v, &v->run.collectives[c]));
	return array;
}

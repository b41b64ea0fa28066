/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/jobs.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/printable.h"
#include "diag/report/json.h"
#include "diag/report/text.h"

static int
cmp_part(const void *pa, const void *pb, void *arg)
{
	const struct run *run = arg;
	uint32_t a = ((const struct job_part *)pa)->collective, b = ((const struct job_part *)pb)->collective;

	if (run->collectives[a].id != run->collectives[b].id)
		return run->collectives[a].id < run->collectives[b].id ? -1 : 1;
	return ORDER(a, b);
}

static struct job_part *
part_of(const struct run *run, const struct job_facts *facts, uint32_t id)
{
	uint32_t lo = 0, hi = facts->nparts;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		uint32_t at = run->collectives[facts->parts[mid].collective].id;

		if (at == id)
			return &facts->parts[mid];
		if (at < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* The job's collectives, each once. */
static int
list_parts(const struct run *run, const struct run_job *job, struct job_facts *facts)
{
	const struct run_iteration *first = &run->iterations[job->first_iteration], *last = first + job->niterations - 1;
	uint32_t all = last->first_collective + last->ncollectives - first->first_collective, kept = 0;

	facts->parts = calloc((size_t)all + 1, sizeof(*facts->parts));
	if (facts->parts == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < all; i++)
		facts->parts[i].collective = first->first_collective + i;
	qsort_r(facts->parts, all, sizeof(*facts->parts), cmp_part, (void *)(uintptr_t)run);
	for (uint32_t i = 0; i < all; i++) {
		if (kept == 0 || run->collectives[facts->parts[kept - 1].collective].id !=
					 run->collectives[facts->parts[i].collective].id)
			facts->parts[kept++] = facts->parts[i];
	}
	facts->nparts = kept;
	return 0;
}

static void
add_path(const struct run *run, const struct waiting_graph *w, struct job_facts *facts)
{
	for (uint32_t i = 0; i < w->npath; i++) {
		const struct run_step *step = &run->steps[w->path[i]];
		uint64_t exec_ps = facts_exec_ps(step);

		uint64_t *of_ps = run_is_local(step) ? &facts->compute_ps
						     : &part_of(run, facts, run->collectives[step->collective].id)->path_ps;

		facts->path_ps = sum_u64(facts->path_ps, exec_ps);
		*of_ps = sum_u64(*of_ps, exec_ps);
	}
}

int
job_facts(const struct verdict *v, uint32_t job, struct job_facts *facts)
{
	const struct run_job *of = &v->run.jobs[job];
	int rc;

	*facts = (struct job_facts){ .iterations = of->niterations };
	rc = list_parts(&v->run, of, facts);
	for (uint32_t c = 0; c < v->run.ncollectives; c++)
		if (run_job_of(&v->run, c) == of)
			facts->lost_ps = sum_u64(facts->lost_ps, fmt_ps(facts_budget(v, c)->lost_ps));
	for (uint32_t i = of->first_iteration; rc == 0 && i < of->first_iteration + of->niterations; i++) {
		const struct run_iteration *iteration = &v->run.iterations[i];

		if (i == of->first_iteration || iteration->start_ps < facts->start_ps)
			facts->start_ps = iteration->start_ps;
		if (iteration->end_ps > facts->end_ps)
			facts->end_ps = iteration->end_ps;
		facts->unfinished += !iteration->complete;
		facts->begun |= iteration->begun;
		add_path(&v->run, &vedrfolnir_of(v)->waiting[i], facts);
	}
	if (facts->unfinished != 0)
		facts->end_ps = 0;
	return rc;
}

void
job_facts_fini(struct job_facts *facts)
{
	free(facts->parts);
}

static double
share(const struct job_facts *facts, uint64_t ps)
{
	return facts->path_ps != 0 ? (double)ps / (double)facts->path_ps : 0;
}

static json_t *
job_json(const struct verdict *v, uint32_t job)
{
	struct job_facts facts;
	json_t *parts = json_array(), *value = NULL;

	if (job_facts(v, job, &facts) == 0) {
		for (uint32_t i = 0; i < facts.nparts; i++) {
			const struct run_collective *c = &v->run.collectives[facts.parts[i].collective];

			parts = value_add(parts, json_pack("{s:I, s:o, s:o, s:o}", "collective", (json_int_t)c->id, "name",
							   value_text(c->name), "path_ns", value_ns(facts.parts[i].path_ps),
							   "share", value_real(share(&facts, facts.parts[i].path_ps))));
		}
		value = json_pack("{s:I, s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "job",
				  (json_int_t)v->run.jobs[job].id, "name", value_text(v->run.jobs[job].name), "iterations",
				  (json_int_t)facts.iterations, "unfinished", (json_int_t)facts.unfinished, "start_ns",
				  value_ns(facts.start_ps), "end_ns",
				  facts.unfinished == 0 ? value_ns(facts.end_ps) : json_null(), "lost_ns",
				  value_cost((double)facts.lost_ps), "path_ns", value_ns(facts.path_ps), "compute_share",
				  value_real(share(&facts, facts.compute_ps)), "collectives", parts);
	} else {
		json_decref(parts);
	}
	job_facts_fini(&facts);
	return value;
}

json_t *
jobs_json(const struct verdict *v)
{
	json_t *array = json_array();

	for (uint32_t j = 0; j < v->run.njobs; j++)
		array = value_add(array, job_json(v, j));
	return array;
}

/* ---- report.txt ---- */

#define SHARES_SHOWN 4

/* One job of one collective and without computation is complete above. */
static bool
is_plain(const struct run *run)
{
	if (run->njobs == 1 && run_is_flows(&run->collectives[0]))
		return true;
	if (run->njobs != 1 || run->iterations[0].ncollectives != 1)
		return run->njobs == 0;
	return run->nlocal == 0;
}

static int
cmp_share(const void *pa, const void *pb)
{
	const struct job_part *a = pa, *b = pb;

	if (a->path_ps != b->path_ps)
		return a->path_ps > b->path_ps ? -1 : 1;
	return ORDER(a->collective, b->collective);
}

/* "computation 61 %, grads 30 %, 2 more 9 %". The parts are put in order of their shares. */
static void
print_shares(const struct run *run, struct job_facts *facts, char *buf, size_t cap)
{
	uint64_t others_ps = 0;
	uint32_t others = 0;

	buf[0] = '\0';
	if (facts->compute_ps != 0)
		fmt_append(buf, cap, "computation %.0f %%", 100 * share(facts, facts->compute_ps));
	qsort(facts->parts, facts->nparts, sizeof(*facts->parts), cmp_share);
	for (uint32_t i = 0; i < facts->nparts; i++) {
		const struct job_part *part = &facts->parts[i];

		if (part->path_ps == 0)
			continue;
		if (i < SHARES_SHOWN)
			fmt_append(buf, cap, "%s%s %.0f %%", buf[0] != '\0' ? ", " : "",
				   run->collectives[part->collective].name, 100 * share(facts, part->path_ps));
		else
			others++;
		others_ps = sum_u64(others_ps, i < SHARES_SHOWN ? 0 : part->path_ps);
	}
	if (others != 0)
		fmt_append(buf, cap, ", %u more %.0f %%", others, 100 * share(facts, others_ps));
}

static int
job_row(struct libscols_table *table, const struct facts *facts, uint32_t job)
{
	const struct run *run = &facts->v->run;
	char iterations[32], shares[FACTS_TEXT], name[64], plain[FACTS_TEXT];
	struct job_facts job_of;
	int rc = job_facts(facts->v, job, &job_of);
	uint64_t end_ps = job_of.unfinished != 0 ? run->end_ps : job_of.end_ps;

	if (rc == 0) {
		print_shares(run, &job_of, shares, sizeof(shares));
		if (job_of.unfinished != 0)
			snprintf(iterations, sizeof(iterations), "%u of %u", job_of.iterations - job_of.unfinished,
				 job_of.iterations);
		else
			snprintf(iterations, sizeof(iterations), "%u", job_of.iterations);
		rc = table_row(table, printable_text(run->jobs[job].name, name, sizeof(name)), iterations,
			       job_of.begun ? fmt_time_bare(facts->unit, job_of.start_ps).text : "-",
			       job_of.begun ? fmt_time_bare(facts->unit, end_ps - job_of.start_ps).text : "-",
			       fmt_time_bare(facts->unit, job_of.lost_ps).text,
			       printable_text(shares, plain, sizeof(plain)), NULL);
	}
	job_facts_fini(&job_of);
	return rc;
}

int
jobs_text(const struct text *text)
{
	static const char *const columns[] = { "JOB", "ITERATIONS", "START", "TOOK", "LOST", "ON ITS CRITICAL PATHS" };
	static const bool right[] = { false, true, true, true, true, false };
	const struct run *run = &text->facts.v->run;
	struct libscols_table *table;
	char title[48];
	int rc;

	if (is_plain(run))
		return 0;
	snprintf(title, sizeof(title), "Jobs (%s)", text->facts.unit.name);
	text_title(text, title);
	table = table_create(columns, right, ARRAY_LEN(right));
	rc = table == NULL ? -ENOMEM : 0;
	for (uint32_t j = 0; rc == 0 && j < run->njobs; j++)
		rc = job_row(table, &text->facts, j);
	if (rc == 0)
		rc = table_print(table, text->to);
	table_destroy(table);
	return rc;
}

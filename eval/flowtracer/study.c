/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/flowtracer/study.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/err.h"
#include "common/fim.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/run_files.h"
#include "common/slowdown.h"
#include "topo/advise.h"
#include "twin/rerun/job.h"

/* Runs of the first seeds, with ECMP and with the static placement: one whose steps.csv is there is not made again. */

#define MAX_BROKEN 10 /* a cause that breaks this many runs breaks the others, too: a full disk */
#define LINE 512
#define NO_NUMBER UINT32_MAX

struct work {
	struct ft_study *study;
	uint32_t *waiting; /* [nwaiting] placement and seed in one number */
	uint32_t nwaiting, started, done;
	uint32_t slots[POOL_MAX_JOBS];
};

static enum ft_placement
placement_of(uint32_t number)
{
	return (enum ft_placement)(number % FT_PLACEMENTS);
}

static uint64_t
seed_of(const struct ft_study *study, uint32_t number)
{
	return study->first + number / FT_PLACEMENTS;
}

static pid_t
start(void *ctx, uint32_t slot, int cpu, struct err *err)
{
	struct work *work = ctx;
	char dir[PATH_MAX + 64], scenario[PATH_MAX + 64], seed[32];
	const char *const sets[] = { seed };
	uint32_t number;

	if (work->started == work->nwaiting)
		return 0;
	number = work->slots[slot] = work->waiting[work->started++];
	ft_path(work->study, placement_of(number), seed_of(work->study, number), "", dir);
	ft_path(work->study, placement_of(number), seed_of(work->study, number), "case.cfg", scenario);
	snprintf(seed, sizeof(seed), "seed=%" PRIu64, seed_of(work->study, number));
	return job_start(&(struct job_config){ .scenario = scenario,
					       .fabric = dir,
					       .out = dir,
					       .policy = "off",
					       .sets = sets,
					       .nsets = 1,
					       .cpu = cpu },
			 err);
}

static int
ended(void *ctx, uint32_t slot, int status, struct err *err)
{
	static const char *const files[] = { RUN_RECORDING, RUN_CONFIG, RUN_TRUTH };
	struct work *work = ctx;
	uint32_t number = work->slots[slot];
	char path[PATH_MAX + 64];

	for (size_t i = 0; status == JOB_DONE && i < ARRAY_LEN(files); i++) {
		ft_path(work->study, placement_of(number), seed_of(work->study, number), files[i], path);
		unlink(path);
	}
	work->done++;
	progress_line("%u of %u runs", work->done, work->nwaiting);
	if (status == JOB_DONE)
		return 0;
	ft_path(work->study, placement_of(number), seed_of(work->study, number), RUN_STEPS, path);
	unlink(path);
	progress_line("%s", "");
	ft_path(work->study, placement_of(number), seed_of(work->study, number), "", path);
	log_warning("%s failed; see log.txt there", path);
	if (++work->study->broken < MAX_BROKEN)
		return 0;
	return err_set(err, -EIO, "%u runs failed; fix the cause and repeat the command", work->study->broken);
}

/* The contents of a run's steps.csv: messages between hosts, by the numbers of their names. */
struct steps {
	struct pair_message *messages; /* [count] */
	uint32_t count, room;
	char (*names)[32]; /* [nnames] */
	uint32_t nnames;
};

/* @return the number of a host's name, NO_NUMBER: no memory. Neighbouring rows have the same few */
static uint32_t
number_of(struct steps *steps, const char *name)
{
	void *names;

	for (uint32_t i = steps->nnames; i-- != 0;)
		if (strcmp(steps->names[i], name) == 0)
			return i;
	names = realloc(steps->names, (steps->nnames + 1u) * sizeof(*steps->names));
	if (names == NULL)
		return NO_NUMBER;
	steps->names = names;
	snprintf(steps->names[steps->nnames], sizeof(*steps->names), "%s", name);
	return steps->nnames++;
}

static struct pair_message *
new_message(struct steps *steps)
{
	if (steps->count == steps->room) {
		uint32_t room = 2 * steps->room + 64;
		void *messages = realloc(steps->messages, room * sizeof(*steps->messages));

		if (messages == NULL)
			return NULL;
		steps->messages = messages;
		steps->room = room;
	}
	return &steps->messages[steps->count++];
}

static uint64_t
ps_of(double ns)
{
	return ns > 0 ? (uint64_t)llround(ns * 1000) : 0;
}

/* A row of the file; a host's work without a peer counts for the job's time alone. */
static int
read_step(struct steps *steps, const char *line, const char *path, uint32_t number, double *job_ns, struct err *err)
{
	double bytes, start_ns, duration_ns;
	struct pair_message *message;
	char src[32], dst[32];
	unsigned sport, dport;

	if (sscanf(line, "%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%31[^,],%31[^,],%u,%u,%lf,%lf,%lf,", src, dst, &sport,
		   &dport, &bytes, &start_ns, &duration_ns) != 7)
		return err_set(err, -EINVAL, "%s:%u: is no step of a flow; remove the file", path, number);
	*job_ns = fmax(*job_ns, start_ns + duration_ns);
	if (strcmp(src, dst) == 0)
		return 0;
	if (duration_ns <= 0)
		return err_set(err, -EINVAL, "%s:%u: took no time; remove the file", path, number);
	message = new_message(steps);
	if (message == NULL)
		return err_set(err, -ENOMEM, "out of memory for steps");
	*message = (struct pair_message){ .src = number_of(steps, src),
					  .dst = number_of(steps, dst),
					  .flow = (uint64_t)sport << 16 | dport,
					  .start_ps = ps_of(start_ns),
					  .end_ps = ps_of(start_ns + duration_ns),
					  .bytes = (uint64_t)bytes };
	return message->src != NO_NUMBER && message->dst != NO_NUMBER ? 0
								      : err_set(err, -ENOMEM, "out of memory for names");
}

static int
keep_pairs(struct ft_runs *runs, uint64_t seed, struct steps *steps, struct err *err)
{
	struct pair_rate *rates = calloc(steps->count + 1u, sizeof(*rates));
	uint32_t count = rates != NULL ? pair_rates(steps->messages, steps->count, rates) : 0;
	struct ft_pair *pairs = realloc(runs->pairs, (runs->npairs + count + 1u) * sizeof(*pairs));

	if (pairs != NULL)
		runs->pairs = pairs;
	for (uint32_t i = 0; pairs != NULL && i < count; i++) {
		struct ft_pair *pair = &pairs[runs->npairs++];

		*pair = (struct ft_pair){ .seed = seed, .gbps = rates[i].bps / 1e9 };
		snprintf(pair->src, sizeof(pair->src), "%s", steps->names[rates[i].src]);
		snprintf(pair->dst, sizeof(pair->dst), "%s", steps->names[rates[i].dst]);
	}
	free(rates);
	return rates != NULL && pairs != NULL ? 0 : err_set(err, -ENOMEM, "out of memory for pairs");
}

static int
read_steps(struct ft_runs *runs, uint32_t run, uint64_t seed, const char *path, FILE *from, struct err *err)
{
	struct steps steps = { 0 };
	uint32_t number = 1;
	char line[LINE];
	int ret = 0;

	if (fgets(line, sizeof(line), from) == NULL)
		return err_set(err, -EINVAL, "%s: is empty; remove it", path);
	while (ret == 0 && fgets(line, sizeof(line), from) != NULL)
		ret = read_step(&steps, line, path, ++number, &runs->job_ns[run], err);
	if (ret == 0)
		ret = keep_pairs(runs, seed, &steps, err);
	free(steps.messages);
	free(steps.names);
	return ret;
}

static int
read_runs(struct ft_study *study, struct err *err)
{
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < study->runs * FT_PLACEMENTS; i++) {
		char path[PATH_MAX + 64];
		struct err why = { "" };
		FILE *from;

		ft_path(study, placement_of(i), seed_of(study, i), RUN_STEPS, path);
		from = input_fopen(path, &why);
		if (from == NULL)
			continue; /* it failed, and was reported */
		ret = read_steps(&study->of[placement_of(i)], i / FT_PLACEMENTS, seed_of(study, i), path, from, err);
		fclose(from);
	}
	return ret;
}

int
ft_runs(struct ft_study *study, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct work work = { .study = study };
	int ret;

	work.waiting = calloc(study->runs * FT_PLACEMENTS + 1u, sizeof(*work.waiting));
	if (work.waiting == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u runs", study->runs);
	for (uint32_t i = 0; i < study->runs * FT_PLACEMENTS; i++) {
		char path[PATH_MAX + 64];

		ft_path(study, placement_of(i), seed_of(study, i), RUN_STEPS, path);
		if (shard_has(study->shard, i) && access(path, R_OK) != 0)
			work.waiting[work.nwaiting++] = i;
	}
	ret = shard_check(study->shard, work.nwaiting, err);
	if (ret == 0)
		ret = pool_run(study->jobs, &ops, &work, err);
	progress_line("%s", "");
	free(work.waiting);
	return ret == 0 ? read_runs(study, err) : ret;
}

#define PAPER_ECMP 36.5 /* percent: FlowTracer, IV-A */
#define PAPER_STATIC 6.2

/* "ecmp"; "static", or "source-ports" */
static const char *
ft_placement_name(const struct ft_study *study, enum ft_placement placement)
{
	return placement == FT_ECMP ? "ecmp" : study->by == ADVISE_PATHS ? "static" : "source-ports";
}

void
ft_path(const struct ft_study *study, enum ft_placement placement, uint64_t seed, const char *name,
	char path[PATH_MAX + 64])
{
	snprintf(path, PATH_MAX + 64, "%s/%s/%" PRIu64 "%s%s", study->dir, ft_placement_name(study, placement), seed,
		 name[0] != '\0' ? "/" : "", name);
}

int
ft_study_run(struct ft_study *study, struct err *err)
{
	int ret;

	if (study->runs > study->seeds)
		return err_set(err, -EINVAL, "%u runs of %u seeds; at most as many would be right", study->runs,
			       study->seeds);
	for (int p = 0; p < FT_PLACEMENTS; p++) {
		study->of[p].job_ns = calloc(study->runs + 1, sizeof(double));
		study->of[p].percent = calloc(study->runs + 1, sizeof(double));
		if (study->of[p].job_ns == NULL || study->of[p].percent == NULL)
			return err_set(err, -ENOMEM, "out of memory for %u runs", study->runs);
	}
	ret = ft_seeds(study, err);
	return ret == 0 && !study->is_planned ? ft_runs(study, err) : ret;
}

void
ft_study_fini(struct ft_study *study)
{
	for (uint32_t g = 0; g < FT_GROUPS; g++) {
		free(study->groups[g].percent);
		free(study->groups[g].placed);
	}
	for (int p = 0; p < FT_PLACEMENTS; p++) {
		free(study->of[p].pairs);
		free(study->of[p].job_ns);
		free(study->of[p].percent);
	}
}

/* ---- output for people ---- */

/* A distribution by nearest rank. */
struct spread {
	uint32_t count;
	double mean, deviation, least, q05, q25, median, q75, q95, most;
};

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* @param values  [count] sorted here */
static struct spread
spread_of(double *values, uint32_t count)
{
	struct spread s = { .count = count };
	double squares = 0;

	if (count == 0)
		return s;
	qsort(values, count, sizeof(*values), compare);
	for (uint32_t i = 0; i < count; i++)
		s.mean += values[i] / count;
	for (uint32_t i = 0; i < count; i++)
		squares += (values[i] - s.mean) * (values[i] - s.mean);
	s.deviation = count > 1 ? sqrt(squares / (count - 1)) : 0;
	s.least = values[0];
	s.q05 = values[(count - 1) * 5 / 100];
	s.q25 = values[(count - 1) / 4];
	s.median = values[(count - 1) / 2];
	s.q75 = values[(count - 1) * 3 / 4];
	s.q95 = values[(count - 1) * 95 / 100];
	s.most = values[count - 1];
	return s;
}

/* Copies values, so that sorting the copy leaves their order. @return NULL: no memory */
static double *
copy(const double *values, uint32_t count)
{
	double *to = malloc((count + 1) * sizeof(*to));

	if (to != NULL)
		memcpy(to, values, count * sizeof(*to));
	return to;
}

static struct spread
spread_of_copy(const double *values, uint32_t count)
{
	double *to = copy(values, count);
	struct spread s = to != NULL ? spread_of(to, count) : (struct spread){ 0 };

	free(to);
	return s;
}

static struct spread
spread_of_pairs(const struct ft_runs *runs)
{
	double *values = malloc((runs->npairs + 1) * sizeof(*values));
	struct spread s = { 0 };

	for (uint32_t i = 0; values != NULL && i < runs->npairs; i++)
		values[i] = runs->pairs[i].gbps;
	if (values != NULL)
		s = spread_of(values, runs->npairs);
	free(values);
	return s;
}

void
ft_print(const struct ft_study *study, FILE *to)
{
	fprintf(to, "Flow Imbalance Metric (%%) of %u flows by ECMP, %u seeds\n\n", study->flows, study->seeds);
	fprintf(to, "%-18s %5s %6s  %8s  %6s %6s  %6s %6s %6s %6s %6s\n", "links", "n", "ideal", "expected", "mean", "+-",
		"min", "5 %", "median", "95 %", "max");
	for (uint32_t g = 0; g < FT_GROUPS; g++) {
		const struct ft_group *group = &study->groups[g];
		struct spread s;
		char expected[16] = "-";

		if (group->links == 0)
			continue;
		s = spread_of_copy(group->percent, study->seeds);
		if (!isnan(group->expected))
			snprintf(expected, sizeof(expected), "%.2f", group->expected);
		fprintf(to, "%-18s %5u %6.2f  %8s  %6.2f %6.2f  %6.2f %6.2f %6.2f %6.2f %6.2f\n", group->name, group->links,
			group->ideal, expected, s.mean, s.deviation / sqrt(s.count), s.least, s.q05, s.median, s.q95,
			s.most);
	}
	if (study->runs == 0)
		return;
	fprintf(to, "\nRuns of seeds 1 to %u\n\n%-8s %6s  %12s  %6s %6s %6s %6s %6s %6s  %10s\n", study->runs, "", "FIM",
		"pairs (Gbps)", "min", "25 %", "median", "75 %", "max", "mean", "job (us)");
	for (int p = 0; p < FT_PLACEMENTS; p++) {
		const struct ft_runs *runs = &study->of[p];
		const struct spread s = spread_of_pairs(runs), fim = spread_of_copy(runs->percent, study->runs),
				    job = spread_of_copy(runs->job_ns, study->runs);

		fprintf(to, "%-8s %6.2f  %12u  %6.1f %6.1f %6.1f %6.1f %6.1f %6.1f  %10.1f\n",
			ft_placement_name(study, (enum ft_placement)p), fim.mean, s.count, s.least, s.q25, s.median, s.q75,
			s.most, s.mean, job.mean / 1e3);
	}
	fprintf(to, "\nThe paper's testbed: %.1f %% by ECMP, %.1f %% by static routes.\n", PAPER_ECMP, PAPER_STATIC);
}

static json_t *
array_of(const double *values, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, json_real(values[i]));
	return array;
}

json_t *
ft_json(const struct ft_study *study)
{
	json_t *root = json_object(), *groups = json_array();

	json_object_set_new(root, "scenario", json_string(study->scenario));
	json_object_set_new(root, "seeds", json_integer(study->seeds));
	json_object_set_new(root, "flows", json_integer(study->flows));
	for (uint32_t g = 0; g < FT_GROUPS; g++) {
		const struct ft_group *group = &study->groups[g];

		if (group->links == 0)
			continue;
		json_array_append_new(groups, json_pack("{s:s, s:i, s:f, s:o, s:o}", "links", group->name, "count",
							(int)group->links, "ideal", group->ideal, "expected",
							isnan(group->expected) ? json_null() : json_real(group->expected),
							"percent", array_of(group->percent, study->seeds)));
	}
	json_object_set_new(root, "groups", groups);
	for (int p = 0; p < FT_PLACEMENTS; p++) {
		const struct ft_runs *runs = &study->of[p];
		json_t *pairs = json_array();

		for (uint32_t i = 0; i < runs->npairs; i++)
			json_array_append_new(pairs, json_pack("{s:I, s:s, s:s, s:f}", "seed",
							       (json_int_t)runs->pairs[i].seed, "src", runs->pairs[i].src,
							       "dst", runs->pairs[i].dst, "gbps", runs->pairs[i].gbps));
		json_object_set_new(root, ft_placement_name(study, (enum ft_placement)p),
				    json_pack("{s:o, s:o, s:o}", "percent", array_of(runs->percent, study->runs), "job_ns",
					      array_of(runs->job_ns, study->runs), "pairs", pairs));
	}
	return root;
}

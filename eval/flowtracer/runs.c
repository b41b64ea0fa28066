/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of the first seeds, with ECMP and with the static placement: one whose steps.csv is there is not made again. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/log.h"
#include "common/pair_rate.h"
#include "common/progress_line.h"
#include "common/run_files.h"
#include "eval/flowtracer/study.h"
#include "eval/job.h"
#include "eval/pool.h"

#define MAX_BROKEN 10 /* whatever breaks so many runs breaks the others, too: a full disk */
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
	log_warning("%s failed; log.txt there says more", path);
	if (++work->study->broken < MAX_BROKEN)
		return 0;
	return err_set(err, -EIO, "%u runs failed; the same command goes on when that is mended", work->study->broken);
}

/* What a run's steps.csv has: messages between hosts, by the numbers of their names. */
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

/* A row of the file; what a host does by itself counts for the job's time alone. */
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
		FILE *from;

		ft_path(study, placement_of(i), seed_of(study, i), RUN_STEPS, path);
		from = fopen(path, "r");
		if (from == NULL)
			continue; /* it failed, and was told */
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
		if (access(path, R_OK) != 0)
			work.waiting[work.nwaiting++] = i;
	}
	ret = pool_run(study->jobs, &ops, &work, err);
	progress_line("%s", "");
	free(work.waiting);
	return ret == 0 ? read_runs(study, err) : ret;
}

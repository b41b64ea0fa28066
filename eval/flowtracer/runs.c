/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs of the first seeds, with ECMP and with the static placement: one whose steps.csv is there is not made again. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/log.h"
#include "common/progress_line.h"
#include "common/run_files.h"
#include "eval/flowtracer/study.h"
#include "eval/job.h"
#include "eval/pool.h"

#define MAX_BROKEN 10 /* whatever breaks so many runs breaks the others, too: a full disk */
#define LINE 512

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

/* Adds a flow to what its pair has. @return 0 or -ENOMEM */
static int
add_flow(struct ft_runs *runs, uint32_t first, uint64_t seed, const char *src, const char *dst, double gbps)
{
	struct ft_pair *pairs;

	for (uint32_t i = first; i < runs->npairs; i++)
		if (strcmp(runs->pairs[i].src, src) == 0 && strcmp(runs->pairs[i].dst, dst) == 0) {
			runs->pairs[i].gbps += gbps;
			return 0;
		}
	pairs = realloc(runs->pairs, (runs->npairs + 1) * sizeof(*pairs));
	if (pairs == NULL)
		return -ENOMEM;
	runs->pairs = pairs;
	pairs += runs->npairs++;
	*pairs = (struct ft_pair){ .seed = seed, .gbps = gbps };
	snprintf(pairs->src, sizeof(pairs->src), "%s", src);
	snprintf(pairs->dst, sizeof(pairs->dst), "%s", dst);
	return 0;
}

/* Flows of a run are its steps' messages; what a host does by itself counts for the job's time alone. */
static int
read_steps(struct ft_runs *runs, uint32_t run, uint64_t seed, const char *path, FILE *from, struct err *err)
{
	uint32_t first = runs->npairs, number = 1;
	char line[LINE], src[32], dst[32];

	if (fgets(line, sizeof(line), from) == NULL)
		return err_set(err, -EINVAL, "%s: is empty; remove it", path);
	while (fgets(line, sizeof(line), from) != NULL) {
		double bytes, start_ns, duration_ns;

		number++;
		if (sscanf(line, "%*u,%*u,%*u,%*u,%*u,%*u,%31[^,],%31[^,],%*u,%*u,%lf,%lf,%lf,", src, dst, &bytes,
			   &start_ns, &duration_ns) != 5)
			return err_set(err, -EINVAL, "%s:%u: is no step of a flow; remove the file", path, number);
		if (start_ns + duration_ns > runs->job_ns[run])
			runs->job_ns[run] = start_ns + duration_ns;
		if (strcmp(src, dst) == 0)
			continue;
		if (duration_ns <= 0)
			return err_set(err, -EINVAL, "%s:%u: took no time; remove the file", path, number);
		if (add_flow(runs, first, seed, src, dst, 8 * bytes / duration_ns) != 0)
			return err_set(err, -ENOMEM, "out of memory for pairs");
	}
	return 0;
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

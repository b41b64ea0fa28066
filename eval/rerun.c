/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/rerun.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/run_files.h"
#include "common/units.h"
#include "eval/case_result.h"
#include "eval/job.h"
#include "eval/store.h"
#include "eval/suspect.h"
#include "rxe-hosts/agent/policy.h"
#include "scenario/scenario.h"

static double
factorial(uint32_t n)
{
	double product = 1;

	for (uint32_t i = 2; i <= n; i++)
		product *= i;
	return product;
}

/* How often a set of this size is exactly the set before a cause, among all orders of count causes. */
static double
weight(uint32_t size, uint32_t count)
{
	return factorial(size) * factorial(count - size - 1) / factorial(count);
}

void
shapley(const double *worth, uint32_t count, double *shares)
{
	assert(count <= SHAPLEY_MAX);
	for (uint32_t i = 0; i < count; i++) {
		shares[i] = 0;
		for (uint32_t set = 0; set < 1u << count; set++)
			if ((set >> i & 1) == 0)
				shares[i] += weight((uint32_t)__builtin_popcount(set), count) *
					     (worth[set | 1u << i] - worth[set]);
	}
}
static int
order(double x, double y)
{
	return x < y ? -1 : x > y;
}

double
kendall_tau(const double *a, const double *b, uint32_t count)
{
	double alike = 0, pairs_a = 0, pairs_b = 0;

	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t j = 0; j < i; j++) {
			int in_a = order(a[i], a[j]), in_b = order(b[i], b[j]);

			alike += in_a * in_b;
			pairs_a += in_a != 0;
			pairs_b += in_b != 0;
		}
	}
	return pairs_a > 0 && pairs_b > 0 ? alike / sqrt(pairs_a * pairs_b) : 0;
}

#define MAX_BROKEN 10 /* a cause that breaks this many runs breaks the others, too: a full disk */
#define LOG_FILE "log.txt"
#define LOG_LINE_MAX 1024

/* A run in progress. */
struct slot {
	size_t of; /* index of its case */
	uint64_t without;
};

struct work {
	const struct reruns *reruns;
	struct slot slots[POOL_MAX_JOBS];
	size_t of; /* up to here all have been started */
	uint64_t set;
	uint64_t expected, done;
	uint32_t broken;
};

int
rerun_case_init(struct rerun_case *c, struct err *err)
{
	static const char *const policies[] = { REC_POLICIES(ENUM_NAME) };
	const struct scenario *scenario = c->loaded;
	const struct plan *plan = scenario->plan;
	uint32_t njobs = scenario->workload->njobs;
	bool sends = false;

	c->loaded = NULL;
	if (scenario->timing.clock == CLOCK_REAL)
		return err_set(
			err, -EINVAL,
			"%s: runs in real time differ by themselves; hosts with kind = \"embedded\" have virtual time",
			c->scenario);
	if (c->suspects.count > SUSPECT_MAX)
		return err_set(err, -EINVAL, "%s: %zu suspects; at most %d at a time, name them", c->scenario,
			       c->suspects.count, SUSPECT_MAX);
	c->starts_ns = calloc(njobs + 1u, sizeof(*c->starts_ns));
	if (c->starts_ns == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u jobs", njobs);
	c->njobs = njobs;
	for (uint32_t j = 0; j < njobs; j++)
		c->starts_ns[j] = scenario->workload->jobs[j].start_ps / PS_PER_NS;
	for (uint32_t i = 0; i < plan->ncollectives; i++) {
		if (plan->collectives[i].job != c->job || !plan->collectives[i].enabled)
			continue;
		sends = true;
		if (plan->collectives[i].most_rtt_ps / PS_PER_NS > c->rtt_ns)
			c->rtt_ns = plan->collectives[i].most_rtt_ps / PS_PER_NS;
	}
	c->policy = policies[scenario->detection.policy];
	return sends ? 0 : err_set(err, -EINVAL, "%s: it has no job whose time could be regained", c->scenario);
}

void
rerun_case_fini(struct rerun_case *c)
{
	suspects_fini(&c->suspects);
	free(c->starts_ns);
	c->starts_ns = NULL;
}

uint64_t
rerun_sets(const struct rerun_case *c)
{
	return c->suspects.count <= SHAPLEY_MAX ? 1ull << c->suspects.count : c->suspects.count + 2;
}

uint64_t
rerun_set(const struct rerun_case *c, uint64_t index)
{
	if (c->suspects.count <= SHAPLEY_MAX || index == 0)
		return index;
	return index <= c->suspects.count ? 1ull << (index - 1) : (1ull << c->suspects.count) - 1;
}

static bool
is_stored(const struct work *work, const struct rerun_case *c, uint64_t without)
{
	struct store_rerun rerun = { .family = c->family, .index = c->index, .without = without, .job = c->job };
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" RERUN_BASE "/" RUN_VERDICT, c->dir);
	return store_find_rerun(work->reruns->store, &rerun) && (without != 0 || !c->diagnose || access(path, R_OK) == 0);
}

static char *
folder_of(const struct rerun_case *c, uint64_t without, char *buf)
{
	snprintf(buf, PATH_MAX, "%s/run-%" PRIx64, c->dir, without);
	return buf;
}

static pid_t
start_run(struct work *work, uint32_t slot, int cpu, struct err *err)
{
	const struct rerun_case *c = &work->reruns->cases[work->slots[slot].of];
	uint64_t without = work->slots[slot].without;
	const char *sets[SCENARIO_MAX_SETS + SUSPECT_MAX];
	char dir[PATH_MAX];
	struct job_config config = {
		.scenario = c->scenario,
		.fabric = folder_of(c, without, dir),
		.out = dir,
		.policy = c->policy,
		.diagnose = c->diagnose && without == 0,
		.sets = sets,
		.cpu = cpu,
	};

	for (size_t i = 0; i < c->nsets && i < SCENARIO_MAX_SETS; i++)
		sets[config.nsets++] = c->sets[i];
	for (size_t i = 0; i < c->suspects.count; i++)
		if (without >> i & 1)
			sets[config.nsets++] = c->suspects.at[i].set;
	return job_start(&config, err);
}

static void
show(const struct work *work)
{
	progress_line("%" PRIu64 " of %" PRIu64 " runs", work->done, work->expected);
}

static pid_t
start(void *ctx, uint32_t slot, int cpu, struct err *err)
{
	struct work *work = ctx;

	while (work->of < work->reruns->ncases) {
		const struct rerun_case *c = &work->reruns->cases[work->of];
		uint64_t without;

		if (work->set == rerun_sets(c)) {
			work->set = 0;
			work->of++;
			continue;
		}
		without = rerun_set(c, work->set++);
		if (is_stored(work, c, without))
			continue;
		work->slots[slot] = (struct slot){ work->of, without };
		return start_run(work, slot, cpu, err);
	}
	return 0;
}

/* When every job of the run was done. @return 0, -ENODATA: run.json does not have it, -EIO of the store */
static int
store_times(struct work *work, const struct rerun_case *c, uint64_t without, const char *dir, struct err *err)
{
	char path[PATH_MAX + 16];
	const json_t *job;
	json_t *run;
	size_t i;
	int ret = 0;

	snprintf(path, sizeof(path), "%s/" RUN_SUMMARY, dir);
	run = json_load_file(path, 0, NULL);
	if (!json_is_array(json_object_get(run, "jobs")))
		ret = err_set(err, -ENODATA, "run.json has no jobs");
	json_array_foreach(json_object_get(run, "jobs"), i, job) {
		uint32_t number = (uint32_t)json_integer_value(json_object_get(job, "job"));
		const json_t *end = json_object_get(job, "end_ns");
		uint64_t end_ns =
			(uint64_t)json_integer_value(json_is_null(end) ? json_object_get(run, "virtual_ns") : end);
		uint64_t start_ns = number < c->njobs ? c->starts_ns[number] : 0;

		if (ret == 0)
			ret = store_add_rerun(work->reruns->store,
					      &(struct store_rerun){ c->family, c->index, without, number,
								     end_ns > start_ns ? end_ns - start_ns : 0,
								     json_is_integer(end) },
					      err);
	}
	json_decref(run);
	return ret;
}

/* Removes files that are no longer needed. */
static void
tidy(const struct rerun_case *c, uint64_t without, const char *dir)
{
	struct err err = { 0 };
	char path[PATH_MAX + 16];

	if (c->diagnose && without == 0)
		return;
	run_files_remove(dir, &err);
	snprintf(path, sizeof(path), "%s/" LOG_FILE, dir);
	unlink(path);
	rmdir(dir);
}

/*
 * The last message of the fabric's program in a run in dir, after ": "; "" if there is none. @param said  room for it
 */
static const char *
last_line(const char *dir, char last[LOG_LINE_MAX])
{
	char path[PATH_MAX + 16], *line = NULL;
	size_t room = 0;
	FILE *file;

	last[0] = '\0';
	snprintf(path, sizeof(path), "%s/" LOG_FILE, dir);
	file = fopen(path, "r");
	while (file != NULL && getline(&line, &room, file) > 0)
		if (strncmp(line, "dpswitch: ", 10) == 0)
			snprintf(last, LOG_LINE_MAX, ": %.*s", (int)strcspn(line, "\n"), line);
	free(line);
	if (file != NULL)
		fclose(file);
	return last;
}

static int
ended(void *ctx, uint32_t slot, int status, struct err *err)
{
	struct work *work = ctx;
	const struct rerun_case *c = &work->reruns->cases[work->slots[slot].of];
	uint64_t without = work->slots[slot].without;
	struct err why = { 0 };
	char dir[PATH_MAX], folder[32], last[LOG_LINE_MAX];
	int ret;

	folder_of(c, without, dir);
	snprintf(folder, sizeof(folder), "run-%" PRIx64, without);
	ret = case_result_check(c->dir, folder, status, &why);
	if (ret == 0)
		ret = store_times(work, c, without, dir, &why);
	if (ret == 0) {
		work->done++;
		tidy(c, without, dir);
		show(work);
		return 0;
	}
	if (ret != -ENODATA)
		return err_set(err, ret, "%s", why.text);
	progress_line("%s", "");
	log_warning("%s failed: %s; %s/" LOG_FILE " has details%s", dir, why.text, dir, last_line(dir, last));
	if (++work->broken < MAX_BROKEN)
		return 0;
	return err_set(err, -EIO, "%u runs failed; fix the cause and repeat the command", work->broken);
}

int
reruns_run(const struct reruns *reruns, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct work *work = calloc(1, sizeof(*work));
	int ret;

	if (work == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	work->reruns = reruns;
	for (size_t of = 0; of < reruns->ncases; of++)
		for (uint64_t set = 0; set < rerun_sets(&reruns->cases[of]); set++)
			work->expected += !is_stored(work, &reruns->cases[of], rerun_set(&reruns->cases[of], set));
	show(work);
	ret = pool_run(reruns->jobs, &ops, work, err);
	progress_line("%s", "");
	if (ret == 0)
		ret = (int)work->broken;
	free(work);
	return ret;
}

/* @return 0 or -ENODATA */
static int
time_without(struct store *store, const struct rerun_case *c, uint64_t without, double *time_ns, bool *complete,
	     struct err *err)
{
	struct store_rerun rerun = { .family = c->family, .index = c->index, .without = without, .job = c->job };

	if (!store_find_rerun(store, &rerun))
		return err_set(err, -ENODATA, "%s: a run is missing; the same command makes it", c->scenario);
	*time_ns = (double)rerun.time_ns;
	*complete = rerun.complete;
	return 0;
}

static int
share_out(struct store *store, const struct rerun_case *c, struct rerun_truth *truth, struct err *err)
{
	double worth[1 << SHAPLEY_MAX], shares[SHAPLEY_MAX];
	uint32_t count = (uint32_t)c->suspects.count;

	for (uint32_t set = 0; set < 1u << count; set++) {
		bool complete;

		if (time_without(store, c, set, &worth[set], &complete, err) < 0)
			return -ENODATA;
		worth[set] = truth->base_ns - worth[set];
	}
	shapley(worth, count, shares);
	for (uint32_t i = 0; i < count; i++)
		truth->costs[i].shapley_ns = shares[i];
	truth->has_shapley = true;
	return 0;
}

bool
rerun_is_effect(const struct rerun_case *c, double base_ns, double time_ns)
{
	return time_ns >= RERUN_MIN_SHARE * base_ns || time_ns >= (double)c->rtt_ns;
}

int
rerun_truth(struct store *store, const struct rerun_case *c, struct rerun_truth *truth, struct err *err)
{
	uint64_t all = (1ull << c->suspects.count) - 1;

	*truth = (struct rerun_truth){ 0 };
	if (time_without(store, c, 0, &truth->base_ns, &truth->base_complete, err) < 0 ||
	    time_without(store, c, all, &truth->all_ns, &truth->all_complete, err) < 0)
		return -ENODATA;
	for (size_t i = 0; i < c->suspects.count; i++) {
		struct rerun_cost *cost = &truth->costs[i];

		if (time_without(store, c, 1ull << i, &cost->without_ns, &cost->complete, err) < 0)
			return -ENODATA;
		cost->regained_ns = truth->base_ns - cost->without_ns;
		cost->has_effect = rerun_is_effect(c, truth->base_ns, cost->regained_ns);
	}
	return c->suspects.count <= SHAPLEY_MAX ? share_out(store, c, truth, err) : 0;
}

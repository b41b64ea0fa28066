/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/rerun/rerun.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/run_files.h"
#include "common/tail.h"
#include "common/units.h"
#include "rxe-hosts/agent/policy.h"
#include "scenario/scenario.h"
#include "twin/rerun/job.h"
#include "twin/rerun/results.h"
#include "twin/rerun/suspect.h"
#include "workload/plan.h"
#include "workload/workload.h"

#define MAX_BROKEN 10 /* a cause that breaks this many runs breaks the others, too: a full disk */
#define LOG_LINE_MAX 1024
#define ALPHA 0.05   /* a truth lies beyond an interval with this probability */
#define ORDER_SEED 1 /* of the orders by which shares are sampled: the same runs when the command is repeated */

/* A run in progress. */
struct slot {
	size_t of; /* index of its case */
	uint64_t without;
	uint32_t draw;
};

struct work {
	const struct reruns *reruns;
	struct slot slots[POOL_MAX_JOBS];
	size_t of;     /* up to here all have been started */
	uint64_t next; /* of its runs */
	uint64_t expected, done;
	uint32_t broken;
};

/* The suspects that are left out before and with each of an order, one more each time. */
static uint64_t
order_prefix(const uint32_t *order, uint32_t count)
{
	uint64_t mask = 0;

	for (uint32_t i = 0; i < count; i++)
		mask |= 1ull << order[i];
	return mask;
}

static void
add_set(struct rerun_case *c, uint64_t mask)
{
	for (uint64_t i = 0; i < c->nsets_out; i++)
		if (c->sets_out[i] == mask)
			return;
	c->sets_out[c->nsets_out++] = mask;
}

size_t
rerun_causes(const struct rerun_case *c)
{
	return c->suspects.count - c->trials;
}

/* @return 0 or -ENOMEM */
static int
list_sets(struct rerun_case *c)
{
	uint32_t count = (uint32_t)rerun_causes(c), order[SUSPECT_MAX];
	uint64_t all = (1ull << count) - 1;
	size_t most = count <= SHAPLEY_MAX ? 1u << count : count + 2 + (size_t)c->orders * count;

	c->sets_out = calloc(most + c->trials, sizeof(*c->sets_out));
	if (c->sets_out == NULL)
		return -ENOMEM;
	for (uint64_t mask = 0; count <= SHAPLEY_MAX && mask <= all; mask++)
		c->sets_out[c->nsets_out++] = mask;
	for (size_t i = count; i < c->suspects.count; i++)
		add_set(c, 1ull << i);
	if (count <= SHAPLEY_MAX)
		return 0;
	add_set(c, 0);
	for (uint32_t i = 0; i < count; i++)
		add_set(c, 1ull << i);
	add_set(c, all);
	for (uint32_t o = 0; o < c->orders; o++) {
		shapley_order(ORDER_SEED, o, count, order);
		for (uint32_t i = 1; i <= count; i++)
			add_set(c, order_prefix(order, i));
	}
	return 0;
}

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
		return err_set(err, -EINVAL, "%s: runs in real time differ by themselves; %s", c->scenario,
			       scenario->nexternal != 0 ? "hosts with kind = \"embedded\" have virtual time"
							: "its hosts have virtual time with --set timing.clock=virtual");
	if (c->suspects.count > SUSPECT_MAX)
		return err_set(err, -EINVAL, "%s: %zu suspects; at most %d at a time, name them", c->scenario,
			       c->suspects.count, SUSPECT_MAX);
	c->starts_ns = calloc(njobs + 1u, sizeof(*c->starts_ns));
	if (c->starts_ns == NULL || list_sets(c) < 0)
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
	free(c->sets_out);
	c->starts_ns = NULL;
	c->sets_out = NULL;
}

/* All runs of a case: those of one draw after those of another. */
static uint64_t
runs_of(const struct rerun_case *c)
{
	return c->nsets_out * max_u32(c->draws, 1);
}

static struct slot
slot_of(const struct work *work, size_t of, uint64_t run)
{
	const struct rerun_case *c = &work->reruns->cases[of];

	return (struct slot){ of, c->sets_out[run % c->nsets_out], (uint32_t)(run / c->nsets_out) };
}

/* The run as it is. */
static bool
is_diagnosed(const struct rerun_case *c, const struct slot *slot)
{
	return c->diagnose && slot->without == 0 && slot->draw == 0;
}

static bool
is_stored(const struct work *work, const struct slot *slot)
{
	const struct rerun_case *c = &work->reruns->cases[slot->of];
	struct rerun_result rerun = {
		.family = c->family, .index = c->index, .without = slot->without, .draw = slot->draw, .job = c->job
	};
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" RERUN_BASE "/" RUN_VERDICT, c->dir);
	return rerun_store_find(work->reruns->store, &rerun) && (!is_diagnosed(c, slot) || access(path, R_OK) == 0);
}

/* Is a run to be made by this program? */
static bool
is_waiting(const struct work *work, const struct slot *slot, uint64_t run)
{
	return shard_has(work->reruns->shard, work->reruns->shares_cases ? slot->of : run) && !is_stored(work, slot);
}

#define FOLDER 48

/* "run-5", "run-5-2" of another draw than the first. @param buf  of FOLDER @return buf */
static char *
folder_of(const struct slot *slot, char *buf)
{
	int used = snprintf(buf, FOLDER, "run-%" PRIx64, slot->without);

	if (slot->draw != 0)
		snprintf(buf + used, (size_t)(FOLDER - used), "-%u", slot->draw);
	return buf;
}

static pid_t
start_run(struct work *work, uint32_t slot, int cpu, struct err *err)
{
	const struct rerun_case *c = &work->reruns->cases[work->slots[slot].of];
	uint64_t without = work->slots[slot].without;
	const char *sets[SCENARIO_MAX_SETS + SUSPECT_MAX + 1];
	const json_t *set;
	size_t k;
	char dir[PATH_MAX], folder[FOLDER], draw[32];
	struct job_config config = {
		.scenario = c->scenario,
		.fabric = dir,
		.out = dir,
		.policy = c->policy,
		.diagnose = is_diagnosed(c, &work->slots[slot]),
		.sets = sets,
		.cpu = cpu,
	};

	snprintf(dir, sizeof(dir), "%s/%s", c->dir, folder_of(&work->slots[slot], folder));
	for (size_t i = 0; i < c->nsets && i < SCENARIO_MAX_SETS; i++)
		sets[config.nsets++] = c->sets[i];
	snprintf(draw, sizeof(draw), "draw=%u", work->slots[slot].draw);
	if (work->slots[slot].draw != 0)
		sets[config.nsets++] = draw;
	for (size_t i = 0; i < c->suspects.count; i++) {
		if ((without >> i & 1) == 0)
			continue;
		sets[config.nsets++] = c->suspects.at[i].set;
		json_array_foreach(c->suspects.at[i].more_sets, k, set)
			if (config.nsets < ARRAY_LEN(sets))
				sets[config.nsets++] = json_string_value(set);
	}
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

		if (work->next == runs_of(c)) {
			work->next = 0;
			work->of++;
			continue;
		}
		work->slots[slot] = slot_of(work, work->of, work->next);
		if (!is_waiting(work, &work->slots[slot], work->next++))
			continue;
		return start_run(work, slot, cpu, err);
	}
	return 0;
}

/* When every job of the run was done. @return 0, -ENODATA: run.json does not have it, -EIO of the store */
static int
store_times(struct work *work, const struct slot *slot, const char *dir, struct err *err)
{
	const struct rerun_case *c = &work->reruns->cases[slot->of];
	char path[PATH_MAX + 16];
	const json_t *job;
	json_t *run;
	size_t i;
	int ret = 0;

	snprintf(path, sizeof(path), "%s/" RUN_SUMMARY, dir);
	run = input_json(path, 0, NULL);
	if (!json_is_array(json_object_get(run, "jobs")))
		ret = err_set(err, -ENODATA, "run.json has no jobs");
	json_array_foreach(json_object_get(run, "jobs"), i, job) {
		uint32_t number = (uint32_t)json_integer_value(json_object_get(job, "job"));
		const json_t *end = json_object_get(job, "end_ns");
		uint64_t end_ns =
			(uint64_t)json_integer_value(json_is_null(end) ? json_object_get(run, "virtual_ns") : end);
		uint64_t start_ns = number < c->njobs ? c->starts_ns[number] : 0;

		if (ret == 0)
			ret = rerun_store_add(work->reruns->store,
					      &(struct rerun_result){ c->family, c->index, slot->without, slot->draw,
								      number, end_ns > start_ns ? end_ns - start_ns : 0,
								      json_is_integer(end) },
					      err);
	}
	json_decref(run);
	return ret;
}

/* Removes files that are no longer needed. */
static void
tidy(const struct rerun_case *c, const struct slot *slot, const char *dir)
{
	struct err err = { 0 };

	if (!is_diagnosed(c, slot))
		job_discard(dir, &err);
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
	snprintf(path, sizeof(path), "%s/" JOB_LOG, dir);
	file = input_fopen(path, NULL);
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
	struct err why = { 0 };
	char dir[PATH_MAX], folder[FOLDER], last[LOG_LINE_MAX];
	int ret;

	snprintf(dir, sizeof(dir), "%s/%s", c->dir, folder_of(&work->slots[slot], folder));
	ret = job_check(c->dir, folder, status, &why);
	if (ret == 0)
		ret = store_times(work, &work->slots[slot], dir, &why);
	if (ret == 0) {
		work->done++;
		tidy(c, &work->slots[slot], dir);
		show(work);
		return 0;
	}
	if (ret != -ENODATA)
		return err_set(err, ret, "%s", why.text);
	progress_line("%s", "");
	log_warning("%s failed: %s; %s/" JOB_LOG " has details%s", dir, why.text, dir, last_line(dir, last));
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
	for (size_t of = 0; of < reruns->ncases; of++) {
		for (uint64_t run = 0; run < runs_of(&reruns->cases[of]); run++) {
			const struct slot slot = slot_of(work, of, run);

			work->expected += is_waiting(work, &slot, run);
		}
	}
	ret = shard_check(reruns->shard, work->expected, err);
	if (ret == 0) {
		show(work);
		ret = pool_run(reruns->jobs, &ops, work, err);
	}
	progress_line("%s", "");
	if (ret == 0)
		ret = (int)work->broken;
	free(work);
	return ret;
}

/* What one draw of chance has of a case. */
struct draw {
	struct rerun_store *store;
	const struct rerun_case *c;
	uint32_t number;
};

/* @return 0 or -ENODATA */
static int
time_without(const struct draw *draw, uint64_t without, double *time_ns, bool *complete, struct err *err)
{
	const struct rerun_case *c = draw->c;
	struct rerun_result rerun = {
		.family = c->family, .index = c->index, .without = without, .draw = draw->number, .job = c->job
	};

	if (!rerun_store_find(draw->store, &rerun))
		return err_set(err, -ENODATA, "%s: a run is missing; the same command makes it", c->scenario);
	*time_ns = (double)rerun.time_ns;
	*complete = rerun.complete;
	return 0;
}

static int
share_out(const struct draw *draw, struct rerun_truth *truth, struct err *err)
{
	double worth[1 << SHAPLEY_MAX], shares[SHAPLEY_MAX];
	uint32_t count = (uint32_t)rerun_causes(draw->c);

	for (uint32_t set = 0; set < 1u << count; set++) {
		bool complete;

		if (time_without(draw, set, &worth[set], &complete, err) < 0)
			return -ENODATA;
		worth[set] = truth->base_ns - worth[set];
	}
	shapley(worth, count, shares);
	for (uint32_t i = 0; i < count; i++)
		truth->costs[i].shapley_ns = shares[i];
	truth->has_shapley = true;
	return 0;
}

/* The time regained by each in its turn, in one order. @return 0 or -ENODATA */
static int
share_by_order(const struct draw *draw, uint32_t index, double base_ns, double *gained_ns, struct err *err)
{
	uint32_t count = (uint32_t)rerun_causes(draw->c), order[SUSPECT_MAX];
	double before_ns = base_ns, time_ns = base_ns;
	bool complete;

	shapley_order(ORDER_SEED, index, count, order);
	for (uint32_t i = 0; i < count; i++) {
		if (time_without(draw, order_prefix(order, i + 1), &time_ns, &complete, err) < 0)
			return -ENODATA;
		gained_ns[order[i]] += before_ns - time_ns;
		before_ns = time_ns;
	}
	return 0;
}

/* Means over pairs of orders, and their standard errors. @return 0 or -ENODATA */
static int
sample_shares(const struct draw *draw, struct rerun_truth *truth, struct err *err)
{
	size_t count = rerun_causes(draw->c);
	uint32_t pairs = draw->c->orders / 2;
	double squares[SUSPECT_MAX] = { 0 };

	for (uint32_t pair = 0; pair < pairs; pair++) {
		double gained_ns[SUSPECT_MAX] = { 0 };

		if (share_by_order(draw, 2 * pair, truth->base_ns, gained_ns, err) < 0 ||
		    share_by_order(draw, 2 * pair + 1, truth->base_ns, gained_ns, err) < 0)
			return -ENODATA;
		for (size_t i = 0; i < count; i++) {
			truth->costs[i].shapley_ns += gained_ns[i] / 2 / pairs;
			squares[i] += gained_ns[i] * gained_ns[i] / 4 / pairs;
		}
	}
	for (size_t i = 0; i < count && pairs > 1; i++) {
		double mean_ns = truth->costs[i].shapley_ns;

		truth->costs[i].error_ns = sqrt(fmax(0, squares[i] - mean_ns * mean_ns) / (pairs - 1));
	}
	truth->has_shapley = true;
	return 0;
}

bool
rerun_is_effect(const struct rerun_case *c, double base_ns, double time_ns)
{
	return time_ns >= RERUN_MIN_SHARE * base_ns || time_ns >= (double)c->rtt_ns;
}

double
rerun_normalize(double *of, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += of[i];
	for (size_t i = 0; sum > 0 && i < count; i++)
		of[i] /= sum;
	return sum;
}

double
rerun_shares(const struct rerun_case *c, const struct rerun_truth *truth, double *shares)
{
	for (size_t i = 0; i < c->suspects.count; i++) {
		double ns = truth->costs[i].shapley_ns;

		shares[i] = rerun_is_effect(c, truth->base_ns, ns) ? ns : 0;
	}
	return rerun_normalize(shares, c->suspects.count);
}

double
rerun_shares_error(const double *shares, const double *errors_ns, size_t count, double sum_ns)
{
	double squares = 0, sum = 0;

	for (size_t i = 0; i < count; i++)
		squares += errors_ns[i] * errors_ns[i];
	for (size_t i = 0; sum_ns > 0 && i < count; i++) {
		double own = errors_ns[i] * errors_ns[i];

		sum += sqrt(M_2_PI * ((1 - 2 * shares[i]) * own + shares[i] * shares[i] * squares)) / sum_ns;
	}
	return count > 0 ? sum / (double)count : 0;
}

/* One draw's truth, but for words. @return 0 or -ENODATA with err */
static int
truth_of_draw(const struct draw *draw, struct rerun_truth *truth, struct err *err)
{
	const struct rerun_case *c = draw->c;
	uint64_t all = (1ull << rerun_causes(c)) - 1;

	*truth = (struct rerun_truth){ 0 };
	if (time_without(draw, 0, &truth->base_ns, &truth->base_complete, err) < 0 ||
	    time_without(draw, all, &truth->all_ns, &truth->all_complete, err) < 0)
		return -ENODATA;
	for (size_t i = 0; i < c->suspects.count; i++) {
		struct rerun_cost *cost = &truth->costs[i];

		if (time_without(draw, 1ull << i, &cost->without_ns, &cost->complete, err) < 0)
			return -ENODATA;
		cost->regained_ns = truth->base_ns - cost->without_ns;
	}
	if (rerun_causes(c) <= SHAPLEY_MAX)
		return share_out(draw, truth, err);
	return c->orders != 0 ? sample_shares(draw, truth, err) : 0;
}

/* Sums of squares over draws. */
struct squares {
	double base, all, regained[SUSPECT_MAX], shapley[SUSPECT_MAX];
};

static void
add_draw(const struct rerun_truth *one, size_t count, struct rerun_truth *sum, struct squares *squares)
{
	sum->base_ns += one->base_ns;
	sum->all_ns += one->all_ns;
	sum->base_complete &= one->base_complete;
	sum->all_complete &= one->all_complete;
	sum->has_shapley = one->has_shapley;
	squares->base += one->base_ns * one->base_ns;
	squares->all += (one->base_ns - one->all_ns) * (one->base_ns - one->all_ns);
	for (size_t i = 0; i < count; i++) {
		const struct rerun_cost *cost = &one->costs[i];

		sum->costs[i].without_ns += cost->without_ns;
		sum->costs[i].complete &= cost->complete;
		sum->costs[i].regained_ns += cost->regained_ns;
		sum->costs[i].shapley_ns += cost->shapley_ns;
		sum->costs[i].error_ns += cost->error_ns * cost->error_ns;
		squares->regained[i] += cost->regained_ns * cost->regained_ns;
		squares->shapley[i] += cost->shapley_ns * cost->shapley_ns;
	}
}

/* The variance of a mean. */
static double
variance_of_mean(double mean, double squares, uint32_t draws)
{
	return draws > 1 ? fmax(0, squares / draws - mean * mean) / (draws - 1) : 0;
}

double
rerun_limit(const struct rerun_case *c, uint32_t draws)
{
	uint32_t pairs = rerun_causes(c) > SHAPLEY_MAX ? c->orders / 2 : 0;

	if (draws > 1)
		return tail_student_at(ALPHA / 2, draws - 1);
	return pairs > 1 ? tail_student_at(ALPHA / 2, pairs - 1) : tail_normal_at(ALPHA / 2);
}

static void
average(const struct rerun_case *c, const struct squares *squares, struct rerun_truth *truth)
{
	uint32_t draws = max_u32(c->draws, 1);

	truth->base_ns /= draws;
	truth->all_ns /= draws;
	truth->limit = rerun_limit(c, draws);
	truth->base_error_ns = sqrt(variance_of_mean(truth->base_ns, squares->base, draws));
	truth->all_error_ns = sqrt(variance_of_mean(truth->base_ns - truth->all_ns, squares->all, draws));
	for (size_t i = 0; i < c->suspects.count; i++) {
		struct rerun_cost *cost = &truth->costs[i];

		cost->without_ns /= draws;
		cost->regained_ns /= draws;
		cost->shapley_ns /= draws;
		cost->regained_error_ns = sqrt(variance_of_mean(cost->regained_ns, squares->regained[i], draws));
		cost->draws_error_ns = sqrt(variance_of_mean(cost->shapley_ns, squares->shapley[i], draws));
		cost->error_ns = hypot(sqrt(cost->error_ns / draws), cost->draws_error_ns);
		/* Of a job that was not done without it, what is regained is a most; with all, a least. */
		cost->has_effect = cost->complete && rerun_is_effect(c, truth->base_ns, cost->regained_ns) &&
				   cost->regained_ns > truth->limit * cost->regained_error_ns;
		cost->has_none =
			truth->base_complete &&
			!rerun_is_effect(c, truth->base_ns, cost->regained_ns + truth->limit * cost->regained_error_ns);
	}
}

int
rerun_truth(struct rerun_store *store, const struct rerun_case *c, struct rerun_truth *truth, struct err *err)
{
	struct squares squares = { 0 };

	*truth = (struct rerun_truth){ .base_complete = true, .all_complete = true };
	for (size_t i = 0; i < c->suspects.count; i++)
		truth->costs[i].complete = true;
	for (uint32_t number = 0; number < max_u32(c->draws, 1); number++) {
		const struct draw draw = { store, c, number };
		struct rerun_truth one;

		if (truth_of_draw(&draw, &one, err) < 0)
			return -ENODATA;
		add_draw(&one, c->suspects.count, truth, &squares);
	}
	average(c, &squares, truth);
	return 0;
}

struct rerun_store {
	sqlite3 *db;
};

static const char schema[] = RESULTS_OF
	"CREATE TABLE IF NOT EXISTS reruns (family TEXT, idx INTEGER, without INTEGER, draw INTEGER, job INTEGER,"
	" time_ns INTEGER, complete INTEGER, PRIMARY KEY (family, idx, without, draw, job));";

struct rerun_store *
rerun_store_open(const char *path, const char *of, struct err *err)
{
	static const char *const probes[] = {
		"SELECT family, idx, without, draw, job, time_ns, complete FROM reruns",
		NULL,
	};
	struct rerun_store *store = calloc(1, sizeof(*store));
	int ret;

	if (store == NULL) {
		err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	store->db = results_open(path, schema, probes, err);
	ret = store->db != NULL ? results_belong(store->db, of, err) : -errno;
	if (ret == 0)
		return store;
	rerun_store_close(store);
	errno = ret == -EEXIST ? EINVAL : -ret;
	return NULL;
}

void
rerun_store_close(struct rerun_store *store)
{
	if (store == NULL)
		return;
	sqlite3_close(store->db);
	free(store);
}

static void
bind_run(sqlite3_stmt *stmt, const struct rerun_result *result)
{
	sqlite3_bind_text(stmt, 1, result->family, -1, SQLITE_STATIC);
	sqlite3_bind_int64(stmt, 2, result->index);
	sqlite3_bind_int64(stmt, 3, (int64_t)result->without);
	sqlite3_bind_int64(stmt, 4, result->draw);
	sqlite3_bind_int64(stmt, 5, result->job);
}

int
rerun_store_add(struct rerun_store *store, const struct rerun_result *result, struct err *err)
{
	sqlite3_stmt *stmt = results_prepare(store->db, "INSERT OR REPLACE INTO reruns VALUES (?, ?, ?, ?, ?, ?, ?)");

	bind_run(stmt, result);
	sqlite3_bind_int64(stmt, 6, (int64_t)result->time_ns);
	sqlite3_bind_int64(stmt, 7, result->complete);
	return results_finish(store->db, stmt, err);
}

bool
rerun_store_find(struct rerun_store *store, struct rerun_result *result)
{
	sqlite3_stmt *stmt = results_prepare(store->db, "SELECT time_ns, complete FROM reruns WHERE family = ? AND idx = ?"
							" AND without = ? AND draw = ? AND job = ?");
	bool found;

	bind_run(stmt, result);
	found = stmt != NULL && sqlite3_step(stmt) == SQLITE_ROW;
	result->time_ns = found ? (uint64_t)sqlite3_column_int64(stmt, 0) : 0;
	result->complete = found && sqlite3_column_int64(stmt, 1) != 0;
	sqlite3_finalize(stmt);
	return found;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/counterfactual.h"

#include <errno.h>
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/err.h"
#include "common/hash.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/outfile.h"
#include "common/printable.h"
#include "common/prng.h"
#include "common/run_files.h"
#include "common/units.h"
#include "eval/store.h"
#include "scenario/scenario.h"
#include "twin/rerun/rerun.h"
#include "twin/rerun/suspect.h"
#include "twin/twin.h"
#include "workload/plan.h"

#define DISTURB_TEXT 256

struct disturb_fabric {
	const char *name;
	const char *topology; /* the scenario's group */
	uint32_t hosts, nics;
};

/* A case while it is made. */
struct disturb_case {
	uint64_t seed;
	uint32_t index;
	const struct disturb_fabric *fabric;
	struct prng prng;
	struct {
		char flows[DISTURB_MAX][DISTURB_TEXT], jobs[DISTURB_MAX][DISTURB_TEXT], faults[DISTURB_MAX][DISTURB_TEXT];
		uint32_t nflows, njobs, nfaults;
	} groups;                     /* of the scenario's lists */
	const struct scenario *quiet; /* the collective alone: whose paths causes may lie on */
	uint64_t quiet_ns;            /* how long it is expected to take */
};

#define RATE_DELAY "rate = \"100Gbps\"; delay = \"1us\"; };\n"
#define MAX_RANKS 8
/* So long a collective takes alone, about: a few hundredths of the paper's. */
#define MIN_STEP_BYTES 2e6
#define MAX_STEP_BYTES 6e6

static const struct disturb_fabric disturb_fabrics[] = {
	{ "fat-tree", "topology = { kind = \"fat-tree\"; k = 4; " RATE_DELAY, 16, 1 },
	{ "leaf-spine", "topology = { kind = \"leaf-spine\"; leaves = 4; spines = 2; hosts_per_leaf = 4; " RATE_DELAY, 16,
	  1 },
	{ "rail", "topology = { kind = \"rail\"; hosts = 8; nics = 2; hosts_per_group = 4; spines = 2; " RATE_DELAY, 8, 2 },
	{ NULL, NULL, 0, 0 },
};

/* The fabric of a case: they take turns. */
static const struct disturb_fabric *
disturb_fabric_of(uint32_t index)
{
	return &disturb_fabrics[index % (ARRAY_LEN(disturb_fabrics) - 1)];
}

static double
between(struct disturb_case *c, double min, double max)
{
	return min + prng_unit(&c->prng) * (max - min);
}

/* As likely between 1 and 10 as between 10 and 100. */
static double
log_between(struct disturb_case *c, double min, double max)
{
	return min * pow(max / min, prng_unit(&c->prng));
}

static uint32_t
pick(struct disturb_case *c, uint32_t count)
{
	return (uint32_t)prng_below(&c->prng, count);
}

/* An end of a flow. @param buf  of 32 @return buf */
static char *
any_end(struct disturb_case *c, char *buf)
{
	uint32_t host = pick(c, c->fabric->hosts), nic = pick(c, c->fabric->nics);

	snprintf(buf, 32, c->fabric->nics > 1 ? "h%u:%u" : "h%u", host, nic + 1);
	return buf;
}

/* Different hosts in their order, as rings are laid, at one of their NICs: [ "h0", "h3", ... ]. */
static void
any_ranks(struct disturb_case *c, uint32_t ranks, char *buf, size_t cap)
{
	uint32_t nic = 1 + pick(c, c->fabric->nics), left = ranks;
	size_t used = 0;

	for (uint32_t host = 0; host < c->fabric->hosts && left > 0; host++) {
		if (pick(c, c->fabric->hosts - host) >= left)
			continue;
		used += (size_t)snprintf(buf + used, cap - used, left-- != ranks ? ", \"h%u" : "[ \"h%u", host);
		if (c->fabric->nics > 1)
			used += (size_t)snprintf(buf + used, cap - used, ":%u", nic);
		used += (size_t)snprintf(buf + used, cap - used, "\"");
	}
	snprintf(buf + used, cap - used, " ]");
}

/* A port that data of the collective leaves by: of a flow and a hop of it. */
static uint32_t
any_port(struct disturb_case *c)
{
	const struct plan_collective *main = &c->quiet->plan->collectives[0];
	struct route_path path;

	if (scenario_path(c->quiet, main->first_flow + pick(c, main->nflows), false, &path) < 0)
		return 0;
	return path.ports[pick(c, path.hops)];
}

static unsigned long long
any_start_ns(struct disturb_case *c)
{
	return (unsigned long long)between(c, 0, 0.7 * (double)c->quiet_ns);
}

static void __attribute__((format(printf, 3, 4)))
add(char groups[DISTURB_MAX][DISTURB_TEXT], uint32_t *count, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(groups[(*count)++], DISTURB_TEXT, fmt, args);
	va_end(args);
}

static void
add_flow(struct disturb_case *c)
{
	char src[32], dst[32];

	any_end(c, src);
	do
		any_end(c, dst);
	while (strncmp(src, dst, strcspn(src, ":")) == 0);
	add(c->groups.flows, &c->groups.nflows,
	    "{ src = \"%s\"; dst = \"%s\"; sport = %u; bytes = \"%.0fB\"; start = \"%lluns\"; }", src, dst,
	    20000 + 1000 * c->groups.nflows + pick(c, 1000), log_between(c, 3e6, 40e6), any_start_ns(c));
}

static void
add_job(struct disturb_case *c)
{
	char ranks[160];
	uint32_t number = c->groups.njobs, count = 2 + pick(c, 3);

	any_ranks(c, count, ranks, sizeof(ranks));
	add(c->groups.jobs, &c->groups.njobs,
	    "{ name = \"other%u\"; ranks = %s; start = \"%lluns\"; iterations = %u;\n"
	    "    collectives = ( { op = \"allreduce\"; bytes = \"%.0fB\"; sport = %u; } ); }",
	    number, ranks, any_start_ns(c), 1 + pick(c, 3), 4 * floor(log_between(c, 1e6, 16e6) / 4), 12000 + 100 * number);
}

static void
add_storm(struct disturb_case *c)
{
	const struct topo *topo = c->quiet->topo;
	char port[64];

	topo_port_name(topo, topo->ports[any_port(c)].peer_port, port);
	add(c->groups.faults, &c->groups.nfaults,
	    "{ kind = \"pfc-storm\"; port = \"%s\"; start = \"%lluns\"; duration = \"%.0fns\"; }", port, any_start_ns(c),
	    log_between(c, 0.02, 0.5) * (double)c->quiet_ns);
}

static void
add_loss(struct disturb_case *c)
{
	char port[64];

	topo_port_name(c->quiet->topo, any_port(c), port);
	add(c->groups.faults, &c->groups.nfaults, "{ kind = \"loss\"; port = \"%s\"; rate = %.3g; }", port,
	    log_between(c, 1e-4, 1e-2));
}

static void
add_delay(struct disturb_case *c)
{
	char port[64];

	topo_port_name(c->quiet->topo, any_port(c), port);
	add(c->groups.faults, &c->groups.nfaults, "{ kind = \"delay\"; port = \"%s\"; extra = \"%.0fns\"; }", port,
	    log_between(c, 5e3, 100e3));
}

/* A rank of the collective is late in one step, or a little in all. */
static void
add_slow_host(struct disturb_case *c)
{
	const struct plan_collective *main = &c->quiet->plan->collectives[0];
	uint32_t steps = coll_max_steps(main->schedule);
	const char *host = c->quiet->topo->nodes[main->ranks[pick(c, main->schedule->ranks)].node].name;

	if (pick(c, 2) == 0)
		add(c->groups.faults, &c->groups.nfaults,
		    "{ kind = \"slow-host\"; host = \"%s\"; collective = 0; step = %u; delay = \"%.0fns\"; }", host,
		    1 + pick(c, steps), log_between(c, 0.02, 0.4) * (double)c->quiet_ns);
	else
		add(c->groups.faults, &c->groups.nfaults,
		    "{ kind = \"slow-host\"; host = \"%s\"; collective = 0; delay = \"%.0fns\"; }", host,
		    log_between(c, 0.002, 0.04) * (double)c->quiet_ns);
}

/* Every second one is a flow: flows share a fabric most often. */
static void (*const kinds[])(struct disturb_case *) = { add_flow, add_job, add_storm, add_loss, add_delay, add_slow_host };

static void
write_list(FILE *to, const char *key, char groups[DISTURB_MAX][DISTURB_TEXT], uint32_t count)
{
	if (count == 0)
		return;
	fprintf(to, "%s = (\n", key);
	for (uint32_t i = 0; i < count; i++)
		fprintf(to, "  %s%s\n", groups[i], i + 1 < count ? "," : "");
	fprintf(to, ");\n");
}

static int
write_case(struct disturb_case *c, const char *collective, const char *dir, struct outfile *out, struct err *err)
{
	int ret = outfile_open(out, dir, "case.cfg", err);

	if (ret < 0)
		return ret;
	fprintf(out->file,
		"// Case %u of seed %" PRIu64 ", %s. Written by rocelab eval counterfactual.\n"
		"name = \"case-%u\";\nseed = %" PRIu64 "L;\n%shost = { timeout = \"1ms\"; };\n"
		"telemetry = { epoch = \"100us\"; late_looks = true; };\n%s",
		c->index, c->seed, c->fabric->name, c->index, (c->seed * 1000000 + c->index) % PRNG_SEEDS,
		c->fabric->topology, collective);
	write_list(out->file, "flows", c->groups.flows, c->groups.nflows);
	write_list(out->file, "jobs", c->groups.jobs, c->groups.njobs);
	write_list(out->file, "faults", c->groups.faults, c->groups.nfaults);
	return outfile_close(out, 0, err);
}

/* The collective whose time counts: a ring or halving and doubling, of 4 or 8 ranks, anywhere. */
static void
make_collective(struct disturb_case *c, char *buf, size_t cap)
{
	static const char *const algorithms[][2] = { { "allgather", "ring" },
						     { "allreduce", "ring" },
						     { "allreduce", "halving-doubling" } };
	uint32_t algorithm = pick(c, ARRAY_LEN(algorithms)), ranks = pick(c, 2) == 0 ? MAX_RANKS / 2 : MAX_RANKS;
	double bytes = between(c, MIN_STEP_BYTES, MAX_STEP_BYTES) * ranks / (algorithm == 0 ? 1 : 2);
	char list[160];

	any_ranks(c, ranks, list, sizeof(list));
	snprintf(buf, cap,
		 "collectives = ( { name = \"main\"; op = \"%s\"; algorithm = \"%s\"; bytes = \"%.0fB\"; sport = 10000;\n"
		 "  ranks = %s; } );\n",
		 algorithms[algorithm][0], algorithms[algorithm][1], 64 * floor(bytes / 64), list);
}

int
disturb_write(uint64_t seed, uint32_t index, const char *dir, struct err *err)
{
	struct disturb_case c = { .seed = seed, .index = index };
	struct scenario *quiet;
	struct outfile out;
	char collective[512];
	uint32_t causes;
	int ret;

	prng_init(&c.prng, seed, digest_u64(digest_u64(DIGEST_INIT, 0x636175736573ULL), index));
	c.fabric = disturb_fabric_of(index);
	make_collective(&c, collective, sizeof(collective));
	ret = write_case(&c, collective, dir, &out, err);
	if (ret < 0)
		return ret;
	c.quiet = quiet = scenario_load(&(struct scenario_options){ .path = out.path }, err);
	if (quiet == NULL)
		return -EINVAL;
	c.quiet_ns = quiet->plan->collectives[0].expect_ps / PS_PER_NS;
	causes = DISTURB_MIN + pick(&c, DISTURB_MAX - DISTURB_MIN + 1);
	for (uint32_t i = 0; i < causes; i++)
		kinds[pick(&c, 2) == 0 ? 0 : pick(&c, ARRAY_LEN(kinds))](&c);
	ret = write_case(&c, collective, dir, &out, err);
	scenario_destroy(quiet);
	return ret;
}

static int
make_case(struct counterfactual *study, uint64_t seed, uint32_t index, struct err *err)
{
	struct counterfactual_case *made = &study->made[study->nmade];
	struct rerun_case *c = &study->reruns[study->nmade];
	struct scenario *scenario;
	uint64_t before;
	int ret;

	made->seed = seed;
	made->index = index;
	made->fabric = disturb_fabric_of(index)->name;
	snprintf(made->family, sizeof(made->family), "counterfactual/%" PRIu64, seed);
	if (snprintf(made->dir, sizeof(made->dir), "%s/%" PRIu64 "/%03u", study->dir, seed, index) >=
	    (int)sizeof(made->dir))
		return err_set(err, -ENAMETOOLONG, "%s: too long a name", study->dir);
	snprintf(made->scenario, sizeof(made->scenario), "%s/case.cfg", made->dir);
	ret = run_dir_make(made->dir, err);
	before = case_file_set_aside(made->scenario);
	if (ret >= 0)
		ret = disturb_write(made->seed, made->index, made->dir, err);
	if (ret >= 0)
		ret = case_file_check(made->scenario, before, err);
	if (ret < 0)
		return ret;
	scenario = scenario_load(&(struct scenario_options){ .path = made->scenario }, err);
	if (scenario == NULL)
		return -EINVAL;
	*c = (struct rerun_case){ .family = made->family,
				  .index = index,
				  .scenario = made->scenario,
				  .dir = made->dir,
				  .loaded = scenario,
				  .draws = study->draws,
				  .diagnose = true };
	study->nmade++; /* from here on counterfactual_fini() sees it */
	ret = suspects_list(scenario, c->job, &c->suspects, err);
	if (ret == 0)
		ret = rerun_case_init(c, err);
	if (ret == 0 && study->truth != NULL)
		c->nsets_out = c->draws = 1; /* the run alone: its truth is known */
	scenario_destroy(scenario);
	return ret;
}

/* @return 0, or -EINVAL with err set */
static int
read_truths(struct counterfactual *study, struct err *err)
{
	json_error_t why;

	study->truths = input_json(study->truth, 0, &why);
	if (study->truths == NULL)
		return err_set(err, -EINVAL, "%s: %s", study->truth, why.text);
	return json_is_array(json_object_get(study->truths, "cases"))
		       ? 0
		       : err_set(err, -EINVAL, "%s has no cases: it is not what --json prints", study->truth);
}

int
counterfactual_make(struct counterfactual *study, struct err *err)
{
	size_t count = (size_t)study->nseeds * study->cases;
	int ret = 0;

	study->made = calloc(count, sizeof(*study->made));
	study->reruns = calloc(count, sizeof(*study->reruns));
	if (study->made == NULL || study->reruns == NULL)
		return err_set(err, -ENOMEM, "out of memory for %zu cases", count);
	if (study->truth != NULL)
		ret = read_truths(study, err);
	for (uint32_t s = 0; ret == 0 && s < study->nseeds; s++)
		for (uint32_t index = 0; ret == 0 && index < study->cases; index++)
			ret = make_case(study, study->seeds[s], index, err);
	return ret;
}

#define BY_TWIN_DIR "by-twin"

static const char *const verdict_dirs[COUNTERFACTUAL_BY] = { RERUN_BASE, BY_TWIN_DIR };

/* @return 0; -EINTR; other negative errno with err set: the disk is full, a program is missing */
static int
make_twin(const struct counterfactual *study, const struct rerun_case *c, struct err *err)
{
	char run[PATH_MAX], records[PATH_MAX + 16], verdict[PATH_MAX + 16], out[PATH_MAX];
	const struct twin_options options = { .records = records, .verdict = verdict, .dir = out, .jobs = study->jobs };
	struct err why = { 0 };
	int ret;

	snprintf(run, sizeof(run), "%s/" RERUN_BASE, c->dir);
	snprintf(records, sizeof(records), "%s/" RUN_RECORDING, run);
	snprintf(verdict, sizeof(verdict), "%s/" RUN_VERDICT, run);
	snprintf(out, sizeof(out), "%s/" BY_TWIN_DIR, c->dir);
	ret = run_dir_make(out, err);
	if (ret < 0)
		return ret;
	ret = twin_make(&options, &why);
	if (ret == -EINTR)
		return ret;
	if (ret < 0)
		log_warning("%s: no twin: %s", c->dir, why.text);
	ret = twin_reports_write(&(struct twin_reports){ .records = run, .out = out, .with_costs = ret == 0 }, err);
	return ret > 0 ? err_set(err, -EIO, "%s: the analyzer failed", out) : ret;
}

/* Is the twin of a case to be made by this program? */
static bool
lacks_twin(const struct counterfactual *study, size_t i)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" BY_TWIN_DIR "/" RUN_VERDICT, study->reruns[i].dir);
	return shard_has(study->shard, i) && access(path, R_OK) != 0;
}

int
counterfactual_twins(const struct counterfactual *study, struct err *err)
{
	uint64_t missing = 0;
	int ret;

	for (size_t i = 0; i < study->nmade; i++)
		missing += lacks_twin(study, i);
	ret = shard_check(study->shard, missing, err);
	for (size_t i = 0; i < study->nmade && ret == 0; i++) {
		progress_line("%zu of %zu twins", i, study->nmade);
		if (lacks_twin(study, i))
			ret = make_twin(study, &study->reruns[i], err);
	}
	progress_line("%s", "");
	return ret;
}

void
counterfactual_fini(struct counterfactual *study)
{
	for (size_t i = 0; i < study->nmade; i++)
		rerun_case_fini(&study->reruns[i]);
	json_decref(study->truths);
	study->truths = NULL;
	free(study->reruns);
	free(study->made);
	study->reruns = NULL;
	study->made = NULL;
	study->nmade = 0;
}

void
kendall_add(struct kendall *pairs, int in_a, int in_b)
{
	pairs->alike += in_a * in_b;
	pairs->in_a += in_a != 0;
	pairs->in_b += in_b != 0;
}

double
kendall_tau(const struct kendall *pairs)
{
	return pairs->in_a > 0 && pairs->in_b > 0 ? pairs->alike / sqrt(pairs->in_a * pairs->in_b) : 0;
}

static size_t
greatest(const double *of, size_t count)
{
	size_t most = 0;

	for (size_t i = 1; i < count; i++)
		if (of[i] > of[most])
			most = i;
	return most;
}

/* Costs by one measure, with standard errors. */
struct costs {
	double ns[SUSPECT_MAX], error_ns[SUSPECT_MAX];
	double limit; /* standard errors within a 95 % interval */
};

/* Is a cost no effect, or may it be nothing? */
static bool
is_nothing(const struct rerun_case *c, double base_ns, const struct costs *costs, size_t i)
{
	return !rerun_is_effect(c, base_ns, costs->ns[i]) || costs->ns[i] <= costs->limit * costs->error_ns[i];
}

/*
 * Is the suspect with the largest claim the one that costs most, as far as is known, or as good as that? Those that are
 * known to cost something, and whose times differ by no effect or by less than is known of them, cost the same.
 */
static bool
is_first(const struct rerun_case *c, double base_ns, const double *claimed_ns, const struct costs *costs)
{
	size_t count = c->suspects.count, named = greatest(claimed_ns, count), most = greatest(costs->ns, count);
	double less_ns = costs->ns[most] - costs->ns[named];

	if (claimed_ns[named] <= 0 || !rerun_is_effect(c, base_ns, costs->ns[named]))
		return false;
	return named == most || (!is_nothing(c, base_ns, costs, named) &&
				 (!rerun_is_effect(c, base_ns, less_ns) ||
				  less_ns <= costs->limit * hypot(costs->error_ns[most], costs->error_ns[named])));
}

/* Costs below nothing are none. @return 1: i costs more than j, -1: less, 0: as much but for no effect */
static int
order_of(const struct rerun_case *c, double base_ns, const double *ns, size_t i, size_t j)
{
	double more_ns = fmax(ns[i], 0) - fmax(ns[j], 0);

	return rerun_is_effect(c, base_ns, fabs(more_ns)) ? ORDER(more_ns, 0) : 0;
}

/* Is it known which of two costs more, or that neither does: is it the same in all of the 95 % interval? */
static bool
is_order_known(const struct rerun_case *c, double base_ns, const struct costs *costs, size_t i, size_t j)
{
	double differ_ns = fabs(fmax(costs->ns[i], 0) - fmax(costs->ns[j], 0));
	double known_ns = costs->limit * hypot(costs->error_ns[i], costs->error_ns[j]);

	if (rerun_is_effect(c, base_ns, differ_ns))
		return differ_ns > known_ns;
	return !rerun_is_effect(c, base_ns, differ_ns + known_ns);
}

/* Kendall's tau of the pairs whose order is known. @return NAN: there is none of which one costs more */
static double
tau_of(const struct rerun_case *c, double base_ns, const double *claimed_ns, const struct costs *costs)
{
	struct kendall pairs = { 0 };

	for (size_t i = 0; i < c->suspects.count; i++)
		for (size_t j = 0; j < i; j++)
			if (is_order_known(c, base_ns, costs, i, j))
				kendall_add(&pairs, order_of(c, base_ns, claimed_ns, i, j),
					    order_of(c, base_ns, costs->ns, i, j));
	return pairs.in_b > 0 ? kendall_tau(&pairs) : NAN;
}

/* As rerun_shares() are known, by the standard errors of the truth. */
static double
error_by_chance(const struct rerun_case *c, const struct rerun_truth *truth, const double *shares, double sum_ns)
{
	double errors_ns[SUSPECT_MAX];

	for (size_t i = 0; i < c->suspects.count; i++)
		errors_ns[i] = truth->costs[i].error_ns;
	return rerun_shares_error(shares, errors_ns, c->suspects.count, sum_ns);
}

/* Neither alone nor together with others does it cost anything. */
static bool
is_blameless(const struct rerun_case *c, const struct rerun_truth *truth, size_t suspect)
{
	const struct rerun_cost *cost = &truth->costs[suspect];

	return cost->has_none && !rerun_is_effect(c, truth->base_ns, cost->shapley_ns + truth->limit * cost->error_ns);
}

void
counterfactual_score(const struct rerun_case *c, const struct rerun_truth *truth, const struct claims *claims,
		     struct counterfactual_score *score)
{
	struct costs shapley = { .limit = truth->limit }, alone = { .limit = truth->limit };
	double claimed_ns[SUSPECT_MAX] = { 0 }, shares[SUSPECT_MAX], sum_ns;
	size_t count = c->suspects.count;

	*score = (struct counterfactual_score){ .suspects = (uint32_t)count };
	for (size_t i = 0; i < count; i++) {
		shapley.ns[i] = truth->costs[i].shapley_ns;
		shapley.error_ns[i] = truth->costs[i].error_ns;
		alone.ns[i] = truth->costs[i].regained_ns;
		alone.error_ns[i] = truth->costs[i].regained_error_ns;
		claimed_ns[i] = claims->ns[i];
		score->has_cost |= truth->costs[i].has_effect;
		score->innocents += truth->costs[i].has_none;
		score->named_innocents += truth->costs[i].has_none && claims->named[i];
		score->blameless += is_blameless(c, truth, i);
		score->named_blameless += is_blameless(c, truth, i) && claims->named[i];
	}
	score->first = is_first(c, truth->base_ns, claimed_ns, &shapley);
	score->first_alone = is_first(c, truth->base_ns, claimed_ns, &alone);
	score->tau = tau_of(c, truth->base_ns, claimed_ns, &shapley);
	score->tau_alone = tau_of(c, truth->base_ns, claimed_ns, &alone);
	sum_ns = rerun_shares(c, truth, shares);
	rerun_normalize(claimed_ns, count);
	for (size_t i = 0; i < count; i++)
		score->error += fabs(claimed_ns[i] - shares[i]) / (double)count;
	score->by_chance = error_by_chance(c, truth, shares, sum_ns);
}

/* The counterfactual evaluation summed up, as a table for people and as JSON. */

static const char *const by_names[COUNTERFACTUAL_BY] = { "estimate", "twin" };
static const char *const columns[] = { "FABRIC",      "COSTS BY",      "CASES",     "WITH COST",    "FIRST",
				       "FIRST ALONE", "TAU",           "TAU ALONE", "SHARE ERROR",  "BY CHANCE",
				       "INNOCENT",    "OF THEM NAMED", "BLAMELESS", "OF THEM NAMED" };
#define NCOLUMNS ARRAY_LEN(columns)

/* Sums over cases; of shares over those in which something costs time, of tau over those of them with an order. */
struct sums {
	uint32_t cases, costly, ordered, ordered_alone, first, first_alone, innocents, named_innocents, blameless,
		named_blameless;
	double tau, tau_alone, error, by_chance;
};

static void
add_score(struct sums *sums, const struct counterfactual_score *score)
{
	sums->cases++;
	sums->innocents += score->innocents;
	sums->named_innocents += score->named_innocents;
	sums->blameless += score->blameless;
	sums->named_blameless += score->named_blameless;
	if (!score->has_cost)
		return;
	sums->costly++;
	sums->first += score->first;
	sums->first_alone += score->first_alone;
	sums->ordered += !isnan(score->tau);
	sums->ordered_alone += !isnan(score->tau_alone);
	sums->tau += isnan(score->tau) ? 0 : score->tau;
	sums->tau_alone += isnan(score->tau_alone) ? 0 : score->tau_alone;
	sums->error += score->error;
	sums->by_chance += score->by_chance;
}

/* Of one case: the results of its reruns and its verdict. */
struct case_outcome {
	struct rerun_truth truth;
	struct claims claims;
	struct counterfactual_score score;
};

/* The stored entry of a case; NULL: there is none. */
static const json_t *
find_truth(const struct counterfactual *study, const struct counterfactual_case *made)
{
	const json_t *of;
	size_t i;

	json_array_foreach(json_object_get(study->truths, "cases"), i, of)
		if (json_integer_value(json_object_get(of, "seed")) == (json_int_t)made->seed &&
		    json_integer_value(json_object_get(of, "index")) == (json_int_t)made->index)
			return of;
	return NULL;
}

static double
number_of(const json_t *of, const char *key)
{
	return json_number_value(json_object_get(of, key));
}

/* @return 0, or -EINVAL with err set: it is not of this case */
static int
stored_truth(const struct counterfactual *study, size_t at, struct rerun_truth *truth, struct err *err)
{
	const json_t *of = find_truth(study, &study->made[at]), *list = json_object_get(of, "suspects"), *row;
	const struct suspects *suspects = &study->reruns[at].suspects;
	bool same = json_array_size(list) == suspects->count;
	size_t i;

	*truth =
		(struct rerun_truth){ .base_ns = number_of(of, "time_ns"),
				      .all_ns = number_of(of, "without_all_ns"),
				      .limit = rerun_limit(&study->reruns[at], (uint32_t)number_of(study->truths, "draws")),
				      .base_complete = true,
				      .all_complete = true,
				      .has_shapley = true };
	json_array_foreach(list, i, row) {
		if (!same || strcmp(json_text(row, "name"), suspects->at[i].name) != 0) {
			same = false;
			break;
		}
		truth->costs[i] = (struct rerun_cost){
			.complete = true,
			.regained_ns = number_of(row, "regained_ns"),
			.regained_error_ns = number_of(row, "regained_error_ns"),
			.shapley_ns = number_of(row, "shapley_ns"),
			.error_ns = number_of(row, "shapley_error_ns"),
			.has_effect = json_is_true(json_object_get(row, "has_effect")),
			.has_none = json_is_true(json_object_get(row, "has_none")),
		};
	}
	return same ? 0
		    : err_set(err, -EINVAL, "%s: it has no truth of case %u of seed %" PRIu64 ", or of another one",
			      study->truth, study->made[at].index, study->made[at].seed);
}

static int
read_case(const struct counterfactual *study, size_t at, enum counterfactual_by by, struct case_outcome *outcome,
	  struct err *err)
{
	const struct rerun_case *c = &study->reruns[at];
	char path[PATH_MAX];
	json_t *verdict;
	int ret = study->truths != NULL ? stored_truth(study, at, &outcome->truth, err)
					: rerun_truth(study->store, c, &outcome->truth, err);

	if (ret < 0)
		return ret;
	snprintf(path, sizeof(path), "%s/%s/" RUN_VERDICT, c->dir, verdict_dirs[by]);
	verdict = input_json(path, 0, NULL);
	if (verdict == NULL)
		return err_set(err, -ENODATA, "%s cannot be read; the same command makes it", path);
	claims_read(verdict, &c->suspects, c->job, &outcome->claims);
	json_decref(verdict);
	counterfactual_score(c, &outcome->truth, &outcome->claims, &outcome->score);
	return 0;
}

/* @param fabric  NULL: all */
static int
sum_up(const struct counterfactual *study, enum counterfactual_by by, const char *fabric, struct sums *sums,
       struct err *err)
{
	int ret = 0;

	*sums = (struct sums){ 0 };
	for (size_t i = 0; ret == 0 && i < study->nmade; i++) {
		struct case_outcome outcome;

		if (fabric != NULL && strcmp(study->made[i].fabric, fabric) != 0)
			continue;
		ret = read_case(study, i, by, &outcome, err);
		if (ret == 0)
			add_score(sums, &outcome.score);
	}
	return ret;
}

static double
mean(double sum, uint32_t count)
{
	return count != 0 ? sum / count : 0;
}

static void
add_line(struct libscols_table *table, const char *name, enum counterfactual_by by, const struct sums *sums)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	char cells[NCOLUMNS][128];
	size_t n = 0, width = sizeof(cells[0]);

	snprintf(cells[n++], width, "%s", name);
	snprintf(cells[n++], width, "%s", by_names[by]);
	snprintf(cells[n++], width, "%u", sums->cases);
	snprintf(cells[n++], width, "%u", sums->costly);
	snprintf(cells[n++], width, "%.1f %%", 100 * mean(sums->first, sums->costly));
	snprintf(cells[n++], width, "%.1f %%", 100 * mean(sums->first_alone, sums->costly));
	snprintf(cells[n++], width, "%.2f", mean(sums->tau, sums->ordered));
	snprintf(cells[n++], width, "%.2f", mean(sums->tau_alone, sums->ordered_alone));
	snprintf(cells[n++], width, "%.1f %%", 100 * mean(sums->error, sums->costly));
	snprintf(cells[n++], width, "%.1f %%", 100 * mean(sums->by_chance, sums->costly));
	snprintf(cells[n++], width, "%u", sums->innocents);
	snprintf(cells[n++], width, "%u", sums->named_innocents);
	snprintf(cells[n++], width, "%u", sums->blameless);
	snprintf(cells[n++], width, "%u", sums->named_blameless);
	for (size_t c = 0; c < n; c++)
		scols_line_set_data(line, c, cells[c]);
}

/* Cases in which the first blame is wrong, and how to look at one alone. */
static int
print_wrong(const struct counterfactual *study, enum counterfactual_by by, FILE *to, struct err *err)
{
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < study->nmade; i++) {
		const struct counterfactual_score *score;
		struct case_outcome outcome;

		ret = read_case(study, i, by, &outcome, err);
		score = &outcome.score;
		if (ret == 0 && ((score->has_cost && !score->first) || score->named_innocents != 0))
			fprintf(to, "%s, %s: rocelab blame %s\n", by_names[by],
				!score->has_cost || score->first ? "an innocent is named"
				: score->named_innocents != 0    ? "first blame is wrong, an innocent is named"
								 : "first blame is wrong",
				plain_line(study->made[i].scenario).text);
	}
	return ret;
}

static uint32_t
verdicts_of(const struct counterfactual *study)
{
	return study->estimates_alone ? 1 : COUNTERFACTUAL_BY;
}

/* The lines of a fabric, one a verdict. @param name  NULL: of all fabrics */
static int
add_lines(const struct counterfactual *study, const char *name, struct libscols_table *table, struct err *err)
{
	int ret = 0;

	for (enum counterfactual_by by = 0; ret == 0 && by < verdicts_of(study); by++) {
		struct sums sums;

		ret = sum_up(study, by, name, &sums, err);
		if (ret == 0 && sums.cases != 0)
			add_line(table, name != NULL ? name : "all", by, &sums);
	}
	return ret;
}

int
counterfactual_print(const struct counterfactual *study, FILE *to, struct err *err)
{
	struct libscols_table *table = scols_new_table();
	int ret = 0;

	for (size_t i = 0; i < NCOLUMNS; i++)
		scols_table_new_column(table, columns[i], 0, i < 2 ? 0 : SCOLS_FL_RIGHT);
	scols_table_set_stream(table, to);
	for (const struct disturb_fabric *fabric = disturb_fabrics; ret == 0 && fabric->name != NULL; fabric++)
		ret = add_lines(study, fabric->name, table, err);
	if (ret == 0)
		ret = add_lines(study, NULL, table, err);
	if (ret == 0) {
		scols_print_table(table);
		fputc('\n', to);
	}
	for (enum counterfactual_by by = 0; ret == 0 && by < verdicts_of(study); by++)
		ret = print_wrong(study, by, to, err);
	scols_unref_table(table);
	return ret;
}

static json_t *
sums_json(const char *name, const struct sums *sums)
{
	return json_pack("{s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:i, s:i}", "fabric", name, "cases",
			 (int)sums->cases, "with_cost", (int)sums->costly, "first", mean(sums->first, sums->costly),
			 "first_alone", mean(sums->first_alone, sums->costly), "tau", mean(sums->tau, sums->ordered),
			 "tau_alone", mean(sums->tau_alone, sums->ordered_alone), "share_error",
			 mean(sums->error, sums->costly), "share_error_by_chance", mean(sums->by_chance, sums->costly),
			 "innocents", (int)sums->innocents, "named_innocents", (int)sums->named_innocents, "blameless",
			 (int)sums->blameless, "named_blameless", (int)sums->named_blameless);
}

/* The cost of each suspect of a case, and the claim for it; times in ns. */
static json_t *
suspects_json(const struct suspects *suspects, const struct case_outcome *outcome)
{
	json_t *list = json_array();

	for (size_t i = 0; i < suspects->count; i++) {
		const struct rerun_cost *cost = &outcome->truth.costs[i];

		json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:b, s:b, s:b}", "name",
						      suspects->at[i].name, "claimed_ns", outcome->claims.ns[i],
						      "shapley_ns", cost->shapley_ns, "shapley_error_ns", cost->error_ns,
						      "regained_ns", cost->regained_ns, "regained_error_ns",
						      cost->regained_error_ns, "has_effect", cost->has_effect, "has_none",
						      cost->has_none, "named", outcome->claims.named[i]));
	}
	return list;
}

static json_t *
tau_json(double tau)
{
	return isnan(tau) ? json_null() : json_real(tau);
}

static json_t *
case_json(const struct counterfactual *study, size_t at, const struct case_outcome *outcome)
{
	const struct counterfactual_score *score = &outcome->score;

	return json_pack("{s:s, s:I, s:i, s:f, s:f, s:f, s:b, s:b, s:b, s:o, s:o, s:f, s:f, s:i, s:i, s:o}", "scenario",
			 study->made[at].scenario, "seed", (json_int_t)study->made[at].seed, "index",
			 (int)study->made[at].index, "time_error_ns", outcome->truth.base_error_ns, "time_ns",
			 outcome->truth.base_ns, "without_all_ns", outcome->truth.all_ns, "has_cost", score->has_cost,
			 "first", score->first, "first_alone", score->first_alone, "tau", tau_json(score->tau), "tau_alone",
			 tau_json(score->tau_alone), "share_error", score->error, "share_error_by_chance", score->by_chance,
			 "innocents", (int)score->innocents, "named_innocents", (int)score->named_innocents, "suspects",
			 suspects_json(&study->reruns[at].suspects, outcome));
}

/* The sums of each fabric and of all, and all cases, of one verdict. */
static int
add_results(const struct counterfactual *study, enum counterfactual_by by, json_t *to, struct err *err)
{
	json_t *fabrics = json_array(), *cases = json_array();
	struct sums sums;
	int ret = 0;

	for (const struct disturb_fabric *fabric = disturb_fabrics; ret == 0 && fabric->name != NULL; fabric++) {
		ret = sum_up(study, by, fabric->name, &sums, err);
		if (ret == 0 && sums.cases != 0)
			json_array_append_new(fabrics, sums_json(fabric->name, &sums));
	}
	for (size_t i = 0; ret == 0 && i < study->nmade; i++) {
		struct case_outcome outcome;

		ret = read_case(study, i, by, &outcome, err);
		if (ret == 0)
			json_array_append_new(cases, case_json(study, i, &outcome));
	}
	if (ret == 0)
		ret = sum_up(study, by, NULL, &sums, err);
	if (ret == 0)
		json_array_append_new(fabrics, sums_json("all", &sums));
	json_object_set_new(to, "fabrics", fabrics);
	json_object_set_new(to, "cases", cases);
	return ret;
}

int
counterfactual_print_json(const struct counterfactual *study, FILE *to, struct err *err)
{
	json_t *seeds = json_array(), *twin = json_object(), *root;
	int ret;

	for (uint32_t i = 0; i < study->nseeds; i++)
		json_array_append_new(seeds, json_integer((json_int_t)study->seeds[i]));
	root = json_pack("{s:i, s:o, s:i, s:i}", "schema_version", 3, "seeds", seeds, "cases_of_each", (int)study->cases,
			 "draws", (int)study->draws);
	ret = add_results(study, BY_ESTIMATE, root, err);
	if (ret == 0 && !study->estimates_alone)
		ret = add_results(study, BY_TWIN, twin, err);
	json_object_set_new(root, "by_twin", study->estimates_alone ? json_null() : json_incref(twin));
	if (ret == 0)
		json_dumpf(root, to, JSON_INDENT(1) | JSON_PRESERVE_ORDER);
	json_decref(twin);
	json_decref(root);
	return ret;
}

/* @return whether it is missed, which is printed */
static bool
missed(const char *what, double is, double gate, bool least, FILE *to)
{
	bool missed = least ? is < gate : is > gate;

	if (missed)
		fprintf(to, "gate: %s is %.3f, not at %s %.3f\n", what, is, least ? "least" : "most", gate);
	return missed;
}

int
counterfactual_gate(const struct counterfactual *study, FILE *to, struct err *err)
{
	struct sums sums;
	int ret = sum_up(study, study->estimates_alone ? BY_ESTIMATE : BY_TWIN, NULL, &sums, err);

	if (ret < 0)
		return ret;
	return missed("the share of first causes that are right", mean(sums.first, sums.costly), COUNTERFACTUAL_GATE_FIRST,
		      true, to) +
	       missed("Kendall's tau", mean(sums.tau, sums.ordered), COUNTERFACTUAL_GATE_TAU, true, to) +
	       missed("the error of shares", mean(sums.error, sums.costly), COUNTERFACTUAL_GATE_ERROR, false, to) +
	       missed("the share of causes without effect that are named", mean(sums.named_blameless, sums.blameless),
		      COUNTERFACTUAL_GATE_NAMED, false, to);
}

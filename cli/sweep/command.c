/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab sweep: a scenario with combinations of values, each with several seeds. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/sweep/sweep.h"
#include "common/log.h"
#include "common/run_files.h"
#include "common/units.h"
#include "eval/args.h"
#include "scenario/scenario.h"
#include "twin/rerun/job.h"

struct sweep_options {
	struct sweep sweep;
	const char *out, *plot;
	enum tables_format format;
	const char *scenario; /* NULL: shards are merged */
	const char *const *args;
	/* A sweep of sizes; 0: there is none. */
	uint64_t from_bytes, to_bytes, factor, step_bytes;
	const char *collective;
	char size_path[128], sizes[SWEEP_MAX_VALUES][24], no_step[160];
	struct err err;
};

static const struct argp_option argp_options[] = {
	{ "vary", 'v', "PATH=V1,V2,...", 0,
	  "Run with each of these values of a key, as --set takes them; may be repeated: all combinations are run", 0 },
	{ "set", SCENARIO_ARGS_SET, "PATH=VALUE", 0, "Override a key of the scenario in all runs", 0 },
	{ "seeds", SCENARIO_ARGS_SEED, "N", 0,
	  "Run each combination with the seeds 1 to N (default: the scenario's); A-B,C,...: with these seeds", 0 },
	{ "jobs", 'j', "N", 0, "Runs side by side (default: one a CPU)", 0 },
	{ "out", 'o', "DIR", 0, "Write to DIR (default out/NAME-sweep)", 0 },
	EVAL_ARGS_SHARDS,
	{ "discard", 'd', NULL, 0, "Remove the folder of each run once its row is stored", 0 },
	{ "plot", 'p', "MEASURE", 0, "Plot this measure (default: the first with values)", 0 },
	{ "json", 'J', NULL, 0, "Print JSON: an object a row", 0 },
	{ "csv", 'c', NULL, 0, "Print CSV", 0 },
	{ NULL, 0, NULL, 0, "Sizes of a collective, as nccl-tests takes them; the table is in its form:", 1 },
	{ "minbytes", 'b', "SIZE", 0, "The least size (K, M, G: binary)", 1 },
	{ "maxbytes", 'e', "SIZE", 0, "The greatest size", 1 },
	{ "stepfactor", 'f', "N", 0, "Multiply the size by N each time", 1 },
	{ "stepbytes", 'i', "SIZE", 0, "Add SIZE each time (default 1M)", 1 },
	{ "collective", 'C', "PATH", 0, "The collective that has these sizes (default collectives.[0])", 1 },
	{ 0 },
};

/* Splits values at commas that are in no brackets, braces, parentheses or quotes. */
static void
split(const struct argp_state *state, struct sweep_path *path, char *text)
{
	int depth = 0;
	bool quoted = false;
	char *start = text;

	for (;; text++) {
		char c = *text;

		quoted ^= c == '"';
		depth += !quoted && (c == '[' || c == '(' || c == '{');
		depth -= !quoted && (c == ']' || c == ')' || c == '}');
		if (c != '\0' && (c != ',' || depth != 0 || quoted))
			continue;
		if (text == start)
			args_error(state, "--vary %s: a value is empty", path->path);
		if (path->count == SWEEP_MAX_VALUES)
			args_error(state, "--vary %s: more than %d values", path->path, SWEEP_MAX_VALUES);
		*text = '\0';
		for (uint32_t i = 0; i < path->count; i++)
			if (strcmp(path->values[i], start) == 0)
				args_error(state, "--vary %s: %s is given twice", path->path, start);
		path->values[path->count++] = start;
		if (c == '\0')
			return;
		start = text + 1;
	}
}

static struct sweep_path *
add_path(const struct argp_state *state, struct sweep *sweep, const char *name)
{
	if (sweep->npaths == SWEEP_MAX_PATHS)
		args_error(state, "--vary %s: at most %d keys", name, SWEEP_MAX_PATHS);
	for (uint32_t i = 0; i < sweep->npaths; i++)
		if (strcasecmp(sweep->paths[i].path, name) == 0)
			args_error(state, "--vary %s: the key is given twice", name);
	sweep->paths[sweep->npaths].path = name;
	return &sweep->paths[sweep->npaths++];
}

static void
vary(const struct argp_state *state, struct sweep *sweep, char *arg)
{
	char *equals = strchr(arg, '=');

	if (equals == NULL || equals == arg)
		args_error(state, "--vary %s: give a key and its values, as switch.pfc.alpha=0.125,0.5", arg);
	*equals = '\0';
	if (strcmp(arg, "seed") == 0)
		args_error(state, "--vary seed: give --seeds %s%s%s", equals[1] != '\0' ? equals + 1 : "1-3",
			   equals[1] == '\0' || strpbrk(equals + 1, ",-") != NULL ? "" : "-",
			   strpbrk(equals + 1, ",-") != NULL ? "" : equals + 1);
	split(state, add_path(state, sweep, arg), equals + 1);
}

/* "8", "1G": as nccl-tests has sizes; or with a unit of scenarios. */
static uint64_t
parse_size(const struct argp_state *state, const char *option, const char *text)
{
	uint64_t bytes, number;
	const char *rest = number_scan(text, &number);
	int shift = rest == NULL || rest[0] == '\0' || rest[1] != '\0' ? 0
		    : strchr("kK", rest[0]) != NULL                    ? 10
		    : strchr("mM", rest[0]) != NULL                    ? 20
		    : strchr("gG", rest[0]) != NULL                    ? 30
								       : 0;

	if (shift != 0 && number != 0 && number <= UINT64_MAX >> (shift + 8))
		return number << shift;
	if (units_parse_bytes(text, &bytes) < 0 || bytes == 0)
		args_error(state, "%s %s: give a size, as 8, 64K or 1G", option, text);
	return bytes;
}

/* The sizes are values of a key as any other; they vary fastest. */
static void
vary_sizes(const struct argp_state *state, struct sweep_options *options)
{
	struct sweep_path *path;

	if (options->to_bytes < options->from_bytes)
		args_error(state, "-e: the greatest size is below the least, -b");
	if (options->factor != 0 && options->step_bytes != 0)
		args_error(state, "give -f or -i");
	if (options->factor == 0 && options->step_bytes == 0)
		options->step_bytes = 1 << 20;
	snprintf(options->size_path, sizeof(options->size_path), "%s.bytes", options->collective);
	path = add_path(state, &options->sweep, options->size_path);
	for (uint64_t bytes = options->from_bytes; bytes <= options->to_bytes;
	     bytes = options->factor != 0 ? bytes * options->factor : bytes + options->step_bytes) {
		if (path->count == SWEEP_MAX_VALUES)
			args_error(state, "more than %d sizes", SWEEP_MAX_VALUES);
		snprintf(options->sizes[path->count], sizeof(options->sizes[0]), "%" PRIu64, bytes);
		path->values[path->count] = options->sizes[path->count];
		path->count++;
		if (bytes > options->to_bytes / (options->factor != 0 ? options->factor : 1))
			break; /* the next one is beyond 64 bits, too, perhaps */
	}
	/* A size replaces one that the scenario has for a step. */
	snprintf(options->no_step, sizeof(options->no_step), "%s.step_bytes=0", options->collective);
	options->sweep.also = options->no_step;
}

static void
check(const struct argp_state *state, struct sweep_options *options)
{
	struct sweep *sweep = &options->sweep;

	if (shard_is_merge(&sweep->shard)) {
		if (options->out == NULL)
			args_error(state, "--merge: give --out DIR");
		return;
	}
	if ((options->from_bytes != 0) != (options->to_bytes != 0))
		args_error(state, "give -b and -e");
	if (options->from_bytes != 0)
		vary_sizes(state, options);
	else if (options->factor != 0 || options->step_bytes != 0)
		args_error(state, "give -b and -e");
	if (sweep->scenario.nsets + sweep->npaths + 1 > SCENARIO_MAX_SETS)
		args_error(state, "more than %d keys with --set and --vary", SCENARIO_MAX_SETS - 1);
	if (sweep->nseeds != 0 && sweep_runs(sweep) == 0)
		args_error(state, "more than %d runs", SWEEP_MAX_RUNS);
}

static error_t
parse_size_option(int key, const char *arg, struct argp_state *state)
{
	struct sweep_options *options = state->input;

	switch (key) {
	case 'b':
		options->from_bytes = parse_size(state, "-b", arg);
		return 0;
	case 'e':
		options->to_bytes = parse_size(state, "-e", arg);
		return 0;
	case 'f':
		options->factor = args_number(state, "-f", arg, 2, 1 << 20);
		return 0;
	case 'i':
		options->step_bytes = parse_size(state, "-i", arg);
		return 0;
	case 'C':
		options->collective = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct sweep_options *options = state->input;

	switch (key) {
	case EVAL_ARGS_SHARD:
	case EVAL_ARGS_MERGE:
		return eval_args_shard(state, key, arg, &options->sweep.shard);
	case 'v':
		vary(state, &options->sweep, arg);
		return 0;
	case SCENARIO_ARGS_SET:
		scenario_args_set(&options->sweep.scenario, arg, state);
		return 0;
	case SCENARIO_ARGS_SEED:
		options->sweep.nseeds = eval_args_seed_count(state, arg, options->sweep.seeds, SWEEP_MAX_SEEDS);
		return 0;
	case 'j':
		options->sweep.jobs = (uint32_t)args_number(state, "--jobs", arg, 1, POOL_MAX_JOBS);
		return 0;
	case 'o':
		options->out = arg;
		return 0;
	case 'd':
		options->sweep.discard = true;
		return 0;
	case 'p':
		if (!sweep_has_measure(arg))
			args_error(state, "--plot %s: there is no such measure; rocelab sweep --help lists them", arg);
		options->plot = arg;
		return 0;
	case 'J':
		options->format = TABLES_JSON;
		return 0;
	case 'c':
		options->format = TABLES_CSV;
		return 0;
	case ARGP_KEY_ARG:
		if (shard_is_merge(&options->sweep.shard))
			return eval_args_shard(state, EVAL_ARGS_MERGE, arg, &options->sweep.shard);
		if (options->scenario != NULL)
			args_error(state, "one scenario at a time");
		options->scenario = arg;
		return 0;
	case ARGP_KEY_END:
		if (!shard_is_merge(&options->sweep.shard) && options->scenario == NULL)
			args_error(state, "which scenario? topo/scenarios/ has some");
		check(state, options);
		return 0;
	default:
		return parse_size_option(key, arg, state);
	}
}

static char *
help_filter(int key, const char *text, void *input)
{
	(void)input;
	return args_help_list(key, text, sweep_list_measures);
}

static const struct argp argp = {
	.options = argp_options,
	.parser = parse,
	.args_doc = "SCENARIO\n--merge DIR...",
	.doc = "Runs a scenario with all combinations of values of some keys, each with several seeds, and prints a table "
	       "of "
	       "their means. The same command resumes an interrupted sweep.\vDIR/sweep.sqlite has the tables runs, points "
	       "and "
	       "collectives, DIR/sweep.csv a row a run, DIR/sweep.svg a plot, DIR/runs/NUMBER the files of each run.\n\n",
	.help_filter = help_filter,
};

/* Prints the table, and writes the files. @return 0 or negative errno with err set */
static int
report(const struct sweep_options *options, sqlite3 *db, const char *dir, struct err *err)
{
	bool sizes = options->from_bytes != 0;
	uint32_t all, have = sweep_store_count(db, &all);
	int ret = sweep_write_csv(db, dir, err);

	if (ret == 0)
		ret = sweep_write_plot(db, dir, options->plot != NULL ? options->plot : sizes ? "busbw" : NULL, err);
	if (ret == 0 && sizes && options->format != TABLES_CSV)
		ret = sweep_print_nccl(db, options->format == TABLES_JSON, options->args, stdout, err);
	else if (ret == 0)
		ret = sweep_print(db, options->format, stdout, err);
	if (ret == 0 && options->format == TABLES_TEXT && have < all)
		printf("%u of %u runs\n", have, all);
	if (ret == 0)
		log_info("%s/" SWEEP_CSV " has a row a run, " SWEEP_PLOT " the plot, " SWEEP_STORE " the tables", dir);
	return ret;
}

/* Loads the scenario of a run, but for its seed. @return NULL with err set */
static struct scenario *
load_run(const struct sweep *sweep, uint32_t number, struct err *err)
{
	const struct sweep_run run = sweep_run_of(sweep, number);
	struct scenario_options loaded = sweep->scenario;
	char text[SWEEP_MAX_PATHS][SWEEP_SET_BYTES];

	if (sweep->also != NULL)
		loaded.sets[loaded.nsets++] = sweep->also;
	for (uint32_t i = 0; i < sweep->npaths; i++) {
		if (snprintf(text[i], sizeof(text[i]), "%s=%s", sweep->paths[i].path,
			     sweep->paths[i].values[run.values[i]]) >= (int)sizeof(text[i])) {
			err_set(err, -EINVAL, "--vary %s: too long a value", sweep->paths[i].path);
			return NULL;
		}
		loaded.sets[loaded.nsets++] = text[i];
	}
	return scenario_load(&loaded, err);
}

/*
 * Leaves out sizes for which a collective has too few elements, which nccl-tests rounds down to none. They are the least.
 * @return 0, or -EINVAL with err set: the greatest is refused as well
 */
static int
drop_small_sizes(struct sweep *sweep, struct err *err)
{
	struct sweep_path *path = &sweep->paths[sweep->npaths - 1];
	struct scenario *scenario = NULL;
	struct err why = { 0 };
	uint32_t first = 0;

	/* The sizes vary fastest: run number k * nseeds has the k-th, and the first value of all other paths. */
	for (; first < path->count && scenario == NULL; first += scenario == NULL)
		scenario = load_run(sweep, first * sweep->nseeds, first == 0 ? err : &why);
	scenario_destroy(scenario);
	if (scenario == NULL)
		return -EINVAL;
	if (first != 0)
		log_info("sizes below %s B are left out: %s", path->values[first], err->text);
	path->count -= first;
	memmove(path->values, path->values + first, path->count * sizeof(path->values[0]));
	*err = (struct err){ 0 };
	return 0;
}

/* Loads every combination once, so that a wrong value is refused before anything runs. @return 0, -EINVAL with err set */
static int
check_points(struct sweep *sweep, struct err *err)
{
	for (uint32_t number = 0; number < sweep_runs(sweep); number += sweep->nseeds) {
		struct scenario *scenario = load_run(sweep, number, err);
		bool counts;

		if (scenario == NULL)
			return -EINVAL;
		counts = scenario->counters.enabled;
		sweep->real_time |= scenario->timing.clock == CLOCK_REAL;
		scenario_destroy(scenario);
		if (!counts)
			return err_set(err, -EINVAL, "counters.enabled is false: a sweep reads the stores of its runs");
	}
	return 0;
}

/* @return as eval_args_exit() takes it */
static int
run(void *options_of, struct err *err)
{
	struct sweep_options *options = options_of;
	struct sweep *sweep = &options->sweep;
	bool merge = shard_is_merge(&sweep->shard);
	sqlite3 *db = NULL;
	int ret = options->from_bytes != 0 ? drop_small_sizes(sweep, err) : 0, reported;

	if (ret == 0 && !merge)
		ret = check_points(sweep, err);
	if (ret < 0)
		return ret;
	db = merge ? sweep_store_merge(sweep->dir, &sweep->shard, err) : sweep_store_open(sweep, err);
	if (db == NULL)
		return -errno;
	if (!merge)
		ret = sweep_make(sweep, db, err);
	if (ret >= 0) {
		reported = report(options, db, sweep->dir, err);
		ret = reported < 0 ? reported : ret;
	}
	sqlite3_close(db);
	return ret;
}

/* The seed of the scenario, where none was given. @return 0 or -EINVAL with err set */
static int
choose_seed(struct sweep *sweep, struct err *err)
{
	struct scenario *scenario = sweep->nseeds == 0 ? scenario_load(&sweep->scenario, err) : NULL;

	if (sweep->nseeds != 0)
		return 0;
	if (scenario == NULL)
		return -EINVAL;
	sweep->seeds[sweep->nseeds++] = (uint64_t)scenario->root.seed;
	scenario_destroy(scenario);
	return sweep_runs(sweep) != 0 ? 0 : err_set(err, -EINVAL, "more than %d runs", SWEEP_MAX_RUNS);
}

int
command_sweep(int argc, char **argv)
{
	struct sweep_options options = { .sweep = { .jobs = eval_args_jobs() }, .collective = "collectives.[0]" };
	const char **args = calloc((size_t)argc + 1, sizeof(*args));
	char dir[PATH_MAX], name[PATH_MAX];
	int ret;

	for (int i = 0; args != NULL && i < argc; i++)
		args[i] = strdup(argv[i]);
	options.args = args;
	argv[0] = "rocelab sweep";
	if (args == NULL || args_parse(&argp, argc, argv, 0, &options) != 0)
		return EXIT_USAGE;
	if (!shard_is_merge(&options.sweep.shard)) {
		options.sweep.scenario.path = options.scenario;
		if (choose_seed(&options.sweep, &options.err) < 0) {
			log_error("%s", options.err.text);
			return EXIT_USAGE;
		}
		run_dir_default("out", options.scenario, name, sizeof(name) - sizeof("-sweep"));
		strcat(name, "-sweep");
		shard_folder(&options.sweep.shard, name, dir, sizeof(dir));
	}
	options.sweep.dir = options.out != NULL ? options.out : dir;
	ret = eval_args_run(options.sweep.dir, run, &options);
	shard_fini(&options.sweep.shard);
	for (int i = 0; i < argc; i++)
		free((void *)(uintptr_t)args[i]);
	free(args);
	return ret;
}

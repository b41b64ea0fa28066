/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocelab bench scale: speed against size, a run a row, and a model of it. DIR/PATTERN/HOSTS-... has a run; one that is
 * there is not made again. Runs are made one after another, but for two side by side, which are the measure of two lcores.
 */
#include "bench/scale.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "common/array.h"
#include "common/input_file.h"
#include "common/log.h"
#include "common/outfile.h"
#include "common/program.h"
#include "common/run_files.h"
#include "eval/args.h"
#include "twin/rerun/job.h"

#define SCENARIO "case.cfg"
#define REFUSAL "refused.txt"
#define MAX_BROKEN 10 /* a cause that breaks this many runs breaks the others, too: a full disk */
#define MHOPS 20      /* of a run, about */
#define BYTES_PER_HOP 200.0
#define LEAST_BYTES 1024 /* of a message: a packet */
#define DELAY_NS 1000    /* of a cable, in the table */
#define MOST_MODEL_HOSTS 1024
/*
 * Assumptions of forecasts, for costs that are not measured: a round of small messages in a cluster, and copying a
 * frame at both ends.
 */
#define SYNC_NS 10000
#define MESSAGE_NS 100

static const uint32_t default_hosts[] = { 16, 128, 1024, 8192, 16384, 0 };
/* Delays of cables for the model. */
static const uint32_t cable_ns[] = { 500, 2000, 4000, 8000, 16000 };

/* ---- scenarios ---- */

/* @return K of the fat-tree with these hosts, K^3 / 4; 0: there is none */
static uint32_t
fat_tree_of(uint32_t hosts)
{
	for (uint32_t k = 4; k <= 64; k += 2)
		if (k * k * k / 4 == hosts)
			return k;
	return 0;
}

#define LEAF_HOSTS 32
#define SPINES 16

/* @return hosts per leaf of the leaf-spine fabric that stands for numbers of hosts without a fat-tree */
static uint32_t
hosts_per_leaf(uint32_t hosts)
{
	uint32_t most = LEAF_HOSTS;

	while (hosts % most != 0)
		most--;
	return most;
}

static uint32_t
nodes_of(uint32_t hosts)
{
	uint32_t k = fat_tree_of(hosts);

	return k != 0 ? hosts + 5 * k * k / 4 : hosts + hosts / hosts_per_leaf(hosts) + SPINES;
}

uint64_t
scale_message_bytes(const struct scale *b, const struct scale_row *row)
{
	double messages = row->pattern == SCALE_PERMUTATION ? row->hosts : (double)row->hosts * (row->hosts - 1);
	double bytes = b->mhops * 1e6 * BYTES_PER_HOP / messages;

	return (uint64_t)fmax(LEAST_BYTES, floor(bytes / LEAST_BYTES) * LEAST_BYTES);
}

static void
write_text(const struct scale *b, const struct scale_row *row, FILE *to)
{
	uint32_t k = fat_tree_of(row->hosts);
	uint64_t bytes = scale_message_bytes(b, row);

	fprintf(to, "// Written by rocelab bench scale.\nname = \"%s-%u\";\n", scale_patterns[row->pattern], row->hosts);
	if (k != 0)
		fprintf(to, "topology = { kind = \"fat-tree\"; k = %u;", k);
	else
		fprintf(to, "topology = { kind = \"leaf-spine\"; leaves = %u; spines = %d; hosts_per_leaf = %u;",
			row->hosts / hosts_per_leaf(row->hosts), SPINES, hosts_per_leaf(row->hosts));
	fprintf(to, " rate = \"%uGbps\"; delay = \"%uns\"; };\ndetection = { policy = \"off\"; };\n", row->gbps,
		row->delay_ns);
	if (row->pattern == SCALE_RING)
		fprintf(to,
			"collectives = ( { op = \"allgather\"; algorithm = \"ring\"; step_bytes = \"%" PRIu64 "\"; } );\n",
			bytes);
	else if (row->pattern == SCALE_ALLTOALL)
		fprintf(to,
			"collectives = ( { op = \"alltoall\"; algorithm = \"pairwise\"; step_bytes = \"%" PRIu64
			"\"; } );\n",
			bytes);
	for (uint32_t i = 0; row->pattern == SCALE_PERMUTATION && i < row->hosts; i++)
		fprintf(to, "%s  { src = \"h%u\"; dst = \"h%u\"; sport = 49152; bytes = \"%" PRIu64 "\"; }%s\n",
			i == 0 ? "flows = (\n" : "", i, (i + row->hosts / 2) % row->hosts, bytes,
			i + 1 == row->hosts ? "\n);" : ",");
}

/* @return by free(); NULL: out of memory */
static char *
text_of(const struct scale *b, const struct scale_row *row)
{
	char *text = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&text, &length);

	if (to == NULL)
		return NULL;
	write_text(b, row, to);
	fclose(to);
	return text;
}

/* ---- rows ---- */

static void
dir_of(const struct scale *b, const struct scale_row *row, const char *name, char path[PATH_MAX])
{
	static const char *const parts[] = { "", "-first", "-second", "" };

	snprintf(path, PATH_MAX, "%s/%s/%u-%uG-%uns-%ul-%up%s%s%s", b->args.dir, scale_patterns[row->pattern], row->hosts,
		 row->gbps, row->delay_ns, row->lcores, row->processes, parts[row->part], name[0] != '\0' ? "/" : "", name);
}

static void
add_row(struct scale *b, struct scale_row row)
{
	if (b->nrows == SCALE_MAX_ROWS)
		return;
	if (row.delay_ns == 0)
		row.delay_ns = DELAY_NS;
	row.sample.nodes = nodes_of(row.hosts);
	row.sample.flows = row.pattern == SCALE_ALLTOALL ? (double)row.hosts * (row.hosts - 1) : row.hosts;
	if (row.processes > 1 && !b->has_processes) {
		row.state = SCALE_ABSENT;
		snprintf(row.why, sizeof(row.why), "not there: this build has no --processes");
	}
	b->rows[b->nrows++] = row;
}

/* The rows of a pattern, size and rate; two side by side where a run has several lcores or processes. */
static void
add_rows(struct scale *b, enum scale_pattern pattern, uint32_t hosts, uint32_t gbps)
{
	struct scale_row row = { .pattern = pattern, .hosts = hosts, .gbps = gbps };
	bool several = false;

	for (uint32_t l = 0; l < b->lcores.count; l++)
		for (uint32_t p = 0; p < b->processes.count; p++) {
			row.lcores = b->lcores.at[l];
			row.processes = b->processes.at[p];
			if (row.lcores != 1 && row.processes != 1)
				continue;
			add_row(b, row);
			several |= row.lcores > 1 || (row.processes > 1 && b->has_processes);
		}
	row.lcores = row.processes = 1;
	for (row.part = SCALE_FIRST; several && row.part <= SCALE_SECOND; row.part++)
		add_row(b, row);
}

static void
list_rows(struct scale *b)
{
	for (uint32_t h = 0; h < b->hosts.count; h++)
		for (uint32_t p = 0; p < ARRAY_LEN(scale_patterns); p++)
			for (uint32_t g = 0; b->asked[p] && g < b->gbps.count; g++)
				add_rows(b, (enum scale_pattern)p, b->hosts.at[h], b->gbps.at[g]);
	for (uint32_t h = 0; h < b->hosts.count && b->hosts.at[h] <= MOST_MODEL_HOSTS; h++)
		for (uint32_t p = 0; p < ARRAY_LEN(scale_patterns); p++)
			for (size_t c = 0; b->asked[p] && p != SCALE_ALLTOALL && c < ARRAY_LEN(cable_ns); c++)
				add_row(b, (struct scale_row){ .pattern = (enum scale_pattern)p,
							       .hosts = b->hosts.at[h],
							       .gbps = SCALE_MODEL_GBPS,
							       .lcores = 1,
							       .processes = 1,
							       .delay_ns = cable_ns[c],
							       .part = SCALE_CABLE });
}

/* The reason for which a shard's run was refused. Without shards it is tried again: another version may allow it. */
static void
read_refusal(const struct scale *b, struct scale_row *row)
{
	char path[PATH_MAX];
	FILE *file;

	dir_of(b, row, REFUSAL, path);
	file = input_fopen(path, NULL);
	if (file == NULL)
		return;
	row->state = SCALE_REFUSED;
	if (fgets(row->why, sizeof(row->why), file) == NULL)
		row->why[0] = '\0';
	fclose(file);
}

static int
write_refusal(const struct scale *b, const struct scale_row *row, struct err *err)
{
	char path[PATH_MAX];
	struct outfile out;
	int ret;

	dir_of(b, row, REFUSAL, path);
	ret = outfile_open_path(&out, path, err);
	if (ret < 0)
		return ret;
	fputs(row->why, out.file);
	return outfile_close(&out, 0, err);
}

/* Reads the result of a run of this very scenario, if it is there. */
static void
read_row(const struct scale *b, struct scale_row *row)
{
	char path[PATH_MAX], *text = text_of(b, row), *have = NULL;
	size_t cap = 0;
	FILE *file;
	json_t *run;
	bool same;

	dir_of(b, row, SCENARIO, path);
	file = input_fopen(path, NULL);
	same = file != NULL && text != NULL && getdelim(&have, &cap, EOF, file) >= 0 && strcmp(have, text) == 0;
	if (file != NULL)
		fclose(file);
	free(have);
	free(text);
	dir_of(b, row, RUN_SUMMARY, path);
	run = same ? input_json(path, 0, NULL) : NULL;
	if (run == NULL && same && shard_is_merge(&b->args.shard))
		read_refusal(b, row);
	if (strcmp(json_string_value(json_object_get(run, "end_reason")) ?: "", "complete") != 0) {
		json_decref(run);
		return; /* it is there no more, or was interrupted */
	}
	row->state = SCALE_DONE;
	row->packets = json_number_value(json_object_get(json_object_get(run, "made"), "packets"));
	row->wall_s = json_number_value(json_object_get(run, "wall_s"));
	row->rss_bytes = json_number_value(json_object_get(run, "rss_bytes"));
	row->sample.hops = json_number_value(json_object_get(run, "packet_hops"));
	row->sample.windows = json_number_value(json_object_get(run, "windows"));
	row->sample.cpu_s = json_number_value(json_object_get(run, "cpu_s"));
	json_decref(run);
}

/* ---- runs ---- */

/* Two that run side by side are of one shard. */
static bool
is_waiting(const struct scale *b, uint32_t number)
{
	const struct scale_row *row = &b->rows[number];

	return row->state == SCALE_WAITING && shard_has(&b->args.shard, row->part == SCALE_SECOND ? number - 1 : number);
}

static int
write_case(const struct scale *b, const struct scale_row *row, struct err *err)
{
	char dir[PATH_MAX];
	struct outfile out;
	int ret;

	dir_of(b, row, "", dir);
	ret = run_dir_make(dir, err);
	if (ret >= 0)
		ret = outfile_open(&out, dir, SCENARIO, err);
	if (ret < 0)
		return ret;
	write_text(b, row, out.file);
	return outfile_close(&out, 0, err);
}

static pid_t
start_row(const struct scale *b, const struct scale_row *row, int cpu, struct err *err)
{
	char dir[PATH_MAX], scenario[PATH_MAX], lcores[16], processes[16];
	struct child_args one = { .argv = { "dpswitch", scenario, "--out", dir, "--lcores", lcores, "--quiet" },
				  .count = 7 };
	struct child_args many = { .argv = { "rocelab", "run", scenario, "--out", dir, "--lcores", lcores, "--processes",
					     processes, "--json" },
				   .count = 10 };
	int ret = write_case(b, row, err);

	if (ret < 0)
		return ret;
	dir_of(b, row, "", dir);
	dir_of(b, row, SCENARIO, scenario);
	snprintf(lcores, sizeof(lcores), "%u", row->lcores);
	snprintf(processes, sizeof(processes), "%u", row->processes);
	return row->processes > 1 ? job_start_program("cli", &many, dir, -1, err)
				  : job_start_program("dpswitch", &one, dir, row->part == SCALE_ALONE ? -1 : cpu, err);
}

static pid_t
start(void *ctx, uint32_t slot, int cpu, struct err *err)
{
	struct scale *b = ctx;
	pid_t pid;

	while (b->next < b->nrows && !is_waiting(b, b->next))
		b->next++;
	/* One at a time; the second of two joins the first. */
	if (b->next == b->nrows || (b->running != 0 && b->rows[b->next].part != SCALE_SECOND))
		return 0;
	b->slots[slot] = b->next;
	pid = start_row(b, &b->rows[b->next++], cpu, err);
	b->running += pid > 0;
	return pid;
}

/* The error in a program's output: the last line but for that of the shell that starts it. */
static void
read_why(const struct scale *b, struct scale_row *row)
{
	char path[PATH_MAX], *line = NULL;
	size_t cap = 0;
	FILE *file;

	dir_of(b, row, JOB_LOG, path);
	file = input_fopen(path, NULL);
	while (file != NULL && getline(&line, &cap, file) > 0)
		if (line[0] != '\n' && strstr(line, "ended with status") == NULL)
			snprintf(row->why, sizeof(row->why), "%.*s", (int)strcspn(line, "\n"), line);
	free(line);
	if (file != NULL)
		fclose(file);
	dir_of(b, row, SCENARIO, path);
	line = strstr(row->why, path); /* whose path is of no interest in a table */
	if (line != NULL)
		memmove(row->why, line + strlen(path) + 2, strlen(line + strlen(path) + 2) + 1);
}

static int
ended(void *ctx, uint32_t slot, int status, struct err *err)
{
	static const char *const large[] = { RUN_RECORDING, RUN_TRUTH, RUN_STEPS, RUN_FLOWS, RUN_STORE };
	struct scale *b = ctx;
	struct scale_row *row = &b->rows[b->slots[slot]];
	char path[PATH_MAX];

	b->running--;
	progress_line("%u of %u runs", ++b->done, b->missing);
	for (size_t i = 0; i < ARRAY_LEN(large); i++) {
		dir_of(b, row, large[i], path);
		unlink(path);
	}
	if (status == EXIT_DONE) {
		read_row(b, row);
		return 0;
	}
	dir_of(b, row, RUN_SUMMARY, path);
	unlink(path);
	row->state = status == EXIT_USAGE || status == EXIT_NOT_BEGUN ? SCALE_REFUSED : SCALE_BROKEN;
	read_why(b, row);
	if (row->state == SCALE_REFUSED)
		return write_refusal(b, row, err);
	progress_line("%s", "");
	dir_of(b, row, "", path);
	log_warning("%s failed: %s", path, row->why);
	if (++b->broken < MAX_BROKEN)
		return 0;
	return err_set(err, -EIO, "%u runs failed; fix the cause and repeat the command", b->broken);
}

/* Has `rocelab run` processes over MPI? */
static bool
find_processes(const struct scale *b, struct err *err)
{
	struct child_args args = { .argv = { "rocelab", "run", "--help" }, .count = 3 };
	char dir[PATH_MAX], path[PATH_MAX], *line = NULL;
	size_t cap = 0;
	bool found = false;
	FILE *file;
	pid_t pid;

	snprintf(dir, sizeof(dir), "%s/help", b->args.dir);
	snprintf(path, sizeof(path), "%.*s/help/" JOB_LOG, PATH_MAX - 32, b->args.dir);
	if (run_dir_make(dir, err) < 0)
		return false;
	pid = job_start_program("cli", &args, dir, -1, err);
	if (pid > 0)
		child_wait(pid);
	file = input_fopen(path, NULL);
	while (file != NULL && getline(&line, &cap, file) > 0)
		found |= strstr(line, "--processes") != NULL;
	free(line);
	if (file != NULL)
		fclose(file);
	return found;
}

/* ---- the command ---- */

static int
run_all(void *options, struct err *err)
{
	const struct pool_ops ops = { start, ended };
	struct scale *b = options;
	int ret = 0;

	b->rows = calloc(SCALE_MAX_ROWS, sizeof(*b->rows));
	if (b->rows == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	b->has_processes = find_processes(b, err);
	list_rows(b);
	for (uint32_t i = 0; ret == 0 && i < b->nrows; i++) {
		if (b->rows[i].state == SCALE_WAITING)
			read_row(b, &b->rows[i]);
		b->missing += is_waiting(b, i);
	}
	if (ret == 0)
		ret = shard_check(&b->args.shard, b->missing, err);
	if (ret == 0)
		ret = pool_run(2, &ops, b, err);
	progress_line("%s", "");
	if (ret == 0 && !shard_is_part(&b->args.shard))
		ret = scale_report(b, err);
	free(b->rows);
	return ret == 0 ? (int)b->broken : ret;
}

static const struct argp_option option_table[] = {
	{ "hosts", 'n', "N,...", 0, "Numbers of hosts (default 16,128,1024,8192,16384)", 0 },
	{ "pattern", 'p', "NAME,...", 0, "Patterns: ring, alltoall, permutation (default: all)", 0 },
	{ "rate", 'r', "GBPS,...", 0, "Rates of links (default 100,400)", 0 },
	{ "lcores", 'l', "N,...", 0, "Numbers of lcores (default 1,2)", 0 },
	{ "processes", 'P', "N,...", 0, "Numbers of processes over MPI (default 1,2,4)", 0 },
	{ "mhops", 'm', "N", 0, "Millions of packet hops that a run has, about (default 20)", 0 },
	{ "sync", 's', "NS", 0, "Forecast: ns to end a window between machines (default 10000)", 0 },
	{ "message", 'M', "NS", 0, "Forecast: ns for a packet that crosses to another machine (default 100)", 0 },
	{ 0 },
};

static void
set_values(const struct argp_state *state, const char *option, char *text, uint32_t least, uint32_t most,
	   struct scale_values *values)
{
	char *save = NULL;

	values->count = 0;
	for (char *word = strtok_r(text, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save)) {
		if (values->count == SCALE_MAX_VALUES)
			args_error(state, "%s: more than %d values", option, SCALE_MAX_VALUES);
		values->at[values->count++] = (uint32_t)args_number(state, option, word, least, most);
	}
	if (values->count == 0)
		args_error(state, "%s: name one", option);
}

static void
set_patterns(const struct argp_state *state, char *text, struct scale *b)
{
	char *save = NULL;

	memset(b->asked, 0, sizeof(b->asked));
	for (char *word = strtok_r(text, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save)) {
		size_t p = 0;

		while (p < ARRAY_LEN(scale_patterns) && strcmp(scale_patterns[p], word) != 0)
			p++;
		if (p == ARRAY_LEN(scale_patterns))
			args_error(state, "--pattern %s: ring, alltoall and permutation are there", word);
		b->asked[p] = true;
	}
}

static error_t
parse(int key, char *arg, struct argp_state *state, void *options)
{
	struct scale *b = options;

	switch (key) {
	case 'n':
		set_values(state, "--hosts", arg, 2, 1 << 20, &b->hosts);
		return 0;
	case 'p':
		set_patterns(state, arg, b);
		return 0;
	case 'r':
		set_values(state, "--rate", arg, 1, 800, &b->gbps);
		return 0;
	case 'l':
		set_values(state, "--lcores", arg, 1, 64, &b->lcores);
		return 0;
	case 'P':
		set_values(state, "--processes", arg, 1, 64, &b->processes);
		return 0;
	case 'm':
		b->mhops = (uint32_t)args_number(state, "--mhops", arg, 1, 100000);
		return 0;
	case 's':
		b->sync_ns = (double)args_number(state, "--sync", arg, 1, 1000000000);
		return 0;
	case 'M':
		b->message_ns = (double)args_number(state, "--message", arg, 1, 1000000000);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void
init(void *options)
{
	struct scale *b = options;

	b->mhops = MHOPS;
	b->sync_ns = SYNC_NS;
	b->message_ns = MESSAGE_NS;
	b->gbps = (struct scale_values){ .at = { 100, 400 }, .count = 2 };
	b->lcores = (struct scale_values){ .at = { 1, 2 }, .count = 2 };
	b->processes = (struct scale_values){ .at = { 1, 2, 4 }, .count = 3 };
	for (size_t p = 0; p < SCALE_PATTERNS; p++)
		b->asked[p] = true;
	for (; default_hosts[b->hosts.count] != 0; b->hosts.count++)
		b->hosts.at[b->hosts.count] = default_hosts[b->hosts.count];
}

const struct study bench_scale = {
	.name = "scale",
	.benchmark = true,
	.paced = true,
	.help = "Measures speed against size: hosts, patterns, rates, lcores and processes, one run at a time, and two "
		"runs side by side. Fits a model of the time to runs of one lcore, checks it with slower cables, and "
		"forecasts what more machines would give.\vWhat a scenario's limits or this build do not allow is "
		"refused, with the reason. DIR/" SCALE_RESULTS " and DIR/" SCALE_TABLE
		" have a row a run. The same command resumes an interrupted one.",
	.options = option_table,
	.parse = parse,
	.size = sizeof(struct scale),
	.init = init,
	.kept = "runs and results",
	.out = "out/bench-scale",
	.printed = "tables",
	.run = run_all,
};

#define LEAST_PIVOT 1e-12 /* of columns whose length is 1 */

/* How often a run has each term, in 1e9: a coefficient in ns gives seconds. */
static void
terms_of(const struct scale_sample *sample, double terms[SCALE_TERMS])
{
	terms[SCALE_HOP] = sample->hops / 1e9;
	terms[SCALE_SPREAD] = sample->hops * log2(fmax(sample->nodes, 1)) / 1e9;
	terms[SCALE_NODE] = sample->windows * sample->nodes / 1e9;
	terms[SCALE_BUILD] = sample->nodes / 1e9;
	terms[SCALE_FLOW] = sample->flows / 1e9;
}

/*
 * Gauss with pivots on the diagonal: the matrix is symmetric and not negative.
 * @return -1, or a term that is a multiple of others: runs are too much alike
 */
static int
solve(double matrix[SCALE_TERMS][SCALE_TERMS + 1], const bool used[SCALE_TERMS], double *result)
{
	for (int i = 0; i < SCALE_TERMS; i++) {
		if (!used[i])
			continue;
		if (matrix[i][i] < LEAST_PIVOT)
			return i;
		for (int k = 0; k < SCALE_TERMS; k++) {
			double factor = matrix[k][i] / matrix[i][i];

			for (int j = i; used[k] && k != i && j <= SCALE_TERMS; j++)
				matrix[k][j] -= factor * matrix[i][j];
		}
	}
	for (int i = 0; i < SCALE_TERMS; i++)
		result[i] = used[i] ? matrix[i][SCALE_TERMS] / matrix[i][i] : 0;
	return -1;
}

/* The normal equations of the terms that are used; columns have length 1, so that pivots compare. @return as solve() */
static int
fit(const struct scale_sample *samples, size_t count, const bool used[SCALE_TERMS], double *result)
{
	int alike;
	double matrix[SCALE_TERMS][SCALE_TERMS + 1] = { 0 }, length[SCALE_TERMS] = { 0 }, terms[SCALE_TERMS];

	for (size_t s = 0; s < count; s++) {
		terms_of(&samples[s], terms);
		for (int i = 0; i < SCALE_TERMS; i++)
			length[i] += terms[i] / samples[s].cpu_s * terms[i] / samples[s].cpu_s;
	}
	for (size_t s = 0; s < count; s++) {
		terms_of(&samples[s], terms);
		for (int i = 0; i < SCALE_TERMS; i++)
			terms[i] /= samples[s].cpu_s * sqrt(length[i]);
		for (int i = 0; i < SCALE_TERMS; i++) {
			for (int j = 0; j < SCALE_TERMS; j++)
				matrix[i][j] += terms[i] * terms[j];
			matrix[i][SCALE_TERMS] += terms[i];
		}
	}
	alike = solve(matrix, used, result);
	if (alike >= 0)
		return alike;
	for (int i = 0; i < SCALE_TERMS; i++)
		result[i] /= sqrt(length[i]);
	return -1;
}

int
scale_model_fit(const struct scale_sample *samples, size_t count, struct scale_model *model)
{
	bool used[SCALE_TERMS] = { true, true, true, true, true };

	if (count <= SCALE_TERMS)
		return -ENODATA;
	for (int rounds = 0; rounds < SCALE_TERMS; rounds++) {
		int worst = fit(samples, count, used, model->ns);

		for (int i = 0; worst < 0 && i < SCALE_TERMS; i++)
			if (model->ns[i] < 0)
				worst = i;
		if (worst < 0)
			return 0;
		used[worst] = false;
	}
	return -ENODATA;
}

double
scale_model_time(const struct scale_model *model, const struct scale_sample *sample)
{
	double terms[SCALE_TERMS], sum = 0;

	terms_of(sample, terms);
	for (int i = 0; i < SCALE_TERMS; i++)
		sum += model->ns[i] * terms[i];
	return sum;
}

struct scale_forecast
scale_model_forecast(const struct scale_model *model, const struct scale_sample *work, const struct scale_cluster *cluster)
{
	struct scale_sample share = *work;
	double machines = cluster->machines, away = machines > 1 ? cluster->crossing * (1 - 1 / machines) : 0;

	share.hops /= machines;
	share.flows /= machines;
	share.nodes /= machines; /* a machine builds, and keeps in its caches, its own alone */
	return (struct scale_forecast){
		.work_s = scale_model_time(model, &share) / (cluster->cores * cluster->efficiency),
		.sync_s = machines > 1 ? work->windows * cluster->sync_ns / 1e9 : 0,
		.message_s = share.hops * away * cluster->message_ns / 1e9 / (cluster->cores * cluster->efficiency),
	};
}

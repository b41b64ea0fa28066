/* SPDX-License-Identifier: BSD-3-Clause */
/* The gain of a second lcore: two pairs of ports on one lcore, on two, and two programs with a pair each. */
#include "bench/bench.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "common/child.h"
#include "common/err.h"
#include "common/input_file.h"
#include "common/outfile.h"
#include "common/run_files.h"

#define BUSY_SHARE 0.9 /* lcores that had less of their CPUs prove little */

static const char pairs_text[] =
	"topology = { kind = \"explicit\"; rate = \"40Gbps\"; delay = \"20us\"; hosts = [ \"a\", \"b\", \"c\", \"d\" ];\n"
	"  switches = [ \"s\", \"t\" ]; links = ( \"a s\", \"b s\", \"c t\", \"d t\", \"s t\" ); };\n"
	"flows = ( { src = \"a\"; dst = \"b\"; sport = 49152; bytes = \"1MB\"; },\n"
	"  { src = \"c\"; dst = \"d\"; sport = 49153; bytes = \"1MB\"; } );\n";
static const char pair_text[] =
	"topology = { kind = \"explicit\"; rate = \"40Gbps\"; delay = \"20us\"; hosts = [ \"a\", \"b\" ];\n"
	"  switches = [ \"s\" ]; links = ( \"a s\", \"b s\" ); };\n"
	"flows = ( { src = \"a\"; dst = \"b\"; sport = 49152; bytes = \"1MB\"; } );\n";

struct bench {
	const char *forwarder, *dir;
	cpu_set_t cpus; /* of this process */
	char scenario[PATH_MAX], out[2][PATH_MAX];
	struct err *err;
};

/* Sums over runs. */
struct sum {
	double pps, share;
};

static int
write_scenario(const struct bench *bench, const char *text)
{
	struct outfile out;
	int ret = outfile_open_path(&out, bench->scenario, bench->err);

	if (ret < 0)
		return ret;
	fputs(text, out.file);
	return outfile_close(&out, 0, bench->err);
}

/* Starts one with frames of 1 KB. @param cpu  the only one for it; negative: all. @return pid, or negative with err set */
static pid_t
start(const struct bench *bench, const char *out, const char *lcores, int cpu)
{
	struct child_args args = { .argv = { "dpswitch-forward", bench->scenario, "--out", out, "--frame-bytes", "1020",
					     "--seconds", "0.5", "--lcores", lcores },
				   .count = 10 };
	cpu_set_t one;
	pid_t pid;

	CPU_ZERO(&one);
	if (cpu >= 0) {
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
	pid = child_start(bench->forwarder, &args, false, bench->err);
	sched_setaffinity(0, sizeof(bench->cpus), &bench->cpus);
	return pid;
}

/* @param lcores  that it had. @return 0 or negative with err set */
static int
finish(const struct bench *bench, const char *out, pid_t pid, double lcores, struct sum *sum)
{
	char path[PATH_MAX];
	json_error_t error;
	double wall_ns;
	json_t *root;

	if (pid < 0)
		return pid;
	if (child_wait(pid) != 0)
		return err_set(bench->err, -EIO, "dpswitch-forward failed with %.0f lcores", lcores);
	if (snprintf(path, sizeof(path), "%s/forward.json", out) >= (int)sizeof(path))
		return err_set(bench->err, -ENAMETOOLONG, "%s: the path is too long", out);
	root = input_json(path, 0, &error);
	if (root == NULL)
		return err_set(bench->err, -EINVAL, "%s: %s", path, error.text);
	wall_ns = json_number_value(json_object_get(root, "wall_ns"));
	sum->pps += json_number_value(json_object_get(root, "packets")) * 1e9 / wall_ns;
	sum->share += json_number_value(json_object_get(root, "cpu_ns")) / (lcores * wall_ns);
	json_decref(root);
	return 0;
}

static int
together(const struct bench *bench, const char *lcores, double count, struct sum *sum)
{
	return finish(bench, bench->out[0], start(bench, bench->out[0], lcores, -1), count, sum);
}

/* Two programs at a time, each on a CPU of its own. */
static int
apart(const struct bench *bench, struct sum *sum)
{
	int first = 0, second, ret;
	pid_t pids[2];

	while (!CPU_ISSET(first, &bench->cpus))
		first++;
	for (second = first + 1; !CPU_ISSET(second, &bench->cpus);)
		second++;
	pids[0] = start(bench, bench->out[0], "1", first);
	pids[1] = start(bench, bench->out[1], "1", second);
	ret = finish(bench, bench->out[0], pids[0], 1, sum);
	if (finish(bench, bench->out[1], pids[1], 1, sum) < 0)
		ret = -EIO;
	sum->share /= 2;
	return ret;
}

static void
keep_best(const struct sum *sum, double *pps, double *share)
{
	if (sum->pps <= *pps)
		return;
	*pps = sum->pps;
	*share = sum->share;
}

static int
measure_once(const struct bench *bench, struct bench_lcores *result)
{
	struct sum one = { 0 }, two = { 0 }, alone = { 0 };
	int ret = write_scenario(bench, pairs_text);

	if (ret == 0)
		ret = together(bench, "1", 1, &one);
	if (ret == 0)
		ret = together(bench, "2", 2, &two);
	if (ret == 0)
		ret = write_scenario(bench, pair_text);
	if (ret == 0)
		ret = apart(bench, &alone);
	keep_best(&one, &result->one_pps, &result->one_share);
	keep_best(&two, &result->two_pps, &result->two_share);
	keep_best(&alone, &result->apart_pps, &result->apart_share);
	return ret;
}

int
bench_lcores_measure(const char *forwarder, const char *dir, int repeats, struct bench_lcores *result, struct err *err)
{
	struct bench bench = { .forwarder = forwarder, .dir = dir, .err = err };
	int ret = 0;

	*result = (struct bench_lcores){ 0 };
	if (sched_getaffinity(0, sizeof(bench.cpus), &bench.cpus) < 0 || CPU_COUNT(&bench.cpus) < 2)
		return 0;
	snprintf(bench.scenario, sizeof(bench.scenario), "%s/pairs.cfg", dir);
	for (int i = 0; ret >= 0 && i < 2; i++) {
		snprintf(bench.out[i], sizeof(bench.out[i]), "%s/lcores%d", dir, i);
		ret = run_dir_make(bench.out[i], err);
	}
	for (int i = 0; ret >= 0 && i < repeats; i++)
		ret = measure_once(&bench, result);
	result->measured = ret >= 0;
	return ret < 0 ? ret : 0;
}

void
bench_lcores_print(const struct bench_lcores *result)
{
	if (!result->measured) {
		printf("A second lcore: not measured, this process may use one CPU alone.\n");
		return;
	}
	printf("Two pairs of ports, frames of 1 KB: %.2f Mpps on one lcore, %.2f on two, %.2f times as many; two programs "
	       "with "
	       "an lcore and a pair each: %.2f, of which the two lcores do %.0f %%. The best run of each, by the wall's "
	       "clock.\n",
	       result->one_pps / 1e6, result->two_pps / 1e6, result->two_pps / result->one_pps, result->apart_pps / 1e6,
	       100 * result->two_pps / result->apart_pps);
	if (result->one_share < BUSY_SHARE || result->two_share < BUSY_SHARE || result->apart_share < BUSY_SHARE)
		printf("This machine was too busy for that to mean much: of their CPUs' time the lcores had %.0f, %.0f and "
		       "%.0f %%.\n",
		       100 * result->one_share, 100 * result->two_share, 100 * result->apart_share);
}

json_t *
bench_lcores_json(const struct bench_lcores *result)
{
	if (!result->measured)
		return json_null();
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "one_pps", result->one_pps, "two_pps", result->two_pps,
			 "apart_pps", result->apart_pps, "one_cpu_share", result->one_share, "two_cpu_share",
			 result->two_share, "apart_cpu_share", result->apart_share);
}

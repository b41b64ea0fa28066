/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab run: analyzer and dpswitch, connected by one socket; then the verdict. */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/blame/by_twin.h"
#include "cli/command.h"
#include "cli/start/launch.h"
#include "cli/start/mpi_job.h"
#include "cli/systems/plan.h"
#include "common/child.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/program.h"
#include "common/run_files.h"
#include "common/wire/partition.h"
#include "scenario/scenario.h"

struct run_options {
	struct scenario_options scenario;
	const char *out;
	struct child_args pass;  /* options that dpswitch understands, those of the scenario among them */
	struct child_args base;  /* more of them, for the run in the folder itself */
	char hold[64], poll[64]; /* as --set has them */
	char diagnosers[512];
	uint32_t partitions, processes;
	const char *programs[PLUGIN_PROGRAMS + 1]; /* [nprograms] one more than there may be */
	uint32_t nprograms;
	enum blame_by by;
	bool json, fail_on_finding, allow_unfinished, arrivals;
	struct err err;
};

static const struct argp_option options[] = {
	{ "set", SCENARIO_ARGS_SET, "PATH=VALUE", 0,
	  "Override a key of the scenario, e.g. --set collectives.[0].step_bytes=10MB", 0 },
	{ "seed", SCENARIO_ARGS_SEED, "N", 0, "Seed of every random choice", 0 },
	{ "hold", 'H', "TIME", 0,
	  "Run for at least TIME, for interactive use of the hosts (rocelab shell); same as --set limits.hold=TIME", 0 },
	{ "poll", 'p', "busy|sleep|auto", 0,
	  "When idle in real time, poll on dedicated CPUs, or sleep and leave the CPUs to the hosts (default: poll if "
	  "there are spare CPUs); same as --set timing.idle=busy",
	  0 },
	{ "lcores", 'l', "N", 0, "DPDK lcores that share the fabric (default 1)", 0 },
	{ "partitions", 'P', "N", 0, "Run the fabric in N processes, one partition each; real time only (default: 1)", 0 },
	{ "processes", 'N', "N", 0,
	  "Run the fabric in N processes of an MPI job, one partition each; virtual time only (default: 1). mpirun -np N "
	  "rocelab "
	  "run ... does the same, on several machines too",
	  0 },
	{ "eal", 'e', "ARGS", 0,
	  "Further arguments of DPDK's EAL, in one word: \"-a 0000:03:00.0\", \"--telemetry\" for dpdk-telemetry.py", 0 },
	{ "out", 'o', "DIR", 0, "Write the run's files to DIR (default out/NAME)", 0 },
	{ "diagnosers", 'd', "NAME[,NAME...]", 0,
	  "Show findings of these systems side by side: vedrfolnir, flowpulse, flowtracer, pingmesh, hawkeye-minr, "
	  "hawkeye-maxr, "
	  "full-polling; those that poll or probe run by themselves, of the same seed. As the scenario's key diagnosers",
	  0 },
	{ "diagnoser", 'D', "PROGRAM", 0,
	  "Run a plugin diagnoser, which reads the same records and reports its findings (docs/bring-your-own.md); may be "
	  "repeated",
	  0 },
	{ "capture", 'c', "PORT[,PORT...]", 0,
	  "Capture both directions of these ports (\"node:port\") into DIR/capture.pcapng for Wireshark; may be "
	  "repeated",
	  0 },
	{ "capture-bytes", 'B', "SIZE", 0,
	  "Capture at most SIZE bytes of each frame (default: all; 128 keeps every header)", 0 },
	{ "capture-limit", 'L', "SIZE", 0, "Limit the capture file to SIZE; further frames are counted only (default 1GB)",
	  0 },
	{ "arrivals", 'A', NULL, 0,
	  "Write when the analyzer had read the records, and had them in its evidence, to DIR/arrivals.csv (not for "
	  "several "
	  "diagnosers)",
	  0 },
	BLAME_OPTION,
	{ "json", 'j', NULL, 0, "Print verdict.json instead of text; for several systems comparison.json", 0 },
	{ "fail-on-finding", 'f', NULL, 0, "Exit with 4 if the verdict has a finding", 0 },
	{ "allow-unfinished", 'u', NULL, 0, "Exit with 0, not 5, if the run ended before its work was done", 0 },
	{ 0 },
};

/* An option that dpswitch understands. */
static error_t
pass_on(const struct argp_state *state, struct child_args *to, const char *option, const char *arg)
{
	struct run_options *run = state->input;

	if (child_add(to, option, &run->err) < 0 || child_add(to, arg, &run->err) < 0)
		args_error(state, "%s", run->err.text);
	return 0;
}

/* A key of the scenario, for all programs that read it. */
static error_t
set(const struct argp_state *state, const char *arg)
{
	struct run_options *run = state->input;

	scenario_args_set(&run->scenario, arg, state);
	return pass_on(state, &run->pass, "--set", arg);
}

/* --diagnosers a,b, as the scenario's key has it. */
static error_t
list_systems(const struct argp_state *state, char *arg)
{
	struct run_options *run = state->input;
	const char *names[SYSTEMS_MAX];
	struct cfg_strings list = { names, 0 };
	char *save = NULL, *text = run->diagnosers;
	size_t used = (size_t)snprintf(text, sizeof(run->diagnosers), "diagnosers=["), cap = sizeof(run->diagnosers);

	for (char *name = strtok_r(arg, ",", &save); name != NULL; name = strtok_r(NULL, ",", &save)) {
		if (list.count == SYSTEMS_MAX)
			args_error(state, "--diagnosers: more than %d", SYSTEMS_MAX);
		names[list.count++] = name;
		if (used < cap)
			used += (size_t)snprintf(text + used, cap - used, "%s\"%s\"", list.count > 1 ? "," : "", name);
	}
	if (list.count == 0)
		args_error(state, "--diagnosers: the list is empty");
	if (systems_check_names(&list, &run->err) < 0)
		args_error(state, "--diagnosers: %s", run->err.text);
	snprintf(text + used, cap - used, "]");
	return set(state, text);
}

static char late_looks[] = "telemetry.late_looks=true"; /* the evidence that a twin is made of */

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct run_options *run = state->input;

	switch (key) {
	case SCENARIO_ARGS_SET:
		return set(state, arg);
	case 'H':
		snprintf(run->hold, sizeof(run->hold), "limits.hold=%s", arg);
		return set(state, run->hold);
	case 'p':
		snprintf(run->poll, sizeof(run->poll), "timing.idle=%s", arg);
		return set(state, run->poll);
	case SCENARIO_ARGS_SEED:
		run->scenario.seed = arg;
		return pass_on(state, &run->pass, "--seed", arg);
	case 'l':
		return pass_on(state, &run->pass, "--lcores", arg);
	case 'P':
		run->partitions = (uint32_t)args_number(state, "--partitions", arg, 2, PARTITION_MAX);
		return 0;
	case 'N':
		run->processes = (uint32_t)args_number(state, "--processes", arg, 1, PARTITION_MAX);
		return 0;
	case 'D':
		if (run->nprograms <= PLUGIN_PROGRAMS)
			run->programs[run->nprograms++] = arg;
		return 0;
	case 'e':
		return pass_on(state, &run->pass, "--eal", arg);
	case 'c':
		return pass_on(state, &run->base, "--capture", arg);
	case 'B':
		return pass_on(state, &run->base, "--capture-bytes", arg);
	case 'L':
		return pass_on(state, &run->base, "--capture-limit", arg);
	case 'd':
		return list_systems(state, arg);
	case 'o':
		run->out = arg;
		return 0;
	case 'b':
		run->by = blame_by_parse(arg, state);
		return run->by != BLAME_BY_ESTIMATE ? set(state, late_looks) : 0;
	case 'A':
		run->arrivals = true;
		return 0;
	case 'j':
		run->json = true;
		return 0;
	case 'f':
		run->fail_on_finding = true;
		return 0;
	case 'u':
		run->allow_unfinished = true;
		return 0;
	default:
		return scenario_args_parse(&run->scenario, key, arg, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SCENARIO",
	.doc = "Runs a scenario, diagnoses it and prints the verdict.\vDIR then holds verdict.json, report.html, "
	       "report.txt, steps.csv, run.json, truth.json (the injected faults; the diagnosis never sees it), "
	       "waiting.dot, provenance.dot and records.bin, the recorded stream; of several systems also comparison.json, "
	       "and systems/NAME with the report of each. With --capture also capture.pcapng: wireshark -X "
	       "lua_script:scripts/wireshark/rocelab.lua DIR/capture.pcapng",
};

/* @param ret  how the run ended: EXIT_DONE or EXIT_UNFINISHED. @return exit code, its verdict considered */
static int
judge(const struct run_options *run, const char *dir, int ret)
{
	struct verdict_counts counts;
	struct err err = { 0 };

	if (verdict_count(dir, &counts, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_FAILED;
	}
	if (counts.left_out != 0)
		return EXIT_FAILED;
	if (ret == EXIT_UNFINISHED && !run->allow_unfinished)
		return EXIT_UNFINISHED;
	return counts.findings != 0 && run->fail_on_finding ? EXIT_FINDING : EXIT_DONE;
}

/* The verdict's costs by its twin. @return exit code */
static int
blame(const struct run_options *run, const char *dir)
{
	const struct blame_by_twin of = { .records = dir, .plugins = dir, .out = dir, .by = run->by, .print = !run->json };
	struct err err = { 0 };
	int ret = blame_by_twin(&of, &err);

	if (ret < 0)
		log_error("%s", err.text);
	return ret < 0 ? EXIT_FAILED : ret;
}

static int
show(const struct run_options *run, const char *dir, const struct launch_status *status)
{
	struct err err = { 0 };
	int ret = one_run_check(status, dir), blamed = EXIT_DONE;

	if (!exit_code_is_of_run(ret) || launch_abandoned() || status->analyzer != 0)
		return ret;
	if (run->by != BLAME_BY_ESTIMATE)
		blamed = blame(run, dir);
	if (blamed != EXIT_DONE)
		return blamed;
	if (run->json && verdict_print(dir, &err) < 0) {
		log_error("%s", err.text);
		return EXIT_FAILED;
	}
	return ret == EXIT_DONE || ret == EXIT_UNFINISHED ? judge(run, dir, ret) : ret;
}

/* Runs the systems of a scenario's list, side by side. @return exit code */
static int
run_systems(const struct run_options *run, struct systems_plan *plan)
{
	struct err err = { 0 };
	size_t findings = 0;
	int ret = systems_run(plan, &run->pass, &run->base, &err), shown;

	if (ret == EXIT_USAGE || ret == EXIT_NOT_BEGUN || launch_abandoned()) {
		if (err.text[0] != '\0')
			log_error("%s", err.text);
		return interrupt_asked() ? EXIT_INTERRUPTED : ret;
	}
	shown = systems_show(plan, run->json, &findings, &err);
	if (shown < 0) {
		log_error("%s", err.text);
		return EXIT_FAILED;
	}
	if (ret != EXIT_DONE && ret != EXIT_UNFINISHED)
		return ret;
	if (shown != EXIT_DONE)
		return EXIT_FAILED;
	ret = judge(run, plan->dir, ret);
	return ret == EXIT_DONE && findings != 0 && run->fail_on_finding ? EXIT_FINDING : ret;
}

/* @return 0, or -EINVAL with the reason logged */
static int
check_parts(const struct run_options *run, const struct systems_plan *plan)
{
	bool job = run->processes > 1 || mpi_job_has_this();

	if ((plan->count != 0 || plan->nprograms != 0) && mpi_job_has_this())
		log_error("mpirun cannot start a run with several diagnosers, or with a plugin: start it as rocelab run "
			  "SCENARIO --processes N");
	else if (run->partitions != 0 && job)
		log_error("--processes run in virtual time, and --partitions in real time: give one of them");
	else if (run->processes > 1 && mpi_job_has_this())
		log_error("mpirun has started the processes already: leave --processes out");
	else
		return 0;
	return -EINVAL;
}

/* Runs in a folder that is locked. @return exit code */
static int
run_in(const struct run_dir *dir, struct run_options *run, struct systems_plan *plan)
{
	struct one_run one = { .options = &run->scenario,
			       .pass = &run->pass,
			       .print = !run->json && run->by == BLAME_BY_ESTIMATE,
			       .partitions = run->partitions,
			       .processes = run->processes > 1 ? run->processes : 0,
			       .in_job = mpi_job_has_this(),
			       .arrivals = run->arrivals };
	struct launch_status status;
	int ret;

	if (check_parts(run, plan) < 0)
		return EXIT_USAGE;
	plan->partitions = one.partitions;
	plan->processes = one.processes;
	for (uint32_t i = 0; i < plan->nprograms; i++)
		if (child_add(&run->base, "--diagnoser", &run->err) < 0 ||
		    child_add(&run->base, plan->programs[i], &run->err) < 0)
			return EXIT_USAGE;
	if (plan->count != 0)
		return run_systems(run, plan);
	for (size_t i = 0; i < run->base.count; i++)
		if (child_add(&run->pass, run->base.argv[i], &run->err) < 0)
			return EXIT_USAGE;
	ret = one_run(&one, systems_plan_take(plan), dir, &status, &run->err);
	if (ret == 0)
		return show(run, dir->path, &status);
	log_error("%s", run->err.text);
	return ret;
}

int
command_run(int argc, char **argv)
{
	struct run_options run = { 0 };
	struct systems_plan plan;
	struct run_dir dir;
	char path[PATH_MAX];
	int ret;

	argv[0] = "rocelab run";
	if (args_parse(&argp, argc, argv, 0, &run) != 0)
		return EXIT_USAGE;
	if (!ROCELAB_MPI && (run.processes > 1 || mpi_job_has_this())) {
		/* Only one of the processes that mpirun has started reports it. */
		if (mpi_job_rank() <= 0)
			log_error("this build has no Open MPI, which a run over several processes needs: install "
				  "libopenmpi-dev and openmpi-bin (scripts/setup does), and build again");
		return EXIT_NOT_BEGUN;
	}
	if (run.out == NULL)
		run_dir_default("out", run.scenario.path, path, sizeof(path));
	if (mpi_job_rank() > 0) {
		ret = launch_process(run.scenario.path, run.out != NULL ? run.out : path, &run.pass, &run.err);
		if (run.err.text[0] != '\0')
			log_error("%s", run.err.text);
		return ret;
	}
	ret = run_dir_open(&dir, run.out != NULL ? run.out : path, &run.err);
	if (ret < 0) {
		log_error("%s", run.err.text);
		return exit_code_of_file(ret);
	}
	if (systems_plan_init(&plan, &run.scenario, &dir, &(struct systems_programs){ run.programs, run.nprograms, false },
			      &run.err) < 0) {
		log_error("%s", run.err.text);
		ret = EXIT_USAGE;
	} else {
		ret = run_in(&dir, &run, &plan);
	}
	systems_plan_fini(&plan);
	run_dir_close(&dir);
	return ret;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* rocelab run: analyzer and dpswitch, connected by one socket; then the verdict. */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/child.h"
#include "cli/verdict_file.h"
#include "common/clock.h"

/* How long the analyzer may take to open its socket, and to finish after the run. */
#define ANALYZER_START_NS 10000000000ULL
#define ANALYZER_POLL_NS 5000000ULL

struct run_options {
	const char *scenario;
	const char *out;
	struct child_args pass; /* options that dpswitch understands */
	bool json, fail_on_finding;
	struct err err;
};

static const struct argp_option options[] = {
	{ "set", 's', "PATH=VALUE", 0, "Override a key of the scenario, e.g. --set collectives.[0].step_bytes=10MB", 0 },
	{ "seed", 'S', "N", 0, "Seed of every random choice", 0 },
	{ "lcores", 'l', "N", 0, "DPDK lcores that share the fabric (default 1)", 0 },
	{ "out", 'o', "DIR", 0, "Where the run is kept (default out/NAME)", 0 },
	{ "capture", 'c', "PORT[,PORT...]", 0,
	  "Write what crosses these ports (\"node:port\"), both directions, into DIR/capture.pcapng for Wireshark", 0 },
	{ "capture-bytes", 'B', "SIZE", 0, "Of each frame at most so much (default: all of it; 128 keeps every header)", 0 },
	{ "capture-limit", 'L', "SIZE", 0, "Of the file at most so much; frames beyond are counted (default 1GB)", 0 },
	{ "json", 'j', NULL, 0, "Print verdict.json instead of text", 0 },
	{ "fail-on-finding", 'f', NULL, 0, "Exit with 1 when the verdict has a finding", 0 },
	{ 0 },
};

/* An option that dpswitch understands. */
static error_t
pass_on(const struct argp_state *state, const char *option, const char *arg)
{
	struct run_options *run = state->input;

	if (child_add(&run->pass, option, &run->err) < 0 || child_add(&run->pass, arg, &run->err) < 0)
		argp_error(state, "%s", run->err.text);
	return 0;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct run_options *run = state->input;

	switch (key) {
	case 's':
		return pass_on(state, "--set", arg);
	case 'S':
		return pass_on(state, "--seed", arg);
	case 'l':
		return pass_on(state, "--lcores", arg);
	case 'c':
		return pass_on(state, "--capture", arg);
	case 'B':
		return pass_on(state, "--capture-bytes", arg);
	case 'L':
		return pass_on(state, "--capture-limit", arg);
	case 'o':
		run->out = arg;
		return 0;
	case 'j':
		run->json = true;
		return 0;
	case 'f':
		run->fail_on_finding = true;
		return 0;
	case ARGP_KEY_ARG:
		if (run->scenario != NULL)
			argp_error(state, "one scenario at a time: \"%s\" is the second", arg);
		run->scenario = arg;
		return 0;
	case ARGP_KEY_END:
		if (run->scenario == NULL)
			argp_error(state, "which scenario? topo/scenarios/ has some");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "SCENARIO",
	.doc = "Runs a scenario in virtual time, diagnoses it and prints the verdict.\v"
	       "DIR then holds verdict.json, report.html, report.txt, steps.csv, run.json, truth.json (what was injected; "
	       "the diagnosis never sees it), waiting.dot, provenance.dot and records.bin, the recorded stream.",
};

/* The fabric under way, for on_signal(). Set before signals are handled. */
static volatile sig_atomic_t fabric_pid;

/* Asked to end: the fabric ends its run, and the verdict on what there is follows. */
static void
on_signal(int signal)
{
	(void)signal;
	if (fabric_pid > 0)
		kill((pid_t)fabric_pid, SIGTERM);
}

/* mkdir -p */
static int
make_dirs(const char *dir, struct err *err)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
	for (char *p = path + 1; *p != '\0'; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		mkdir(path, 0777);
		*p = '/';
	}
	if (mkdir(path, 0777) < 0 && errno != EEXIST)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return 0;
}

/* Two runs must not write into one directory. @return descriptor that holds the lock, or negative with err set */
static int
lock_dir(const char *dir, struct err *err)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", dir, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return err_set(err, -EBUSY, "%s: another run writes there; give --out DIR", dir);
	}
	return fd;
}

/* out/NAME for .../NAME.cfg */
static void
default_out(const char *scenario, char *buf, size_t cap)
{
	const char *slash = strrchr(scenario, '/');
	const char *base = slash != NULL ? slash + 1 : scenario;
	size_t len = strlen(base);

	if (len > 4 && strcmp(base + len - 4, ".cfg") == 0)
		len -= 4;
	snprintf(buf, cap, "out/%.*s", (int)len, base);
}

/* Starts the analyzer and waits for its socket. @return pid or negative */
static pid_t
start_analyzer(const struct run_options *run, const char *socket, const char *dir, struct err *err)
{
	struct child_args args = { .argv = { "analyzer", "--listen", socket, "--out", dir }, .count = 5 };
	uint64_t deadline_ns = clock_now_ns() + ANALYZER_START_NS;
	char path[PATH_MAX];
	pid_t pid;
	int status;

	if (child_find("analyzer", "diag", path, sizeof(path), err) < 0)
		return -ENOENT;
	/* It prints when the stream has ended, and so after all that dpswitch has to say. */
	if (!run->json && child_add(&args, "--print", err) < 0)
		return -E2BIG;
	pid = child_start(path, &args, true, err);
	while (pid > 0 && access(socket, F_OK) < 0) {
		if (child_poll(pid, &status))
			return err_set(err, -ECHILD, "the analyzer ended at once with status %d", status);
		if (clock_now_ns() > deadline_ns) {
			kill(pid, SIGTERM);
			child_wait(pid);
			return err_set(err, -ETIMEDOUT, "the analyzer did not open %s", socket);
		}
		clock_sleep_until_ns(clock_now_ns() + ANALYZER_POLL_NS);
	}
	return pid;
}

static pid_t
start_dpswitch(const struct run_options *run, const char *socket, const char *dir, struct err *err)
{
	struct child_args args = { .argv = { "dpswitch", run->scenario, "--analyzer", socket, "--out", dir }, .count = 6 };
	char path[PATH_MAX];

	if (child_find("dpswitch", "dpswitch", path, sizeof(path), err) < 0)
		return -ENOENT;
	if (child_add(&args, run->json ? "--quiet" : "--brief", err) < 0)
		return -E2BIG;
	for (size_t i = 0; i < run->pass.count; i++)
		if (child_add(&args, run->pass.argv[i], err) < 0)
			return -E2BIG;
	return child_start(path, &args, false, err);
}

static int
show(const struct run_options *run, const char *dir, int fabric_status, int analyzer_status)
{
	struct err err = { 0 };
	int findings;

	if (analyzer_status == 128 + SIGPIPE)
		return fabric_status; /* nobody reads what it prints; the files are complete */
	if (analyzer_status != 0) {
		fprintf(stderr,
			"rocelab: the analyzer ended with status %d; the recorded stream is kept: rocelab diagnose %s\n",
			analyzer_status, dir);
		return EXIT_FAILED;
	}
	if (run->json && verdict_print(dir, &err) < 0) {
		fprintf(stderr, "rocelab: %s\n", err.text);
		return EXIT_FAILED;
	}
	if (fabric_status != EXIT_DONE)
		return EXIT_FAILED;
	findings = run->fail_on_finding ? verdict_findings(dir, &err) : 0;
	if (findings < 0)
		fprintf(stderr, "rocelab: %s\n", err.text);
	return findings != 0 ? EXIT_FAILED : EXIT_DONE;
}

/* Without a stream there is nothing to wait for: bad input, or a fabric that died before it connected. */
static int
wait_for_analyzer(pid_t analyzer, const char *socket, int fabric_status)
{
	uint64_t deadline_ns = clock_now_ns() + ANALYZER_START_NS;
	int status;

	/* The analyzer removes its socket when somebody has connected. */
	while (fabric_status > EXIT_USAGE && access(socket, F_OK) == 0 && clock_now_ns() < deadline_ns) {
		if (child_poll(analyzer, &status))
			return status;
		clock_sleep_until_ns(clock_now_ns() + ANALYZER_POLL_NS);
	}
	if (fabric_status == EXIT_USAGE || (fabric_status > EXIT_USAGE && access(socket, F_OK) == 0))
		kill(analyzer, SIGTERM);
	return child_wait(analyzer);
}

static int
run_programs(const struct run_options *run, const char *dir, const char *socket)
{
	struct err err = { 0 };
	pid_t analyzer, fabric;
	int fabric_status, analyzer_status;

	analyzer = start_analyzer(run, socket, dir, &err);
	if (analyzer < 0) {
		fprintf(stderr, "rocelab: %s\n", err.text);
		return EXIT_FAILED;
	}
	fabric = start_dpswitch(run, socket, dir, &err);
	if (fabric < 0) {
		fprintf(stderr, "rocelab: %s\n", err.text);
		kill(analyzer, SIGTERM);
		child_wait(analyzer);
		return EXIT_FAILED;
	}
	fabric_pid = fabric;
	fabric_status = child_wait(fabric);
	fabric_pid = 0;
	analyzer_status = wait_for_analyzer(analyzer, socket, fabric_status);
	if (fabric_status == EXIT_USAGE)
		return EXIT_USAGE;
	if (fabric_status > EXIT_USAGE)
		fprintf(stderr, "rocelab: dpswitch ended with status %d\n", fabric_status);
	return show(run, dir, fabric_status, analyzer_status);
}

int
command_run(int argc, char **argv)
{
	const struct sigaction action = { .sa_handler = on_signal };
	struct run_options run = { 0 };
	char dir[PATH_MAX], private_dir[] = "/tmp/rocelab-XXXXXX", socket[sizeof(private_dir) + 16];
	int ret;

	argv[0] = "rocelab run";
	if (argp_parse(&argp, argc, argv, 0, NULL, &run) != 0)
		return EXIT_USAGE;
	if (run.out != NULL)
		snprintf(dir, sizeof(dir), "%s", run.out);
	else
		default_out(run.scenario, dir, sizeof(dir));
	if (make_dirs(dir, &run.err) < 0 || lock_dir(dir, &run.err) < 0 || mkdtemp(private_dir) == NULL) {
		fprintf(stderr, "rocelab: %s\n", run.err.text[0] != '\0' ? run.err.text : strerror(errno));
		return EXIT_USAGE;
	}
	snprintf(socket, sizeof(socket), "%s/records.sock", private_dir);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	ret = run_programs(&run, dir, socket);
	unlink(socket);
	rmdir(private_dir);
	return ret;
}

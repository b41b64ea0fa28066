/* SPDX-License-Identifier: BSD-3-Clause */
/* dpswitch: the fabric with its embedded hosts. Loads a scenario, runs it, exports records. */
#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common/interrupt.h"
#include "common/log.h"
#include "common/outfile.h"
#include "common/private_dir.h"
#include "common/program.h"
#include "common/run_files.h"
#include "common/units.h"
#include "dpswitch/edge/port/port.h"
#include "dpswitch/lcore/launch.h"
#include "emulation/emulation.h"
#include "emulation/run/run.h"
#include "scenario/scenario.h"

#define CALIBRATION_HOPS 50000000ULL
#define CAPTURED_BYTES 65536 /* of the names of captured ports */

struct options {
	struct scenario_options scenario;
	struct run_options run;
	const char *calibration, *try_port;
	const char *status; /* of a job: file by which mpirun's parent knows how this process is; NULL: none */
	char captured[CAPTURED_BYTES];
};

static const struct argp_option option_table[] = {
	{ "set", SCENARIO_ARGS_SET, "PATH=VALUE", 0, "Override a key of the scenario", 0 },
	{ "seed", SCENARIO_ARGS_SEED, "N", 0, "Seed of every random choice", 0 },
	{ "lcores", 'l', "N", 0, "DPDK lcores that share the fabric (default 1)", 0 },
	{ "eal", 'e', "ARGS", 0, "Further arguments of DPDK's EAL, in one word: \"--vdev net_null0 -a 0000:03:00.0\"", 0 },
	{ "out", 'o', "DIR", 0,
	  "Write the recording, steps.csv, run.json and truth.json to DIR, made if absent (default .)", 0 },
	{ "analyzer", 'a', "SOCKET", 0, "Send the records also to the analyzer at this unix socket", 0 },
	{ "diagnoser", 'd', "PROGRAM", 0, "Run a plugin diagnoser as well (docs/bring-your-own.md); may be repeated", 0 },
	{ "hosts", 'H', "DIR", 0, "Create the sockets of kernel hosts in DIR: NAME.vhost, NAME.manage", 0 },
	{ "management", 'm', "DIR", 0, "Create management sockets of devices in DIR (default: management in --out)", 0 },
	{ "capture", 'c', "PORT[,PORT...]", 0,
	  "Capture both directions of these ports (\"node:port\") into DIR/" RUN_CAPTURE "; may be repeated", 0 },
	{ "capture-bytes", 'B', "SIZE", 0, "Capture at most SIZE bytes of each frame (default: all)", 0 },
	{ "capture-limit", 'L', "SIZE", 0, "Limit the capture file to SIZE; further frames are counted only (default 1GB)",
	  0 },
	{ "partition", 'P', "I/N", 0,
	  "Run the I-th of N partitions of the fabric, from 0 (default: all of it); partition 0 exports records", 0 },
	{ "partitions-at", 'A', "ADDRESS,...", 0,
	  "Addresses at which the partitions listen, in their order: paths of unix sockets, with a '/', or HOST:PORT", 0 },
	{ "token", 'T', "FILE", 0,
	  "Authenticate partitions by the first line of FILE, if their addresses are open to others", 0 },
	{ "processes", 'M', NULL, 0,
	  "Run one partition of the fabric as a process that mpirun has started, in virtual time; all but the first write "
	  "to "
	  "DIR/" RUN_PARTITIONS "/K",
	  0 },
	{ "status", 'W', "FILE", 0,
	  "Write this process's number, and at its end the exit code, to FILE (first process); another one that fails "
	  "makes FILE.failed",
	  0 },
	{ "quiet", 'q', NULL, 0, "No progress, no results", 0 },
	{ "brief", 'b', NULL, 0, "Print results only for verified elements: the analyzer prints the rest", 0 },
	{ "try-port", 'p', "PORT", 0,
	  "Only open and close a port, as scenarios name it; write an error to DIR/port.txt (--out)", 0 },
	{ "calibration", 'y', "DIR", 0, "Only measure a plain mac-swap hop, into DIR/calibration.json", 0 },
	{ 0 },
};

/* @return the size; ends the program if it is none, or out of bounds */
static uint64_t
parse_size(const struct argp_state *state, const char *option, const char *arg, uint64_t min_bytes, uint64_t max_bytes)
{
	uint64_t size_bytes = 0;

	if (units_parse_bytes(arg, &size_bytes) < 0)
		args_error(state, "%s %s: give a size, such as 128, 64KiB or 1GB", option, arg);
	if (size_bytes < min_bytes || size_bytes > max_bytes)
		args_error(state, "%s %s: give %llu B at least%s", option, arg, (unsigned long long)min_bytes,
			   max_bytes == UINT16_MAX ? " and 65535 B at most" : "");
	return size_bytes;
}

/* Each --capture adds its ports to those of others. */
static void
add_captured(const struct argp_state *state, struct options *options, const char *arg)
{
	char *list = options->captured;
	size_t used = strlen(list);
	int more = snprintf(list + used, CAPTURED_BYTES - used, "%s%s", options->run.capture.ports != NULL ? "," : "", arg);

	if ((size_t)more >= CAPTURED_BYTES - used)
		args_error(state, "--capture: more than %d B of names", CAPTURED_BYTES - 1);
	options->run.capture.ports = list;
}

/* Parses options of a partitioned fabric, or those of the scenario. */
static error_t
parse_partition(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	struct err err = { 0 };

	switch (key) {
	case 'P':
		if (partition_number(arg, &options->run.partitions, &err) < 0)
			args_error(state, "--partition %s", err.text);
		return 0;
	case 'A':
		options->run.partitions.addresses = arg;
		return 0;
	case 'T':
		options->run.partitions.token = arg;
		return 0;
	case 'W':
		options->status = arg;
		return 0;
	case 'M':
		options->run.partitions.processes = true;
		return 0;
	default:
		return scenario_args_parse(&options->scenario, key, arg, state);
	}
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 'l':
		options->run.lcores = (uint32_t)args_number(state, "--lcores", arg, 1, FABRIC_MAX_LCORES);
		return 0;
	case 'e':
		options->run.eal = arg;
		return 0;
	case 'o':
		options->run.out = arg;
		return 0;
	case 'a':
		options->run.analyzer = arg;
		return 0;
	case 'd':
		if (options->run.ndiagnosers <= PLUGIN_PROGRAMS) /* one too many is reported where they are started */
			options->run.diagnosers[options->run.ndiagnosers++] = arg;
		return 0;
	case 'H':
		options->run.hosts = arg;
		return 0;
	case 'm':
		options->run.management = arg;
		return 0;
	case 'c':
		add_captured(state, options, arg);
		return 0;
	case 'B':
		options->run.capture.snap_bytes = (uint32_t)parse_size(state, "--capture-bytes", arg, 14, UINT16_MAX);
		return 0;
	case 'L':
		options->run.capture.limit_bytes = parse_size(state, "--capture-limit", arg, 1000, UINT64_MAX);
		return 0;
	case 'q':
		options->run.quiet = true;
		return 0;
	case 'b':
		options->run.brief = true;
		return 0;
	case 'p':
		options->try_port = arg;
		return 0;
	case 'y':
		options->calibration = arg;
		return 0;
	case ARGP_KEY_END:
		if ((options->run.partitions.count != 0) != (options->run.partitions.addresses != NULL))
			args_error(state, "--partition and --partitions-at must be given together");
		if (options->run.partitions.count != 0 && options->run.partitions.processes)
			args_error(state, "--processes are numbered by mpirun: leave --partition out");
		return 0;
	case ARGP_KEY_NO_ARGS:
		return options->calibration != NULL || options->try_port != NULL
			       ? 0
			       : scenario_args_parse(&options->scenario, key, arg, state);
	default:
		return parse_partition(key, arg, state);
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse,
	.args_doc = "SCENARIO",
	.doc = "Runs a scenario's fabric and its embedded hosts; hosts with their own kernel attach to it. `rocelab run` "
	       "starts this and an analyzer.",
};

/* @return exit code. A folder that takes no file is reported before anything is measured */
static int
calibration(const struct options *options, struct err *err)
{
	const struct lcore_config lcore = { .lcores = 1, .eal = options->run.eal };
	struct outfile out;
	double ns = -1;
	int ret = lcore_init(&lcore, err);

	if (ret < 0)
		return EXIT_FAILED;
	ret = outfile_open(&out, options->calibration, "calibration.json", err);
	if (ret == 0)
		ns = calibration_macswap_ns(CALIBRATION_HOPS, err);
	lcore_fini();
	if (ret < 0)
		return EXIT_FAILED;
	fprintf(out.file, "{ \"macswap_ns\": %.3f }\n", ns);
	return outfile_close(&out, ns < 0 ? -EIO : 0, err) == 0 ? EXIT_DONE : EXIT_FAILED;
}

/* @return exit code: EXIT_FAILED where the port cannot be opened */
static int
try_port(const struct options *options, struct err *err)
{
	const struct port_config config = { .name = "try" };
	const struct lcore_config lcore = { .lcores = 1, .eal = options->run.eal, .pci = isdigit(options->try_port[0]) };
	struct err why = { 0 };
	struct port *port = NULL;
	struct outfile out;

	if (lcore_init(&lcore, &why) == 0) {
		port = port_open(&config, options->try_port, &why);
		port_close(port);
		lcore_fini();
	}
	if (outfile_open(&out, options->run.out, "port.txt", err) < 0)
		return EXIT_FAILED;
	fputs(why.text, out.file);
	return outfile_close(&out, 0, err) == 0 && port != NULL ? EXIT_DONE : EXIT_FAILED;
}

/* @param code  negative: the process has begun */
static void
write_status(const struct options *options, int code)
{
	bool first = options->run.partitions.which == 0;
	char path[PATH_MAX];
	FILE *file;

	if (options->status == NULL || !options->run.partitions.processes || (!first && code != EXIT_FAILED) ||
	    snprintf(path, sizeof(path), "%s%s", options->status, first ? "" : PRIVATE_DIR_FAILED) >= PATH_MAX)
		return;
	file = fopen(path, "we");
	if (file == NULL)
		return;
	fprintf(file, "%d\n", (int)getpid());
	if (code >= 0)
		fprintf(file, "%d\n", code);
	fclose(file);
}

/*
 * A process of a job: all but the first are quiet, and write to a folder of their own.
 * @param dir  of PATH_MAX bytes
 * @return exit code
 */
static int
join_job(struct options *options, char *dir, struct err *err)
{
	struct run_options *run = &options->run;

	if (!run->partitions.processes)
		return EXIT_DONE;
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* of mpirun */
	run->partitions.lcores = run->lcores;
	if (partition_join_job(&run->partitions, err) < 0)
		return EXIT_USAGE;
	write_status(options, -1);
	if (run->partitions.which == 0)
		return EXIT_DONE;
	run->quiet = true;
	run->analyzer = NULL;
	if (snprintf(dir, PATH_MAX, "%s/" RUN_PARTITIONS "/%u", run->out, run->partitions.which) >= PATH_MAX) {
		err_set(err, -ENAMETOOLONG, "%s: too long a path", run->out);
		return EXIT_USAGE;
	}
	run->out = dir;
	return run_dir_make(dir, err) < 0 ? EXIT_USAGE : EXIT_DONE;
}

/* At exit, before what stdout did not take is reported: a reader that has gone wants no more. */
static void
forgive_reader(void)
{
	struct pollfd out = { .fd = STDOUT_FILENO };

	if (poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0 && freopen("/dev/null", "w", stdout) == NULL)
		log_debug("no /dev/null: %s", strerror(errno));
}

/* The reader of standard output may go before the run ends, as `head` does: the run's files are written all the same. */
static void
outlive_reader(void)
{
	signal(SIGPIPE, SIG_IGN);
	atexit(forgive_reader);
}

int
main(int argc, char **argv)
{
	struct options options = {
		.run = { .capture.limit_bytes = CAPTURE_LIMIT_BYTES, .out = ".", .lcores = 1 },
	};
	struct err err = { 0 };
	struct scenario *scenario;
	char dir[PATH_MAX];
	int ret = EXIT_USAGE;

	if (program_begin() != EXIT_DONE)
		return EXIT_USAGE;
	if (args_parse(&argp, argc, argv, 0, &options) != 0)
		return EXIT_USAGE;
	if (options.calibration != NULL || options.try_port != NULL) {
		ret = options.try_port != NULL ? try_port(&options, &err) : calibration(&options, &err);
		if (err.text[0] != '\0')
			log_error("%s", err.text);
		return ret;
	}
	interrupt_catch(NULL);
	outlive_reader();
	scenario = join_job(&options, dir, &err) == EXIT_DONE ? scenario_load(&options.scenario, &err) : NULL;
	if (scenario != NULL) {
		ret = run_scenario(&options.run, scenario, &err);
		scenario_destroy(scenario);
	} else {
		partition_leave_job(&options.run.partitions, false);
	}
	if (options.run.partitions.processes && options.run.partitions.which != 0 && ret == EXIT_USAGE)
		return ret; /* the first process says why */
	write_status(&options, ret);
	if (err.text[0] != '\0' && ret == EXIT_USAGE)
		log_refusal("%s", err.text);
	else if (err.text[0] != '\0')
		log_error("%s", err.text);
	return ret;
}

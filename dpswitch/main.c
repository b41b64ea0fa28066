/* SPDX-License-Identifier: BSD-3-Clause */
/* dpswitch: the fabric with its embedded hosts. Loads a scenario, runs it, exports records. */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/emulation/capturing.h"
#include "cli/emulation/emulation.h"
#include "cli/emulation/headers.h"
#include "cli/emulation/outputs.h"
#include "cli/emulation/results.h"
#include "common/clock.h"
#include "common/exit_code.h"
#include "common/stdio_guard.h"
#include "common/units.h"
#include "dpswitch/lcore/launch.h"
#include "dpswitch/lcore/yardstick.h"

#define YARDSTICK_HOPS 50000000ULL

struct options {
	struct scenario_options scenario;
	struct capture_options capture;
	const char *out, *analyzer, *yardstick;
	uint32_t lcores;
	bool quiet, brief;
};

static const struct argp_option option_table[] = {
	{ "set", 's', "PATH=VALUE", 0, "Override a key of the scenario", 0 },
	{ "seed", 'S', "N", 0, "Seed of every random choice", 0 },
	{ "lcores", 'l', "N", 0, "DPDK lcores that share the fabric (default 1)", 0 },
	{ "out", 'o', "DIR", 0, "Where recording, steps.csv, run.json and truth.json go (default .)", 0 },
	{ "analyzer", 'a', "SOCKET", 0, "Unix socket of an analyzer that gets the records too", 0 },
	{ "capture", 'c', "PORT[,PORT...]", 0, "Write what crosses these ports (\"node:port\") into DIR/" CAPTURE_FILE, 0 },
	{ "capture-bytes", 'B', "SIZE", 0, "Of each frame at most so much (default: all of it)", 0 },
	{ "capture-limit", 'L', "SIZE", 0, "Of the file at most so much; frames beyond are counted (default 1GB)", 0 },
	{ "quiet", 'q', NULL, 0, "No progress, no results", 0 },
	{ "brief", 'b', NULL, 0, "Results only where elements were verified: the analyzer shows the rest", 0 },
	{ "yardstick", 'y', "DIR", 0, "Time a plain mac-swap hop instead, into DIR/yardstick.json", 0 },
	{ 0 },
};

/* @return the size; ends the program if it is none, or out of bounds */
static uint64_t
parse_size(const struct argp_state *state, const char *option, const char *arg, uint64_t min_bytes, uint64_t max_bytes)
{
	uint64_t size_bytes = 0;

	if (units_parse_bytes(arg, &size_bytes) < 0)
		argp_error(state, "%s %s: give a size, such as 128, 64KiB or 1GB", option, arg);
	if (size_bytes < min_bytes || size_bytes > max_bytes)
		argp_error(state, "%s %s: give %llu B at least%s", option, arg, (unsigned long long)min_bytes,
			   max_bytes == UINT16_MAX ? " and 65535 B at most" : "");
	return size_bytes;
}

static error_t
parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;
	char *end;

	switch (key) {
	case 's':
		if (options->scenario.nsets == SCENARIO_MAX_SETS)
			argp_error(state, "more than %d --set", SCENARIO_MAX_SETS);
		options->scenario.sets[options->scenario.nsets++] = arg;
		return 0;
	case 'S':
		options->scenario.seed = arg;
		return 0;
	case 'l':
		options->lcores = (uint32_t)strtoul(arg, &end, 10);
		if (*end != '\0' || options->lcores == 0)
			argp_error(state, "--lcores %s: give a number from 1", arg);
		return 0;
	case 'o':
		options->out = arg;
		return 0;
	case 'a':
		options->analyzer = arg;
		return 0;
	case 'c':
		options->capture.ports = arg;
		return 0;
	case 'B':
		options->capture.snap_bytes = (uint32_t)parse_size(state, "--capture-bytes", arg, 14, UINT16_MAX);
		return 0;
	case 'L':
		options->capture.limit_bytes = parse_size(state, "--capture-limit", arg, 1000, UINT64_MAX);
		return 0;
	case 'q':
		options->quiet = true;
		return 0;
	case 'b':
		options->brief = true;
		return 0;
	case 'y':
		options->yardstick = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (options->scenario.path != NULL)
			argp_error(state, "one scenario at a time: \"%s\" is the second", arg);
		options->scenario.path = arg;
		return 0;
	case ARGP_KEY_END:
		if (options->scenario.path == NULL && options->yardstick == NULL)
			argp_error(state, "which scenario?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = option_table,
	.parser = parse,
	.args_doc = "SCENARIO",
	.doc = "Runs a scenario's fabric and its embedded hosts in virtual time. `rocelab run` starts this and an analyzer.",
};

static int
connect_analyzer(const char *path, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd;

	if (path == NULL)
		return -1;
	if (strlen(path) >= sizeof(address.sun_path))
		return err_set(err, -ENAMETOOLONG, "%s: a socket's path has at most %zu characters", path,
			       sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		int ret = -errno;

		if (fd >= 0)
			close(fd);
		return err_set(err, ret, "%s: no analyzer there: %s", path, strerror(-ret));
	}
	return fd;
}

static int
write_outputs(const struct emulation *emulation, const char *dir, struct err *err)
{
	int ret = output_steps(emulation, dir, err);

	if (ret == 0)
		ret = output_truth(emulation, dir, err);
	if (ret == 0)
		ret = output_run(emulation, dir, err);
	return ret;
}

static void
tell_of_capture(const struct options *options, const struct emulation *emulation)
{
	struct capture_totals totals;
	char limit[32], when[32];

	capture_sum(emulation->capture, &totals);
	if (emulation->capture_errno != 0)
		fprintf(stderr, "dpswitch: %s/" CAPTURE_FILE " is cut short: %s\n", options->out,
			strerror(emulation->capture_errno));
	if (totals.missing != 0)
		fprintf(stderr,
			"dpswitch: %s/" CAPTURE_FILE " reached its limit of %s at %s: %" PRIu64 " of %" PRIu64
			" frames are not in it; --capture-limit and --capture-bytes make room\n",
			options->out, units_format_bytes(options->capture.limit_bytes, limit, sizeof(limit)),
			units_format_time(totals.limit_ps, when, sizeof(when)), totals.missing, totals.frames);
}

/* @return exit code */
static int
conclude(const struct options *options, const struct emulation *emulation)
{
	struct invariant results[EMULATION_INVARIANTS];
	struct err err = { 0 };

	if (write_outputs(emulation, options->out, &err) < 0) {
		fprintf(stderr, "dpswitch: %s\n", err.text);
		return EXIT_FAILED;
	}
	if (emulation->export.peer_errno != 0)
		fprintf(stderr, "dpswitch: the analyzer went away (%s); the recording goes on in %s/records.bin\n",
			strerror(emulation->export.peer_errno), options->out);
	if (emulation->export.recording_errno != 0)
		fprintf(stderr, "dpswitch: %s/records.bin is cut short: %s\n", options->out,
			strerror(emulation->export.recording_errno));
	if (emulation->capture != NULL)
		tell_of_capture(options, emulation);
	if (emulation->error_text != NULL)
		fprintf(stderr, "dpswitch: %s\n", emulation->error_text);
	if (emulation_check(emulation, results) == 0 && results_wrong(emulation) == 0)
		return emulation->export.recording_errno == 0 && emulation->capture_errno == 0 ? EXIT_DONE : EXIT_FAILED;
	for (uint32_t i = 0; i < EMULATION_INVARIANTS; i++)
		if (!results[i].holds)
			fprintf(stderr, "dpswitch: invariant %s does not hold: %s\n", results[i].name, results[i].text);
	return EXIT_FAILED;
}

static void
introduce(const struct options *options, const struct emulation *emulation)
{
	const struct scenario *sc = emulation->scenario;
	char window[32];

	printf("# %s: %u switches, %u hosts, %u links; seed %lld, %u lcore%s, windows of %s; configuration: %s/effective.cfg\n",
	       sc->name, sc->topo->nswitches, sc->topo->nhosts, sc->topo->nlinks, (long long)sc->root.seed,
	       options->lcores, options->lcores > 1 ? "s" : "",
	       units_format_time(emulation->fabric->window_ps, window, sizeof(window)), options->out);
	fflush(stdout);
}

/* Connects the analyzer and opens the recording. @param socket  set to the connection, -1: none. @return NULL with err */
static struct exporter *
open_stream(const struct options *options, const struct scenario *scenario, int *socket, struct err *err)
{
	char recording[PATH_MAX];
	struct exporter *exporter = NULL;

	if (output_config(scenario, options->out, err) < 0)
		return NULL;
	*socket = connect_analyzer(options->analyzer, err);
	if (*socket < 0 && options->analyzer != NULL)
		return NULL;
	snprintf(recording, sizeof(recording), "%s/records.bin", options->out);
	exporter = exporter_create(&scenario->exporter, recording, *socket, err);
	if (exporter == NULL && *socket >= 0)
		close(*socket);
	return exporter;
}

/* From a loaded scenario to an exit code. Whatever can be refused is, before an analyzer hears of the run. */
static int
run(const struct options *options, struct scenario *scenario, struct err *err)
{
	const struct emulation_options how = { .lcores = options->lcores, .phase = EMULATION_RUN };
	struct emulation *emulation = emulation_create(scenario, &how, err);
	struct exporter *exporter = NULL;
	int ret, socket = -1;

	if (emulation != NULL && capturing_begin(emulation, &options->capture, options->out, err) == 0 &&
	    lcore_init(options->lcores, err) == 0)
		exporter = open_stream(options, scenario, &socket, err);
	if (exporter == NULL) {
		emulation_destroy(emulation);
		return EXIT_USAGE;
	}
	emulation->progress = !options->quiet && isatty(STDERR_FILENO);
	if (!options->quiet)
		introduce(options, emulation);
	headers_send(scenario, exporter);
	emulation_begin(emulation, exporter, clock_now_ns());
	ret = lcore_run(emulation->fabric, err);
	emulation_end(emulation);
	if (!options->quiet && (!options->brief || scenario->plan->real))
		results_print(emulation, stdout);
	if (socket >= 0)
		close(socket); /* the analyzer sees the end of the stream and starts to think */
	ret = ret < 0 ? EXIT_FAILED : conclude(options, emulation);
	emulation_destroy(emulation);
	exporter_destroy(exporter);
	lcore_fini();
	return ret;
}

static int
yardstick(const char *dir, struct err *err)
{
	char path[PATH_MAX];
	FILE *file;
	double ns;

	if (lcore_init(1, err) < 0)
		return EXIT_FAILED;
	ns = yardstick_macswap_ns(YARDSTICK_HOPS, err);
	lcore_fini();
	if (ns < 0)
		return EXIT_FAILED;
	snprintf(path, sizeof(path), "%s/yardstick.json", dir);
	file = fopen(path, "w");
	if (file == NULL || fprintf(file, "{ \"macswap_ns\": %.3f }\n", ns) < 0 || fclose(file) != 0) {
		err_set(err, -errno, "%s: %s", path, strerror(errno));
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

int
main(int argc, char **argv)
{
	struct options options = { .capture.limit_bytes = CAPTURE_LIMIT_BYTES, .out = ".", .lcores = 1 };
	struct err err = { 0 };
	struct scenario *scenario;
	int ret = EXIT_USAGE;

	stdio_guard();
	argp_err_exit_status = EXIT_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &options) != 0)
		return EXIT_USAGE;
	if (options.yardstick != NULL) {
		ret = yardstick(options.yardstick, &err);
		if (err.text[0] != '\0')
			fprintf(stderr, "dpswitch: %s\n", err.text);
		return ret;
	}
	scenario = scenario_load(&options.scenario, &err);
	if (scenario != NULL) {
		ret = run(&options, scenario, &err);
		scenario_destroy(scenario);
	}
	if (err.text[0] != '\0')
		fprintf(stderr, "dpswitch: %s\n", err.text);
	return ret;
}

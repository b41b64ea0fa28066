/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/run/run.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/exit_code.h"
#include "common/interrupt.h"
#include "common/log.h"
#include "common/run_files.h"
#include "common/units.h"
#include "common/unix_socket.h"
#include "dpswitch/lcore/launch.h"
#include "emulation/external/attach.h"
#include "emulation/foretell.h"
#include "emulation/headers.h"
#include "emulation/idle_faults.h"
#include "emulation/operators/live.h"
#include "emulation/outputs/flow_summary.h"
#include "emulation/outputs/outputs.h"
#include "emulation/outputs/results.h"

/* PORT_MBUFS of PORT_FRAME_ROOM each, and what comes with them. */
#define PORT_MEMORY_MB 48

/* Each that can be written is: run.json says how the run ended, wherever the others did not fit. */
static int
write_outputs(const struct emulation *emulation, const struct attach *attach, const char *dir, struct err *err)
{
	int run = output_run(emulation, attach_json(attach, emulation->scenario->topo), dir, err);
	int steps = output_steps(emulation, dir, err), flows = output_flows(emulation, dir, err);
	int truth = output_truth(emulation, dir, err);

	return run == 0 && steps == 0 && flows == 0 && truth == 0 ? 0 : -EIO;
}

static void
warn_of_capture(const struct run_options *options, const struct emulation *emulation)
{
	struct capture_totals totals;
	char limit[32], when[32];

	capture_sum(emulation->capture, &totals);
	if (emulation->capture_errno != 0)
		log_warning("%s/" RUN_CAPTURE " is cut short: %s", options->out, strerror(emulation->capture_errno));
	else if (totals.lagged != 0)
		log_warning("%s/" RUN_CAPTURE " lacks %" PRIu64 " of %" PRIu64 " frames: the disk did not keep up; "
			    "--capture-bytes makes less of them",
			    options->out, totals.lagged, totals.frames);
	if (totals.missing != 0)
		log_warning("%s/" RUN_CAPTURE " reached its limit of %s at %s: %" PRIu64 " of %" PRIu64
			    " frames are not in it; --capture-limit and --capture-bytes make room",
			    options->out, units_format_bytes(options->capture.limit_bytes, limit, sizeof(limit)),
			    units_format_time(totals.limit_ps, when, sizeof(when)), totals.missing, totals.frames);
}

/* What the outputs lack. @return whether those that are kept are whole */
static bool
warn_of_stream(const struct run_options *options, const struct exporter *exporter)
{
	bool whole = true;

	for (const struct output_ops *const *ops = output_registry; *ops != NULL; ops++) {
		struct output_stats stats = exporter_output(exporter, *ops);

		(*ops)->tell(&stats, options->out);
		whole &= !(*ops)->kept || stats.error == 0;
	}
	return whole;
}

/* Nobody finds in the verdict what did not happen. */
static void
warn_of_idle_faults(const struct emulation *emulation)
{
	json_t *list = idle_faults_json(emulation), *text;
	size_t i;

	json_array_foreach(list, i, text) log_warning("%s", json_string_value(text));
	json_decref(list);
}

/* Hosts that reported what cannot be: the verdict lacks it. */
static void
warn_of_refusals(const struct attach *attach)
{
	for (uint32_t i = 0; attach != NULL && i < attach_hosts(attach); i++) {
		struct attach_host host = attach_host(attach, i);

		if (host.manage.refused_records != 0)
			log_warning("%" PRIu64 " records of a host were refused, the first: %s",
				    host.manage.refused_records, host.refused);
	}
}

/* @return exit code */
static int
conclude(const struct run_options *options, const struct emulation *emulation, const struct attach *attach)
{
	struct invariant results[EMULATION_INVARIANTS];
	struct err err = { 0 };
	bool written = write_outputs(emulation, attach, options->out, &err) == 0;

	if (!written)
		log_error("%s", err.text);
	written &= warn_of_stream(options, emulation->exporter);
	if (emulation->capture != NULL)
		warn_of_capture(options, emulation);
	if (emulation->error_text != NULL)
		log_error("%s", emulation->error_text);
	warn_of_refusals(attach);
	warn_of_idle_faults(emulation);
	if (emulation_check(emulation, results) == 0 && results_wrong(emulation) == 0)
		return written && emulation->capture_errno == 0 ? EXIT_DONE : EXIT_FAILED;
	for (uint32_t i = 0; i < EMULATION_INVARIANTS; i++)
		if (!results[i].holds)
			log_error("invariant %s does not hold: %s", results[i].name, results[i].text);
	return EXIT_FAILED;
}

static void
introduce(const struct run_options *options, const struct emulation *emulation)
{
	const struct scenario *sc = emulation->scenario;
	char window[32];

	printf("# %s: %u switches, %u hosts, %u links; seed %lld, %u lcore%s, windows of %s; configuration: "
	       "%s/effective.cfg\n",
	       sc->name, sc->topo->nswitches, sc->topo->nhosts, sc->topo->nlinks, (long long)sc->root.seed, options->lcores,
	       options->lcores > 1 ? "s" : "", units_format_time(emulation->fabric->window_ps, window, sizeof(window)),
	       options->out);
	if (emulation->foretold != NULL)
		printf("# prediction: %u runs of %u iterations simulated in %.1f s; volumes: %s/" RUN_PREDICTION "\n",
		       emulation->foretold->runs, emulation->foretold->iterations,
		       (double)emulation->foretold->wall_ns / 1e9, options->out);
	fflush(stdout);
}

/* Opens what fills while the run goes on. @param socket  of the analyzer, -1: none. @return NULL with err */
static struct exporter *
open_files(const struct run_options *options, struct emulation *emulation, int socket, struct err *err)
{
	const struct scenario *scenario = emulation->scenario;
	struct output_target targets[2];
	struct exporter *exporter;
	char recording[PATH_MAX];
	uint32_t count = 0;

	if (snprintf(recording, sizeof(recording), "%s/" RUN_RECORDING, options->out) >= (int)sizeof(recording)) {
		err_set(err, -ENAMETOOLONG, "%s: the path is too long", options->out);
		return NULL;
	}
	if (run_files_remove(options->out, err) < 0 || run_files_remove_systems(options->out, err) < 0 ||
	    (scenario->nexternal == 0 && run_files_remove_guests(options->out, err) < 0) ||
	    output_config(scenario, options->out, err) < 0 || output_prediction(emulation, options->out, err) < 0 ||
	    capturing_begin(emulation, &options->capture, options->out, err) < 0)
		return NULL;
	targets[count++] = (struct output_target){ .ops = &output_recording, .path = recording };
	if (socket >= 0)
		targets[count++] = (struct output_target){ .ops = &output_analyzer, .fd = socket };
	exporter = exporter_create(&scenario->exporter, targets, count, err);
	if (exporter != NULL)
		exporter_set_clock(exporter, scenario->timing.clock == CLOCK_REAL, interrupt_asked);
	return exporter;
}

/* What an earlier run left in the folder makes way: nobody's input may be among it. */
static int
check_inputs(const struct run_options *options, const struct scenario *scenario, struct err *err)
{
	const struct volumes_params *params = &scenario->volumes;
	char *path;
	int ret = 0;

	if (params->file == NULL || params->file[0] == '\0')
		return 0;
	path = cfg_resolve(scenario->cfg, params->file);
	if (path == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	if (run_files_has(options->out, path))
		ret = cfg_fail(&params->where, "file", err,
			       "%s is of the earlier run in %s, and goes with it: copy it, or give this run another --out",
			       path, options->out);
	free(path);
	return ret;
}

/* The last of what can be refused. */
static int
check_run(const struct run_options *options, const struct scenario *scenario, struct err *err)
{
	int ret = capturing_check(scenario, &options->capture, err);

	if (ret == 0)
		ret = check_inputs(options, scenario, err);
	return ret == 0 ? exporter_check(&scenario->exporter, err) : ret;
}

/*
 * Connects the analyzer, and only then touches the folder.
 * @param socket  set to the connection, -1: none. @return NULL with err
 */
static struct exporter *
open_stream(const struct run_options *options, struct emulation *emulation, int *socket, struct err *err)
{
	struct exporter *exporter;

	*socket = -1;
	if (options->analyzer != NULL && !interrupt_asked()) {
		*socket = unix_connect(options->analyzer, "analyzer", err);
		if (*socket < 0 && !interrupt_asked())
			return NULL;
	}
	if (interrupt_asked()) { /* which may have ended the analyzer */
		err_set(err, -EINTR, "interrupted before the run began");
		if (*socket >= 0)
			close(*socket);
		return NULL;
	}
	exporter = open_files(options, emulation, *socket, err);
	if (exporter == NULL && *socket >= 0)
		close(*socket);
	return exporter;
}

/*
 * Without an analyzer to tell, or a recording to keep, nothing has begun.
 * @return EXIT_DONE with *attach to be destroyed; else with err set, EXIT_NOT_BEGUN where trying again may help
 */
static int
attach_hosts_of(const struct run_options *options, struct scenario *scenario, struct attach **attach, struct err *err)
{
	int ret;

	if (options->hosts == NULL) {
		err_set(err, -EINVAL, "%s: hosts with their own kernel need --hosts DIR; `rocelab run` does all of it",
			cfg_file(scenario->cfg));
		return EXIT_USAGE;
	}
	if (capturing_check(scenario, &options->capture, err) < 0)
		return EXIT_USAGE;
	*attach = attach_create(scenario, options->hosts, err);
	if (*attach == NULL)
		return EXIT_USAGE;
	ret = attach_prepare(*attach, options->lcores, !options->quiet && isatty(STDERR_FILENO), err);
	if (ret == 0)
		return EXIT_DONE;
	attach_destroy(*attach);
	*attach = NULL;
	return ret == -EINVAL ? EXIT_USAGE : EXIT_NOT_BEGUN;
}

/* Packets that take ways of their own overtake each other; not every receiver takes them. */
static void
warn_order(const struct scenario *sc)
{
	const struct balance_ops *balance = sc->balance.ops;

	if (balance->reorders && !balance->per_flow && (!sc->roce.any_order || sc->nexternal != 0))
		log_warning("load_balancing.kind = \"%s\" sends a flow's packets by many ways, and some come too early: a "
			    "go-back-N receiver answers those with NAKs, and everything behind them is sent again%s",
			    balance->name,
			    sc->nexternal != 0 ? "; hosts with their own kernel have no other"
					       : "; host.transport = \"selective\" takes them as they come");
}

static void
warn_late(const struct emulation *emulation)
{
	const struct pacer *pacer = &emulation->pacer;
	double scale = pacer_scale(pacer);
	char worst[32];

	if (scale < 1)
		log_warning("this machine did not keep up: %.1f %% of the windows were late, by up to %s; scale the "
			    "links' rates by %.2f",
			    100.0 * (double)pacer->late_windows / (double)pacer->windows,
			    units_format_time(pacer->worst_late_ps, worst, sizeof(worst)), scale);
}

static void
print_flows(const struct emulation *emulation)
{
	struct flow_summary flows;

	if (flow_summary(emulation, &flows) == 0)
		flow_summary_print(&flows, stdout);
	fflush(stdout);
}

/* The run itself, everything being in place. @return exit code */
static int
run(const struct run_options *options, struct emulation *emulation, struct attach *attach, struct live *live,
    struct exporter *exporter, int socket, struct err *err)
{
	struct scenario *scenario = emulation->scenario;
	int ret;

	emulation->progress = !options->quiet && isatty(STDERR_FILENO);
	if (!options->quiet)
		introduce(options, emulation);
	warn_order(scenario);
	if (attach != NULL)
		exporter_show(exporter, attach_check(attach));
	live_begin(live, emulation);
	headers_send(emulation, exporter);
	exporter_flush(exporter); /* without them nothing can be made of what follows */
	emulation_begin(emulation, exporter, attach != NULL ? attach_start(attach) : clock_now_ns());
	ret = lcore_run(emulation->fabric, err);
	log_debug("the fabric stopped at %llu ps: %d", (unsigned long long)emulation->fabric->window.end_ps, ret);
	if (attach != NULL)
		attach_stop(attach, emulation->fabric->window.end_ps);
	live_end(live, emulation);
	emulation_end(emulation);
	if (scenario->timing.clock == CLOCK_REAL)
		warn_late(emulation);
	if (!options->quiet && (!options->brief || scenario->plan->real))
		results_print(emulation, stdout);
	if (!options->quiet && !options->brief)
		print_flows(emulation);
	if (socket >= 0)
		close(socket); /* the analyzer sees the end of the stream and starts to think */
	return ret < 0 ? EXIT_FAILED : conclude(options, emulation, attach);
}

/* Room for the frames of external hosts; NICs are looked for where one is a port by its PCI address. */
static int
start_eal(const struct run_options *options, const struct scenario *scenario, struct err *err)
{
	struct lcore_config config = {
		.lcores = options->lcores,
		.memory_mb = LCORE_MEMORY_MB + scenario->nexternal * PORT_MEMORY_MB,
	};

	for (size_t i = 0; i < scenario->nhost_configs; i++)
		config.pci |= host_kinds[scenario->host_configs[i].kind].foreign &&
			      isxdigit((unsigned char)scenario->host_configs[i].port[0]) &&
			      strchr(scenario->host_configs[i].port, ':') != NULL;
	return lcore_init(&config, err);
}

/* Whatever can be refused is, before an analyzer hears of the run. */
int
run_scenario(const struct run_options *options, struct scenario *scenario, struct err *err)
{
	struct foretold *foretold = foretell_is_asked(scenario) ? foretell(scenario, err) : NULL;
	struct emulation_options how = { .lcores = options->lcores, .phase = EMULATION_RUN, .foretold = foretold };
	struct emulation *emulation = NULL;
	struct exporter *exporter = NULL;
	struct attach *attach = NULL;
	struct live *live = NULL;
	int ret = EXIT_USAGE, socket = -1;

	if (foretold == NULL && foretell_is_asked(scenario))
		return errno == EINTR ? EXIT_NOT_BEGUN : EXIT_USAGE;
	if (start_eal(options, scenario, err) < 0) {
		foretold_destroy(foretold);
		return EXIT_USAGE;
	}
	if (scenario->nexternal != 0) {
		ret = attach_hosts_of(options, scenario, &attach, err);
		how.external = attach != NULL ? attach_driver(attach) : NULL;
	}
	if (scenario->nexternal == 0 || attach != NULL) {
		ret = EXIT_USAGE;
		emulation = emulation_create(scenario, &how, err);
	}
	if (emulation != NULL && check_run(options, scenario, err) == 0) {
		ret = EXIT_NOT_BEGUN;
		lcore_unpin(); /* files have threads that write them */
		exporter = open_stream(options, emulation, &socket, err);
		lcore_pin();
	}
	if (exporter != NULL && scenario->management.sockets) {
		live = live_create(emulation, options->out, err);
		ret = live != NULL ? ret : EXIT_USAGE;
	}
	if (exporter != NULL && (live != NULL || !scenario->management.sockets))
		ret = run(options, emulation, attach, live, exporter, socket, err);
	live_destroy(live);
	emulation_destroy(emulation);
	attach_destroy(attach);
	exporter_destroy(exporter);
	foretold_destroy(foretold);
	lcore_fini();
	return ret;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/run/run.h"

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
#include "common/printable.h"
#include "common/run_files.h"
#include "common/units.h"
#include "common/unix_socket.h"
#include "dpswitch/control/counters.h"
#include "dpswitch/lcore/launch.h"
#include "dpswitch/lcore/telemetry.h"
#include "emulation/kernel_host/attach.h"
#include "emulation/lateness.h"
#include "emulation/outputs/flow_summary.h"
#include "emulation/outputs/outputs.h"
#include "emulation/outputs/results.h"
#include "emulation/partition/partition.h"
#include "emulation/plugins.h"
#include "emulation/predict_by_simulation.h"
#include "emulation/progress.h"
#include "emulation/run/conclude.h"
#include "emulation/run/eal.h"
#include "emulation/run/warn.h"
#include "emulation/services.h"
#include "emulation/stream_head.h"
#include "emulation/volumes.h"
#include "operator/devices/live.h"

static void
introduce(const struct run_options *options, const struct emulation *emulation, const struct partitions *partitions)
{
	const struct scenario *sc = emulation->scenario;
	const struct volumes_owned *volumes = volumes_of(emulation);
	char window[32], of[200];
	const char *polls = "";

	if (sc->timing.clock == CLOCK_REAL)
		polls = sc->timing.idle == IDLE_BUSY ? " polling busily" : " asleep when idle";

	printf("# %s: %u switches, %u hosts, %u links; seed %lld, %u lcore%s%s, windows of %s; configuration: "
	       "%s/effective.cfg\n",
	       sc->name, sc->topo->nswitches, sc->topo->nhosts, sc->topo->nlinks, (long long)sc->root.seed, options->lcores,
	       options->lcores > 1 ? "s" : "", polls,
	       units_format_time(emulation->fabric->window_ps, window, sizeof(window)), plain_line(options->out).text);
	if (partitions != NULL)
		printf("# %s\n", partition_describe(partitions, of));
	if (volumes != NULL && volumes->prediction != NULL)
		printf("# prediction: %u runs of %u iterations simulated in %.1f s; volumes: %s/" RUN_PREDICTION "\n",
		       volumes->prediction->runs, volumes->prediction->iterations,
		       (double)volumes->prediction->wall_ns / 1e9, plain_line(options->out).text);
	fflush(stdout);
}

/* Opens what fills while the run goes on. @param socket  of the analyzer, -1: none. @return NULL with err */
static struct exporter *
open_files(const struct run_options *options, struct emulation *emulation, const struct plugins *plugins, int socket,
	   struct err *err)
{
	const struct scenario *scenario = emulation->scenario;
	struct output_target targets[2 + PLUGIN_PROGRAMS];
	struct exporter *exporter;
	char recording[PATH_MAX];
	uint32_t count = 0;

	if (snprintf(recording, sizeof(recording), "%s/" RUN_RECORDING, options->out) >= (int)sizeof(recording)) {
		err_set(err, -ENAMETOOLONG, "%s: the path is too long", options->out);
		return NULL;
	}
	if (run_files_remove(options->out, err) < 0 || run_files_remove_systems(options->out, err) < 0 ||
	    run_files_remove_partitions(options->out, options->partitions.count != 0 ? options->partitions.count : 1, err) <
		    0 ||
	    (scenario->nexternal == 0 && run_files_remove_guests(options->out, err) < 0) ||
	    output_config(scenario, options->out, err) < 0 || output_prediction(emulation, options->out, err) < 0 ||
	    capturing_begin(emulation, &options->capture, options->out, err) < 0)
		return NULL;
	targets[count++] = (struct output_target){ .ops = &output_recording, .path = recording };
	if (socket >= 0)
		targets[count++] = (struct output_target){ .ops = &output_analyzer, .fd = socket };
	count += plugins_targets(plugins, targets + count);
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
		ret = run_files_check(options->out, err);
	return ret == 0 ? check_inputs(options, scenario, err) : ret;
}

/* What a run is made of. */
struct running {
	const struct run_options *options;
	struct scenario *scenario;
	struct emulation *emulation;
	struct attach *attach;         /* NULL: every host is embedded */
	struct partitions *partitions; /* NULL: all of the fabric is here */
	struct live *live;             /* NULL: nobody asks devices */
	struct plugins *plugins;       /* NULL: nobody's program diagnoses */
	struct counters *counters;     /* for DPDK's telemetry */
	struct exporter *exporter;
	int socket; /* of the analyzer; -1: none */
};

/*
 * Connects the analyzer, and only then touches the folder.
 * @param r  its exporter and socket are set
 * @return exit code; with err set EXIT_NOT_BEGUN: no analyzer, or interrupted; EXIT_FAILED: a file could not be made
 */
static int
open_stream(struct running *r, struct err *err)
{
	r->socket = -1;
	if (r->options->analyzer != NULL && !interrupt_asked()) {
		r->socket = unix_connect(r->options->analyzer, "analyzer", err);
		if (r->socket < 0 && !interrupt_asked())
			return EXIT_NOT_BEGUN;
	}
	if (!interrupt_asked()) {
		r->exporter = open_files(r->options, r->emulation, r->plugins, r->socket, err);
		if (r->exporter != NULL)
			return EXIT_DONE;
	} else { /* which may have ended the analyzer */
		err_set(err, -EINTR, "interrupted before the run began");
	}
	if (r->socket >= 0)
		close(r->socket);
	return interrupt_asked() ? EXIT_NOT_BEGUN : EXIT_FAILED;
}

/*
 * Without an analyzer to tell, or a recording to keep, nothing has begun.
 * @return EXIT_DONE with *attach to be destroyed; else with err set, EXIT_NOT_BEGUN where trying again may help
 */
static int
attach_hosts_of(const struct run_options *options, struct scenario *scenario, struct partitions *partitions,
		struct attach **attach, struct err *err)
{
	const struct partition *partition = partition_here(partitions);
	int ret = 0;

	if (options->hosts == NULL) {
		err_set(err, -EINVAL, "%s: hosts with their own kernel need --hosts DIR; `rocelab run` does all of it",
			cfg_file(scenario->cfg));
		return EXIT_USAGE;
	}
	if (capturing_check(scenario, &options->capture, err) < 0)
		return EXIT_USAGE;
	*attach = attach_create(scenario, partition != NULL ? partition->remote : NULL, options->hosts, err);
	if (*attach == NULL)
		return EXIT_USAGE;
	if (partitions != NULL)
		ret = partition_rendezvous(partitions, &options->partitions, err);
	if (ret == 0)
		ret = attach_prepare(*attach, options->lcores, partition, !options->quiet, err);
	if (ret == 0)
		return EXIT_DONE;
	attach_destroy(*attach);
	*attach = NULL;
	return ret == -EINVAL ? EXIT_USAGE : EXIT_NOT_BEGUN;
}

static void
print_flows(const struct emulation *emulation)
{
	struct flow_summary flows;

	if (flow_summary(emulation, &flows) == 0)
		flow_summary_print(&flows, stdout);
	fflush(stdout);
}

/* @param zero_ns  set to clock_now_ns() at time 0. @return 0 or negative errno with err set */
static int
start(const struct running *r, uint64_t *zero_ns, struct err *err)
{
	int ret = 0;

	*zero_ns = clock_now_ns() + (r->attach != NULL ? ATTACH_LEAD_NS : 0);
	if (r->partitions != NULL)
		ret = partition_start(r->partitions, zero_ns, err);
	if (ret == 0 && r->attach != NULL)
		attach_start(r->attach, *zero_ns);
	return ret;
}

/* In real time. @return 0 or negative errno with err set */
static int
begin_lateness(struct emulation *emulation, struct err *err)
{
	int ret;

	if (emulation->scenario->timing.clock != CLOCK_REAL)
		return 0;
	lcore_unpin(); /* its thread keeps clear of the lcores */
	ret = lateness_attach(emulation, err);
	lcore_pin();
	return ret;
}

/* The run itself, everything being in place. @return exit code */
static int
run(const struct running *r, struct err *err)
{
	const struct run_options *options = r->options;
	struct scenario *scenario = r->scenario;
	struct emulation *emulation = r->emulation;
	bool whole = emulation->partition == NULL || emulation->partition->whole;
	struct err lost = { 0 };
	uint64_t zero_ns;
	int ret, plugin;

	if (!options->quiet)
		introduce(options, emulation, r->partitions);
	warn_order(scenario);
	warn_of_shared_class(scenario);
	if (r->attach != NULL)
		exporter_show(r->exporter, attach_check(r->attach));
	if (r->partitions != NULL)
		exporter_show(r->exporter, partition_check(r->partitions));
	live_begin(r->live, emulation);
	plugins_begin(r->plugins, emulation);
	stream_head_send(emulation, r->exporter);
	exporter_flush(r->exporter); /* without them nothing can be made of what follows */
	if (start(r, &zero_ns, err) < 0)
		return EXIT_NOT_BEGUN;
	emulation_begin(emulation, r->exporter, zero_ns);
	if ((!options->quiet && progress_attach(emulation, err) < 0) || begin_lateness(emulation, err) < 0)
		return EXIT_NOT_BEGUN;
	ret = lcore_run(emulation->fabric, err);
	counters_end(r->counters, emulation->fabric->window.end_ps);
	log_debug("the fabric stopped at %llu ps: %d", (unsigned long long)emulation->fabric->window.end_ps, ret);
	if (r->partitions != NULL)
		partition_stop(r->partitions);
	live_end(r->live);
	if (r->attach != NULL)
		attach_stop(r->attach, emulation->fabric->window.end_ps);
	emulation_end(emulation);
	plugin = plugins_end(emulation, options->out, &lost);
	if (plugin < 0)
		log_error("%s", lost.text);
	if (scenario->timing.clock == CLOCK_REAL)
		warn_late(emulation);
	if (whole && !options->quiet && (!options->brief || scenario->plan->real))
		results_print(emulation, stdout);
	if (whole && !options->quiet && !options->brief)
		print_flows(emulation);
	if (r->socket >= 0)
		close(r->socket); /* the analyzer sees the end of the stream and starts to think */
	ret = ret < 0 ? EXIT_FAILED : conclude(options, emulation, r->attach);
	return plugin == 0 || ret == EXIT_INTERRUPTED ? ret : EXIT_FAILED;
}

/* @return exit code */
static int
start_plugins(struct running *r, struct err *err)
{
	if (r->options->ndiagnosers == 0)
		return EXIT_DONE;
	r->plugins = plugins_create(r->emulation, r->options->diagnosers, r->options->ndiagnosers, err);
	return r->plugins != NULL ? EXIT_DONE : EXIT_USAGE;
}

static void
answer_counters(void *state, uint64_t now_ps)
{
	counters_serve(state, now_ps);
}

static const struct run_service service_counters = {
	.name = "counters",
	.answer = answer_counters,
};

/* DPDK's telemetry socket answers for the switches. @return 0 or negative errno with err set */
static int
open_telemetry(struct running *r, struct err *err)
{
	struct emulation *emulation = r->emulation;

	r->counters = counters_create(r->scenario->topo, emulation->switches,
				      emulation->partition != NULL ? emulation->partition->remote : NULL,
				      r->scenario->routes, err);
	if (r->counters == NULL)
		return -errno;
	emulation_attach(emulation, &service_counters, r->counters);
	return telemetry_open(r->counters, err);
}

/* Whatever can be refused is, before an analyzer hears of the run. @return exit code */
static int
prepare(struct running *r, const struct prediction *prediction, struct err *err)
{
	struct emulation_options how = {
		.lcores = r->options->lcores, .phase = EMULATION_RUN, .services = run_services, .prediction = prediction
	};
	int ret = EXIT_DONE;

	if (r->options->partitions.addresses != NULL) {
		if (r->options->ndiagnosers != 0) {
			err_set(err, -EINVAL,
				"--diagnoser: programs poll a fabric that is whole, not one in parts: leave either out");
			return EXIT_USAGE;
		}
		r->partitions = partition_create(r->scenario, &r->options->partitions, err);
		if (r->partitions == NULL)
			return EXIT_USAGE;
		how.partition = partition_here(r->partitions);
	}
	if (r->scenario->nexternal != 0) {
		ret = attach_hosts_of(r->options, r->scenario, r->partitions, &r->attach, err);
		if (r->attach == NULL)
			return ret;
		how.kernel_host = attach_driver(r->attach);
	}
	r->emulation = emulation_create(r->scenario, &how, err);
	if (r->emulation == NULL || check_run(r->options, r->scenario, err) < 0 || open_telemetry(r, err) < 0)
		return EXIT_USAGE;
	ret = 0;
	if (r->partitions != NULL && r->attach == NULL)
		ret = partition_rendezvous(r->partitions, &r->options->partitions, err);
	if (ret < 0)
		return ret == -EINVAL ? EXIT_USAGE : EXIT_NOT_BEGUN;
	lcore_unpin(); /* files have threads that write them */
	ret = start_plugins(r, err);
	if (ret == EXIT_DONE)
		ret = open_stream(r, err);
	lcore_pin();
	if (ret != EXIT_DONE)
		return ret;
	if (r->scenario->management.sockets)
		r->live = live_create(r->emulation, r->options->out, err);
	return r->live != NULL || !r->scenario->management.sockets ? EXIT_DONE : EXIT_USAGE;
}

int
run_scenario(const struct run_options *options, struct scenario *scenario, struct err *err)
{
	struct prediction *prediction =
		prediction_is_asked(scenario) ? predict_by_simulation(scenario, run_services, err) : NULL;
	struct running r = { .options = options, .scenario = scenario, .socket = -1 };
	int ret;

	if (prediction == NULL && prediction_is_asked(scenario))
		return errno == EINTR ? EXIT_NOT_BEGUN : EXIT_USAGE;
	if (eal_start(options, scenario, err) < 0) {
		prediction_destroy(prediction);
		return EXIT_USAGE;
	}
	ret = prepare(&r, prediction, err);
	if (ret == EXIT_DONE)
		ret = run(&r, err);
	telemetry_close();
	live_destroy(r.live);
	counters_destroy(r.counters);
	emulation_destroy(r.emulation);
	partition_destroy(r.partitions);
	attach_destroy(r.attach);
	exporter_destroy(r.exporter);
	plugins_destroy(r.plugins);
	prediction_destroy(prediction);
	lcore_fini();
	return ret;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/run/run.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/interrupt.h"
#include "common/large_pages.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/program.h"
#include "common/run_files.h"
#include "common/units.h"
#include "common/unix_socket.h"
#include "dpswitch/control/counters.h"
#include "dpswitch/lcore/launch.h"
#include "dpswitch/lcore/telemetry.h"
#include "emulation/counting/series.h"
#include "emulation/emulation.h"
#include "emulation/injection.h"
#include "emulation/kernel_host/attach.h"
#include "emulation/outputs/outputs.h"
#include "emulation/partition/partition.h"
#include "emulation/plugins.h"
#include "emulation/preflight.h"
#include "emulation/service.h"
#include "emulation/volumes.h"
#include "operator/devices/devices.h"
#include "scenario/scenario.h"
#include "topo/tiers.h"

/* DPDK's environment as a run needs it. */

/* Of the pools' memory: the unused ends, and the memory of each pool itself. */
#define UNUSED_SHARE 8
#define POOL_MB 2
/* Of a port with its cable, flows and part of its node: more on small fabrics, which need no large pages. */
#define PORT_STATE_BYTES 65536
#define BYTES_PER_MB (1024 * 1024)

/*
 * Idle lcores poll where nothing else needs their CPUs. Others are: other partitions of the fabric, which are assumed
 * to run here, kernels that run here as hosts, and all else, for which one CPU is left.
 */
static void
choose_idle(const struct run_options *options, struct scenario *scenario)
{
	uint32_t need = options->lcores * (options->partitions.count != 0 ? options->partitions.count : 1) + 1;
	bool guests = false;

	if (scenario->timing.idle != IDLE_AUTO)
		return;
	for (size_t i = 0; i < scenario->nhost_configs; i++)
		guests |= host_kinds[scenario->host_configs[i].kind].guest != NULL;
	need += guests;
	scenario->timing.idle = lcore_process_cpus() >= need ? IDLE_BUSY : IDLE_SLEEP;
}

/* The sum, and its terms. */
static void
print_memory(const struct frame_pools *pools, uint32_t memory_mb, uint32_t frames_mb)
{
	char each[48];

	if (pools->least == pools->most)
		snprintf(each, sizeof(each), "%u", pools->most);
	else
		snprintf(each, sizeof(each), "%u to %u", pools->least, pools->most);
	printf("# DPDK: %u MB in %s, %u of them for frames of up to %u B: %s for each of %u ports\n", memory_mb,
	       lcore_has_hugepages() ? "hugepages" : "ordinary pages", frames_mb, pools->room_bytes, each, pools->ports);
}

/* Room for the frames of kernel hosts; NICs are looked for where one is a port by its PCI address. */
static int
eal_start(const struct run_options *options, struct scenario *scenario, struct err *err)
{
	struct lcore_config config = {
		.lcores = options->lcores,
		.floats = scenario->timing.clock != CLOCK_REAL && (options->lcores == 1 || options->partitions.processes),
		.eal = options->eal,
		.memory_mb = LCORE_MEMORY_MB,
	};
	struct frame_pools pools;
	uint32_t frames_mb = 0;

	if (scenario->nexternal != 0) {
		if (frame_pools_sum(scenario, &pools) < 0)
			return err_set(err, -ENOMEM, "out of memory for hosts");
		if (options->partitions.count != 0)
			pools.bytes *= 2; /* the same number may enter over partition boundaries */
		frames_mb = (uint32_t)((pools.bytes + BYTES_PER_MB - 1) / BYTES_PER_MB);
		config.memory_mb += frames_mb + frames_mb / UNUSED_SHARE + (pools.ports + 1) * POOL_MB;
	}

	for (size_t i = 0; i < scenario->nhost_configs; i++)
		config.pci |= host_kinds[scenario->host_configs[i].kind].remote &&
			      isxdigit((unsigned char)scenario->host_configs[i].port[0]) &&
			      strchr(scenario->host_configs[i].port, ':') != NULL;
	if (lcore_init(&config, err) < 0)
		return -EIO;
	choose_idle(options, scenario);
	if (scenario->nexternal != 0 && !options->quiet)
		print_memory(&pools, config.memory_mb, frames_mb);
	return 0;
}

/* Warnings about a run, on stderr: its gaps, and settings that may be a mistake. */

#define SHARERS_SHOWN 4
#define SHARERS_TEXT 512
#define BYTES_SHOWN 1000000 /* in rates: no digit below a megabyte */

static void
warn_of_capture(const struct run_options *options, const struct capturing *capturing)
{
	struct capture_totals totals;
	char limit[32], when[32];

	capture_sum(capturing->capture, &totals);
	if (capturing->error != 0)
		log_warning("%s/" RUN_CAPTURE " is cut short: %s", options->out, strerror(capturing->error));
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

/* The outputs' losses. @return whether those that are kept are whole */
static bool
warn_of_stream(const struct run_options *options, const struct exporter *exporter)
{
	bool whole = true;

	for (const struct output_ops *const *ops = output_registry; *ops != NULL; ops++) {
		struct output_stats stats = sink_stats(exporter_outputs(exporter), *ops);

		if ((*ops)->report != NULL)
			(*ops)->report(&stats, options->out);
		whole &= !(*ops)->kept || stats.error == 0;
	}
	return whole;
}

/* Warns of faults that did not act: the verdict cannot name them. */
static void
warn_of_idle_faults(const struct emulation *emulation)
{
	json_t *list = injection_idle_json(emulation), *text;
	size_t i;

	json_array_foreach(list, i, text)
		log_warning("%s", json_string_value(text));
	json_decref(list);
}

/* Hosts that sent invalid reports: the verdict lacks them. @param attach  NULL: there are no kernel hosts */
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

/*
 * Warns of what is configured and cannot act: a run without it would be the same.
 * @return whether the check before the run explains that no packet is marked
 */
static bool
warn_of_inert(const struct emulation *emulation)
{
	struct preflight_finding findings[PREFLIGHT_FINDINGS];
	int count = preflight(emulation, findings);
	bool unmarked = false;

	for (int i = 0; i < count; i++) {
		unmarked |= findings[i].unmarked;
		if (findings[i].inert)
			log_warning("%s: %s; %sremedy: %s", findings[i].check, findings[i].text,
				    findings[i].no_remedy != NULL ? "no " : "",
				    findings[i].no_remedy != NULL ? findings[i].no_remedy : findings[i].remedy);
	}
	return unmarked;
}

/* A congestion control by ECN for which no packet was marked, though some were sent: without it the run is the same. */
static void
warn_of_no_marks(const struct emulation *emulation)
{
	const struct scenario *sc = emulation->scenario;
	struct fabric_totals totals;

	fabric_sum(emulation->fabric, &totals);
	if (totals.hops == 0 || sc->cc.echo == CC_ECHO_NONE || sc->nexternal != 0 || emulation->partition != NULL ||
	    emulation_marked(emulation))
		return;
	log_warning("no-marks: host.cc = \"dcqcn\" did not act in this run: ports had more than they send, but no packet "
		    "was marked");
}

/* Packets with a path each overtake each other; not every receiver accepts that. */
static void
warn_order(const struct scenario *sc)
{
	const struct balance_ops *balance = sc->balance.ops;

	if (balance->reorders && !balance->per_flow && (!sc->roce.any_order || sc->nexternal != 0))
		log_warning("load_balancing.kind = \"%s\" sends a flow's packets on many paths, and reorders them: a "
			    "go-back-N receiver replies with NAKs, and the sender repeats everything behind them%s",
			    balance->name,
			    sc->nexternal != 0 ? "; hosts with their own kernel have no other"
					       : "; host.transport = \"selective\" accepts them in any order");
}

/* What the reports of steps take of the budget. @return text: "", if there are none */
static const char *
steps_take(const struct scenario *sc, const struct report_rate *rate, char *text, size_t cap)
{
	const struct plan_collective *collective = &sc->plan->collectives[rate->collective];
	char takes[32], expected[32];

	text[0] = '\0';
	if (rate->bytes_per_s != 0)
		snprintf(text, cap, "the %u steps of collective %u in %s take about %s a second",
			 coll_all_steps(collective->schedule), rate->collective,
			 units_format_time(collective->expect_ps / PS_PER_US * PS_PER_US, expected, sizeof(expected)),
			 units_format_bytes(rate->bytes_per_s / BYTES_SHOWN * BYTES_SHOWN, takes, sizeof(takes)));
	return text;
}

/* The same of the reports of ports. */
static const char *
ports_take(const struct scenario *sc, uint64_t bytes_per_s, char *text, size_t cap)
{
	char takes[32], epoch[32];

	text[0] = '\0';
	if (bytes_per_s != 0)
		snprintf(text, cap, "all ports every %s take about %s a second",
			 units_format_time(sc->telemetry.epoch_ps, epoch, sizeof(epoch)),
			 units_format_bytes(bytes_per_s / BYTES_SHOWN * BYTES_SHOWN, takes, sizeof(takes)));
	return text;
}

/* A budget that does not hold what is reported whatever happens: its loss is certain before the run begins. */
static void
warn_of_budget(const struct scenario *sc)
{
	struct report_rate steps = report_rate_of(sc->plan, &sc->detection);
	uint64_t ports_per_s = sc->exporter.budget != 0 ? report_rate_of_ports(sc) : 0;
	uint64_t bytes_per_s = steps.bytes_per_s + ports_per_s;
	char of_steps[128], of_ports[128], budget[32], enough[32];

	if (sc->exporter.budget == 0 || bytes_per_s <= sc->exporter.budget)
		return;
	log_warning("exporter.budget = \"%s\" a second does not hold the reports of %s%s%s, and those beyond it are "
		    "dropped: %s%s%s; exporter.budget = \"%s\" would do",
		    units_format_bytes(sc->exporter.budget, budget, sizeof(budget)), steps.bytes_per_s != 0 ? "steps" : "",
		    steps.bytes_per_s != 0 && ports_per_s != 0 ? " and " : "", ports_per_s != 0 ? "ports" : "",
		    steps_take(sc, &steps, of_steps, sizeof(of_steps)),
		    steps.bytes_per_s != 0 && ports_per_s != 0 ? ", and " : "",
		    ports_take(sc, ports_per_s, of_ports, sizeof(of_ports)),
		    units_format_bytes(report_rate_budget(bytes_per_s), enough, sizeof(enough)));
}

/* A list of flows for a warning: the first few by name, the others by number. */
struct flow_list {
	char text[SHARERS_TEXT];
	size_t used;
	uint32_t count;
};

static void
list_flow(struct flow_list *list, const struct topo *topo, const struct flow *flow)
{
	int more = 0;

	if (list->count++ < SHARERS_SHOWN)
		more = snprintf(list->text + list->used, sizeof(list->text) - list->used, "%s%s to %s (port %u)",
				list->count > 1 ? ", " : "", topo->nodes[flow->src_node].name,
				topo->nodes[flow->dst_node].name, flow->sport);
	list->used += (size_t)more;
	if (list->used >= sizeof(list->text))
		list->used = sizeof(list->text) - 1;
}

/* Does a flow send anything in this run, and out of its leaf? */
static bool
leaves_its_leaf(const struct scenario *sc, uint32_t index)
{
	const struct flow *flow = &sc->plan->flows.flows[index];

	return plan_flow_sends(sc->plan, index) && topo_port_of(sc->topo, flow->src_node, flow->src_nic)->peer !=
							   topo_port_of(sc->topo, flow->dst_node, flow->dst_nic)->peer;
}

/* Flows that measured data does not go before: in its class, or in one that shares the link with it. */
static void
list_sharers(const struct scenario *sc, struct flow_list *list)
{
	const struct flow_table *flows = &sc->plan->flows;
	uint8_t measured = 0;

	for (uint32_t i = 0; i < flows->count; i++)
		if (sc->plan->of[i].measured && leaves_its_leaf(sc, i))
			measured |= (uint8_t)(1u << flows->flows[i].prio);
	for (uint32_t i = 0; i < flows->count && measured != 0; i++) {
		uint8_t class = (uint8_t)(1u << flows->flows[i].prio);

		if (!sc->plan->of[i].measured && leaves_its_leaf(sc, i) &&
		    ((measured & class) != 0 || (measured & ~sc->strict) != 0))
			list_flow(list, sc->topo, &flows->flows[i]);
	}
}

/*
 * Volumes are predicted of data that goes first; adaptive choices even out the sum of all flows of a class (FlowPulse
 * 5.1).
 */
static void
warn_of_shared_class(const struct scenario *sc)
{
	struct flow_list list = { .used = 0 };
	char more[32] = "";

	if (!sc->volumes.enabled || !balance_evens_out(&sc->balance))
		return;
	list_sharers(sc, &list);
	if (list.count > SHARERS_SHOWN)
		snprintf(more, sizeof(more), " and %u more", list.count - SHARERS_SHOWN);
	if (list.count != 0)
		log_warning(
			"%s:%d: flowpulse is blind where other flows share the measured collective's class: "
			"load_balancing.kind = \"%s\" evens out the sum of all flows, and what these take of a port looks "
			"like a loss: %s%s; give the collective a class that is served first (host.measured_prio, "
			"switch.strict)",
			sc->volumes.where.file, sc->volumes.where.line, sc->balance.ops->name, list.text, more);
}

/* All that is known before the run. @return as warn_of_inert() */
static bool
warn_of_scenario(const struct emulation *emulation)
{
	warn_order(emulation->scenario);
	warn_of_budget(emulation->scenario);
	warn_of_shared_class(emulation->scenario);
	return warn_of_inert(emulation);
}

/* Real time that the machine did not keep up with. */
static void
warn_late(const struct emulation *emulation)
{
	const struct pacer *pacer = &emulation->pacer;
	uint64_t grain_ps = pacer->worst_late_ps >= 10 * PS_PER_MS ? PS_PER_MS : PS_PER_US;
	double scale = pacer_scale(pacer);
	char worst[32];

	if (scale < 1)
		log_warning("this machine did not keep up: %.1f %% of the windows were late, by up to %s; scale the "
			    "links' rates by %.2g",
			    100.0 * (double)pacer->late_windows / (double)pacer->windows,
			    units_format_time(pacer->worst_late_ps / grain_ps * grain_ps, worst, sizeof(worst)), scale);
}

/* The end of a run: its files, and its exit code. */

#define LOST_CNPS_PERCENT 1 /* of those sent: no word below */

/* Each that can be written is: run.json records how the run ended, wherever the others did not fit. */
static int
write_outputs(struct emulation *emulation, const char *dir, struct err *err)
{
	int run = output_run(emulation, dir, err);
	int steps = output_steps(emulation, dir, err), flows = output_flows(emulation, dir, err);
	int truth = output_truth(emulation, dir, err), store = counting_end(emulation, err);

	return store == 0 && run == 0 && steps == 0 && flows == 0 && truth == 0 ? 0 : -EIO;
}

/* The limit that ended the run, if one did. */
static void
warn_of_limit(const struct emulation *emulation)
{
	const char *key = output_limit(emulation->fabric->end_reason);
	char at[32];

	if (key != NULL)
		log_warning("%s ended the run at %s, before its work was done", key,
			    units_format_time(emulation->fabric->window.end_ps, at, sizeof(at)));
}

/*
 * CNPs that no sender handled. No record has them, so no diagnoser determines that they were lost: the run reports it. A
 * run that ends has few in flight.
 */
static void
warn_of_cnps(const struct emulation *emulation)
{
	struct embedded_counters sum;

	embedded_hosts_sum(emulation, &sum);
	if (emulation->scenario->roce.cc.echo != CC_ECHO_CNP || emulation->scenario->nexternal != 0 ||
	    emulation->partition != NULL || sum.cnps_sent * LOST_CNPS_PERCENT / 100 + sum.cnps_handled >= sum.cnps_sent)
		return;
	log_warning("%llu of %llu CNPs did not reach their senders, which keep their rates. No record shows it, and so no "
		    "verdict determines it: table qps of the store has np_cnp_sent and rp_cnp_handled of each connection",
		    (unsigned long long)(sum.cnps_sent - sum.cnps_handled), (unsigned long long)sum.cnps_sent);
}

/* @return exit code of a run whose files and invariants are as they should be */
static int
ending(const struct emulation *emulation)
{
	switch (emulation->fabric->end_reason) {
	case REC_END_COMPLETE:
		return EXIT_DONE;
	case REC_END_INTERRUPT:
		return EXIT_INTERRUPTED;
	case REC_END_INVARIANT:
		return EXIT_FAILED;
	default:
		return EXIT_UNFINISHED;
	}
}

/* @param attach  NULL: every host is embedded. @return exit code */
static int
conclude(const struct run_options *options, struct emulation *emulation, const struct attach *attach)
{
	const struct capturing *capturing = capturing_of(emulation);
	struct invariant results[EMULATION_INVARIANTS];
	struct err err = { 0 };
	bool written = write_outputs(emulation, options->out, &err) == 0;

	if (!written)
		log_error("%s", err.text);
	written &= warn_of_stream(options, emulation->exporter);
	if (capturing != NULL)
		warn_of_capture(options, capturing);
	if (emulation->result.error_text != NULL &&
	    (emulation->partition == NULL || emulation->partition->ops->prints_end(emulation->partition->ctx)))
		log_error("%s", emulation->result.error_text);
	written &= emulation->partition == NULL || !emulation->partition->ops->broken(emulation->partition->ctx);
	warn_of_refusals(attach);
	if (emulation->partition == NULL || emulation->partition->whole) {
		warn_of_idle_faults(emulation);
		warn_of_limit(emulation);
		warn_of_cnps(emulation);
	}
	if (emulation_check(emulation, results) == 0 && results_wrong(emulation) == 0)
		return written && (capturing == NULL || capturing->error == 0) ? ending(emulation) : EXIT_FAILED;
	for (uint32_t i = 0; i < EMULATION_INVARIANTS; i++)
		if (!results[i].holds)
			log_error("invariant %s does not hold: %s", results[i].name, results[i].text);
	return EXIT_FAILED;
}

/* A run from its first window to its last. */

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

/* Budgets of switches and pods: a pod is what is connected without the highest of three tiers. */
static int
police_switches(const struct scenario *scenario, struct exporter *exporter, struct err *err)
{
	uint32_t nnodes = scenario->topo->nnodes, *pods = malloc(nnodes * sizeof(*pods));
	bool *is_switch = malloc(nnodes * sizeof(*is_switch));
	struct tiers tiers;
	int ret = tiers_init(&tiers, scenario->topo);

	if (ret < 0 || pods == NULL || is_switch == NULL)
		ret = err_set(err, -ENOMEM, "out of memory for %u nodes", nnodes);
	else if (scenario->exporter.pod_budget != 0 && tiers.most < 3)
		ret = cfg_fail(&scenario->exporter.where, "pod_budget", err,
			       "a network of %u tiers has no pods: switch_budget limits each switch", tiers.most);
	for (uint32_t node = 0; ret == 0 && node < nnodes; node++) {
		is_switch[node] = tiers.of[node] != 0;
		pods[node] = tiers.most >= 3 && tiers.group[1][node] != TOPO_NONE ? tiers.group[1][node] : BUDGET_NO_POD;
	}
	if (ret == 0)
		ret = exporter_police(exporter, is_switch, pods, nnodes, err);
	tiers_fini(&tiers);
	free(pods);
	free(is_switch);
	return ret;
}

/* Opens the outputs that are written during the run. @param socket  of the analyzer, -1: none. @return NULL with err */
static struct exporter *
open_files(const struct run_options *options, struct emulation *emulation, struct plugins *plugins, int socket,
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
	if (run_dir_make(options->out, err) < 0 || run_files_remove(options->out, err) < 0 ||
	    run_files_remove_systems(options->out, err) < 0 ||
	    run_files_remove_partitions(options->out, options->partitions.count != 0 ? options->partitions.count : 1, err) <
		    0 ||
	    (scenario->nexternal == 0 && run_files_remove_guests(options->out, err) < 0) ||
	    output_config(scenario, options->out, err) < 0 || output_prediction(emulation, options->out, err) < 0 ||
	    capturing_begin(emulation, &options->capture, options->out, err) < 0 ||
	    counting_begin(emulation, options->out, err) < 0)
		return NULL;
	targets[count++] = (struct output_target){ .ops = &output_recording, .path = recording };
	if (socket >= 0)
		targets[count++] = (struct output_target){ .ops = &output_analyzer, .fd = socket };
	count += plugins_targets(plugins, targets + count);
	exporter = exporter_create(&scenario->exporter, targets, count, err);
	if (exporter != NULL && police_switches(scenario, exporter, err) < 0) {
		exporter_destroy(exporter);
		return NULL;
	}
	if (exporter != NULL)
		exporter_set_clock(exporter, scenario->timing.clock == CLOCK_REAL, interrupt_asked);
	return exporter;
}

/* Removes the files of an earlier run from the folder, unless one of them is an input. */
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
		ret = cfg_fail(
			&params->where, "file", err,
			"%s belongs to the earlier run in %s, which is replaced: copy it, or give this run another --out",
			path, options->out);
	free(path);
	return ret;
}

/* The last checks. */
static int
check_run(const struct run_options *options, const struct scenario *scenario, struct err *err)
{
	int ret = capturing_check(scenario, &options->capture, err);

	if (ret == 0)
		ret = run_files_check(options->out, err);
	return ret == 0 ? check_inputs(options, scenario, err) : ret;
}

/* The objects of a run. */
struct running {
	const struct run_options *options;
	struct scenario *scenario;
	struct emulation *emulation;
	struct attach *attach;         /* NULL: every host is embedded */
	struct partitions *partitions; /* NULL: all of the fabric is here */
	struct live *live;             /* NULL: devices are not polled */
	struct plugins *plugins;       /* NULL: there is no plugin diagnoser */
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
 * Without an analyzer or a recording nothing has begun.
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
		ret = partition_rendezvous(partitions, &options->partitions, options->ndiagnosers, err);
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
	bool unmarked = true;
	int ret, plugin;

	if (!options->quiet)
		introduce(options, emulation, r->partitions);
	if (whole)
		unmarked = warn_of_scenario(r->emulation);
	if (r->attach != NULL)
		exporter_show(r->exporter, attach_check(r->attach));
	if (r->partitions != NULL)
		exporter_show(r->exporter, partition_check(r->partitions));
	live_begin(r->live, emulation);
	plugins_begin(r->plugins, emulation);
	stream_head_send(emulation, r->exporter);
	exporter_flush(r->exporter); /* without them the rest is useless */
	if (start(r, &zero_ns, err) < 0)
		return EXIT_NOT_BEGUN;
	if (scenario->timing.clock == CLOCK_REAL && r->exporter != NULL)
		exporter_measure(r->exporter, zero_ns);
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
	if (!unmarked)
		warn_of_no_marks(emulation);
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

/* Of the nodes that are here. */
static size_t
ports_of(const struct scenario *sc, const struct partition *partition)
{
	size_t ports = 0;

	for (uint32_t i = 0; i < sc->topo->nnodes; i++)
		if (partition == NULL || !partition->remote[i])
			ports += sc->topo->nodes[i].nports;
	return ports;
}

/* @return exit code */
static int
open_management(struct running *r, struct err *err)
{
	char inside[PATH_MAX];
	const char *dir = r->options->management != NULL ? r->options->management : inside;

	if (!r->scenario->management.sockets)
		return EXIT_DONE;
	if (snprintf(inside, sizeof(inside), "%s/" RUN_MANAGEMENT, r->options->out) >= (int)sizeof(inside)) {
		err_set(err, -ENAMETOOLONG, "%s: the path is too long", r->options->out);
		return EXIT_USAGE;
	}
	r->live = live_create(r->emulation, dir, err);
	return r->live != NULL ? EXIT_DONE : EXIT_USAGE;
}

/* Checks all that can be refused before an analyzer connects. @return exit code */
static int
prepare(struct running *r, const struct prediction *prediction, struct err *err)
{
	struct emulation_options how = {
		.lcores = r->options->lcores, .phase = EMULATION_RUN, .services = run_services, .prediction = prediction
	};
	int ret = EXIT_DONE;

	if (r->options->partitions.count != 0) {
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
	large_pages_reserve(ports_of(r->scenario, how.partition) * PORT_STATE_BYTES);
	r->emulation = emulation_create(r->scenario, &how, err);
	if (r->emulation == NULL || check_run(r->options, r->scenario, err) < 0 || open_telemetry(r, err) < 0)
		return EXIT_USAGE;
	ret = 0;
	if (r->partitions != NULL && r->attach == NULL)
		ret = partition_rendezvous(r->partitions, &r->options->partitions, r->options->ndiagnosers, err);
	if (ret < 0)
		return ret == -EINVAL ? EXIT_USAGE : EXIT_NOT_BEGUN;
	lcore_unpin(); /* files have threads that write them */
	ret = start_plugins(r, err);
	if (ret == EXIT_DONE)
		ret = open_stream(r, err);
	lcore_pin();
	if (ret != EXIT_DONE)
		return ret;
	return open_management(r, err);
}

int
run_scenario(const struct run_options *options, struct scenario *scenario, struct err *err)
{
	struct prediction *prediction =
		prediction_is_asked(scenario) ? predict_by_simulation(scenario, run_services, err) : NULL;
	struct running r = { .options = options, .scenario = scenario, .socket = -1 };
	bool lost;
	int ret;

	if (prediction == NULL && prediction_is_asked(scenario)) {
		partition_leave_job(&options->partitions, false);
		return errno == EINTR ? EXIT_NOT_BEGUN : EXIT_USAGE;
	}
	if (eal_start(options, scenario, err) < 0) {
		partition_leave_job(&options->partitions, false);
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
	lost = r.partitions != NULL && partition_has_lost(r.partitions);
	partition_destroy(r.partitions);
	partition_leave_job(&options->partitions, lost);
	attach_destroy(r.attach);
	exporter_destroy(r.exporter);
	plugins_destroy(r.plugins);
	prediction_destroy(prediction);
	lcore_fini();
	return ret;
}

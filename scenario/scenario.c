/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario/scenario.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/program.h"
#include "common/units.h"
#include "rxe-hosts/agent/policy.h"
#include "scenario/profile.h"
#include "scenario/scenario_load.h"
#include "topo/build.h"
#include "topo/route.h"
#include "workload/plan.h"
#include "workload/workload.h"

#define BDP_ALL_HOSTS 1024 /* beyond, pairs would take minutes */

static int
bind_groups(struct scenario *sc, struct err *err)
{
	const struct {
		const struct cfg_table *table;
		void *out;
	} groups[] = {
		{ &scenario_root_cfg, &sc->root },    { &routing_cfg, &sc->rerouting },       { &timing_cfg, &sc->timing },
		{ &limits_cfg, &sc->limits },         { &telemetry_cfg, &sc->telemetry },     { &roce_table, &sc->host },
		{ &detection_table, &sc->detection }, { &exporter_cfg_table, &sc->exporter },
	};
	int ret = balance_bind(&sc->balance, sc->cfg, err);

	ret = ret == 0 ? cfg_bind(sc->cfg, &volumes_cfg, &sc->volumes, err) : ret;
	ret = ret == 0 ? cfg_bind(sc->cfg, &pingmesh_cfg, &sc->pingmesh, err) : ret;
	ret = ret == 0 ? cfg_bind(sc->cfg, &counters_cfg, &sc->counters, err) : ret;
	ret = ret == 0 ? cfg_bind(sc->cfg, &management_cfg, &sc->management, err) : ret;
	ret = ret == 0 ? cfg_bind(sc->cfg, &flowtracer_cfg, &sc->flowtracer, err) : ret;
	ret = ret == 0 ? switch_setup_load(&sc->switches, sc->cfg, sc->topo, err) : ret;
	sc->switches.all.params.is_chips = profiles_have_chip(sc->switches.all.params.buffer_bytes);
	for (uint32_t i = 0; i < sc->switches.nown; i++)
		sc->switches.own[i]->params.is_chips = profiles_have_chip(sc->switches.own[i]->params.buffer_bytes);
	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(groups); i++)
		ret = cfg_bind(sc->cfg, groups[i].table, groups[i].out, err);
	if (ret == 0)
		ret = cfg_bind(sc->cfg, &sel_table, &sc->host.selective, err);
	ret = ret == 0 ? exporter_check(&sc->exporter, err) : ret;
	ret = ret == 0 ? scenario_check_tracer(sc, err) : ret;
	return ret == 0 ? cc_bind(&sc->cc, (enum cc_kind)sc->host.cc, sc->cfg, err) : ret;
}

/* Agents probe until their configured end, whatever else runs; the user's limits end a run earlier. */
static void
settle_limits(struct scenario *sc)
{
	if (sc->pingmesh.enabled && sc->pingmesh.duration_ps > sc->limits.hold_ps)
		sc->limits.hold_ps = sc->pingmesh.duration_ps;
	if (sc->limits.virtual_time_ps == 0)
		sc->limits.virtual_time_ps = sc->limits.hold_ps + LIMITS_DEFAULT_PS;
}

static int
bind_lists(struct scenario *sc, struct err *err)
{
	int ret;

	settle_limits(sc);
	ret = scenario_resolve_hosts(sc, err);
	if (ret == 0) {
		sc->workload = workload_create(sc->cfg, sc->topo, (uint64_t)sc->root.seed, err);
		ret = sc->workload != NULL ? 0 : -errno;
	}
	if (ret == 0)
		ret = cfg_bind_list(sc->cfg, &background_table, NULL, (void **)&sc->backgrounds, &sc->nbackgrounds, err);
	if (ret == 0) {
		sc->traffic = traffic_load(sc->cfg, sc->topo, (uint64_t)sc->root.seed, err);
		ret = sc->traffic != NULL ? 0 : -errno;
	}
	if (ret == 0 && sc->workload->nworks + sc->nbackgrounds + sc->traffic->nflows == 0 && sc->limits.hold_ps == 0)
		ret = err_set(err, -EINVAL,
			      "%s: nothing to send: give \"collectives\", \"jobs\", \"flows\" or \"generators\"",
			      cfg_file(sc->cfg));
	return ret;
}

/*
 * Of the path between two hosts, if there is one: the bandwidth-delay product, rate x (2 x delays + one payload per
 * hop) as the reference has it, and the round trip of a full frame and its ACK.
 */
static void
measure_path(struct scenario *sc, uint32_t a, uint32_t b)
{
	struct flow flow = { .src_node = a, .dst_node = b };
	uint64_t rtt_ps = 0, rate_bps = UINT64_MAX, base_ps = 0, bytes;
	struct route_path path;

	if (a == b || route_flow_path(&sc->routing, &flow, false, &path) < 0)
		return;
	for (uint32_t h = 0; h < path.hops; h++) {
		const struct topo_port *port = &sc->topo->ports[path.ports[h]];

		rtt_ps += 2 * (port->delay_ps + sc->timing.pipeline_ps) +
			  units_serialize_ps(sc->roce.mtu_bytes, port->rate_bps, 0);
		base_ps += 2 * (port->delay_ps + sc->timing.pipeline_ps) +
			   units_serialize_ps(sc->mtu_frame_bytes, port->rate_bps, sc->timing.quantum_ps) +
			   units_serialize_ps(sc->roce.ack_bytes, port->rate_bps, sc->timing.quantum_ps);
		rate_bps = port->rate_bps < rate_bps ? port->rate_bps : rate_bps;
	}
	bytes = (uint64_t)((unsigned __int128)rate_bps * rtt_ps / 8 / PS_PER_S);
	sc->bdp_bytes = bytes > sc->bdp_bytes ? bytes : sc->bdp_bytes;
	sc->roce.cc.base_rtt_ps = base_ps > sc->roce.cc.base_rtt_ps ? base_ps : sc->roce.cc.base_rtt_ps;
}

/* Hosts to check: all, or, of very many, one of those that a switch has by cables of one kind. @return their number */
static uint32_t
unlike_hosts(const struct topo *topo, uint32_t *hosts, uint32_t *latest)
{
	uint32_t count = 0;

	memset(latest, 0xff, topo->nnodes * sizeof(*latest));
	for (uint32_t i = 0; i < topo->nhosts; i++) {
		const struct topo_port *nic = topo_port_of(topo, topo->hosts[i], 0);
		const struct topo_port *like =
			latest[nic->peer] != TOPO_NONE ? topo_port_of(topo, latest[nic->peer], 0) : NULL;

		if (topo->nhosts > BDP_ALL_HOSTS && like != NULL && like->rate_bps == nic->rate_bps &&
		    like->delay_ps == nic->delay_ps)
			continue;
		latest[nic->peer] = topo->hosts[i];
		hosts[count++] = topo->hosts[i];
	}
	return count;
}

/* The largest window that a pair of hosts can fill, and the longest round trip. @return 0 or -ENOMEM */
static int
measure_paths(struct scenario *sc)
{
	uint32_t *hosts = calloc(sc->topo->nhosts + 1, sizeof(*hosts));
	uint32_t *latest = calloc(sc->topo->nnodes + 1, sizeof(*latest)), count = 0;

	if (hosts != NULL && latest != NULL)
		count = unlike_hosts(sc->topo, hosts, latest);
	for (uint32_t a = 0; a < count; a++)
		for (uint32_t b = 0; b < count; b++)
			measure_path(sc, hosts[a], hosts[b]);
	free(hosts);
	free(latest);
	return count != 0 ? 0 : -ENOMEM;
}

/* The smallest and the largest frame that a host can send: either may be an answer or a polling packet. */
static void
size_frames(struct scenario *sc)
{
	const uint32_t others[] = { sc->roce.ack_bytes, sc->roce.cnp_bytes, sc->roce.control_bytes };

	sc->mtu_frame_bytes = roce_data_bytes(&sc->roce, sc->roce.mtu_bytes, true, true);
	sc->largest_frame_bytes = sc->mtu_frame_bytes;
	sc->min_frame_bytes = roce_data_bytes(&sc->roce, 1, false, false);
	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		sc->min_frame_bytes = others[i] < sc->min_frame_bytes ? others[i] : sc->min_frame_bytes;
		sc->largest_frame_bytes = others[i] > sc->largest_frame_bytes ? others[i] : sc->largest_frame_bytes;
	}
}

/* A frame that takes no time would let a port send without end. */
static int
check_quantum(const struct scenario *sc, struct err *err)
{
	uint32_t bytes = sc->min_frame_bytes < PAUSE_WIRE_BYTES ? sc->min_frame_bytes : PAUSE_WIRE_BYTES;

	for (uint32_t i = 0; i < sc->topo->nports; i++) {
		uint64_t exact_ps = units_serialize_ps(bytes, sc->topo->ports[i].rate_bps, 0);
		char given[32], most[32], port[64];

		if (sc->timing.quantum_ps <= exact_ps)
			continue;
		return cfg_fail(&sc->timing.where, "quantum", err,
				"%s is more than a frame of %u B takes at %s; at most %s would be right",
				units_format_time(sc->timing.quantum_ps, given, sizeof(given)), bytes,
				topo_port_name(sc->topo, i, port), units_format_time(exact_ps, most, sizeof(most)));
	}
	return 0;
}

/* Where no window is written, it is the topology's delays and rates that are. */
static int
check_bdp(const struct scenario *sc, struct err *err)
{
	struct cfg_where topology = cfg_where_key(sc->cfg, "topology");

	if (!sc->roce.window_is_bdp || (sc->bdp_bytes != 0 && sc->bdp_bytes <= ROCE_MAX_WINDOW_BYTES))
		return 0;
	return cfg_fail(&topology, NULL, err,
			"its largest bandwidth-delay product is %" PRIu64
			" B, which host.window = \"bdp\" wants as its window "
			"(1B..2GB): use shorter delays, or give a window in bytes",
			sc->bdp_bytes);
}

static int
make_network(struct scenario *sc, struct err *err)
{
	int ret = scenario_check_bonds(sc, err);

	if (ret == 0)
		ret = scenario_load_faults(sc, err);
	if (ret == 0)
		ret = switch_strict_classes(&sc->switches.all.params, &sc->strict, err);
	if (ret < 0)
		return ret;
	ret = route_pins_create(sc->cfg, sc->topo, &sc->pins, err);
	if (ret < 0)
		return ret;
	sc->routing = (struct routing){ sc->topo, sc->routes, sc->pins, (uint64_t)sc->root.seed, sc->balance.hashing };
	ret = roce_params_init(&sc->roce, &sc->host, &sc->cc, sc->timing.quantum_ps, err);
	if (ret < 0)
		return ret;
	size_frames(sc);
	if (measure_paths(sc) < 0)
		return err_set(err, -ENOMEM, "out of memory for %u hosts", sc->topo->nhosts);
	ret = check_bdp(sc, err);
	return ret < 0 ? ret : check_quantum(sc, err);
}

/* Kernels mark what they send as they like, and expect it so. */
static int
check_maps(const struct scenario *sc, struct err *err)
{
	if (!sc->switches.maps_classes || sc->nexternal == 0)
		return 0;
	return cfg_fail(
		&sc->switches.all.params.where, "class_map", err,
		"%u hosts have their own kernel, and data of embedded hosts alone is mapped: leave class_map out, of "
		"single switches and ports as well",
		sc->nexternal);
}

/* Does some switch serve data of a class in this one? */
static bool
is_mapped_to(const struct switch_setup *setup, uint8_t from, uint8_t to)
{
	bool mapped = setup->all.class_of[from] == to;

	for (size_t i = 0; i < setup->nown; i++)
		mapped = mapped || setup->own[i]->class_of[from] == to;
	return mapped;
}

/* Has a class PFC at some port? */
static bool
is_lossless(const struct switch_setup *setup, uint8_t prio)
{
	struct err err = { "" };
	uint8_t classes = 0, all = 0;

	switch_lossless_classes(&setup->all.pfc, &all, &err);
	for (size_t i = 0; i < setup->nown; i++, all |= classes)
		switch_lossless_classes(&setup->own[i]->pfc, &classes, &err);
	return all >> prio & 1;
}

/*
 * CNPs have their class for themselves: no switch keeps rows of it, and none pauses it. Where a profile named the class,
 * and the user gave it to data or PFC, CNPs have that of ACKs.
 */
static int
cnps_yield(struct scenario *sc, struct err *err)
{
	struct cfg_where key = cfg_where_key(sc->cfg, "host.dcqcn.cnp_prio");

	if (!profiles_gave_host(&key))
		return -EINVAL;
	sc->roce.cc.cnp_prio = 0;
	return cfg_override(sc->cfg, "host.dcqcn.cnp_prio=0", err);
}

static int
check_cnps(struct scenario *sc, struct err *err)
{
	struct cfg_where where = cfg_where_key(sc->cfg, "host.dcqcn");
	uint8_t prio = sc->roce.cc.cnp_prio;

	if (prio == 0)
		return 0;
	if (is_lossless(&sc->switches, prio))
		return cnps_yield(sc, err) == 0 ? 0
						: cfg_fail(&where, "cnp_prio", err,
							   "CNPs have class %u, which has PFC (switch.pfc.priorities): "
							   "give them another one, "
							   "or 0, that of ACKs",
							   prio);
	for (uint32_t i = 0; i < sc->plan->flows.count; i++) {
		const struct flow *flow = &sc->plan->flows.flows[i];

		if (flow->kind == FLOW_CONTROL || !is_mapped_to(&sc->switches, flow->prio, prio))
			continue;
		return cnps_yield(sc, err) == 0
			       ? 0
			       : cfg_fail(&where, "cnp_prio", err,
					  "CNPs have class %u, and data of %s to %s has it, too: give the data another "
					  "class, "
					  "or CNPs 0, that of ACKs",
					  prio, sc->topo->nodes[flow->src_node].name, sc->topo->nodes[flow->dst_node].name);
	}
	return 0;
}

static int
make_plan(struct scenario *sc, struct err *err)
{
	struct plan_options options = {
		.cfg = sc->cfg,
		.data_prio = sc->roce.data_prio,
		.control_prio = 0,
		.measured_prio = sc->roce.measured_prio,
		.notify = agent_policies[sc->detection.policy]->notified != NULL,
		.judge = sc->nexternal == 0,
		.traffic = sc->traffic,
	};
	struct plan_network network = {
		.routing = &sc->routing,
		.pipeline_ps = sc->timing.pipeline_ps,
		.frames = {
			.payload_bytes = sc->roce.mtu_bytes,
			.frame_bytes = roce_data_bytes(&sc->roce, sc->roce.mtu_bytes, false, false),
			.ack_bytes = sc->roce.ack_bytes,
			.frames_per_ack = sc->roce.ack_every,
			.quantum_ps = sc->timing.quantum_ps,
			.window_bytes = scenario_in_flight_bytes(sc),
			.spare = sc->roce.cc.ops->spare != NULL ? sc->roce.cc.ops->spare(&sc->roce.cc) : 0,
		},
	};
	struct plan_probe *probes;
	int ret = scenario_plan_probes(sc, &probes, &options.nprobes, err);

	if (ret == 0)
		ret = scenario_check_steps(sc, err);
	if (ret < 0) {
		free(probes);
		return ret;
	}
	options.probes = probes;
	sc->plan = plan_create(sc->topo, &options, sc->workload, sc->backgrounds, sc->nbackgrounds, err);
	free(probes);
	if (sc->plan == NULL)
		return -EINVAL;
	if (sc->plan->real && sc->roce.mtu_bytes % 4 != 0)
		return cfg_fail(&sc->host.where, "mtu", err,
				"%u B cuts elements of 4 B apart: real payload needs a multiple of 4", sc->roce.mtu_bytes);
	ret = scenario_move_ports(sc, err);
	if (ret < 0)
		return ret;
	for (uint32_t f = 0; sc->topo->nbonds != 0 && f < sc->plan->flows.count; f++)
		bond_place(&sc->routing, &sc->plan->flows.flows[f]);
	sc->roce.real_payload = sc->plan->real;
	ret = scenario_check_faults(sc, err);
	if (ret == 0)
		ret = check_cnps(sc, err);
	if (ret == 0)
		ret = scenario_check_hosts(sc, err);
	if (ret == 0)
		ret = route_pins_attach(sc->pins, &sc->plan->flows, traffic_is_quiet, sc->traffic, err);
	if (ret == 0)
		ret = scenario_prepare_inband(sc, err);
	if (ret == 0)
		ret = scenario_check_memory(sc, err);
	return ret == 0 ? plan_estimate(sc->plan, &network, err) : ret;
}

/* Epochs that cover the time between two detections of the longest step, the open one included. */
static uint32_t
epochs_to_keep(const struct scenario *sc)
{
	uint64_t longest_ps = sc->detection.spacing_ps;

	if (sc->telemetry.epochs_kept != 0)
		return (uint32_t)sc->telemetry.epochs_kept;
	for (uint32_t c = 0; sc->detection.spacing_ps == 0 && c < sc->plan->ncollectives; c++) {
		const struct plan_collective *collective = &sc->plan->collectives[c];

		for (uint32_t s = 0; s < coll_all_steps(collective->schedule); s++) {
			uint64_t spacing_ps = plan_known(collective, s)->expect_ps /
					      (uint64_t)(sc->detection.detections > 0 ? sc->detection.detections : 1);

			if (plan_known(collective, s)->flow != PLAN_NONE) /* computation is not observed */
				longest_ps = spacing_ps > longest_ps ? spacing_ps : longest_ps;
		}
	}
	for (uint32_t i = 0; sc->plan->judged && sc->detection.spacing_ps == 0 && i < sc->plan->nbackgrounds; i++) {
		uint64_t spacing_ps = sc->plan->backgrounds[i].ideal_ps / (uint64_t)sc->detection.detections;

		longest_ps = spacing_ps > longest_ps ? spacing_ps : longest_ps;
	}
	for (uint32_t i = 0; sc->plan->judged && sc->detection.spacing_ps == 0 && i < sc->plan->nmessages; i++) {
		uint64_t spacing_ps = sc->plan->messages[i].ideal_ps / (uint64_t)sc->detection.detections;

		longest_ps = spacing_ps > longest_ps ? spacing_ps : longest_ps;
	}
	longest_ps = (longest_ps + sc->telemetry.epoch_ps - 1) / sc->telemetry.epoch_ps + 1;
	return longest_ps < 2 ? 2 : longest_ps > 1024 ? 1024 : (uint32_t)longest_ps;
}

/* root.name, else the file's name without folder and ".cfg". */
static void
set_name(struct scenario *sc)
{
	const char *path = cfg_file(sc->cfg), *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;
	size_t len = strlen(base);

	if (len > 4 && strcmp(base + len - 4, ".cfg") == 0)
		len -= 4;
	if (sc->root.name != NULL)
		snprintf(sc->name, sizeof(sc->name), "%s", sc->root.name);
	else
		snprintf(sc->name, sizeof(sc->name), "%.*s", (int)len, base);
	/* It heads every report, and terminals show it. */
	snprintf(sc->name, sizeof(sc->name), "%.*s", (int)sizeof(sc->name) - 1, plain_line(sc->name).text);
}

static int
apply_profiles(struct scenario *sc, struct err *err)
{
	bool kernel_hosts = false;
	int ret = cfg_bind_list(sc->cfg, &host_cfg, NULL, (void **)&sc->host_configs, &sc->nhost_configs, err);

	if (ret < 0)
		return ret;
	for (size_t i = 0; i < sc->nhost_configs; i++)
		kernel_hosts |= sc->host_configs[i].kind != HOST_EMBEDDED;
	return profiles_apply(sc->cfg, sc->topo, kernel_hosts, err);
}

static int
build(struct scenario *sc, struct err *err)
{
	struct cfg_known known[SCENARIO_MAX_TABLES];
	size_t count = scenario_tables(known, SCENARIO_MAX_TABLES);
	int ret = cfg_check(sc->cfg, known, count, err);

	ret = ret == 0 ? topo_build(sc->cfg, &sc->topo, err) : ret;
	ret = ret == 0 ? apply_profiles(sc, err) : ret;
	ret = ret == 0 ? bind_groups(sc, err) : ret;
	ret = ret == 0 ? scenario_resolve_ip(sc, err) : ret;
	ret = ret == 0 ? scenario_check_systems(sc, err) : ret;
	ret = ret == 0 ? make_network(sc, err) : ret;
	ret = ret == 0 ? bind_lists(sc, err) : ret;
	ret = ret == 0 ? check_maps(sc, err) : ret;
	ret = ret == 0 ? make_plan(sc, err) : ret;
	if (ret < 0)
		return ret;
	set_name(sc);
	sc->epochs_kept = epochs_to_keep(sc);
	return scenario_check_memory(sc, err);
}

struct scenario *
scenario_of(struct cfg *cfg, struct err *err)
{
	struct scenario *sc = calloc(1, sizeof(*sc));
	int ret = -ENOMEM;

	if (sc == NULL) {
		cfg_destroy(cfg);
		err_set(err, ret, "out of memory");
	} else {
		sc->cfg = cfg;
		ret = build(sc, err);
	}
	if (ret == 0)
		return sc;
	scenario_destroy(sc);
	errno = -ret;
	return NULL;
}

uint64_t
scenario_chance_seed(const struct scenario *sc)
{
	uint64_t seed = (uint64_t)sc->root.seed, draw = (uint64_t)sc->root.draw;

	return draw == 0 ? seed : digest_u64(digest_u64(DIGEST_INIT, seed), draw) >> 1;
}

void
scenario_destroy(struct scenario *sc)
{
	if (sc == NULL)
		return;
	plan_destroy(sc->plan);
	rnic_map_fini(&sc->rnics);
	traffic_destroy(sc->traffic);
	route_pins_destroy(sc->pins);
	route_table_destroy(sc->routes);
	free(sc->withdrawn);
	faults_fini(&sc->faults);
	scenario_forget_hosts(sc);
	workload_destroy(sc->workload);
	free(sc->backgrounds);
	switch_setup_fini(&sc->switches);
	topo_destroy(sc->topo);
	cfg_destroy(sc->cfg);
	free(sc->overrides);
	free(sc);
}

int
scenario_path(const struct scenario *sc, uint32_t flow, bool reverse, struct route_path *path)
{
	return route_flow_path(&sc->routing, &sc->plan->flows.flows[flow], reverse, path);
}

/* A scenario from its file and the command line. */

/* Values of the file and the command line. @return NULL with err set */
static struct cfg *
load_tree(const struct scenario_options *options, struct err *err)
{
	struct cfg *cfg = cfg_load(options->path, err);
	int ret = 0;

	for (size_t i = 0; cfg != NULL && ret == 0 && i < options->nsets; i++)
		ret = cfg_override(cfg, options->sets[i], err);
	if (cfg != NULL && ret == 0 && options->seed != NULL)
		ret = cfg_override_by(cfg, "--seed", "seed", options->seed, err);
	if (cfg != NULL && ret == 0)
		return cfg;
	cfg_destroy(cfg);
	errno = ret < 0 ? -ret : EINVAL;
	return NULL;
}

/* @return 0 or -ENOMEM */
static int
keep_overrides(const struct scenario_options *options, struct scenario *sc)
{
	size_t size = 1;

	for (size_t i = 0; i < options->nsets; i++)
		size += strlen(options->sets[i]) + 1;
	sc->overrides = options->nsets != 0 ? calloc(1, size) : NULL;
	for (size_t i = 0; sc->overrides != NULL && i < options->nsets; i++)
		strcat(strcat(sc->overrides, options->sets[i]), "\n");
	return options->nsets == 0 || sc->overrides != NULL ? 0 : -ENOMEM;
}

struct scenario *
scenario_load(const struct scenario_options *options, struct err *err)
{
	struct cfg *cfg = load_tree(options, err);
	struct scenario *sc = cfg != NULL ? scenario_of(cfg, err) : NULL;

	if (sc != NULL && keep_overrides(options, sc) < 0) {
		err_set(err, -ENOMEM, "out of memory for %zu --set", options->nsets);
		scenario_destroy(sc);
		return NULL;
	}
	if (sc != NULL)
		log_debug("%s: %u nodes, %u links, %u flows, seed %llu", options->path, sc->topo->nnodes, sc->topo->nlinks,
			  sc->plan->flows.count, (unsigned long long)sc->routing.seed);
	return sc;
}

void
scenario_args_set(struct scenario_options *options, const char *set, const struct argp_state *state)
{
	if (options->nsets == SCENARIO_MAX_SETS)
		args_error(state, "more than %d --set", SCENARIO_MAX_SETS);
	options->sets[options->nsets++] = set;
}

int
scenario_args_parse(struct scenario_options *options, int key, char *arg, const struct argp_state *state)
{
	switch (key) {
	case SCENARIO_ARGS_SET:
		scenario_args_set(options, arg, state);
		return 0;
	case SCENARIO_ARGS_SEED:
		options->seed = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (options->path != NULL)
			args_error(state, "one file at a time: \"%s\" is the second", arg);
		options->path = arg;
		return 0;
	case ARGP_KEY_NO_ARGS:
		args_error(state, "which scenario? topo/scenarios/ has some");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

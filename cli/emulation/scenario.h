/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scenario, loaded and checked: every module's part of the configuration, the topology with its routes, and the
 * plan of what the hosts will send. The composition root's view; no module sees it.
 */
#pragma once

#include "common/cfg.h"
#include "common/flow.h"
#include "dpswitch/faults/fault.h"
#include "dpswitch/pipeline/switch.h"
#include "dpswitch/telemetry/exporter.h"
#include "rxe-hosts/agent/agent.h"
#include "rxe-hosts/faults/slow_host.h"
#include "rxe-hosts/roce/params.h"
#include "rxe-hosts/steps/plan.h"
#include "topo/pins.h"
#include "topo/route.h"

#define SCENARIO_MAX_SETS 64
#define SCENARIO_MAX_TABLES 64

struct scenario_root {
	struct cfg_where where;
	const char *name;
	int64_t seed;
};

struct timing_params {
	struct cfg_where where;
	uint64_t quantum_ps;  /* 0: exact */
	uint64_t pipeline_ps; /* added to every cable */
};

struct limits_params {
	struct cfg_where where;
	uint64_t virtual_time_ps;
	uint64_t stall_ps;
};

enum contention { CONTENTION_REPLAY, CONTENTION_EXACT };

struct telemetry_params {
	struct cfg_where where;
	bool enabled;
	uint64_t epoch_ps;
	int64_t epochs_kept; /* 0: cover the spacing of detections */
	int contention;      /* enum contention */
};

struct scenario {
	struct cfg *cfg;
	struct scenario_root root;
	struct timing_params timing;
	struct limits_params limits;
	struct telemetry_params telemetry;
	struct switch_params sw;
	struct switch_pfc_params pfc;
	struct switch_ecn_params ecn;
	struct roce_cfg host;
	struct dcqcn_cfg dcqcn;
	struct roce_params roce;
	struct detection_config detection;
	struct exporter_config exporter;
	struct collective_config *collectives;
	struct background_config *backgrounds;
	size_t ncollectives, nbackgrounds;
	struct fault_list faults;
	struct slow_host *slow_host_block; /* what slow_hosts lists */
	struct slow_host_list slow_hosts;
	struct topo *topo;
	struct route_table *routes;
	struct route_pins *pins;
	struct routing routing; /* the three above and the seed */
	struct plan *plan;
	char name[64]; /* root.name, or the file's */
	uint32_t mtu_frame_bytes; /* a full data frame on the wire */
	uint32_t min_frame_bytes;
	uint32_t epochs_kept;
	uint64_t bdp_bytes; /* largest bandwidth-delay product of a host pair: the default window */
};

/* What the command line adds to a file. */
struct scenario_options {
	const char *path;
	const char *sets[SCENARIO_MAX_SETS];
	size_t nsets;
	const char *seed; /* NULL: the scenario's */
};

/* Wire bytes of a PAUSE frame: 64 B with FCS, preamble 8, gap 12 (IEEE 802.1Qbb, 802.3). */
#define PAUSE_WIRE_BYTES 84

/*
 * Loads, binds and checks everything.
 * @return NULL with err set: file:line, the value, what would be right
 */
struct scenario *scenario_load(const struct scenario_options *options, struct err *err);
void scenario_destroy(struct scenario *scenario);

/* The configured path of a flow. @return 0, -EHOSTUNREACH or -ELOOP */
int scenario_path(const struct scenario *scenario, uint32_t flow, bool reverse, struct route_path *path);

/* Every table of every module, for the reference and for cfg_print(). @return count */
size_t scenario_tables(struct cfg_known *known, size_t cap);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A scenario, loaded and checked: every module's configuration, the topology with its routes, and the plan of what the
 * hosts send. Only the composition root uses it; modules do not see it.
 */
#pragma once

#include "common/cfg/cfg.h"
#include "common/flow.h"
#include "common/wire/layout.h"
#include "dpswitch/faults/fault.h"
#include "dpswitch/pipeline/settings.h"
#include "emulation/recorder/exporter.h"
#include "operator/controller/pinglist.h"
#include "rxe-hosts/agent/agent.h"
#include "rxe-hosts/probe/config.h"
#include "rxe-hosts/roce/params.h"
#include "topo/pins.h"
#include "topo/route.h"
#include "workload/traffic/traffic.h"

#define SCENARIO_MAX_SETS 1024
#define SCENARIO_MAX_TABLES 128

struct scenario_root {
	struct cfg_where where;
	const char *name;
	int64_t seed;
	int64_t draw;                  /* of packets' chance */
	struct cfg_strings diagnosers; /* of `rocelab run`; scenario/systems.h */
};

enum clock_kind { CLOCK_AUTO, CLOCK_VIRTUAL, CLOCK_REAL };
enum idle_kind { IDLE_AUTO, IDLE_SLEEP, IDLE_BUSY };

struct timing_params {
	struct cfg_where where;
	int clock;            /* enum clock_kind; CLOCK_AUTO only until the scenario is loaded */
	int idle;             /* enum idle_kind */
	uint64_t quantum_ps;  /* 0: exact */
	uint64_t pipeline_ps; /* added to every cable */
};

struct routing_params {
	struct cfg_where where;
	int rule; /* enum route_rule */
	uint64_t convergence_ps;
};

/* The sockets by which operators query switches and hosts, in real time. */
struct management_params {
	struct cfg_where where;
	bool sockets;
	uint64_t rtt_ps;
	int64_t greeting_rtts;
};

/* Default run time after the requested work, without a limit by the user. */
#define LIMITS_DEFAULT_PS (60 * PS_PER_S)

struct limits_params {
	struct cfg_where where;
	uint64_t virtual_time_ps; /* loaded: not 0 */
	uint64_t stall_ps;
	uint64_t connect_ps;
	uint64_t hold_ps;
	uint64_t memory_bytes;
};

/* Who runs a host of the topology: a row each here and in scenario_hosts.c. */
#define HOST_KINDS(ROW)                                                                                                    \
	ROW(HOST_EMBEDDED, 0, "embedded") /* in the fabric's own process and time */                                       \
	ROW(HOST_GUEST, 1, "guest")       /* a kernel of its own: user-mode Linux */                                       \
	ROW(HOST_QEMU, 2, "qemu")         /* a kernel of its own: a QEMU machine */                                        \
	ROW(HOST_NETNS, 3, "netns")       /* a network namespace of this server, with the server's rdma_rxe */             \
	ROW(HOST_PORT, 4, "port")         /* not started by the run: any device behind a DPDK port */

enum host_kind { HOST_KINDS(ENUM_VALUE) };

struct host_config;
struct plan;

/* Where the cable between fabric and host is. */
struct host_cable {
	const struct host_config *config;
	const char *dir, *name; /* of sockets; of the host */
	uint32_t node;
};

struct host_kind_row {
	const char *guest;  /* rxe-hosts/guest/kind.h: the program that starts it; NULL: the run does not start it */
	bool builds_kernel; /* that takes a kernel built by the project */
	bool remote;        /* not started by the run: the scenario names its port */
	/*
	 * The two ends of its cable; NULL where there is none.
	 * port: the fabric's, "vhost:PATH" or DPDK device arguments. nic: the guest's parameter
	 */
	void (*port)(const struct host_cable *cable, char *buf, size_t cap);
	void (*nic)(const struct host_cable *cable, char *buf, size_t cap);
};

/* "guest" */
const char *host_kind_name(enum host_kind kind);

extern const struct host_kind_row host_kinds[ENUM_COUNT(HOST_KINDS)]; /* by enum host_kind */

/* One group of "hosts". */
struct host_config {
	struct cfg_where where;
	struct cfg_strings names;
	int kind;              /* enum host_kind */
	const char *port;      /* HOST_PORT: DPDK device arguments; NULL: a vhost-user socket */
	uint64_t memory_bytes; /* guests */
	bool pfc;              /* HOST_PORT: the peer honours 802.1Qbb frames */
};

/* One partition of a fabric that several programs run: the nodes that it has. */
struct partition_config {
	struct cfg_where where;
	struct cfg_strings names;
};

enum contention { CONTENTION_REPLAY, CONTENTION_EXACT };

struct telemetry_params {
	struct cfg_where where;
	bool enabled;
	uint64_t epoch_ps;
	int64_t epochs_kept; /* 0: cover the spacing of detections */
	int64_t quiet_depth; /* packets */
	int contention;      /* enum contention */
	bool late_looks;
};

/* The store of a run, DIR/run.sqlite (store/). */
struct counters_params {
	struct cfg_where where;
	bool enabled;
	uint64_t period_ps; /* loaded: not 0 */
	int64_t rows;       /* of the series, at most */
};

/* FlowTracer: flows are traced hop by hop by an operator's tracer (emulation/flow_tracing.c). */
struct flowtracer_params {
	struct cfg_where where;
	bool enabled;
	bool all_flows; /* not those of jobs alone */
	uint64_t start_ps, period_ps, rtt_ps;
	int connections; /* enum rec_trace_connections */
	int first_hop;   /* enum rec_trace_first_hop */
	int64_t processes, threads;
};

extern const struct cfg_table flowtracer_cfg;

struct scenario {
	struct cfg *cfg;
	char *overrides; /* "PATH=VALUE" of the command line, one a line; NULL: none */
	struct scenario_root root;
	struct timing_params timing;
	struct routing_params rerouting;
	struct limits_params limits;
	struct management_params management;
	struct telemetry_params telemetry;
	struct counters_params counters;
	struct switch_setup switches;
	struct volumes_params volumes;
	struct pingmesh_params pingmesh;
	struct flowtracer_params flowtracer;
	struct rnic_map rnics;      /* of pingmesh; zero without */
	struct pinglists pinglists; /* over them */
	struct balance_params balance;
	struct roce_cfg host;
	struct cc_params cc;
	struct int_rates int_rates; /* of all links, where packets carry telemetry of their path */
	struct roce_params roce;
	struct detection_config detection;
	struct exporter_config exporter;
	struct workload *workload;
	struct background_config *backgrounds;
	size_t nbackgrounds;
	struct host_config *host_configs;
	size_t nhost_configs;
	const struct host_config **hosts;    /* [topo->nnodes] NULL: a switch, or an embedded host */
	uint32_t nexternal;                  /* hosts that are not embedded */
	struct partition_config *partitions; /* NULL: the partitioning program decides */
	size_t npartitions;
	struct traffic *traffic; /* flows of generators */
	struct fault_list faults;
	struct topo *topo;
	bool *withdrawn;            /* [topo->nlinks] cables that are known to be down; NULL: none */
	uint8_t strict;             /* bit p: switches serve class p before the classes that share */
	struct route_table *routes; /* without those */
	struct route_pins *pins;
	struct routing routing; /* the three above, the seed, and the fields that ecmp hashes */
	struct plan *plan;
	char name[64];                /* root.name, or the file's */
	uint32_t mtu_frame_bytes;     /* a full data frame on the wire */
	uint32_t largest_frame_bytes; /* of any frame: hosts with their own kernel send others too */
	uint32_t host_mtu_bytes;      /* of the network devices of such hosts: leads to the path MTU of host.mtu */
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
 * @return NULL with err set: file:line, the value, the remedy
 */
struct scenario *scenario_load(const struct scenario_options *options, struct err *err);
void scenario_destroy(struct scenario *scenario);

/*
 * The scenario as its operator knows it before the run, for a simulation: topology, routing and load balancing, jobs
 * with measured collectives, and known faults, which are present all the time. It excludes other faults, stragglers,
 * flows and generators; other jobs keep their places and never begin. All hosts are embedded, time is virtual, and
 * there is no polling.
 * @param iterations  of a job at most
 * @param seed        of all chance of the run; placements, hashes and other values that are drawn once use the
 *                    scenario's seed
 * @return NULL with err and errno set
 */
struct scenario *scenario_operator(const struct scenario *scenario, uint32_t iterations, int64_t seed, struct err *err);

/* @return the seed of packets' chance: the scenario's, or another for each draw but 0 */
uint64_t scenario_chance_seed(const struct scenario *scenario);
/* Delay up to which a host does not count as slow: as configured, or the default of the kinds of hosts. */
uint64_t scenario_jitter_ps(const struct scenario *scenario);
/* @return host.window of an embedded host, as far as a QP can fill it; 0: there is none, or hosts have their own */
uint64_t scenario_window_bytes(const struct scenario *scenario);
/* @return maximum payload in flight of a QP of an embedded host, by its window and packets; 0: hosts have their own */
uint64_t scenario_in_flight_bytes(const struct scenario *scenario);

/* @return how long the fabric's windows are */
uint64_t scenario_window_ps(const struct scenario *scenario);

/* Treats all hosts as embedded: for callers that need a fabric, but no host. The clock stays unchanged. */
void scenario_embed_hosts(struct scenario *scenario);

/* Between two answers of a switch to traceroutes; 0: it gives none. */
uint64_t scenario_trace_gap_ps(const struct scenario *scenario);

/* The configured path of a flow. @return 0, -EHOSTUNREACH or -ELOOP */
int scenario_path(const struct scenario *scenario, uint32_t flow, bool reverse, struct route_path *path);

/*
 * Checks the flows that start or end at a host: ports that a RoCEv2 device can use, one NIC, an IBTA path MTU.
 * @return 0 or -EINVAL with err set: file:line, the value, the remedy
 */
int kernel_host_check(const struct scenario *scenario, uint32_t node, struct err *err);

/*
 * The slowest link of every flow's path.
 * @return [flows], the caller's to free; NULL without memory or path, with err set
 */
uint64_t *kernel_host_slowest_bps(const struct scenario *scenario, struct err *err);

/* Every table of every module, for the reference and for cfg_print(). @return count */
size_t scenario_tables(struct cfg_known *known, size_t cap);

/*
 * How much memory the frames of hosts with their own kernel take: a pool for each port, and one for frames that are
 * built here.
 */

/* Maximum number of frames in flight of a port, less one: sizes of pools are powers of two, less one. */
#define FRAME_POOL_LEAST 1024
#define FRAME_POOL_MOST 16384

/* @return room of each for one frame, bytes: for the largest of the run, and at least the drivers' minimum */
uint32_t frame_pool_room(const struct scenario *scenario);

/*
 * Frames that arrived from a host and have not left yet. These are the frames that its cable delivers while the first
 * one is on the longest path through the fabric, all of the smallest size; full frames in the buffers on that path and
 * before a host that accepts none; and those in its NIC and in the device's ring.
 * @param node  a host with its own kernel
 * @return its pool's size; 0: out of memory
 */
uint32_t frame_pool_frames(const struct scenario *scenario, uint32_t node);

/* Of all kernel hosts of a scenario. */
struct frame_pools {
	uint32_t ports, room_bytes;
	uint32_t least, most; /* frames of a port's pool */
	uint64_t bytes;       /* of all of them, and the pool of those that are built */
};

/* @return 0 or -ENOMEM */
int frame_pools_sum(const struct scenario *scenario, struct frame_pools *sum);

/*
 * The rate at which a run is going to report whatever happens in it: hosts their steps, and switches their ports where the
 * policy has them do so every epoch. What polling packets ask for is not known before.
 */

/* @return by when all has happened at best, by the plan and its expected times */
uint64_t scenario_horizon_ps(const struct scenario *sc);

/*
 * What a step's reports take of the exporter's budget, beginning and end, in frames of their own time, and the report of
 * detections that it hands over, where the policy does: 57, 59 and 61 B, and 24 to 27, measured in rings of 16, 128 and
 * 1,024 ranks (export.offered_bytes in run.json by the number of steps).
 */
#define REPORT_STEP_BYTES 61
#define REPORT_HANDED_OVER_BYTES 27
/*
 * A record of a port's report: 40 and 63 B measured in rings of 16 and 128 ranks. A port has one, and each egress on a
 * flow's path three more.
 */
#define REPORT_PORT_BYTES 63
#define REPORT_PORT_ROWS 3

struct report_rate {
	uint64_t bytes_per_s; /* of the collective that reports fastest, beside all others; 0: there is none */
	uint32_t collective;
};

/* @param plan  with its expected times */
struct report_rate report_rate_of(const struct plan *plan, const struct detection_config *detection);

/*
 * Reports of all ports at each epoch's end, while every flow of the plan sends.
 * @return bytes a second; 0: the policy asks for none
 */
uint64_t report_rate_of_ports(const struct scenario *sc);

/*
 * A budget that holds a rate, with half as much again for what does not arrive evenly. @return bytes a second, two digits
 * and zeros
 */
uint64_t report_rate_budget(uint64_t bytes_per_s);

/*
 * The arguments that all programs which read a scenario share: SCENARIO, --set PATH=VALUE and --seed N. These are the
 * keys of the last two in a program's table of options.
 */
#define SCENARIO_ARGS_SET 's'
#define SCENARIO_ARGS_SEED 'S'

struct argp_state;

/* Adds a PATH=VALUE, which has to stay where it is; ends the program if there are too many. */
void scenario_args_set(struct scenario_options *options, const char *set, const struct argp_state *state);

/*
 * For the default case of a program's parser (argp(3)): handles the options listed above, and ends the program when it
 * gets no scenario or two.
 * @return 0 or ARGP_ERR_UNKNOWN
 */
int scenario_args_parse(struct scenario_options *options, int key, char *arg, const struct argp_state *state);

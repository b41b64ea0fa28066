/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults injected on demand. A fault is a file with a struct fault_ops of its own (list "faults", kind = NAME) and a row in
 * its folder's meson.build: dpswitch/faults for what happens to the network, rxe-hosts/faults for what happens to hosts.
 * When it acts is common to all.
 */
#pragma once

#include <stddef.h>

#include "common/cfg/cfg.h"
#include "dpswitch/fabric/fabric.h"

/* The parts of a run that faults act on. */
struct fault_env {
	struct fabric *fabric;
	const struct topo *topo;
	/* Queries to the run and effects on hosts, with RUN as their argument; ports are global ids. */
	void *run;
	/* Does the path of a flow, of its data or ACKs, leave by this port as routes and pins are without faults? */
	bool (*crosses)(void *run, uint32_t port);
	/* How long flows stood at this port while it was paused so far; FAULT_UNSEEN at a kernel host. */
	uint64_t (*held_ps)(void *run, uint32_t port);
	/*
	 * Steps of ranks at a host that began; FAULT_UNSEEN of a kernel host. @param collective  -1: all. @param step
	 * 0: every one
	 */
	uint64_t (*steps_begun)(void *run, uint32_t node, int64_t collective, int64_t step);
	/* The CPU of a host handles completions this much later (median) from now on; 0: no delay. */
	void (*load_cpu)(void *run, uint32_t node, uint64_t load_ps);
	/* Completions that were handled later for it so far. */
	uint64_t (*cpu_overloaded)(void *run, uint32_t node);
	/* The agent of R-Pingmesh at a host dies, or starts again. */
	void (*stop_agent)(void *run, uint32_t node, bool stop, uint64_t now_ps);
	/* @return how often that agent died */
	uint64_t (*agent_deaths)(void *run, uint32_t node);
};

struct sw;

/* The switch of a node; NULL: another program runs it, and the fault acts there. */
struct sw *fault_switch(const struct fault_env *env, uint32_t node);
/* fault_switch() for a fault that changes the switch's routes: packets that it sends may overtake others here, too. */
struct sw *fault_switch_reroutes(const struct fault_env *env, uint32_t node);

/* The traffic and hosts of a run, to check faults against. */
struct fault_work {
	const struct flow_table *flows;
	const uint32_t *steps; /* [ncollectives] of a rank */
	uint32_t ncollectives;
	bool has_agents; /* of R-Pingmesh */
	const struct topo *topo;
	const bool *own_kernel; /* [topo->nnodes] hosts that are not embedded; NULL: none */
};

#define FAULT_UNSEEN UINT64_MAX
#define FAULT_MIN_PERIOD_PS 1000000 /* every change ends a window */

/* The first members of every fault's struct. */
struct fault_common {
	struct cfg_where where;
	bool enabled;         /* else it never begins */
	bool known;           /* to operators, before the run */
	uint64_t start_ps;    /* TIME_NEVER: it is not enabled */
	uint64_t duration_ps; /* 0: to the end of the run */
	uint64_t period_ps;   /* 0: once; else again every period */
};

/* The first members of a fault that sits at a port. */
struct fault_at_port {
	struct fault_common common;
	const char *port;
	uint32_t port_id; /* set by fault_at_port_resolve() */
};

/* The first members of a fault that sits at a host. */
struct fault_at_host {
	struct fault_common common;
	const char *host;
	uint32_t node; /* set by fault_at_host_resolve() */
};

#define FAULT_AT_HOST_FIELD(meaning) CFG_FIELD("host", CFG_STRING, offsetof(struct fault_at_host, host), .doc = meaning)

#define FAULT_AT_PORT_FIELD(meaning) CFG_FIELD("port", CFG_STRING, offsetof(struct fault_at_port, port), .doc = meaning)

#define FAULT_ENABLED_FIELD                                                                                                \
	CFG_FIELD("enabled", CFG_BOOL, offsetof(struct fault_common, enabled), .def = "true",                              \
		  .doc = "false: it never starts; headroom is planned as if it did")

#define FAULT_COMMON_FIELDS                                                                                                \
	FAULT_ENABLED_FIELD,                                                                                               \
		CFG_FIELD("start", CFG_TIME, offsetof(struct fault_common, start_ps), .def = "0us", .max = 1e17,           \
			  .doc = "When it begins"),                                                                        \
		CFG_FIELD("duration", CFG_TIME, offsetof(struct fault_common, duration_ps), .def = "0us", .max = 1e17,     \
			  .doc = "How long it lasts; 0: to the end of the run"),                                           \
		CFG_FIELD("period", CFG_TIME, offsetof(struct fault_common, period_ps), .def = "0us", .max = 1e17,         \
			  .doc = "Starts again every period (a flap), at least 1us; 0: once"),                             \
		CFG_FIELD("known", CFG_BOOL, offsetof(struct fault_common, known), .def = "false",                         \
			  .doc = "Operators know of it before the run; diagnosers receive a KNOWN_FAULT record")

/* The scope within which a later fault of a kind replaces the values of an earlier one that is still on. */
enum fault_replaces {
	FAULT_REPLACES_NONE, /* they act side by side */
	FAULT_REPLACES_PORT, /* at one port; params begin with struct fault_at_port */
	FAULT_REPLACES_CABLE,
};

struct fault_ops {
	const char *kind;
	const struct cfg_table *table;
	/* Keys of finding types that may name it as the cause, of all diagnosers, the most exact first; NULL-terminated. */
	const char *const *symptoms;
	/*
	 * Its keys in a scenario, with topology = { kind = "leaf-spine"; leaves = 2; spines = 2; hosts_per_leaf = 2; }:
	 * h0 and h1 are at ports 1 and 2 of l0, s0 and s1 at ports 3 and 4 of each leaf.
	 */
	const char *example;
	/* Turns names into ids. @return 0 or -EINVAL with file:line, value and what would be right */
	int (*resolve)(void *params, const struct topo *topo, struct err *err);
	/* Checks that the fault can act on this work; may be NULL. @return as resolve() */
	int (*check)(const void *params, const struct fault_work *work, struct err *err);
	/*
	 * Between windows, at the exact time. A fault that is on already changes nothing. NULL: there during the whole
	 * run, and queried by the code that it concerns
	 */
	void (*set)(const void *params, struct fault_env *env, bool on, uint64_t now_ps);
	/* A step of a rank at a host is delayed by this much, while the fault is on; may be NULL. */
	uint64_t (*start_delay_ps)(const void *params, uint32_t node, uint32_t collective, uint32_t step);
	/* The most that it adds to a cable's delay: headroom has to hold that besides. May be NULL. */
	uint64_t (*extra_delay_ps)(const void *params);
	bool takes_cables_down; /* switches reroute, see routing.convergence; params begin with struct fault_at_port */
	bool loses_packets;     /* of flows that pass it */
	/* Names the fault's place in truth.json: a port ("6:2") or a node. buf of 64 bytes. */
	void (*target)(const void *params, const struct topo *topo, char *buf);
	/*
	 * A count of all that a fault of its kind and place did or affected: one that does not grow while it is on is
	 * idle. FAULT_UNSEEN: that cannot be seen from here, and the fault is not reported idle.
	 */
	uint64_t (*affected)(const void *params, const struct fault_env *env);
	/* Share of the passing packets that is lost or damaged: 0 to 1. NULL: unknown */
	double (*rate)(const void *params);
	enum fault_replaces replaces;
	/* @return whether the fault concerns only CNPs. NULL: it does not */
	bool (*of_cnps)(const void *params);
	const char *idle; /* text for that: "no frame was lost" */
	/* Why it would change nothing even so, NULL: it does. May be NULL. */
	const char *(*powerless)(const void *params);
	const char *const *truth_keys; /* keys in truth.json, NULL-terminated: numbers, words, yes or no. May be NULL */
};

/* All kinds of this folder, NULL-terminated. */
extern const struct fault_ops *const switch_faults[];

struct fault {
	const struct fault_ops *ops;
	void *params; /* starts with struct fault_common */
	bool on;
	bool begun, acted;
	uint64_t affected; /* before it began */
};

struct fault_list {
	struct fault *faults; /* [count] */
	uint32_t count;
	void **blocks; /* what cfg_bind_list() returned, by kind */
	uint32_t nblocks;
};

/*
 * Reads and checks the scenario's faults of some kinds, and adds them to the list, empty (zeroed) at first.
 * @param kinds  NULL-terminated
 * @return 0, -EINVAL or -ENOMEM
 */
int faults_load(struct fault_list *list, const struct fault_ops *const *kinds, const struct cfg *cfg,
		const struct topo *topo, struct err *err);
void faults_fini(struct fault_list *list);
/* Refuses what cannot act on this work. @return 0 or -EINVAL with err set */
int faults_check(const struct fault_list *list, const struct fault_work *work, struct err *err);
/* @return the first fault of the list whose values replace those of a fault at some time; NULL: there is none */
const struct fault *faults_replacing(const struct fault_list *list, const struct topo *topo, const struct fault *replaced);
/* @return the longest time that any fault adds to a cable's delay */
uint64_t faults_extra_delay_ps(const struct fault_list *list);
/*
 * Marks the links that are down and known to be.
 * @param withdrawn  [topo->nlinks]
 * @return whether there are any
 */
bool faults_withdraw(const struct fault_list *list, const struct topo *topo, bool *withdrawn);
/*
 * Marks the cables that faults take down at some time from from_ps to to_ps, known or not.
 * @param down  [topo->nlinks]
 * @return how many
 */
uint32_t faults_cables_down(const struct fault_list *list, const struct topo *topo, uint64_t from_ps, uint64_t to_ps,
			    bool *down);
bool faults_take_cables_down(const struct fault_list *list);
/*
 * struct step_engine_config.start_delay_ps. @param list  a struct fault_list. @return the sum over all that concern the
 * step
 */
uint64_t faults_start_delay_ps(const void *list, uint32_t node, uint32_t collective, uint32_t step);

/* When the next fault begins or ends, at or after now_ps; TIME_NEVER if none does. */
uint64_t faults_next_ps(const struct fault_list *list, uint64_t now_ps);
/*
 * Switches on and off the faults that are due at now_ps. Of two faults of a kind that are on at one place the one that
 * began last counts; when it ends, the other is still there.
 */
void faults_apply(struct fault_list *list, struct fault_env *env, uint64_t now_ps);

/* The run is over: looks at what those did that are still on, or have a delayed effect. */
void faults_close(struct fault_list *list, const struct fault_env *env);
/* @return why a fault changed nothing in the run, for people; NULL: it acted. After faults_close() */
const char *fault_idle(const struct fault *fault);

/* struct fault_ops.resolve and .target of faults whose struct begins with struct fault_at_port. */
int fault_at_port_resolve(void *params, const struct topo *topo, struct err *err);
void fault_at_port_target(const void *params, const struct topo *topo, char *buf);

/* struct fault_ops.resolve and .target of faults whose struct begins with struct fault_at_host. */
int fault_at_host_resolve(void *params, const struct topo *topo, struct err *err);
void fault_at_host_target(const void *params, const struct topo *topo, char *buf);
/* struct fault_ops.rate of what loses everything. */
double fault_loses_all(const void *params);

/* Names with file:line errors. @return id, or TOPO_NONE with err set */
uint32_t fault_find_port(const struct topo *topo, const struct cfg_where *where, const char *key, const char *text,
			 struct err *err);
uint32_t fault_find_node(const struct topo *topo, const struct cfg_where *where, const char *key, const char *text,
			 enum topo_kind wanted, struct err *err);

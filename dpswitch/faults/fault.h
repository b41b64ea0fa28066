/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults injected on demand. A fault is a file with a table of its own (list "faults", kind = NAME), a function that
 * checks its names, one that switches it on and off, and a line in the registry. When it acts is common to all.
 */
#pragma once

#include "dpswitch/fabric/fabric.h"
#include "dpswitch/pipeline/switch.h"

/* What a fault may touch. */
struct fault_env {
	struct fabric *fabric;
	const struct topo *topo;
	/* What the run knows of itself, of ports by global id. */
	void *run;
	/* Does the way of a flow, of its data or ACKs, leave by this port as routes and pins are without faults? */
	bool (*crosses)(void *run, uint32_t port);
	/* How long flows stood at this port while it was halted so far. */
	uint64_t (*held_ps)(void *run, uint32_t port);
};

#define FAULT_MIN_PERIOD_PS 1000000 /* every change ends a window */

/* The first members of every fault's struct. */
struct fault_common {
	struct cfg_where where;
	uint64_t start_ps;
	uint64_t duration_ps; /* 0: to the end of the run */
	uint64_t period_ps;   /* 0: once; else again every period */
};

/* The first members of a fault that sits at a port. */
struct fault_at_port {
	struct fault_common common;
	const char *port;
	uint32_t port_id; /* set by fault_at_port_resolve() */
};

#define FAULT_AT_PORT_FIELD(meaning)                                                                                       \
	{                                                                                                                  \
		"port", CFG_STRING, offsetof(struct fault_at_port, port), NULL, 0, 0, NULL, meaning                        \
	}

#define FAULT_COMMON_FIELDS                                                                                                \
	{ "start", CFG_TIME, offsetof(struct fault_common, start_ps), "0us", 0, 1e17, NULL, "When it begins" },            \
		{ "duration", CFG_TIME, offsetof(struct fault_common, duration_ps),   "0us", 0,                            \
		  1e17,       NULL,     "How long it lasts; 0: to the end of the run" },                                   \
	{                                                                                                                  \
		"period", CFG_TIME, offsetof(struct fault_common, period_ps), "0us", 0, 1e17, NULL,                        \
			"Begins again every period (a flap), 1us and more; 0: once"                                        \
	}

struct fault_ops {
	const char *kind;
	const struct cfg_table *table;
	/* Turns names into ids. @return 0 or -EINVAL with file:line, value and what would be right */
	int (*resolve)(void *params, const struct topo *topo, struct err *err);
	/* Between windows, at the exact time. Switching on what is on already changes nothing. */
	void (*set)(const void *params, struct fault_env *env, bool on, uint64_t now_ps);
	/* Where it sits, for truth.json: a port ("6:2") or a node. buf of 64 bytes. */
	void (*target)(const void *params, const struct topo *topo, char *buf);
	/* A count of all that a fault of its kind and place did or met: one that does not grow while it is on is idle. */
	uint64_t (*met)(const void *params, const struct fault_env *env);
	const char *idle; /* what is said of that: "no frame was lost" */
};

extern const struct fault_ops fault_pfc_storm, fault_loss, fault_corruption, fault_link_down, fault_misroute,
	fault_blackhole, fault_delay;

/* NULL-terminated. */
extern const struct fault_ops *const fault_registry[];

struct fault {
	const struct fault_ops *ops;
	void *params; /* starts with struct fault_common */
	bool on;
	bool again; /* another of its kind ended, perhaps at the same place: to be switched on once more */
	bool begun, acted;
	uint64_t met; /* before it began */
};

struct fault_list {
	struct fault *faults; /* [count] */
	uint32_t count;
	void **blocks; /* what cfg_bind_list() returned, by kind */
	uint32_t nblocks;
};

/* Reads and checks the scenario's faults. @return 0, -EINVAL or -ENOMEM */
int faults_load(struct fault_list *list, const struct cfg *cfg, const struct topo *topo, struct err *err);
/* @return the longest time that any fault adds to a cable's delay: what headroom has to hold besides */
uint64_t delay_most_ps(const struct fault_list *list);
/* Refuses storms of classes that none of these flows is in. @return 0, or -EINVAL as resolve() */
int pfc_storm_check(const struct fault_list *list, const struct flow_table *flows, struct err *err);
void faults_fini(struct fault_list *list);

/* When the next fault begins or ends, at or after now_ps; TIME_NEVER if none does. */
uint64_t faults_next_ps(const struct fault_list *list, uint64_t now_ps);
/*
 * Switches on and off what is due at now_ps. Of two faults of a kind that are on at one place the one that began last
 * counts; when it ends, the other is still there.
 */
void faults_apply(struct fault_list *list, struct fault_env *env, uint64_t now_ps);

/* The run is over: looks at what those did that are still on, or have a delayed effect. */
void faults_close(struct fault_list *list, const struct fault_env *env);
/* @return why a fault changed nothing in the run, for people; NULL: it acted. After faults_close() */
const char *fault_idle(const struct fault *fault);

/* What faults at a port have in common: their struct begins with struct fault_at_port. */
int fault_at_port_resolve(void *params, const struct topo *topo, struct err *err);
void fault_at_port_target(const void *params, const struct topo *topo, char *buf);

/* Names with file:line errors. @return id, or TOPO_NONE with err set */
uint32_t fault_find_port(const struct topo *topo, const struct cfg_where *where, const char *key, const char *text,
			 struct err *err);
uint32_t fault_find_node(const struct topo *topo, const struct cfg_where *where, const char *key, const char *text,
			 enum topo_kind wanted, struct err *err);

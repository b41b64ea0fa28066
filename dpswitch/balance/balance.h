/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Load balancing over the ports of equal cost that a switch has towards a destination. A kind is a file here, its line
 * in meson.build and a row of BALANCE_KINDS; scenarios (load_balancing.kind) and the tests over all kinds have it then.
 * Pure: the caller passes the queue depths and the time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "common/flow.h"
#include "common/pkt.h"
#include "topo/hash.h"
#include "topo/topo.h"

/* Value, name in scenarios, the file's symbol, what it does. */
#define BALANCE_KINDS(ROW)                                                                                                 \
	ROW(BALANCE_ECMP, "ecmp", ecmp, "all packets of a flow leave by one port, which a hash chooses")                   \
	ROW(BALANCE_RANDOM, "random", random, "each packet leaves by a port chosen at random")                             \
	ROW(BALANCE_ROUND_ROBIN, "round-robin", round_robin, "each packet leaves by the next port in turn")                \
	ROW(BALANCE_ADAPTIVE, "adaptive", adaptive,                                                                        \
	    "each packet leaves by the port that is least loaded when it arrives (load_balancing.adaptive)")               \
	ROW(BALANCE_FLOWLET, "flowlet", flowlet,                                                                           \
	    "the packets of a flow leave by one port, which is chosen anew after a gap between two of them "               \
	    "(load_balancing.flowlet)")

#define BALANCE_VALUE(id, name, symbol, doc) id,
enum balance_kind { BALANCE_KINDS(BALANCE_VALUE) BALANCE_COUNT };

#define BALANCE_PARAMS_WORDS 8
#define BALANCE_CLASSES 8

/* A kind with its parameters, for all switches of a run. Immutable once a switch uses it; all zero: ecmp. */
struct balance_params {
	const struct balance_ops *ops; /* NULL: ecmp */
	struct route_hashing hashing;  /* of ecmp, and of packets that are not balanced */
	bool names_label;              /* load_balancing.fields has the flow label, which IPv4 has not */
	uint64_t own[BALANCE_PARAMS_WORDS];
};

/* State of load balancing at one switch. */
struct balance {
	const struct balance_params *params;
	const struct flow_table *flows;
	uint64_t stream; /* of chance: the switch's */
	/* [flows * 2] by flow and direction, 0 at first and when routes have changed: where ops->per_flow */
	uint64_t *flow_word;
};

/* Ports of equal cost at one switch; destinations with the same ports share it. */
struct balance_set {
	uint8_t members[TOPO_MAX_PORTS];              /* ascending */
	uint32_t count;                               /* 2 and more */
	uint32_t byte_ps[TOPO_MAX_PORTS], fastest_ps; /* a byte takes at each, and at the fastest */
	uint64_t *words;                              /* [ops->set_words(count)] 0 at first */
};

#define BALANCE_BLOCK 8 /* members that are looked at at once */
_Static_assert(TOPO_MAX_PORTS % BALANCE_BLOCK == 0, "any set fits blocks");

/* @return blocks that hold count members */
static inline uint32_t
balance_blocks(uint32_t count)
{
	return (count + BALANCE_BLOCK - 1) / BALANCE_BLOCK;
}

/* A packet wants a port. */
struct balance_ask {
	const struct pkt *p; /* as on arrival, time_ps included */
	/*
	 * [set->count] until it would begin to leave by each, 0 for what is left of the last block; where
	 * ops->sees_waits
	 */
	const int64_t *waits_ps;
};

struct balance_ops {
	const char *name;
	bool reorders; /* packets of a flow may overtake each other */
	bool in_order; /* a choice depends on those before it: packets are balanced in order of arrival, from all ports */
	bool sees_waits;
	bool per_flow;
	const struct cfg_table *table; /* its parameters, bound into balance_params.own; NULL: none */
	/* @return words of state that the kind keeps for a set. NULL: none */
	size_t (*set_words)(uint32_t count);
	/* Initializes that state before the first packet. NULL: it stays zero. */
	void (*set_begin)(const struct balance_params *params, struct balance_set *set);
	/* Which member a packet takes. NULL: one for a flow, by its hash. @return index in set->members */
	uint32_t (*choose)(const struct balance *balance, struct balance_set *set, const struct balance_ask *ask);
};

#define BALANCE_EXTERN(id, name, symbol, doc) extern const struct balance_ops balance_##symbol;
BALANCE_KINDS(BALANCE_EXTERN)

extern const struct balance_ops *const balance_kinds[BALANCE_COUNT]; /* by enum balance_kind */

/* The group of the scenario, for the reference; and those of kinds are in their rows. */
extern const struct cfg_table balance_table;

/* Reads and checks the group "load_balancing". @return 0 or -EINVAL with err set */
int balance_bind(struct balance_params *params, const struct cfg *cfg, struct err *err);

/* Do packets, rather than flows, have a port each? */
static inline bool
balance_is_on(const struct balance_params *params)
{
	return params->ops != NULL && params->ops->choose != NULL;
}

/* Does every packet choose for itself, so that a flow's are spread evenly? */
static inline bool
balance_spreads(const struct balance_params *params)
{
	return balance_is_on(params) && !params->ops->per_flow;
}

/* May packets of a flow overtake each other? */
static inline bool
balance_reorders(const struct balance_params *params)
{
	return balance_is_on(params) && params->ops->reorders;
}

/* @return whether it evens out the sum of all flows of a class, so that one flow's share depends on the others */
static inline bool
balance_evens_out(const struct balance_params *params)
{
	return balance_spreads(params) && params->ops->in_order;
}

/* A member by chance, for a packet: again for every time that it is sent. @return index */
uint32_t balance_draw(const struct balance *balance, const struct pkt *p, uint32_t count);

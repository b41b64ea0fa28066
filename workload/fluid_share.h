/* SPDX-License-Identifier: BSD-3-Clause */
/* Max-min fair shares of NICs among the flows in flight: what fluid.c asks whenever one comes or goes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHARE_NONE UINT32_MAX

enum share_side { SHARE_TX, SHARE_RX, SHARE_SIDES };

/* A flow in flight. */
struct share_flow {
	uint32_t port[SHARE_SIDES]; /* index into ports; SHARE_NONE: not in flight */
	uint32_t next[SHARE_SIDES], prev[SHARE_SIDES];
	double cost[SHARE_SIDES]; /* share of the port's time that a unit of its rate takes */
	double most;              /* its rate alone */
	double speed;             /* its rate, in shares of that: 1 when nothing hinders it */
	uint32_t round;           /* which sharing out has had it last */
	bool fixed;
};

struct share_port {
	uint32_t first; /* flow in flight */
	uint32_t round;
	/* While sharing out: flows without a rate yet, the port's time that others leave them, what a unit of rate of each costs. */
	uint32_t open;
	double free, cost;
};

struct share {
	struct share_flow *flows; /* [nflows] */
	struct share_port *ports; /* [2 * nports] senders', then receivers' */
	uint32_t nports;
	uint32_t *members; /* [nflows] flows that share_out() set a speed of */
	uint32_t *slow;    /* [nflows] those that may not fill any port even alone, the slowest first */
	uint32_t *touched; /* [2 * nports] ports that they depend on */
	uint32_t nmembers, nslow, ntouched;
	uint32_t round;
};

/* @return 0 or -ENOMEM */
int share_init(struct share *share, uint32_t nflows, uint32_t nports);
void share_fini(struct share *share);

/* What a flow asks for. */
struct share_demand {
	uint64_t bytes;                    /* of its message: rates are in bytes */
	uint64_t alone_ps;                 /* how long it takes alone */
	uint64_t occupies_ps[SHARE_SIDES]; /* for how much of that it occupies its ports; at most all of it */
	uint32_t port[SHARE_SIDES];
};

void share_add(struct share *share, uint32_t flow, const struct share_demand *demand);
void share_remove(struct share *share, uint32_t flow);

/*
 * Shares out anew what a port has, and all that its flows depend on: sets the speed of the flows in members. Rates rise
 * together until a port has no time left, or a flow has what it would have alone, and stays at that (progressive filling;
 * Bertsekas and Gallager, Data Networks, 2nd ed., 6.5.2).
 */
void share_out(struct share *share, enum share_side side, uint32_t port);

/* @return the first of a port's flows, SHARE_NONE */
static inline uint32_t
share_first(const struct share *share, enum share_side side, uint32_t port)
{
	return share->ports[port + side * share->nports].first;
}

/* Whether a port had its share in a round behind that one. */
static inline bool
share_is_since(const struct share *share, enum share_side side, uint32_t port, uint32_t round)
{
	return share->ports[port + side * share->nports].round > round;
}

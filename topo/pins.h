/* SPDX-License-Identifier: BSD-3-Clause */
/* Pinned paths: the scenario's list "paths" takes flows off ECMP, for data and for ACKs separately. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow.h"
#include "topo/topo.h"

extern const struct cfg_table route_pins_table;

/* One direction of a pin: the egress port of each switch on the path, and of a bonded sender. */
struct route_pin_path {
	int16_t nic;     /* member of the sender's bond; -1: by its hash */
	uint32_t *ports; /* [hops] global port ids; NULL: not pinned */
	uint32_t hops;
};

struct route_pin {
	struct cfg_where where;
	uint32_t src_node, dst_node;
	uint16_t sport, dport; /* 0: any */
	struct route_pin_path data, ack;
	bool rehash;      /* it holds only where all ports of equal cost are left; else by hash, but for data by: */
	uint32_t *detour; /* [ndetours] global ports, the first of a switch's that is left */
	uint32_t ndetours;
};

struct route_pins {
	struct route_pin *pins; /* [count] */
	size_t count;
	const struct topo *topo;
	const struct route_pin **of; /* [nflows] after route_pins_attach() */
	uint32_t nflows;
};

/*
 * Reads and checks the list: every hop a port of a switch, consecutive hops connected, no switch twice (a routing
 * loop), the first hop at a switch of the sender's and the last port at the receiver, no flow pinned twice.
 * @return 0, -EINVAL with file:line, value and what would be right, or -ENOMEM. cfg and topo must outlive the pins.
 */
int route_pins_create(const struct cfg *cfg, const struct topo *topo, struct route_pins **pins, struct err *err);
void route_pins_destroy(struct route_pins *pins);

/* Has the scenario flows from one host to another that are switched off, and so are in no table? */
typedef bool route_quiet_check(const void *of, uint32_t src_node, uint32_t dst_node);

/*
 * Looks up the pin of every flow of the run once, for route_pinned_egress(). A pin that no flow uses is an error: its
 * addresses or ports are not what the scenario's flows have; but for those of flows that are switched off.
 * @param of  what quiet is called with
 * @return 0, -EINVAL or -ENOMEM
 */
int route_pins_attach(struct route_pins *pins, const struct flow_table *flows, route_quiet_check *quiet, const void *of,
		      struct err *err);

/* @return the pin of a flow, or NULL. pins may be NULL. */
const struct route_pin *route_pins_find(const struct route_pins *pins, const struct flow *flow);

/*
 * The pinned egress of a node for one direction of a pin.
 * @return port index, or -1 where the pin has none. pin may be NULL.
 */
int route_pin_egress(const struct route_pin *pin, const struct topo *topo, uint32_t node, bool reverse);

/* route_pin_egress() for the flow with number flow of the attached table. pins may be NULL. */
int route_pinned_egress(const struct route_pins *pins, uint32_t node, uint32_t flow, bool reverse);

/* @return the pin of such a flow where it is one that does not hold beside links that are down, or NULL */
const struct route_pin *route_pin_rehash(const struct route_pins *pins, uint32_t flow);
/* @return the first of a pin's detours at a node that is one of count ports left, or -1 */
int route_pin_detour(const struct route_pin *pin, const struct topo *topo, uint32_t node, const uint8_t *left,
		     uint32_t count);

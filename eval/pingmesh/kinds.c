/* SPDX-License-Identifier: BSD-3-Clause */
/* The problems of cases. Rates and lengths are as likely in each decade; times are the protocol's. */
#include <stdio.h>

#include "eval/pingmesh/case.h"

#define LEAST_RATE 0.001

/* ---- links: between switches, or a host's ---- */

static const char *
name(const struct pm_case *c, uint32_t port, char *buf)
{
	return topo_port_name(c->loaded->topo, port, buf);
}

/* @return false: there is no free link */
static bool
at_link(struct pm_case *c, struct pm_problem *p)
{
	return (p->port = pm_free_port(c, p->kind->class == PM_RNIC)) != TOPO_NONE;
}

static bool
corruption(struct pm_case *c, struct pm_problem *p)
{
	char port[64];

	if (!at_link(c, p))
		return false;
	pm_fault(c, p, "corruption", "port = \"%s\"; rate = %.5f;", name(c, p->port, port), pm_log(c, LEAST_RATE, 1));
	return true;
}

static bool
loss(struct pm_case *c, struct pm_problem *p)
{
	char port[64];

	if (!at_link(c, p))
		return false;
	pm_fault(c, p, "loss", "port = \"%s\"; rate = %.5f;", name(c, p->port, port), pm_log(c, LEAST_RATE, 1));
	return true;
}

static bool
silent_loss(struct pm_case *c, struct pm_problem *p)
{
	char port[64];

	if (!at_link(c, p))
		return false;
	pm_fault(c, p, "loss", "port = \"%s\"; rate = %.5f; silent = true;", name(c, p->port, port),
		 pm_log(c, LEAST_RATE, 1));
	return true;
}

/* Down for 0.2 to 0.9 s, again after 2 to 10 s: never as long as routes take to avoid it. */
static bool
flapping(struct pm_case *c, struct pm_problem *p)
{
	char port[64];
	double down_s = pm_log(c, 0.2, 0.9 * PM_CONVERGENCE_S), every_s = pm_log(c, 2, 10);

	if (!at_link(c, p))
		return false;
	pm_fault(c, p, "link-down", "port = \"%s\"; duration = \"%s\"; period = \"%s\";", name(c, p->port, port),
		 pm_time(c, down_s).text, pm_time(c, every_s).text);
	return true;
}

static bool
down(struct pm_case *c, struct pm_problem *p)
{
	char port[64];

	if (!at_link(c, p))
		return false;
	pm_fault(c, p, "link-down", "port = \"%s\";", name(c, p->port, port));
	return true;
}

static bool
slow(struct pm_case *c, struct pm_problem *p)
{
	char port[64];

	if (!at_link(c, p))
		return false;
	pm_fault(c, p, "delay", "port = \"%s\"; extra = \"%.0fns\";", name(c, p->port, port), pm_log(c, 10e3, 100e3));
	return true;
}

/* ---- queues ---- */

/* Sends a port as much as two to four NICs do, from the problem's start on. */
static bool
congestion(struct pm_case *c, struct pm_problem *p)
{
	const struct topo *topo = c->loaded->topo;

	if (!at_link(c, p))
		return false;
	if (topo->nodes[topo->ports[p->port].node].kind == TOPO_HOST)
		p->port = topo->ports[p->port].peer_port;
	return pm_traffic(c, p, p->port, 2, false);
}

static bool
imbalance(struct pm_case *c, struct pm_problem *p)
{
	char port[64];

	if (!at_link(c, p) || !pm_traffic(c, p, p->port, 2, true))
		return false;
	pm_fault(c, p, "ecmp-imbalance", "port = \"%s\"; share = %.3f;", name(c, p->port, port), pm_between(c, 0.8, 1));
	return true;
}

/* ---- RNICs ---- */

/* @return false: there is no free one. The problem's port is the RNIC's */
static bool
at_rnic(struct pm_case *c, struct pm_problem *p, char *port)
{
	const struct topo *topo = c->loaded->topo;

	if (!at_link(c, p))
		return false;
	if (topo->nodes[topo->ports[p->port].node].kind != TOPO_HOST)
		p->port = topo->ports[p->port].peer_port;
	name(c, p->port, port);
	return true;
}

static bool
rnic_is(struct pm_case *c, struct pm_problem *p, const char *kind)
{
	char port[64];

	if (!at_rnic(c, p, port))
		return false;
	pm_fault(c, p, kind, "port = \"%s\";", port);
	return true;
}

static bool
hangs(struct pm_case *c, struct pm_problem *p)
{
	return rnic_is(c, p, "rnic-down");
}

static bool
no_routes(struct pm_case *c, struct pm_problem *p)
{
	return rnic_is(c, p, "rnic-no-routes");
}

static bool
no_gid(struct pm_case *c, struct pm_problem *p)
{
	return rnic_is(c, p, "rnic-no-gid");
}

static bool
detour(struct pm_case *c, struct pm_problem *p)
{
	char port[64];

	if (!at_rnic(c, p, port))
		return false;
	pm_fault(c, p, "dma-detour", "port = \"%s\"; delay = \"%.0fns\";", port, pm_log(c, 10e3, 100e3));
	return true;
}

/* 2 to 32 Gbit/s are left. */
static bool
downgrade(struct pm_case *c, struct pm_problem *p)
{
	char port[64];

	if (!at_rnic(c, p, port) || !pm_traffic(c, p, c->loaded->topo->ports[p->port].peer_port, 1, false))
		return false;
	pm_fault(c, p, "pcie-downgrade", "port = \"%s\"; generation = %u; lanes = %u;", port,
		 1 + (uint32_t)prng_below(&c->prng, 3), 1u << prng_below(&c->prng, 3));
	return true;
}

/* ---- switches ---- */

/* A switch whose lost packets are no host's link's: one that has no hosts. */
static bool
at_switch(struct pm_case *c, struct pm_problem *p)
{
	const struct topo *topo = c->loaded->topo;
	uint32_t port = pm_free_port(c, false);
	bool above = true;

	if (port == TOPO_NONE)
		return false;
	p->node = topo->ports[port].node;
	for (uint32_t i = 0; i < topo->nodes[p->node].nports; i++)
		above &= topo->nodes[topo_port_of(topo, p->node, (uint16_t)i)->peer].kind == TOPO_SWITCH;
	if (!above) /* its peer at the other end of the uplink is */
		p->node = topo->ports[port].peer;
	return true;
}

/* All packets for one host, from any sender. */
static bool
blackhole(struct pm_case *c, struct pm_problem *p)
{
	const struct topo *topo = c->loaded->topo;
	uint32_t host = pm_free_host(c);

	if (host == TOPO_NONE || !at_switch(c, p))
		return false;
	pm_fault(c, p, "blackhole", "switch = \"%s\"; dst = \"%s\";", topo->nodes[p->node].name, topo->nodes[host].name);
	return true;
}

static bool
missing_route(struct pm_case *c, struct pm_problem *p)
{
	const struct topo *topo = c->loaded->topo;
	uint32_t host = pm_free_host(c);

	if (host == TOPO_NONE || !at_switch(c, p))
		return false;
	pm_fault(c, p, "missing-route", "switch = \"%s\"; dst = \"%s\";", topo->nodes[p->node].name,
		 topo->nodes[host].name);
	return true;
}

/* All packets that one host sends, without a counter. */
static bool
acl(struct pm_case *c, struct pm_problem *p)
{
	const struct topo *topo = c->loaded->topo;
	uint32_t host = pm_free_host(c);

	if (host == TOPO_NONE || !at_switch(c, p))
		return false;
	pm_fault(c, p, "acl", "switch = \"%s\"; src = \"%s\";", topo->nodes[p->node].name, topo->nodes[host].name);
	return true;
}

/* A part of all pairs of hosts, as a wrong ACL or a corrupt memory of a pipeline has it. */
static bool
pairs(struct pm_case *c, struct pm_problem *p)
{
	if (!at_switch(c, p))
		return false;
	pm_fault(c, p, "fib-corruption", "switch = \"%s\"; share = %.3f;", c->loaded->topo->nodes[p->node].name,
		 pm_log(c, 0.05, 1));
	return true;
}

/* ---- hosts ---- */

/* The agent waits for the CPU: 50 ms to 5 s for each completion, for 2 to 60 s. */
static bool
starved(struct pm_case *c, struct pm_problem *p)
{
	p->node = pm_free_host(c);
	if (p->node == TOPO_NONE)
		return false;
	p->duration_s = pm_log(c, 2, 60);
	pm_fault(c, p, "cpu-overload", "host = \"%s\"; delay = \"%s\"; duration = \"%s\";",
		 c->loaded->topo->nodes[p->node].name, pm_time(c, pm_log(c, 0.1 * PM_TIMEOUT_S, 10 * PM_TIMEOUT_S)).text,
		 pm_time(c, p->duration_s).text);
	return true;
}

static bool
host_down(struct pm_case *c, struct pm_problem *p)
{
	p->node = pm_free_host(c);
	if (p->node == TOPO_NONE)
		return false;
	pm_fault(c, p, "host-down", "host = \"%s\";", c->loaded->topo->nodes[p->node].name);
	return true;
}

#define LINK(class_, word_, weight_, directed)                                                                             \
	.class = (class_), .word = (word_), .weight = (weight_), .is_directed = (directed)

const struct pm_kind pm_kinds[] = {
	{ .name = "corruption",
	  .doc = "0.1 to 100 % of a link's frames are damaged, in one direction",
	  LINK(PM_SWITCH, PM_WORD_SWITCH, 4, true),
	  .inject = corruption },
	{ .name = "loss",
	  .doc = "0.1 to 100 % are lost on the cable, in one direction",
	  LINK(PM_SWITCH, PM_WORD_SWITCH, 3, true),
	  .inject = loss },
	{ .name = "silent",
	  .doc = "0.1 to 100 % are lost in one direction, and no counter shows it",
	  LINK(PM_SWITCH, PM_WORD_SWITCH, 3, true),
	  .inject = silent_loss },
	{ .name = "flapping",
	  .doc = "a link is down for 0.2 to 0.9 s of every 2 to 10 s",
	  LINK(PM_SWITCH, PM_WORD_SWITCH, 3, false),
	  .inject = flapping },
	{ .name = "down",
	  .doc = "a link is down permanently; routes avoid it after 1 s",
	  LINK(PM_SWITCH, PM_WORD_SWITCH, 2, false),
	  .inject = down },
	{ .name = "blackhole",
	  .doc = "a switch above ToRs drops all packets to one host",
	  .class = PM_SWITCH,
	  .word = PM_WORD_SWITCH,
	  .weight = 1,
	  .inject = blackhole },
	{ .name = "pairs",
	  .doc = "a switch above ToRs drops all packets of 5 to 100 % of the pairs of hosts",
	  .class = PM_SWITCH,
	  .word = PM_WORD_SWITCH,
	  .weight = 2,
	  .inject = pairs },
	{ .name = "missing-route",
	  .doc = "a switch above ToRs has no route to one host",
	  .class = PM_SWITCH,
	  .word = PM_WORD_SWITCH,
	  .weight = 1,
	  .inject = missing_route },
	{ .name = "acl",
	  .doc = "a switch above ToRs denies all packets from one host",
	  .class = PM_SWITCH,
	  .word = PM_WORD_SWITCH,
	  .weight = 1,
	  .inject = acl },
	{ .name = "slow",
	  .doc = "a link has 10 to 100 us more delay in one direction",
	  LINK(PM_SWITCH, PM_WORD_RTT, 2, true),
	  .inject = slow },
	{ .name = "congestion",
	  .doc = "two to four NICs send as fast as they can by one port of a switch to another",
	  LINK(PM_SWITCH, PM_WORD_RTT, 2, true),
	  .has_traffic = true,
	  .inject = congestion },
	{ .name = "ecmp-imbalance",
	  .doc = "80 to 100 % of the traffic with several ports at a switch leaves by one, and overloads it",
	  LINK(PM_SWITCH, PM_WORD_RTT, 1, true),
	  .has_traffic = true,
	  .inject = imbalance },
	{ .name = "rnic-incast",
	  .doc = "two to four NICs send as fast as they can to one",
	  LINK(PM_RNIC, PM_WORD_RTT, 1, true),
	  .has_traffic = true,
	  .inject = congestion },
	{ .name = "rnic-pcie",
	  .doc = "the PCIe link of an RNIC to which one sends has 2 to 32 Gbit/s left",
	  LINK(PM_RNIC, PM_WORD_RTT, 1, false),
	  .has_traffic = true,
	  .inject = downgrade },
	{ .name = "rnic-corruption",
	  .doc = "0.1 to 100 % of the frames at a host's link are damaged, in one direction",
	  LINK(PM_RNIC, PM_WORD_RNIC, 3, true),
	  .inject = corruption },
	{ .name = "rnic-loss",
	  .doc = "0.1 to 100 % are lost there, in one direction",
	  LINK(PM_RNIC, PM_WORD_RNIC, 3, true),
	  .inject = loss },
	{ .name = "rnic-flapping",
	  .doc = "a host's link is down for 0.2 to 0.9 s of every 2 to 10 s",
	  LINK(PM_RNIC, PM_WORD_RNIC, 3, false),
	  .inject = flapping },
	{ .name = "rnic-down", .doc = "it is down permanently", LINK(PM_RNIC, PM_WORD_RNIC, 1, false), .inject = down },
	{ .name = "rnic-slow",
	  .doc = "a host's link has 10 to 100 us more delay in one direction",
	  LINK(PM_RNIC, PM_WORD_RTT, 1, true),
	  .inject = slow },
	{ .name = "rnic-hangs",
	  .doc = "an RNIC receives and sends nothing, and its link is up",
	  LINK(PM_RNIC, PM_WORD_RNIC, 1, false),
	  .inject = hangs },
	{ .name = "rnic-no-routes",
	  .doc = "an RNIC drops all packets that it should send",
	  LINK(PM_RNIC, PM_WORD_RNIC, 1, false),
	  .inject = no_routes },
	{ .name = "rnic-no-gid", .doc = "an RNIC has no address", LINK(PM_RNIC, PM_WORD_RNIC, 1, false), .inject = no_gid },
	{ .name = "rnic-detour",
	  .doc = "DMA of an RNIC takes 10 to 100 us longer",
	  LINK(PM_RNIC, PM_WORD_RTT, 1, false),
	  .inject = detour },
	{ .name = "host-down",
	  .doc = "a host hangs",
	  .class = PM_HOST,
	  .word = PM_WORD_HOST,
	  .weight = 1,
	  .inject = host_down },
	{ .name = "starved",
	  .doc = "a host's agent waits 50 ms to 5 s for each completion, for 2 to 60 s",
	  .class = PM_CPU,
	  .word = PM_WORD_CPU,
	  .weight = 1,
	  .inject = starved },
	{ .name = NULL },
};

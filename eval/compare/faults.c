/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is put in, and what findings are right for it. docs/compare-rules.md has the same table, printed by rocelab eval compare
 * --rules; it was written before anything was scored.
 */
#include "eval/compare/corpus.h"

/* R-Pingmesh's horizon after a job that never ends is no longer than after one that does. */
#define GROUP(name_, doc_, make_)                                                                                          \
	.group = { .name = name_, .doc = doc_, .limits = "virtual_time = \"310ms\"; stall = \"2400ms\"", .make = make_ }

/* The fault by its name: right at its place, partly so at one near, or with no more than a flow that suffers. */
#define NAMES(type)                                                                                                        \
	{                                                                                                                  \
		type, COMPARE_RIGHT, COMPARE_PARTLY, COMPARE_PARTLY                                                        \
	}
/* It has no one place: right at a port on the way of the flows that make it, too. */
#define SPREADS(type)                                                                                                      \
	{                                                                                                                  \
		type, COMPARE_RIGHT, COMPARE_RIGHT, COMPARE_PARTLY                                                         \
	}
/* What the fault brings about, or is easily taken for: partly right at its place and near. */
#define SHOWS(type)                                                                                                        \
	{                                                                                                                  \
		type, COMPARE_PARTLY, COMPARE_PARTLY, COMPARE_PARTLY                                                       \
	}

/* Flows of others in the way: whoever names one of them is right; its port alone is a part. */
#define TRAFFIC                                                                                                            \
	NAMES("flow-contention"), NAMES("incast"), NAMES("pfc-backpressure"), NAMES("load-imbalance"), SHOWS("high-rtt"),  \
		NAMES("path-imbalance"), SHOWS("deep-queue")
/* A link or switch loses some of what it gets. */
#define LOSSES NAMES("packet-loss"), NAMES("silent-fault"), NAMES("switch-problem"), SHOWS("blackhole")
/* A switch loses all of some hosts. */
#define HOLES                                                                                                              \
	NAMES("blackhole"), SHOWS("packet-loss"), SHOWS("silent-fault"), NAMES("switch-problem"), SHOWS("rnic-problem")
#define CUTS NAMES("link-down"), SHOWS("packet-loss"), SHOWS("blackhole")

const struct compare_fault compare_faults[] = {
	{ GROUP("clean", "nothing is wrong, and nobody else is there", compare_clean), .is_clean = true },
	{ GROUP("contention", "one or two flows of others at line rate on the job's way", compare_contention),
	  .rules = { TRAFFIC } },
	{ GROUP("silent-loss", "a link between switches loses 0.2 to 10 % where no counter tells, one way", compare_silent),
	  .rules = { LOSSES } },
	{ GROUP("blackhole", "a switch on the job's way loses all for one rank", compare_blackhole), .rules = { HOLES } },
	{ GROUP("rnic-down", "a rank's RNIC hangs, its link is up", compare_rnic_down),
	  .rules = { NAMES("rnic-problem"), SHOWS("host-down"), SHOWS("blackhole"), SHOWS("packet-loss"),
		     SHOWS("slow-host") } },
	{ GROUP("pfc-storm", "a port pauses its peer, for good or for 0.5 to 3 ms of every 10 to 30", compare_storm),
	  .rules = { NAMES("pfc-storm"), SHOWS("pfc-deadlock"), SHOWS("pfc-backpressure"), SHOWS("high-rtt"),
		     SHOWS("switch-problem"), SHOWS("rnic-problem"), SHOWS("deep-queue") } },
	{ GROUP("pfc-deadlock",
		"flows of others go down and up again by bad routes: they close a circle of four buffers, and fill it",
		compare_deadlock),
	  .rules = { SPREADS("pfc-deadlock"), SHOWS("pfc-backpressure"), SHOWS("flow-contention"), SHOWS("incast"),
		     SHOWS("load-imbalance"), SPREADS("switch-problem"), SHOWS("rnic-problem"), SHOWS("high-rtt"),
		     SHOWS("path-imbalance"), SHOWS("deep-queue") } },
	{ GROUP("pfc-deadlock-outside",
		"the same circle has room for its flows, until a host that some of them go to pauses its switch for good",
		compare_deadlock_elsewhere),
	  .rules = { SPREADS("pfc-deadlock"), NAMES("pfc-storm"), SHOWS("pfc-backpressure"), SHOWS("flow-contention"),
		     SHOWS("incast"), SHOWS("load-imbalance"), SPREADS("switch-problem"), SHOWS("rnic-problem"),
		     SHOWS("high-rtt"), SHOWS("path-imbalance"), SHOWS("deep-queue") } },
	{ GROUP("slow-host", "a rank begins every step 20 to 300 us late", compare_slow_host),
	  .rules = { NAMES("slow-host") } },
	{ GROUP("link-down", "a link between switches is cut; routes avoid it after 10 ms", compare_down),
	  .rules = { CUTS, SHOWS("silent-fault"), NAMES("switch-problem") } },
	{ GROUP("delay", "a link between switches has 10 to 100 us more delay, one way", compare_delay),
	  .rules = { NAMES("path-delay"), NAMES("high-rtt") } },
	{ GROUP("imbalance", "70 to 100 % of the flows that could go up by several ports go up by one", compare_imbalance),
	  .ecmp_only = true,
	  .rules = { NAMES("load-imbalance"), NAMES("path-imbalance"), SHOWS("flow-contention"), SHOWS("incast"),
		     SHOWS("pfc-backpressure"), SHOWS("high-rtt"), SHOWS("deep-queue") } },
	{ GROUP("polarisation", "all switches hash alike: those of the second tier send all up by one half of their ports",
		compare_polarisation),
	  .full_tree_only = true, .remedy = "load_balancing.seeds=own", .tier = 'a',
	  .rules = { NAMES("load-imbalance"), NAMES("path-imbalance"), SHOWS("flow-contention"), SHOWS("incast"),
		     SHOWS("pfc-backpressure"), SHOWS("high-rtt"), SHOWS("deep-queue") } },
	{ GROUP("incast", "four flows of others to a rank's host", compare_incast), .rules = { TRAFFIC } },
	{ GROUP("backpressure", "four flows of others to a host beside a rank's: pauses lead to the job's way",
		compare_backpressure),
	  .rules = { TRAFFIC } },
	{ GROUP("loss", "a cable between switches loses 0.1 to 10 %, one way", compare_loss), .rules = { LOSSES } },
	{ GROUP("corruption", "a cable between switches damages 0.1 to 10 %, one way", compare_corruption),
	  .rules = { LOSSES } },
	{ GROUP("switch-loss", "a switch above leaves loses 0.2 to 5 % of all that comes in", compare_switch_loss),
	  .rules = { LOSSES } },
	{ GROUP("fib-corruption", "a switch on the job's way loses all that 30 to 100 % of hosts send to one rank",
		compare_fib),
	  .rules = { NAMES("blackhole"), NAMES("packet-loss"), SHOWS("silent-fault"), NAMES("switch-problem"),
		     SHOWS("rnic-problem") } },
	{ GROUP("missing-route", "a switch on the job's way has no route to one rank", compare_missing_route),
	  .rules = { HOLES } },
	{ GROUP("acl", "a switch on the job's way denies all that one rank sends", compare_acl), .rules = { HOLES } },
	{ GROUP("link-flap", "a link between switches is down for 2 to 9 ms of every 20 to 100", compare_flap),
	  .rules = { CUTS, SHOWS("silent-fault"), NAMES("switch-problem") } },
	{ GROUP("loop", "a rank's switch sends what is for it up again, for 0.2 to 2 ms or for good", compare_loop),
	  .rules = { NAMES("forwarding-loop"), SHOWS("pfc-deadlock"), SHOWS("packet-loss"), SHOWS("blackhole"),
		     SHOWS("switch-problem"), SHOWS("rnic-problem"), SHOWS("high-rtt"), SHOWS("deep-queue") } },
	{ GROUP("rnic-flap", "a rank's link is down for 2 to 9 ms of every 20 to 100", compare_rnic_flap),
	  .rules = { CUTS, NAMES("rnic-problem") } },
	{ GROUP("rnic-loss", "a rank's cable loses or damages 0.1 to 30 %, one way", compare_rnic_loss),
	  .rules = { NAMES("packet-loss"), NAMES("rnic-problem"), SHOWS("blackhole") } },
	{ GROUP("rnic-setup", "a rank's RNIC has lost its routes or its address", compare_rnic_setup),
	  .rules = { NAMES("rnic-problem"), SHOWS("host-down"), SHOWS("blackhole"), SHOWS("packet-loss"),
		     SHOWS("slow-host") } },
	{ GROUP("pcie-downgrade", "16 to 63 of a rank's 100 Gbps are left", compare_pcie),
	  .rules = { NAMES("pfc-storm"), SHOWS("pfc-backpressure"), SHOWS("path-delay"), SHOWS("slow-host"),
		     NAMES("high-rtt"), SHOWS("deep-queue") } },
	/* What waits to be in memory fills the RNIC, which then pauses its switch. */
	{ GROUP("dma-detour", "DMA of a rank's RNIC takes 10 to 100 us longer", compare_detour),
	  .rules = { NAMES("path-delay"), NAMES("pfc-storm"), SHOWS("pfc-backpressure"), SHOWS("slow-host"),
		     NAMES("high-rtt"), SHOWS("deep-queue") } },
	{ GROUP("host-down", "a rank's host stands still", compare_host_down),
	  .rules = { NAMES("host-down"), SHOWS("rnic-problem"), NAMES("slow-host"), SHOWS("blackhole"),
		     SHOWS("packet-loss") } },
	{ GROUP("starved-cpu", "a rank's CPU has no time: 0.5 to 10 ms for a step and for its agent", compare_starved),
	  .probed = "faults.[0].enabled=true", .rules = { NAMES("slow-host"), NAMES("cpu-overload") } },
	{ GROUP("busy", "nothing is wrong, small flows of others are everywhere", compare_clean), .is_clean = true,
	  .is_busy = true },
	{ .group = { .name = NULL } },
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* A fabric of real switches whose hosts are generators (fabric_host.h). */
#pragma once

#include "common/cfg/cfg.h"
#include "common/prng.h"
#include "common/sertable.h"
#include "common/units.h"
#include "dpswitch/fabric/fabric.h"
#include "dpswitch/faults/fault.h"
#include "dpswitch/pipeline/settings.h"
#include "dpswitch/pipeline/switch.h"
#include "tests/unit/dpswitch/fabric_host.h"
#include "topo/build.h"

#define FRIG_MAX_FLOWS 32
#define FRIG_PAUSE_BYTES 84
#define FRIG_LIMIT_PS (10 * PS_PER_S)

struct frig {
	struct cfg *cfg;
	struct topo *topo;
	struct route_table *routes;
	struct route_pins *pins;
	struct flow flows[FRIG_MAX_FLOWS];
	struct flow_table table;
	struct sertables sertables;
	struct fabric_config fabric_config;
	struct switch_setup setup;
	struct switch_config config;
	struct fabric *fabric;
	struct sw **switches;     /* [nnodes] NULL for hosts */
	struct frig_host **hosts; /* [nnodes] NULL for switches */
	struct fault_list faults;
	struct fault_env env;
	uint64_t held_ps; /* what faults hear of flows that stood at paused ports */
	struct err err;
};

/*
 * Builds the network of a scenario's text and binds its switch groups; frames of at most 1000 B, at least 64 B. What the
 * test changes in setup, config and fabric_config before frig_start() counts.
 */
void frig_init(struct frig *rig, const char *scenario);
/* A flow between two hosts. @return its index */
uint32_t frig_flow(struct frig *rig, const char *src, const char *dst, uint8_t prio);
/* Makes the fabric. @return 0 or what switch_create() refused with rig->err */
int frig_start(struct frig *rig);
/* count data frames of a flow, back to back from at_ps on; a host sends its data in the order of these calls. */
void frig_send(struct frig *rig, uint32_t flow, uint64_t at_ps, uint32_t wire_bytes, uint32_t count);
/* The same with a packet of the test's own. */
void frig_send_pkt(struct frig *rig, uint64_t at_ps, const struct pkt *p);
/* A PAUSE or RESUME that a host sends by itself. */
void frig_pause(struct frig *rig, const char *host, uint64_t at_ps, uint8_t prio_mask, bool xoff);
/* Runs from 0 to end_ps. Once. */
void frig_run(struct frig *rig, uint64_t end_ps);
/* Also on many threads: fabric_config.lcores. */
void frig_stop(struct frig *rig);

struct frig_host *frig_host(const struct frig *rig, const char *name);
struct sw *frig_switch(const struct frig *rig, const char *name);
/* The direction that leaves a port, "node:port". */
struct link *frig_link(const struct frig *rig, const char *port);
/* Packets born = consumed + dropped + lost + held + in flight, and the same in bytes, over the whole fabric. */
bool frig_conserves(const struct frig *rig);
/* The n-th record (from 0) of a kind that a node reported, NULL if there are fewer. */
const void *frig_record(const struct node *node, uint16_t type, uint32_t n);

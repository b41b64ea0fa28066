/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a forwarding run, shared by the files of this folder. */
#pragma once

#include "common/sertable.h"
#include "dpswitch/control/counters.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/kernel_host/kernel_host.h"
#include "dpswitch/edge/port/port_probe.h"
#include "dpswitch/edge/port/port_round.h"
#include "dpswitch/fabric/fabric.h"
#include "dpswitch/fabric/pacer.h"
#include "dpswitch/faults/fault.h"
#include "dpswitch/pipeline/switch.h"
#include "emulation/forward/forward.h"

/* What had happened when. */
struct mark {
	uint64_t cpu_ns, wall_ns, packets, windows;
};

struct forward {
	struct scenario *scenario;
	const struct forward_options *options;
	struct edge *edge;
	struct sertables sertables;
	struct switch_config switch_config;
	struct fabric *fabric;
	struct sw **switches; /* [nnodes] */
	struct node **hosts;  /* [nnodes] the two of them */
	struct port **ports;  /* [2 * npairs] in and out of each flow */
	uint32_t npairs;
	struct port_round round;   /* where frames go round: what the source is to receive, what the sink has sent */
	struct fault_env faults;   /* those of the scenario act */
	struct counters *counters; /* for DPDK's telemetry */
	struct pacer pacer;
	struct probe *probe;
	uint8_t frame[FRAME_MAX_BYTES]; /* made last: the first flow's */
	struct mark begin, end;
	bool warm;
};

/* traffic.c: the ports that frames come from and go to. @return 0 or negative errno with err set */
int forward_open_ports(struct forward *f, struct err *err);
void forward_close_ports(struct forward *f);
/* build.c: fabric, switches and hosts. @return as above; forward_unbuild() cleans up in any case */
int forward_build(struct forward *f, struct err *err);
void forward_unbuild(struct forward *f);
/* forward.c: for the fabric */
struct fabric_hooks forward_hooks(struct forward *f);

/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a forwarding run, shared by the files of this folder. */
#pragma once

#include "common/sertable.h"
#include "dpswitch/edge/external/external.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/port/port_probe.h"
#include "dpswitch/fabric/fabric.h"
#include "dpswitch/fabric/pacer.h"
#include "dpswitch/pipeline/switch.h"
#include "emulation/forward/forward.h"

/* What had happened when. */
struct mark {
	uint64_t cpu_ns, wall_ns, packets, bytes, windows;
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
	struct port *ports[2];
	struct pacer pacer;
	struct probe *probe;
	uint8_t frame[FRAME_MAX_BYTES];
	uint32_t end_node; /* where frames come out */
	struct mark begin, end;
	bool warm;
};

/* traffic.c: the frame, and the ports that it comes from and goes to. @return 0 or negative errno with err set */
int forward_make_frame(struct forward *f, struct err *err);
int forward_open_ports(struct forward *f, struct err *err);
/* build.c: fabric, switches and hosts. @return as above; forward_unbuild() cleans up in any case */
int forward_build(struct forward *f, struct err *err);
void forward_unbuild(struct forward *f);
/* forward.c: for the fabric */
struct fabric_hooks forward_hooks(struct forward *f);

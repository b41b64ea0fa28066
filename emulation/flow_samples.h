/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What leaf switches sampled of hosts' packets, as an operator's collector has it (FlowTracer, III-B1: the first hop by sFlow): which
 * flows there are, and by which of its ports each leaves its host.
 */
#pragma once

#include "common/flow_index.h"
#include "dpswitch/pipeline/switch.h"
#include "emulation/flow_pairs.h"
#include "rxe-hosts/device/embedded/embedded.h"

/* A port of a host whose flows are wanted: its leaf is asked about it. */
struct samples_feed {
	uint32_t host, leaf;
	uint16_t nic, leaf_port;
};

struct flow_samples {
	struct samples_feed *feeds; /* [nfeeds] */
	uint32_t nfeeds;
	struct embedded_flow *reported; /* [nflows] messages: samples of the flow; 0: none tells of it */
	uint64_t *told_ps;              /* [nflows] when its leaf did */
	uint32_t nflows;
};

/* @param pairs  whose sources are asked about. @return 0 or -ENOMEM; flow_samples_fini() either way */
int flow_samples_init(struct flow_samples *samples, const struct topo *topo, const struct flow_table *flows,
		      const struct flow_pairs *pairs);
void flow_samples_fini(struct flow_samples *samples);

/* A new round: nothing is known. */
void flow_samples_forget(struct flow_samples *samples);

/* What the feed's leaf tells now. @return bytes of its reply's body */
size_t flow_samples_take(struct flow_samples *samples, const struct samples_feed *feed, const struct sw *leaf,
			 const struct flow_index *index, uint64_t now_ps);

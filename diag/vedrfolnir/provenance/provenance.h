/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provenance graph of one step (III-D1): which flows and ports its flow waited for, over every epoch reported that
 * overlaps the step's time. It holds the ports that the flow crossed, and the ports that paused those by PFC,
 * transitively; nothing else can receive a score (Eq. 1 and 2).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "diag/collect/evidence.h"

/* A port is paused if its peer paused it for this share of the time that its rows cover. */
#define PROV_PAUSED_SHARE 0.01
/*
 * A flow should have this number of the packets that found a pause, by its part of the port's, and has none: it found
 * no pause.
 */
#define PROV_MISSED_PAUSES 8

/* Which reading of w(p_i,p_j). */
enum prov_share {
	PROV_SHARE_RECEIVERS, /* meter(pi->pj) / sum over k of meter(pi->pk): where the paused traffic goes */
	PROV_SHARE_SENDERS,   /* meter(pi->pj) / sum over k of meter(pk->pj): whose traffic fills the queue */
};

/* A flow at a port. */
struct prov_at {
	uint32_t flow;    /* index into prov_graph.flows */
	uint16_t in_port; /* ingress of its last packet */
	bool edge;        /* e(f,p): it waited for others there, or was paused there */
	bool together;    /* it was there while the victim was: between two reports, or at one */
	double packets;   /* in the window; those queued, where only the present state is known */
	double depth_sum, paused_packets;
	double wait;    /* w(f,p) = sum over j != i of w(f_i,f_j) */
	double contrib; /* w(p,f) */
	double cf_wait; /* w(cf,f): packets of f ahead of the victim's, summed over the victim's packets */
	/*
	 * The same slice by slice, from report to report: those of f ahead of the victim's, summed over these; packets
	 * of f that passed while they were, each once; and all that passed.
	 */
	double ahead, taken, passed;
	uint64_t from_ps, to_ps; /* epochs that have packets of it */
};

/* p_i waits for p_j. */
struct prov_link {
	uint32_t to; /* index into prov_graph.ports */
	double weight;
};

struct prov_port {
	uint32_t port; /* global id */
	bool reported; /* rows of it touch the window */
	bool paused;   /* paused by its peer */
	bool standing; /* one pause, still on at a report, is most of it: the held bytes show where it waits */
	bool present;  /* the epochs are empty: weights rest on the queue of the last report */
	double packets, depth_sum, pause_ps, covered_ps; /* pauses of the flow's class, the rest of all data */
	double cf_packets, cf_depth; /* of the victim, slice by slice: its packets, and the queue that they found */
	uint32_t depth_max;
	uint64_t paused_from_ps, paused_to_ps;
	uint32_t first_at, nats;           /* in prov_graph.ats, sorted by flow */
	uint32_t first_link, nlinks;       /* in prov_graph.links */
	uint32_t component;                /* strongly connected component, downstream ones first */
	const struct rec_port_row *latest; /* present state: the last report in the window, or NULL */
};

struct prov_graph {
	uint64_t from_ps, to_ps;
	uint8_t prio;    /* class of the flow, as rows name it: pauses of others do not stop it */
	uint32_t victim; /* index into flows, EV_NONE: the flow was seen nowhere */
	uint32_t *flows; /* flow ids, sorted */
	uint32_t nflows;
	struct prov_port *ports; /* those that the victim crossed are first */
	uint32_t nports, nreached;
	struct prov_at *ats;
	uint32_t nats;
	struct prov_link *links;
	uint32_t nlinks;
	uint32_t ncomponents;
	uint32_t *order; /* [nports] ports by component, downstream first */
	bool cyclic;     /* a component of more than one port: ports wait for each other in a circle */
};

/* A flow's packets by a port in some time. */
struct prov_count {
	uint64_t packets, depth_sum;
};

/* Memory that is reused from graph to graph: room for all ports and flows, all 0 between two graphs. */
struct prov_scratch {
	uint32_t *port_slot;               /* [nports] */
	uint32_t *flow_slot;               /* [nflows] */
	struct prov_count *counted, *more; /* [nflows] */
};
/* @return 0, or -ENOMEM with err */
int prov_scratch_init(struct prov_scratch *scratch, const struct evidence *ev, struct err *err);
void prov_scratch_fini(struct prov_scratch *scratch);

/*
 * @param scratch       of this evidence; of no use after an error
 * @param flow          the step's flow
 * @param from_ps,to_ps the step's time
 * @param out           set to the graph, to be freed by prov_destroy(); a graph without ports if nothing was reported
 * @return 0, or -ENOMEM with err
 */
int prov_build(const struct evidence *ev, struct prov_scratch *scratch, uint32_t flow, uint64_t from_ps, uint64_t to_ps,
	       enum prov_share share, struct prov_graph **out, struct err *err);
void prov_destroy(struct prov_graph *graph);

/* @return the flow's entry at a port, NULL if it was not seen there */
const struct prov_at *prov_at_find(const struct prov_graph *graph, const struct prov_port *port, uint32_t flow);

/* Numbers strongly connected components (Tarjan), downstream first, and sets cyclic. @return 0 or -ENOMEM */
int prov_components(struct prov_graph *graph);

/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files of this folder only: a graph under construction. */
#pragma once

#include "diag/vedrfolnir/provenance/provenance.h"
#include "diag/vedrfolnir/provenance/window.h"

struct prov_builder {
	const struct evidence *ev;
	struct prov_graph *graph;
	struct window window;
	uint32_t flow; /* the victim's flow id */
	enum prov_share share;
	uint32_t *port_slot;        /* [ev->nports] index + 1 into graph.ports, 0: not in it */
	uint32_t *flow_slot;        /* [ev->nflows] index + 1 into graph.ats, of the port being measured */
	struct prov_count *counted; /* [ev->nflows] of the epoch being read, up to the report before */
	struct prov_count *more;    /* [ev->nflows] of the slice being read */
	uint32_t ports_cap, ats_cap, links_cap;
};

/* Reads the port's rows into a fresh prov_port: state, sums, no flows yet. */
struct prov_port prov_port_state(const struct prov_builder *b, uint32_t port);

/* Appends the port's flows with their weights to graph.ats (flow: a global id as yet). @return 0 or -ENOMEM */
int prov_port_flows(struct prov_builder *b, struct prov_port *port);

/*
 * The packets that passed a port between two of its reports in one epoch, or from an epoch's start to the first, or
 * after the last.
 */
struct prov_slice {
	const struct rec_flow_row *rows; /* [count] of the report at its end */
	const uint32_t *flows; /* [count] of the rows; b->more[] has the packets of each since the report before */
	uint32_t count;
	uint64_t from_ps, to_ps;
	bool nic;
};

typedef void prov_slice_fn(struct prov_builder *b, const struct prov_slice *slice, void *ctx);

/* @return index of the port in the graph, added if need be; EV_NONE when out of memory */
uint32_t prov_add_port(struct prov_builder *b, uint32_t port);

/* Appends the ports that a paused port waits for, adding them to the graph. @return 0 or -ENOMEM */
int prov_port_links(struct prov_builder *b, uint32_t index);

/* Makes room for one more element. @return 0 or -ENOMEM */
int prov_grow(void **data, uint32_t count, uint32_t *cap, size_t size_bytes);

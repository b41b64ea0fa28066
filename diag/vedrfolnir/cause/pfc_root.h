/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows PFC from a paused port downstream to its root. */
#pragma once

#include <stdint.h>

#include "diag/vedrfolnir/cause/cause.h"

#define PFC_ROOT_MAX_PATH 64    /* paused ports in a row; longer chains end here and have no root */
#define PFC_ROOT_MAX_STEPS 4096 /* ports entered in one walk */

enum pfc_root_kind {
	PFC_ROOT_CONGESTED, /* a port with a queue that others than the victim fill, and (mostly) not paused itself */
	PFC_ROOT_STORM,     /* an ingress, or a host's NIC, that pauses its peer for no reason of its own */
	PFC_ROOT_SLOW_NIC,  /* a host's NIC that pauses its peer again and again, and takes data in between */
};

struct pfc_root {
	enum pfc_root_kind kind;
	uint32_t port;   /* global id: congested egress, or the port that sends PAUSE */
	uint32_t index;  /* congested: in graph->ports; storm: of the port that it pauses */
	double weight;   /* product of w(p_i,p_j) along the path, and the share of time that the root was not paused */
	double weights;  /* of all roots of the paused port that the path begins with */
	uint32_t paused; /* that port's index in graph->ports */
	uint32_t path[PFC_ROOT_MAX_PATH]; /* global ids of the paused ports, from the victim's */
	uint32_t npath;
};

typedef void pfc_root_fn(const struct pfc_root *root, void *ctx);

/*
 * Calls fn for every root of a paused port, once a path. A path holds a port once, so circles end without a root.
 * @param index  of the paused port in graph->ports
 * @return true: a path ends at a paused port of whose pauses no report shows the reason
 */
bool pfc_root_each(const struct cause_set *set, uint32_t step, uint32_t index, pfc_root_fn *fn, void *ctx);

typedef void pfc_root_reached_fn(struct cause_set *set, uint32_t step, const struct pfc_root *root);

/* The same for every paused port that a slow step's flow crossed, with any report. */
bool pfc_root_each_reached(struct cause_set *set, uint32_t step, pfc_root_reached_fn *fn);

/*
 * Does this flow make the root's queue, for the step? It is not the step's own, has a part in the queue
 * (CAUSE_MIN_SHARE), found one there itself, was there at once, and so were others, from more ingresses than the port
 * can serve.
 * @param collective  of the collective, or not
 */
bool pfc_root_culprit(const struct cause_set *set, uint32_t step, const struct prov_port *root, const struct prov_at *at,
		      bool collective);

/*
 * How long the step's sender knows that its NIC was paused while it had something to send: reports of the port may cover a
 * part of the step alone. @return ps; 0: the port is no NIC of its own, or there is no ledger
 */
double pfc_root_own_ps(const struct cause_input *in, uint32_t step, uint32_t port);
/* The ports and the time that a root's finding has, and its claim to the step: its part of the pauses. */
void pfc_root_claim(struct cause_set *set, uint32_t step, const struct pfc_root *root, struct cause_finding *finding);

/* @return how many pauses of a port, at least, are known to have begun after data that left it, over the whole run */
uint32_t pfc_root_pauses(const struct evidence *ev, uint32_t port, uint8_t prio);

/*
 * Did one pause last so long that the port's pauses, over the whole run, cannot be those of a slow NIC? It makes fewer than
 * CAUSE_NIC_PAUSES of that length out of all the time that the port was paused.
 */
bool pfc_root_is_one_pause(const struct evidence *ev, uint32_t port, uint8_t prio);

/*
 * The first report in the step's time of an ingress that paused its peer while it held less than a share of its XOFF
 * threshold: the surest sign of a storm. @return NULL: there is none
 */
const struct rec_port_row *pfc_root_pausing(const struct evidence *ev, const struct prov_graph *graph, uint32_t ingress,
					    double fill);

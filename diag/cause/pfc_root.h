/* SPDX-License-Identifier: BSD-3-Clause */
/* Follows PFC from a halted port downstream to where it began. */
#pragma once

#include <stdint.h>

#include "diag/cause/cause.h"

#define PFC_ROOT_MAX_PATH 64    /* halted ports in a row; longer chains are cut and have no root */
#define PFC_ROOT_MAX_STEPS 4096 /* ports entered in one walk */

enum pfc_root_kind {
	PFC_ROOT_CONGESTED, /* an unpaused port with a queue */
	PFC_ROOT_STORM,     /* an ingress, or a host's NIC, that pauses its peer for no reason of its own */
};

struct pfc_root {
	enum pfc_root_kind kind;
	uint32_t port;   /* global id: congested egress, or the port that sends PAUSE */
	uint32_t index;  /* congested: in graph->ports; storm: of the port that it halts */
	double weight;   /* product of w(p_i,p_j) along the path */
	uint32_t path[PFC_ROOT_MAX_PATH]; /* global ids of the halted ports, from the victim's */
	uint32_t npath;
};

typedef void pfc_root_fn(const struct pfc_root *root, void *ctx);

/*
 * Calls fn for every root of a halted port, once a path. A path holds a port once, so circles end without a root.
 * @param index  of the halted port in graph->ports
 */
void pfc_root_each(const struct cause_input *in, const struct prov_graph *graph, uint32_t index, pfc_root_fn *fn,
		   void *ctx);

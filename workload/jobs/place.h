/* SPDX-License-Identifier: BSD-3-Clause */
/* Placement: which hosts a job's ranks get, when the scenario does not name them. Pure: topology and seed decide. */
#pragma once

#include "workload/jobs/endpoint.h"

enum placement_kind { PLACE_PACKED, PLACE_SPREAD, PLACE_RANDOM, PLACE_ONE_PER_LEAF };

/* The group "placement" of a job. */
struct placement {
	struct cfg_where where;
	int kind;                 /* enum placement_kind */
	int64_t count;            /* ranks; 0: as many as there is room for */
	int64_t nics;             /* ranks of a host, one a NIC */
	int64_t seed;             /* of kind random; -1: the run's */
	struct cfg_strings hosts; /* to choose from; empty: all */
	bool share;               /* hosts of other jobs too */
};

extern const struct cfg_table placement_table;

/* What a placement depends on beside its own words. */
struct placement_site {
	const struct topo *topo;
	const bool *taken; /* [topo->nnodes] hosts that other jobs use */
	uint64_t seed;     /* the run's */
	const char *job;   /* name: random placements of two jobs have nothing in common */
};

/*
 * Hosts of the topology in its order, leaf by leaf (a leaf is the switch of a host's first NIC), are taken as the kind
 * says: packed fills one leaf after another; spread takes one host of every leaf, then a second of every leaf, ...;
 * random draws, each host by a number of its own, so that one host less shifts no other; one-per-leaf takes the
 * first free host of every leaf. Ranks are numbered in the order taken, those of one host by NIC.
 * @param ranks  out: malloc'd, the caller's to free
 * @return 0, -ENOMEM, or -EINVAL with err set: too few free hosts or leaves, no such NIC, unknown hosts
 */
int placement_ranks(const struct placement *placement, const struct placement_site *site, struct endpoint **ranks,
		    uint32_t *count, struct err *err);

/* SPDX-License-Identifier: BSD-3-Clause */
/* How topologies are put together: first all nodes, then all links, then finish. Private to topo/. */
#pragma once

#include "topo/build.h"
#include "topo/topo.h"

#define BUILDER_MAX_LINKS (1 << 19) /* RECORD_MAX_PORTS have two ends each */

struct builder_link {
	uint32_t node[2];
	uint64_t rate_bps, delay_ps;
};

struct builder {
	struct topo *topo; /* nodes so far; its ports are made by builder_finish() */
	struct builder_link *links;
	uint32_t node_room, link_room;
	bool sorted;            /* names are checked and can be found: no more nodes */
	struct cfg_where where; /* of the group, for what concerns the whole */
	struct err *err;
};

/* One kind of topology: makes all nodes and links. @return 0, -EINVAL or -ENOMEM with builder->err set */
struct topo_generator {
	const char *kind;
	const struct cfg_table *table;
	const struct cfg_table *links; /* a list of its own, or NULL */
	int (*build)(const struct cfg *cfg, struct builder *builder);
};

extern const struct topo_generator topo_dual_tor, topo_explicit, topo_fat_tree, topo_leaf_spine, topo_rail, topo_ns3;

/* @return 0 or -ENOMEM */
int builder_init(struct builder *builder, const struct cfg_where *where, struct err *err);
/* Frees an unfinished builder. */
void builder_fini(struct builder *builder);

/*
 * Adds a node; ids count from 0 in this order.
 * @param key  key of the group that names it, for messages, or NULL
 * @return 0; -EINVAL: a name that is empty, too long or has other characters than letters, digits, '_', '.' and '-',
 *         or more than TOPO_MAX_NODES nodes
 */
int builder_node(struct builder *builder, enum topo_kind kind, const struct cfg_where *where, const char *key,
		 const char *name);
/* builder_node() with a name made of prefix and number ("h7"). */
int builder_numbered(struct builder *builder, enum topo_kind kind, const char *prefix, uint32_t number);

/* Checks that names are unique, after the last node. @return 0 or -EINVAL */
int builder_index(struct builder *builder);

/*
 * Adds a cable. Ports count from 1 at each end in the order of the links.
 * @return 0; -EINVAL: both ends at one node, rate below SERTABLE_MIN_RATE_BPS, delay zero, a node past TOPO_MAX_PORTS
 */
int builder_link(struct builder *builder, const struct cfg_where *where, uint32_t a, uint32_t b, uint64_t rate_bps,
		 uint64_t delay_ps);

/* All ports of a host are one bond. */
void builder_bond(struct builder *builder, uint32_t host);

/* Makes the topology; the caller's to destroy. @return NULL with err set when out of memory */
struct topo *builder_finish(struct builder *builder);

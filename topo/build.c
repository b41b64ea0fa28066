/* SPDX-License-Identifier: BSD-3-Clause */
/* Builds a topology from a scenario. */
#include "topo/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/sertable.h"
#include "common/units.h"
#include "topo/builder.h"
#include "topo/pins.h"

/* How a kind puts its topology together. */

int
builder_init(struct builder *builder, const struct cfg_where *where, struct err *err)
{
	*builder = (struct builder){ .topo = calloc(1, sizeof(struct topo)), .where = *where, .err = err };
	if (builder->topo == NULL)
		return err_set(err, -ENOMEM, "out of memory for the topology");
	builder->topo->where = *where;
	return 0;
}

void
builder_fini(struct builder *builder)
{
	topo_destroy(builder->topo);
	free(builder->links);
	builder->topo = NULL;
	builder->links = NULL;
}

/* Makes room for one more, doubling. @return the array, moved or not, or NULL with the old one kept */
static void *
room_for_one(void *items, uint32_t count, uint32_t *room, size_t item_bytes)
{
	void *grown;

	if (count < *room)
		return items;
	grown = realloc(items, (*room != 0 ? *room * 2 : 64) * item_bytes);
	if (grown != NULL)
		*room = *room != 0 ? *room * 2 : 64;
	return grown;
}

int
builder_node(struct builder *builder, enum topo_kind kind, const struct cfg_where *where, const char *key, const char *name)
{
	struct topo *topo = builder->topo;
	struct topo_node *nodes;
	size_t length = strlen(name);

	if (length == 0 || length >= sizeof(nodes->name) ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != length)
		return cfg_fail(where, key, builder->err,
				"\"%s\" cannot name a node; 1 to %zu letters, digits, '_', '.' and '-' would be right",
				name, sizeof(nodes->name) - 1);
	if (topo->nnodes == TOPO_MAX_NODES)
		return cfg_fail(where, key, builder->err, "more than %d nodes", TOPO_MAX_NODES);
	nodes = room_for_one(topo->nodes, topo->nnodes, &builder->node_room, sizeof(*nodes));
	if (nodes == NULL)
		return err_set(builder->err, -ENOMEM, "out of memory for %u nodes", topo->nnodes);
	topo->nodes = nodes;
	nodes += topo->nnodes++;
	*nodes = (struct topo_node){ .kind = kind, .where = *where };
	memcpy(nodes->name, name, length + 1);
	return 0;
}

int
builder_numbered(struct builder *builder, enum topo_kind kind, const char *prefix, uint32_t number)
{
	char name[sizeof(builder->topo->nodes->name)];

	snprintf(name, sizeof(name), "%s%u", prefix, number);
	return builder_node(builder, kind, &builder->where, NULL, name);
}

static int
compare_names(const void *a, const void *b, void *nodes)
{
	const struct topo_node *n = nodes;
	uint32_t ia = *(const uint32_t *)a, ib = *(const uint32_t *)b;
	int order = strcmp(n[ia].name, n[ib].name);

	return order != 0 ? order : (ia > ib) - (ia < ib);
}

int
builder_index(struct builder *builder)
{
	struct topo *topo = builder->topo;

	topo->by_name = calloc(topo->nnodes + 1, sizeof(*topo->by_name));
	if (topo->by_name == NULL)
		return err_set(builder->err, -ENOMEM, "out of memory for %u nodes", topo->nnodes);
	for (uint32_t i = 0; i < topo->nnodes; i++)
		topo->by_name[i] = i;
	qsort_r(topo->by_name, topo->nnodes, sizeof(*topo->by_name), compare_names, topo->nodes);
	for (uint32_t i = 1; i < topo->nnodes; i++) {
		const struct topo_node *node = &topo->nodes[topo->by_name[i]];

		if (strcmp(node->name, topo->nodes[topo->by_name[i - 1]].name) == 0)
			return cfg_fail(&node->where, NULL, builder->err,
					"two nodes have the name \"%s\"; every host and switch needs a different one",
					node->name);
	}
	builder->sorted = true;
	return 0;
}

/* Counts the port at one end. */
static int
add_port(struct builder *builder, const struct cfg_where *where, struct topo_node *node)
{
	const int most = node->kind == TOPO_HOST ? TOPO_MAX_NICS : TOPO_MAX_PORTS;

	if (node->nports == most)
		return cfg_fail(where, NULL, builder->err, "%s \"%s\" has more than %d ports",
				node->kind == TOPO_HOST ? "host" : "switch", node->name, most);
	node->nports++;
	return 0;
}

int
builder_link(struct builder *builder, const struct cfg_where *where, uint32_t a, uint32_t b, uint64_t rate_bps,
	     uint64_t delay_ps)
{
	struct topo *topo = builder->topo;
	struct builder_link *links;
	char rate[32], least[32];
	int rc;

	if (a == b)
		return cfg_fail(where, NULL, builder->err, "both ends are at \"%s\"; a link joins two nodes",
				topo->nodes[a].name);
	if (delay_ps == 0)
		return cfg_fail(where, NULL, builder->err, "the link %s - %s has delay zero; more than that would be right",
				topo->nodes[a].name, topo->nodes[b].name);
	if (rate_bps < SERTABLE_MIN_RATE_BPS)
		return cfg_fail(where, NULL, builder->err, "the link %s - %s has a rate of %s; %s and more would be right",
				topo->nodes[a].name, topo->nodes[b].name, units_format_rate(rate_bps, rate, sizeof(rate)),
				units_format_rate(SERTABLE_MIN_RATE_BPS, least, sizeof(least)));
	if (topo->nlinks == BUILDER_MAX_LINKS)
		return cfg_fail(where, NULL, builder->err, "more than %d links", BUILDER_MAX_LINKS);
	rc = add_port(builder, where, &topo->nodes[a]);
	if (rc == 0)
		rc = add_port(builder, where, &topo->nodes[b]);
	if (rc != 0)
		return rc;
	links = room_for_one(builder->links, topo->nlinks, &builder->link_room, sizeof(*links));
	if (links == NULL)
		return err_set(builder->err, -ENOMEM, "out of memory for %u links", topo->nlinks);
	builder->links = links;
	links[topo->nlinks++] = (struct builder_link){ { a, b }, rate_bps, delay_ps };
	return 0;
}

void
builder_bond(struct builder *builder, uint32_t host)
{
	builder->topo->nbonds += !builder->topo->nodes[host].bonded;
	builder->topo->nodes[host].bonded = true;
}

/* Ports in the order of links, numbered in that order at each node. */
static void
make_ports(struct topo *topo, const struct builder_link *links)
{
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		topo->nodes[i].first_port = topo->nports;
		topo->nports += topo->nodes[i].nports;
		topo->nodes[i].nports = 0;
	}
	for (uint32_t l = 0; l < topo->nlinks; l++) {
		uint32_t *port = topo->links[l].port;

		for (int end = 0; end < 2; end++) {
			struct topo_node *node = &topo->nodes[links[l].node[end]];

			port[end] = node->first_port + node->nports;
			topo->ports[port[end]] = (struct topo_port){
				.node = links[l].node[end],
				.index = node->nports++,
				.peer = links[l].node[1 - end],
				.link = l,
				.rate_bps = links[l].rate_bps,
				.delay_ps = links[l].delay_ps,
			};
		}
		for (int end = 0; end < 2; end++) {
			topo->ports[port[end]].peer_port = port[1 - end];
			topo->ports[port[end]].peer_index = topo->ports[port[1 - end]].index;
		}
	}
}

struct topo *
builder_finish(struct builder *builder)
{
	struct topo *topo = builder->topo;

	topo->ports = calloc(topo->nlinks * 2 + 1, sizeof(*topo->ports));
	topo->links = calloc(topo->nlinks + 1, sizeof(*topo->links));
	topo->hosts = calloc(topo->nnodes + 1, sizeof(*topo->hosts));
	if (topo->ports == NULL || topo->links == NULL || topo->hosts == NULL) {
		err_set(builder->err, -ENOMEM, "out of memory for %u links", topo->nlinks);
		return NULL;
	}
	make_ports(topo, builder->links);
	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (topo->nodes[i].kind == TOPO_HOST)
			topo->hosts[topo->nhosts++] = i;
	topo->nswitches = topo->nnodes - topo->nhosts;
	builder->topo = NULL;
	return topo;
}

/* The kinds. */

static const struct topo_generator *const generators[] = {
	&topo_explicit, &topo_dual_tor, &topo_fat_tree, &topo_leaf_spine, &topo_rail, &topo_ns3,
};
#define NGENERATORS ARRAY_LEN(generators)

struct kind {
	struct cfg_where where;
	const char *kind;
};

static const struct cfg_field kind_fields[] = {
	CFG_FIELD("kind", CFG_STRING, offsetof(struct kind, kind), .def = "", .doc = "Kind of topology."),
};

static const struct cfg_table kind_table = {
	.path = "topology",
	.doc = "The network.",
	.size = sizeof(struct kind),
	.fields = kind_fields,
	.nfields = 1,
};

static const struct topo_generator *
find_generator(const struct cfg *cfg, struct kind *kind, struct err *err)
{
	char all[256] = "";

	if (cfg_bind(cfg, &kind_table, kind, err) != 0)
		return NULL;
	for (size_t i = 0; i < NGENERATORS; i++) {
		if (kind->kind != NULL && strcmp(generators[i]->kind, kind->kind) == 0)
			return generators[i];
		strcat(all, i == 0 ? "" : ", ");
		strcat(all, generators[i]->kind);
	}
	if (kind->where.node == NULL)
		cfg_fail(&kind->where, "topology", err, "is missing; a group with kind = one of %s would be right", all);
	else if (kind->kind == NULL)
		cfg_fail(&kind->where, NULL, err, "kind is missing; one of %s would be right", all);
	else
		cfg_fail(&kind->where, "kind", err, "found \"%s\"; one of %s would be right", kind->kind, all);
	return NULL;
}

int
topo_build(const struct cfg *cfg, struct topo **topo, struct err *err)
{
	const struct topo_generator *generator;
	struct builder builder;
	struct kind kind;
	int rc;

	*topo = NULL;
	generator = find_generator(cfg, &kind, err);
	if (generator == NULL)
		return -EINVAL;
	rc = builder_init(&builder, &kind.where, err);
	if (rc != 0)
		return rc;
	rc = generator->build(cfg, &builder);
	if (rc == 0) {
		*topo = builder_finish(&builder);
		rc = *topo != NULL ? topo_check(*topo, err) : -ENOMEM;
	}
	builder_fini(&builder);
	if (rc != 0) {
		topo_destroy(*topo);
		*topo = NULL;
	}
	return rc;
}

size_t
topo_tables(struct cfg_known *known, size_t cap)
{
	size_t count = 0;

	for (size_t i = 0; i < NGENERATORS; i++) {
		if (count < cap)
			known[count] = (struct cfg_known){ generators[i]->table, generators[i]->kind };
		count++;
		if (generators[i]->links != NULL && count++ < cap)
			known[count - 1] = (struct cfg_known){ generators[i]->links, NULL };
	}
	if (count < cap)
		known[count] = (struct cfg_known){ &route_pins_table, NULL };
	return count + 1;
}

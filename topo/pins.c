/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/pins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "topo/route.h"

struct pin_cfg {
	struct cfg_where where;
	const char *src, *dst;
	int64_t sport, dport;
	struct cfg_strings data, ack, detour;
	bool rehash;
};

#define S struct pin_cfg
static const struct cfg_field fields[] = {
	CFG_FIELD("src", CFG_STRING, offsetof(S, src), .doc = "Sending host"),
	CFG_FIELD("dst", CFG_STRING, offsetof(S, dst), .doc = "Receiving host"),
	CFG_FIELD("sport", CFG_INT, offsetof(S, sport), .def = "0", .max = 65535,
		  .doc = "UDP source port of the flow; 0: any"),
	CFG_FIELD("dport", CFG_INT, offsetof(S, dport), .def = "0", .max = 65535,
		  .doc = "UDP destination port of the flow; 0: any"),
	CFG_FIELD("data", CFG_STRINGS, offsetof(S, data), .def = "",
		  .doc = "Egress ports \"switch:port\" in order, from the sender's switch to the receiver's; none: ECMP. A "
			 "bonded sender's own port may stand before them: the QP's member of the bond"),
	CFG_FIELD("ack", CFG_STRINGS, offsetof(S, ack), .def = "",
		  .doc = "Egress ports for ACKs, from the receiver's switch to the sender's; none: ECMP"),
	CFG_FIELD("rehash", CFG_BOOL, offsetof(S, rehash), .def = "false",
		  .doc = "If links that are down leave a switch fewer ports of equal cost, it chooses among those "
			 "left, as its ECMP does for flows that are not pinned"),
	CFG_FIELD("detour", CFG_STRINGS, offsetof(S, detour), .def = "",
		  .doc = "With `rehash`, ports \"switch:port\" that data then takes, the first of a switch's that is left; "
			 "none: that of its hash"),
};
#undef S

const struct cfg_table route_pins_table = {
	.path = "paths",
	.doc = "Flows whose path is fixed. All other flows are spread by ECMP.",
	.list = true,
	.size = sizeof(struct pin_cfg),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};

static uint32_t
find_host(const struct topo *topo, const struct pin_cfg *cfg, const char *key, const char *name, struct err *err)
{
	uint32_t node = topo_find(topo, name);

	if (node != TOPO_NONE && topo->nodes[node].kind == TOPO_HOST)
		return node;
	cfg_fail(&cfg->where, key, err, "\"%s\" is no host of this topology", name);
	return TOPO_NONE;
}

static bool
are_linked(const struct topo *topo, uint32_t a, uint32_t b)
{
	for (uint16_t i = 0; i < topo->nodes[a].nports; i++)
		if (topo_port_of(topo, a, i)->peer == b)
			return true;
	return false;
}

/* Checks hop i of a path against those before it. */
static int
check_hop(const struct topo *topo, const struct pin_cfg *cfg, const char *key, const char *text,
	  const struct route_pin_path *path, uint32_t i, uint32_t src, struct err *err)
{
	const struct topo_port *port = &topo->ports[path->ports[i]];
	const char *node = topo->nodes[port->node].name;

	if (i == 0 && path->nic >= 0 && topo_port_of(topo, src, (uint16_t)path->nic)->peer != port->node)
		return cfg_fail(&cfg->where, key, err, "\"%s\": port %d of %s, where the path begins, does not lead to %s",
				text, path->nic + 1, topo->nodes[src].name, node);
	if (i == 0 && !are_linked(topo, src, port->node))
		return cfg_fail(&cfg->where, key, err, "\"%s\": switch %s has no link to %s, where the path begins", text,
				node, topo->nodes[src].name);
	for (uint32_t k = 0; k < i; k++)
		if (topo->ports[path->ports[k]].node == port->node)
			return cfg_fail(&cfg->where, key, err,
					"routing loop: \"%s\" returns to switch %s; every switch may occur once", text,
					node);
	if (i > 0 && topo->ports[path->ports[i - 1]].peer != port->node) {
		const struct topo_port *before = &topo->ports[path->ports[i - 1]];
		char name[40];

		return cfg_fail(&cfg->where, key, err, "\"%s\": %s leads to %s, not to %s; a port of %s would be right",
				text, topo_port_name(topo, path->ports[i - 1], name), topo->nodes[before->peer].name, node,
				topo->nodes[before->peer].name);
	}
	return 0;
}

static int
read_path(const struct topo *topo, const struct pin_cfg *cfg, const char *key, const struct cfg_strings *texts,
	  uint32_t src, uint32_t dst, struct route_pin_path *path, struct err *err)
{
	const struct topo_port *last;

	if (texts->count == 0)
		return 0;
	if (texts->count >= ROUTE_MAX_HOPS)
		return cfg_fail(&cfg->where, key, err, "%zu hops; at most %d would be right", texts->count,
				ROUTE_MAX_HOPS - 1);
	path->ports = calloc(texts->count, sizeof(*path->ports));
	if (path->ports == NULL)
		return err_set(err, -ENOMEM, "out of memory for paths");
	for (size_t i = 0; i < texts->count; i++) {
		uint32_t port = topo_find_port(topo, texts->items[i]);
		int rc;

		if (i == 0 && port != TOPO_NONE && topo->ports[port].node == src && topo->nodes[src].bonded) {
			path->nic = (int16_t)topo->ports[port].index;
			continue;
		}
		if (port == TOPO_NONE || topo->nodes[topo->ports[port].node].kind != TOPO_SWITCH)
			return cfg_fail(&cfg->where, key, err, "\"%s\" is no switch:port of this topology",
					texts->items[i]);
		path->ports[path->hops++] = port;
		rc = check_hop(topo, cfg, key, texts->items[i], path, path->hops - 1, src, err);
		if (rc != 0)
			return rc;
	}
	if (path->hops == 0)
		return 0;
	last = &topo->ports[path->ports[path->hops - 1]];
	if (last->peer != dst)
		return cfg_fail(&cfg->where, key, err, "\"%s\" leads to %s; the last port must lead to %s",
				texts->items[texts->count - 1], topo->nodes[last->peer].name, topo->nodes[dst].name);
	return 0;
}

static int
read_detour(const struct topo *topo, const struct pin_cfg *cfg, struct route_pin *pin, struct err *err)
{
	if (cfg->detour.count != 0 && !cfg->rehash)
		return cfg_fail(&cfg->where, "detour", err, "without rehash it is never taken");
	pin->detour = calloc(cfg->detour.count + 1, sizeof(*pin->detour));
	if (pin->detour == NULL)
		return err_set(err, -ENOMEM, "out of memory for paths");
	for (size_t i = 0; i < cfg->detour.count; i++) {
		uint32_t port = topo_find_port(topo, cfg->detour.items[i]);

		if (port == TOPO_NONE || topo->nodes[topo->ports[port].node].kind != TOPO_SWITCH)
			return cfg_fail(&cfg->where, "detour", err, "\"%s\" is no switch:port of this topology",
					cfg->detour.items[i]);
		pin->detour[pin->ndetours++] = port;
	}
	return 0;
}

static int
read_pin(const struct topo *topo, const struct pin_cfg *cfg, struct route_pin *pin, struct err *err)
{
	int rc;

	pin->where = cfg->where;
	pin->data.nic = pin->ack.nic = -1;
	pin->sport = (uint16_t)cfg->sport;
	pin->dport = (uint16_t)cfg->dport;
	pin->rehash = cfg->rehash;
	pin->src_node = find_host(topo, cfg, "src", cfg->src, err);
	pin->dst_node = find_host(topo, cfg, "dst", cfg->dst, err);
	if (pin->src_node == TOPO_NONE || pin->dst_node == TOPO_NONE)
		return -EINVAL;
	if (pin->src_node == pin->dst_node)
		return cfg_fail(&cfg->where, "dst", err, "\"%s\" is the source as well", cfg->dst);
	rc = read_path(topo, cfg, "data", &cfg->data, pin->src_node, pin->dst_node, &pin->data, err);
	if (rc == 0)
		rc = read_path(topo, cfg, "ack", &cfg->ack, pin->dst_node, pin->src_node, &pin->ack, err);
	if (rc == 0)
		rc = read_detour(topo, cfg, pin, err);
	return rc;
}

/* Do both begin at the same switch and end at the same NIC? A direction that one lacks counts as equal. */
static bool
same_ends(const struct topo *topo, const struct route_pin_path *a, const struct route_pin_path *b)
{
	return a->hops == 0 || b->hops == 0 ||
	       (topo->ports[a->ports[0]].node == topo->ports[b->ports[0]].node &&
		a->ports[a->hops - 1] == b->ports[b->hops - 1]);
}

/* The first pin that fits a flow counts, so special ones may stand before those for any port, but not behind. */
static int
check_twice(const struct route_pins *pins, size_t i, struct err *err)
{
	const struct route_pin *pin = &pins->pins[i];

	for (size_t k = 0; k < i; k++) {
		const struct route_pin *other = &pins->pins[k];

		if (other->src_node == pin->src_node && other->dst_node == pin->dst_node &&
		    (other->sport == 0 || other->sport == pin->sport) &&
		    (other->dport == 0 || other->dport == pin->dport) && same_ends(pins->topo, &other->data, &pin->data) &&
		    same_ends(pins->topo, &other->ack, &pin->ack))
			return cfg_fail(&pin->where, NULL, err, "every flow that fits is pinned already at %s:%d",
					other->where.file, other->where.line);
	}
	return 0;
}

int
route_pins_create(const struct cfg *cfg, const struct topo *topo, struct route_pins **out, struct err *err)
{
	struct route_pins *pins = calloc(1, sizeof(*pins));
	struct pin_cfg *items = NULL;
	void *bound = NULL;
	size_t count = 0;
	int rc;

	*out = NULL;
	if (pins == NULL)
		return err_set(err, -ENOMEM, "out of memory for paths");
	pins->topo = topo;
	rc = cfg_bind_list(cfg, &route_pins_table, NULL, &bound, &count, err);
	items = bound;
	if (rc == 0) {
		pins->pins = calloc(count + 1, sizeof(*pins->pins));
		if (pins->pins == NULL)
			rc = err_set(err, -ENOMEM, "out of memory for %zu paths", count);
	}
	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = read_pin(topo, &items[i], &pins->pins[pins->count++], err);
		if (rc == 0)
			rc = check_twice(pins, i, err);
	}
	free(items);
	if (rc == 0)
		*out = pins;
	else
		route_pins_destroy(pins);
	return rc;
}

void
route_pins_destroy(struct route_pins *pins)
{
	if (pins == NULL)
		return;
	for (size_t i = 0; i < pins->count; i++) {
		free(pins->pins[i].data.ports);
		free(pins->pins[i].ack.ports);
		free(pins->pins[i].detour);
	}
	free(pins->pins);
	free(pins->of);
	free(pins);
}

/*
 * Does a path begin at the switch of one NIC and end at the other? An unpinned direction fits every NIC; a bond is
 * reached at any of its ports, and left by the one that the pin names.
 */
static bool
fits_nics(const struct topo *topo, const struct route_pin_path *path, uint32_t src, uint16_t src_nic, uint16_t dst_nic)
{
	const struct topo_port *last = path->hops != 0 ? &topo->ports[path->ports[path->hops - 1]] : NULL;

	return last == NULL ||
	       ((path->nic >= 0 || (src_nic < topo->nodes[src].nports &&
				    topo_port_of(topo, src, src_nic)->peer == topo->ports[path->ports[0]].node)) &&
		(last->peer_index == dst_nic || topo->nodes[last->peer].bonded));
}

const struct route_pin *
route_pins_find(const struct route_pins *pins, const struct flow *flow)
{
	for (size_t i = 0; pins != NULL && i < pins->count; i++) {
		const struct route_pin *pin = &pins->pins[i];

		if (pin->src_node == flow->src_node && pin->dst_node == flow->dst_node &&
		    (pin->sport == 0 || pin->sport == flow->sport) && (pin->dport == 0 || pin->dport == flow->dport) &&
		    fits_nics(pins->topo, &pin->data, flow->src_node, flow->src_nic, flow->dst_nic) &&
		    fits_nics(pins->topo, &pin->ack, flow->dst_node, flow->dst_nic, flow->src_nic))
			return pin;
	}
	return NULL;
}

int
route_pins_attach(struct route_pins *pins, const struct flow_table *flows, route_quiet_check *quiet, const void *of,
		  struct err *err)
{
	bool *used = calloc(pins->count + 1, sizeof(*used));
	int rc = 0;

	free(pins->of);
	pins->nflows = 0;
	pins->of = calloc(flows->count + 1, sizeof(*pins->of));
	if (used == NULL || pins->of == NULL) {
		free(used);
		return err_set(err, -ENOMEM, "out of memory for the paths of %u flows", flows->count);
	}
	pins->nflows = flows->count;
	for (uint32_t f = 0; f < flows->count; f++) {
		pins->of[f] = route_pins_find(pins, &flows->flows[f]);
		if (pins->of[f] != NULL)
			used[pins->of[f] - pins->pins] = true;
	}
	for (size_t i = 0; rc == 0 && i < pins->count; i++) {
		const struct route_pin *pin = &pins->pins[i];

		if (!used[i] && !quiet(of, pin->src_node, pin->dst_node))
			rc = cfg_fail(
				&pin->where, NULL, err, "no flow of this scenario goes from %s to %s with these ports%s",
				pins->topo->nodes[pin->src_node].name, pins->topo->nodes[pin->dst_node].name,
				pins->topo->nbonds != 0 ? ", by the leaf where the path begins: a bonded sender's own "
							  "port may stand before it"
							: "");
	}
	free(used);
	return rc;
}

int
route_pin_egress(const struct route_pin *pin, const struct topo *topo, uint32_t node, bool reverse)
{
	const struct route_pin_path *path = pin == NULL ? NULL : reverse ? &pin->ack : &pin->data;

	for (uint32_t i = 0; path != NULL && i < path->hops; i++)
		if (topo->ports[path->ports[i]].node == node)
			return topo->ports[path->ports[i]].index;
	return -1;
}

int
route_pinned_egress(const struct route_pins *pins, uint32_t node, uint32_t flow, bool reverse)
{
	if (pins == NULL || flow >= pins->nflows)
		return -1;
	return route_pin_egress(pins->of[flow], pins->topo, node, reverse);
}

const struct route_pin *
route_pin_rehash(const struct route_pins *pins, uint32_t flow)
{
	const struct route_pin *pin = pins != NULL && flow < pins->nflows ? pins->of[flow] : NULL;

	return pin != NULL && pin->rehash ? pin : NULL;
}

int
route_pin_detour(const struct route_pin *pin, const struct topo *topo, uint32_t node, const uint8_t *left, uint32_t count)
{
	for (uint32_t i = 0; i < pin->ndetours; i++) {
		const struct topo_port *port = &topo->ports[pin->detour[i]];

		if (port->node == node && memchr(left, port->index, count) != NULL)
			return port->index;
	}
	return -1;
}

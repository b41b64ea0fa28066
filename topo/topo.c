/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"

uint32_t
topo_find(const struct topo *topo, const char *name)
{
	uint32_t low = 0, high = topo->nnodes;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = strcmp(name, topo->nodes[topo->by_name[middle]].name);

		if (order == 0)
			return topo->by_name[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return TOPO_NONE;
}

uint32_t
topo_find_port(const struct topo *topo, const char *text)
{
	const char *colon = strrchr(text, ':');
	char name[sizeof(topo->nodes[0].name)];
	uint64_t number;
	uint32_t node;

	if (colon == NULL || (size_t)(colon - text) >= sizeof(name))
		return TOPO_NONE;
	memcpy(name, text, (size_t)(colon - text));
	name[colon - text] = '\0';
	node = topo_find(topo, name);
	if (node == TOPO_NONE || !number_parse(colon + 1, 1, topo->nodes[node].nports, &number))
		return TOPO_NONE;
	return topo->nodes[node].first_port + (uint32_t)number - 1;
}

char *
topo_port_name(const struct topo *topo, uint32_t port, char *buf)
{
	const struct topo_port *p = &topo->ports[port];

	snprintf(buf, 40, "%s:%u", topo->nodes[p->node].name, p->index + 1u);
	return buf;
}

bool
topo_find_nic(const struct topo *topo, uint32_t ip, uint32_t *node, uint16_t *nic)
{
	*node = (ip & 0xffff) - 1;
	*nic = ip >> 16 & 0x7f;
	return *node < topo->nnodes && topo->nodes[*node].kind == TOPO_HOST && *nic < topo->nodes[*node].nports &&
	       topo_host_ip(topo, *node, *nic) == ip;
}

void
topo_destroy(struct topo *topo)
{
	if (topo == NULL)
		return;
	free(topo->nodes);
	free(topo->ports);
	free(topo->links);
	free(topo->hosts);
	free(topo->by_name);
	free(topo->source);
	free(topo);
}

/* A topology as text. */

static const char *
kind_name(const struct topo_node *node)
{
	return node->kind == TOPO_SWITCH ? "switch" : node->bonded ? "bond" : "host";
}

/* Width of the widest of a node's, or port's, name. */
static int
widest(const struct topo *topo, bool ports)
{
	size_t width = 4;
	char name[40];

	for (uint32_t i = 0; i < (ports ? topo->nports : topo->nnodes); i++) {
		size_t length = strlen(ports ? topo_port_name(topo, i, name) : topo->nodes[i].name);

		width = length > width ? length : width;
	}
	return (int)width;
}

void
topo_show(const struct topo *topo, FILE *to)
{
	int node_width = widest(topo, false), port_width = widest(topo, true);
	char name[40], peer[40], rate[32], delay[32];

	fprintf(to, "%u nodes: %u hosts, %u switches; %u links\n", topo->nnodes, topo->nhosts, topo->nswitches,
		topo->nlinks);
	if (topo->nbonds != 0)
		fprintf(to, "%u hosts are bonds: their ports have one address\n", topo->nbonds);
	fputc('\n', to);
	fprintf(to, "%-*s  %-6s  %5s  %-*s  %-*s  %10s  %10s\n", node_width, "node", "kind", "ports", port_width, "port",
		port_width, "peer", "rate", "delay");
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		const struct topo_node *node = &topo->nodes[i];

		if (node->nports == 0)
			fprintf(to, "%-*s  %-6s  %5u\n", node_width, node->name, kind_name(node), 0);
		for (uint32_t p = node->first_port; p < node->first_port + node->nports; p++) {
			const struct topo_port *port = &topo->ports[p];
			bool first = p == node->first_port;

			if (first)
				fprintf(to, "%-*s  %-6s  %5u", node_width, node->name, kind_name(node), node->nports);
			else
				fprintf(to, "%*s", node_width + 15, "");
			fprintf(to, "  %-*s  %-*s  %10s  %10s\n", port_width, topo_port_name(topo, p, name), port_width,
				topo_port_name(topo, port->peer_port, peer),
				units_format_rate(port->rate_bps, rate, sizeof(rate)),
				units_format_time(port->delay_ps, delay, sizeof(delay)));
		}
	}
}

void
topo_show_dot(const struct topo *topo, FILE *to)
{
	char rate[32], delay[32];

	fprintf(to, "graph topology {\n\tnode [fontname=\"sans-serif\"];\n");
	for (uint32_t i = 0; i < topo->nnodes; i++)
		fprintf(to, "\t\"%s\" [shape=%s];\n", topo->nodes[i].name,
			topo->nodes[i].kind == TOPO_HOST ? "ellipse" : "box");
	for (uint32_t l = 0; l < topo->nlinks; l++) {
		const struct topo_port *port = &topo->ports[topo->links[l].port[0]];

		fprintf(to, "\t\"%s\" -- \"%s\" [taillabel=\"%u\", headlabel=\"%u\", tooltip=\"%s, %s\"];\n",
			topo->nodes[port->node].name, topo->nodes[port->peer].name, port->index + 1u, port->peer_index + 1u,
			units_format_rate(port->rate_bps, rate, sizeof(rate)),
			units_format_time(port->delay_ps, delay, sizeof(delay)));
	}
	fprintf(to, "}\n");
}

static void
show_names(const struct topo *topo, const char *key, enum topo_kind kind, bool bonded, FILE *to)
{
	const char *separator = "";

	fprintf(to, "  %s = [", key);
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		if (topo->nodes[i].kind != kind || (bonded && !topo->nodes[i].bonded))
			continue;
		fprintf(to, "%s \"%s\"", separator, topo->nodes[i].name);
		separator = ",";
	}
	fprintf(to, " ];\n");
}

void
topo_show_scenario(const struct topo *topo, FILE *to)
{
	const struct topo_port *usual = topo->ports;
	char rate[32], delay[32];

	fprintf(to, "topology = {\n  kind = \"explicit\";\n");
	if (topo->nlinks != 0) {
		fprintf(to, "  rate = \"%s\";\n", units_format_rate(usual->rate_bps, rate, sizeof(rate)));
		fprintf(to, "  delay = \"%s\";\n", units_format_time(usual->delay_ps, delay, sizeof(delay)));
	}
	show_names(topo, "hosts", TOPO_HOST, false, to);
	show_names(topo, "switches", TOPO_SWITCH, false, to);
	if (topo->nbonds != 0)
		show_names(topo, "bonds", TOPO_HOST, true, to);
	fprintf(to, "  links = (");
	for (uint32_t l = 0; l < topo->nlinks; l++) {
		const struct topo_port *port = &topo->ports[topo->links[l].port[0]];

		fprintf(to, "%s\n    \"%s %s", l != 0 ? "," : "", topo->nodes[port->node].name,
			topo->nodes[port->peer].name);
		if (port->rate_bps != usual->rate_bps || port->delay_ps != usual->delay_ps)
			fprintf(to, " %s", units_format_rate(port->rate_bps, rate, sizeof(rate)));
		if (port->delay_ps != usual->delay_ps)
			fprintf(to, " %s", units_format_time(port->delay_ps, delay, sizeof(delay)));
		fputc('"', to);
	}
	fprintf(to, "\n  );\n};\n");
}

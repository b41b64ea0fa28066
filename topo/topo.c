/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/topo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/number.h"

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

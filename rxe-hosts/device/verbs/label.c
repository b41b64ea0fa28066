/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/device/verbs/label.h"
#include "common/minmax.h"

#include <errno.h>
#include <stdlib.h>

static int
by_port(const void *a, const void *b)
{
	uint16_t x = *(const uint16_t *)a, y = *(const uint16_t *)b;

	return ORDER(x, y);
}

int
verbs_ports_init(struct verbs_ports *ports, const struct flow_table *flows, uint32_t node)
{
	uint32_t kept = 0;

	*ports = (struct verbs_ports){ .sports = calloc(flows->count + 1u, sizeof(*ports->sports)) };
	if (ports->sports == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < flows->count; i++) {
		const struct flow *flow = &flows->flows[i];

		if (flow->kind != FLOW_CONTROL && flow->dport == ROCEV2_UDP_PORT &&
		    (flow->src_node == node || flow->dst_node == node))
			ports->sports[ports->count++] = flow->sport;
	}
	qsort(ports->sports, ports->count, sizeof(*ports->sports), by_port);
	for (uint32_t i = 0; i < ports->count; i++)
		if (i == 0 || ports->sports[i] != ports->sports[i - 1])
			ports->sports[kept++] = ports->sports[i];
	ports->count = kept;
	return 0;
}

void
verbs_ports_fini(struct verbs_ports *ports)
{
	free(ports->sports);
	*ports = (struct verbs_ports){ 0 };
}

uint32_t
verbs_ports_find(const struct verbs_ports *ports, uint16_t sport)
{
	const uint16_t *at =
		ports->count != 0 ? bsearch(&sport, ports->sports, ports->count, sizeof(sport), by_port) : NULL;

	return at != NULL ? (uint32_t)(at - ports->sports) : VERBS_NO_PORT;
}

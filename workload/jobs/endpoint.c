/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/jobs/endpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "workload/jobs/names.h"

int
endpoint_find(const struct topo *topo, const char *name, const struct cfg_where *where, const char *key,
	      struct endpoint *endpoint, struct err *err)
{
	uint32_t port;

	*endpoint = (struct endpoint){ topo_find(topo, name), 0 };
	if (endpoint->node == TOPO_NONE) {
		port = topo_find_port(topo, name);
		if (port != TOPO_NONE && topo->nodes[topo->ports[port].node].bonded)
			return cfg_fail(where, key, err,
					"\"%s\" is a member of a bond, which has one address; \"%s\" would be right", name,
					topo->nodes[topo->ports[port].node].name);
		if (port != TOPO_NONE)
			*endpoint = (struct endpoint){ topo->ports[port].node, topo->ports[port].index };
	}
	if (endpoint->node == TOPO_NONE)
		return cfg_fail(where, key, err, "\"%s\" is neither a host nor host:nic of this topology", name);
	if (topo->nodes[endpoint->node].kind != TOPO_HOST)
		return cfg_fail(where, key, err, "\"%s\" is a switch; only hosts send and receive", name);
	if (topo->nodes[endpoint->node].nports == 0)
		return cfg_fail(where, key, err, "host \"%s\" has no NIC", name);
	return 0;
}

/* Which rank is at each port; every port may be one's only. */
static int
check_repeated(const struct topo *topo, const struct endpoint *ranks, uint32_t count, const struct cfg_where *where,
	       const char *key, struct err *err)
{
	uint32_t *rank_at = malloc(topo->nports * sizeof(*rank_at) + 1);
	int rc = 0;

	if (rank_at == NULL)
		return err_set(err, -ENOMEM, "out of memory for %u ranks", count);
	memset(rank_at, 0xff, topo->nports * sizeof(*rank_at));
	for (uint32_t r = 0; r < count && rc == 0; r++) {
		const struct topo_node *node = &topo->nodes[ranks[r].node];
		uint32_t *at = &rank_at[node->first_port + ranks[r].nic];

		if (*at != UINT32_MAX)
			rc = cfg_fail(where, key, err, "ranks %u and %u are both at %s NIC %u", *at, r, node->name,
				      ranks[r].nic + 1u);
		*at = r;
	}
	free(rank_at);
	return rc;
}

int
endpoint_list(const struct topo *topo, const struct cfg_strings *words, const struct cfg_where *where, const char *key,
	      struct endpoint **ranks, uint32_t *count, struct err *err)
{
	struct name_list names;
	int rc = names_expand(words, where, key, &names, err);

	*count = names.count != 0 ? (uint32_t)names.count : topo->nhosts;
	*ranks = rc == 0 ? calloc(*count + 1u, sizeof(**ranks)) : NULL;
	if (rc == 0 && *ranks == NULL)
		rc = err_set(err, -ENOMEM, "out of memory for %u ranks", *count);
	for (uint32_t r = 0; r < *count && rc == 0; r++) {
		if (names.count != 0)
			rc = endpoint_find(topo, names.items[r], where, key, &(*ranks)[r], err);
		else
			(*ranks)[r].node = topo->hosts[r];
	}
	if (rc == 0)
		rc = check_repeated(topo, *ranks, *count, where, key, err);
	names_free(&names);
	if (rc != 0) {
		free(*ranks);
		*ranks = NULL;
	}
	return rc;
}

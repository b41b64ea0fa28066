/* SPDX-License-Identifier: BSD-3-Clause */
#include "topo/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/units.h"

/*
 * Islands: switches joined by cables, and cables between two hosts. Two hosts reach each other where they share one,
 * because hosts do not forward.
 */
struct islands {
	uint32_t *parent; /* [nnodes + nlinks] union-find over switches, then cables */
	uint32_t *of;     /* [nports] island behind each port of a host, sorted host by host */
};

static uint32_t
find_root(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i) {
		parent[i] = parent[parent[i]];
		i = parent[i];
	}
	return i;
}

static void
join_switches(const struct topo *topo, struct islands *islands)
{
	for (uint32_t i = 0; i < topo->nnodes + topo->nlinks; i++)
		islands->parent[i] = i;
	for (uint32_t p = 0; p < topo->nports; p++) {
		const struct topo_port *port = &topo->ports[p];

		if (topo->nodes[port->node].kind == TOPO_SWITCH && topo->nodes[port->peer].kind == TOPO_SWITCH)
			islands->parent[find_root(islands->parent, port->node)] = find_root(islands->parent, port->peer);
	}
}

static int
compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
list_islands(const struct topo *topo, struct islands *islands)
{
	for (uint32_t h = 0; h < topo->nhosts; h++) {
		const struct topo_node *host = &topo->nodes[topo->hosts[h]];

		for (uint32_t p = host->first_port; p < host->first_port + host->nports; p++) {
			const struct topo_port *port = &topo->ports[p];
			bool is_switch = topo->nodes[port->peer].kind == TOPO_SWITCH;

			islands->of[p] = find_root(islands->parent, is_switch ? port->peer : topo->nnodes + port->link);
		}
		qsort(&islands->of[host->first_port], host->nports, sizeof(*islands->of), compare_ids);
	}
}

static bool
share_island(const struct islands *islands, const struct topo_node *a, const struct topo_node *b)
{
	const uint32_t *ia = &islands->of[a->first_port], *ib = &islands->of[b->first_port];

	for (uint32_t i = 0, j = 0; i < a->nports && j < b->nports;) {
		if (ia[i] == ib[j])
			return true;
		if (ia[i] < ib[j])
			i++;
		else
			j++;
	}
	return false;
}

/* Hosts at one and the same island alone are alike: the first of them speaks for all. */
static int
check_reachable(const struct topo *topo, const struct islands *islands, struct err *err)
{
	const struct topo_node *first = &topo->nodes[topo->hosts[0]];
	uint32_t *others = calloc(topo->nhosts, sizeof(*others)), nothers = 0;
	int rc = others != NULL ? 0 : err_set(err, -ENOMEM, "out of memory for %u hosts", topo->nhosts);

	for (uint32_t h = 0; rc == 0 && h < topo->nhosts; h++) {
		const struct topo_node *host = &topo->nodes[topo->hosts[h]];

		if (!share_island(islands, first, host))
			rc = cfg_fail(
				&host->where, NULL, err,
				"hosts \"%s\" and \"%s\" are not connected; a path over switches between every two hosts "
				"would be right",
				first->name, host->name);
		if (host->nports != first->nports || memcmp(&islands->of[host->first_port], &islands->of[first->first_port],
							    host->nports * sizeof(*islands->of)) != 0)
			others[nothers++] = topo->hosts[h];
	}
	for (uint32_t i = 0; rc == 0 && i < nothers; i++)
		for (uint32_t j = i + 1; rc == 0 && j < nothers; j++)
			if (!share_island(islands, &topo->nodes[others[i]], &topo->nodes[others[j]]))
				rc = cfg_fail(
					&topo->nodes[others[j]].where, NULL, err,
					"hosts \"%s\" and \"%s\" are not connected; a path over switches between every two "
					"hosts would be right",
					topo->nodes[others[i]].name, topo->nodes[others[j]].name);
	free(others);
	return rc;
}

/* Members of a bond lead to switches, and are of one speed (IEEE 802.1AX, 6.1.1). */
static int
check_bond(const struct topo *topo, const struct topo_node *host, struct err *err)
{
	const struct topo_port *first = &topo->ports[host->first_port];

	if (host->nports < 2)
		return cfg_fail(&host->where, NULL, err, "the bond of host \"%s\" has %u link; two and more would be right",
				host->name, host->nports);
	for (uint16_t i = 0; i < host->nports; i++) {
		const struct topo_port *port = first + i;
		char rate[32], other[32];

		if (topo->nodes[port->peer].kind == TOPO_HOST)
			return cfg_fail(
				&host->where, NULL, err,
				"the bond of host \"%s\" has a link to host \"%s\"; links to switches would be right",
				host->name, topo->nodes[port->peer].name);
		if (port->rate_bps != first->rate_bps)
			return cfg_fail(&host->where, NULL, err,
					"the bond of host \"%s\" has links of %s and of %s; one rate would be right",
					host->name, units_format_rate(first->rate_bps, rate, sizeof(rate)),
					units_format_rate(port->rate_bps, other, sizeof(other)));
	}
	return 0;
}

int
topo_check(const struct topo *topo, struct err *err)
{
	struct islands islands;
	int rc = 0;

	if (topo->nhosts == 0)
		return cfg_fail(&topo->where, NULL, err, "no hosts; at least one would be right");
	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (topo->nodes[i].kind == TOPO_HOST && topo->nodes[i].nports == 0)
			return cfg_fail(&topo->nodes[i].where, NULL, err,
					"host \"%s\" has no link; at least one would be right", topo->nodes[i].name);
	for (uint32_t i = 0; rc == 0 && i < topo->nhosts; i++)
		if (topo->nodes[topo->hosts[i]].bonded)
			rc = check_bond(topo, &topo->nodes[topo->hosts[i]], err);
	if (rc != 0)
		return rc;
	islands.parent = calloc(topo->nnodes + topo->nlinks, sizeof(*islands.parent));
	islands.of = calloc(topo->nports + 1, sizeof(*islands.of));
	if (islands.parent == NULL || islands.of == NULL) {
		rc = err_set(err, -ENOMEM, "out of memory for %u nodes", topo->nnodes);
	} else {
		join_switches(topo, &islands);
		list_islands(topo, &islands);
		rc = check_reachable(topo, &islands, err);
	}
	free(islands.parent);
	free(islands.of);
	return rc;
}

uint64_t
topo_headroom_bytes(const struct topo_port *port, uint64_t rate_bps, uint64_t pipeline_ps, uint32_t frame_bytes,
		    uint32_t pause_bytes)
{
	unsigned __int128 bits_ps = (unsigned __int128)rate_bps * 2 * (port->delay_ps + pipeline_ps);

	return (uint64_t)((bits_ps + 8 * PS_PER_S - 1) / (8 * PS_PER_S)) + 3ULL * frame_bytes + pause_bytes;
}

int
topo_check_headroom(const struct topo *topo, uint32_t port, uint64_t headroom_bytes, uint64_t needed_bytes,
		    const struct cfg_where *where, struct err *err)
{
	const struct topo_port *p = &topo->ports[port];
	char have[32], name[40], rate[32], delay[32];

	if (headroom_bytes >= needed_bytes)
		return 0;
	return cfg_fail(where, "headroom", err, "%s is short by %llu KiB for %s (%s, %s): needs at least %llu B",
			units_format_bytes(headroom_bytes, have, sizeof(have)),
			(unsigned long long)(needed_bytes - headroom_bytes + 1023) / 1024, topo_port_name(topo, port, name),
			units_format_rate(p->rate_bps, rate, sizeof(rate)),
			units_format_time(p->delay_ps, delay, sizeof(delay)), (unsigned long long)needed_bytes);
}

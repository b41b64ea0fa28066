/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/controller/rnics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "operator/controller/coverage.h"

/* ---- RNICs and their ToRs ---- */

static int
cmp_u32(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int
cmp_rnic(const void *pa, const void *pb)
{
	const struct rnic *a = pa, *b = pb;
	int by = cmp_u32(a->tor, b->tor);

	by = by != 0 ? by : cmp_u32(a->host, b->host);
	return by != 0 ? by : cmp_u32(a->nic, b->nic);
}

static int
cmp_ip(const void *pa, const void *pb, void *arg)
{
	const struct rnic_map *map = arg;
	const uint32_t *a = pa, *b = pb;

	return cmp_u32(map->rnics[*a].ip, map->rnics[*b].ip);
}

static void
list_rnics(struct rnic_map *map, const struct topo *topo)
{
	for (uint32_t i = 0; i < topo->nhosts; i++) {
		const struct topo_node *host = &topo->nodes[topo->hosts[i]];

		for (uint16_t nic = 0; nic < host->nports; nic++) {
			uint32_t tor = topo->ports[host->first_port + nic].peer;

			if (tor == TOPO_NONE || topo->nodes[tor].kind != TOPO_SWITCH)
				continue;
			map->rnics[map->nrnics++] = (struct rnic){
				.ip = topo_nic_ip(topo->hosts[i], nic), .host = topo->hosts[i], .tor = tor, .nic = nic
			};
		}
	}
	if (map->nrnics != 0)
		qsort(map->rnics, map->nrnics, sizeof(*map->rnics), cmp_rnic);
	for (uint32_t i = 0; i < map->nrnics; i++) {
		map->by_ip[i] = i;
		if (i == 0 || map->rnics[i].tor != map->rnics[i - 1].tor)
			map->tors[map->ntors++] = (struct rnic_tor){ .node = map->rnics[i].tor, .first = i };
		map->tors[map->ntors - 1].count++;
	}
	if (map->nrnics != 0)
		qsort_r(map->by_ip, map->nrnics, sizeof(*map->by_ip), cmp_ip, map);
}

uint32_t
rnic_map_find(const struct rnic_map *map, uint32_t ip)
{
	uint32_t low = 0, high = map->nrnics;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (map->rnics[map->by_ip[middle]].ip < ip)
			low = middle + 1;
		else
			high = middle;
	}
	return low < map->nrnics && map->rnics[map->by_ip[low]].ip == ip ? map->by_ip[low] : TOPO_NONE;
}

uint32_t
rnic_map_tor(const struct rnic_map *map, uint32_t rnic)
{
	uint32_t low = 0, high = map->ntors - 1;

	while (low < high) {
		uint32_t middle = high - (high - low) / 2;

		if (map->tors[middle].first <= rnic)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* ---- parallel paths ---- */

struct counting {
	const struct topo *topo;
	const struct route_table *table;
	uint32_t dst; /* host */
	uint16_t dst_nic;
	uint32_t *paths; /* [nnodes] from each to dst, TOPO_NONE: not counted yet */
};

/* Next hops of shortest ways never come back: as deep as the network has tiers. */
static uint32_t
count_paths(const struct counting *c, uint32_t node)
{
	const uint8_t *ports;
	uint32_t count, paths = 0;

	if (node == c->dst)
		return 1;
	if (c->paths[node] != TOPO_NONE)
		return c->paths[node];
	count = route_next_hops(c->table, node, c->dst, c->dst_nic, &ports);
	for (uint32_t i = 0; i < count; i++)
		paths += count_paths(c, topo_port_of(c->topo, node, ports[i])->peer);
	c->paths[node] = paths < COVERAGE_MAX_PATHS ? paths : COVERAGE_MAX_PATHS;
	return c->paths[node];
}

/* @param paths  [ntors * ntors] set to those from the first to the second */
static int
count_all(const struct rnic_map *map, const struct topo *topo, const struct route_table *table, uint32_t *paths)
{
	struct counting c = { .topo = topo, .table = table, .paths = malloc((size_t)topo->nnodes * sizeof(*c.paths)) };

	if (c.paths == NULL)
		return -ENOMEM;
	for (uint32_t to = 0; to < map->ntors; to++) {
		const struct rnic *rnic = &map->rnics[map->tors[to].first];

		memset(c.paths, 0xff, (size_t)topo->nnodes * sizeof(*c.paths)); /* TOPO_NONE */
		c.dst = rnic->host;
		c.dst_nic = rnic->nic;
		for (uint32_t from = 0; from < map->ntors; from++)
			paths[(size_t)from * map->ntors + to] = from != to ? count_paths(&c, map->tors[from].node) : 0;
	}
	free(c.paths);
	return 0;
}

struct ranked {
	uint32_t paths, tor;
};

static int
cmp_ranked(const void *pa, const void *pb)
{
	const struct ranked *a = pa, *b = pb;
	int by = cmp_u32(b->paths, a->paths);

	return by != 0 ? by : cmp_u32(a->tor, b->tor);
}

/* Each distance gets tuples of its own: those to the near cover nothing of the ways to the far. @param ranked  [ntors] room */
static int
sort_others(struct rnic_map *map, uint32_t from, const uint32_t *paths, double covered, struct ranked *ranked)
{
	struct rnic_tor *tor = &map->tors[from];
	uint32_t *others = &map->others[(size_t)from * map->ntors], count = 0;

	for (uint32_t to = 0; to < map->ntors; to++)
		if (paths[to] != 0)
			ranked[count++] = (struct ranked){ paths[to], to };
	if (count > 1)
		qsort(ranked, count, sizeof(*ranked), cmp_ranked);
	tor->reaches = calloc((size_t)count + 1, sizeof(*tor->reaches));
	if (tor->reaches == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		others[i] = ranked[i].tor;
		if (i == 0 || ranked[i].paths != ranked[i - 1].paths) {
			tor->reaches[tor->nreaches++] =
				(struct rnic_reach){ .paths = ranked[i].paths,
						     .tuples = (uint32_t)coverage_tuples(ranked[i].paths, covered),
						     .first = (uint32_t)(others - map->others) + i };
			tor->tuples += tor->reaches[tor->nreaches - 1].tuples;
		}
		tor->reaches[tor->nreaches - 1].count++;
	}
	return 0;
}

static int
find_reaches(struct rnic_map *map, const struct topo *topo, const struct route_table *table, double covered)
{
	size_t pairs = (size_t)map->ntors * map->ntors;
	uint32_t *paths = calloc(pairs + 1, sizeof(*paths));
	struct ranked *ranked = calloc((size_t)map->ntors + 1, sizeof(*ranked));
	int rc = paths != NULL && ranked != NULL ? count_all(map, topo, table, paths) : -ENOMEM;

	map->others = calloc(pairs + 1, sizeof(*map->others));
	if (map->others == NULL)
		rc = -ENOMEM;
	for (uint32_t i = 0; i < map->ntors && rc == 0; i++)
		rc = sort_others(map, i, &paths[(size_t)i * map->ntors], covered, ranked);
	free(paths);
	free(ranked);
	return rc;
}

int
rnic_map_init(struct rnic_map *map, const struct topo *topo, const struct route_table *table, double covered,
	      struct err *err)
{
	size_t most = 1;
	int rc = 0;

	for (uint32_t i = 0; i < topo->nhosts; i++)
		most += topo->nodes[topo->hosts[i]].nports;
	*map = (struct rnic_map){ .rnics = calloc(most, sizeof(*map->rnics)),
				  .tors = calloc(most, sizeof(*map->tors)),
				  .by_ip = calloc(most, sizeof(*map->by_ip)) };
	if (map->rnics == NULL || map->tors == NULL || map->by_ip == NULL)
		rc = -ENOMEM;
	if (rc == 0) {
		list_rnics(map, topo);
		rc = find_reaches(map, topo, table, covered);
	}
	if (rc != 0)
		rnic_map_fini(map);
	return rc == 0 ? 0 : err_set(err, rc, "out of memory for pinglists");
}

void
rnic_map_fini(struct rnic_map *map)
{
	for (uint32_t i = 0; i < map->ntors; i++)
		free(map->tors[i].reaches);
	free(map->rnics);
	free(map->tors);
	free(map->others);
	free(map->by_ip);
	*map = (struct rnic_map){ 0 };
}

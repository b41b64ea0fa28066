/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/controller/pinglist.h"

#include <assert.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/minmax.h"
#include "common/prng.h"
#include "common/wire/probe.h"
#include "rxe-hosts/device/verbs/label.h"

/* ---- how many 5-tuples use every parallel path (Eq. 1) ---- */

#define MOST_EXPECTED 16.0L /* terms beyond cancel each other in more digits than a long double has to spare */

/* log of (1 - i/N)^k */
static long double
log_left_out(uint32_t paths, uint32_t i, uint64_t tuples)
{
	return (long double)tuples * log1pl(-(long double)i / paths);
}

/*
 * Inclusion and exclusion, each term computed from the previous one: factorials never appear. Terms grow up to about
 * e^16, then fall faster than geometrically.
 */
double
coverage_miss(uint32_t paths, uint64_t tuples)
{
	long double term, sum, before;

	assert(paths >= 1 && paths <= COVERAGE_MAX_PATHS);
	if (tuples < paths)
		return 1;
	if (paths == 1)
		return 0;
	before = log_left_out(paths, 1, tuples);
	term = paths * expl(before);
	if (term > MOST_EXPECTED)
		return 1;
	sum = term;
	for (uint32_t i = 2; i < paths && term > sum * LDBL_EPSILON; i++) {
		long double here = log_left_out(paths, i, tuples);

		term *= (long double)(paths - i + 1) / i * expl(here - before);
		before = here;
		sum += i % 2 == 0 ? -term : term;
	}
	return (double)fminl(1, fmaxl(0, sum));
}

uint64_t
coverage_tuples(uint32_t paths, double covered)
{
	uint64_t low = paths, high;

	assert(covered >= 0.5 && covered < 1);
	if (paths == 1)
		return 1;
	/* The first term alone is an upper bound of the sum (Bonferroni): it is enough where that is. */
	high = (uint64_t)ceill(logl((1 - (long double)covered) / paths) / log1pl(-1.0L / paths));
	high = high > low ? high : low;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (coverage_miss(paths, middle) <= 1 - covered)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* ---- RNICs and their ToRs ---- */

static int
cmp_u32(uint32_t a, uint32_t b)
{
	return ORDER(a, b);
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

/* Next hops of shortest paths have no loops: the depth is the number of tiers of the network. */
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

/*
 * Each distance has tuples of its own: tuples to near ToRs do not cover the paths to far ones. @param ranked  [ntors]
 * room
 */
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

/* ---- pinglists ---- */

#define MESH_STREAM 0x746f722d6d657368ULL /* separates the two random streams */
#define TOR_STREAM 0x696e7465722d746fULL
#define RAIL_STREAM 0x7261696cULL

static uint16_t
draw_port(const struct pinglists *lists, struct prng *prng)
{
	if (lists->rxe)
		return verbs_rxe_sport(PINGLIST_RXE_FIRST_QPN + (uint32_t)prng_below(prng, PINGLIST_RXE_QPNS));
	return (uint16_t)(PINGLIST_FIRST_PORT + prng_below(prng, PINGLIST_PORTS));
}

/* ---- ToR-mesh ---- */

/* RNICs of one host stand together in a ToR. @param first  set to the first of the RNIC's own @return how many */
static uint32_t
own_rnics(const struct rnic_map *map, const struct rnic_tor *tor, uint32_t rnic, uint32_t *first)
{
	uint32_t from = rnic, to = rnic + 1;

	while (from > tor->first && map->rnics[from - 1].host == map->rnics[rnic].host)
		from--;
	while (to < tor->first + tor->count && map->rnics[to].host == map->rnics[rnic].host)
		to++;
	*first = from;
	return to - from;
}

uint32_t
pinglist_mesh_count(const struct pinglists *lists, uint32_t rnic)
{
	const struct rnic_tor *tor = &lists->map->tors[rnic_map_tor(lists->map, rnic)];
	uint32_t first;

	return tor->count - own_rnics(lists->map, tor, rnic, &first);
}

/* A fixed source port per pair: between RNICs of a ToR there is one path. */
static struct pinglist_entry
mesh_entry(const struct pinglists *lists, const struct rnic_tor *tor, uint32_t rnic, uint32_t i)
{
	uint32_t first, own = own_rnics(lists->map, tor, rnic, &first), target = tor->first + i;
	struct prng prng;

	if (target >= first)
		target += own;
	prng_init(&prng, lists->seed, digest_u64(digest_u64(MESH_STREAM, rnic), target));
	return (struct pinglist_entry){ .kind = REC_PROBE_TOR_MESH,
					.sport = draw_port(lists, &prng),
					.target = target,
					.interval_ps = lists->times.tor_mesh_ps * (tor->count - own) };
}

/* ---- inter-ToR ---- */

/* Tuples are assigned round robin. @return number of a ToR's tuples that its RNIC with this index gets */
static uint32_t
dealt(const struct rnic_tor *tor, uint32_t at)
{
	return tor->tuples / tor->count + (at < tor->tuples % tor->count);
}

/* RNICs of a host; with rails all of them have a ToR. */
static uint32_t
nics_of(const struct rnic_map *map, uint32_t host)
{
	uint32_t count = 0;

	while (rnic_map_find(map, topo_nic_ip(host, (uint16_t)count)) != TOPO_NONE)
		count++;
	return count;
}

/* @return whether an RNIC has a list of this kind beyond its ToR */
static bool
has_list(const struct pinglists *lists, uint32_t rnic, uint16_t kind)
{
	if (!lists->rails)
		return kind == REC_PROBE_INTER_TOR;
	return kind == REC_PROBE_RAIL || nics_of(lists->map, lists->map->rnics[rnic].host) == 2;
}

uint32_t
pinglist_count(const struct pinglists *lists, uint32_t rnic)
{
	const struct rnic_tor *tor = &lists->map->tors[rnic_map_tor(lists->map, rnic)];
	uint32_t beyond = (uint32_t)has_list(lists, rnic, REC_PROBE_INTER_TOR) + has_list(lists, rnic, REC_PROBE_RAIL);

	return pinglist_mesh_count(lists, rnic) + beyond * dealt(tor, rnic - tor->first);
}

/* How often a tuple was drawn anew: it is when the number of rotations so far is its part, counted round. */
static uint64_t
generation(uint64_t rotations, uint32_t part)
{
	if (part == 0)
		return rotations / PINGLIST_ROTATE_PARTS;
	return rotations >= part ? (rotations - part) / PINGLIST_ROTATE_PARTS + 1 : 0;
}

static const struct rnic_reach *
reach_of(const struct rnic_tor *tor, uint32_t slot)
{
	const struct rnic_reach *reach = tor->reaches;

	for (; slot >= reach->tuples; reach++)
		slot -= reach->tuples;
	return reach;
}

/*
 * An RNIC at one of these ToRs, of another host: traffic of a host to itself may stay within it. TOPO_NONE: there is
 * none.
 */
static uint32_t
draw_target(const struct rnic_map *map, const struct rnic_reach *reach, uint32_t rnic, struct prng *prng)
{
	uint32_t at = (uint32_t)prng_below(prng, reach->count);

	for (uint32_t i = 0; i < reach->count; i++) {
		const struct rnic_tor *to = &map->tors[map->others[reach->first + (at + i) % reach->count]];
		uint32_t target = to->first + (uint32_t)prng_below(prng, to->count);

		for (uint32_t k = 0; k < to->count; k++, target++) {
			target = target < to->first + to->count ? target : to->first;
			if (map->rnics[target].host != map->rnics[rnic].host)
				return target;
		}
	}
	return TOPO_NONE;
}

static bool
is_of_reach(const struct rnic_map *map, const struct rnic_reach *reach, uint32_t tor)
{
	for (uint32_t i = 0; i < reach->count; i++)
		if (map->others[reach->first + i] == tor)
			return true;
	return false;
}

/* Another RNIC of the host, at one of these ToRs. TOPO_NONE: there is none. */
static uint32_t
draw_own(const struct rnic_map *map, const struct rnic_reach *reach, uint32_t rnic, struct prng *prng)
{
	uint32_t host = map->rnics[rnic].host, own = nics_of(map, host), at = (uint32_t)prng_below(prng, own);

	for (uint32_t i = 0; i < own; i++) {
		uint32_t target = rnic_map_find(map, topo_nic_ip(host, (uint16_t)((at + i) % own)));

		if (is_of_reach(map, reach, rnic_map_tor(map, target)))
			return target;
	}
	return TOPO_NONE;
}

/* Beyond the ToR. @param i  of the list of its kind */
static struct pinglist_entry
far_entry(const struct pinglists *lists, uint16_t kind, uint32_t rnic, uint32_t i, uint64_t time_ps)
{
	const struct rnic_tor *tor = &lists->map->tors[rnic_map_tor(lists->map, rnic)];
	uint32_t at = rnic - tor->first, slot = i * tor->count + at;
	const struct rnic_reach *reach = reach_of(tor, slot);
	uint64_t drawn = generation(time_ps / lists->times.rotate_ps, (i + at) % PINGLIST_ROTATE_PARTS);
	bool rail = kind == REC_PROBE_RAIL;
	struct prng prng;

	prng_init(&prng, lists->seed,
		  digest_u64(digest_u64(digest_u64(rail ? RAIL_STREAM : TOR_STREAM, tor->node), slot), drawn));
	return (struct pinglist_entry){ .kind = kind,
					.target = (rail ? draw_own : draw_target)(lists->map, reach, rnic, &prng),
					.sport = draw_port(lists, &prng),
					.interval_ps = lists->times.inter_tor_ps };
}

double
pinglist_load_bps(const struct pinglists *lists, uint32_t rnic, bool service)
{
	uint32_t mesh = pinglist_mesh_count(lists, rnic), beyond = pinglist_count(lists, rnic) - mesh;
	double per_ps = beyond / (double)lists->times.inter_tor_ps;

	if (mesh != 0)
		per_ps += 1 / (double)lists->times.tor_mesh_ps;
	if (service)
		per_ps += 1 / (double)lists->times.service_ps;
	return per_ps * PS_PER_S * PROBE_DATAGRAMS * PROBE_LINK_BYTES * 8;
}

double
pinglist_link_share(const struct pinglists *lists, const struct topo *topo, bool service, uint32_t *rnic)
{
	double most = 0;

	for (uint32_t r = 0; r < lists->map->nrnics; r++) {
		const struct rnic *at = &lists->map->rnics[r];
		double share =
			pinglist_load_bps(lists, r, service) / (double)topo_port_of(topo, at->host, at->nic)->rate_bps;

		if (share > most) {
			most = share;
			*rnic = r;
		}
	}
	return most;
}

struct pinglist_entry
pinglist_at(const struct pinglists *lists, uint32_t rnic, uint32_t i, uint64_t time_ps)
{
	const struct rnic_tor *tor = &lists->map->tors[rnic_map_tor(lists->map, rnic)];
	uint32_t mesh = pinglist_mesh_count(lists, rnic), far = dealt(tor, rnic - tor->first);

	assert(i < pinglist_count(lists, rnic));
	if (i < mesh)
		return mesh_entry(lists, tor, rnic, i);
	if (i - mesh < far && has_list(lists, rnic, REC_PROBE_INTER_TOR))
		return far_entry(lists, REC_PROBE_INTER_TOR, rnic, i - mesh, time_ps);
	return far_entry(lists, REC_PROBE_RAIL, rnic, (i - mesh) % far, time_ps);
}

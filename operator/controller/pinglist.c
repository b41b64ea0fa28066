/* SPDX-License-Identifier: BSD-3-Clause */
#include "operator/controller/pinglist.h"

#include <assert.h>

#include "common/hash.h"
#include "common/prng.h"
#include "common/wire/probe.h"
#include "rxe-hosts/device/verbs/label.h"

#define MESH_STREAM 0x746f722d6d657368ULL /* tells the two uses of chance apart */
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

/* One source port a pair, at all times: between RNICs of a ToR there is one way. */
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

/* Tuples are dealt out in turn. @return how many of a ToR's its so many-th RNIC gets */
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

/* An RNIC at one of these ToRs, of another host: what a host sends itself need not leave it. TOPO_NONE: there is none. */
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

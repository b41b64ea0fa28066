/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh's part of a scenario: the 5-tuples that its controller will ever give out are flows of the plan. */
#include <errno.h>
#include <stdlib.h>

#include "scenario/scenario_load.h"

/* Each host has several NICs, and each of them another ToR. */
static int
check_rails(const struct scenario *sc, struct err *err)
{
	const struct topo *topo = sc->topo;

	if (sc->nexternal != 0)
		return cfg_fail(
			&sc->pingmesh.where, "rails", err,
			"a kernel delivers what a host sends to itself without any cable: for embedded hosts alone");
	for (uint32_t i = 0; i < topo->nhosts; i++) {
		const struct topo_node *host = &topo->nodes[topo->hosts[i]];

		if (host->nports < 2)
			return cfg_fail(&sc->pingmesh.where, "rails", err,
					"%s has one NIC; hosts probe from one of their NICs to another", host->name);
		for (uint32_t a = 0; a < host->nports; a++)
			for (uint32_t b = 0; b < a; b++)
				if (topo->ports[host->first_port + a].peer == topo->ports[host->first_port + b].peer)
					return cfg_fail(
						&sc->pingmesh.where, "rails", err,
						"NICs %u and %u of %s are at the same switch, %s; each rail has its own",
						b + 1, a + 1, host->name,
						topo->nodes[topo->ports[host->first_port + a].peer].name);
	}
	return 0;
}

static int
check(const struct scenario *sc, struct err *err)
{
	if (sc->nexternal != 0 && sc->nexternal != sc->topo->nhosts)
		return cfg_fail(&sc->pingmesh.where, "enabled", err,
				"%u of %u hosts have their own kernel; agents probe where either all have, or none",
				sc->nexternal, sc->topo->nhosts);
	if (sc->nexternal != 0 && sc->pingmesh.tracing == PINGMESH_INT)
		return cfg_fail(&sc->pingmesh.where, "tracing", err,
				"\"int\": kernels take no packets into which switches wrote: \"traceroute\" would be "
				"right, or embedded "
				"hosts");
	return sc->pingmesh.rails ? check_rails(sc, err) : 0;
}

static struct plan_probe
probe_of(const struct rnic_map *map, uint32_t rnic, const struct pinglist_entry *entry)
{
	const struct rnic *from = &map->rnics[rnic], *to = &map->rnics[entry->target];

	return (struct plan_probe){ .src_node = from->host,
				    .src_nic = from->nic,
				    .dst_node = to->host,
				    .dst_nic = to->nic,
				    .sport = entry->sport };
}

/* How often tuples are drawn anew until the run is over at the latest. */
static uint64_t
rotations(const struct scenario *sc)
{
	return sc->limits.virtual_time_ps / sc->pinglists.times.rotate_ps;
}

int
scenario_plan_probes(struct scenario *sc, struct plan_probe **probes, uint32_t *nprobes, struct err *err)
{
	uint64_t entries = 0, turns;

	*probes = NULL;
	*nprobes = 0;
	if (!sc->pingmesh.enabled)
		return 0;
	if (check(sc, err) < 0 || rnic_map_init(&sc->rnics, sc->topo, sc->routes, PINGLIST_COVERED, err) < 0)
		return -EINVAL;
	sc->pinglists = (struct pinglists){ .map = &sc->rnics,
					    .times = pingmesh_times(pingmesh_factor_ppm(&sc->pingmesh)),
					    .seed = (uint64_t)sc->root.seed,
					    .rxe = sc->nexternal != 0,
					    .rails = sc->pingmesh.rails };
	turns = rotations(sc) + 1;
	for (uint32_t r = 0; r < sc->rnics.nrnics; r++)
		entries += pinglist_count(&sc->pinglists, r);
	if (entries * turns > UINT32_MAX)
		return cfg_fail(
			&sc->pingmesh.where, "time_factor", err,
			"%g: tuples change %llu times within limits.virtual_time: a larger factor, or a lower limit",
			sc->pingmesh.time_factor, (unsigned long long)turns - 1);
	*probes = calloc(entries * turns + 1, sizeof(**probes));
	if (*probes == NULL)
		return err_set(err, -ENOMEM, "out of memory for %llu tuples", (unsigned long long)(entries * turns));
	for (uint32_t r = 0; r < sc->rnics.nrnics; r++)
		for (uint32_t i = 0; i < pinglist_count(&sc->pinglists, r); i++)
			for (uint64_t turn = 0; turn < turns; turn++) {
				struct pinglist_entry entry =
					pinglist_at(&sc->pinglists, r, i, turn * sc->pinglists.times.rotate_ps);

				if (entry.target != TOPO_NONE)
					(*probes)[(*nprobes)++] = probe_of(&sc->rnics, r, &entry);
			}
	return 0;
}

uint64_t
scenario_trace_gap_ps(const struct scenario *scenario)
{
	if (!scenario->pingmesh.enabled || scenario->pingmesh.trace_rate == 0)
		return 0;
	return PS_PER_S / PINGMESH_PPM * pingmesh_factor_ppm(&scenario->pingmesh) / (uint64_t)scenario->pingmesh.trace_rate;
}

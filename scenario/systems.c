/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario/systems.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "common/wire/volume.h"
#include "operator/controller/pinglist.h"
#include "scenario/scenario_load.h"
#include "topo/tiers.h"
#include "workload/plan.h"
#include "workload/workload.h"

/* What a system needs of a scenario beside its own key. */

/* Periods of R-Pingmesh's analysis in a run: findings need two, and more of them show intermittent faults. */
#define PINGMESH_PERIODS 5
/*
 * Its times are the paper's, multiplied by a factor. With kernel hosts the factor is at least a fifth, so that a
 * timeout is 100 ms. Otherwise it is at least 1/500, so that a timeout is 1 ms: longer than queues and pauses of a
 * lossless fabric extend a round trip.
 */
#define PINGMESH_LEAST_PPM 2000
#define PINGMESH_LEAST_REAL_PPM 200000

int
system_set(struct system_sets *sets, struct err *err, const char *fmt, ...)
{
	va_list ap;
	int used;

	if (sets->count == SYSTEM_MAX_SETS)
		return err_set(err, -E2BIG, "more than %d keys of systems", SYSTEM_MAX_SETS);
	va_start(ap, fmt);
	used = vsnprintf(sets->text[sets->count], SYSTEM_SET_BYTES, fmt, ap);
	va_end(ap);
	if (used >= SYSTEM_SET_BYTES)
		return err_set(err, -E2BIG, "\"%s...\" is too long a key", sets->text[sets->count]);
	sets->count++;
	return 0;
}

/* Switches and NICs keep rows. */
static int
system_prepare_policy(const struct scenario *scenario, struct system_sets *sets, struct err *err)
{
	return scenario->telemetry.enabled ? 0 : system_set(sets, err, "telemetry.enabled=true");
}

/* Does the flow descend to the receiver's switch from a switch one tier above, where it can be counted? */
static bool
goes_down(const struct scenario *scenario, const struct tiers *tiers, uint32_t flow_id)
{
	const struct flow *flow = &scenario->plan->flows.flows[flow_id];
	const struct topo *topo = scenario->topo;
	const struct topo_node *leaf = &topo->nodes[topo_port_of(topo, flow->dst_node, flow->dst_nic)->peer];

	if (topo_port_of(topo, flow->src_node, flow->src_nic)->peer ==
	    topo_port_of(topo, flow->dst_node, flow->dst_nic)->peer)
		return false;
	for (uint32_t port = 0; port < leaf->nports; port++)
		if (tiers_is_uplink(tiers, &topo->ports[leaf->first_port + port]))
			return true;
	return false;
}

/* What a collective sends that can be counted, in all its iterations. */
static uint64_t
collective_bytes(const struct scenario *scenario, const struct tiers *tiers, uint32_t index)
{
	const struct plan_collective *collective = &scenario->plan->collectives[index];
	uint64_t bytes = 0;

	for (uint32_t rank = 0; rank < collective->schedule->ranks; rank++)
		for (uint32_t step = 1; step <= coll_steps(collective->schedule, rank); step++) {
			uint32_t flow = plan_step_at(collective, rank, step)->flow;

			if (flow != PLAN_NONE && goes_down(scenario, tiers, flow))
				bytes += plan_step_bytes(collective, rank, step) * collective->iterations;
		}
	return bytes;
}

/* @param measured  of collectives that are measured already, alone */
static uint64_t
job_bytes(const struct scenario *scenario, const struct tiers *tiers, uint32_t job, bool measured)
{
	const struct plan *plan = scenario->plan;
	uint64_t bytes = 0;

	for (uint32_t c = 0; c < plan->ncollectives; c++)
		if (plan->collectives[c].job == job && plan->collectives[c].enabled &&
		    (plan->collectives[c].measured || !measured))
			bytes += collective_bytes(scenario, tiers, c);
	return bytes;
}

/* @return the job that sends most; UINT32_MAX: none sends anything */
static uint32_t
largest_job(const struct scenario *scenario, const struct tiers *tiers, bool measured)
{
	uint64_t most_bytes = 0;
	uint32_t best = UINT32_MAX;

	for (uint32_t j = 0; j < scenario->workload->njobs; j++) {
		uint64_t bytes = job_bytes(scenario, tiers, j, measured);

		if (bytes > most_bytes) {
			most_bytes = bytes;
			best = j;
		}
	}
	return best;
}

/* Of one job, where none is measured yet: no leaf may receive those of two. */
static int
measure(const struct scenario *scenario, struct system_sets *sets, struct err *err)
{
	char path[CFG_WHERE_PATH];
	struct tiers tiers;
	uint32_t job;
	int ret = tiers_init(&tiers, scenario->topo);

	if (ret < 0)
		return err_set(err, ret, "out of memory for tiers of switches");
	job = largest_job(scenario, &tiers, true);
	if (job == UINT32_MAX) {
		job = largest_job(scenario, &tiers, false);
		if (job != UINT32_MAX)
			ret = system_set(sets, err, "%s.measured=true",
					 cfg_where_path(&scenario->workload->jobs[job].where, path));
	}
	tiers_fini(&tiers);
	return job != UINT32_MAX ? ret
				 : err_set(err, -EINVAL,
					   "it uses volumes of a collective's iterations that arrive from the tier above, "
					   "and there are none");
}

/*
 * The default holds where packets are sprayed. Otherwise a simulation computes the arrival port from the hashes; a
 * flowlet's port is random.
 */
static int
predict(const struct scenario *scenario, struct system_sets *sets, struct err *err)
{
	if (scenario->volumes.prediction != REC_PREDICTION_ANALYTICAL || balance_spreads(&scenario->balance))
		return 0;
	return system_set(sets, err, "flowpulse.prediction=%s",
			  balance_is_on(&scenario->balance) ? "learned" : "simulated");
}

/* A collective is measured, and there is something to predict its volumes by. */
static int
system_prepare_flowpulse(const struct scenario *scenario, struct system_sets *sets, struct err *err)
{
	int ret = measure(scenario, sets, err);

	return ret == 0 ? predict(scenario, sets, err) : ret;
}

/* @param ppm  set to the least factor that is of use, and at which probes leave enough of every RNIC's link */
static int
pingmesh_least(const struct scenario *scenario, uint64_t *ppm, struct err *err)
{
	struct rnic_map map;
	struct pinglists lists = { .map = &map,
				   .times = pingmesh_times(PINGMESH_PPM),
				   .rxe = scenario->nexternal != 0,
				   .rails = scenario->pingmesh.rails };
	uint32_t rnic;
	double share;

	if (rnic_map_init(&map, scenario->topo, scenario->routes, PINGLIST_COVERED, err) < 0)
		return -ENOMEM;
	share = pinglist_link_share(&lists, scenario->topo, scenario->pingmesh.service, &rnic);
	*ppm = max_u64(scenario->nexternal != 0 ? PINGMESH_LEAST_REAL_PPM : PINGMESH_LEAST_PPM,
		       (uint64_t)ceil(share / PINGLIST_MOST_SHARE * PINGMESH_PPM));
	rnic_map_fini(&map);
	return 0;
}

/* Agents have time for some periods of analysis. */
static int
system_prepare_pingmesh(const struct scenario *scenario, struct system_sets *sets, struct err *err)
{
	uint64_t period_ps = pingmesh_times(PINGMESH_PPM).period_ps, horizon = scenario_horizon_ps(scenario);
	uint64_t ppm = horizon / (PINGMESH_PERIODS * (period_ps / PINGMESH_PPM));
	uint64_t least;
	int ret;

	if (scenario->pingmesh.enabled) /* its times are configured */
		return 0;
	ret = pingmesh_least(scenario, &least, err);
	if (ret < 0)
		return ret;
	if (pingmesh_factor_ppm(&scenario->pingmesh) != PINGMESH_PPM) { /* not the default, which effective.cfg has too */
		ppm = pingmesh_factor_ppm(&scenario->pingmesh);
	} else {
		ppm = max_u64(least, min_u64(ppm, PINGMESH_PPM));
		ret = system_set(sets, err, "pingmesh.time_factor=%llu.%06llu", (unsigned long long)(ppm / PINGMESH_PPM),
				 (unsigned long long)(ppm % PINGMESH_PPM));
	}
	horizon = max_u64(horizon, PINGMESH_PERIODS * pingmesh_times((uint32_t)ppm).period_ps);
	if (ret == 0 && scenario->pingmesh.duration_ps == 0)
		ret = system_set(sets, err, "pingmesh.duration=%lluns", (unsigned long long)(horizon / PS_PER_NS));
	return ret;
}

/* The systems. */

#define KIND(name) (UINT64_C(1) << REC_##name)
/* Records of switches and NICs in reply to polling packets, and the hosts' records of the polling. */
#define POLLED                                                                                                             \
	(KIND(TRIGGER) | KIND(NOTIFY) | KIND(POLL) | KIND(PORT_ROW) | KIND(FLOW_ROW) | KIND(METER_ROW) |                   \
	 KIND(MATRIX_ROW) | KIND(DROP_ROW) | KIND(OVERTAKE_ROW) | KIND(PASSAGE) | KIND(WATCHDOG) | KIND(LINK_RATE) |       \
	 KIND(FLOW_SEEN))

#define POLICY(policy, title_, passive_)                                                                                   \
	{                                                                                                                  \
		.name = policy, .title = title_, .diagnoser = "vedrfolnir", .passive = passive_, .judges = true,           \
		.kinds = POLLED, .on = "detection.policy=" policy, .off = "detection.policy=off",                          \
		.prepare = system_prepare_policy                                                                           \
	}

const struct system_row systems[] = {
	POLICY("vedrfolnir", "VEDRFOLNIR", true),
	{ .name = "flowpulse",
	  .title = "FlowPulse",
	  .diagnoser = "flowpulse",
	  .passive = true,
	  .kinds = KIND(VOLUME) | KIND(VOLUME_ALARM) | KIND(VOLUME_FLAW) | KIND(MONITORED),
	  .on = "flowpulse.enabled=true",
	  .off = "flowpulse.enabled=false",
	  .prepare = system_prepare_flowpulse },
	{ .name = "flowtracer",
	  .title = "FlowTracer",
	  .diagnoser = "flowtracer",
	  .passive = true,
	  .kinds = KIND(TRACED) | KIND(TRACED_HOP) | KIND(TRACE_ROUND),
	  .on = "flowtracer.enabled=true",
	  .off = "flowtracer.enabled=false" },
	{ .name = "pingmesh",
	  .title = "R-Pingmesh",
	  .diagnoser = "pingmesh",
	  .kinds = KIND(PROBE) | KIND(PROBE_HOP) | KIND(RNIC) | KIND(UPLOAD) | KIND(CONNECTION) | KIND(RESPONDER),
	  .on = "pingmesh.enabled=true",
	  .off = "pingmesh.enabled=false",
	  .prepare = system_prepare_pingmesh },
	POLICY("hawkeye-minr", "Hawkeye-MinR", false),
	POLICY("hawkeye-maxr", "Hawkeye-MaxR", false),
	POLICY("full-polling", "full polling", false),
};
const size_t nsystems = ARRAY_LEN(systems);
_Static_assert(ARRAY_LEN(systems) <= SYSTEMS_MAX, "a scenario may list all");

bool
system_is_program(const char *name)
{
	return strchr(name, '/') != NULL;
}

const struct system_row *
system_find(const char *name)
{
	for (size_t i = 0; i < nsystems; i++)
		if (strcmp(systems[i].name, name) == 0)
			return &systems[i];
	return NULL;
}

char *
systems_names(char *buf, size_t cap)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < nsystems && used < cap; i++)
		used += (size_t)snprintf(buf + used, cap - used, "%s%s", i != 0 ? ", " : "", systems[i].name);
	return buf;
}

int
systems_check_names(const struct cfg_strings *list, struct err *err)
{
	char names[256];

	for (size_t i = 0; i < list->count; i++) {
		if (system_find(list->items[i]) == NULL && !system_is_program(list->items[i]))
			return err_set(err, -EINVAL, "\"%.64s\" is none of %s, nor a program's path, with a slash",
				       list->items[i], systems_names(names, sizeof(names)));
		for (size_t before = 0; before < i; before++)
			if (strcmp(list->items[before], list->items[i]) == 0 && !system_is_program(list->items[i]))
				return err_set(err, -EINVAL, "\"%s\" is there twice: once is enough", list->items[i]);
	}
	return 0;
}

int
scenario_check_systems(const struct scenario *scenario, struct err *err)
{
	struct err why = { "" };

	if (systems_check_names(&scenario->root.diagnosers, &why) == 0)
		return 0;
	return cfg_fail(&scenario->root.where, "diagnosers", err, "%s", why.text);
}

int
systems_sets(const struct scenario *scenario, const struct system_row *const *of, size_t count, uint32_t at_work,
	     struct system_sets *sets, struct err *err)
{
	int ret = 0;

	sets->count = 0;
	for (size_t i = 0; ret == 0 && i < nsystems; i++)
		if (i == 0 || strcmp(systems[i].off, systems[i - 1].off) != 0)
			ret = system_set(sets, err, "%s", systems[i].off);
	for (size_t i = 0; ret == 0 && i < count; i++) {
		if ((at_work >> i & 1) != 0)
			ret = system_set(sets, err, "%s", of[i]->on);
		if (ret == 0 && of[i]->prepare != NULL)
			ret = of[i]->prepare(scenario, sets, err);
	}
	return ret;
}

struct scenario *
systems_load(const struct scenario_options *options, const struct scenario *scenario, const struct system_row *const *of,
	     size_t count, uint32_t at_work, struct system_sets *sets, struct err *err)
{
	struct scenario_options with = *options;
	int ret = systems_sets(scenario, of, count, at_work, sets, err);

	for (size_t i = 0; ret == 0 && i < sets->count; i++) {
		if (with.nsets == SCENARIO_MAX_SETS)
			ret = err_set(err, -EINVAL, "more than %d --set and keys of systems", SCENARIO_MAX_SETS);
		else
			with.sets[with.nsets++] = sets->text[i];
	}
	if (ret == 0)
		return scenario_load(&with, err);
	errno = -ret;
	return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario/systems_prepare.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/units.h"
#include "common/wire/volume.h"
#include "operator/controller/times.h"
#include "topo/tiers.h"

/* Periods of R-Pingmesh's analysis in a run: findings need two, and more tell of what comes and goes. */
#define PINGMESH_PERIODS 5
/*
 * Its times are the paper's, multiplied. Of what has a kernel of its own none are shorter than a fifth of them, so that a
 * timeout is 100 ms; else none than a five-hundredth, 1 ms: beyond what queues and pauses of a lossless fabric make of a round
 * trip.
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

int
system_prepare_policy(const struct scenario *scenario, struct system_sets *sets, struct err *err)
{
	return scenario->telemetry.enabled ? 0 : system_set(sets, err, "telemetry.enabled=true");
}

/* Does what it brings come down to the receiver's switch by one above that, where it can be counted? */
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
			uint32_t flow = collective->steps[plan_at(collective, rank, step)].flow;

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
	return job != UINT32_MAX
		       ? ret
		       : err_set(err, -EINVAL,
				 "it goes by volumes of a collective's iterations that come down from switches above, and "
				 "there are none");
}

/*
 * The default holds where packets are spread. Where they are not, hashes tell a simulation by which port they come; a flowlet's
 * port is chance.
 */
static int
predict(const struct scenario *scenario, struct system_sets *sets, struct err *err)
{
	if (scenario->volumes.prediction != REC_PREDICTION_ANALYTICAL || balance_spreads(&scenario->balance))
		return 0;
	return system_set(sets, err, "flowpulse.prediction=%s",
			  balance_is_on(&scenario->balance) ? "learned" : "simulated");
}

int
system_prepare_flowpulse(const struct scenario *scenario, struct system_sets *sets, struct err *err)
{
	int ret = measure(scenario, sets, err);

	return ret == 0 ? predict(scenario, sets, err) : ret;
}

/* By when all has happened, by the plan: collectives of a job one after the other. */
static uint64_t
job_end_ps(const struct scenario *scenario, uint32_t job)
{
	const struct work_job *work = &scenario->workload->jobs[job];
	uint64_t iteration_ps = work->gap_ps + work->compute_ps;

	for (uint32_t c = 0; c < scenario->plan->ncollectives; c++) {
		const struct plan_collective *collective = &scenario->plan->collectives[c];

		if (collective->job == job)
			iteration_ps += collective->expect_ps + scenario->workload->works[c].compute_ps;
	}
	return work->start_ps + iteration_ps * work->iterations;
}

static uint64_t
later(uint64_t a_ps, uint64_t b_ps)
{
	return b_ps != TIME_NEVER && b_ps > a_ps ? b_ps : a_ps;
}

static uint64_t
horizon_ps(const struct scenario *scenario)
{
	const struct plan *plan = scenario->plan;
	uint64_t end_ps = 0;

	for (uint32_t j = 0; j < scenario->workload->njobs; j++)
		if (scenario->workload->jobs[j].enabled)
			end_ps = later(end_ps, job_end_ps(scenario, j));
	for (uint32_t i = 0; i < plan->nbackgrounds; i++)
		if (plan->backgrounds[i].start_ps != TIME_NEVER)
			end_ps = later(end_ps, plan->backgrounds[i].start_ps + plan->backgrounds[i].ideal_ps);
	for (uint32_t i = 0; i < plan->nmessages; i++)
		end_ps = later(end_ps, plan->messages[i].start_ps + plan->messages[i].ideal_ps);
	for (uint32_t i = 0; i < scenario->faults.count; i++)
		end_ps = later(end_ps, ((const struct fault_common *)scenario->faults.faults[i].params)->start_ps);
	return end_ps;
}

int
system_prepare_pingmesh(const struct scenario *scenario, struct system_sets *sets, struct err *err)
{
	uint64_t period_ps = pingmesh_times(PINGMESH_PPM).period_ps, horizon = horizon_ps(scenario);
	uint64_t ppm = horizon / (PINGMESH_PERIODS * (period_ps / PINGMESH_PPM));
	uint64_t least = scenario->nexternal != 0 ? PINGMESH_LEAST_REAL_PPM : PINGMESH_LEAST_PPM;
	int ret = 0;

	if (scenario->pingmesh.enabled) /* its times are what it wants */
		return 0;
	if (pingmesh_factor_ppm(&scenario->pingmesh) != PINGMESH_PPM) { /* not the default, which effective.cfg has too */
		ppm = pingmesh_factor_ppm(&scenario->pingmesh);
	} else {
		ppm = ppm < least ? least : ppm > PINGMESH_PPM ? PINGMESH_PPM : ppm;
		ret = system_set(sets, err, "pingmesh.time_factor=%llu.%06llu", (unsigned long long)(ppm / PINGMESH_PPM),
				 (unsigned long long)(ppm % PINGMESH_PPM));
	}
	horizon = later(horizon, PINGMESH_PERIODS * pingmesh_times((uint32_t)ppm).period_ps);
	if (ret == 0 && scenario->pingmesh.duration_ps == 0)
		ret = system_set(sets, err, "pingmesh.duration=%lluns", (unsigned long long)(horizon / PS_PER_NS));
	return ret;
}

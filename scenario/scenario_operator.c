/* SPDX-License-Identifier: BSD-3-Clause */
/* A scenario without all that its operator cannot know before the run. */
#include <errno.h>
#include <stdlib.h>

#include "scenario/scenario_load.h"
#include "workload/plan.h"
#include "workload/traffic/generator.h"
#include "workload/workload.h"

/* Groups that are left out. */
struct unknown {
	struct cfg_where *groups; /* [count] */
	size_t count;
};

/* A path that no collective's flow takes is one of those that are left out. */
static bool
is_used(const struct scenario *sc, const struct route_pin *pin)
{
	for (uint32_t f = 0; f < sc->pins->nflows; f++)
		if (sc->pins->of[f] == pin && sc->plan->flows.flows[f].kind == FLOW_COLLECTIVE)
			return true;
	return false;
}

static int
find_unknown(const struct scenario *sc, struct unknown *unknown)
{
	size_t most = sc->faults.count + sc->nbackgrounds + sc->traffic->ngenerators + sc->pins->count;

	for (uint32_t j = 0; j < sc->workload->njobs; j++)
		most += sc->workload->jobs[j].nstragglers;
	unknown->groups = calloc(most + 1, sizeof(*unknown->groups));
	if (unknown->groups == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < sc->faults.count; i++) {
		const struct fault_common *common = sc->faults.faults[i].params;

		if (!common->known)
			unknown->groups[unknown->count++] = common->where;
	}
	for (size_t i = 0; i < sc->nbackgrounds; i++)
		unknown->groups[unknown->count++] = sc->backgrounds[i].where;
	for (uint32_t i = 0; i < sc->traffic->ngenerators; i++)
		unknown->groups[unknown->count++] = sc->traffic->generators[i]->where;
	for (size_t i = 0; i < sc->pins->count; i++)
		if (!is_used(sc, &sc->pins->pins[i]))
			unknown->groups[unknown->count++] = sc->pins->pins[i].where;
	for (uint32_t j = 0; j < sc->workload->njobs; j++)
		for (size_t i = 0; i < sc->workload->jobs[j].nstragglers; i++)
			unknown->groups[unknown->count++] = sc->workload->jobs[j].stragglers[i].where;
	return 0;
}

static bool
is_measured(const struct scenario *sc, uint32_t job)
{
	for (uint32_t c = 0; c < sc->plan->ncollectives; c++)
		if (sc->plan->collectives[c].job == job && sc->plan->collectives[c].measured)
			return true;
	return false;
}

static int
set_number(struct cfg *cfg, const struct cfg_where *where, const char *key, int64_t value, struct err *err)
{
	char path[CFG_WHERE_PATH], set[CFG_WHERE_PATH + 64];

	snprintf(set, sizeof(set), "%s.%s=%lld", cfg_where_path(where, path), key, (long long)value);
	return cfg_override(cfg, set, err);
}

/* Jobs that are not measured keep their places, which others have not. */
static int
shorten(const struct scenario *sc, struct cfg *cfg, uint32_t iterations, struct err *err)
{
	int ret = cfg_override(cfg, "detection.policy=off", err);

	for (uint32_t j = 0; ret == 0 && j < sc->workload->njobs; j++) {
		const struct work_job *job = &sc->workload->jobs[j];
		char path[CFG_WHERE_PATH], set[CFG_WHERE_PATH + 16];

		if (job->iterations > iterations)
			ret = set_number(cfg, &job->where, "iterations", iterations, err);
		snprintf(set, sizeof(set), "%s.enabled=false", cfg_where_path(&job->where, path));
		if (ret == 0 && !is_measured(sc, j))
			ret = cfg_override(cfg, set, err);
	}
	return ret;
}

/* The operator knows that a fault is present; of a link-down also its times, since routes follow it. */
static void
begin_faults(struct fault_list *faults)
{
	for (uint32_t i = 0; i < faults->count; i++) {
		struct fault_common *common = faults->faults[i].params;

		if (common->enabled && !faults->faults[i].ops->takes_cables_down)
			common->start_ps = common->duration_ps = common->period_ps = 0;
	}
}

struct scenario *
scenario_operator(const struct scenario *sc, uint32_t iterations, int64_t seed, struct err *err)
{
	struct unknown unknown = { 0 };
	struct scenario *made = NULL;
	struct cfg *cfg = NULL;

	if (find_unknown(sc, &unknown) == 0)
		cfg = cfg_copy(sc->cfg, unknown.groups, unknown.count, err);
	else
		errno = -err_set(err, -ENOMEM, "out of memory for what operators know");
	free(unknown.groups);
	if (cfg != NULL && shorten(sc, cfg, iterations, err) == 0)
		made = scenario_of(cfg, err);
	else
		cfg_destroy(cfg);
	if (made == NULL)
		return NULL;
	scenario_embed_hosts(made);
	begin_faults(&made->faults);
	for (uint32_t c = 0; c < made->plan->ncollectives; c++)
		made->plan->collectives[c].compute.seed = (uint64_t)seed;
	made->root.seed = seed;
	made->timing.clock = CLOCK_VIRTUAL;
	made->telemetry.enabled = false;
	made->pingmesh.enabled = false;
	made->flowtracer.enabled = false;
	made->limits.hold_ps = 0;
	return made;
}

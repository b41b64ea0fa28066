/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/idle_faults.h"

#include <limits.h>

#include "common/plain.h"
#include "emulation/emulation.h"

bool
idle_faults_crosses(void *ctx, uint32_t port)
{
	const struct scenario *scenario = ((const struct emulation *)ctx)->scenario;
	struct route_path path;

	for (uint32_t f = 0; f < scenario->plan->flows.count; f++) {
		for (int reverse = 0; reverse < 2; reverse++) {
			if (scenario_path(scenario, f, reverse, &path) < 0)
				continue;
			for (uint32_t hop = 0; hop < path.hops; hop++)
				if (path.ports[hop] == port)
					return true;
		}
	}
	return false;
}

uint64_t
idle_faults_held_ps(void *ctx, uint32_t port)
{
	const struct emulation *emulation = ctx;
	const struct topo_port *at = &emulation->scenario->topo->ports[port];
	const struct meet *meet = emulation_meet_of(emulation, at->node, at->index);
	uint32_t nslots = emulation_telem_of(emulation, at->node, at->index)->nslots;
	uint64_t held_ps = 0;

	for (uint32_t slot = 0; slot < nslots; slot++)
		held_ps += meet_held(meet, slot).together_ps;
	return held_ps;
}

const char *
idle_slow_host(const struct emulation *emulation, const struct slow_host *fault)
{
	const struct step_engine *engine = emulation->engines[fault->node];

	for (size_t i = 0; engine != NULL && i < step_engine_rows(engine); i++) {
		struct step_row row = step_engine_row(engine, i);

		if (row.collective != REC_NONE && (fault->collective < 0 || fault->collective == (int64_t)row.collective) &&
		    (fault->step == 0 || fault->step == (int64_t)row.step))
			return fault->delay_ps != 0 ? NULL : "its delay is 0";
	}
	return "the host did not get to the step";
}

static void
add(json_t *list, const struct cfg_where *where, const char *kind, const char *target, const char *why)
{
	char file[PATH_MAX];

	if (why != NULL)
		json_array_append_new(list, json_sprintf("%s:%d: %s at %s never acted: %s",
							 plain_text(where->file, file, sizeof(file)), where->line, kind,
							 target, why));
}

json_t *
idle_faults_json(const struct emulation *emulation)
{
	const struct scenario *scenario = emulation->scenario;
	json_t *list = json_array();

	for (uint32_t i = 0; i < scenario->faults.count; i++) {
		const struct fault *fault = &scenario->faults.faults[i];
		char target[64];

		fault->ops->target(fault->params, scenario->topo, target);
		add(list, &((const struct fault_common *)fault->params)->where, fault->ops->kind, target,
		    fault_idle(fault));
	}
	for (size_t i = 0; i < scenario->slow_hosts.count; i++) {
		const struct slow_host *slow = &scenario->slow_hosts.faults[i];

		add(list, &slow->where, SLOW_HOST_KIND, scenario->topo->nodes[slow->node].name,
		    idle_slow_host(emulation, slow));
	}
	return list;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/idle_faults.h"

#include <limits.h>

#include "common/plain.h"
#include "dpswitch/truth/port_truth.h"
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
	const struct port_truth *truth = emulation_truth_of(emulation, at->node, at->index);
	uint64_t held_ps = 0;

	if (truth == NULL)
		return FAULT_UNSEEN;
	for (uint32_t slot = 0; slot < truth->flows->count; slot++)
		held_ps += port_truth_held(truth, slot).together_ps;
	return held_ps;
}

uint64_t
idle_faults_steps_begun(void *ctx, uint32_t node, int64_t collective, int64_t step)
{
	const struct emulation *emulation = ctx;
	const struct step_engine *engine = emulation->engines[node];
	uint64_t begun = 0;

	if (emulation->scenario->hosts[node] != NULL)
		return FAULT_UNSEEN;
	for (size_t i = 0; engine != NULL && i < step_engine_rows(engine); i++) {
		struct step_row row = step_engine_row(engine, i);

		begun += row.collective != REC_NONE && (collective < 0 || collective == (int64_t)row.collective) &&
			 (step == 0 || step == (int64_t)row.step);
	}
	return begun;
}

json_t *
idle_faults_json(const struct emulation *emulation)
{
	const struct scenario *scenario = emulation->scenario;
	json_t *list = json_array();

	for (uint32_t i = 0; i < scenario->faults.count; i++) {
		const struct fault *fault = &scenario->faults.faults[i];
		const struct fault_common *common = fault->params;
		const struct cfg_where *where = &common->where;
		const char *why = common->enabled ? fault_idle(fault) : NULL;
		char target[64], file[PATH_MAX];

		if (why == NULL)
			continue;
		fault->ops->target(fault->params, scenario->topo, target);
		json_array_append_new(list, json_sprintf("%s:%d: %s at %s never acted: %s",
							 plain_text(where->file, file, sizeof(file)), where->line,
							 fault->ops->kind, target, why));
	}
	return list;
}

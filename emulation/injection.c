/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/injection.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"
#include "common/wire/record.h"
#include "dpswitch/truth/port_truth.h"
#include "emulation/emulation.h"
#include "emulation/probing.h"
#include "rxe-hosts/steps/engine.h"
#include "scenario/scenario.h"

/* struct fault_env.crosses */
static bool
crosses(void *ctx, uint32_t port)
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

/* struct fault_env.held_ps */
static uint64_t
held_ps_at(void *ctx, uint32_t port)
{
	const struct emulation *emulation = ctx;
	const struct topo_port *at = &emulation->scenario->topo->ports[port];
	const struct port_truth *truth = emulation_truth_of(emulation, at->node, at->index);
	uint64_t held_ps = 0;

	if (partition_is_remote(emulation, at->node))
		return 0; /* its partition sees it */
	if (truth == NULL)
		return FAULT_UNSEEN;
	for (uint32_t slot = 0; slot < truth->flows->count; slot++)
		held_ps += port_truth_held(truth, slot).together_ps;
	return held_ps;
}

/* struct fault_env.steps_begun */
static uint64_t
steps_begun(void *ctx, uint32_t node, int64_t collective, int64_t step)
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
injection_idle_json(const struct emulation *emulation)
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
							 printable_text(where->file, file, sizeof(file)), where->line,
							 fault->ops->kind, target, why));
	}
	return list;
}

/* ---- the service ---- */

static int
create(struct emulation *emulation, const struct emulation_options *options, void **state, struct err *err)
{
	struct fault_env *env;

	(void)options;
	if (emulation->phase != EMULATION_RUN)
		return 0;
	env = *state = malloc(sizeof(*env));
	if (env == NULL)
		return err_set(err, -ENOMEM, "out of memory for faults");
	*env = (struct fault_env){
		.fabric = emulation->fabric,
		.topo = emulation->scenario->topo,
		.run = emulation,
		.crosses = crosses,
		.held_ps = held_ps_at,
		.steps_begun = steps_begun,
		.load_cpu = probing_load,
		.cpu_overloaded = probing_overloaded,
		.stop_agent = probing_stop,
		.agent_deaths = probing_deaths,
	};
	return 0;
}

static struct fault_list *
faults_of(const struct fault_env *env)
{
	return &((struct emulation *)env->run)->scenario->faults;
}

static uint64_t
next_ps(const void *state, uint64_t now_ps)
{
	return faults_next_ps(faults_of(state), now_ps);
}

static void
change(void *state, uint64_t now_ps)
{
	faults_apply(faults_of(state), state, now_ps);
}

/* The faults that operators know before the run; no others. */
static void
stream_head(const void *state, struct exporter *exporter)
{
	const struct emulation *emulation = ((const struct fault_env *)state)->run;
	const struct scenario *scenario = emulation->scenario;

	for (uint32_t i = 0; i < scenario->faults.count; i++) {
		const struct fault *fault = &scenario->faults.faults[i];
		const struct fault_common *common = fault->params;
		struct rec_known_fault rec = { .port = REC_NO_PORT };
		char target[64];
		uint32_t port;

		if (!common->known || !common->enabled)
			continue;
		fault->ops->target(fault->params, scenario->topo, target);
		port = topo_find_port(scenario->topo, target);
		if (port != TOPO_NONE)
			rec.port = scenario->topo->ports[port].index;
		rec.hdr.node = port != TOPO_NONE ? scenario->topo->ports[port].node : topo_find(scenario->topo, target);
		memcpy(rec.kind, fault->ops->kind, strnlen(fault->ops->kind, REC_NAME_LEN - 1));
		rec.rate_ppb = fault->ops->rate != NULL ? (uint32_t)lround(fault->ops->rate(fault->params) * 1e9) : 0;
		rec.extra_ps = fault->ops->extra_delay_ps != NULL ? fault->ops->extra_delay_ps(fault->params) : 0;
		rec.start_ps = common->start_ps;
		rec.duration_ps = common->duration_ps;
		rec.period_ps = common->period_ps;
		exporter_header(exporter, &rec, REC_KNOWN_FAULT, sizeof(rec));
	}
}

static void
finish(void *state, uint64_t end_ps)
{
	(void)end_ps;
	faults_close(faults_of(state), state);
}

static void
report(const void *state, json_t *root)
{
	json_object_set_new(root, "idle_faults", injection_idle_json(((const struct fault_env *)state)->run));
}

const struct run_service service_injection = {
	.name = "injection",
	.create = create,
	.next_ps = next_ps,
	.change = change,
	.stream_head = stream_head,
	.finish = finish,
	.report = report,
	.destroy = free,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether hosts and switches can do what measured collectives want. */
#include <errno.h>

#include "dpswitch/pipeline/switch_cfg.h"
#include "scenario/scenario_load.h"

/* A class of its own is to be as lossless as that of other data. */
static int
check_class(const struct scenario *sc, struct err *err)
{
	uint8_t lossless;
	int ret = switch_lossless_classes(&sc->pfc, &lossless, err);

	if (ret == 0 && (lossless >> sc->roce.data_prio & 1) != 0 && (lossless >> sc->roce.measured_prio & 1) == 0)
		ret = cfg_fail(
			&sc->host.where, "measured_prio", err,
			"class %u has no PFC and would lose packets; add it: switch.pfc.priorities = [ \"%u\", \"%u\" ]",
			sc->roce.measured_prio, sc->roce.data_prio, sc->roce.measured_prio);
	return ret;
}

/* What monitors of volumes rest on. @param any  there is something to measure */
static int
check_volumes(const struct scenario *sc, bool any, struct err *err)
{
	const struct volumes_params *params = &sc->volumes;
	bool spread = params->prediction == REC_PREDICTION_ANALYTICAL || params->prediction == REC_PREDICTION_MEASURED;

	if (!params->enabled)
		return 0;
	if (!any)
		return cfg_fail(&params->where, "enabled", err,
				"no collective is measured: one has to say measured = true");
	if (spread && !balance_spreads(&sc->balance))
		return cfg_fail(&params->where, "prediction", err,
				"this one holds where every packet is spread by itself (load_balancing.kind); for ecmp and "
				"flowlets "
				"loads can be \"learned\"");
	if (params->prediction == REC_PREDICTION_SIMULATED && params->file == NULL && balance_is_on(&sc->balance) &&
	    !balance_spreads(&sc->balance))
		return cfg_fail(&params->where, "prediction", err,
				"which port a flowlet takes is chance, and a simulation has its own: loads can be "
				"\"learned\", or come from a file");
	return 0;
}

int
scenario_check_measured(const struct scenario *sc, struct err *err)
{
	const struct plan *plan = sc->plan;
	bool any = false;

	for (uint32_t i = 0; i < plan->flows.count; i++) {
		uint32_t node = plan->flows.flows[i].src_node;

		if (!plan->of[i].measured)
			continue;
		any = true;
		if (sc->hosts[node] != NULL && sc->hosts[node]->kind == HOST_PORT)
			return cfg_fail(&plan->collectives[plan->of[i].owner].where, "measured", err,
					"host %s is somebody else's, and its program sets no tags: measure collectives of "
					"other hosts",
					sc->topo->nodes[node].name);
	}
	if (any && check_class(sc, err) < 0)
		return -EINVAL;
	return check_volumes(sc, any, err);
}

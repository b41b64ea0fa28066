/* SPDX-License-Identifier: BSD-3-Clause */
/* The windows that the fabric advances by, as long as the shortest way between two nodes, and what that asks of a scenario. */
#include <errno.h>

#include "common/minmax.h"
#include "common/units.h"
#include "dpswitch/fabric/node.h"
#include "dpswitch/fabric/pacer.h"
#include "scenario/scenario_load.h"

/* @param port  out: at which it is, TOPO_NONE if every cable is longer than a window may be */
static uint64_t
shortest(const struct scenario *sc, uint32_t *port)
{
	uint64_t window_ps = WINDOW_MAX_PS;

	*port = TOPO_NONE;
	for (uint32_t i = 0; i < sc->topo->nports; i++) {
		uint64_t delay_ps = sc->topo->ports[i].delay_ps + sc->timing.pipeline_ps;

		if (delay_ps >= window_ps)
			continue;
		window_ps = delay_ps;
		*port = i;
	}
	return window_ps;
}

uint64_t
scenario_window_ps(const struct scenario *sc)
{
	uint32_t port;

	return shortest(sc, &port);
}

int
scenario_fit_window(struct scenario *sc, struct err *err)
{
	uint32_t port;
	uint64_t window_ps = shortest(sc, &port);
	char delay[32], least[32], port_name[64];

	if (window_ps < WINDOW_MIN_PS)
		return cfg_fail(
			&sc->topo->where, "delay", err,
			"the fabric advances by the shortest delay between two nodes, link and timing.pipeline together; "
			"%s has %s: at least %s would be right",
			topo_port_name(sc->topo, port, port_name), units_format_time(window_ps, delay, sizeof(delay)),
			units_format_time(WINDOW_MIN_PS, least, sizeof(least)));
	/* In real time each window costs the machine some microseconds. */
	if (sc->timing.clock == CLOCK_REAL && window_ps < PACER_WINDOW_MIN_PS)
		return cfg_fail(&sc->topo->where, "delay", err,
				"real time needs %s between any two nodes, delay and timing.pipeline together; %s has %s: "
				"give the link a longer delay",
				units_format_time(PACER_WINDOW_MIN_PS, least, sizeof(least)),
				topo_port_name(sc->topo, port, port_name),
				units_format_time(window_ps, delay, sizeof(delay)));
	/* A monitor looks at its clock once a window. */
	sc->volumes.grace_ps = max_u64(sc->volumes.grace_ps, window_ps);
	sc->volumes.idle_ps = max_u64(sc->volumes.idle_ps, window_ps);
	return 0;
}

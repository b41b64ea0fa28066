/* SPDX-License-Identifier: BSD-3-Clause */
/* PFC deadlock: halted ports wait for each other in a circle, and the slow step's flow waits for that circle. */
#include <stdio.h>

#include "diag/cause/cause.h"

static uint32_t
component_size(const struct prov_graph *graph, uint32_t component)
{
	uint32_t size = 0;

	for (uint32_t p = 0; p < graph->nports; p++)
		size += graph->ports[p].component == component;
	return size;
}

void
cause_pfc_deadlock(struct cause_set *set, uint32_t step)
{
	const struct prov_graph *graph = set->in->graphs[step];
	uint32_t root = EV_NONE, component = 0, size;
	struct cause_finding *finding;
	char text[160], name[48];

	if (graph == NULL || !graph->cyclic || !set->in->steps[step].slow)
		return;
	/* The circle is named by its lowest port. All of the graph is what the victim waits for. */
	for (uint32_t p = 0; p < graph->nports; p++) {
		if (graph->ports[p].port < root && component_size(graph, graph->ports[p].component) > 1) {
			root = graph->ports[p].port;
			component = graph->ports[p].component;
		}
	}
	finding = cause_add(set, VERDICT_PFC_DEADLOCK, root, NULL, 0, step);
	if (finding == NULL)
		return;
	size = component_size(graph, component);
	for (uint32_t p = 0; p < graph->nports; p++) {
		if (graph->ports[p].component != component)
			continue;
		cause_port(set, finding, graph->ports[p].port);
		cause_time(finding, graph->ports[p].halted_from_ps, graph->ports[p].halted_to_ps);
	}
	cause_explains(finding, root, cause_excess_ps(set->in, step));
	if (cause_score(finding, cause_lost_frames(set->in, step,
						   (double)(set->in->steps[step].end_ps -
							    set->in->steps[step].start_ps))))
		snprintf(finding->out.evidence, sizeof(finding->out.evidence),
			 "%s: %u halted ports wait for each other in a circle, %s among them",
			 cause_step_text(set->in, step, text, sizeof(text)), size,
			 evidence_port_name(set->in->ev, root, name));
}

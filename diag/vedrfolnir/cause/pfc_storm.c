/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PFC storm: a port that the slow step's flow uses was halted, and the pauses lead to an ingress, or a host's NIC,
 * that keeps its peer stopped without a queue behind it. That port is the root.
 */
#include <stdio.h>

#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/cause/pfc_root.h"
#include "diag/vedrfolnir/provenance/window.h"

static void
describe(const struct cause_input *in, uint32_t step, const struct prov_port *halted, uint32_t root,
	 const struct prov_graph *graph, char *buf, size_t cap)
{
	const struct ev_port *p = &in->ev->ports[root];
	const struct rec_port_row *seen = pfc_root_pausing(in->ev, graph, root, CAUSE_STORM_FILL);
	char text[160], halted_name[48], root_name[48];
	int len;

	len = snprintf(buf, cap, "%s: %s kept %s paused, %.3f ms of the time reported, ",
		       cause_step_text(in, step, text, sizeof(text)), evidence_port_name(in->ev, root, root_name),
		       evidence_port_name(in->ev, halted->port, halted_name), halted->pause_ps / 1e9);
	if (len < 0 || (size_t)len >= cap)
		return;
	if (in->ev->nodes[p->node].host)
		snprintf(buf + len, cap - (size_t)len, "and a host has no queue to protect");
	else if (seen != NULL)
		snprintf(buf + len, cap - (size_t)len, "while it held %llu B, its threshold being %llu B",
			 (unsigned long long)seen->ingress_bytes, (unsigned long long)seen->ingress_xoff_bytes);
	else
		snprintf(buf + len, cap - (size_t)len, "and no queue behind it was congested or paused");
}

static void
add_root(struct cause_set *set, uint32_t step, const struct pfc_root *root)
{
	const struct cause_input *in = set->in;
	const struct prov_graph *graph = in->graphs[step];
	const struct prov_port *met = &graph->ports[root->halted], *last = &graph->ports[root->index];
	struct cause_finding *finding;

	if (root->kind != PFC_ROOT_STORM)
		return;
	finding = cause_add(set, FINDING_PFC_STORM, root->port, NULL, 0, step);
	if (finding == NULL)
		return;
	for (uint32_t i = 0; i < root->npath; i++)
		cause_port(set, finding, root->path[i]);
	cause_port(set, finding, root->port);
	cause_time(finding, last->halted_from_ps, last->halted_to_ps);
	cause_explains(finding, met->port, cause_stretch_ps(in, step, met, root->weight / root->weights * met->pause_ps));
	if (cause_score(finding, root->weight * cause_lost_frames(in, step, last->pause_ps)))
		describe(in, step, last, root->port, graph, finding->out.evidence, sizeof(finding->out.evidence));
}

/* The longest part of the step in which an ingress was seen pausing, from then until now, with next to nothing held. */
static const struct rec_port_row *
longest_empty_pause(const struct evidence *ev, const struct prov_graph *graph, uint32_t ingress, uint64_t *pause_ps)
{
	const struct window window = { graph->from_ps, graph->to_ps };
	const struct ev_port *port = &ev->ports[ingress];
	const struct rec_port_row *longest = NULL;

	*pause_ps = 0;
	for (uint32_t i = port->first_state; i < port->first_state + port->nstates; i++) {
		const struct rec_port_row *row = EV_AT(ev->states, struct rec_port_row, i);
		uint64_t inside_ps = row->pausing ? window_overlap_ps(window, row->pausing_since_ps, row->hdr.time_ps) : 0;

		if (inside_ps > *pause_ps &&
		    (double)row->ingress_bytes < CAUSE_STORM_EMPTY * (double)row->ingress_xoff_bytes) {
			*pause_ps = inside_ps;
			longest = row;
		}
	}
	return longest;
}

static bool
is_known_halted(const struct prov_graph *graph, uint32_t port)
{
	for (uint32_t p = 0; p < graph->nports; p++) {
		if (graph->ports[p].port == port)
			return graph->ports[p].halted;
	}
	return false;
}

/* A port on the flow's configured way of which nobody reported, a NIC mostly; the one that halts it did. */
static void
add_unseen(struct cause_set *set, uint32_t step, uint32_t port)
{
	const struct cause_input *in = set->in;
	const struct run_step *s = &in->steps[step];
	uint32_t root = in->ev->ports[port].peer;
	struct cause_finding *finding;
	const struct rec_port_row *row;
	char text[160], name[48], root_name[48];
	uint64_t pause_ps;

	if (root == EV_NONE || is_known_halted(in->graphs[step], port))
		return;
	row = longest_empty_pause(in->ev, in->graphs[step], root, &pause_ps);
	if (row == NULL || (double)pause_ps < PROV_HALTED_SHARE * (double)(s->end_ps - s->start_ps))
		return;
	finding = cause_add(set, FINDING_PFC_STORM, root, NULL, 0, step);
	if (finding == NULL)
		return;
	cause_port(set, finding, port);
	cause_port(set, finding, root);
	cause_time(finding, row->pausing_since_ps, row->hdr.time_ps);
	cause_explains(finding, port, (double)pause_ps);
	if (cause_score(finding, cause_lost_frames(in, step, (double)pause_ps)))
		snprintf(finding->out.evidence, sizeof(finding->out.evidence),
			 "%s: %s kept %s paused for %.3f ms, while it held %llu B, its threshold being %llu B",
			 cause_step_text(in, step, text, sizeof(text)), evidence_port_name(in->ev, root, root_name),
			 evidence_port_name(in->ev, port, name), (double)pause_ps / 1e9,
			 (unsigned long long)row->ingress_bytes, (unsigned long long)row->ingress_xoff_bytes);
}

void
cause_pfc_storm(struct cause_set *set, uint32_t step)
{
	const struct ev_flow *flow = &set->in->ev->flows[set->in->steps[step].flow];

	if (set->in->graphs[step] == NULL || !set->in->steps[step].slow)
		return;
	pfc_root_each_met(set, step, add_root);
	for (uint32_t h = 0; h < flow->nhops; h++)
		add_unseen(set, step, set->in->ev->hops[flow->first_hop + h]);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A port's time, from report to report: counters only grow within an epoch, so each report says what came since the last. */
#include "diag/vedrfolnir/provenance/build.h"

static uint64_t
grown(uint64_t *counted, uint64_t count)
{
	uint64_t more = count > *counted ? count - *counted : 0;

	*counted += more;
	return more;
}

static void
read_slice(struct prov_builder *b, const struct prov_slice *slice, prov_slice_fn *fn, void *ctx)
{
	for (uint32_t i = 0; i < slice->count; i++) {
		struct prov_count *counted = &b->counted[slice->flows[i]];

		b->more[slice->flows[i]] = (struct prov_count){
			.packets = grown(&counted->packets, slice->rows[i].packets),
			.depth_sum = grown(&counted->depth_sum, slice->rows[i].depth_sum),
		};
	}
	fn(b, slice, ctx);
}

static void
read_epoch(struct prov_builder *b, const struct ev_epoch *epoch, prov_slice_fn *fn, void *ctx)
{
	const struct rec_flow_row *states = b->ev->flow_states.data;
	struct prov_slice last = { .count = epoch->nflows,
				   .from_ps = epoch->from_ps,
				   .to_ps = epoch->to_ps,
				   .nic = b->ev->nodes[b->ev->ports[epoch->port].node].host };
	uint32_t end = epoch->first_state + epoch->nstates, next;

	if (epoch->nflows != 0) { /* else there may be no row at all */
		last.rows = EV_AT(b->ev->flow_rows, struct rec_flow_row, epoch->first_flow);
		last.flows = &b->ev->flow_of_row[epoch->first_flow];
	}
	for (uint32_t i = 0; i < last.count; i++)
		b->counted[last.flows[i]] = (struct prov_count){ 0 };
	for (uint32_t i = epoch->first_state; i < end; i++)
		b->counted[b->ev->flow_of_state[i]] = (struct prov_count){ 0 };
	for (uint32_t i = epoch->first_state; i < end; i = next) {
		struct prov_slice slice = last;

		slice.rows = &states[i];
		slice.flows = &b->ev->flow_of_state[i];
		slice.count = 0;
		slice.to_ps = states[i].hdr.time_ps < epoch->to_ps ? states[i].hdr.time_ps : epoch->to_ps;
		for (next = i; next < end && states[next].hdr.time_ps == states[i].hdr.time_ps; next++)
			slice.count++;
		read_slice(b, &slice, fn, ctx);
		last.from_ps = slice.to_ps;
	}
	if (last.from_ps < epoch->to_ps || epoch->nstates == 0)
		read_slice(b, &last, fn, ctx);
}

void
prov_each_slice(struct prov_builder *b, uint32_t port, prov_slice_fn *fn, void *ctx)
{
	struct ev_range epochs = evidence_epochs(b->ev, port, b->window.from_ps, b->window.to_ps);

	for (uint32_t i = epochs.first; i < epochs.end; i++) {
		const struct ev_epoch *epoch = &b->ev->epochs[i];

		if (window_share(b->window, epoch->from_ps, epoch->to_ps) > 0)
			read_epoch(b, epoch, fn, ctx);
	}
}

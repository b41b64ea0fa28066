/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What others' packets took of the victim's time at a port. In a slice a flow cost the victim at most the packets that it
 * sent, and at most those that stood ahead of the victim's: a queue is counted once for each packet that stands in it, and
 * passes only once.
 */
#include <math.h>

#include "diag/vedrfolnir/provenance/build.h"
#include "diag/vedrfolnir/provenance/weights.h"

struct passed {
	double share;        /* of the slice in the step's time */
	double all;          /* packets of all flows */
	double cf, cf_depth; /* of the victim; what its packets found queued */
};

static void
add_flow(struct prov_at *at, const struct prov_slice *slice, const struct passed *passed, double packets)
{
	double queue = slice->nic ? passed->all - passed->cf : passed->all;
	double ahead = weight_flow_flow(passed->cf_depth, packets, queue);

	at->ahead += passed->share * ahead;
	at->taken += passed->share * fmin(ahead, packets);
	at->passed += passed->share * packets;
}

static void
read_slice(struct prov_builder *b, const struct prov_slice *slice, void *ctx)
{
	struct prov_port *port = ctx;
	struct passed passed = { .share = window_share(b->window, slice->from_ps, slice->to_ps) };

	if (passed.share <= 0)
		return;
	for (uint32_t i = 0; i < slice->count; i++) {
		const struct prov_count *more = &b->more[slice->flows[i]];

		passed.all += (double)more->packets;
		if (slice->flows[i] != b->flow)
			continue;
		passed.cf = (double)more->packets;
		passed.cf_depth = (double)more->depth_sum;
	}
	port->cf_packets += passed.share * passed.cf;
	port->cf_depth += passed.share * passed.cf_depth;
	for (uint32_t i = 0; i < slice->count; i++) {
		uint32_t slot = b->flow_slot[slice->flows[i]];

		if (slot != 0 && slice->flows[i] != b->flow)
			add_flow(&b->graph->ats[slot - 1], slice, &passed, (double)b->more[slice->flows[i]].packets);
	}
}

/* The queue as it stood is one slice. */
static void
read_present(struct prov_builder *b, struct prov_port *port)
{
	for (uint32_t a = port->first_at; a < port->first_at + port->nats; a++) {
		struct prov_at *at = &b->graph->ats[a];

		at->ahead = at->cf_wait;
		at->taken = fmin(at->cf_wait, at->packets);
		at->passed = at->packets;
		if (at->flow != b->flow)
			continue;
		port->cf_packets = at->packets;
		port->cf_depth = at->depth_sum;
	}
}

void
prov_port_taken(struct prov_builder *b, struct prov_port *port)
{
	if (port->present)
		read_present(b, port);
	else
		prov_each_slice(b, port->port, read_slice, port);
}

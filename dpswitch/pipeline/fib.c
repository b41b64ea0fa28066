/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/fib.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/pkt_chance.h"
#include "dpswitch/pipeline/stages.h"

struct fib_entry {
	const struct fib_fault *fault;
	bool on;
	uint64_t losses;
};

void
fib_init(struct fib_faults *fib, uint64_t seed, uint32_t node)
{
	*fib = (struct fib_faults){ .stream = pkt_chance_stream(seed, PKT_CHANCE_FIB, node) };
}

void
fib_fini(struct fib_faults *fib)
{
	free(fib->entries);
	*fib = (struct fib_faults){ .count = 0 };
}

/* A pair of addresses is hit for as long as the run lasts, or not at all. */
static bool
is_hit(const struct fib_faults *fib, const struct fib_fault *fault, uint32_t src_ip, uint32_t dst_ip)
{
	uint64_t place = (uint64_t)fault->in_port << 16 | fault->out_port;

	return fault->share >= 1 ||
	       pkt_chance_unit(prng_mix(prng_mix(fib->stream + place) ^ ((uint64_t)src_ip << 32 | dst_ip))) < fault->share;
}

static bool
is_in(const struct fib_net *net, uint32_t ip)
{
	return ((ip ^ net->ip) & net->mask) == 0;
}

bool
fib_loses(struct fib_faults *fib, const struct flow_table *flows, const struct pkt *p, uint16_t in_port, uint16_t out_port)
{
	const struct flow *flow = &flows->flows[p->flow];
	bool reverse = p->flags & PKT_REVERSE;
	uint32_t src = reverse ? flow->dst_node : flow->src_node, dst = reverse ? flow->src_node : flow->dst_node;
	uint32_t src_ip = reverse ? flow->dst_ip : flow->src_ip, dst_ip = reverse ? flow->src_ip : flow->dst_ip;

	for (uint32_t i = 0; i < fib->count; i++) {
		struct fib_entry *entry = &fib->entries[i];
		const struct fib_fault *fault = entry->fault;

		if (!entry->on || (fault->src != TOPO_NONE && fault->src != src) ||
		    (fault->dst != TOPO_NONE && fault->dst != dst) ||
		    (fault->in_port != FIB_ANY_PORT && fault->in_port != in_port) ||
		    (fault->out_port != FIB_ANY_PORT && fault->out_port != out_port) || !is_in(&fault->src_net, src_ip) ||
		    !is_in(&fault->dst_net, dst_ip) || !is_hit(fib, fault, src_ip, dst_ip))
			continue;
		entry->losses++;
		return true;
	}
	return false;
}

static struct fib_entry *
find(const struct fib_faults *fib, const struct fib_fault *fault)
{
	for (uint32_t i = 0; i < fib->count; i++)
		if (fib->entries[i].fault == fault)
			return &fib->entries[i];
	return NULL;
}

void
switch_set_fib_fault(struct sw *sw, const struct fib_fault *fault, bool on)
{
	struct fib_faults *fib = &sw->fib;
	struct fib_entry *entry = find(fib, fault);

	if (entry == NULL) {
		entry = realloc(fib->entries, (fib->count + 1) * sizeof(*entry));
		if (entry == NULL)
			log_fatal("out of memory for faults of a switch");
		fib->entries = entry;
		entry = &fib->entries[fib->count++];
		*entry = (struct fib_entry){ .fault = fault };
	}
	if (fault->out_port == FIB_ANY_PORT)
		fib->on += (uint32_t)on - (uint32_t)entry->on;
	entry->on = on;
	for (uint16_t port = 0; port < sw->node.nports; port++)
		sw->ports[port].egress.corrupt = false;
	for (uint32_t i = 0; i < fib->count; i++)
		if (fib->entries[i].on && fib->entries[i].fault->out_port != FIB_ANY_PORT)
			sw->ports[fib->entries[i].fault->out_port].egress.corrupt = true;
}

uint64_t
switch_fib_losses(const struct sw *sw, const struct fib_fault *fault)
{
	const struct fib_entry *entry = find(&sw->fib, fault);

	return entry != NULL ? entry->losses : 0;
}

void
switch_route_corrupt(struct sw *sw, uint16_t in_port, struct pkt *pkts, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct pkt *p = &pkts[i];

		sw->node.count.rx_packets++;
		sw->node.count.rx_bytes += p->wire_bytes;
		p->ttl--;
		switch_route_rare(sw, in_port, p, sw->routes.route[p->flow * 2 + ((p->flags & PKT_REVERSE) != 0)]);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traceroute: a UD SEND whose TTL ends here is answered by ICMP time exceeded, from the interface by which it came in, as often as
 * a switch's CPU is allowed to. Packets of connections that loop are dropped, as ever.
 */
#include "common/minmax.h"
#include "common/wire/roce.h"
#include "dpswitch/pipeline/stages.h"

#define EXPIRY_BURST 16 /* so many at once, by the generic cell rate algorithm (ITU-T I.371) */

/* What ICMP and its IPv4 header add to what is quoted. */
#define EXPIRED_MORE_BYTES (sizeof(struct wire_ipv4) + sizeof(struct wire_icmp_expired))

/* Of a packet with bytes, which end here, the least is quoted, else all. @return bytes of link time */
static uint16_t
answer_bytes(const struct pkt *p)
{
	if (p->flags & PKT_BYTES)
		return (uint16_t)eth_wire_bytes(sizeof(struct wire_eth) + EXPIRED_MORE_BYTES + EXPIRED_LEAST_BYTES);
	return (uint16_t)(p->wire_bytes + EXPIRED_MORE_BYTES);
}

/* Packets of one window come port by port: the clock of the answers does not go back with them. */
static bool
may_answer(struct sw *sw, uint64_t arrival_ps)
{
	uint64_t gap_ps = sw->config->trace_gap_ps, now_ps = max_u64(sw->expiry.latest_ps, arrival_ps);
	uint64_t due_ps = max_u64(sw->expiry.due_ps, now_ps);

	sw->expiry.latest_ps = now_ps;
	if (due_ps - now_ps > (EXPIRY_BURST - 1) * gap_ps)
		return false;
	sw->expiry.due_ps = due_ps + gap_ps;
	return true;
}

bool
switch_expired(struct sw *sw, uint16_t in_port, const struct pkt *p)
{
	bool forth = !(p->flags & PKT_REVERSE);
	enum rec_drop reason;
	uint16_t port = in_port;
	struct pkt *answer;
	uint8_t egress;

	if (sw->config->trace_gap_ps == 0 || p->type != PKT_UD ||
	    (p->opcode != ROCE_UD_SEND_ONLY && (p->flags & PKT_BYTES) == 0))
		return false;
	answer = sw->polling.nborn < SWITCH_MAX_BORN ? &sw->polling.born[sw->polling.nborn] : NULL;
	if (answer == NULL || !may_answer(sw, p->time_ps)) {
		sw->expiry.silent++;
		return false;
	}
	*answer = (struct pkt){
		.time_ps = p->time_ps,
		.flow = p->flow,
		.psn = p->psn,
		.arg = sw->node.id << EXPIRED_NODE_SHIFT | in_port,
		.wire_bytes = answer_bytes(p),
		.payload_bytes = p->payload_bytes,
		.opcode = p->opcode,
		.syndrome = (p->flags & PKT_BYTES) != 0,
		.type = PKT_EXPIRED,
		.flags = forth ? PKT_REVERSE : 0,
		.ttl = PKT_TTL_INIT,
	};
	egress = sw->routes.route[p->flow * 2 + forth];
	if (egress >= SWITCH_EGRESS_DROP)
		egress = switch_resolve(sw, answer, &reason, &port);
	if (egress == SWITCH_EGRESS_DROP) {
		sw->expiry.silent++;
		return false;
	}
	sw->polling.nborn++;
	sw->expiry.answered++;
	sw->node.count.born_packets++;
	sw->node.count.born_bytes += answer->wire_bytes;
	sw->node.count.consumed_packets++;
	sw->node.count.consumed_bytes += p->wire_bytes;
	switch_forward(sw, in_port, egress, answer);
	body_release(sw->node.bodies, p);
	return true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What probes and ACKs hold: 50 bytes (common/wire/probe.h). */
#include <endian.h>
#include <string.h>

#include "common/wire/roce.h"
#include "rxe-hosts/probe/inside.h"

#define NIC_SHIFT 33
#define RESPONDER_BIT (1ULL << 32)

uint64_t
probe_wr_id(uint32_t nic, bool responder, uint32_t seq)
{
	return (uint64_t)nic << NIC_SHIFT | (responder ? RESPONDER_BIT : 0) | seq;
}

/* The fields that a part has not are 0. */
int
probe_post(struct probe_agent *agent, const struct datagram *how, const struct probe_completion *what)
{
	const struct wire_probe wire = {
		.magic = htobe32(PROBE_MAGIC),
		.version = PROBE_VERSION,
		.part = what->part,
		.kind = what->kind,
		.seq = htobe32(what->seq),
		.src_qpn = htobe32(what->qpn),
		.responder_ps_high = htobe32((uint32_t)(what->responder_ps >> 32)),
		.responder_ps_low = htobe32((uint32_t)what->responder_ps),
	};
	struct datagram datagram = *how;

	datagram.type = PKT_UD;
	datagram.contents = &wire;
	datagram.bytes = sizeof(wire);
	return agent->config.device->ops->post_datagram(agent->config.device, &datagram);
}

bool
probe_read(const struct datagram *datagram, struct probe_completion *completion)
{
	struct wire_probe wire;

	if (datagram->contents == NULL || datagram->bytes != sizeof(wire))
		return false;
	memcpy(&wire, datagram->contents, sizeof(wire));
	if (be32toh(wire.magic) != PROBE_MAGIC || wire.version != PROBE_VERSION || wire.reserved != 0 ||
	    be32toh(wire.src_qpn) > ROCE_24BIT_MASK || wire.kind >= PROBE_LISTS || wire.part < PROBE_PROBE ||
	    wire.part > PROBE_ONE_WAY || ((wire.part == PROBE_PROBE || wire.part == PROBE_ONE_WAY) && datagram->reply) ||
	    ((wire.part == PROBE_ACK || wire.part == PROBE_SECOND_ACK) && !datagram->reply))
		return false;
	*completion = (struct probe_completion){
		.responder_ps = (uint64_t)be32toh(wire.responder_ps_high) << 32 | be32toh(wire.responder_ps_low),
		.seq = be32toh(wire.seq),
		.flow = datagram->flow,
		.qpn = be32toh(wire.src_qpn), /* not that of the QP that sent it: soft-RoCE has one for each port */
		.event = wire.part == PROBE_ONE_WAY                             ? PROBE_CROSSED
			 : wire.part == PROBE_PROBE || wire.part == PROBE_TRACE ? PROBE_ASKED
										: PROBE_ACKED,
		.reply = datagram->reply,
		.part = wire.part,
		.kind = wire.kind,
	};
	return true;
}

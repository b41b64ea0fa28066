/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/tracing/connections.h"

#include <endian.h>
#include <string.h>

#include "common/flow.h"
#include "common/wire/eth.h"
#include "common/wire/roce.h"

#define RC_OPCODES 0x20u /* those below are of reliable connections (IBTA table 38) */

bool
tracing_frame_read(struct traced_frame *frame, const uint8_t *bytes, size_t size, bool out)
{
	struct {
		struct wire_eth eth;
		struct wire_ipv4 ip;
		struct wire_udp udp;
		struct wire_bth bth;
	} __attribute__((packed)) h;

	if (size < sizeof(h))
		return false;
	memcpy(&h, bytes, sizeof(h));
	if (be16toh(h.eth.type) != ETH_TYPE_IPV4 || h.ip.version_ihl != IPV4_VERSION_IHL ||
	    h.ip.protocol != IPV4_PROTOCOL_UDP || be16toh(h.udp.dport) != ROCEV2_UDP_PORT || h.bth.opcode >= RC_OPCODES)
		return false;
	*frame = (struct traced_frame){
		.peer_ip = be32toh(out ? h.ip.dst : h.ip.src),
		.dst_qpn = (uint32_t)h.bth.dst_qpn[0] << 16 | (uint32_t)h.bth.dst_qpn[1] << 8 | h.bth.dst_qpn[2],
		.sport = be16toh(h.udp.sport),
		.out = out,
		.request = roce_is_rc_request(h.bth.opcode),
	};
	return true;
}

static bool
same(const struct traced_tuple *a, const struct traced_tuple *b)
{
	return a->peer_ip == b->peer_ip && a->sport == b->sport;
}

/* A row has, or has no longer, a tuple: others may have it too. */
static void
report_connection(struct connections *connections, uint32_t row, bool open)
{
	const struct traced_tuple tuple = connections->rows[row].tuple;

	connections->rows[row].is_reported = open;
	for (uint32_t i = 0; i < connections->count; i++)
		if (i != row && connections->rows[i].is_reported && same(&connections->rows[i].tuple, &tuple))
			return;
	connections->changed(connections->ctx, &tuple, open);
}

static void
add(struct connections *connections, const struct traced_qp *qp)
{
	if (connections->count == TRACED_QPS) {
		connections->left_off++;
		return;
	}
	connections->rows[connections->count].qp = *qp;
	connections->rows[connections->count].tuple = (struct traced_tuple){ 0 };
	connections->rows[connections->count].is_reported = false;
	connections->rows[connections->count++].is_there = true;
}

/* @return whether it was there already, connected as it is */
static bool
known(struct connections *connections, const struct traced_qp *qp)
{
	for (uint32_t i = 0; i < connections->count; i++)
		if (connections->rows[i].qp.lqpn == qp->lqpn && connections->rows[i].qp.rqpn == qp->rqpn &&
		    connections->rows[i].qp.pid == qp->pid)
			return connections->rows[i].is_there = true;
	return false;
}

void
connections_qps(struct connections *connections, const struct traced_qp *qps, uint32_t count)
{
	for (uint32_t i = 0; i < connections->count; i++)
		connections->rows[i].is_there = false;
	for (uint32_t i = 0; i < count; i++)
		if (qps[i].type == TRACING_QP_RC && (qps[i].state == TRACING_QP_RTS || qps[i].state == TRACING_QP_SQD) &&
		    qps[i].rqpn != 0 && !known(connections, &qps[i]))
			add(connections, &qps[i]);
	for (uint32_t i = connections->count; i-- > 0;) {
		if (connections->rows[i].is_there)
			continue;
		if (connections->rows[i].is_reported)
			report_connection(connections, i, false);
		connections->rows[i] = connections->rows[--connections->count];
	}
}

void
connections_frame(struct connections *connections, const struct traced_frame *frame)
{
	for (uint32_t i = 0; i < connections->count; i++) {
		struct traced_tuple *tuple = &connections->rows[i].tuple;

		if (!frame->out && connections->rows[i].qp.lqpn == frame->dst_qpn) {
			tuple->peer_ip = connections->rows[i].is_reported ? tuple->peer_ip : frame->peer_ip;
			return;
		}
		if (frame->out && frame->request && connections->rows[i].qp.rqpn == frame->dst_qpn &&
		    tuple->peer_ip == frame->peer_ip && !connections->rows[i].is_reported) {
			tuple->sport = frame->sport;
			report_connection(connections, i, true);
			return;
		}
	}
}

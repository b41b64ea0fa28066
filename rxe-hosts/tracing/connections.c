/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/tracing/connections.h"

#include <endian.h>
#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
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

/* Queue pairs by rdma netlink. */

#define TYPE_OF(command) ((RDMA_NL_NLDEV << 10) + (command))
#define ATTR_TYPE(attr) ((attr)->nla_type & NLA_TYPE_MASK)

static size_t
begin(uint8_t request[TRACING_REQUEST_BYTES], uint16_t command, size_t size)
{
	const struct nlmsghdr hdr = { .nlmsg_len = (uint32_t)size,
				      .nlmsg_type = TYPE_OF(command),
				      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
				      .nlmsg_seq = 1 };

	memset(request, 0, TRACING_REQUEST_BYTES);
	memcpy(request, &hdr, sizeof(hdr));
	return size;
}

size_t
tracing_ask_devices(uint8_t request[TRACING_REQUEST_BYTES])
{
	return begin(request, RDMA_NLDEV_CMD_GET, NLMSG_HDRLEN);
}

size_t
tracing_ask_qps(uint8_t request[TRACING_REQUEST_BYTES], uint32_t device)
{
	const struct nlattr attr = { .nla_len = NLA_HDRLEN + sizeof(device), .nla_type = RDMA_NLDEV_ATTR_DEV_INDEX };

	begin(request, RDMA_NLDEV_CMD_RES_QP_GET, NLMSG_HDRLEN + NLA_HDRLEN + sizeof(device));
	memcpy(request + NLMSG_HDRLEN, &attr, sizeof(attr));
	memcpy(request + NLMSG_HDRLEN + NLA_HDRLEN, &device, sizeof(device));
	return NLMSG_HDRLEN + NLA_HDRLEN + sizeof(device);
}

/* The next attribute. @return its payload, *at is behind it; NULL: there is none whole */
static const uint8_t *
next(const uint8_t *bytes, size_t size, size_t *at, struct nlattr *attr)
{
	const uint8_t *payload = bytes + *at + NLA_HDRLEN;
	size_t aligned;

	if (size - *at < sizeof(*attr))
		return NULL;
	memcpy(attr, bytes + *at, sizeof(*attr));
	if (attr->nla_len < NLA_HDRLEN || attr->nla_len > size - *at)
		return NULL;
	aligned = NLA_ALIGN((size_t)attr->nla_len);
	*at += aligned < size - *at ? aligned : size - *at;
	return payload;
}

static uint32_t
number(const struct nlattr *attr, const uint8_t *payload)
{
	uint32_t value = 0;

	if (attr->nla_len == NLA_HDRLEN + 1)
		return payload[0];
	if (attr->nla_len >= NLA_HDRLEN + sizeof(value))
		memcpy(&value, payload, sizeof(value));
	return value;
}

static void
take_entry(struct tracing_reply *reply, const uint8_t *bytes, size_t size)
{
	struct traced_qp qp = { 0 };
	const uint8_t *payload;
	struct nlattr attr;
	size_t at = 0;

	while ((payload = next(bytes, size, &at, &attr)) != NULL) {
		uint32_t value = number(&attr, payload);

		switch (ATTR_TYPE(&attr)) {
		case RDMA_NLDEV_ATTR_RES_LQPN:
			qp.lqpn = value;
			break;
		case RDMA_NLDEV_ATTR_RES_RQPN:
			qp.rqpn = value;
			break;
		case RDMA_NLDEV_ATTR_RES_PID:
			qp.pid = value;
			break;
		case RDMA_NLDEV_ATTR_RES_TYPE:
			qp.type = (uint8_t)value;
			break;
		case RDMA_NLDEV_ATTR_RES_STATE:
			qp.state = (uint8_t)value;
			break;
		default:
			break;
		}
	}
	if (reply->count < reply->cap)
		reply->qps[reply->count++] = qp;
	else
		reply->left_off++;
}

static void
take_table(struct tracing_reply *reply, const uint8_t *bytes, size_t size)
{
	const uint8_t *payload;
	struct nlattr attr;
	size_t at = 0;

	while ((payload = next(bytes, size, &at, &attr)) != NULL)
		if (ATTR_TYPE(&attr) == RDMA_NLDEV_ATTR_RES_QP_ENTRY)
			take_entry(reply, payload, attr.nla_len - NLA_HDRLEN);
}

static void
take(struct tracing_reply *reply, const uint8_t *bytes, size_t size)
{
	const uint8_t *payload;
	struct nlattr attr;
	uint32_t index = 0;
	size_t at = 0;

	while ((payload = next(bytes, size, &at, &attr)) != NULL) {
		size_t length = attr.nla_len - NLA_HDRLEN;

		if (ATTR_TYPE(&attr) == RDMA_NLDEV_ATTR_DEV_INDEX)
			index = number(&attr, payload);
		else if (ATTR_TYPE(&attr) == RDMA_NLDEV_ATTR_RES_QP && reply->device == NULL)
			take_table(reply, payload, length);
		else if (ATTR_TYPE(&attr) == RDMA_NLDEV_ATTR_DEV_NAME && reply->device != NULL &&
			 length == strlen(reply->device) + 1 && memcmp(payload, reply->device, length) == 0) {
			reply->index = index;
			reply->found = true;
		}
	}
}

int
tracing_read(struct tracing_reply *reply, const uint8_t *bytes, size_t size)
{
	uint16_t expected = TYPE_OF(reply->device != NULL ? RDMA_NLDEV_CMD_GET : RDMA_NLDEV_CMD_RES_QP_GET);
	struct nlmsghdr hdr;
	int32_t error;

	for (size_t at = 0; at < size && !reply->done; at += NLMSG_ALIGN(hdr.nlmsg_len)) {
		if (size - at < sizeof(hdr))
			return -EPROTO;
		memcpy(&hdr, bytes + at, sizeof(hdr));
		if (hdr.nlmsg_len < NLMSG_HDRLEN || hdr.nlmsg_len > size - at)
			return -EPROTO;
		if (hdr.nlmsg_type == NLMSG_ERROR) {
			if (hdr.nlmsg_len < NLMSG_HDRLEN + sizeof(error))
				return -EPROTO;
			memcpy(&error, bytes + at + NLMSG_HDRLEN, sizeof(error));
			return error < 0 ? error : -EPROTO;
		}
		reply->done = hdr.nlmsg_type == NLMSG_DONE;
		if (hdr.nlmsg_type == expected)
			take(reply, bytes + at + NLMSG_HDRLEN, hdr.nlmsg_len - NLMSG_HDRLEN);
	}
	return 0;
}

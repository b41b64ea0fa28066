/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/tracing/tracer.h"

#include <endian.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/rdma_netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/array.h"
#include "common/flow.h"
#include "common/wire/eth.h"
#include "common/wire/roce.h"

#define LOOK_NS 200000000ULL /* between two dumps of the queue pairs */
#define PART_BYTES 32768     /* of a dump: more than the kernel makes it */
#define FRAMES_AT_ONCE 64
#define SAMPLED_MASK 7 /* one frame of eight */

struct tracer {
	struct tracer_config config;
	uint32_t index; /* of the device */
	int netlink, packets;
	struct loop_watch watch; /* of packets */
	uint64_t next_ns;
	uint8_t part[PART_BYTES];
	struct traced_qp qps[TRACED_QPS];
	struct connections connections;
};

/* The packets of reliable connections to RoCEv2's port by IPv4 without options, one of eight: their first bytes. */
static int
filter(int fd)
{
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_TYPE_IPV4, 0, 11),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPV4_VERSION_IHL, 0, 9),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 23),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPV4_PROTOCOL_UDP, 0, 7),
		BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 36),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ROCEV2_UDP_PORT, 0, 5),
		BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 42),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x20, 3, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_RANDOM)),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SAMPLED_MASK, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, TRACED_FRAME_BYTES),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	const struct sock_fprog program = { .len = ARRAY_LEN(code), .filter = code };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

static void
packets_ready(void *ctx, uint32_t events)
{
	struct tracer *tracer = ctx;

	(void)events;
	for (uint32_t i = 0; i < FRAMES_AT_ONCE; i++) {
		uint8_t bytes[TRACED_FRAME_BYTES];
		struct sockaddr_ll from;
		socklen_t size = sizeof(from);
		struct traced_frame frame;
		ssize_t got =
			recvfrom(tracer->packets, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from, &size);

		if (got < 0)
			return;
		if (tracing_frame_read(&frame, bytes, (size_t)got, from.sll_pkttype == PACKET_OUTGOING))
			connections_frame(&tracer->connections, &frame);
	}
}

/* The network device below soft-RoCE. */
static int
netdev_of(const char *device)
{
	char path[256], name[IF_NAMESIZE] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent", device);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fgets(name, sizeof(name), file) != NULL)
		name[strcspn(name, "\n")] = '\0';
	fclose(file);
	return (int)if_nametoindex(name);
}

static int
open_packets(struct tracer *tracer, struct err *err)
{
	struct sockaddr_ll address = { .sll_family = AF_PACKET,
				       .sll_protocol = htons(ETH_P_ALL),
				       .sll_ifindex = netdev_of(tracer->config.device) };
	int rc;

	if (address.sll_ifindex == 0)
		return err_set(err, -ENODEV, "%s has no network device whose frames can be seen", tracer->config.device);
	tracer->packets = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	rc = tracer->packets < 0 ? -errno : filter(tracer->packets);
	if (rc == 0 && bind(tracer->packets, (struct sockaddr *)&address, sizeof(address)) < 0)
		rc = -errno;
	tracer->watch = (struct loop_watch){ .fd = tracer->packets, .ready = packets_ready, .ctx = tracer };
	if (rc == 0)
		rc = loop_watch(tracer->config.loop, &tracer->watch, EPOLLIN);
	return rc == 0 ? 0 : err_set(err, rc, "no packet socket: %s", strerror(-rc));
}

/* Netlink answers at once: a dump's parts are made as they are read. */
static int
ask(struct tracer *tracer, const uint8_t *request, size_t size, struct tracing_reply *reply)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	int rc = 0;

	if (sendto(tracer->netlink, request, size, 0, (const struct sockaddr *)&kernel, sizeof(kernel)) != (ssize_t)size)
		return -errno;
	while (rc == 0 && !reply->done) {
		ssize_t got = recv(tracer->netlink, tracer->part, sizeof(tracer->part), MSG_DONTWAIT);

		rc = got > 0 ? tracing_read(reply, tracer->part, (size_t)got) : got == 0 ? -EPROTO : -errno;
	}
	return rc;
}

static int
open_netlink(struct tracer *tracer, struct err *err)
{
	uint8_t request[TRACING_REQUEST_BYTES];
	struct tracing_reply reply = { .device = tracer->config.device };
	int rc;

	tracer->netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_RDMA);
	rc = tracer->netlink < 0 ? -errno : ask(tracer, request, tracing_ask_devices(request), &reply);
	tracer->index = reply.index;
	if (rc == 0 && !reply.found)
		rc = -ENODEV;
	return rc == 0 ? 0 : err_set(err, rc, "rdma netlink does not report %s: %s", tracer->config.device, strerror(-rc));
}

struct tracer *
tracer_create(const struct tracer_config *config, struct err *err)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));
	int rc;

	if (tracer == NULL) {
		err_set(err, -ENOMEM, "no memory to trace connections");
		return NULL;
	}
	tracer->config = *config;
	tracer->netlink = tracer->packets = -1;
	tracer->connections.changed = config->changed;
	tracer->connections.ctx = config->ctx;
	rc = open_netlink(tracer, err);
	if (rc == 0)
		rc = open_packets(tracer, err);
	if (rc == 0)
		return tracer;
	tracer_destroy(tracer);
	errno = -rc;
	return NULL;
}

void
tracer_destroy(struct tracer *tracer)
{
	if (tracer == NULL)
		return;
	if (tracer->netlink >= 0)
		close(tracer->netlink);
	if (tracer->packets >= 0)
		close(tracer->packets);
	free(tracer);
}

/* A failed dump is ignored: the next one follows. */
void
tracer_run(struct tracer *tracer, uint64_t now_ns)
{
	struct tracing_reply reply = { .qps = tracer->qps, .cap = TRACED_QPS };
	uint8_t request[TRACING_REQUEST_BYTES];

	if (now_ns < tracer->next_ns)
		return;
	tracer->next_ns = now_ns + LOOK_NS;
	if (ask(tracer, request, tracing_ask_qps(request, tracer->index), &reply) == 0)
		connections_qps(&tracer->connections, reply.qps, reply.count);
}

uint32_t
tracer_connections(const struct tracer *tracer, struct traced_connection *rows, uint32_t cap)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < tracer->connections.count && count < cap; i++)
		if (tracer->connections.rows[i].is_reported)
			rows[count++] = (struct traced_connection){ tracer->connections.rows[i].tuple,
								    tracer->connections.rows[i].qp.lqpn };
	return count;
}

uint64_t
tracer_next_ns(const struct tracer *tracer)
{
	return tracer->next_ns;
}

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

/* Reads the next attribute, and moves *at behind it. @return its payload; NULL: the rest holds no whole attribute */
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

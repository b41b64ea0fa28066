/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UD SENDs (IBTA 9.8.3): one QP reaches every peer. The contents begin with the flow, by which the receiver identifies
 * the sender: a UD completion has the sender's GID, but not its source port. Times of departure and arrival are those
 * of polling their completions.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/control.h"
#include "rxe-hosts/device/verbs/host.h"

/* Prefix of a datagram's contents, big-endian. */
struct ud_contents {
	uint32_t flow;
};

/* The QP of UD SENDs; created at the first request. */
struct verbs_ud {
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *memory; /* VERBS_UD_SLOTS to send, as many to receive, of slot_bytes each */
	uint32_t slot_bytes;
	uint32_t posted, left; /* counted: their slots follow each other, as a QP's completions do */
	struct {
		struct datagram datagram;
		struct ibv_ah *ah;
	} sends[VERBS_UD_SLOTS];
};

/* Entry of received control packets, by kind. */
struct verbs_control_socket {
	struct verbs_host *host;
	const struct control_kind *kind; /* NULL: none */
	struct loop_watch watch;
	int fd;
};

struct verbs_datagrams {
	struct verbs_control_socket control_in[PKT_TYPES];
	struct verbs_ud ud;
};

static int verbs_send_control(struct verbs_host *host, const struct datagram *datagram);
static void ud_fini(struct verbs_host *host);

static uint8_t *
slot_at(const struct verbs_ud *ud, uint32_t slot)
{
	return ud->memory + (size_t)slot * ud->slot_bytes;
}

static int
post_room(struct verbs_ud *ud, uint32_t slot)
{
	struct ibv_sge sge = { .addr = (uintptr_t)slot_at(ud, VERBS_UD_SLOTS + slot),
			       .length = ud->slot_bytes,
			       .lkey = ud->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)slot << CONN_ROLE_BITS | CONN_UD_RECEIVE,
				  .sg_list = &sge,
				  .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return -ibv_post_recv(ud->qp, &wr, &bad);
}

int
verbs_ud_start(const struct verbs_host *host, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = host->port, .qkey = VERBS_UD_QKEY };
	int rc = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);

	attr.qp_state = IBV_QPS_RTR;
	rc = rc != 0 ? rc : ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	rc = rc != 0 ? rc : ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return -rc;
}

static int
make(struct verbs_host *host)
{
	struct ibv_qp_init_attr init = {
		.send_cq = host->cq,
		.recv_cq = host->cq,
		.cap = { .max_send_wr = VERBS_UD_SLOTS,
			 .max_recv_wr = VERBS_UD_SLOTS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
	};
	struct verbs_ud *ud = &host->datagrams->ud;
	int rc;

	ud->slot_bytes = VERBS_GRH_BYTES + host->config.params->mtu_bytes;
	ud->memory = calloc(2 * VERBS_UD_SLOTS, ud->slot_bytes);
	if (ud->memory == NULL)
		return -ENOMEM;
	ud->mr = ibv_reg_mr(host->pd, ud->memory, 2 * (size_t)VERBS_UD_SLOTS * ud->slot_bytes, IBV_ACCESS_LOCAL_WRITE);
	ud->qp = ud->mr != NULL ? ibv_create_qp(host->pd, &init) : NULL;
	if (ud->qp == NULL)
		return -errno;
	rc = verbs_ud_start(host, ud->qp);
	for (uint32_t slot = 0; slot < VERBS_UD_SLOTS && rc == 0; slot++)
		rc = post_room(ud, slot);
	return rc;
}

int64_t
verbs_ud_qpn(struct device *dev)
{
	struct verbs_host *host = verbs_of(dev);
	int rc = host->datagrams->ud.qp == NULL ? make(host) : 0;

	if (rc == 0)
		return host->datagrams->ud.qp->qp_num;
	ud_fini(host);
	return rc;
}

static void
ud_fini(struct verbs_host *host)
{
	struct verbs_ud *ud = &host->datagrams->ud;

	if (ud->qp != NULL)
		ibv_destroy_qp(ud->qp);
	for (; ud->left != ud->posted; ud->left++)
		ibv_destroy_ah(ud->sends[ud->left % VERBS_UD_SLOTS].ah);
	if (ud->mr != NULL)
		ibv_dereg_mr(ud->mr);
	free(ud->memory);
	*ud = (struct verbs_ud){ 0 };
}

static int
post_ud(struct verbs_host *host, const struct datagram *datagram)
{
	const struct flow *flow = &host->config.flows->flows[datagram->flow];
	const struct ud_contents contents = { htobe32(datagram->flow) };
	struct verbs_ud *ud = &host->datagrams->ud;
	uint32_t slot = ud->posted % VERBS_UD_SLOTS;
	struct ibv_ah_attr address;
	struct ibv_sge sge = { .addr = (uintptr_t)slot_at(ud, slot), .length = datagram->bytes, .lkey = ud->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = CONN_UD_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htobe32(datagram->arg),
		.wr.ud = { .remote_qpn = datagram->qpn, .remote_qkey = VERBS_UD_QKEY },
	};
	int rc;

	if (datagram->bytes < sizeof(contents) || datagram->bytes > host->config.params->mtu_bytes)
		return -EINVAL;
	if (ud->posted - ud->left == VERBS_UD_SLOTS)
		return -ENOSPC;
	verbs_address(host, flow, &address);
	wr.wr.ud.ah = ibv_create_ah(host->pd, &address);
	if (wr.wr.ud.ah == NULL)
		return -errno;
	memcpy(slot_at(ud, slot), &contents, sizeof(contents));
	rc = ibv_post_send(ud->qp, &wr, &bad);
	if (rc != 0) {
		ibv_destroy_ah(wr.wr.ud.ah);
		return -rc;
	}
	ud->sends[slot].datagram = *datagram;
	ud->sends[slot].ah = wr.wr.ud.ah;
	ud->posted++;
	return 0;
}

int
verbs_post_datagram(struct device *dev, const struct datagram *datagram)
{
	struct verbs_host *host = verbs_of(dev);
	int64_t qpn;

	if (datagram->type != PKT_UD)
		return verbs_send_control(host, datagram);
	if (datagram->contents != NULL)
		return verbs_pool_post(host, datagram);
	qpn = verbs_ud_qpn(dev);
	return qpn < 0 ? (int)qpn : post_ud(host, datagram);
}

void
verbs_ud_sent(struct verbs_host *host, bool left)
{
	struct verbs_ud *ud = &host->datagrams->ud;
	uint32_t slot = ud->left++ % VERBS_UD_SLOTS;
	struct datagram *datagram = &ud->sends[slot].datagram;

	ibv_destroy_ah(ud->sends[slot].ah);
	if (!left || !datagram->signaled || host->client.departed == NULL)
		return;
	datagram->left_ps = verbs_now_ps(host);
	host->client.departed(host->client.ctx, datagram);
}

void
verbs_ud_received(struct verbs_host *host, const struct ibv_wc *wc)
{
	uint32_t slot = (uint32_t)(wc->wr_id >> CONN_ROLE_BITS), bytes = wc->byte_len - VERBS_GRH_BYTES;
	struct ud_contents contents = { 0 };
	struct datagram datagram = {
		.arg = be32toh(wc->imm_data), .qpn = wc->src_qp, .bytes = (uint16_t)bytes, .type = PKT_UD
	};
	bool ours;

	if (wc->byte_len >= VERBS_GRH_BYTES + sizeof(contents))
		memcpy(&contents, slot_at(&host->datagrams->ud, VERBS_UD_SLOTS + slot) + VERBS_GRH_BYTES, sizeof(contents));
	datagram.flow = be32toh(contents.flow);
	ours = wc->byte_len >= VERBS_GRH_BYTES + sizeof(contents) && datagram.flow < host->config.flows->count &&
	       host->config.flows->flows[datagram.flow].dst_node == host->config.node;
	if (post_room(&host->datagrams->ud, slot) != 0)
		verbs_fail(host, true, "%s: cannot post a receive for datagrams", verbs_host_name(host));
	if (ours && host->client.received != NULL)
		host->client.received(host->client.ctx, &datagram, verbs_now_ps(host));
}

/*
 * Control packets (common/control.h) are ordinary UDP datagrams in their own class (paper III-C2, III-C3). A sending socket
 * is made for each: its source port is the flow's, by which receiver and switches know it. Each kind is received on its
 * port.
 */

/* @return a socket, or negative errno */
static int
udp_socket(uint32_t ip, uint16_t port, uint8_t prio)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(ip), .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP), tos = prio << 5;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) < 0 ||
	    setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) < 0 ||
	    bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	return fd;
}

/* Class of a kind's packets: polls go ahead of all, others in their flow's. */
static uint8_t
class_of(const struct control_kind *kind, const struct flow *flow)
{
	return kind->names_flow ? 0 : flow->prio;
}

static int
verbs_send_control(struct verbs_host *host, const struct datagram *datagram)
{
	const struct flow *flow = &host->config.flows->flows[datagram->flow];
	const struct control_kind *kind = control_of_type(datagram->type);
	const struct control control = {
		.id = datagram->id,
		.arg = datagram->arg,
		.src_ip = flow->src_ip,
		.dst_ip = flow->dst_ip,
		.sport = flow->sport,
		.dport = ROCEV2_UDP_PORT,
	};
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(flow->dst_ip) };
	uint8_t contents[CONTROL_MAX_BYTES];
	ssize_t sent;
	int fd;

	if (kind == NULL)
		return -ENOTSUP;
	fd = udp_socket(flow->src_ip, flow->sport, class_of(kind, flow));
	if (fd < 0)
		return fd;
	to.sin_port = htons(kind->udp_port);
	kind->write(contents, &control);
	sent = sendto(fd, contents, kind->bytes, 0, (struct sockaddr *)&to, sizeof(to));
	close(fd);
	if (sent != (ssize_t)kind->bytes)
		return -EIO;
	host->count.control[kind->type].packets++;
	host->count.control[kind->type].bytes += control_wire_bytes(kind);
	return 0;
}

/* @return the flow of notifications from an address and port to this host; UINT32_MAX: none */
static uint32_t
notify_flow(const struct verbs_host *host, const struct sockaddr_in *from)
{
	for (uint32_t i = 0; i < host->config.flows->count; i++) {
		const struct flow *flow = &host->config.flows->flows[i];

		if (flow->kind == FLOW_CONTROL && flow->dst_node == host->config.node &&
		    flow->src_ip == ntohl(from->sin_addr.s_addr) && flow->sport == ntohs(from->sin_port))
			return i;
	}
	return UINT32_MAX;
}

/* A polling packet ends here. The switch at the other end of the cable reports for the host's NIC. */
static void
poll_arrived(struct verbs_host *host, const struct sockaddr_in *from, const struct control *control)
{
	host->count.polls_received++;
}

static void
notification_arrived(struct verbs_host *host, const struct sockaddr_in *from, const struct control *control)
{
	const struct datagram datagram = {
		.flow = notify_flow(host, from), .id = control->id, .arg = control->arg, .type = PKT_NOTIFY
	};

	verbs_look(host);
	if (datagram.flow != UINT32_MAX)
		host->client.received(host->client.ctx, &datagram, verbs_now_ps(host));
}

/* Handlers of received control packets, by type. */
static void (*const arrived[PKT_TYPES])(struct verbs_host *host, const struct sockaddr_in *from,
					const struct control *control) = {
	[PKT_POLL] = poll_arrived,
	[PKT_NOTIFY] = notification_arrived,
};

static void
control_ready(void *ctx, uint32_t events)
{
	const struct verbs_control_socket *at = ctx;
	uint8_t data[CONTROL_MAX_BYTES + 1]; /* detects contents that are too long */
	struct sockaddr_in from;
	socklen_t size = sizeof(from);
	struct control control;
	ssize_t got;

	while ((got = recvfrom(at->fd, data, sizeof(data), 0, (struct sockaddr *)&from, &size)) >= 0) {
		size = sizeof(from);
		if (got == (ssize_t)at->kind->bytes && at->kind->read(data, &control))
			arrived[at->kind->type](at->host, &from, &control);
	}
}

static int
listen_on(struct verbs_host *host, struct verbs_control_socket *at, struct err *err)
{
	uint16_t port = at->kind->udp_port;
	int rc;

	at->host = host;
	at->fd = udp_socket(host->config.ip, port, 0);
	if (at->fd < 0)
		return err_set(err, at->fd, "cannot receive on UDP port %u: %s", port, strerror(-at->fd));
	at->watch = (struct loop_watch){ .fd = at->fd, .ready = control_ready, .ctx = at };
	rc = loop_watch(host->config.loop, &at->watch, EPOLLIN);
	return rc == 0 ? 0 : err_set(err, rc, "cannot wait for UDP port %u: %s", port, strerror(-rc));
}

int
verbs_datagrams_init(struct verbs_host *host, struct err *err)
{
	int rc = 0;

	host->datagrams = calloc(1, sizeof(*host->datagrams));
	if (host->datagrams == NULL)
		return err_set(err, -ENOMEM, "no memory for datagrams");
	for (uint8_t type = 0; type < PKT_TYPES && rc == 0; type++) {
		struct verbs_control_socket *at = &host->datagrams->control_in[type];

		at->kind = arrived[type] != NULL ? control_of_type(type) : NULL;
		if (at->kind != NULL)
			rc = listen_on(host, at, err);
	}
	return rc;
}

void
verbs_datagrams_fini(struct verbs_host *host)
{
	if (host->datagrams == NULL)
		return;
	ud_fini(host);
	for (uint8_t type = 0; type < PKT_TYPES; type++)
		if (host->datagrams->control_in[type].kind != NULL && host->datagrams->control_in[type].fd >= 0)
			close(host->datagrams->control_in[type].fd);
	free(host->datagrams);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections by librdmacm: a flow's source connects to the one listener of its destination. The private data of
 * request and reply carries the connection's purpose.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "rxe-hosts/device/verbs/host.h"
#include "rxe-hosts/device/verbs/label.h"

#define CONNECT_MAGIC 0x3158524fU /* "ORX1" */

/*
 * Private data, big-endian. A request identifies role and flow; the reply repeats them and gives the place of messages.
 */
struct connect_data {
	uint32_t magic;
	uint32_t flow;
	uint16_t role;
	uint16_t mirrored;
	uint32_t rkey;
	uint64_t header_addr, landing_addr, landing_end;
};

static int verbs_qp_create(struct verbs_conn *conn);
static int verbs_qp_init(struct verbs_conn *conn);
static int verbs_qp_connect(struct verbs_conn *conn);

_Static_assert(sizeof(struct connect_data) <= 56, "what a request has room for");

static void
conn_failed(struct verbs_conn *conn, const char *what, int error)
{
	char flow[64];

	verbs_fail(conn->host, true, "cannot connect %s: %s: %s", verbs_flow_text(conn->host, conn->flow, flow), what,
		   strerror(error < 0 ? -error : error));
}

static struct sockaddr_in
address_of(uint32_t ip, uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_addr.s_addr = htonl(ip), .sin_port = htons(port) };
}

void
verbs_conn_start(struct verbs_conn *conn)
{
	const struct flow *flow = &conn->host->config.flows->flows[conn->flow];
	struct sockaddr_in from = address_of(flow->src_ip, 0), to = address_of(flow->dst_ip, VERBS_CM_PORT);

	conn->attempts++;
	conn->state = CONN_RESOLVING;
	if (rdma_create_id(conn->host->cm, &conn->id, conn, RDMA_PS_TCP) != 0 ||
	    rdma_resolve_addr(conn->id, (struct sockaddr *)&from, (struct sockaddr *)&to, VERBS_CM_TIMEOUT_MS) != 0)
		conn_failed(conn, "address", errno);
}

void
verbs_conn_close(struct verbs_conn *conn)
{
	if (conn->qp != NULL)
		ibv_destroy_qp(conn->qp);
	if (conn->id != NULL)
		rdma_destroy_id(conn->id);
	conn->qp = NULL;
	conn->id = NULL;
	conn->state = CONN_IDLE;
}

static void
address_resolved(struct verbs_conn *conn)
{
	conn->state = CONN_ROUTING;
	if (rdma_resolve_route(conn->id, VERBS_CM_TIMEOUT_MS) != 0)
		conn_failed(conn, "route", errno);
}

static struct rdma_conn_param
parameters(const struct verbs_conn *conn, const struct connect_data *data)
{
	return (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = sizeof(*data),
		.responder_resources = 1,
		.initiator_depth = 1,
		.retry_count = 7,
		.rnr_retry_count = 7,
		.qp_num = conn->qp->qp_num,
	};
}

static void
route_resolved(struct verbs_conn *conn)
{
	const struct connect_data data = {
		.magic = htobe32(CONNECT_MAGIC),
		.flow = htobe32(conn->flow),
		.role = htobe16((uint16_t)conn->role),
	};
	struct rdma_conn_param param;
	int rc = verbs_qp_create(conn);

	if (rc == 0)
		rc = verbs_qp_init(conn);
	if (rc != 0) {
		conn_failed(conn, "queue pair", rc);
		return;
	}
	param = parameters(conn, &data);
	conn->state = CONN_REQUESTED;
	if (rdma_connect(conn->id, &param) != 0)
		conn_failed(conn, "request", errno);
}

/* Active end: the peer has accepted. */
static void
answered(struct verbs_conn *conn, const struct connect_data *data)
{
	int rc;

	if (be32toh(data->magic) != CONNECT_MAGIC || be32toh(data->flow) != conn->flow) {
		conn_failed(conn, "the answer is not rxe-host's", EPROTO);
		return;
	}
	conn->rkey = be32toh(data->rkey);
	conn->header_addr = be64toh(data->header_addr);
	conn->landing_addr = be64toh(data->landing_addr);
	conn->landing_end = be64toh(data->landing_end);
	conn->mirrored = data->mirrored != 0;
	rc = verbs_qp_connect(conn);
	if (rc == 0 && rdma_establish(conn->id) != 0)
		rc = -errno;
	if (rc != 0)
		conn_failed(conn, "queue pair", rc);
	else
		conn->state = CONN_UP;
}

/* @return which end of which flow a request is for, NULL: none that could be */
static struct verbs_conn *
requested(struct verbs_host *host, const struct rdma_cm_id *id, const struct connect_data *data)
{
	uint32_t flow = be32toh(data->flow);
	const struct sockaddr_in *from = (const struct sockaddr_in *)&id->route.addr.dst_addr;
	struct verbs_in *in;

	if (be32toh(data->magic) != CONNECT_MAGIC || flow >= host->config.flows->count ||
	    host->config.flows->flows[flow].dst_node != host->config.node || host->slot_of[flow] == UINT32_MAX ||
	    ntohl(from->sin_addr.s_addr) != host->config.flows->flows[flow].src_ip)
		return NULL;
	in = &host->ins[host->slot_of[flow]];
	if (be16toh(data->role) == CONN_DATA)
		return &in->data;
	return be16toh(data->role) == CONN_PROBE ? &in->probe : NULL;
}

static int
accept_request(struct verbs_host *host, struct verbs_conn *conn)
{
	const struct verbs_in *in = &host->ins[conn->slot];
	const struct connect_data data = {
		.magic = htobe32(CONNECT_MAGIC),
		.flow = htobe32(conn->flow),
		.role = htobe16((uint16_t)conn->role),
		.mirrored = in->mirrored ? 0xffff : 0,
		.rkey = htobe32(host->landing_mr->rkey),
		.header_addr = htobe64((uintptr_t)in->headers),
		.landing_addr = htobe64((uintptr_t)in->landing - in->landing_from),
		.landing_end = htobe64(in->landing_end),
	};
	struct rdma_conn_param param;
	int rc = verbs_qp_create(conn);

	if (rc == 0)
		rc = verbs_qp_init(conn);
	for (uint32_t i = 0; i < DEVICE_MAX_POSTED && rc == 0 && conn->role == CONN_DATA; i++)
		rc = verbs_qp_post_receive(conn);
	if (rc == 0)
		rc = verbs_qp_connect(conn);
	if (rc != 0)
		return rc;
	param = parameters(conn, &data);
	return rdma_accept(conn->id, &param) == 0 ? 0 : -errno;
}

/* A peer that gave up on a request and repeats it: the last request holds. */
static void
request(struct verbs_host *host, struct rdma_cm_id *id, const struct connect_data *data)
{
	struct verbs_conn *conn = requested(host, id, data);
	int rc;

	if (conn == NULL || conn->state == CONN_UP) {
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return;
	}
	verbs_conn_close(conn);
	conn->id = id;
	id->context = conn;
	conn->state = CONN_REQUESTED;
	rc = accept_request(host, conn);
	if (rc != 0)
		conn_failed(conn, "request of the peer", rc);
}

/* Sleeping peers answer late: requests are made again a few times. */
static void
retry(struct verbs_conn *conn, const char *what, int error)
{
	if (!conn->active || conn->attempts == VERBS_CM_ATTEMPTS) {
		conn_failed(conn, what, error != 0 ? error : ETIMEDOUT);
		return;
	}
	verbs_conn_close(conn);
	verbs_conn_start(conn);
}

/* The peer's program has ended, or its machine. What is not acknowledged by now will never be. */
static void
gone(struct verbs_conn *conn)
{
	char flow[64], why[128];

	if (conn->host->state == VERBS_CONNECTING || conn->host->state == VERBS_MEASURING)
		conn_failed(conn, "the peer went away", ECONNRESET);
	conn->state = CONN_GONE;
	snprintf(why, sizeof(why), "%s: the peer went away", verbs_flow_text(conn->host, conn->flow, flow));
	if (conn->active && conn->role == CONN_DATA)
		verbs_out_failed(conn->host, &conn->host->outs[conn->slot], why);
}

static void
handle(struct verbs_host *host, struct rdma_cm_id *id, enum rdma_cm_event_type event, int status,
       const struct connect_data *data)
{
	struct verbs_conn *conn = id->context;

	switch (event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		address_resolved(conn);
		return;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		route_resolved(conn);
		return;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		request(host, id, data);
		return;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		answered(conn, data);
		return;
	case RDMA_CM_EVENT_ESTABLISHED:
		conn->state = CONN_UP;
		return;
	case RDMA_CM_EVENT_REJECTED:
		conn_failed(conn, "the peer refused; do both run the same scenario?", ECONNREFUSED);
		return;
	case RDMA_CM_EVENT_DISCONNECTED:
		gone(conn);
		return;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		verbs_fail(host, true, "the RDMA device %s was removed", verbs_host_name(host));
		return;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		retry(conn, rdma_event_str(event), status);
		return;
	default:
		return;
	}
}

static void
cm_ready(void *ctx, uint32_t events)
{
	struct verbs_host *host = ctx;
	struct rdma_cm_event *event;

	verbs_look(host);
	while (host->state != VERBS_BROKEN && rdma_get_cm_event(host->cm, &event) == 0) {
		struct connect_data data = { 0 };
		enum rdma_cm_event_type type = event->event;
		struct rdma_cm_id *id = event->id;
		int status = event->status;

		if ((type == RDMA_CM_EVENT_CONNECT_REQUEST || type == RDMA_CM_EVENT_CONNECT_RESPONSE) &&
		    event->param.conn.private_data_len >= sizeof(data))
			memcpy(&data, event->param.conn.private_data, sizeof(data));
		rdma_ack_cm_event(event); /* before its id is destroyed */
		handle(host, id, type, status, &data);
	}
}

int
verbs_cm_listen(struct verbs_host *host, struct err *err)
{
	int flags = fcntl(host->cm->fd, F_GETFL);

	host->cm_watch = (struct loop_watch){ .fd = host->cm->fd, .ready = cm_ready, .ctx = host };
	if (flags < 0 || fcntl(host->cm->fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    rdma_listen(host->listener, (int)(2 * host->nins + 1)) != 0)
		return err_set(err, -errno, "cannot listen for RDMA connections: %s", strerror(errno));
	return 0;
}

/*
 * Connections to embedded hosts, which have no connection manager: the plan gives both ends each other's queue pair,
 * except for the number and keys that the kernel assigns here. The fabric receives these (struct manage_qp). Such a
 * flow carries each message as one WRITE WITH IMMEDIATE, as embedded hosts do, and has no probe beside it.
 */

#define FIRST_PSN 0 /* of embedded hosts, in both directions */
#define HOP_LIMIT 64
#define MIN_RNR_TIMER 12 /* 0.64 ms, IBTA table 46 */

bool
verbs_is_static(const struct verbs_host *host, uint32_t flow)
{
	const struct flow *f = &host->config.flows->flows[flow];

	return host->config.embedded != NULL &&
	       host->config.embedded[f->src_node == host->config.node ? f->dst_node : f->src_node];
}

static int
initialize(struct verbs_conn *conn)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = conn->host->port,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};

	return -ibv_modify_qp(conn->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

static int
static_ready_to_receive(struct verbs_conn *conn)
{
	const struct verbs_host *host = conn->host;
	const struct flow *flow = &host->config.flows->flows[conn->flow];
	uint32_t peer_ip = htonl(conn->active ? flow->dst_ip : flow->src_ip);
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = host->mtu,
		.dest_qp_num = conn->active ? flow->dst_qpn : flow->src_qpn,
		.rq_psn = FIRST_PSN,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = MIN_RNR_TIMER,
		.ah_attr = {
			.is_global = 1,
			.port_num = host->port,
			.grh = {
				.dgid.raw = { [10] = 0xff, [11] = 0xff },
				.sgid_index = host->gid_index,
				.hop_limit = HOP_LIMIT,
				.flow_label = verbs_flow_label(flow->sport),
				.traffic_class = verbs_traffic_class(flow->prio),
			},
		},
	};

	memcpy(&attr.ah_attr.grh.dgid.raw[12], &peer_ip, sizeof(peer_ip));
	return -ibv_modify_qp(conn->qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int
static_ready_to_send(struct verbs_conn *conn)
{
	const struct roce_params *params = conn->host->config.params;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = FIRST_PSN,
		.timeout = verbs_timeout(params->kernel_timeout_ps),
		.retry_cnt = params->retry_count < 7 ? params->retry_count : 7,
		.rnr_retry = params->rnr_retry,
		.max_rd_atomic = 1,
	};

	return -ibv_modify_qp(conn->qp, &attr,
			      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				      IBV_QP_MAX_QP_RD_ATOMIC);
}

void
verbs_static_start(struct verbs_conn *conn)
{
	char flow[64];
	int rc = verbs_qp_create(conn);

	if (rc == 0)
		rc = initialize(conn);
	for (uint32_t i = 0; i < DEVICE_MAX_POSTED && rc == 0 && !conn->active; i++)
		rc = verbs_qp_post_receive(conn);
	if (rc == 0)
		rc = static_ready_to_receive(conn);
	if (rc == 0)
		rc = static_ready_to_send(conn);
	if (rc == 0)
		conn->state = CONN_UP;
	else
		verbs_fail(conn->host, true, "cannot connect %s: queue pair: %s",
			   verbs_flow_text(conn->host, conn->flow, flow), strerror(-rc));
}

bool
verbs_host_static(const struct verbs_host *host, uint32_t flow, struct manage_qp *qp)
{
	const struct verbs_conn *conn;

	if (host->slot_of[flow] == UINT32_MAX || !verbs_is_static(host, flow))
		return false;
	*qp = (struct manage_qp){ .flow = flow };
	if (host->config.flows->flows[flow].src_node == host->config.node) {
		conn = &host->outs[host->slot_of[flow]].data;
	} else {
		const struct verbs_in *in = &host->ins[host->slot_of[flow]];

		conn = &in->data;
		qp->rkey = host->landing_mr->rkey;
		qp->addr = (uintptr_t)in->landing - in->landing_from;
		qp->bytes = in->landing_end;
	}
	qp->qpn = conn->qp != NULL ? conn->qp->qp_num : 0;
	return conn->qp != NULL;
}

/*
 * Queue pairs, and the fields that identify their packets: the flow's UDP source port, set through its flow label, and
 * its class. librdmacm exchanges numbers and addresses; the QPs are moved through their states here, because librdmacm
 * would leave the label to the kernel.
 */

#define MAX_GIDS 256
#define MAX_DRAIN_POLLS 100000 /* of a device that has nothing to drain */

static enum ibv_mtu
path_mtu(uint32_t bytes)
{
	for (enum ibv_mtu mtu = IBV_MTU_256; mtu <= IBV_MTU_4096; mtu++)
		if (128u << mtu == bytes)
			return mtu;
	return 0;
}

/* The RoCE v2 GID of an address (IBTA annex A17: ::ffff:a.b.c.d). */
static union ibv_gid
gid_of(uint32_t ip)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };
	uint32_t big_endian = htonl(ip);

	memcpy(&gid.raw[12], &big_endian, sizeof(big_endian));
	return gid;
}

/* Wherever the device keeps that of the host. */
static int
find_gid(struct verbs_host *host)
{
	union ibv_gid wanted = gid_of(host->config.ip);
	struct ibv_gid_entry entry;

	for (uint32_t i = 0; i < MAX_GIDS; i++)
		if (ibv_query_gid_ex(host->verbs, host->port, i, &entry, 0) == 0 &&
		    entry.gid_type == IBV_GID_TYPE_ROCE_V2 && memcmp(&entry.gid, &wanted, sizeof(wanted)) == 0) {
			host->gid_index = (uint8_t)i;
			return 0;
		}
	return -ENOENT;
}

int
verbs_port_init(struct verbs_host *host, struct err *err)
{
	uint32_t mtu_bytes = host->config.params->mtu_bytes;
	struct ibv_port_attr port;

	if (ibv_query_port(host->verbs, host->port, &port) != 0 || port.state != IBV_PORT_ACTIVE)
		return err_set(err, -ENETDOWN, "%s: port %u is not active: is its network device up?",
			       verbs_host_name(host), host->port);
	host->mtu = path_mtu(mtu_bytes);
	if (host->mtu == 0 || host->mtu > port.active_mtu)
		return err_set(err, -EINVAL,
			       "host.mtu = %u: %s can do path MTUs of 256 to %u with the MTU of its network device",
			       mtu_bytes, verbs_host_name(host), 128u << port.active_mtu);
	if (find_gid(host) != 0)
		return err_set(err, -ENODEV, "%s has no RoCE v2 GID of the host's address", verbs_host_name(host));
	return 0;
}

static int
verbs_qp_create(struct verbs_conn *conn)
{
	struct verbs_host *host = conn->host;
	bool data = conn->role == CONN_DATA;
	struct ibv_qp_init_attr init = {
		.send_cq = host->cq,
		.recv_cq = host->cq,
		.cap = {
			.max_send_wr = conn->active && data ? VERBS_MAX_PIECES : 1,
			.max_recv_wr = !conn->active && data ? DEVICE_MAX_POSTED : 1,
			.max_send_sge = 1,
			.max_recv_sge = 1,
			.max_inline_data = sizeof(struct verbs_header),
		},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1,
	};

	conn->qp = ibv_create_qp(host->pd, &init);
	return conn->qp != NULL ? 0 : -errno;
}

static int
verbs_qp_init(struct verbs_conn *conn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	if (rdma_init_qp_attr(conn->id, &attr, &mask) != 0)
		return -errno;
	attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	return -ibv_modify_qp(conn->qp, &attr, mask | IBV_QP_ACCESS_FLAGS);
}

/* Fills in the attributes of a connection, except for the peer's GID. */
static void
address(const struct verbs_host *host, const struct flow *flow, struct ibv_ah_attr *attr)
{
	attr->is_global = 1;
	attr->port_num = host->port;
	attr->grh.sgid_index = host->gid_index;
	attr->grh.hop_limit = HOP_LIMIT;
	attr->grh.flow_label = verbs_flow_label(flow->sport);
	attr->grh.traffic_class = verbs_traffic_class(flow->prio);
}

void
verbs_address(const struct verbs_host *host, const struct flow *flow, struct ibv_ah_attr *attr)
{
	*attr = (struct ibv_ah_attr){ .grh.dgid = gid_of(flow->dst_ip) };
	address(host, flow, attr);
}

static int
ready_to_receive(struct verbs_conn *conn)
{
	const struct verbs_host *host = conn->host;
	const struct flow *flow = &host->config.flows->flows[conn->flow];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int mask;

	if (rdma_init_qp_attr(conn->id, &attr, &mask) != 0)
		return -errno;
	attr.path_mtu = host->mtu;
	attr.min_rnr_timer = MIN_RNR_TIMER;
	address(host, flow, &attr.ah_attr);
	return -ibv_modify_qp(conn->qp, &attr, mask | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_MIN_RNR_TIMER);
}

static int
ready_to_send(struct verbs_conn *conn)
{
	const struct roce_params *params = conn->host->config.params;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS };
	int mask;

	if (rdma_init_qp_attr(conn->id, &attr, &mask) != 0)
		return -errno;
	attr.timeout = verbs_timeout(params->kernel_timeout_ps);
	attr.retry_cnt = params->retry_count < 7 ? params->retry_count : 7;
	attr.rnr_retry = params->rnr_retry;
	return -ibv_modify_qp(conn->qp, &attr, mask | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
}

/* Through INIT, and then RTR and RTS with the flow's label, class and timeouts. */
static int
verbs_qp_connect(struct verbs_conn *conn)
{
	int rc = ready_to_receive(conn);

	return rc != 0 ? rc : ready_to_send(conn);
}

/* A queue without work drains as soon as the device processes it. */
static int
wait_until_drained(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	for (uint32_t asked = 0; asked < MAX_DRAIN_POLLS; asked++) {
		int rc = -ibv_query_qp(qp, &attr, IBV_QP_STATE, &init);

		if (rc != 0 || !attr.sq_draining)
			return rc;
	}
	return -ETIMEDOUT;
}

int
verbs_qp_tag(struct verbs_conn *conn, uint8_t tag)
{
	const struct verbs_host *host = conn->host;
	const struct flow *flow = &host->config.flows->flows[conn->flow];
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_SQD };
	int rc = -ibv_modify_qp(conn->qp, &attr, IBV_QP_STATE);

	if (rc == 0)
		rc = wait_until_drained(conn->qp);
	if (rc != 0)
		return rc;
	verbs_address(host, flow, &attr.ah_attr);
	if (tag_is(tag))
		attr.ah_attr.grh.traffic_class = verbs_traffic_class_of_tag(tag);
	rc = -ibv_modify_qp(conn->qp, &attr, IBV_QP_STATE | IBV_QP_AV);
	if (rc != 0)
		return rc;
	attr.qp_state = IBV_QPS_RTS;
	return -ibv_modify_qp(conn->qp, &attr, IBV_QP_STATE);
}

int
verbs_qp_post_receive(const struct verbs_conn *conn)
{
	struct ibv_recv_wr wr = { .wr_id = (uint64_t)conn->slot << CONN_ROLE_BITS | CONN_RECEIVE }, *bad;

	return -ibv_post_recv(conn->qp, &wr, &bad);
}

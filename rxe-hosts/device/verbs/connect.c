/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections by librdmacm: a flow's source connects, to the one listener of its destination. What is for what goes
 * along as private data of request and reply.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "rxe-hosts/device/verbs/host.h"

#define CONNECT_MAGIC 0x3158524fU /* "ORX1" */

/* Private data, big-endian. A request tells role and flow; the reply repeats them and tells where messages go. */
struct connect_data {
	uint32_t magic;
	uint32_t flow;
	uint16_t role;
	uint16_t mirrored;
	uint32_t rkey;
	uint64_t header_addr, landing_addr, landing_end;
};

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

/* A peer that gave up on a request and asks again is taken at its last word. */
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
		rdma_ack_cm_event(event); /* before anything destroys its id */
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

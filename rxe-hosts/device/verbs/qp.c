/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queue pairs, and what makes their packets recognizable: the flow's UDP source port by way of its flow label, and its
 * class. librdmacm exchanges numbers and addresses; the QPs are moved through their states here, because it would leave
 * the label to the kernel.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "rxe-hosts/device/verbs/host.h"

#define HOP_LIMIT 64
#define MIN_RNR_TIMER 12 /* 0.64 ms, IBTA table 46 */
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

int
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

int
verbs_qp_init(struct verbs_conn *conn)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	if (rdma_init_qp_attr(conn->id, &attr, &mask) != 0)
		return -errno;
	attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	return -ibv_modify_qp(conn->qp, &attr, mask | IBV_QP_ACCESS_FLAGS);
}

/* All but the peer's GID. */
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

int
verbs_qp_connect(struct verbs_conn *conn)
{
	int rc = ready_to_receive(conn);

	return rc != 0 ? rc : ready_to_send(conn);
}

/* A queue without work drains as soon as the device looks at it. */
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

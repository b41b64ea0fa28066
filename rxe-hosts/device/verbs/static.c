/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections to embedded hosts, which have no connection manager: both ends know each other's queue pair from the plan
 * but for what the kernel chooses here, its number and keys, and that the fabric is told (struct manage_qp). Such a flow
 * carries each message as one WRITE WITH IMMEDIATE, as embedded hosts do, and has no probe beside it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "rxe-hosts/device/verbs/host.h"

#define FIRST_PSN 0 /* of embedded hosts, both ways */
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
ready_to_receive(struct verbs_conn *conn)
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
ready_to_send(struct verbs_conn *conn)
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
		rc = ready_to_receive(conn);
	if (rc == 0)
		rc = ready_to_send(conn);
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

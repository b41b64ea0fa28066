/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UD SENDs (IBTA 9.8.3): one QP reaches every peer. The contents begin with the flow, by which the receiver knows who it is:
 * a UD completion tells the sender's GID, not its source port. Times of departure and arrival are those at which their
 * completions are seen.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rxe-hosts/device/verbs/host.h"

/* What contents begin with, big-endian. */
struct ud_contents {
	uint32_t flow;
};

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
	struct verbs_ud *ud = &host->ud;
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
	int rc = host->ud.qp == NULL ? make(host) : 0;

	if (rc == 0)
		return host->ud.qp->qp_num;
	verbs_ud_fini(host);
	return rc;
}

void
verbs_ud_fini(struct verbs_host *host)
{
	struct verbs_ud *ud = &host->ud;

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
	struct verbs_ud *ud = &host->ud;
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
	struct verbs_ud *ud = &host->ud;
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
		memcpy(&contents, slot_at(&host->ud, VERBS_UD_SLOTS + slot) + VERBS_GRH_BYTES, sizeof(contents));
	datagram.flow = be32toh(contents.flow);
	ours = wc->byte_len >= VERBS_GRH_BYTES + sizeof(contents) && datagram.flow < host->config.flows->count &&
	       host->config.flows->flows[datagram.flow].dst_node == host->config.node;
	if (post_room(&host->ud, slot) != 0)
		verbs_fail(host, true, "%s: cannot post a receive for datagrams", verbs_host_name(host));
	if (ours && host->client.received != NULL)
		host->client.received(host->client.ctx, &datagram, verbs_now_ps(host));
}

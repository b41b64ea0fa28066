/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rxe_peer: runs in a guest, on the kernel's soft-RoCE, and speaks with an embedded host (interop_rig). Two reliable
 * connections, one that sends and one that receives, and an unreliable QP. Descriptor 3 is its line to the rig.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "rxe-hosts/device/verbs/label.h"
#include "tests/sim/interop.h"

#define REGION (64 * INTEROP_ROOM)
#define OUT_AT (40 * INTEROP_ROOM) /* what is sent: a slot that all share, filled before each is posted */
#define DATAGRAM_ROOM (INTEROP_DATAGRAM_BYTES + 40)
#define DEPTH 128

enum { QP_OUT, QP_IN, QP_UD, QPS };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *qps[QPS];
static struct ibv_ah *ah;
static uint8_t *region;
static uint32_t gid_index, sent, received, wrong, datagrams_sent, datagrams_received;
static union ibv_gid peer_gid;

static _Noreturn void
die(const char *what)
{
	dprintf(3, "bad %s\n", what);
	perror(what);
	exit(1);
}

static void
find_gid(void)
{
	for (uint32_t i = 0; i < 64; i++) {
		struct ibv_gid_entry entry;

		if (ibv_query_gid_ex(context, 1, i, &entry, 0) == 0 && entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    entry.gid.raw[10] == 0xff && entry.gid.raw[11] == 0xff) {
			gid_index = i;
			return;
		}
	}
	die("gid");
}

static void
open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (list == NULL || list[0] == NULL || (context = ibv_open_device(list[0])) == NULL)
		die("device");
	find_gid();
	pd = ibv_alloc_pd(context);
	channel = ibv_create_comp_channel(context);
	cq = ibv_create_cq(context, 4 * DEPTH, NULL, channel, 0);
	region = aligned_alloc(4096, (REGION + 4095) & ~4095);
	if (pd == NULL || channel == NULL || cq == NULL || region == NULL)
		die("cq");
	mr = ibv_reg_mr(pd, region, REGION, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (mr == NULL)
		die("mr");
}

static void
make_qp(int which)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = which == QP_UD ? IBV_QPT_UD : IBV_QPT_RC,
		.sq_sig_all = 1,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = INTEROP_QKEY, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | (which == QP_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);

	qps[which] = ibv_create_qp(pd, &init);
	if (qps[which] == NULL || ibv_modify_qp(qps[which], &attr, mask) != 0)
		die("qp");
}

static struct ibv_ah_attr
path(uint16_t sport)
{
	return (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = 1,
		.grh = { .dgid = peer_gid,
			 .sgid_index = (uint8_t)gid_index,
			 .hop_limit = 64,
			 .flow_label = verbs_flow_label(sport),
			 .traffic_class = verbs_traffic_class(INTEROP_PRIO) },
	};
}

static void
connect_rc(int which, uint32_t peer_qpn, uint16_t sport)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = peer_qpn,
				   .rq_psn = 0,
				   .max_dest_rd_atomic = 1,
				   .min_rnr_timer = 12,
				   .ah_attr = path(sport) };
	struct ibv_qp_attr rts = {
		.qp_state = IBV_QPS_RTS, .sq_psn = 0, .timeout = 16, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1
	};

	if (ibv_modify_qp(qps[which], &rtr,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0 ||
	    ibv_modify_qp(qps[which], &rts,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				  IBV_QP_MAX_QP_RD_ATOMIC) != 0)
		die("connect");
}

static void
start_ud(void)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR }, rts = { .qp_state = IBV_QPS_RTS };
	struct ibv_ah_attr attr = path(INTEROP_SPORT_IN);

	ah = ibv_create_ah(pd, &attr);
	if (ah == NULL || ibv_modify_qp(qps[QP_UD], &rtr, IBV_QP_STATE) != 0 ||
	    ibv_modify_qp(qps[QP_UD], &rts, IBV_QP_STATE | IBV_QP_SQ_PSN) != 0)
		die("ud");
}

/* A receive for every message that will arrive, and for datagrams. wr_id is the buffer's number. */
static void
post_receives(void)
{
	for (uint32_t i = 0; i < INTEROP_MESSAGES + INTEROP_DATAGRAMS; i++) {
		bool ud = i >= INTEROP_MESSAGES;
		struct ibv_sge sge = { (uintptr_t)region + (INTEROP_MESSAGES + i / 2) * INTEROP_ROOM +
					       i % 2 * (INTEROP_ROOM / 2),
				       INTEROP_ROOM / 2, mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		if (ibv_post_recv(qps[ud ? QP_UD : QP_IN], &wr, &bad) != 0)
			die("post_recv");
	}
}

static void
post_message(uint32_t message, uint32_t peer_qpn, bool datagram)
{
	uint32_t bytes = datagram ? INTEROP_DATAGRAM_BYTES : interop_bytes(message);
	uint8_t *at = region + OUT_AT + message * INTEROP_ROOM;
	struct ibv_sge sge = { (uintptr_t)at, bytes, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = message,
		.sg_list = &sge,
		.num_sge = 1,
		.imm_data = htonl(message),
		.opcode = datagram || message % 2 != 0 ? IBV_WR_SEND_WITH_IMM : IBV_WR_RDMA_WRITE_WITH_IMM,
	}, *bad;

	if (datagram) {
		wr.wr.ud.ah = ah;
		wr.wr.ud.remote_qpn = peer_qpn;
		wr.wr.ud.remote_qkey = INTEROP_QKEY;
	} else {
		for (uint32_t i = 0; i < bytes; i++)
			at[i] = interop_byte(1, message, i);
		wr.wr.rdma.remote_addr = (uint64_t)message * INTEROP_ROOM;
		wr.wr.rdma.rkey = 1;
	}
	if (ibv_post_send(qps[datagram ? QP_UD : QP_OUT], &wr, &bad) != 0)
		die("post_send");
}

/* A WRITE has been placed by its sender, a SEND in the receive's buffer. */
static void
verify(const struct ibv_wc *wc)
{
	uint32_t message = ntohl(wc->imm_data);
	const uint8_t *at = message % 2 == 0 ? region + message * INTEROP_ROOM
					     : region + (INTEROP_MESSAGES + wc->wr_id / 2) * INTEROP_ROOM +
						       wc->wr_id % 2 * (INTEROP_ROOM / 2);

	wrong += message != received || wc->byte_len != interop_bytes(message);
	for (uint32_t i = 0; i < interop_bytes(message); i++)
		wrong += at[i] != interop_byte(0, message, i);
	received++;
}

static void
completed(const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS) {
		dprintf(3, "bad completion: %s\n", ibv_wc_status_str(wc->status));
		exit(1);
	}
	if (wc->qp_num == qps[QP_UD]->qp_num) {
		datagrams_sent += wc->opcode == IBV_WC_SEND;
		datagrams_received += wc->opcode == IBV_WC_RECV;
	} else if (wc->qp_num == qps[QP_OUT]->qp_num) {
		sent++;
	} else {
		verify(wc);
	}
}

static void
run(void)
{
	while (sent < INTEROP_MESSAGES || received < INTEROP_MESSAGES || datagrams_sent < INTEROP_DATAGRAMS) {
		struct ibv_wc wc;
		struct ibv_cq *which;
		void *ctx;

		if (ibv_req_notify_cq(cq, 0) != 0)
			die("notify");
		while (ibv_poll_cq(cq, 1, &wc) > 0)
			completed(&wc);
		if (sent == INTEROP_MESSAGES && received == INTEROP_MESSAGES && datagrams_sent == INTEROP_DATAGRAMS)
			return;
		if (ibv_get_cq_event(channel, &which, &ctx) != 0)
			die("event");
		ibv_ack_cq_events(which, 1);
	}
}

int
main(void)
{
	uint32_t address, peer[QPS];
	struct ibv_wc wc;
	char line[128];
	FILE *rig = fdopen(3, "r");

	fcntl(3, F_SETFL, O_RDWR); /* it comes non-blocking */
	open_device();
	for (int i = 0; i < QPS; i++)
		make_qp(i);
	dprintf(3, "hello %u %u %u %u %llu\n", qps[QP_OUT]->qp_num, qps[QP_IN]->qp_num, qps[QP_UD]->qp_num, mr->rkey,
		(unsigned long long)(uintptr_t)region);
	if (rig == NULL || fgets(line, sizeof(line), rig) == NULL ||
	    sscanf(line, "go %u %u %u %u", &address, &peer[QP_OUT], &peer[QP_IN], &peer[QP_UD]) != 4)
		die("go");
	address = htonl(address);
	peer_gid.raw[10] = peer_gid.raw[11] = 0xff;
	memcpy(peer_gid.raw + 12, &address, sizeof(address));
	connect_rc(QP_OUT, peer[QP_OUT], INTEROP_SPORT_IN);
	connect_rc(QP_IN, peer[QP_IN], INTEROP_SPORT_OUT);
	start_ud();
	post_receives();
	dprintf(3, "ready\n");
	for (uint32_t i = 0; i < INTEROP_MESSAGES; i++)
		post_message(i, 0, false);
	for (uint32_t i = 0; i < INTEROP_DATAGRAMS; i++)
		post_message(i, peer[QP_UD], true);
	run();
	dprintf(3, "rc %u %u %u\n", sent, received, wrong);
	if (fgets(line, sizeof(line), rig) == NULL) /* "end": all that the rig sent has arrived or is lost */
		die("end");
	while (ibv_poll_cq(cq, 1, &wc) > 0)
		completed(&wc);
	dprintf(3, "ud %u %u\n", datagrams_sent, datagrams_received);
	while (fgets(line, sizeof(line), rig) != NULL)
		; /* until the rig, which has read that, lets go */
	return 0;
}

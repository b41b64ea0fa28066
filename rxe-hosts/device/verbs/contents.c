/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams with contents, out and in (pool.h). Their times are those at which the kernel saw their frames (stamps.h). Where it
 * does not tell, a datagram has left when the call that posts it returns, and is there when its completion is seen.
 */
#include <endian.h>
#include <errno.h>
#include <string.h>

#include "rxe-hosts/device/verbs/host.h"

#define CQ_BURST 32
#define GRH_SOURCE 32 /* of RoCE v2 over IPv4: the source address of the IP header at its end */

/* @return when the kernel saw its frame, else a time that this program knows */
static uint64_t
stamp_ps(struct verbs_host *host, uint32_t imm, const void *contents, uint16_t bytes, bool out, uint64_t otherwise_ps)
{
	const struct stamp_key key = stamp_key_of(imm, contents, bytes, out);
	uint64_t time_ns = host->pool.tap.fd >= 0 ? stamps_take(host->pool.tap.stamps, &key) : 0;

	host->pool.unstamped += time_ns == 0;
	return time_ns != 0 ? run_clock_at_ps(host->config.clock, time_ns) : otherwise_ps;
}

/* wr_id: slot, and whether it is one of those to receive. */
static uint64_t
wr_id_of(uint32_t slot, bool receives)
{
	return (uint64_t)slot << 1 | receives;
}

static uint8_t *
received_at(const struct verbs_pool *pool, uint32_t slot)
{
	return pool->memory + (size_t)VERBS_POOL_SENDS * DEVICE_UD_BYTES + (size_t)slot * VERBS_POOL_RECEIVE_BYTES;
}

int
verbs_pool_room(struct verbs_host *host, uint32_t slot)
{
	struct verbs_pool *pool = &host->pool;
	struct ibv_sge sge = { .addr = (uintptr_t)received_at(pool, slot),
			       .length = VERBS_POOL_RECEIVE_BYTES,
			       .lkey = pool->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id_of(slot, true), .sg_list = &sge, .num_sge = 1 };

	return -ibv_post_recv(pool->qp, &wr, &bad);
}

void
verbs_ud_receive(struct device *dev, uint16_t nic)
{
	struct verbs_host *host = verbs_of(dev);

	if (host->pool.nread != 0 && verbs_pool_room(host, host->pool.read[--host->pool.nread]) != 0)
		verbs_fail(host, true, "%s: cannot post a receive for datagrams", verbs_host_name(host));
}

static struct ibv_ah *
make_ah(const struct verbs_host *host, const struct datagram *datagram)
{
	struct flow directed = host->config.flows->flows[datagram->flow];
	struct ibv_ah_attr address;

	if (datagram->reply)
		directed.dst_ip = directed.src_ip;
	verbs_address(host, &directed, &address);
	return ibv_create_ah(host->pd, &address);
}

/* A handle is made once for each flow and direction. */
static struct ibv_ah *
ah_of(struct verbs_host *host, const struct datagram *datagram)
{
	struct ibv_ah **kept = &host->pool.ahs[2 * datagram->flow + datagram->reply];

	if (*kept == NULL)
		*kept = make_ah(host, datagram);
	return *kept;
}

static void
release(struct verbs_pool *pool, uint32_t slot)
{
	pool->free_sends[pool->nfree_sends++] = (uint16_t)slot;
}

static int
post(struct verbs_host *host, const struct datagram *datagram, uint32_t slot, uint32_t port)
{
	struct verbs_pool *pool = &host->pool;
	struct datagram *send = &pool->sends[slot];
	uint8_t *contents = pool->memory + (size_t)slot * DEVICE_UD_BYTES;
	struct ibv_sge sge = { .addr = (uintptr_t)contents, .length = datagram->bytes, .lkey = pool->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id_of(slot, false),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htobe32(verbs_pool_imm(datagram)),
		.wr.ud = { .ah = ah_of(host, datagram), .remote_qpn = datagram->qpn, .remote_qkey = VERBS_UD_QKEY },
	};
	int rc;

	if (wr.wr.ud.ah == NULL)
		return -errno;
	memcpy(contents, datagram->contents, datagram->bytes);
	*send = *datagram;
	send->contents = NULL;
	rc = -ibv_post_send(pool->senders[port], &wr, &bad);
	if (rc != 0)
		return rc;
	verbs_look(host);
	send->left_ps = verbs_now_ps(host);
	return 0;
}

int
verbs_pool_post(struct verbs_host *host, const struct datagram *datagram)
{
	struct verbs_pool *pool = &host->pool;
	uint32_t port, slot;
	int rc;

	if (datagram->bytes == 0 || datagram->bytes > DEVICE_UD_BYTES)
		return -EINVAL;
	if (datagram->ttl != 0)
		return verbs_trace_post(host, datagram);
	port = pool->by_label ? 0 : verbs_ports_find(&pool->ports, host->config.flows->flows[datagram->flow].sport);
	if (pool->qp == NULL || port == VERBS_NO_PORT)
		return -EADDRNOTAVAIL;
	if (pool->nfree_sends == 0)
		return -ENOSPC;
	slot = pool->free_sends[--pool->nfree_sends];
	rc = post(host, datagram, slot, port);
	if (rc != 0)
		release(pool, slot);
	return rc;
}

static void
sent(struct verbs_host *host, uint32_t slot, bool left)
{
	struct datagram datagram = host->pool.sends[slot];

	datagram.left_ps = stamp_ps(host, verbs_pool_imm(&datagram), host->pool.memory + (size_t)slot * DEVICE_UD_BYTES,
				    datagram.bytes, true, datagram.left_ps);
	release(&host->pool, slot);
	if (left && datagram.signaled && host->client.departed != NULL)
		host->client.departed(host->client.ctx, &datagram);
}

/* @return false: it is of no flow that ends here, or does not come from its other end */
static bool
is_ours(const struct verbs_host *host, const struct datagram *datagram, const uint8_t *grh)
{
	const struct flow_table *flows = host->config.flows;
	const struct flow *flow;
	uint32_t source;

	if (datagram->flow >= flows->count)
		return false;
	flow = &flows->flows[datagram->flow];
	memcpy(&source, grh + GRH_SOURCE, sizeof(source));
	return (datagram->reply ? flow->src_node : flow->dst_node) == host->config.node &&
	       be32toh(source) == (datagram->reply ? flow->dst_ip : flow->src_ip);
}

static void
received(struct verbs_host *host, const struct ibv_wc *wc, uint32_t slot)
{
	const uint8_t *grh = received_at(&host->pool, slot);
	uint32_t imm = be32toh(wc->imm_data);
	struct datagram datagram = {
		.flow = imm & ~VERBS_IMM_REPLY,
		.contents = grh + VERBS_GRH_BYTES,
		.qpn = wc->src_qp,
		.bytes = (uint16_t)(wc->byte_len - VERBS_GRH_BYTES),
		.type = PKT_UD,
		.reply = imm & VERBS_IMM_REPLY,
	};

	host->pool.read[host->pool.nread++] = slot;
	if (!(wc->wc_flags & IBV_WC_WITH_IMM) || wc->byte_len < VERBS_GRH_BYTES || datagram.bytes > DEVICE_UD_BYTES ||
	    !is_ours(host, &datagram, grh) || host->client.received == NULL) {
		host->pool.strange++;
		verbs_ud_receive(&host->dev, 0);
		return;
	}
	host->client.received(host->client.ctx, &datagram,
			      stamp_ps(host, imm, datagram.contents, datagram.bytes, false, verbs_now_ps(host)));
}

void
verbs_pool_completions(void *ctx, uint32_t events)
{
	struct verbs_host *host = ctx;
	struct ibv_wc wcs[CQ_BURST];
	struct ibv_cq *cq;
	void *cq_ctx;
	int count;

	if (ibv_get_cq_event(host->pool.events, &cq, &cq_ctx) != 0)
		return;
	ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(cq, 0) != 0)
		verbs_fail(host, true, "%s: no more completion events", verbs_host_name(host));
	while ((count = ibv_poll_cq(cq, CQ_BURST, wcs)) > 0) {
		tap_drain(&host->pool.tap); /* frames are seen before their completions */
		verbs_look(host);
		for (int i = 0; i < count; i++) {
			uint32_t slot = (uint32_t)(wcs[i].wr_id >> 1);
			bool ok = wcs[i].status == IBV_WC_SUCCESS;

			if ((wcs[i].wr_id & 1) == 0)
				sent(host, slot, ok);
			else if (ok)
				received(host, &wcs[i], slot);
		}
	}
	if (count < 0)
		verbs_fail(host, true, "%s: the completion queue of datagrams is of no use any more",
			   verbs_host_name(host));
}

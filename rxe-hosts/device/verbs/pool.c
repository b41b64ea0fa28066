/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "rxe-hosts/device/verbs/host.h"
#include "rxe-hosts/device/verbs/label.h"
#include "rxe-hosts/device/verbs/raw_ud.h"

/*
 * UD SENDs with contents, by any UDP source port that a flow of this host has (R-Pingmesh's probes). One QP receives,
 * whose number the peers know; one QP per port sends. An RNIC takes the port from the address handle's flow label, so
 * that one QP sends by all ports. rdma_rxe gives a UD QP the port that its number hashes to, so that QPs are opened,
 * one number after the other, until each port has one. The immediate identifies flow and direction of a datagram: a
 * completion has no ports.
 */

#define VERBS_IMM_REPLY 0x80000000u /* of the immediate of datagrams with contents; the flow is in the other bits */
#define VERBS_POOL_SENDS 256        /* datagrams that wait to leave */
#define VERBS_POOL_EXPIRING 64
#define VERBS_POOL_RECEIVE_BYTES (VERBS_GRH_BYTES + DEVICE_UD_BYTES)
#define VERBS_POOL_QUEUE 8 /* of them on the QP of one port */

/* A datagram with a TTL, until a switch reports that it ended there. */
struct verbs_expiring {
	struct datagram datagram;
	uint16_t number; /* its PSN, and IP identification */
	bool is_kept;
	uint8_t contents[DEVICE_UD_BYTES];
};

struct verbs_pool {
	struct verbs_ports ports;
	bool by_label;           /* ports[0] sends by all */
	struct ibv_qp **senders; /* [ports.count] */
	struct ibv_srq *srq;     /* of those that only send: they need no queue of their own */
	struct ibv_qp *qp;       /* receives */
	struct ibv_comp_channel *events;
	struct ibv_cq *cq;
	struct loop_watch watch;
	struct ibv_mr *mr;
	uint8_t *memory;     /* VERBS_POOL_SENDS to send, behind them `receives` with their GRHs */
	struct ibv_ah **ahs; /* [2 * flows] of a flow, and of its replies */
	struct datagram sends[VERBS_POOL_SENDS];
	uint16_t free_sends[VERBS_POOL_SENDS];
	uint32_t nfree_sends;
	uint32_t *read; /* [receives] slots whose contents are read, and that are not posted again yet */
	uint32_t receives, nread;
	struct verbs_expiring expiring[VERBS_POOL_EXPIRING]; /* the last of them */
	uint32_t nexpiring;                                  /* counted */
	int icmp, raw;                                       /* sockets of their reports and their packets; -1: none */
	struct loop_watch icmp_watch;
	struct tap tap;     /* of soft-RoCE: times of the kernel */
	uint64_t strange;   /* datagrams that are of no flow of this host */
	uint64_t unstamped; /* datagrams timed by this program, not by the kernel */
};

static inline uint32_t
imm_of(const struct datagram *datagram)
{
	return datagram->flow | (datagram->reply ? VERBS_IMM_REPLY : 0);
}

static int verbs_pool_room(struct verbs_host *host, uint32_t slot);
static void verbs_pool_completions(void *ctx, uint32_t events);
static int verbs_trace_post(struct verbs_host *host, const struct datagram *datagram);
static int verbs_trace_open(struct verbs_host *host);
static void verbs_trace_close(struct verbs_host *host);

/* Only rdma_rxe names the network device below it here. @return false: another driver */
static bool
rxe_netdev(const struct verbs_host *host, char name[IF_NAMESIZE])
{
	char path[256];
	FILE *file;
	bool read;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/parent", verbs_host_name(host));
	file = fopen(path, "re");
	if (file == NULL)
		return false;
	read = fgets(name, IF_NAMESIZE, file) != NULL;
	fclose(file);
	if (read)
		name[strcspn(name, "\n")] = '\0';
	return read;
}

/* Without the kernel's timestamps, this program's times are late by its wake-up delay. */
static void
open_tap(struct verbs_host *host, const char *netdev)
{
	int rc = tap_open(&host->pool->tap, netdev);

	if (rc != 0)
		log_warning("%s: no times of the frames that cross %s: %s; those of completions are coarser",
			    verbs_host_name(host), netdev, strerror(-rc));
}

static struct ibv_qp *
create(const struct verbs_host *host, uint32_t sends, uint32_t receives)
{
	struct ibv_qp_init_attr init = {
		.send_cq = host->pool->cq,
		.recv_cq = host->pool->cq,
		.srq = receives == 0 ? host->pool->srq : NULL,
		.cap = { .max_send_wr = sends, .max_recv_wr = receives, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1,
	};

	return ibv_create_qp(host->pd, &init);
}

/* Opens QPs until each port has one: their numbers follow each other. */
static int
walk(struct verbs_host *host)
{
	struct verbs_pool *pool = host->pool;
	uint64_t began_ns = clock_now_ns();
	uint32_t missing = pool->ports.count, opened = 0;

	for (; missing != 0 && opened < VERBS_PORTS_WALK; opened++) {
		struct ibv_qp *qp = create(host, VERBS_POOL_QUEUE, 0);
		uint32_t port = qp != NULL ? verbs_ports_find(&pool->ports, verbs_rxe_sport(qp->qp_num)) : VERBS_NO_PORT;

		if (qp == NULL)
			return -errno;
		if (port == VERBS_NO_PORT || pool->senders[port] != NULL) {
			ibv_destroy_qp(qp);
			continue;
		}
		pool->senders[port] = qp;
		missing--;
	}
	log_info("%s: %u QPs opened for UD SENDs by %u UDP source ports, in %.0f ms", verbs_host_name(host), opened,
		 pool->ports.count - missing, (double)(clock_now_ns() - began_ns) / 1e6);
	return missing == 0 ? 0 : -EADDRNOTAVAIL;
}

static int
make_senders(struct verbs_host *host)
{
	struct verbs_pool *pool = host->pool;
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = 1, .max_sge = 1 } };
	char netdev[IF_NAMESIZE];
	int rc;

	pool->by_label = !rxe_netdev(host, netdev);
	pool->senders = calloc(pool->ports.count + 1u, sizeof(struct ibv_qp *));
	pool->srq = ibv_create_srq(host->pd, &srq);
	if (pool->senders == NULL || pool->srq == NULL)
		return -ENOMEM;
	if (pool->by_label) {
		pool->senders[0] = create(host, VERBS_POOL_SENDS, 0);
		return pool->senders[0] != NULL ? verbs_ud_start(host, pool->senders[0]) : -errno;
	}
	open_tap(host, netdev);
	rc = walk(host);
	for (uint32_t i = 0; i < pool->ports.count && rc == 0; i++)
		rc = verbs_ud_start(host, pool->senders[i]);
	return rc;
}

static int
make_queues(struct verbs_host *host, uint32_t receives)
{
	struct verbs_pool *pool = host->pool;
	size_t bytes = (size_t)VERBS_POOL_SENDS * DEVICE_UD_BYTES + (size_t)receives * VERBS_POOL_RECEIVE_BYTES;

	pool->receives = receives;
	pool->memory = calloc(1, bytes);
	pool->read = calloc(receives, sizeof(*pool->read));
	pool->ahs = calloc(2u * host->config.flows->count + 1, sizeof(struct ibv_ah *));
	pool->events = ibv_create_comp_channel(host->verbs);
	if (pool->memory == NULL || pool->read == NULL || pool->ahs == NULL || pool->events == NULL)
		return -ENOMEM;
	pool->mr = ibv_reg_mr(host->pd, pool->memory, bytes, IBV_ACCESS_LOCAL_WRITE);
	pool->cq = ibv_create_cq(host->verbs, (int)(VERBS_POOL_SENDS + receives), NULL, pool->events, 0);
	if (pool->mr == NULL || pool->cq == NULL || ibv_req_notify_cq(pool->cq, 0) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < VERBS_POOL_SENDS; i++)
		pool->free_sends[pool->nfree_sends++] = (uint16_t)i;
	pool->watch = (struct loop_watch){ .fd = pool->events->fd, .ready = verbs_pool_completions, .ctx = host };
	return loop_watch(host->config.loop, &pool->watch, EPOLLIN);
}

static int
make(struct verbs_host *host, uint32_t receives)
{
	int rc = verbs_ports_init(&host->pool->ports, host->config.flows, host->config.node);

	if (rc == 0)
		rc = make_queues(host, receives);
	if (rc == 0)
		rc = verbs_trace_open(host);
	return rc == 0 ? make_senders(host) : rc;
}

/* The QP that receives: room for as many datagrams as ever. */
static int
receive(struct verbs_host *host)
{
	struct verbs_pool *pool = host->pool;
	int rc;

	if (pool->qp != NULL)
		ibv_destroy_qp(pool->qp);
	pool->qp = create(host, 1, pool->receives);
	rc = pool->qp != NULL ? verbs_ud_start(host, pool->qp) : -errno;
	pool->nread = 0;
	for (uint32_t slot = 0; slot < pool->receives && rc == 0; slot++)
		rc = verbs_pool_room(host, slot);
	return rc;
}

int64_t
verbs_ud_open(struct device *dev, uint16_t nic, uint32_t receives)
{
	struct verbs_host *host = verbs_of(dev);
	int rc;

	if (host->pool == NULL) {
		host->pool = calloc(1, sizeof(*host->pool));
		if (host->pool == NULL)
			return -ENOMEM;
		host->pool->tap.fd = host->pool->icmp = host->pool->raw = -1;
	}
	rc = host->pool->cq == NULL ? make(host, receives) : 0;

	if (rc == 0)
		rc = receive(host);
	if (rc == 0)
		return host->pool->qp->qp_num;
	verbs_fail(host, true, "%s: no QPs for UD SENDs by %u UDP source ports: %s", verbs_host_name(host),
		   host->pool->ports.count, strerror(-rc));
	return rc;
}

void
verbs_pool_fini(struct verbs_host *host)
{
	struct verbs_pool *pool = host->pool;

	if (pool == NULL)
		return;
	if (pool->qp != NULL)
		ibv_destroy_qp(pool->qp);
	for (uint32_t i = 0; pool->senders != NULL && i < pool->ports.count + 1u; i++)
		if (pool->senders[i] != NULL)
			ibv_destroy_qp(pool->senders[i]);
	for (uint32_t i = 0; pool->ahs != NULL && i < 2 * host->config.flows->count; i++)
		if (pool->ahs[i] != NULL)
			ibv_destroy_ah(pool->ahs[i]);
	if (pool->srq != NULL)
		ibv_destroy_srq(pool->srq);
	if (pool->cq != NULL)
		ibv_destroy_cq(pool->cq);
	if (pool->events != NULL)
		ibv_destroy_comp_channel(pool->events);
	if (pool->mr != NULL)
		ibv_dereg_mr(pool->mr);
	verbs_ports_fini(&pool->ports);
	tap_close(&pool->tap);
	verbs_trace_close(host);
	free(pool->senders);
	free(pool->memory);
	free(pool->read);
	free(pool->ahs);
	free(pool);
}

/*
 * Datagrams with contents, sent and received. Their times are the kernel's timestamps of their frames (stamps.h).
 * Without timestamps, a datagram has left when the call that posts it returns, and is there when its completion is
 * seen.
 */

#define CQ_BURST 32
#define GRH_SOURCE 32 /* of RoCE v2 over IPv4: the source address of the IP header at its end */

/* @return when the kernel saw its frame, else a time that this program knows */
static uint64_t
stamp_ps(struct verbs_host *host, uint32_t imm, const void *contents, uint16_t bytes, bool out, uint64_t otherwise_ps)
{
	const struct stamp_key key = stamp_key_of(imm, contents, bytes, out);
	uint64_t time_ns = host->pool->tap.fd >= 0 ? stamps_take(host->pool->tap.stamps, &key) : 0;

	host->pool->unstamped += time_ns == 0;
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

/* Posts a slot to receive. @return 0 or negative errno */
static int
verbs_pool_room(struct verbs_host *host, uint32_t slot)
{
	struct verbs_pool *pool = host->pool;
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

	if (host->pool->nread != 0 && verbs_pool_room(host, host->pool->read[--host->pool->nread]) != 0)
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
	struct ibv_ah **kept = &host->pool->ahs[2 * datagram->flow + datagram->reply];

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
	struct verbs_pool *pool = host->pool;
	struct datagram *send = &pool->sends[slot];
	uint8_t *contents = pool->memory + (size_t)slot * DEVICE_UD_BYTES;
	struct ibv_sge sge = { .addr = (uintptr_t)contents, .length = datagram->bytes, .lkey = pool->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = wr_id_of(slot, false),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htobe32(imm_of(datagram)),
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
	struct verbs_pool *pool = host->pool;
	uint32_t port, slot;
	int rc;

	if (datagram->bytes == 0 || datagram->bytes > DEVICE_UD_BYTES)
		return -EINVAL;
	if (pool == NULL)
		return -EADDRNOTAVAIL;
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
	struct datagram datagram = host->pool->sends[slot];

	datagram.left_ps = stamp_ps(host, imm_of(&datagram), host->pool->memory + (size_t)slot * DEVICE_UD_BYTES,
				    datagram.bytes, true, datagram.left_ps);
	release(host->pool, slot);
	if (left && datagram.signaled && host->client.departed != NULL)
		host->client.departed(host->client.ctx, &datagram);
}

/* @return false: it is of no flow that ends here, or not from the flow's other end */
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
	const uint8_t *grh = received_at(host->pool, slot);
	uint32_t imm = be32toh(wc->imm_data);
	struct datagram datagram = {
		.flow = imm & ~VERBS_IMM_REPLY,
		.contents = grh + VERBS_GRH_BYTES,
		.qpn = wc->src_qp,
		.bytes = (uint16_t)(wc->byte_len - VERBS_GRH_BYTES),
		.type = PKT_UD,
		.reply = imm & VERBS_IMM_REPLY,
	};

	host->pool->read[host->pool->nread++] = slot;
	if (!(wc->wc_flags & IBV_WC_WITH_IMM) || wc->byte_len < VERBS_GRH_BYTES || datagram.bytes > DEVICE_UD_BYTES ||
	    !is_ours(host, &datagram, grh) || host->client.received == NULL) {
		host->pool->strange++;
		verbs_ud_receive(&host->dev, 0);
		return;
	}
	host->client.received(host->client.ctx, &datagram,
			      stamp_ps(host, imm, datagram.contents, datagram.bytes, false, verbs_now_ps(host)));
}

static void
verbs_pool_completions(void *ctx, uint32_t events)
{
	struct verbs_host *host = ctx;
	struct ibv_wc wcs[CQ_BURST];
	struct ibv_cq *cq;
	void *cq_ctx;
	int count;

	if (ibv_get_cq_event(host->pool->events, &cq, &cq_ctx) != 0)
		return;
	ibv_ack_cq_events(cq, 1);
	if (ibv_req_notify_cq(cq, 0) != 0)
		verbs_fail(host, true, "%s: no more completion events", verbs_host_name(host));
	while ((count = ibv_poll_cq(cq, CQ_BURST, wcs)) > 0) {
		tap_drain(&host->pool->tap); /* frames are seen before their completions */
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

/*
 * Datagrams with a TTL, sent by a raw socket (raw_ud.h), and their ends: the switch where one ends reports it by ICMP,
 * which another raw socket receives. Reports are matched by addresses, source port and IP identification.
 */

#define MESSAGE_BYTES 256

static int
verbs_trace_post(struct verbs_host *host, const struct datagram *datagram)
{
	struct verbs_pool *pool = host->pool;
	const struct flow *flow = &host->config.flows->flows[datagram->flow];
	struct verbs_expiring *kept = &pool->expiring[pool->nexpiring % VERBS_POOL_EXPIRING];
	uint16_t number = (uint16_t)(pool->nexpiring % UINT16_MAX + 1); /* 0 would be the kernel's to choose */
	const struct raw_ud ud = {
		.src_ip = host->config.ip,
		.dst_ip = datagram->reply ? flow->src_ip : flow->dst_ip,
		.sport = flow->sport,
		.ip_id = number,
		.tos = verbs_traffic_class(flow->prio),
		.ttl = datagram->ttl,
		.src_qpn = pool->qp->qp_num,
		.dst_qpn = datagram->qpn,
		.qkey = VERBS_UD_QKEY,
		.psn = number,
		.imm = imm_of(datagram),
		.contents = datagram->contents,
		.bytes = datagram->bytes,
	};
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(ud.dst_ip) };
	uint8_t bytes[RAW_UD_BYTES];
	size_t size = raw_ud_build(bytes, &ud);

	if (pool->raw < 0)
		return -ENOTSUP;
	if (sendto(pool->raw, bytes, size, MSG_DONTWAIT, (const struct sockaddr *)&to, sizeof(to)) != (ssize_t)size)
		return -errno;
	kept->datagram = *datagram;
	kept->number = number;
	kept->is_kept = true;
	memcpy(kept->contents, datagram->contents, datagram->bytes);
	pool->nexpiring++;
	return 0;
}

static bool
is_of(const struct verbs_host *host, const struct verbs_expiring *kept, const struct icmp_expired *expired)
{
	const struct flow *flow = &host->config.flows->flows[kept->datagram.flow];
	uint32_t to = kept->datagram.reply ? flow->src_ip : flow->dst_ip;

	return kept->is_kept && expired->src_ip == host->config.ip && expired->dst_ip == to &&
	       expired->sport == flow->sport && expired->ip_id == kept->number;
}

static void
report_hop(struct verbs_host *host, const struct icmp_expired *expired)
{
	struct verbs_pool *pool = host->pool;

	for (uint32_t i = 0; i < VERBS_POOL_EXPIRING; i++) {
		struct verbs_expiring *kept = &pool->expiring[i];
		struct datagram datagram = kept->datagram;

		if (!is_of(host, kept, expired))
			continue;
		kept->is_kept = false;
		datagram.type = PKT_EXPIRED;
		datagram.contents = kept->contents;
		datagram.arg = host->config.interface_of(host->config.interface_ctx, expired->from_ip);
		if (datagram.arg != UINT32_MAX && host->client.received != NULL)
			host->client.received(host->client.ctx, &datagram, verbs_now_ps(host));
		return;
	}
}

static void
icmp_ready(void *ctx, uint32_t events)
{
	struct verbs_host *host = ctx;
	uint8_t bytes[MESSAGE_BYTES];
	struct icmp_expired expired;
	ssize_t got;

	while ((got = recv(host->pool->icmp, bytes, sizeof(bytes), MSG_DONTWAIT)) >= 0) {
		verbs_look(host);
		if (icmp_expired_read(&expired, bytes, (size_t)got))
			report_hop(host, &expired);
	}
}

/* Opens the sockets that send packets with a TTL and receive the reports on them. @return 0 or negative errno */
/* Who may not open them traces no paths. */
static int
verbs_trace_open(struct verbs_host *host)
{
	struct verbs_pool *pool = host->pool;

	pool->icmp = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_ICMP);
	pool->raw = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);
	if (pool->icmp < 0 || pool->raw < 0) {
		log_warning("%s: paths are not traced, for want of raw sockets: %s", verbs_host_name(host),
			    strerror(errno));
		return 0;
	}
	pool->icmp_watch = (struct loop_watch){ .fd = pool->icmp, .ready = icmp_ready, .ctx = host };
	return loop_watch(host->config.loop, &pool->icmp_watch, EPOLLIN);
}

static void
verbs_trace_close(struct verbs_host *host)
{
	if (host->pool->icmp >= 0)
		close(host->pool->icmp);
	if (host->pool->raw >= 0)
		close(host->pool->raw);
}

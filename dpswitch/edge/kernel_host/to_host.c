/* SPDX-License-Identifier: BSD-3-Clause */
/* Toward the host: arrivals become bytes again, and go to the port at once, or are offered to it until it takes them. */
#include <stdio.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_prefetch.h>

#include "common/units.h"
#include "dpswitch/edge/kernel_host/state.h"

static bool
is_lossless(const struct kernel_host *host, uint8_t prio)
{
	return host->edge->config.lossless >> prio & 1;
}

/* Drops are reported to polling packets: also those of a host that finds a wrong ICRC, which the NIC sees as well. */
void
kernel_host_drop(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *p, enum rec_drop reason)
{
	telem_drop(&nic->telem, p, reason, p->time_ps);
	host->node.count.dropped_packets++;
	host->node.count.dropped_bytes += p->wire_bytes;
	body_release(host->node.bodies, p);
}

/* A class without PFC may lose the frames that a slow host leaves; one with PFC was paused in time. */
static bool
has_room(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *p)
{
	uint64_t held_bytes = nic->to_host.hold.bytes + p->wire_bytes;

	if (!is_lossless(host, p->prio))
		return held_bytes <= nic->to_host.xoff_bytes;
	if (held_bytes <= nic->to_host.limit_bytes)
		return true;
	if (host->node.status != NODE_NO_BUFFER)
		snprintf(host->node.error, sizeof(host->node.error),
			 "%s:%u: the host takes no frames and a lossless class overran the %llu B held for it",
			 host->node.topo->nodes[host->node.id].name, nic->index + 1u,
			 (unsigned long long)nic->to_host.limit_bytes);
	host->node.status = NODE_NO_BUFFER;
	return false;
}

/*
 * Ends a packet that is not for this port of the host: control packets, packets for another host, or a link that is
 * down.
 * @return whether it ended
 */
static bool
ends(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *p)
{
	const struct flow *flow = &host->node.flows->flows[p->flow];
	struct node_counters *count = &host->node.count;

	if (kernel_host_control[p->type].arrived != NULL) {
		kernel_host_control[p->type].arrived(host, nic, p);
		count->consumed_packets++;
		count->consumed_bytes += p->wire_bytes;
	} else if ((p->flags & PKT_REVERSE ? flow->src_node : flow->dst_node) != host->node.id) {
		kernel_host_drop(host, nic, p, REC_DROP_NO_ROUTE);
	} else if (!nic->up) {
		kernel_host_drop(host, nic, p, REC_DROP_LINK_DOWN);
	} else {
		return false;
	}
	return true;
}

static void
hold(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *p)
{
	if (!has_room(host, nic, p) || !fifo_push(&nic->to_host.hold, p))
		kernel_host_drop(host, nic, p, is_lossless(host, p->prio) ? REC_DROP_NO_BUFFER : REC_DROP_QUEUE_FULL);
	else if (p->flags & PKT_CORRUPT)
		telem_drop(&nic->telem, p, REC_DROP_CORRUPT, p->time_ps);
	if (nic->to_host.hold.bytes > nic->count.held_max_bytes)
		nic->count.held_max_bytes = nic->to_host.hold.bytes;
}

/*
 * A frame for a packet that never had bytes. @return NULL with *retry if there is no mbuf now, else it cannot be made
 */
static struct rte_mbuf *
build(struct kernel_host *host, const struct pkt *p, bool *retry)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(host->edge->pool);
	size_t size_bytes;

	*retry = mbuf == NULL;
	if (mbuf == NULL)
		return NULL;
	size_bytes = edge_frame(host->edge, p, rte_pktmbuf_mtod(mbuf, uint8_t *), rte_pktmbuf_tailroom(mbuf));
	if (size_bytes != 0) {
		rte_pktmbuf_append(mbuf, (uint16_t)size_bytes);
		return mbuf;
	}
	rte_pktmbuf_free(mbuf);
	return NULL;
}

/* The bytes of a held packet, as they are to leave; it has no body afterwards. */
static struct rte_mbuf *
bytes_of(struct kernel_host *host, struct pkt *p, bool *retry)
{
	struct rte_mbuf *mbuf;

	if (!(p->flags & PKT_BYTES))
		return build(host, p, retry);
	mbuf = body_take(&host->edge->bodies, p);
	patch_frame(rte_pktmbuf_mtod(mbuf, uint8_t *), rte_pktmbuf_data_len(mbuf), p);
	p->flags &= (uint8_t)~PKT_BYTES;
	return mbuf;
}

/* Bytes have waited for some windows: they are loaded into the cache together. */
static void
prefetch(const struct kernel_host *host, const struct kernel_host_nic *nic)
{
	const struct body_table *bodies = &host->edge->bodies;
	uint32_t count = fifo_count(&nic->to_host.hold) < PORT_BURST ? fifo_count(&nic->to_host.hold) : PORT_BURST;

	for (uint32_t i = nic->to_host.nready; i < count; i++) {
		const struct pkt *p = fifo_at(&nic->to_host.hold, i);

		if (p->flags & PKT_BYTES)
			rte_prefetch0(body_mbuf(bodies, p->arg));
	}
	for (uint32_t i = nic->to_host.nready; i < count; i++) {
		const struct pkt *p = fifo_at(&nic->to_host.hold, i);

		if (p->flags & PKT_BYTES)
			rte_prefetch0(rte_pktmbuf_mtod(body_mbuf(bodies, p->arg), const uint8_t *));
	}
}

/* Gets ready what can be offered at once. */
static void
prepare(struct kernel_host *host, struct kernel_host_nic *nic)
{
	prefetch(host, nic);
	while (nic->to_host.nready < PORT_BURST && nic->to_host.nready < fifo_count(&nic->to_host.hold)) {
		bool retry = false;
		struct rte_mbuf *mbuf = bytes_of(host, fifo_at(&nic->to_host.hold, nic->to_host.nready), &retry);

		if (mbuf != NULL) {
			nic->to_host.ready[nic->to_host.nready++] = mbuf;
			continue;
		}
		if (retry || nic->to_host.nready != 0)
			return; /* in its turn */
		nic->count.undeliverable++;
		kernel_host_drop(host, nic, fifo_pop(&nic->to_host.hold), REC_DROP_NO_ROUTE);
	}
}

/* Counts of frames that the host has taken. */
struct taken {
	uint64_t packets, bytes, data_bytes;
};

static inline void
add_taken(struct taken *taken, const struct pkt *p)
{
	taken->packets++;
	taken->bytes += p->wire_bytes;
	taken->data_bytes += p->type == PKT_DATA ? p->payload_bytes : 0;
}

static void
count_taken(struct kernel_host *host, struct kernel_host_nic *nic, const struct taken *taken)
{
	host->node.count.consumed_packets += taken->packets;
	host->node.count.consumed_bytes += taken->bytes;
	host->node.count.progress += taken->data_bytes;
	nic->count.out_packets += taken->packets;
	nic->count.out_bytes += taken->bytes;
}

static void
take_held(struct kernel_host *host, struct kernel_host_nic *nic, uint16_t n)
{
	struct taken taken = { 0 };

	for (uint16_t i = 0; i < n; i++)
		add_taken(&taken, fifo_pop(&nic->to_host.hold));
	count_taken(host, nic, &taken);
	nic->to_host.nready -= n;
	memmove(nic->to_host.ready, nic->to_host.ready + n, nic->to_host.nready * sizeof(*nic->to_host.ready));
}

/* Is a frame for this host? @param before  one that is */
static inline bool
is_ours(const struct kernel_host *host, const struct pkt *p, const struct pkt *before)
{
	const struct flow *flow;

	if (p->flow == before->flow && ((p->flags ^ before->flags) & PKT_REVERSE) == 0)
		return true;
	flow = &host->node.flows->flows[p->flow];
	return (p->flags & PKT_REVERSE ? flow->src_node : flow->dst_node) == host->node.id;
}

/* @return of the first frames how many are ready to leave by this port as they are, a burst at most */
static inline uint32_t
count_passing(const struct kernel_host *host, const struct pkt *pkts, uint32_t count)
{
	static const struct pkt none = { .flow = UINT32_MAX };
	const struct pkt *before = &none;
	uint32_t n = 0;

	while (n < count && n < PORT_BURST && (pkts[n].flags & (PKT_BYTES | PKT_CORRUPT)) == PKT_BYTES &&
	       is_ours(host, &pkts[n], before))
		before = &pkts[n++];
	return n;
}

/*
 * Frames for a host that has taken all before go to the port in a burst, without standing in line; what it does not
 * take stands in line, and is patched again to no effect.
 * @return of how many something has become; the first of the others is to be looked at by itself
 */
static uint32_t
pass_through(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *pkts, uint32_t count)
{
	struct body_table *bodies = &host->edge->bodies;
	uint32_t n = count_passing(host, pkts, count);
	struct rte_mbuf *mbufs[PORT_BURST];
	struct taken taken = { 0 };
	uint16_t done;

	if (n == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		mbufs[i] = body_mbuf(bodies, pkts[i].arg);
		rte_prefetch0(mbufs[i]);
		rte_prefetch0((const uint8_t *)mbufs[i] + sizeof(*mbufs[i]) +
			      RTE_PKTMBUF_HEADROOM); /* where bytes are, usually */
	}
	for (uint32_t i = 0; i < n; i++)
		patch_frame(rte_pktmbuf_mtod(mbufs[i], uint8_t *), rte_pktmbuf_data_len(mbufs[i]), &pkts[i]);
	done = port_transmit(nic->port, mbufs, (uint16_t)n);
	for (uint32_t i = 0; i < done; i++) {
		body_count(bodies, pkts[i].flow, UINT32_MAX);
		add_taken(&taken, &pkts[i]);
	}
	count_taken(host, nic, &taken);
	for (uint32_t i = done; i < n; i++)
		hold(host, nic, &pkts[i]);
	return n;
}

void
kernel_host_arrived(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *pkts, uint32_t count)
{
	host->node.count.rx_packets += count;
	for (uint32_t i = 0; i < count; i++)
		host->node.count.rx_bytes += pkts[i].wire_bytes;
	for (uint32_t i = 0; i < count;) {
		bool is_free = nic->up && nic->to_host.nown == 0 && fifo_empty(&nic->to_host.hold);
		uint32_t n = is_free ? pass_through(host, nic, &pkts[i], count - i) : 0;

		if (n == 0 && !ends(host, nic, &pkts[i]))
			hold(host, nic, &pkts[i]);
		i += n != 0 ? n : 1;
	}
}

/* @return true if nothing of the edge's own is left */
static bool
offer_own(struct kernel_host_nic *nic)
{
	uint16_t n = nic->to_host.nown != 0 ? port_transmit(nic->port, nic->to_host.own, (uint16_t)nic->to_host.nown) : 0;

	nic->to_host.nown -= n;
	memmove(nic->to_host.own, nic->to_host.own + n, nic->to_host.nown * sizeof(*nic->to_host.own));
	return nic->to_host.nown == 0;
}

/* The host is gone: its frames are lost, as on a link that is down. */
static void
forget(struct kernel_host *host, struct kernel_host_nic *nic)
{
	rte_pktmbuf_free_bulk(nic->to_host.ready, nic->to_host.nready);
	rte_pktmbuf_free_bulk(nic->to_host.own, nic->to_host.nown);
	nic->to_host.nready = nic->to_host.nown = 0;
	while (!fifo_empty(&nic->to_host.hold))
		kernel_host_drop(host, nic, fifo_pop(&nic->to_host.hold), REC_DROP_LINK_DOWN);
}

/* Every round but the last takes a burst of the held frames. */
static void
offer_held(struct kernel_host *host, struct kernel_host_nic *nic)
{
	for (;;) {
		uint16_t offered, n;

		prepare(host, nic);
		offered = (uint16_t)nic->to_host.nready;
		if (offered == 0)
			return;
		n = port_transmit(nic->port, nic->to_host.ready, offered);
		take_held(host, nic, n);
		if (n < offered)
			return;
	}
}

void
kernel_host_offer(struct kernel_host *host, struct kernel_host_nic *nic, uint64_t now_ps)
{
	bool xoff;

	if (!nic->up)
		forget(host, nic);
	else if (offer_own(nic) && !fifo_empty(&nic->to_host.hold))
		offer_held(host, nic);
	xoff = nic->to_host.hold.bytes > (nic->to_host.xoff ? nic->to_host.xon_bytes : nic->to_host.xoff_bytes);
	if (xoff == nic->to_host.xoff)
		return;
	uint8_t before = kernel_host_pauses(host, nic), after;

	nic->to_host.xoff = xoff;
	after = kernel_host_pauses(host, nic);
	nic->count.pauses_sent += xoff;
	if (before != after)
		kernel_host_send_pause(host, nic, before ^ after, xoff, now_ps);
}

bool
kernel_host_own(struct kernel_host *host, struct kernel_host_nic *nic, const uint8_t *bytes, size_t size_bytes)
{
	struct rte_mbuf *mbuf = nic->to_host.nown < KERNEL_HOST_OWN ? rte_pktmbuf_alloc(host->edge->pool) : NULL;

	if (mbuf == NULL)
		return false;
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)size_bytes), bytes, size_bytes);
	nic->to_host.own[nic->to_host.nown++] = mbuf;
	return true;
}

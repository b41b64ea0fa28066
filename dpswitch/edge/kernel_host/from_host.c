/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames from the host: dequeued in bursts as fast as the link sends them, classified once, and sent class by class.
 * Only a frame's headers are read; if they are like those of the frame before it (struct memo), its flow is not even
 * looked up.
 */
#include <endian.h>
#include <rte_mbuf.h>
#include <rte_prefetch.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/log.h"
#include "common/minmax.h"
#include "common/wire/eth.h"
#include "dpswitch/edge/frame/frame.h"
#include "dpswitch/edge/kernel_host/classify.h"
#include "dpswitch/edge/kernel_host/state.h"
#include "dpswitch/pipeline/switch.h"
#include "topo/topo.h"

/* ARP (RFC 826) toward kernel hosts: the edge knows every NIC's addresses and answers for all of them. */

static bool arp_reply(const struct topo *topo, const uint8_t *bytes, size_t size_bytes, uint32_t asker,
		      uint8_t reply[ETH_MIN_BYTES]);

/* A frame of the host's does not enter the fabric. It has taken its time on the cable all the same. */
static void
refuse(struct kernel_host_nic *nic, struct rte_mbuf *mbuf, enum edge_drop reason)
{
	nic->count.dropped[reason]++;
	nic->from_host.free_ps += nic->ser_ps[eth_wire_bytes(rte_pktmbuf_pkt_len(mbuf))];
	rte_pktmbuf_free(mbuf);
}

/* Puts a frame on the wire at start_ps. */
static inline void
send(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *p, uint64_t start_ps)
{
	nic->from_host.turn = p->prio;
	nic->from_host.free_ps = start_ps + nic->ser_ps[p->wire_bytes];
	host->node.count.born_packets++;
	host->node.count.born_bytes += p->wire_bytes;
	host->node.count.tx_packets++;
	host->node.count.tx_bytes += p->wire_bytes;
	link_send(nic->tx, host->window.parity, p, nic->from_host.free_ps);
}

static void
stand_in_line(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *p)
{
	if (!fifo_push(&nic->from_host.stage[p->prio], p)) /* dropped it would be lost without a word */
		log_fatal("out of memory for frames of %s", host->node.topo->nodes[host->node.id].name);
	nic->from_host.staged++;
}

static void
stage(struct kernel_host *host, struct kernel_host_nic *nic, const struct pkt *p)
{
	uint64_t start_ps = max_u64(nic->from_host.free_ps, nic->from_host.now_ps);

	nic->count.in_packets++;
	nic->count.in_bytes += p->wire_bytes;
	if (host->has_telemetry)
		kernel_host_row(nic, p);
	if (kernel_host_may_go(nic, p->prio, start_ps))
		send(host, nic, p, start_ps);
	else
		stand_in_line(host, nic, p);
}

/* Pads a frame to the least length on the wire. */
static void
pad(const struct kernel_host *host, struct pkt *p)
{
	if (p->wire_bytes < host->config.min_frame_bytes)
		p->wire_bytes = (uint16_t)host->config.min_frame_bytes;
}

void
kernel_host_stage(struct kernel_host *host, struct kernel_host_nic *nic, struct pkt *p)
{
	pad(host, p);
	stage(host, nic, p);
	kernel_host_rows_end(nic);
}

/* A frame whose descriptor is complete enters the fabric with its bytes. */
static void
enter(struct kernel_host *host, struct kernel_host_nic *nic, struct rte_mbuf *mbuf, struct pkt *p)
{
	lookup_touch(&host->edge->lookup, p->flow, nic->from_host.free_ps);
	p->flags |= PKT_BYTES;
	p->arg = body_put(&host->edge->bodies, mbuf, p->flow);
	stage(host, nic, p);
}

/* @return false: it has to wait, and is still the caller's */
static bool
admit_packet(struct kernel_host *host, struct kernel_host_nic *nic, struct rte_mbuf *mbuf, struct classified *c, bool roce)
{
	enum edge_drop why;
	enum kernel_host_place place = kernel_host_place(host, nic, c, roce, &why);

	if (place == KERNEL_HOST_WAITS)
		return false;
	if (place == KERNEL_HOST_REFUSED) {
		refuse(nic, mbuf, why);
		return true;
	}
	pad(host, &c->p);
	if (roce && !c->tagged)
		memo_keep(&nic->from_host.memo, rte_pktmbuf_mtod(mbuf, const uint8_t *), rte_pktmbuf_data_len(mbuf), &c->p,
			  lookup_generation(&host->edge->lookup));
	enter(host, nic, mbuf, &c->p);
	return true;
}

/* The flow that a control packet concerns, as the edge looks it up. */
static struct tuple
control_tuple(const struct frame *f)
{
	if (f->control->names_flow)
		return (struct tuple){
			.src_ip = f->control_fields.src_ip,
			.dst_ip = f->control_fields.dst_ip,
			.sport = f->control_fields.sport,
			.dport = ROCEV2_UDP_PORT,
			.protocol = IPV4_PROTOCOL_UDP,
		};
	return (struct tuple){
		.src_ip = f->src_ip,
		.dst_ip = f->dst_ip,
		.sport = f->sport,
		.dport = f->control->udp_port,
		.protocol = IPV4_PROTOCOL_UDP,
	};
}

/* Control packets travel without bytes: every hop can make them. */
static void
admit_control(struct kernel_host *host, struct kernel_host_nic *nic, struct rte_mbuf *mbuf, const uint8_t *bytes)
{
	struct tuple tuple;
	struct pkt p;
	struct frame f;

	if (frame_parse(bytes, rte_pktmbuf_data_len(mbuf), &f) != FRAME_OK || frame_to_pkt(&f, &p) != 0 ||
	    f.src_ip != nic->ip) {
		refuse(nic, mbuf, EDGE_DROP_CONTROL);
		return;
	}
	tuple = control_tuple(&f);
	p.flow = lookup_find(&host->edge->lookup, &tuple);
	if (p.flow == LOOKUP_NONE || host->node.flows->flows[p.flow].src_node != host->node.id) {
		refuse(nic, mbuf, EDGE_DROP_CONTROL);
		return;
	}
	rte_pktmbuf_free(mbuf);
	p.prio = 0;
	if (kernel_host_control[p.type].leaves != NULL)
		kernel_host_control[p.type].leaves(host, nic, &p, nic->from_host.free_ps);
	node_count_control(&host->node.count, &p);
	kernel_host_stage(host, nic, &p);
}

static void
reply_to_arp(struct kernel_host *host, struct kernel_host_nic *nic, struct rte_mbuf *mbuf, const uint8_t *bytes)
{
	uint8_t reply[ETH_MIN_BYTES];

	if (!arp_reply(host->edge->config.topo, bytes, rte_pktmbuf_data_len(mbuf), nic->ip, reply)) {
		refuse(nic, mbuf, EDGE_DROP_ARP);
		return;
	}
	nic->from_host.free_ps += nic->ser_ps[eth_wire_bytes(rte_pktmbuf_pkt_len(mbuf))];
	rte_pktmbuf_free(mbuf);
	if (kernel_host_own(host, nic, reply, sizeof(reply)))
		nic->count.replies++;
	else
		nic->count.dropped[EDGE_DROP_REPLY]++;
}

/* A frame that is none of the fabric's. */
static void
divert(struct kernel_host *host, struct kernel_host_nic *nic, struct rte_mbuf *mbuf, enum frame_class class)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	switch (class) {
	case CLASS_CONTROL:
		admit_control(host, nic, mbuf, bytes);
		return;
	case CLASS_ARP:
		reply_to_arp(host, nic, mbuf, bytes);
		return;
	case CLASS_PFC:
		if (nic->pfc) {
			kernel_host_pfc_arrived(host, nic, bytes, rte_pktmbuf_data_len(mbuf));
			rte_pktmbuf_free(mbuf);
			return;
		}
		refuse(nic, mbuf, EDGE_DROP_PFC);
		return;
	case CLASS_MULTICAST:
		refuse(nic, mbuf, EDGE_DROP_MULTICAST);
		return;
	case CLASS_ROCE:
	case CLASS_UNKNOWN:
	case CLASS_MALFORMED:
		refuse(nic, mbuf, EDGE_DROP_MALFORMED);
		return;
	}
}

/* A frame that is not like the last. @return false: it has to wait */
static __attribute__((noinline)) bool
judge(struct kernel_host *host, struct kernel_host_nic *nic, struct rte_mbuf *mbuf)
{
	struct classified c;
	enum frame_class class;

	kernel_host_rows_end(nic); /* polling packets are to find them */
	if (mbuf->nb_segs != 1 || eth_wire_bytes(rte_pktmbuf_pkt_len(mbuf)) > host->config.mtu_bytes) {
		nic->count.dropped[EDGE_DROP_TOO_LONG]++;
		nic->from_host.free_ps += nic->ser_ps[host->config.mtu_bytes];
		rte_pktmbuf_free(mbuf);
		return true;
	}
	class = classify(rte_pktmbuf_mtod(mbuf, const uint8_t *), rte_pktmbuf_data_len(mbuf), &c);
	if (class == CLASS_ROCE || class == CLASS_UNKNOWN)
		return admit_packet(host, nic, mbuf, &c, class == CLASS_ROCE);
	divert(host, nic, mbuf, class);
	return true;
}

/* Frames of a burst that are each like the one before: counted together. */
struct alike {
	uint64_t packets, bytes, sent_packets, sent_bytes;
};

static inline void
count_alike(struct kernel_host *host, struct kernel_host_nic *nic, const struct alike *alike)
{
	struct node_counters *count = &host->node.count;

	nic->count.in_packets += alike->packets;
	nic->count.in_bytes += alike->bytes;
	count->born_packets += alike->sent_packets;
	count->born_bytes += alike->sent_bytes;
	count->tx_packets += alike->sent_packets;
	count->tx_bytes += alike->sent_bytes;
}

/*
 * A frame that is like the last enters the fabric: onto the cable in the place where it is made, if nothing blocks it.
 */
static inline void
enter_alike(struct kernel_host *host, struct kernel_host_nic *nic, struct rte_mbuf *mbuf, const uint8_t *bytes,
	    struct alike *alike)
{
	const struct memo *memo = &nic->from_host.memo;
	uint32_t flow = memo->p.flow, wire_bytes = memo->p.wire_bytes, handle = body_put(&host->edge->bodies, mbuf, flow);
	uint8_t prio = memo->p.prio;
	uint64_t start_ps = nic->from_host.free_ps;
	struct pkt *place, p;

	lookup_touch(&host->edge->lookup, flow, start_ps);
	alike->packets++;
	alike->bytes += wire_bytes;
	if (host->has_telemetry)
		kernel_host_row(nic, &memo->p);
	place = kernel_host_may_go(nic, prio, start_ps) ? link_place(nic->tx, host->window.parity, wire_bytes) : NULL;
	if (__builtin_expect(place == NULL, 0)) {
		memo_fill(memo, bytes, PKT_BYTES, handle, &p);
		if (kernel_host_may_go(nic, prio, start_ps))
			send(host, nic, &p, start_ps);
		else
			stand_in_line(host, nic, &p);
		return;
	}
	nic->from_host.turn = prio;
	nic->from_host.free_ps = start_ps + nic->ser_ps[wire_bytes];
	alike->sent_packets++;
	alike->sent_bytes += wire_bytes;
	memo_fill(memo, bytes, PKT_BYTES, handle, place);
	place->time_ps = nic->from_host.free_ps + nic->tx->delay_ps;
}

static inline bool
admit(struct kernel_host *host, struct kernel_host_nic *nic, struct rte_mbuf *mbuf, struct alike *alike)
{
	const uint8_t *bytes = rte_pktmbuf_mtod(mbuf, const uint8_t *);

	nic->from_host.free_ps = max_u64(nic->from_host.free_ps, nic->from_host.now_ps);
	if (__builtin_expect(mbuf->nb_segs != 1 || !memo_knows(&nic->from_host.memo, bytes, rte_pktmbuf_data_len(mbuf),
							       lookup_generation(&host->edge->lookup)),
			     0))
		return judge(host, nic, mbuf);
	enter_alike(host, nic, mbuf, bytes, alike);
	return true;
}

/* Frames that waited for flows are first. @return their number, at most room */
static uint16_t
receive(struct kernel_host_nic *nic, struct rte_mbuf **mbufs, uint32_t room)
{
	uint32_t n = nic->from_host.nwaiting < room ? nic->from_host.nwaiting : room;

	if (n == 0)
		return port_receive(nic->port, mbufs, (uint16_t)room);
	if (nic->from_host.nsettled == 0)
		return 0;
	memcpy(mbufs, nic->from_host.waiting, n * sizeof(*mbufs));
	nic->from_host.nwaiting -= n;
	memmove(nic->from_host.waiting, nic->from_host.waiting + n, nic->from_host.nwaiting * sizeof(*mbufs));
	return (uint16_t)n;
}

/* Frames that have arrived wait again, before those that wait still. */
static void
put_back(struct kernel_host_nic *nic, struct rte_mbuf *const *mbufs, uint32_t n)
{
	memmove(nic->from_host.waiting + n, nic->from_host.waiting, nic->from_host.nwaiting * sizeof(*mbufs));
	memcpy(nic->from_host.waiting, mbufs, n * sizeof(*mbufs));
	nic->from_host.nwaiting += n;
	nic->from_host.nsettled = 0;
}

/* One burst, ahead of the link's rate, so that answers overtake data here. @return frames that have arrived */
static uint16_t
dequeue(struct kernel_host *host, struct kernel_host_nic *nic)
{
	struct rte_mbuf *mbufs[PORT_BURST];
	/* Frames that the NIC itself sends back are staged even without room. */
	uint32_t room = nic->from_host.staged < KERNEL_HOST_STAGE ? KERNEL_HOST_STAGE - nic->from_host.staged : 0;
	struct alike alike = { 0 };
	uint16_t n, i;

	if (room > PORT_BURST)
		room = PORT_BURST;
	if (room == 0)
		return 0;
	n = receive(nic, mbufs, room);
	for (i = 0; i < n && i < KERNEL_HOST_AHEAD; i++)
		rte_prefetch0(rte_pktmbuf_mtod(mbufs[i], const uint8_t *));
	for (i = 0; i < n; i++) {
		if (i + KERNEL_HOST_AHEAD < n)
			rte_prefetch0(rte_pktmbuf_mtod(mbufs[i + KERNEL_HOST_AHEAD], const uint8_t *));
		if (!admit(host, nic, mbufs[i], &alike))
			break;
		nic->from_host.nsettled -= nic->from_host.nsettled != 0;
	}
	kernel_host_rows_end(nic);
	count_alike(host, nic, &alike);
	if (i < n)
		put_back(nic, mbufs + i, (uint32_t)(n - i));
	return i;
}

/*
 * Class 0 first, then the others in turn. In class 0 is also what the NIC sends back, once it has arrived.
 * @return class whose first frame may go, KERNEL_HOST_CLASSES: none
 */
static uint8_t
select_class(const struct kernel_host_nic *nic, uint64_t start_ps)
{
	if (!fifo_empty(&nic->from_host.stage[0]) && fifo_at(&nic->from_host.stage[0], 0)->time_ps <= start_ps)
		return 0;
	for (uint8_t i = 1; i < KERNEL_HOST_CLASSES; i++) {
		uint8_t c = (uint8_t)(1 + (nic->from_host.turn + i - 1) % (KERNEL_HOST_CLASSES - 1));

		if (!fifo_empty(&nic->from_host.stage[c]) && !(nic->pause.paused >> c & 1))
			return c;
	}
	return KERNEL_HOST_CLASSES;
}

static void
send_staged(struct kernel_host *host, struct kernel_host_nic *nic)
{
	while (nic->from_host.staged != 0) {
		uint64_t start_ps = max_u64(nic->from_host.free_ps, nic->from_host.now_ps);
		uint8_t c = select_class(nic, start_ps);
		const struct pkt *p;

		if (c == KERNEL_HOST_CLASSES && !fifo_empty(&nic->from_host.stage[0])) {
			start_ps = fifo_at(&nic->from_host.stage[0], 0)->time_ps;
			c = 0;
		}
		if (c == KERNEL_HOST_CLASSES || start_ps >= nic->from_host.limit_ps)
			return;
		p = fifo_pop(&nic->from_host.stage[c]);
		nic->from_host.staged--;
		send(host, nic, p, start_ps);
	}
}

/* Every round takes frames, and all frames, refused ones too, take link time: the loop ends with limit_ps. */
void
kernel_host_send(struct kernel_host *host, struct kernel_host_nic *nic, uint64_t now_ps, uint64_t limit_ps)
{
	nic->from_host.now_ps = now_ps;
	nic->from_host.limit_ps = limit_ps;
	do
		send_staged(host, nic);
	while (dequeue(host, nic) != 0 && nic->from_host.free_ps < limit_ps);
	send_staged(host, nic);
}

/* ARP (RFC 826). */

/*
 * @param bytes  a frame of type ARP, tagged or not
 * @param asker  address of the NIC that sent it: questions about itself (a probe for duplicates) get no answer
 * @param reply  filled in
 * @return false if it is no request for the address of another NIC of the topology
 */
static bool
arp_reply(const struct topo *topo, const uint8_t *bytes, size_t size_bytes, uint32_t asker, uint8_t reply[ETH_MIN_BYTES])
{
	struct wire_eth eth;
	struct wire_arp arp;
	size_t at = sizeof(eth);
	uint32_t node, target;
	uint16_t nic;

	if (size_bytes < at + sizeof(arp))
		return false;
	memcpy(&eth, bytes, sizeof(eth));
	if (eth.type == htobe16(ETH_TYPE_VLAN))
		at += sizeof(struct wire_vlan);
	if (size_bytes < at + sizeof(arp))
		return false;
	memcpy(&arp, bytes + at, sizeof(arp));
	target = be32toh(arp.target_ip);
	if (arp.hardware != htobe16(ARP_HARDWARE_ETHERNET) || arp.protocol != htobe16(ETH_TYPE_IPV4) ||
	    arp.hardware_bytes != ETH_ADDR_BYTES || arp.protocol_bytes != sizeof(uint32_t) ||
	    arp.operation != htobe16(ARP_REQUEST) || target == asker || !topo_find_nic(topo, target, &node, &nic))
		return false;
	memcpy(eth.dst, eth.src, sizeof(eth.dst));
	topo_nic_mac(node, nic, eth.src);
	eth.type = htobe16(ETH_TYPE_ARP);
	memcpy(arp.target_mac, arp.sender_mac, sizeof(arp.target_mac));
	arp.target_ip = arp.sender_ip;
	topo_nic_mac(node, nic, arp.sender_mac);
	arp.sender_ip = htobe32(target);
	arp.operation = htobe16(ARP_REPLY);
	memset(reply, 0, ETH_MIN_BYTES);
	memcpy(reply, &eth, sizeof(eth));
	memcpy(reply + sizeof(eth), &arp, sizeof(arp));
	return true;
}

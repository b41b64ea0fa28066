/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/edge/kernel_host/classify.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/control.h"
#include "common/flow.h"
#include "common/prng.h"
#include "common/tag.h"
#include "common/wire/poll.h"
#include "common/wire/roce.h"
#include "dpswitch/edge/frame/checksum.h"

#define IPV4_FRAGMENT_MASK 0x3fff /* more fragments, offset */
#define PORTS_BYTES 4

static uint16_t
get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

/* A header whose checksum is right sums up to all ones, whatever the order of the bytes (RFC 1071, 2 B). */
static bool
header_is_right(const uint8_t *ip, size_t header_bytes)
{
	uint64_t sum = 0;

	for (size_t at = 0; at < header_bytes; at += 4) {
		uint32_t word;

		memcpy(&word, ip + at, sizeof(word));
		sum += word;
	}
	sum = (sum >> 32) + (sum & 0xffffffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	sum = (sum >> 16) + (sum & 0xffff);
	return sum == 0xffff;
}

static uint32_t
get32(const uint8_t *at)
{
	return (uint32_t)get16(at) << 16 | get16(at + 2);
}

/* BTH and the sizes around it. A packet that is not spoken here travels all the same. */
static void
classify_roce(const uint8_t *bth, size_t left_bytes, uint8_t tos, struct classified *c)
{
	struct pkt *p = &c->p;
	uint8_t opcode = bth[0];
	int headers = roce_headers(opcode);
	uint32_t pad_bytes = (bth[1] & BTH_PAD_MASK) >> BTH_PAD_SHIFT, around_bytes;

	p->type = PKT_UNKNOWN;
	p->opcode = opcode;
	if (headers < 0)
		return;
	around_bytes = roce_frame_bytes(opcode, 0) -
		       (uint32_t)(sizeof(struct wire_eth) + sizeof(struct wire_ipv4) + sizeof(struct wire_udp)) + pad_bytes;
	if (left_bytes < around_bytes)
		return;
	p->psn = get32(bth + 8) & ROCE_24BIT_MASK;
	p->payload_bytes = (uint16_t)(left_bytes - around_bytes);
	p->flags |= (bth[8] & BTH_ACKREQ ? PKT_ACKREQ : 0) | ((tos & 3) == ECN_CE ? PKT_CE : 0);
	p->tag = roce_is_rc_data(opcode) ? tag_of_dscp(tos >> 2) : 0;
	c->mark = tag_is(p->tag) ? 0 : c->mark;
	switch (opcode) {
	case ROCE_RC_ACK:
		p->type = (bth[sizeof(struct wire_bth)] & AETH_KIND_MASK) == 0 ? PKT_ACK : PKT_NAK;
		p->syndrome = bth[sizeof(struct wire_bth)];
		p->flags |= bth[4] & BTH_BECN ? PKT_CE : 0;
		return;
	case ROCE_CNP:
		p->type = PKT_CNP;
		return;
	case ROCE_UD_SEND_ONLY:
	case ROCE_UD_SEND_ONLY_IMM:
		p->type = PKT_UD;
		p->flags |= PKT_LAST;
		return;
	case ROCE_RC_SEND_FIRST:
	case ROCE_RC_SEND_MIDDLE:
	case ROCE_RC_WRITE_FIRST:
	case ROCE_RC_WRITE_MIDDLE:
		p->type = PKT_DATA;
		return;
	default:
		p->type = PKT_DATA;
		p->flags |= PKT_LAST;
		return;
	}
}

/* @param left_bytes  from the UDP header to the end of the IP packet */
static enum frame_class
classify_udp(const uint8_t *udp, size_t left_bytes, uint8_t tos, struct classified *c)
{
	const size_t least = sizeof(struct wire_udp) + sizeof(struct wire_bth) + ICRC_BYTES;

	if (c->tuple.dport != ROCEV2_UDP_PORT)
		return control_of_port(c->tuple.dport) != NULL ? CLASS_CONTROL : CLASS_UNKNOWN;
	if (left_bytes < least)
		return CLASS_UNKNOWN;
	classify_roce(udp + sizeof(struct wire_udp), left_bytes - sizeof(struct wire_udp), tos, c);
	return CLASS_ROCE;
}

static enum frame_class
classify_ipv4(const uint8_t *ip, size_t left_bytes, struct classified *c)
{
	size_t header_bytes, total_bytes;
	uint8_t tos;

	if (left_bytes < sizeof(struct wire_ipv4) || ip[0] >> 4 != 4)
		return CLASS_MALFORMED;
	header_bytes = (ip[0] & 0xf) * 4u;
	total_bytes = get16(ip + offsetof(struct wire_ipv4, total_bytes));
	if (header_bytes < sizeof(struct wire_ipv4) || total_bytes < header_bytes || total_bytes > left_bytes ||
	    !header_is_right(ip, header_bytes))
		return CLASS_MALFORMED;
	tos = ip[offsetof(struct wire_ipv4, tos)];
	c->mark = tos >> 5;
	c->p.ttl = ip[offsetof(struct wire_ipv4, ttl)];
	c->p.type = PKT_UNKNOWN;
	c->tuple = (struct tuple){
		.src_ip = get32(ip + offsetof(struct wire_ipv4, src)),
		.dst_ip = get32(ip + offsetof(struct wire_ipv4, dst)),
		.protocol = ip[offsetof(struct wire_ipv4, protocol)],
	};
	if (c->tuple.dst_ip >> 28 >= 0xe)
		return CLASS_MULTICAST; /* 224/4, 240/4 */
	if ((get16(ip + offsetof(struct wire_ipv4, fragment)) & IPV4_FRAGMENT_MASK) != 0 ||
	    (c->tuple.protocol != IPV4_PROTOCOL_UDP && c->tuple.protocol != IPV4_PROTOCOL_TCP) ||
	    total_bytes - header_bytes < PORTS_BYTES)
		return CLASS_UNKNOWN;
	c->tuple.sport = get16(ip + header_bytes);
	c->tuple.dport = get16(ip + header_bytes + 2);
	if (c->tuple.protocol != IPV4_PROTOCOL_UDP || total_bytes - header_bytes < sizeof(struct wire_udp))
		return CLASS_UNKNOWN;
	return classify_udp(ip + header_bytes, total_bytes - header_bytes, tos, c);
}

enum frame_class
classify(const uint8_t *bytes, size_t size_bytes, struct classified *c)
{
	size_t at = sizeof(struct wire_eth);
	enum frame_class class;
	bool tagged = false;
	uint16_t type;
	uint8_t pcp = 0;

	*c = (struct classified){ 0 };
	if (size_bytes < at)
		return CLASS_MALFORMED;
	type = get16(bytes + offsetof(struct wire_eth, type));
	if (type == ETH_TYPE_VLAN && size_bytes >= at + sizeof(struct wire_vlan)) {
		tagged = true;
		pcp = bytes[at] >> 5;
		type = get16(bytes + at + offsetof(struct wire_vlan, type));
		at += sizeof(struct wire_vlan);
	}
	if (type == ETH_TYPE_MAC_CONTROL)
		return CLASS_PFC;
	if (type == ETH_TYPE_ARP)
		return CLASS_ARP;
	if (type != ETH_TYPE_IPV4 || (bytes[0] & 1) != 0)
		return CLASS_MULTICAST;
	class = classify_ipv4(bytes + at, size_bytes - at, c);
	if (tagged)
		c->mark = pcp;
	c->tagged = tagged;
	c->p.wire_bytes = (uint16_t)eth_wire_bytes((uint32_t)size_bytes);
	return class;
}

/* RFC 1624, equation 3: a 16-bit word of the header changed. */
static void
update_checksum(uint8_t *checksum, uint16_t before, uint16_t after)
{
	uint32_t sum = (uint16_t)~get16(checksum) + (uint32_t)(uint16_t)~before + after;
	uint16_t updated = checksum_fold(sum);

	checksum[0] = (uint8_t)(updated >> 8);
	checksum[1] = (uint8_t)updated;
}

void
patch_frame(uint8_t *bytes, size_t size_bytes, const struct pkt *p)
{
	bool tagged = get16(bytes + offsetof(struct wire_eth, type)) == ETH_TYPE_VLAN;
	size_t ip_at = sizeof(struct wire_eth) + (tagged ? sizeof(struct wire_vlan) : 0);
	uint8_t *ip = bytes + ip_at, *checksum = ip + offsetof(struct wire_ipv4, checksum);
	uint8_t *ttl = ip + offsetof(struct wire_ipv4, ttl), *tos = ip + offsetof(struct wire_ipv4, tos);
	size_t total_bytes;
	uint16_t before = get16(ttl);

	/* Not read again: a byte that was just written would be waited for. */
	*ttl = p->ttl;
	update_checksum(checksum, before, (uint16_t)(p->ttl << 8 | (before & 0xff)));
	if ((p->flags & PKT_CE) && (*tos & 3) != ECN_NOT_ECT && p->type != PKT_ACK && p->type != PKT_NAK) {
		before = get16(ip);
		*tos |= ECN_CE;
		update_checksum(checksum, before, get16(ip));
	}
	if (!(p->flags & PKT_CORRUPT))
		return;
	total_bytes = get16(ip + offsetof(struct wire_ipv4, total_bytes));
	assert(total_bytes <= size_bytes - ip_at); /* as it was classified */
	for (size_t i = total_bytes - 4; i < total_bytes; i++)
		ip[i] = (uint8_t)~ip[i];
}

/* Lookup of a frame's flow by its 5-tuple. */

#define UDP 17

static uint32_t
bucket_of(const struct lookup *lookup, const struct tuple *t)
{
	uint64_t ports = (uint64_t)t->sport << 32 | (uint64_t)t->dport << 16 | t->protocol;

	return (uint32_t)prng_mix(((uint64_t)t->src_ip << 32 | t->dst_ip) ^ ports * 0x9e3779b97f4a7c15ULL) & lookup->mask;
}

_Static_assert(sizeof(struct tuple) == 16, "no padding, which same() would compare");

static bool
same(const struct tuple *a, const struct tuple *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* A planned flow's destination port is a label; frames have that of their protocol. */
static struct tuple
tuple_of(const struct flow *flow)
{
	return (struct tuple){
		.src_ip = flow->src_ip,
		.dst_ip = flow->dst_ip,
		.sport = flow->sport,
		.dport = flow->kind == FLOW_CONTROL ? NOTIFY_UDP_PORT : ROCEV2_UDP_PORT,
		.protocol = UDP,
	};
}

static void
insert(struct lookup *lookup, uint32_t flow, const struct tuple *tuple)
{
	uint32_t *bucket = &lookup->buckets[bucket_of(lookup, tuple)];

	lookup->tuples[flow] = *tuple;
	lookup->next[flow] = *bucket;
	*bucket = flow;
}

static void
erase(struct lookup *lookup, uint32_t flow)
{
	uint32_t *at = &lookup->buckets[bucket_of(lookup, &lookup->tuples[flow])];

	while (*at != flow)
		at = &lookup->next[*at];
	*at = lookup->next[flow];
}

int
lookup_init(struct lookup *lookup, const struct topo *topo, struct flow_table *flows, uint64_t idle_ps)
{
	uint32_t slots = flow_table_slots(flows), buckets = 64;

	while (buckets < 2 * slots)
		buckets *= 2;
	*lookup = (struct lookup){ .topo = topo, .flows = flows, .mask = buckets - 1, .idle_ps = idle_ps };
	lookup->tuples = calloc(slots, sizeof(*lookup->tuples));
	lookup->next = calloc(slots, sizeof(*lookup->next));
	lookup->buckets = malloc(buckets * sizeof(*lookup->buckets));
	lookup->used_ps = calloc(flows->spares, sizeof(*lookup->used_ps));
	if (lookup->tuples == NULL || lookup->next == NULL || lookup->buckets == NULL || lookup->used_ps == NULL) {
		lookup_fini(lookup);
		return -ENOMEM;
	}
	memset(lookup->buckets, 0xff, buckets * sizeof(*lookup->buckets));
	/* Backwards: of several flows with one tuple the first is found. */
	for (uint32_t i = flows->count; i-- > 0;) {
		struct tuple tuple = tuple_of(&flows->flows[i]);

		insert(lookup, i, &tuple);
	}
	return 0;
}

void
lookup_fini(struct lookup *lookup)
{
	free(lookup->tuples);
	free(lookup->next);
	free(lookup->buckets);
	free(lookup->used_ps);
	*lookup = (struct lookup){ 0 };
}

uint32_t
lookup_find(const struct lookup *lookup, const struct tuple *tuple)
{
	uint32_t flow = lookup->buckets[bucket_of(lookup, tuple)];

	while (flow != LOOKUP_NONE && !same(&lookup->tuples[flow], tuple))
		flow = lookup->next[flow];
	return flow;
}

/* @return a spare slot for a new flow: never used, else idle for longest */
static uint32_t
free_slot(const struct lookup *lookup, uint64_t now_ps, const _Atomic uint32_t *in_flight)
{
	uint32_t first = lookup->flows->count, best = LOOKUP_NONE;
	uint64_t best_ps = now_ps;

	if (lookup->taken < lookup->flows->spares)
		return first + lookup->taken;
	for (uint32_t i = 0; i < lookup->flows->spares; i++) {
		uint64_t used_ps = atomic_load_explicit(&lookup->used_ps[i], memory_order_relaxed);

		if (atomic_load_explicit(&in_flight[i], memory_order_relaxed) != 0 || now_ps < used_ps + lookup->idle_ps)
			continue;
		if (best == LOOKUP_NONE || used_ps < best_ps) {
			best = first + i;
			best_ps = used_ps;
		}
	}
	return best;
}

uint32_t
lookup_add(struct lookup *lookup, const struct tuple *tuple, uint8_t prio, uint64_t now_ps,
	   const _Atomic uint32_t *in_flight, bool *recycled)
{
	struct flow flow = {
		.src_ip = tuple->src_ip,
		.dst_ip = tuple->dst_ip,
		.sport = tuple->sport,
		.dport = tuple->dport,
		.prio = prio,
		.kind = FLOW_UNPLANNED,
		.protocol = tuple->protocol == UDP ? 0 : (uint8_t)tuple->protocol,
	};
	uint32_t slot;

	if (!topo_find_nic(lookup->topo, tuple->src_ip, &flow.src_node, &flow.src_nic) ||
	    !topo_find_nic(lookup->topo, tuple->dst_ip, &flow.dst_node, &flow.dst_nic) || flow.src_node == flow.dst_node)
		return LOOKUP_NONE;
	slot = free_slot(lookup, now_ps, in_flight);
	if (slot == LOOKUP_NONE)
		return LOOKUP_NONE;
	*recycled = lookup->taken == lookup->flows->spares;
	if (*recycled) {
		erase(lookup, slot);
		lookup->recycled++;
	} else {
		lookup->taken++;
	}
	lookup->flows->flows[slot] = flow;
	insert(lookup, slot, tuple);
	lookup_touch(lookup, slot, now_ps);
	return slot;
}

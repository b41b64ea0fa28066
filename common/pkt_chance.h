/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chance that affects packets: each draw belongs to the packet, by the names that it has on the wire, and not to a
 * sequence of draws. So other packets that pass a place, before it or not at all, shift nothing of it: a run without
 * one of its flows has the same packets of all others lost.
 */
#pragma once

#include "common/flow.h"
#include "common/pkt.h"
#include "common/prng.h"

/* Effects that are drawn for at a place: each has a stream of its own, pkt_chance_stream(). */
enum pkt_chance_of {
	PKT_CHANCE_LOSS,
	PKT_CHANCE_CORRUPTION,
	PKT_CHANCE_DELAY,
	PKT_CHANCE_ECN,
	PKT_CHANCE_PATH,
	PKT_CHANCE_FIB,
	PKT_CHANCE_PULL
};

/* @param place  id of a link or port */
static inline uint64_t
pkt_chance_stream(uint64_t seed, enum pkt_chance_of of, uint32_t place)
{
	return prng_mix(prng_mix(seed + 0x9e3779b97f4a7c15ULL) + ((uint64_t)of + 1) * 0xd1342543de82ef95ULL + place);
}

static inline double
pkt_chance_unit(uint64_t draw)
{
	return (double)(draw >> 11) * 0x1.0p-53;
}

/*
 * A message's packet is drawn for once at a place: retransmissions, ACKs and all others that may arrive twice with the
 * same names, by their time as well, so that no packet is lost for ever.
 * @param flows  NULL: its number is all that is known of a flow
 * @return uniform in [0, 2^64)
 */
static inline uint64_t
pkt_draw(uint64_t stream, const struct flow_table *flows, const struct pkt *p)
{
	uint64_t draw = stream, name;

	if (flows != NULL) {
		const struct flow *flow = &flows->flows[p->flow];

		draw = prng_mix(draw ^ ((uint64_t)flow->src_ip << 32 | flow->dst_ip));
		draw += (uint64_t)flow->sport << 16 | flow->dport;
	} else {
		draw += p->flow;
	}
	name = p->type == PKT_POLL || p->type == PKT_NOTIFY ? p->id : p->psn; /* a tag changes nothing */
	draw = prng_mix(draw ^ (uint64_t)p->type << 56 ^ (uint64_t)p->ttl << 48 ^ name << 16 ^ p->message);
	if (p->type != PKT_DATA || (p->flags & PKT_RETRANSMIT) != 0 ||
	    ((p->flags & PKT_BYTES) != 0 && (flows == NULL || !flows->labelled)))
		draw = prng_mix(draw ^ p->time_ps * 0x9e3779b97f4a7c15ULL);
	return draw;
}

/* @return the same, uniform in [0, 1) */
static inline double
pkt_chance(uint64_t stream, const struct flow_table *flows, const struct pkt *p)
{
	return pkt_chance_unit(pkt_draw(stream, flows, p));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a flow's ports and class are requested of a RoCEv2 device. The UDP source port of a reliable connection follows
 * from the flow label of its address vector (IBTA annex A17.9.2; Linux rdma_flow_label_to_udp_sport()): its low 14 bits
 * and its next 6 bits, folded. Label 0 means that the device may choose.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/flow.h"
#include "common/tag.h"

#define VERBS_FIRST_SPORT 0xc000 /* a device's source ports are this and above */
#define VERBS_LABEL_LOW_BITS 14
#define VERBS_MIN_TIMEOUT 12 /* 4.096 us * 2^12 = 16.8 ms: more than a tick of a kernel's timers, 10 ms at 100 Hz */
#define VERBS_MAX_TIMEOUT 31 /* IBTA 9.7.6.1.3 */

static inline bool
verbs_sport_possible(uint16_t sport)
{
	return sport >= VERBS_FIRST_SPORT;
}

/* @param sport  a possible one. @return 20 bits, not 0 */
static inline uint32_t
verbs_flow_label(uint16_t sport)
{
	uint32_t low = sport & ((1u << VERBS_LABEL_LOW_BITS) - 1);

	return low != 0 ? low : 1u << VERBS_LABEL_LOW_BITS | 1;
}

static inline uint16_t
verbs_label_sport(uint32_t label)
{
	uint32_t mask = (1u << VERBS_LABEL_LOW_BITS) - 1;

	return (uint16_t)(VERBS_FIRST_SPORT | ((label & mask) ^ (label >> VERBS_LABEL_LOW_BITS & 0x3f)));
}

/*
 * The UDP source port of a UD QP of rdma_rxe: a hash of its number, independent of the address handle's flow label
 * (6.1, rxe_qp_init_req(): hash_32() of linux/hash.h, 14 bits of it).
 */
static inline uint16_t
verbs_rxe_sport(uint32_t qpn)
{
	return (uint16_t)(VERBS_FIRST_SPORT | (qpn * 0x61c88647u) >> (32 - VERBS_LABEL_LOW_BITS));
}

/* IPv4's TOS of an 802.1p class: class selector n (RFC 2474), as the switches read it; ECN-capable (RFC 3168). */
static inline uint8_t
verbs_traffic_class(uint8_t prio)
{
	return (uint8_t)(prio << 5 | 2);
}

/* IPv4's TOS of data with a tag: the tag has a DSCP of its own, which a device's port may map to any class. */
static inline uint8_t
verbs_traffic_class_of_tag(uint8_t tag)
{
	return (uint8_t)(tag_dscp(tag) << 2 | 2);
}

/* @return the smallest exponent for which 4.096 us * 2^n is no less than the timeout (IBTA 9.7.6.1.3); 0: never */
static inline uint8_t
verbs_timeout(uint64_t timeout_ps)
{
	uint8_t exponent = VERBS_MIN_TIMEOUT;

	if (timeout_ps == 0)
		return 0;
	while (exponent < VERBS_MAX_TIMEOUT && (4096000ull << exponent) < timeout_ps)
		exponent++;
	return exponent;
}

/*
 * The UDP source ports by which a host is to send datagrams: those of the flows that start here, and of replies to
 * those that end here.
 */

#define VERBS_NO_PORT UINT32_MAX
/*
 * Length of a run of consecutive numbers in which each port has at least one, when a port is a hash of the number
 * (label.h).
 */
#define VERBS_PORTS_WALK 32768u

struct verbs_ports {
	uint16_t *sports; /* [count] rising */
	uint32_t count;
};

/* @return 0 or -ENOMEM */
int verbs_ports_init(struct verbs_ports *ports, const struct flow_table *flows, uint32_t node);
void verbs_ports_fini(struct verbs_ports *ports);
/* @return its index; VERBS_NO_PORT: it is none of them */
uint32_t verbs_ports_find(const struct verbs_ports *ports, uint16_t sport);

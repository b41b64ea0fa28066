/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable datagrams (IBTA 9.8.3): UD SEND ONLY WITH IMMEDIATE, one packet each, never acknowledged. Their contents are
 * the immediate and a length.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/pkt.h"
#include "rxe-hosts/roce/params.h"
#include "rxe-hosts/roce/rc_recv.h"

struct ud_send {
	uint32_t psn; /* counts datagrams; no receiver checks it */
	uint64_t sent;
};

struct ud_recv {
	uint64_t received;
	uint64_t unposted; /* discarded without a posted receive, or without room in it (IBTA 9.8.3.2.2) */
};

/* @return 0, or -EINVAL for a datagram that is empty or longer than the path MTU */
int ud_send_make(struct ud_send *s, const struct roce_params *params, uint32_t flow, uint8_t prio, uint32_t payload_bytes,
		 uint32_t imm, struct pkt *p);

/*
 * A datagram arrived.
 * @param receives  posted receives of its QP; the oldest is consumed
 * @return true if it is delivered, with its slot in *slot; false if it is discarded and counted
 */
bool ud_recv_take(struct ud_recv *r, struct recv_ring *receives, const struct pkt *p, struct recv_slot *slot);

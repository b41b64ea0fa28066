/* SPDX-License-Identifier: BSD-3-Clause */
/* Configuration of a host's transport, and the frame sizes that follow from it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "rxe-hosts/roce/cc/cc.h"

/* Packet sequence numbers: 24 bits on the wire (IBTA 9.7.1), compared modulo 2^24. */

#define PSN_MASK 0xffffffu

/* @return a - b in modular arithmetic, -2^23 .. 2^23 - 1; also right when a or b carries higher bits */
static inline int32_t
psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

/*
 * How a reliable connection of an embedded host repairs losses. A transport is its file here, its line in meson.build,
 * and a row of TRANSPORTS; scenarios (host.transport) have it then. The per-packet path is not in the row: senders and
 * receivers branch on params->any_order there.
 */

/* Value, name in scenarios, the row's symbol, description. */
#define TRANSPORTS(ROW)                                                                                                    \
	ROW(TRANSPORT_GO_BACK_N, "go-back-n", go_back_n,                                                                   \
	    "receivers accept packets only in order; the sender repeats everything from a gap on (IBTA 9.7)")              \
	ROW(TRANSPORT_SELECTIVE, "selective", selective,                                                                   \
	    "receivers place packets in any order; the sender repeats lost packets only (host.selective)")

#define TRANSPORT_VALUE(id, name, symbol, doc) id,
enum transport_kind { TRANSPORTS(TRANSPORT_VALUE) TRANSPORT_KINDS };

struct rc_send;
struct roce_params;

/* The sender's side of a transport; any_order and kernels are properties of both sides. */
struct transport_ops {
	const char *name;
	bool any_order; /* receivers place packets on arrival: each has its RETH, there are no SENDs */
	bool kernels;   /* Linux' rxe speaks it */
	/*
	 * @return packets that one QP may have between the oldest that is missing and the newest, for a window in
	 * packets
	 */
	uint32_t (*span)(const struct roce_params *params, uint32_t window_packets);
	/* Makes its own state. @return 0 or -ENOMEM. NULL: it has none */
	int (*init)(struct rc_send *s, const struct roce_params *params);
	/* @return when timeout() is due while packets are outstanding */
	uint64_t (*deadline)(const struct rc_send *s, const struct roce_params *params);
	/* @return false if retries are spent */
	bool (*timeout)(struct rc_send *s, const struct roce_params *params, uint64_t now_ps);
};

#define TRANSPORT_EXTERN(id, name, symbol, doc) extern const struct transport_ops transport_##symbol;
TRANSPORTS(TRANSPORT_EXTERN)

extern const struct transport_ops *const transports[TRANSPORT_KINDS];
extern const struct cfg_choice transport_choices[];

/* When a selective sender takes a packet for lost. */
enum sel_timer {
	SEL_ADAPTIVE, /* packets sent repeat_after later are acknowledged; last packet: no ACK for the timeout */
	SEL_FIXED,    /* the timeout after it was sent */
};

/* Group "host.selective". */
struct sel_cfg {
	struct cfg_where where;
	uint64_t repeat_after_ps;
	int timer; /* enum sel_timer */
	int64_t windows;
};

extern const struct cfg_table sel_table;

/* Group "host" as it stands in a scenario; bound by roce_table. */
struct roce_cfg {
	struct cfg_where where;
	int64_t ip_version;
	uint64_t mtu_bytes;
	uint64_t data_overhead_bytes;
	uint64_t ack_bytes;
	uint64_t control_bytes;
	int64_t ack_every;
	int transport; /* enum transport_kind */
	int cc;        /* enum cc_kind */
	const char *window;
	bool window_scales_with_rate, rate_at_once;
	int64_t data_prio, measured_prio;
	uint64_t timeout_ps, kernel_timeout_ps;
	int64_t timeout_doublings;
	int64_t retry_count;
	uint64_t rnr_delay_ps;
	int64_t rnr_retry;
	bool nak;
	struct sel_cfg selective; /* bound by sel_table */
};

extern const struct cfg_table roce_table;

#define ROCE_MAX_MTU 9000
#define ROCE_RNR_UNLIMITED 7 /* IBTA 9.7.5.2.8: an RNR retry count of 7 means for ever */
#define ROCE_MAX_WINDOW_BYTES (UINT32_MAX / 2)
#define ROCE_MAX_INFLIGHT 16384 /* packets unacknowledged on one QP without a window */

/* The parameters, checked and resolved: the form that the transport reads. Immutable once a host uses it. */
struct roce_params {
	uint32_t mtu_bytes;
	uint32_t data_overhead_bytes; /* 0: that of real RoCEv2, by opcode */
	uint16_t ack_bytes, cnp_bytes, control_bytes;
	uint16_t middle_bytes; /* a full segment that is neither first nor last */
	uint16_t ip_bytes;     /* of frames that hosts send, bytes above IPv4's; 0: it is IPv4 */
	uint16_t int_bytes;    /* telemetry of the path in data, ACKs and NAKs; 0: none */
	uint16_t inband_bytes; /* room that a UD SEND with contents has for the switches of its path; 0: none */
	uint32_t ack_every;
	uint64_t window_bytes; /* 0: none */
	bool window_is_bdp;    /* window_bytes is still to be filled in, from the topology */
	bool window_scales_with_rate;
	bool rate_at_once; /* a new rate applies to the wait behind the packet sent last */
	bool nak;
	bool any_order;    /* of the transport */
	bool real_payload; /* packets carry the contents of the hosts' buffers; set by the emulation */
	uint8_t data_prio, measured_prio;
	uint8_t timeout_doublings, retry_count, rnr_retry;
	uint64_t timeout_ps;        /* 0: never */
	uint64_t kernel_timeout_ps; /* of hosts with their own kernel; 0: never */
	uint64_t rnr_delay_ps;
	uint64_t quantum_ps;
	const struct transport_ops *transport;
	struct sel_cfg selective;
	struct cc_params cc;
};

/*
 * Resolves the group.
 * @param cc          of host.cc, without values that depend on the network; NULL: none
 * @param quantum_ps  floor of every serialization and pacing time, 0 for exact
 * @return 0, or -EINVAL with err naming file:line, the value and the remedy
 */
int roce_params_init(struct roce_params *params, const struct roce_cfg *cfg, const struct cc_params *cc,
		     uint64_t quantum_ps, struct err *err);

/*
 * Bytes that one data segment occupies on the wire, preamble and inter-frame gap included (IBTA annex A17; IEEE 802.3
 * clause 4): 8 + 14 Ethernet + 20 IPv4 + 8 UDP + 12 BTH [+ 16 RETH] [+ 4 ImmDt] + payload + pad + 4 ICRC + 4 FCS + 12;
 * or exactly payload + data_overhead_bytes where that is set. Where the congestion control needs it, 42 B of path
 * telemetry are added to either. Over IPv6 (RFC 8200) it is 20 B more than the former. Where packets may arrive in any
 * order each has a RETH.
 * @param reth  first or only segment of an RDMA WRITE
 * @param imm   last or only segment of a message with immediate data
 */
uint16_t roce_data_bytes(const struct roce_params *params, uint32_t payload_bytes, bool reth, bool imm);

/* Wire bytes of a UD SEND ONLY WITH IMMEDIATE: roce_data_bytes() with 8 B of DETH instead of the RETH. */
uint16_t roce_ud_bytes(const struct roce_params *params, uint32_t payload_bytes);
/* Wire bytes of a UD SEND ONLY without immediate. */
uint16_t roce_ud_contents_bytes(const struct roce_params *params, uint32_t payload_bytes);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion control of a sender's QP: feedback from the network becomes a pacing rate, a window, or both. An algorithm
 * is a file here, its line in meson.build, and a row of CC_ALGORITHMS; scenarios (host.cc) and the tests over all
 * algorithms have it then. No clock and no timer: the caller passes the time and checks due_ps.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "common/int_header.h"
#include "common/units.h"

/* Value, name in scenarios, the file's symbol, its signal. */
#define CC_ALGORITHMS(ROW)                                                                                                 \
	ROW(CC_DCQCN, "dcqcn", dcqcn, "marks of switches (host.dcqcn)")                                                    \
	ROW(CC_HPCC, "hpcc", hpcc, "inband telemetry, which switches write into packets (host.hpcc)")                      \
	ROW(CC_SWIFT, "swift", swift, "delay against a target (host.swift)")                                               \
	ROW(CC_TIMELY, "timely", timely, "the gradient of the delay (host.timely)")                                        \
	ROW(CC_NONE, "none", none, "nothing: line rate within host.window")

#define CC_VALUE(id, name, symbol, doc) id,
enum cc_kind { CC_ALGORITHMS(CC_VALUE) CC_KINDS };

/* How a receiver reports packets that switches marked. */
enum cc_echo {
	CC_ECHO_NONE,
	CC_ECHO_ACK, /* in their ACKs */
	CC_ECHO_CNP, /* by CNPs (RoCEv2 annex A17.9.3) */
};

#define CC_PARAMS_WORDS 64
#define CC_STATE_WORDS 24
#define CC_NO_WINDOW UINT64_MAX

/* An algorithm with its parameters, for all QPs of a run. Immutable once a host uses it. */
struct cc_params {
	const struct cc_ops *ops;
	enum cc_echo echo;
	bool cnp_of_port;              /* CC_ECHO_CNP: its interval is between those of a NIC, not of a flow */
	uint8_t cnp_prio;              /* CC_ECHO_CNP: 802.1p class of CNPs; 0: that of ACKs */
	uint64_t cnp_interval_ps;      /* CC_ECHO_CNP: least time between two */
	uint64_t base_rtt_ps;          /* the longest round trip of the network without queues */
	uint32_t payload_bytes;        /* of a full packet */
	uint32_t frame_bytes;          /* it occupies on the wire */
	const struct int_rates *rates; /* that hops name; set where ops->inband is */
	uint64_t own[CC_PARAMS_WORDS]; /* the algorithm's: the bound values of its table, and those derived from them */
};

/* One QP's control. The first three are its result. */
struct cc {
	uint64_t due_ps;       /* advance() may change the result then; TIME_NEVER: nothing changes of its own accord */
	uint64_t rate_bps;     /* to pace by; the line's at most */
	uint64_t window_bytes; /* payload in flight stays below; CC_NO_WINDOW: no window of its own */
	uint64_t line_bps;
	uint64_t state[CC_STATE_WORDS]; /* the algorithm's */
};

/* An ACK arrived. Packets count as 32-bit sequence numbers modulo 2^32. */
struct cc_ack {
	uint64_t now_ps;
	uint64_t rtt_ps;                    /* of the packet it is for; 0: no sample (Karn) */
	uint32_t acked;                     /* packets that it acknowledges for the first time */
	uint32_t una, nxt;                  /* then: the oldest unacknowledged; the next to send */
	uint32_t switches;                  /* that it passed through */
	const struct int_header *telemetry; /* of the path of the packet it is for; NULL: none */
};

enum cc_loss {
	CC_LOSS_NAK,     /* the receiver misses a packet */
	CC_LOSS_TIMEOUT, /* nothing arrived for a retransmission timeout */
};

/* Whatever it has no use for is NULL. Times never go back. */
struct cc_ops {
	const char *name;
	bool inband;                   /* data packets and ACKs carry telemetry of the path (common/int_header.h) */
	const struct cfg_table *table; /* "host.NAME"; bound into the parameters' own; NULL: none */
	bool quiet; /* leaves next to no queues: round trips show no contention, but a rate below the line's does */
	/* @return the share of every link that it leaves free */
	double (*spare)(const struct cc_params *params);
	/* Checks and completes the bound values. @return 0, or -EINVAL with err set */
	int (*prepare)(struct cc_params *params, struct err *err);
	/* A fresh QP. cc is at line rate, without window and with all state 0. */
	void (*reset)(struct cc *cc, const struct cc_params *params);
	/* Brings the result up to now_ps. */
	void (*advance)(struct cc *cc, const struct cc_params *params, uint64_t now_ps);
	/* A CNP, or an ACK that echoes a mark. */
	void (*marked)(struct cc *cc, const struct cc_params *params, uint64_t now_ps);
	void (*acked)(struct cc *cc, const struct cc_params *params, const struct cc_ack *ack);
	/* While the rate is below the line's, before each packet: payload bytes sent since the last call. */
	void (*sent)(struct cc *cc, const struct cc_params *params, uint32_t bytes);
	void (*lost)(struct cc *cc, const struct cc_params *params, enum cc_loss loss, uint64_t now_ps);
};

#define CC_EXTERN(id, name, symbol, doc) extern const struct cc_ops cc_##symbol;
CC_ALGORITHMS(CC_EXTERN)

extern const struct cc_ops *const cc_algorithms[CC_KINDS];
extern const struct cfg_choice cc_choices[];

/*
 * Binds the groups of all algorithms, so that an error in any is found, and keeps the parameters of one.
 * @return 0, or -EINVAL with err set
 */
int cc_bind(struct cc_params *params, enum cc_kind kind, const struct cfg *cfg, struct err *err);

/* Line rate and no congestion state: as a fresh QP. */
void cc_reset(struct cc *cc, const struct cc_params *params, uint64_t line_bps);

static inline void
cc_advance(struct cc *cc, const struct cc_params *params, uint64_t now_ps)
{
	if (params->ops->advance != NULL)
		params->ops->advance(cc, params, now_ps);
}

static inline void
cc_marked(struct cc *cc, const struct cc_params *params, uint64_t now_ps)
{
	if (params->ops->marked != NULL)
		params->ops->marked(cc, params, now_ps);
}

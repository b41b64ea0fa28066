/* SPDX-License-Identifier: BSD-3-Clause */
/* DCQCN's parameters and state, for dcqcn.c and its test. */
#pragma once

#include "rxe-hosts/roce/cc/cc.h"

#define DCQCN_DECAY_POWERS 20 /* alpha is 0 after 2^20 quiet intervals */

/* Between whose CNPs cnp_interval lies at least. */
enum cnp_scope { CNP_OF_QP, CNP_OF_PORT };

/* Group "host.dcqcn". */
struct dcqcn_params {
	struct cfg_where where;
	double g;
	uint64_t alpha_interval_ps;
	uint64_t decrease_interval_ps;
	uint64_t increase_timer_ps;
	uint64_t byte_reset_bytes; /* 0: no byte counter */
	uint64_t ai_bps, hai_bps, min_rate_bps;
	int64_t fast_recovery;
	bool clamp_target; /* every decrease sets the target to the rate */
	int echo;          /* enum cc_echo */
	int cnp_scope;     /* enum cnp_scope */
	int64_t cnp_prio;  /* class of CNPs; 0: that of ACKs */
	uint64_t cnp_interval_ps;
	/* of g */
	double decay[DCQCN_DECAY_POWERS]; /* (1-g)^(2^i) */
};

struct dcqcn {
	uint64_t target_bps;
	uint64_t start_ps; /* first notification: origin of all periods */
	uint64_t alpha_next_ps;
	uint64_t decrease_at_ps; /* TIME_NEVER: no notification since the last check */
	uint64_t increase_at_ps; /* TIME_NEVER: nothing to gain */
	double alpha;
	uint32_t stage;      /* increases since the last decrease; with a byte counter those by the timer */
	uint32_t byte_stage; /* those by the byte counter */
	uint64_t bytes;      /* acknowledged since the byte counter's last increase, or the decrease */
	bool started;
	bool alpha_notified; /* a notification arrived since the last alpha update */
};

_Static_assert(sizeof(struct dcqcn_params) <= sizeof(((struct cc_params *)0)->own), "CC_PARAMS_WORDS");
_Static_assert(sizeof(struct dcqcn) <= sizeof(((struct cc *)0)->state), "CC_STATE_WORDS");

/* HPCC's parameters and state, for hpcc.c and its test. */

/* Group "host.hpcc". */
struct hpcc_params {
	struct cfg_where where;
	double eta;
	int64_t max_stage;
	uint64_t wai_bytes;
	uint64_t base_rtt_ps; /* T; 0: the network's */
	uint64_t min_rate_bps;
};

struct hpcc {
	struct int_header last; /* L; count 0: none yet */
	uint64_t received_ps;   /* when it arrived */
	double u;               /* U: bytes in flight on the fullest link, of its bandwidth-delay product */
	double reference_bytes; /* Wc */
	uint32_t stage;         /* incStage */
	uint32_t update_seq;    /* lastUpdateSeq */
};

_Static_assert(sizeof(struct hpcc_params) <= sizeof(((struct cc_params *)0)->own), "CC_PARAMS_WORDS");
_Static_assert(sizeof(struct hpcc) <= sizeof(((struct cc *)0)->state), "CC_STATE_WORDS");

/* Swift's parameters and state, for swift.c and its test. */

/* Group "host.swift". Windows count packets. */
struct swift_params {
	struct cfg_where where;
	double ai, beta, max_mdf;
	double min_cwnd, max_cwnd; /* max_cwnd 0: the bytes that the line carries in base_target */
	uint64_t base_target_ps, hop_ps;
	uint64_t fs_range_ps;
	double fs_min_cwnd, fs_max_cwnd;
	int64_t retx_reset;
	/* of the flow scaling */
	double fs_alpha_ps, fs_beta_ps;
};

struct swift {
	double cwnd;           /* packets */
	double max_cwnd;       /* of this QP's line */
	uint64_t rtt_ps;       /* latest */
	uint64_t decreased_ps; /* when the window last shrank */
	uint64_t retransmits;  /* timeouts in a row */
};

_Static_assert(sizeof(struct swift_params) <= sizeof(((struct cc_params *)0)->own), "CC_PARAMS_WORDS");
_Static_assert(sizeof(struct swift) <= sizeof(((struct cc *)0)->state), "CC_STATE_WORDS");

/* TIMELY's parameters and state, for timely.c and its test. */

/* Group "host.timely". */
struct timely_params {
	struct cfg_where where;
	double alpha, beta, max_decrease;
	uint64_t delta_bps; /* 0: a thousandth of the line's rate */
	uint64_t min_rate_bps;
	uint64_t t_low_ps, t_high_ps;
	uint64_t min_rtt_ps; /* 0: the network's base RTT */
	int64_t hai;         /* completion events in a row without rising delay, before the increase is fivefold */
	uint64_t segment_bytes;
};

struct timely {
	double rate_bps;
	double rtt_diff_ps;     /* smoothed */
	uint64_t prev_rtt_ps;   /* 0: no sample yet */
	uint64_t segment_bytes; /* acknowledged since the last completion event */
	uint64_t not_rising;    /* completion events in a row whose gradient was 0 or less */
};

_Static_assert(sizeof(struct timely_params) <= sizeof(((struct cc_params *)0)->own), "CC_PARAMS_WORDS");
_Static_assert(sizeof(struct timely) <= sizeof(((struct cc *)0)->state), "CC_STATE_WORDS");

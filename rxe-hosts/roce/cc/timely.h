/* SPDX-License-Identifier: BSD-3-Clause */
/* TIMELY's parameters and state, for timely.c and its test. */
#pragma once

#include "rxe-hosts/roce/cc/cc.h"

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

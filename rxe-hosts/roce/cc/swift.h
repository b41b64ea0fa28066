/* SPDX-License-Identifier: BSD-3-Clause */
/* Swift's parameters and state, for swift.c and its test. */
#pragma once

#include "rxe-hosts/roce/cc/cc.h"

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

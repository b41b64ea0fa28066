/* SPDX-License-Identifier: BSD-3-Clause */
/* DCQCN's parameters and state, for dcqcn.c and its test. */
#pragma once

#include "rxe-hosts/roce/cc/cc.h"

#define DCQCN_DECAY_POWERS 20 /* alpha is 0 after 2^20 quiet intervals */

/* Group "host.dcqcn". */
struct dcqcn_params {
	struct cfg_where where;
	double g;
	uint64_t alpha_interval_ps;
	uint64_t decrease_interval_ps;
	uint64_t increase_timer_ps;
	uint64_t ai_bps, hai_bps, min_rate_bps;
	int64_t fast_recovery;
	bool clamp_target; /* every decrease sets the target to the rate */
	int echo;          /* enum cc_echo */
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
	uint32_t stage; /* increases since the last decrease */
	bool started;
	bool alpha_notified; /* a notification arrived since the last alpha update */
};

_Static_assert(sizeof(struct dcqcn_params) <= sizeof(((struct cc_params *)0)->own), "CC_PARAMS_WORDS");
_Static_assert(sizeof(struct dcqcn) <= sizeof(((struct cc *)0)->state), "CC_STATE_WORDS");

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DCQCN's reaction point (Zhu et al., SIGCOMM 2015) in the timer-only form of the ns-3 model of HPCC and Vedrfolnir:
 * alpha, decrease and increase each follow a period that starts with the first notification. No timer runs: the state
 * is advanced when somebody looks, and the outcome does not depend on how often that happens.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "common/units.h"

enum dcqcn_echo {
	DCQCN_ECHO_ACK, /* a marked packet's ACK carries the notification */
	DCQCN_ECHO_CNP, /* a CNP of its own, at most one an interval (RoCEv2 annex A17.9.3) */
};

/* Group "host.dcqcn" as it stands in a scenario; bound by dcqcn_table. */
struct dcqcn_cfg {
	struct cfg_where where;
	bool enabled;
	double g;
	uint64_t alpha_interval_ps;
	uint64_t decrease_interval_ps;
	uint64_t increase_timer_ps;
	uint64_t ai_bps, hai_bps, min_rate_bps;
	int64_t fast_recovery;
	bool clamp_target;
	int echo; /* enum dcqcn_echo */
	uint64_t cnp_interval_ps;
};

extern const struct cfg_table dcqcn_table;

#define DCQCN_DECAY_POWERS 20 /* alpha is 0 after 2^20 quiet intervals */

struct dcqcn_params {
	bool enabled;
	bool clamp_target; /* every decrease sets the target to the rate */
	bool echo_cnp;
	uint32_t fast_recovery;
	double g;
	double decay[DCQCN_DECAY_POWERS]; /* (1-g)^(2^i) */
	uint64_t alpha_ps, decrease_ps, increase_ps;
	uint64_t ai_bps, hai_bps, min_bps;
	uint64_t cnp_interval_ps;
};

/* @return 0 or -EINVAL with err set */
int dcqcn_params_init(struct dcqcn_params *params, const struct dcqcn_cfg *cfg, struct err *err);

/* One QP's rate. */
struct dcqcn {
	uint64_t due_ps; /* the rate may change at this time; TIME_NEVER: not of its own accord */
	uint64_t rate_bps, target_bps, line_bps;
	uint64_t start_ps; /* first notification: origin of all periods */
	uint64_t alpha_next_ps;
	uint64_t decrease_at_ps; /* TIME_NEVER: no notification since the last check */
	uint64_t increase_at_ps; /* TIME_NEVER: nothing to gain */
	double alpha;
	uint32_t stage; /* increases since the last decrease */
	bool started;
	bool alpha_notified; /* a notification came since the last alpha update */
};

/* Line rate, no congestion state: as a fresh QP. */
void dcqcn_init(struct dcqcn *cc, uint64_t line_bps);

/*
 * Brings the rate up to now_ps. Times never go back. What is due at one instant happens in the order alpha, increase,
 * decrease; a notification at that instant belongs to the following periods.
 */
void dcqcn_advance(struct dcqcn *cc, const struct dcqcn_params *params, uint64_t now_ps);

/* A congestion notification came in. Advances first. */
void dcqcn_notify(struct dcqcn *cc, const struct dcqcn_params *params, uint64_t now_ps);

/* SPDX-License-Identifier: BSD-3-Clause */
/* When hosts poll, and what made one poll: in records (struct rec_run, rec_trigger) and scenarios. */
#pragma once

enum rec_policy {
	REC_POLICY_OFF,
	REC_POLICY_VEDRFOLNIR,
	REC_POLICY_POSTER,
	REC_POLICY_HAWKEYE_MINR,
	REC_POLICY_HAWKEYE_MAXR,
	REC_POLICY_FULL_POLLING,
};

enum rec_trigger_cause { REC_TRIGGER_RTT, REC_TRIGGER_STALL };

/* SPDX-License-Identifier: BSD-3-Clause */
/* When hosts poll, and what made one poll: in records (struct rec_run, rec_trigger) and scenarios. */
#pragma once

#include "common/wire/layout.h"

/* Value, name, the file's symbol (rxe-hosts/agent/policy.h), meaning. */
#define REC_POLICIES(ROW)                                                                                                  \
	ROW(REC_POLICY_OFF, 0, "off", off, "never")                                                                        \
	ROW(REC_POLICY_VEDRFOLNIR, 1, "vedrfolnir", vedrfolnir,                                                            \
	    "at most `detections` times per step; unused detections pass to the waiting host (VEDRFOLNIR III-C2)")         \
	ROW(REC_POLICY_POSTER, 2, "vedrfolnir-poster", poster, "once a step, and only when waited for (its poster)")       \
	ROW(REC_POLICY_HAWKEYE_MINR, 3, "hawkeye-minr", hawkeye_minr,                                                      \
	    "on every ACK above one threshold for all flows, from the smallest base RTT (Hawkeye)")                        \
	ROW(REC_POLICY_HAWKEYE_MAXR, 4, "hawkeye-maxr", hawkeye_maxr, "the same, from the largest base RTT")               \
	ROW(REC_POLICY_FULL_POLLING, 5, "full-polling", full_polling, "never, but all switches report every epoch")        \
	ROW(REC_POLICY_PAPER, 6, "vedrfolnir-paper", paper,                                                                \
	    "as vedrfolnir, by the paper's rule alone: any sample above the threshold, late or not (detections = 3 "       \
	    "there)")

enum rec_policy { REC_POLICIES(ENUM_VALUE) };

/*
 * A sample above the threshold; the age of the oldest unacknowledged packet; a sender that its congestion control holds
 * back without any round trip above the threshold, in a step that is late; packets that were sent again, in such a
 * step; a step that has lost more time than its host's scheduling may cost, whatever the round trips, which vary too
 * much there to show it.
 */
#define REC_TRIGGER_CAUSES(ROW)                                                                                            \
	ROW(REC_TRIGGER_RTT, 0, "rtt")                                                                                     \
	ROW(REC_TRIGGER_STALL, 1, "stall")                                                                                 \
	ROW(REC_TRIGGER_THROTTLE, 2, "throttle")                                                                           \
	ROW(REC_TRIGGER_RESENT, 3, "resent")                                                                               \
	ROW(REC_TRIGGER_LAG, 4, "lag")

enum rec_trigger_cause { REC_TRIGGER_CAUSES(ENUM_VALUE) };

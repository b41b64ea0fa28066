/* SPDX-License-Identifier: BSD-3-Clause */
/* VEDRFOLNIR's types of findings by name, for tests. */
#pragma once

#include "diag/vedrfolnir/cause/cause.h"

#define FINDING_FLOW_CONTENTION (&cause_flow_contention.type)
#define FINDING_STRICT_PRIORITY (&cause_strict_priority.type)
#define FINDING_INCAST (&cause_incast.type)
#define FINDING_PFC_BACKPRESSURE (&cause_pfc_backpressure.type)
#define FINDING_PFC_STORM (&cause_pfc_storm.type)
#define FINDING_PFC_DEADLOCK (&cause_pfc_deadlock.type)
#define FINDING_LINK_RATE (&cause_link_rate.type)
#define FINDING_PFC_WATCHDOG (&cause_pfc_watchdog.type)
#define FINDING_FORWARDING_LOOP (&cause_forwarding_loop.type)
#define FINDING_LOAD_IMBALANCE (&cause_load_imbalance.type)
#define FINDING_PATH_DELAY (&cause_path_delay.type)
#define FINDING_PACKET_LOSS (&cause_packet_loss.type)
#define FINDING_LINK_DOWN (&cause_link_down.type)
#define FINDING_BLACKHOLE (&cause_blackhole.type)
#define FINDING_SLOW_HOST (&cause_slow_host.type)
#define FINDING_TAIL_DROP (&cause_tail_drop.type)
#define FINDING_NO_PFC (&cause_no_pfc.type)
#define FINDING_HOST_LIMITED (&cause_host_limited.type)
#define FINDING_TIMER_TOO_SHORT (&cause_timer_too_short.type)
#define FINDING_RECEIVER_NOT_READY (&cause_receiver_not_ready.type)
#define FINDING_REORDERING (&cause_reordering.type)

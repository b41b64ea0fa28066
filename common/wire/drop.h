/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a packet was dropped: in records (struct rec_drop_row), counters and run.json. */
#pragma once

#include "common/wire/layout.h"

#define REC_DROPS(ROW)                                                                                                     \
	ROW(REC_DROP_INJECTED, 0, "injected") /* a faulty link lost it */                                                  \
	ROW(REC_DROP_CORRUPT, 1, "corrupt")   /* ICRC mismatch, counted by the host that checked */                        \
	ROW(REC_DROP_LINK_DOWN, 2, "link_down")                                                                            \
	ROW(REC_DROP_TTL, 3, "ttl")                                                                                        \
	ROW(REC_DROP_NO_ROUTE, 4, "no_route")                                                                              \
	ROW(REC_DROP_BLACKHOLE, 5, "blackhole")                                                                            \
	ROW(REC_DROP_QUEUE_FULL, 6, "queue_full") /* lossy class */                                                        \
	ROW(REC_DROP_NO_BUFFER, 7, "no_buffer")   /* lossless class: fails the run, but where a fault did it */            \
	ROW(REC_DROP_MTU, 8, "mtu")               /* the frame is larger than a port's MTU */                              \
	ROW(REC_DROP_WATCHDOG, 9, "watchdog")     /* of a queue in a PFC storm */

enum rec_drop { REC_DROPS(ENUM_VALUE) REC_DROP_REASONS };

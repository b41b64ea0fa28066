/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a run ended: in its last record (struct rec_end), run.json and reports. */
#pragma once

#include "common/wire/layout.h"

#define REC_ENDINGS(ROW)                                                                                                   \
	ROW(REC_END_COMPLETE, 0, "complete")                                                                               \
	ROW(REC_END_QP_ERROR, 1, "qp_error")                                                                               \
	ROW(REC_END_STALL, 2, "stall")                                                                                     \
	ROW(REC_END_VIRTUAL_TIME, 3, "virtual_time")                                                                       \
	ROW(REC_END_INVARIANT, 4, "invariant")                                                                             \
	ROW(REC_END_INTERRUPT, 5, "interrupt")                                                                             \
	ROW(REC_END_HOST_LOST, 6, "host_lost")      /* a host with its own kernel went away */                             \
	ROW(REC_END_PART_LOST, 7, "partition_lost") /* a program that ran a partition of the fabric ended */

enum rec_end_reason { REC_ENDINGS(ENUM_VALUE) REC_END_REASONS };

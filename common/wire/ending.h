/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a run ended: in its last record (struct rec_end) and run.json. */
#pragma once

enum rec_end_reason {
	REC_END_COMPLETE,
	REC_END_QP_ERROR,
	REC_END_STALL,
	REC_END_LIMIT,
	REC_END_INVARIANT,
	REC_END_INTERRUPT,
	REC_END_HOST_LOST, /* a host with its own kernel went away */
	REC_END_REASONS
};

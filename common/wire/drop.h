/* SPDX-License-Identifier: BSD-3-Clause */
/* Why a packet was dropped: in records (struct rec_drop_row), counters and run.json. */
#pragma once

enum rec_drop {
	REC_DROP_INJECTED, /* a faulty link lost it */
	REC_DROP_CORRUPT,  /* ICRC mismatch, counted by the host that checked */
	REC_DROP_LINK_DOWN,
	REC_DROP_TTL,
	REC_DROP_NO_ROUTE,
	REC_DROP_BLACKHOLE,
	REC_DROP_QUEUE_FULL, /* lossy class */
	REC_DROP_NO_BUFFER,  /* lossless class: fails the run */
	REC_DROP_REASONS
};

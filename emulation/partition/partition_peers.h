/* SPDX-License-Identifier: BSD-3-Clause */
/* A partition of the fabric and its view of the other partitions. */
#pragma once

#include "common/record/check.h"
#include "common/stall_timer.h"
#include "common/wire/ending.h"
#include "emulation/emulation.h"
#include "emulation/partition/boundary.h"
#include "emulation/partition/channel.h"
#include "emulation/partition/division.h"
#include "emulation/partition/partition.h"

/*
 * A peer that is silent for this long is frozen, or its network is; one that makes no progress for this long is
 * faulty.
 */
#define PARTITION_SILENCE_NS 5000000000ULL
#define PARTITION_STUCK_NS 30000000000ULL
/* A partition that waits repeats its promise at this interval. */
#define PARTITION_ALIVE_NS 100000000ULL

/* Another partition, by its own messages. */
struct partition_peer {
	struct channel channel;
	uint64_t leaves_ps; /* nothing leaves it before */
	uint64_t delay_ps;  /* of the shortest cable from it; TIME_NEVER: there is none */
	uint64_t progress, next_ps;
	uint64_t before_ps; /* its records of earlier events are here */
	bool working, sending;
	bool up;   /* its hosts are, in the first phase */
	bool past; /* its messages are of a phase that has ended here, up to its BYE */
	bool bye;  /* its run has ended */
	bool done; /* its report is complete */
	bool lost;
	bool violates; /* an invariant does not hold there */
	char *report;  /* [report_bytes] JSON received so far */
	size_t report_bytes, report_cap;
	json_t *reported; /* the same, whole and checked */
	struct stall_timer silent, stuck;
};

struct partitions {
	struct partition partition; /* for the emulation */
	uint32_t which, count;
	struct scenario *scenario;
	struct emulation *emulation; /* of the present fabric */
	uint32_t *partition_of;      /* [nnodes] */
	bool *remote;                /* [nnodes] */
	struct partition_peer peers[PARTITION_MAX];
	struct boundary boundary;
	struct segments segments;   /* contents that arrived over boundary cables */
	struct record_check *check; /* of other partitions' reports; partition 0 */
	bool own_check;
	/* this partition's promise */
	uint64_t promised_ps, promised_ns;
	struct partition_promise promised;
	uint64_t clock_error_ns;            /* of this clock against the first partition's, at most */
	uint64_t blocked_windows, waits_ns; /* opened late because another partition was behind; time spent so */
	bool up;                            /* this partition's hosts are, in the first phase */
	bool ended;
	/* why another ended it */
	bool over;
	enum rec_end_reason reason;
	uint32_t node;
	char why[PARTITION_TEXT + 200];
};

/* A peer is gone, or of no use: the run ends. The first lost one is named. */
void partition_lose(struct partitions *partitions, uint32_t peer, const char *why);
/* Whether a peer's messages are of a phase that has ended here: they are discarded. */
bool partition_is_past(struct partition_peer *peer, enum partition_type type);
/* Takes in all that has arrived. */
void partition_take_in(struct partitions *partitions);
/* Writes the waiting messages. */
void partition_flush(struct partitions *partitions);
/* Sleeps until a message arrives, a peer can take what waits, or a time of clock_now_ns(). */
void partition_sleep(struct partitions *partitions, uint64_t until_ns);

/*
 * @param told  another partition's report, checked, or NULL. @return by how much its hosts' clocks differ from the
 *              first partition's
 */
uint64_t partition_clock_error_ns(const json_t *reported);
uint64_t partition_collect(void *ctx, uint64_t now_ps);
void partition_finish(void *ctx);

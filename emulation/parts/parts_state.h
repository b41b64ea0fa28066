/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a part, shared by the files of this folder. */
#pragma once

#include "common/patience.h"
#include "common/record/check.h"
#include "common/wire/ending.h"
#include "emulation/emulation.h"
#include "emulation/parts/channel.h"
#include "emulation/parts/cut.h"
#include "emulation/parts/division.h"
#include "emulation/parts/parts.h"
#include "emulation/parts/segments.h"

/* One that says nothing for so long is frozen, or its network is; one that does not go on for so long lies. */
#define PARTS_SILENCE_NS 5000000000ULL
#define PARTS_STUCK_NS 30000000000ULL
/* Who waits says so. */
#define PARTS_ALIVE_NS 100000000ULL

/* Another part, as it says itself. */
struct part_peer {
	struct channel channel;
	uint64_t leaves_ps; /* nothing leaves it before */
	uint64_t delay_ps;  /* of the shortest cable from it; TIME_NEVER: there is none */
	uint64_t progress, next_ps;
	uint64_t before_ps; /* its records of what happened before are here */
	bool working, sending;
	bool up;   /* its hosts are, in the first phase */
	bool past; /* what it says is of a phase that has ended here, up to its BYE */
	bool bye;  /* its run has ended */
	bool done; /* it has told all of it */
	bool lost;
	bool violates; /* an invariant does not hold there */
	char *report;  /* [report_bytes] JSON that has come */
	size_t report_bytes, report_cap;
	json_t *told; /* the same, whole and checked */
	struct patience silent, stuck;
};

struct parts {
	struct part part; /* for the emulation */
	uint32_t which, count;
	struct scenario *scenario;
	struct emulation *emulation; /* of the present fabric */
	uint32_t *part_of;           /* [nnodes] */
	bool *foreign;               /* [nnodes] */
	struct part_peer peers[PARTS_MAX];
	struct cut cut;
	struct segments segments;   /* contents that came over cut cables */
	struct record_check *check; /* of what other parts report; part 0 */
	bool own_check;
	/* what this one says */
	uint64_t said_ps, said_ns;
	struct parts_promise said;
	uint64_t clock_error_ns;            /* of this clock against the first part's, at most */
	uint64_t blocked_windows, waits_ns; /* opened late because another part was not so far; time spent so */
	bool up;                            /* this part's hosts are, in the first phase */
	bool ended;
	/* why another ended it */
	bool over;
	enum rec_end_reason reason;
	uint32_t node;
	char why[PARTS_TEXT + 200];
};

/* A peer is gone, or of no use: the run ends. The first that is lost is who is named. */
void parts_lose(struct parts *parts, uint32_t peer, const char *why);
/* Whether what a peer says is of a phase that has ended here: nobody wants it. */
bool parts_is_past(struct part_peer *peer, enum parts_type type);
/* Takes in all that has come. */
void parts_take_in(struct parts *parts);
/* Writes what waits. */
void parts_flush(struct parts *parts);
/* Sleeps until something comes, somebody takes what waits, or a time of clock_now_ns(). */
void parts_sleep(struct parts *parts, uint64_t until_ns);

/* parts_pace.c, of struct part_ops */
uint64_t parts_pace(void *ctx, uint64_t earliest_ps, uint64_t start_ps);
uint64_t parts_horizon(void *ctx);
/* parts_report.c */
void parts_report(struct parts *parts);
/* @param told  what another part reported, checked, or NULL. @return by how much its hosts' clocks differ from the first part's */
uint64_t parts_told_clock_ns(const json_t *told);
/* parts_records.c */
uint64_t parts_collect(void *ctx, uint64_t now_ps);
int parts_records_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err);
/* parts_finish.c */
void parts_finish(void *ctx);
int parts_counters_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err);
int parts_step_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err);
int parts_iteration_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err);
int parts_flow_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err);
int parts_result_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err);
int parts_report_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err);
int parts_done_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err);
int parts_faults_came(struct parts *parts, uint32_t from, const struct channel_message *message, struct err *err);
/* Whether a node is that peer's, to speak of. */
int parts_owns(const struct parts *parts, uint32_t from, uint32_t node, struct err *err);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A partition of the fabric and its view of the other partitions: their promises, results and ends, message by message.
 * partition.c starts it and paces the fabric by it.
 */
#pragma once

#include "common/child.h"
#include "common/record/check.h"
#include "common/stall_timer.h"
#include "common/wire/ending.h"
#include "emulation/partition.h"
#include "emulation/partition/boundary.h"
#include "emulation/partition/rendezvous.h"

/*
 * A peer that is silent for this long is frozen, or its network is; one that makes no progress for this long is
 * faulty.
 */
#define PARTITION_SILENCE_NS 5000000000ULL
#define PARTITION_STUCK_NS 30000000000ULL
/* A partition that waits repeats its promise at this interval. */
#define PARTITION_ALIVE_NS 100000000ULL

/* Failed nodes that a partition reports at once, and that are known of all. */
#define PARTITION_FAILURES 64
#define PARTITION_ALL_FAILURES (PARTITION_FAILURES * PARTITION_MAX)

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
	/* where all open the same windows */
	uint64_t marks;           /* ends of windows and states of hosts that it has sent */
	uint64_t happens_ps;      /* when something happens next in it, by the last window */
	struct child_watch watch; /* pid 0: on another machine */
};

struct emulation;
struct scenario;

struct partitions {
	struct partition partition; /* for the emulation */
	uint32_t which, count;
	const struct transport *transport; /* of all peers */
	struct scenario *scenario;
	struct emulation *emulation; /* of the present fabric */
	uint32_t *partition_of;      /* [nnodes] */
	bool *remote;                /* [nnodes] */
	struct partition_peer peers[PARTITION_MAX];
	struct boundary boundary;
	struct record_check *check; /* of other partitions' reports; partition 0 */
	bool own_check;
	/* this partition's promise */
	uint64_t promised_ps, promised_ns;
	struct partition_promise promised;
	uint64_t clock_error_ns;            /* of this clock against the first partition's, at most */
	uint64_t blocked_windows, waits_ns; /* opened late because another partition was behind; time spent so */
	bool up;                            /* this partition's hosts are, in the first phase */
	bool found;                         /* all partitions are, by each other */
	bool ended;
	bool job; /* processes of an MPI job */
	/* where all open the same windows */
	bool interrupted;                   /* one of all is */
	uint64_t marks;                     /* that this partition has sent */
	struct partition_request *requests; /* [nrequests] of hosts of others, after the last window */
	uint32_t nrequests;
	size_t requests_cap;
	uint32_t nfailures;
	struct partition_failure *failures; /* [nfailures] nodes of others */
	/* why another ended it */
	bool over;
	enum rec_end_reason reason;
	uint32_t node;
	char why[PARTITION_TEXT + 200];
};

/* Whether a node belongs to a peer, which alone may report it. @return 0, or -EPROTO with err set */
int partition_owns(const struct partitions *partitions, uint32_t from, uint32_t node, struct err *err);
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
 * @param reported  another partition's report, checked, or NULL. @return by how much its hosts' clocks differ from the
 *                  first partition's
 */
uint64_t partition_clock_error_ns(const json_t *reported);

/* Where all open the same windows (windows.c). */

/* The frames of a window leave. */
void partition_end_window(struct partitions *partitions, const struct window *window);
/* Of struct fabric_hooks. */
uint64_t partition_agree(void *ctx, const struct window *window, uint64_t next_ps);
uint64_t partition_hold(struct partitions *partitions, uint64_t earliest_ps, uint64_t start_ps);
/* Sends what this partition knows of its hosts, and receives the same of all others. */
void partition_exchange_states(struct partitions *partitions, uint64_t now_ps);
/* Of struct partition_ops. */
void partition_share(void *ctx, const struct partition_request *request);
const struct partition_request *partition_shared(void *ctx, uint32_t *count);
bool partition_arrived(void *ctx, enum partition_program program, struct partition_request *request);
void partition_drop_requests(struct partitions *partitions);
/* Nodes of others are as the others reported. */
void partition_show_states(struct partitions *partitions);
/* This partition waits, for others or for its output: the others should know. */
void partition_show_life(struct partitions *partitions);
/* Whether a peer's next messages are about a later time than this partition's. */
bool partition_is_ahead(const struct partitions *partitions, const struct partition_peer *peer);
int partition_recv_window(struct partitions *partitions, uint32_t from, const struct channel_message *message,
			  struct err *err);
int partition_recv_shared(struct partitions *partitions, uint32_t from, const struct channel_message *message,
			  struct err *err);
int partition_recv_shared_end(struct partitions *partitions, uint32_t from, const struct channel_message *message,
			      struct err *err);
int partition_recv_made(struct partitions *partitions, uint32_t from, const struct channel_message *message,
			struct err *err);
int partition_recv_state(struct partitions *partitions, uint32_t from, const struct channel_message *message,
			 struct err *err);

uint64_t partition_collect(void *ctx, uint64_t now_ps);
void partition_finish(void *ctx);

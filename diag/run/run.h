/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The facts of a run for any diagnoser, as plain data: the network, its flows and collectives, the results of steps and
 * ports, and the completeness of the evidence. Things are named by index into the tables below (nodes, ports, flows,
 * steps, collectives); RUN_NONE is none. Every table is sorted and holds no pointers' order: the same records give the
 * same bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/wire/collective.h"
#include "common/wire/layout.h"
#include "common/wire/ledger.h"
#include "common/wire/record_run.h"
#include "common/wire/record_steps.h"
#include "common/wire/roce.h"

struct evidence;

#define RUN_NONE UINT32_MAX
#define RUN_MAX_RANKS (1u << 26) /* of all collectives; of those beyond it the ranks' results are unknown */
#define RUN_MAX_AFTER (1u << 26) /* orders of collectives, over all iterations: a stream with more is refused */
#define RUN_UNKNOWN UINT64_MAX   /* an unknown time */
#define RUN_SLOW_PERCENT 1       /* beyond the expected time; of a generator's flow, and a base RTT */

/* ---- configuration (header records) ---- */

/* Index = topology node id. */
struct run_node {
	char name[REC_NAME_LEN + 1];
	bool host;
	uint32_t first_port, nports; /* its ports in run.ports, consecutive */
};

/* A connector: egress towards the peer, and the ingress from it. Activity sums all telemetry rows received. */
struct run_port {
	char name[48]; /* "6:2": node:port index + 1 */
	uint32_t node;
	uint16_t index;     /* from 0 */
	uint32_t peer_node; /* RUN_NONE: none */
	uint32_t peer_port; /* index into run.ports, RUN_NONE: none */
	uint32_t ip;        /* of a host's NIC, else 0 */
	uint64_t rate_bps;

	bool reported;        /* any row was received */
	bool paused, pausing; /* in the latest row: by its peer; its peer */
	uint64_t packets, bytes, depth_sum, pause_ps;
	uint64_t pauses_received, pauses_sent;
	uint32_t depth_max;
	uint64_t drops;
};

/* Every flow of the schedule or telemetry, sorted by tuple. */
struct run_flow {
	char name[96]; /* "17->18/10000>10000": "src->dst/sport>dport" */
	struct rec_tuple tuple;
	uint32_t src, dst; /* nodes, RUN_NONE: unknown address */
	bool collective;   /* in the schedule; else seen by switches only */
	/* in run.hops: the path configured for its data when the run began; nhops 0: none, or one of many (sprayed) */
	uint32_t first_hop, nhops;
};

struct run_job {
	uint32_t id;
	char name[REC_NAME_LEN + 1];
	uint32_t first_iteration, niterations; /* in run.iterations, consecutive */
};

/* One pass of a job over its collectives. */
struct run_iteration {
	uint32_t job, iteration;                 /* job: index into run.jobs */
	uint32_t first_collective, ncollectives; /* in run.collectives, consecutive */
	uint32_t first_step, nsteps;             /* in run.steps, consecutive */
	uint64_t start_ps, end_ps;               /* end: of the last step; 0 if not complete */
	bool complete, begun;                    /* not begun: start_ps is the run's end */
};

/* One iteration of a collective. Sorted by (job, iteration, id). */
struct run_collective {
	uint32_t id, iteration;
	uint32_t in; /* index into run.iterations */
	char name[REC_NAME_LEN + 1];
	uint32_t algorithm, op; /* enum coll_algorithm, coll_op */
	uint32_t ranks;
	uint32_t group_ranks;         /* of each group that runs it for itself */
	uint32_t steps, rank_steps;   /* configured: of all ranks, and of the one that has most */
	uint64_t bytes;               /* of the whole operation, as nccl-tests counts it */
	uint64_t step_bytes;          /* largest step */
	uint64_t start_ps, end_ps;    /* end: of the last step; 0 if not complete */
	uint64_t ideal_ps, expect_ps; /* durations */
	bool complete, begun;         /* not begun: start_ps is the run's end */
	uint32_t first_step, nsteps;  /* its steps in run.steps, consecutive, rank major */
	uint32_t first_rank, nranks;  /* in run.ranks: of rank 0, 1, ... */
	uint32_t first_after, nafter; /* in run.after: collectives of the same iteration that its ranks do before */
};

/* A rank in a collective's iteration; all collectives of a job have the same ranks. */
struct run_rank {
	bool part;        /* it sends, receives or computes */
	uint64_t done_ps; /* all sent and received, without a part: could begin; RUN_UNKNOWN: open, or not reported */
	/* The same, if its message arrived a base RTT, and what its ACKs were late by, before its sender knew. */
	uint64_t earliest_ps;
};

/* A hop of a configured path. Sorted by (flow, reverse, hop). */
struct run_hop {
	uint32_t flow, port;
	uint16_t hop;
	bool reverse; /* path of the ACKs */
};

/* A fault that operators declared before the run: a finding of it is nothing new. */
struct run_known {
	char kind[REC_NAME_LEN + 1]; /* as scenarios name it: "loss" */
	uint32_t port;               /* index into run.ports, whose outgoing direction has it; RUN_NONE: the node itself */
	uint32_t node;
	double rate;       /* the share of passing packets that is lost or damaged; 0: not declared */
	uint64_t extra_ps; /* longer it takes at most */
};

/* ---- steps ---- */

struct run_step {
	uint32_t collective, flow; /* flow RUN_NONE: a local step, which computes */
	uint32_t rank, step;       /* step from 1 */
	uint32_t peer, channel;    /* rank that receives */
	uint32_t host;             /* sender */
	uint32_t prio;             /* as rows name its class */
	uint64_t bytes, acked_bytes;
	bool reported; /* its host sent a record; else only the schedule is known */
	bool waits;    /* none, and none is missing: it waits for an open step, and had not begun when the run ended */
	bool started;
	bool open;        /* not finished when the run (or the stream) ended */
	bool slow;        /* of one that sends: exec above run_slow_after_ps(), or stuck when the run failed */
	bool late_little; /* late_ps counts in sum alone: less than RUN_SLOW_PERCENT and a base RTT */
	bool starved;     /* its host may have been in time, but for starved_ps */
	/* it triggered a poll because its sender was held back, by a congestion control that leaves no queue to see */
	bool held_back;
	uint64_t start_ps, end_ps; /* of an open step: the end of the run */
	uint64_t ideal_ps, expect_ps, base_rtt_ps;
	uint64_t late_ps; /* start later than everything it depends on: the host's own delay */
	uint64_t long_ps; /* its computation's excess over the configured time and more than that: the host's own too */
	uint32_t first_dep, ndeps; /* its dependencies: in run.depends */
	uint32_t waited_for;       /* the one of these that it actually waited for, or RUN_NONE: none */
	uint32_t retransmits, naks;
	uint32_t detections;              /* polls it triggered */
	uint32_t rtt_samples;             /* number of its packets' measured round trips */
	uint64_t rtt_min_ps, rtt_mean_ps; /* of these; 0: none was measured */
	uint32_t spread_ns;               /* a local step: how much longer than configured it usually computes at most */
	uint32_t waited_ns;               /* least wait until a packet was taken for lost; 0: none, or not known */
	double completeness;              /* share of the telemetry bytes of its time that was sent */
};

/*
 * Of a step in real time (lateness.h): the parts of late_ps and long_ps, and of its duration, that the machine may account
 * for.
 */
struct run_starved {
	uint64_t starved_ps, machine_ps;
	double starved_unmeasured, machine_unmeasured; /* share of these times without a measurement */
};

/* ---- detections, polls, notifications ---- */

struct run_detection {
	uint32_t event; /* polling event id */
	uint32_t step, host;
	uint32_t cause; /* enum rec_trigger_cause */
	uint64_t time_ps, rtt_ps, threshold_ps;
	uint32_t remaining;
};

struct run_poll {
	uint32_t event, node, flow; /* flow: the victim it asks about */
	uint64_t time_ps;
	uint32_t out_port; /* index into run.ports, RUN_NONE: none */
	bool out_paused;
};

/* A host handed detections over to the host that waits for its step. */
struct run_notification {
	uint64_t time_ps;
	uint32_t node, detections;
};

/* ---- real time ---- */

/* An lcore, a host with its own kernel, or the windows of a partition of the fabric: how late it was in the whole run. */
struct run_lateness {
	uint32_t kind; /* enum rec_lateness_kind */
	uint32_t node, partition, lcore;
	uint32_t first, count; /* in run.late_records, in order of time */
	uint64_t late_ps, most_ps;
	uint64_t measured_ps, unmeasured_ps; /* of the run's time */
	uint64_t windows, late_windows;
};

/* ---- received records ---- */

/* The received records of one kind. */
struct run_kind {
	uint32_t kind;    /* enum rec_type */
	uint64_t records; /* received */
	uint64_t bytes;   /* of them, as received: their rows, and the header of a frame with its first */
	uint64_t dropped; /* kept back by the budget */
};

struct run_overhead {
	uint64_t row_bytes; /* received from switches and NICs: their frames, as received */
	/* Of the network, before the exporter's budget; not known of a truncated stream. */
	uint64_t triggers;                                     /* detections that hosts spent */
	uint64_t reports, telemetry_bytes;                     /* kept, as frames: the paper's processing overhead */
	uint64_t reports_collected, telemetry_bytes_collected; /* all that were made; more of policy hawkeye only */
	uint64_t bandwidth_bytes;                /* reports kept, polling packets and notification packets (IV-B) */
	uint64_t records;                        /* received, all kinds */
	uint64_t polling_packets, polling_bytes; /* on every link */
	uint64_t notification_packets, notification_bytes;
	uint64_t report_bytes;      /* sent by the exporter */
	uint64_t deferred, dropped; /* records */
	uint64_t left_out;          /* invalid records */
	uint64_t astray;            /* records that the end record counts, and that did not arrive */
	/*
	 * Share of the expected records that arrived: of the reports, and of the steps. 1 with nothing lost; 0 of a
	 * truncated stream: not known.
	 */
	double completeness;
	struct run_kind *kinds;
	uint32_t nkinds;
};

/* The missing evidence, beside records that the budget kept back and that were lost. */
struct run_missing {
	uint32_t torn_bytes;         /* of a record that the stream broke off in */
	uint32_t left_out_node;      /* that the first record left out is of, RUN_NONE: of none */
	char left_out_why[201];      /* its error, as the reader reported it */
	uint32_t steps, unscheduled; /* steps never reported; step records that match no schedule */
	uint32_t waiting;            /* not reported, and none of these: they wait for open ones */
};

struct run {
	char name[REC_NAME_LEN + 1];
	struct rec_run config;    /* as received */
	bool truncated;           /* the stream ended without its end record */
	uint32_t end_reason;      /* enum rec_end_reason, if not truncated */
	uint32_t recording_errno; /* the recording broke off before this stream did: why; 0: it is whole */
	uint32_t end_node;        /* QP error: host, else RUN_NONE */
	uint64_t clock_error_ps;  /* largest error of times that hosts reported, of the worst clock; 0: one clock */
	uint64_t end_ps;          /* of the run; truncated: time of the last record */

	struct run_node *nodes;
	uint32_t nnodes;
	struct run_port *ports;
	uint32_t nports;
	struct run_flow *flows;
	uint32_t nflows;
	struct run_hop *hops;
	uint32_t nhops;
	struct run_known *known;
	uint32_t nknown;
	struct run_job *jobs;
	uint32_t njobs;
	struct run_iteration *iterations; /* by (job, iteration) */
	uint32_t niterations;
	struct run_collective *collectives;
	uint32_t ncollectives;
	struct run_rank *ranks;
	uint32_t nranks;
	uint32_t *after; /* [nafter] indices into collectives */
	uint32_t nafter;
	struct run_step *steps;
	struct run_starved *starved; /* [nsteps] NULL: in virtual time no machine is late */
	uint32_t nsteps;
	uint32_t nlocal;   /* of these, steps that compute */
	uint32_t *depends; /* [ndepends] indices into steps */
	uint32_t ndepends;
	struct run_detection *detections;
	uint32_t ndetections;
	struct run_poll *polls;
	uint32_t npolls;
	struct run_notification *notifications;
	uint32_t nnotifications;
	struct rec_lateness *late_records; /* by source and time; none in virtual time */
	struct run_lateness *lateness;     /* lcores, hosts, windows */
	uint32_t nlateness;
	struct run_overhead overhead;
	struct run_missing missing;
};

/* Are the steps of a collective flows of a generator, each for itself? */
static inline bool
run_is_flows(const struct run_collective *collective)
{
	return collective->op == COLL_FLOWS;
}

/* What the machine may account for of a step. */
static inline struct run_starved
run_starved_of(const struct run *run, const struct run_step *step)
{
	return run->starved != NULL ? run->starved[step - run->steps] : (struct run_starved){ 0 };
}

/* spread_ns, waited_ns */
static inline uint64_t
run_spread_ps(const struct run_step *step)
{
	return step->spread_ns * UINT64_C(1000);
}

static inline uint64_t
run_waited_ps(const struct run_step *step)
{
	return step->waited_ns * UINT64_C(1000);
}

/* A step of computation, without a message. */
static inline bool
run_is_local(const struct run_step *step)
{
	return step->flow == RUN_NONE;
}

/* Beyond the expected time; of an open step, beyond the expected time of its acknowledged bytes. */
static inline double
run_excess_ps(const struct run_step *step)
{
	double done = step->open && step->bytes != 0 ? (double)step->acked_bytes / (double)step->bytes : 1;
	double excess_ps = (double)(step->end_ps - step->start_ps) - done * (double)step->expect_ps;

	return step->started && excess_ps > 0 ? excess_ps : 0;
}

/*
 * How long a step may take without being slow: 1 % longer than expected, the jitter of hosts, and the usual variation of a
 * computation. A flow of a generator is compared with an idle fabric, where its first and last packets are known to a round
 * trip alone.
 */
uint64_t run_slow_after_ps(const struct run *run, const struct run_step *step);

/* A computation that took longer than configured, within its usual variation. */
static inline bool
run_varied(const struct run_step *step)
{
	return run_is_local(step) && step->spread_ns != 0 && step->long_ps == 0 &&
	       run_excess_ps(step) > (double)step->expect_ps * RUN_SLOW_PERCENT / 100;
}

/* The lost time of a step: that, and the delay of its start. */
static inline double
run_lost_ps(const struct run_step *step)
{
	return (double)step->late_ps + run_excess_ps(step);
}

/* The job of a collective. */
static inline const struct run_job *
run_job_of(const struct run *run, uint32_t collective)
{
	return &run->jobs[run->iterations[run->collectives[collective].in].job];
}

/* @return index into run.steps of a collective's step, RUN_NONE: there is none */
uint32_t run_find_step(const struct run *run, const struct run_collective *collective, uint32_t rank, uint32_t number);

/*
 * @param node  RUN_NONE: not known
 * @return index into run.known: of the direction that leaves by a port, of its cable, or of its node; RUN_NONE: none
 */
uint32_t run_known_at(const struct run *run, uint32_t port, uint32_t node);

/*
 * Builds the facts of the run from the evidence, for any diagnoser.
 * @param run  zeroed; run_fini() in any case
 * @return 0 or -ENOMEM with err
 */
int run_build(struct run *run, const struct evidence *evidence, struct err *err);
void run_fini(struct run *run);

/* Is all evidence there? */
bool run_complete(const struct run *run);
/* Did the run end by itself, with all of its collectives done? */
bool run_finished(const struct run *run);
/* It ended because something would not move: whatever was open is slow, however long it took so far. */
bool run_failed(const struct run *run);
/* @return the longest base RTT of any step */
uint64_t run_base_rtt_ps(const struct run *run);
/* @return the most that unreported steps of a run that finished can have lost, by its time alone */
uint64_t run_unreported_ps(const struct run *run);

/* The collectives that it follows, else those of the job's iteration before. */
struct predecessors {
	const uint32_t *list; /* NULL: consecutive, from first */
	uint32_t first, count;
};

struct predecessors run_predecessors(const struct run *run, const struct run_collective *collective);

/* @return index into run.collectives */
static inline uint32_t
run_before(const struct predecessors *predecessors, uint32_t i)
{
	return predecessors->list != NULL ? predecessors->list[i] : predecessors->first + i;
}

/* Does a step wait for one of its own rank in the collective, which has begun then? */
bool run_follows_own(const struct run *run, const struct run_step *step);

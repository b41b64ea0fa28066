/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan that all hosts share before a run: collectives decomposed into steps (paper III-B), the flows that carry
 * them, their dependencies, and expected times. Immutable once built.
 */
#pragma once

#include <stdint.h>

#include "collectives/chains.h"
#include "collectives/data.h"
#include "collectives/schedule.h"
#include "common/flow.h"
#include "common/wire/record_steps.h"
#include "topo/route.h"
#include "topo/topo.h"
#include "workload/config.h"
#include "workload/jobs/compute.h"
#include "workload/traffic/traffic.h"

/* How long a step takes when nothing disturbs it. Pure functions of sizes, rates and configured paths. */

/* Sizes on the wire, and how the run rounds times. */
struct expect_frames {
	uint32_t payload_bytes;  /* of a full data frame: the path MTU */
	uint32_t frame_bytes;    /* of a full data frame on the wire */
	uint32_t ack_bytes;      /* of an ACK on the wire */
	uint32_t frames_per_ack; /* ACK coalescing; 1: every frame is acknowledged */
	uint64_t quantum_ps;     /* serialization times are floored to it; 0: exact */
	uint64_t window_bytes;   /* maximum payload in flight of a sender; 0: unbounded */
	double spare;            /* share of every link that the senders' congestion control leaves free */
};

/* @return frames of a message */
uint64_t expect_data_frames(const struct expect_frames *frames, uint64_t bytes);
/* @return bytes of a message on the wire: its payload and one overhead per frame */
uint64_t expect_wire_bytes(const struct expect_frames *frames, uint64_t bytes);

/*
 * @return the least time of a message on the wire by its sender's window, the last round trip excluded; 0: the window
 *         holds the whole message, or there is none. A window's packets leave in each round trip, at the pace of its
 *         ACKs; a closed window opens when its first packets are acknowledged.
 * @param frame_ps  of a full frame on the slowest link of the path
 * @param rtt_ps    of a packet that waits nowhere
 */
uint64_t expect_windows_ps(const struct expect_frames *frames, uint64_t bytes, uint64_t frame_ps, uint64_t rtt_ps);

/*
 * How long a receiver that coalesces ACKs waits for the packets behind one before it acknowledges it, at the rate of the
 * slowest link of the path.
 * @return 0: every frame is acknowledged
 */
uint64_t expect_ack_wait_ps(const struct topo *topo, const struct expect_frames *frames, const struct route_path *path);

/*
 * Time of a step on idle links without ACK traffic: wire bytes / slowest link of the path, or the time that the window
 * allows, + base RTT. Rates are exact, whatever the quantum.
 */
uint64_t expect_ideal_ps(const struct topo *topo, const struct expect_frames *frames, const struct route_path *path,
			 uint64_t bytes, uint64_t base_rtt_ps);

/*
 * Time of a whole message on idle links, from its post to its last ACK: the reference for slowdowns. Its frames follow
 * each other through the slowest link, and the last frame continues alone, store and forward. A last frame shorter than
 * the MTU counts with its own length. The result does not exceed the time in the fabric: overheads of first and last
 * frames do not count.
 */
uint64_t expect_fct_ps(const struct topo *topo, const struct expect_frames *frames, const struct route_path *forward,
		       const struct route_path *reverse, uint64_t bytes, uint64_t pipeline_ps);

/* One step of one rank, for expect_steps(). */
struct expect_flow {
	uint64_t bytes;
	const struct route_path *forward, *reverse;
	uint64_t base_rtt_ps;
	/* Results: without the base RTT, and for how much of it the sender's and the receiver's NIC are occupied. */
	uint64_t wire_ps, tx_ps, rx_ps;
};

/*
 * Per port: wire time of the steps' ACKs and of their data; number of steps that send from it and that are received
 * behind it.
 */
struct expect_port {
	uint64_t acks_ps, data_ps;
	uint32_t senders, receivers;
};

/*
 * Computes the times of steps that run together, ACKs included. A step with exclusive NICs takes as long as the busiest
 * link of its path. On each link its data shares the wire with the ACKs of the steps whose reverse path takes that link
 * in the same direction. A step with a shared NIC bears an equal share of those ACKs on its NICs; no others count.
 * fluid_run() adds the effect of the other data there. Serialization is floored frame by frame where a quantum is set.
 * Senders that leave a share of the links free make the links slower by it.
 * @param flows  [count] steps that run together; the results are set
 * @param ports  scratch, [topo->nports], zeroed by the caller and zero again on return
 */
void expect_steps(const struct topo *topo, const struct expect_frames *frames, struct expect_flow *flows, uint32_t count,
		  struct expect_port *ports);

/* Computes a step's time on idle links without ACKs: expect_ideal_ps() without the base RTT. */
void expect_ideal_step(const struct topo *topo, const struct expect_frames *frames, struct expect_flow *flow);

struct workload;

#define PLAN_NONE UINT32_MAX
#define PLAN_MAX_SERIAL ((1u << 24) - 1) /* steps over all iterations: a notification packet carries 24 bits */
#define PLAN_FIRST_QPN 16u
/* Two QPNs each, below those of UD QPs, which have the upper half of 24 bits. */
#define PLAN_MAX_FLOWS (((1u << 23) - PLAN_FIRST_QPN) / 2)
#define PLAN_FIRST_SPORT 49152        /* of collective 0, channel 0, when a scenario gives none */
#define PLAN_FIRST_NOTIFY_SPORT 32768 /* of collective 0 */
#define PLAN_MAX_COLLECTIVES (PLAN_FIRST_SPORT - PLAN_FIRST_NOTIFY_SPORT)
#define PLAN_FIRST_TRAFFIC_SPORT 20000 /* of each pair's first connection */

/* Properties of one step beyond the schedule. */
struct plan_step {
	uint32_t flow;                /* that carries it; PLAN_NONE: a local step */
	uint32_t notify_flow;         /* to the receiver, if some step there waits for it; PLAN_NONE */
	uint64_t ideal_ps, expect_ps; /* expect includes the reverse ACK traffic, ideal does not */
};

struct plan_rank {
	uint32_t node;
	uint16_t nic;
	uint32_t slot;          /* index among all ranks of its host */
	uint32_t receives;      /* messages that it receives in one iteration */
	uint32_t nout, nin;     /* data flows from it, and to it */
	uint32_t first_in;      /* of those to it, in in_flows */
	uint64_t region_offset; /* of its first vector in its host's region */
};

struct plan_collective {
	struct coll_schedule *schedule; /* owned */
	struct plan_rank *ranks;        /* [schedule->ranks] */
	struct plan_step *steps;        /* [coll_all_steps()], as schedule->steps, where step_of is NULL */
	uint32_t *step_of;              /* [coll_all_steps()] in steps, of which each is another then; NULL */
	struct kinds *kinds;            /* while steps that step_of shares are found: what finds equal ones; NULL */
	struct chains *chains;          /* owned */
	uint32_t job;                   /* its collectives have the same ranks and as many iterations */
	/*
	 * [nafter] owned: collectives of its job. In each iteration a rank begins this one when its own share of all
	 * those is complete: sent and received. The next iteration of a collective without predecessors begins at a
	 * rank when its share of this one is complete in all collectives of the job, gap_ps later.
	 */
	uint32_t *after;
	uint32_t nafter;
	struct compute compute;
	/* How long a local step really takes in an iteration. NULL: as planned. */
	uint64_t (*actual_ps)(const void *ctx, uint32_t rank, uint32_t iteration, uint64_t planned_ps);
	const void *actual_ctx;
	enum coll_type type;
	bool enabled; /* its ranks take part; else it is only planned */
	bool real, verify, qp_per_step;
	bool measured; /* data flows of it are */
	uint32_t iterations;
	uint32_t buffers;      /* vectors a rank: 2 when there is a next iteration, see rank.h */
	uint64_t vector_bytes; /* distance between a rank's vectors */
	uint64_t start_ps, gap_ps;
	uint64_t ideal_ps, expect_ps;       /* of one iteration, the critical path of the undisturbed run */
	uint64_t least_rtt_ps, most_rtt_ps; /* base RTTs of its data flows */
	uint32_t first_flow, nflows;        /* its data flows */
	uint32_t *in_flows;                 /* [nflows] the same by receiver */
	struct cfg_where where;
};

/* A flow that may be judged, as a step of the entry that stands for a collective. */
struct plan_judged {
	uint32_t collective; /* generators in their order, then the list of background flows */
	uint32_t step;       /* from 1, among those of it and of one host; 0: it is not judged */
	uint32_t flow;
	uint64_t bytes, ideal_ps;
};

struct plan_background {
	uint32_t flow;
	uint32_t slot; /* index among the background flows of its source host */
	uint64_t bytes;
	uint64_t start_ps; /* TIME_NEVER: it is not enabled */
	bool repeat;
	uint64_t until_ps;
	uint32_t depth;    /* messages outstanding at a time */
	uint64_t ideal_ps; /* of one message */
	uint32_t step;     /* among those of its host that are judged, from 1; 0: it is not */
	struct cfg_where where;
};

/* A message of a generator: a flow of the workload, on a connection that it shares with earlier and later messages. */
struct plan_message {
	uint64_t start_ps; /* arrival time; it begins later where its connection is busy */
	uint64_t bytes;
	uint64_t ideal_ps; /* from when it begins to its last ACK, on an idle fabric */
	uint32_t flow;     /* its connection */
	uint32_t generator;
	uint32_t step; /* from 1, among those of its generator and host */
	uint32_t next; /* on its connection, behind it; PLAN_NONE */
};

/* Owner of a flow: struct flow has kind and endpoints. */
struct plan_flow {
	uint32_t kind;       /* enum flow_kind */
	uint32_t owner;      /* collective, background flow, or first message of a connection */
	uint32_t rank, peer; /* of a collective: sender and receiver */
	uint32_t slot;       /* sender's: of its rank, the background flow or the connection, on its host */
	uint32_t peer_slot;  /* receiver's; a collective's flow */
	uint32_t out, in;    /* data flow of a collective: which of the sender's, and of the receiver's, it is */
	uint32_t first_step; /* the first of the sender's that it carries; the others follow by chains.before */
	uint64_t base_rtt_ps;
	uint64_t there_ps;    /* of it: a full frame's time to the receiver */
	uint64_t ack_wait_ps; /* that its receiver lets pass before it acknowledges a packet: for those behind it */
	bool measured;        /* its packets have tags */
};

struct plan {
	const struct workload *workload; /* jobs: names, groups */
	struct flow_table flows;
	struct plan_flow *of; /* [flows.count] */
	struct plan_collective *collectives;
	struct plan_background *backgrounds;
	struct plan_message *messages; /* [nmessages] by sending host, in order of time */
	uint32_t *first_message;       /* [nnodes + 1] of each sending host */
	uint32_t *rank_of;             /* [nnodes] of a host: ranks of generators are the topology's hosts */
	uint32_t nmessages;
	/* messages, and background flows of mode once, are steps of a job, "flows", that hosts watch and report */
	bool judged;
	uint32_t background_id;             /* of the list of background flows, as a collective */
	uint64_t least_rtt_ps, most_rtt_ps; /* base RTTs of judged flows */
	uint32_t ncollectives, nbackgrounds;
	bool real;            /* messages carry data */
	uint64_t share_steps; /* of all collectives, that plan_keep_share() has left */
};

/* A 5-tuple to probe by, to RoCEv2's port. */
struct plan_probe {
	uint32_t src_node, dst_node;
	uint16_t src_nic, dst_nic;
	uint16_t sport;
};

struct plan_options {
	const struct cfg *cfg; /* that collectives are of; read where a schedule is in a file */
	uint8_t data_prio, control_prio, measured_prio;
	bool notify;                     /* make flows for notification packets */
	bool judge;                      /* flows, where no collective is */
	const struct traffic *traffic;   /* flows of generators; NULL: there are none */
	const struct plan_probe *probes; /* [nprobes] one may be there several times */
	uint32_t nprobes;
};

/*
 * Builds schedules, flows and messages.
 * @param workload  lives as long as the plan
 * @return NULL with err set (file:line, the value, the remedy): too few or too many ranks, sizes, two flows with one
 *         5-tuple, memory
 */
struct plan *plan_create(const struct topo *topo, const struct plan_options *options, const struct workload *workload,
			 const struct background_config *backgrounds, size_t nbackgrounds, struct err *err);
void plan_destroy(struct plan *plan);

/*
 * Steps of one iteration of a collective that are known without a plan: by all ranks at least so many. 0: they are not, as
 * of a schedule file, or of what plan_create() refuses.
 */
struct coll_step_count plan_least_steps(const struct workload *workload, uint32_t index);

/* Properties of the network that expected times depend on. */
struct plan_network {
	const struct routing *routing;
	uint64_t pipeline_ps;
	struct expect_frames frames;
};

/*
 * Fills in base RTTs, ideal and expected times from the flows' configured paths.
 * @return 0; -EHOSTUNREACH, -ELOOP or -ENOMEM with err set
 */
int plan_estimate(struct plan *plan, const struct plan_network *network, struct err *err);

/*
 * Predicts how many packets, data and ACKs, leave each port if every flow takes its configured path. Flows that repeat do
 * so until the last collective is expected to end.
 * @param frames   sizes and ACK coalescing
 * @param packets  [topo->nports] set
 * @return 0 or -ENOMEM
 */
int plan_predict_packets(const struct plan *plan, const struct routing *routing, const struct expect_frames *frames,
			 uint64_t *packets);

/*
 * Before nodes are built, gives back memory of which steps wait for those of others' ranks, and the reverse. A partition
 * keeps what concerns its ranks, and the ranks of others that send to those: its share. Sets share_steps. Once in a plan's
 * life with reports false. No array moves; what is given back has zeros, but at the ends of its pages.
 * @param remote   [nnodes] nodes of other partitions
 * @param reports  the results of all ranks are reported here: the steps of all stay, with their dependencies
 */
void plan_keep_share(struct plan *plan, const bool *remote, bool reports);
/* @return steps of a collective whose ranks are here; of all where none are, or remote is NULL: those are kept as well */
uint32_t plan_own_steps(const struct plan_collective *c, const bool *remote);

/* Does a rank of a collective run at this node? */
static inline bool
plan_takes_part(const struct plan *plan, uint32_t collective, uint32_t rank, uint32_t node)
{
	const struct plan_collective *c = &plan->collectives[collective];

	return c->enabled && c->ranks[rank].node == node;
}

static inline size_t
plan_at(const struct plan_collective *collective, uint32_t rank, uint32_t step)
{
	return coll_step_index(collective->schedule, rank, step);
}

/* @param index  of a step in schedule->steps */
static inline const struct plan_step *
plan_known(const struct plan_collective *collective, size_t index)
{
	return &collective->steps[collective->step_of != NULL ? collective->step_of[index] : index];
}

static inline const struct plan_step *
plan_step_at(const struct plan_collective *collective, uint32_t rank, uint32_t step)
{
	return plan_known(collective, plan_at(collective, rank, step));
}

static inline uint64_t
plan_step_bytes(const struct plan_collective *collective, uint32_t rank, uint32_t step)
{
	return coll_step_get(collective->schedule, rank, step).count_elems * coll_elem_bytes(collective->type);
}

/* @return the first step of the receiver that waits for a step's message, 0: none */
static inline uint32_t
plan_needed_by(const struct plan_collective *c, uint32_t rank, uint32_t step)
{
	for (uint32_t i = 0; i < chains_waiters(c->chains, rank, step); i++) {
		struct coll_dep waiter = chains_waiter(c->chains, rank, step, i);

		if (waiter.rank != rank)
			return waiter.step;
	}
	return 0;
}

/*
 * The header records of judged messages, a generator a collective: its ranks are the topology's hosts, a message is a
 * step of its sender, which depends on nothing. Of steps hdr.node is the sender.
 */
void plan_generator_record(const struct plan *plan, const struct traffic *traffic, uint32_t generator,
			   struct rec_collective *rec);
/* Fills the header record of background flows of mode once. @return whether there are any */
bool plan_backgrounds_record(const struct plan *plan, const struct topo *topo, struct rec_collective *rec);
void plan_judged_record(const struct plan *plan, const struct plan_judged *flow, struct rec_schedule *rec);

struct plan_judged plan_judged_message(const struct plan *plan, uint32_t message);
struct plan_judged plan_judged_background(const struct plan *plan, const struct plan_background *background);

/* A flow's 5-tuple as records show it. */
struct rec_tuple plan_tuple(const struct plan *plan, uint32_t flow);

/* The header records of the plan, but for hdr: rec_schedule's node is the sending rank's. */
void plan_collective_record(const struct plan *plan, uint32_t collective, uint32_t iteration, struct rec_collective *rec);
void plan_schedule_record(const struct plan *plan, uint32_t collective, uint32_t iteration, uint32_t rank, uint32_t step,
			  struct rec_schedule *rec);
/* Fills the record of one further dependency of a step. @param of  its record @param index  below of->depends */
void plan_depend_record(const struct plan *plan, const struct rec_schedule *of, uint32_t index, struct rec_depend *rec);

/* Does a flow send more than single packets in this run? Not if its collective is not enabled. */
bool plan_flow_sends(const struct plan *plan, uint32_t flow);

/*
 * Tells whether two programs understood a scenario alike: flows with their endpoints and ports, steps with their sizes
 * and times, background flows.
 */
uint64_t plan_digest(const struct plan *plan);

/* The immediate of a collective's message: the step and iteration that have arrived. Its flow identifies the sender. */

#define IMM_STEP_BITS 22
#define IMM_ITERATION_BITS 10
#define IMM_MAX_STEP ((1u << IMM_STEP_BITS) - 1)

struct imm {
	uint32_t iteration; /* modulo 2^IMM_ITERATION_BITS: at most two iterations of a collective are ever open */
	uint32_t step;      /* from 1 */
};

static inline uint32_t
imm_encode(uint32_t iteration, uint32_t step)
{
	return (iteration & ((1u << IMM_ITERATION_BITS) - 1)) << IMM_STEP_BITS | step;
}

static inline struct imm
imm_decode(uint32_t imm)
{
	return (struct imm){ .iteration = imm >> IMM_STEP_BITS, .step = imm & IMM_MAX_STEP };
}

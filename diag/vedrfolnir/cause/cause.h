/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signatures (III-D2): each looks at the slow steps and their provenance graphs and adds what it recognizes to the
 * findings. A new signature is one file, with its row, and its line in CAUSES.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "diag/collect/evidence.h"
#include "diag/finding.h"
#include "diag/run/run.h"
#include "diag/vedrfolnir/provenance/provenance.h"
#include "diag/vedrfolnir/provenance/window.h"
#include "diag/vedrfolnir/section.h"

/* Thresholds; docs/diagnosis-causes.md has the reasons. */
#define CAUSE_MIN_WAIT 0.02         /* packets of another flow ahead of a victim's packet, on average: less is no wait */
#define CAUSE_MIN_DEPTH 8           /* packets: a switch queue that never grew beyond is not contended */
#define CAUSE_MIN_SHARE 0.05        /* of bytes or packets: smaller parts are not named */
#define CAUSE_MIN_FOLLOWED 0.01     /* of the traffic of a paused port: smaller shares are not followed */
#define CAUSE_MIN_EXPLAINED 0.05    /* of a step's lost time: a queue or a pause that explains less is not its cause, */
#define CAUSE_SLOWS_ALONE 0.01      /* unless it alone explains this share of a finished step's expected time */
#define CAUSE_INCAST_SOURCES 3      /* hosts that send to one host at once, the victim's among them */
#define CAUSE_INCAST_EVEN 0.5       /* of an even part of the packets: where there are many hosts, one with less is none */
#define CAUSE_ROOT_UNPAUSED 0.75    /* of the time: a port that is paused for the rest may be a root all the same */
#define CAUSE_ROOT_BUSY 0.5         /* of the time that such a port is not paused: it sends */
#define CAUSE_NIC_PAUSES 3          /* of a NIC, each after data: it is slow, and no storm, which is one */
#define CAUSE_STORM_FILL 0.5        /* of the XOFF threshold: a pausing ingress that holds less has no reason to pause */
#define CAUSE_STORM_EMPTY 0.05      /* of it: less is next to nothing */
#define CAUSE_REPORTED_OF_PAUSE 0.5 /* of a row's time: where less is the step's, the row's pauses may not be */
#define CAUSE_LOSS_LEFT 0.5         /* of a step's lost time: where pauses explain more, it sent again on timeouts */
#define CAUSE_RETAIN_PS (50 * 1000000ULL) /* of the reports of a port in this time (50 us) one may be kept */
#define CAUSE_IDLE_LOAD 0.1               /* of its rate: a port that carries less is idle */
#define CAUSE_FULL_LOAD 0.75              /* of its rate: a port with this load keeps senders back without a queue */
#define CAUSE_MAX_FINDINGS 65536
#define CAUSE_BUCKETS 4096

struct cause_input {
	const struct cause *const *causes; /* [ncauses] that look */
	uint32_t ncauses;
	const struct evidence *ev;
	const struct run *run;
	const struct run_step *steps; /* the run's; same indices as reports of evidence */
	uint32_t nsteps;
	const struct vedrfolnir_step *own; /* the same steps */
	struct prov_graph *const *graphs;  /* [nsteps] NULL: the step was not slow, or nothing was reported */
	double window;                     /* packets that a flow has in flight, estimated where no bound is known */
	double most_in_flight;             /* packets that it can have; INFINITY: no bound is known */
	bool paced_by_marks; /* congestion control is known to go by marks of queues, not by how long round trips take */
	struct vedrfolnir_unjudged *unjudged;
};

struct activity;
struct delays;
struct paced;
struct traced;

/* Time that a finding claims of steps, and as much of it as can be trusted. */
struct cause_trust {
	double of_ps, borne_ps, sure_ps; /* supported by measurements; and not claimed by others */
	double machine_ps;               /* that a late machine may account for: neither of the two before has it */
};

/* A finding being made. */
struct cause_finding {
	struct finding out;
	struct cause_trust trust[2]; /* by steps beside the critical path, and on it */
	uint32_t order;              /* of its cause, among those that look */
	double best;                 /* score of the sample that the evidence is about */
	double *flow_score;          /* [out.nflows] */
	double *carried;             /* [out.nflows] packet-waits of steps before (paced.h) */
	double claimed_ps;           /* of the step's time: the result of cause_explains() */
	double paced_ps;             /* in which it made congestion control hold the step back, beside claimed_ps */
	double late_ps;              /* claimed_ps and what it may claim of the time that all others leave, in sum */
	uint32_t part;               /* the part that claimed_ps sums up now */
	double part_ps;
	uint32_t best_step; /* after merging: the step that the evidence is about */
	uint32_t next;      /* in its bucket, EV_NONE: none */
};

/* Findings; those of one (type, root, key, collective) are one. */
struct cause_set {
	const struct cause_input *in;
	const struct activity *activity;
	const struct delays *delays;
	struct paced *paced;
	const struct traced *traced;
	uint32_t looking; /* the cause that looks now: index into in->causes */
	struct cause_finding *findings;
	uint32_t count, cap;
	uint32_t *buckets; /* [CAUSE_BUCKETS] first finding of each hash; NULL: a set so small that it is searched */
	bool full;         /* CAUSE_MAX_FINDINGS reached: some are left out */
	bool no_memory;
};

/* Adds to a set what it recognizes in one step; the set is that step's alone. */
typedef void cause_fn(struct cause_set *set, uint32_t step);

/* A signature: a row in its own file. */
struct cause {
	struct finding_type type;
	cause_fn *look; /* called for every slow or late step */
	/*
	 * Called when the findings of a step that sends have their claims: for one that claims nothing, and has others as
	 * its consequence. NULL: there is none.
	 */
	cause_fn *beside;
};

/* All signatures, in the order in which they look, which is also that of findings of the same weight. */
#define CAUSES(CAUSE)                                                                                                      \
	CAUSE(flow_contention)                                                                                             \
	CAUSE(strict_priority)                                                                                             \
	CAUSE(incast)                                                                                                      \
	CAUSE(pfc_backpressure)                                                                                            \
	CAUSE(pfc_storm)                                                                                                   \
	CAUSE(pfc_deadlock)                                                                                                \
	CAUSE(pfc_watchdog)                                                                                                \
	CAUSE(forwarding_loop)                                                                                             \
	CAUSE(load_imbalance)                                                                                              \
	CAUSE(path_delay)                                                                                                  \
	CAUSE(link_rate)                                                                                                   \
	CAUSE(tail_drop)                                                                                                   \
	CAUSE(no_pfc)                                                                                                      \
	CAUSE(packet_loss)                                                                                                 \
	CAUSE(link_down)                                                                                                   \
	CAUSE(blackhole)                                                                                                   \
	CAUSE(slow_host)                                                                                                   \
	CAUSE(host_limited)                                                                                                \
	CAUSE(timer_too_short)                                                                                             \
	CAUSE(receiver_not_ready)                                                                                          \
	CAUSE(reordering)
#define CAUSE_DECLARE(name) extern const struct cause cause_##name;
CAUSES(CAUSE_DECLARE)

extern const struct cause *const causes[];
extern const uint32_t ncauses;

/*
 * Runs every signature over every step.
 * @param findings  set to the findings, by score; with their arrays the caller's to free. Their cost to a job is not
 *                  known yet
 * @return 0, -E2BIG past CAUSE_MAX_FINDINGS, or -ENOMEM with err
 */
int cause_find(const struct cause_input *in, struct finding **findings, uint32_t *count, struct err *err);

/* ---- for signatures: making findings (cause.c) ---- */

/*
 * The finding of (type of the looking cause, root, key, collective of the step), made if there is none; the step and
 * its flow become victims.
 * @param root_port  global port id, or EV_NONE: then root names it
 * @return NULL when full or out of memory
 */
struct cause_finding *cause_add(struct cause_set *set, uint32_t root_port, const char *root, uint32_t key, uint32_t step);
/*
 * The finding of the step's flow, which has no place: somewhere on the path of its data, or of its ACKs. It has the
 * ports of that, the step's time, and claims all that the step lost.
 * @return NULL when full or out of memory, or where other evidence is stronger
 */
struct cause_finding *cause_on_path(struct cause_set *set, uint32_t step, bool back);
void cause_port(struct cause_set *set, struct cause_finding *finding, uint32_t port);
/* A culprit with its effect; flows sort by the sum of it. */
void cause_flow(struct cause_set *set, struct cause_finding *finding, uint32_t flow, double score);
void cause_time(struct cause_finding *finding, uint64_t start_ps, uint64_t end_ps);
/* Adds to the score. @return true if the evidence should be about this sample: the strongest so far */
bool cause_score(struct cause_finding *finding, double score);
/*
 * The time of the step that the finding claims; the step's budget counts the part of its culprits in a queue itself
 * (merge.h). Amounts of one part (a paused port, say) add up; of several parts, which may cover the same time, the
 * largest counts.
 */
void cause_explains(struct cause_finding *finding, uint32_t part, double ps);

/* ---- for signatures: measurements of steps and ports (measure.c) ---- */

/*
 * May this flow have delayed the victim's packets? A flow of the collective only if one of its steps ran for a part
 * (CAUSE_MIN_SHARE) of the victim's step: epochs are coarse, and rows show it where its other steps passed.
 */
bool cause_at_once(const struct cause_set *set, uint32_t flow, uint32_t step);
/*
 * May two flows have delayed each other's packets during the victim's step? The same rule, for the time that both ran.
 */
bool cause_both_at_once(const struct cause_set *set, uint32_t flow, uint32_t other, uint32_t step);

/* The bytes that a flow's steps sent in a time, by hosts' reports; 0 of a flow that is in no schedule. */
double cause_sent_bytes(const struct cause_set *set, uint32_t flow, uint64_t from_ps, uint64_t to_ps);

/*
 * Of a finding's claim to a step's time, the share that a late machine may account for: it rests on the clocks of
 * kernel hosts. Counters of packets and pauses hold however late it was, and so does all evidence of other hosts: 0.
 */
double cause_machine_share(const struct cause_input *in, uint32_t step, const struct cause_finding *finding);

/* An entry of the sender's ledger, where it alone makes the step slow. @return ps; 0: it does not, or is not known */
double cause_ledger_ps(const struct cause_input *in, uint32_t step, enum ledger_entry entry);
/*
 * A finding that claims this time of the sender's ledger, with the evidence of its type's first clause.
 * @param ps  of cause_ledger_ps(), of one entry or several
 * @return NULL: no time, or full or out of memory
 */
struct cause_finding *cause_of_sender(struct cause_set *set, uint32_t step, double ps, uint32_t root_port,
				      const char *root);

/*
 * How much longer the step's frames took on its NIC's cable, once each, than at the usual rate, by the sender's ledger. No
 * queue or pause elsewhere has a part in that: without them they take as long.
 * @param packets  of the step
 * @return 0: the finding is not about that cable
 */
double cause_own_cable_ps(const struct cause_input *in, uint32_t step, const struct cause_finding *finding, double packets);

/* The delay of a step by its host: it started late, and if it computes, it took too long. */
uint64_t cause_host_ps(const struct cause_input *in, uint32_t step);
/* Time that a slow step lost: its execution beyond what its acknowledged bytes should have taken. */
double cause_excess_ps(const struct cause_input *in, uint32_t step);
/*
 * Time that n frames take on a port's link, scaled up by the part of the step's packets that the port's telemetry
 * shows: the delays of these stand for those of the others.
 */
double cause_frames_ps(const struct cause_input *in, uint32_t step, const struct prov_port *port, double frames);
/* A paused time, scaled up by the part of the step's time that the port's telemetry covers. */
double cause_stretch_ps(const struct cause_input *in, uint32_t step, const struct prov_port *port, double ps);

/* Time lost by a step in frame times of its NIC: the score where no queue is to blame. */
double cause_lost_frames(const struct cause_input *in, uint32_t step, double lost_ps);
/* The worst of the culprits so far, and their number, as a finding's evidence has them. */
void cause_name_flows(const struct cause_finding *finding, struct finding_evidence *evidence);

/* Does this flow end at the host that the step's flow ends at? */
bool cause_same_end(const struct cause_set *set, uint32_t flow, uint32_t step);
/*
 * Do hosts send through this port at once to the destination of the victim's flow, its own host included: either with
 * flows of two hosts outside of the collective at least, or all of them of the collective?
 */
bool cause_is_incast(const struct cause_set *set, uint32_t step, const struct prov_graph *graph,
		     const struct prov_port *port);
/*
 * Is this record (an index into ev->polls) of a polling packet on its victim's path, not on that of the ACKs, nor of
 * one that traces pauses from there? A packet that does both is recorded so at each port that it names.
 */
bool cause_poll_follows(const struct evidence *ev, uint32_t i);
/*
 * Did the victim wait for this flow in the port's queue, both being there at once? The other one must have seen a queue
 * as well: rows are of whole epochs, and the queue may have drained before it arrived.
 * @param cf, other  their entries at the port
 */
bool cause_shared_queue(const struct cause_set *set, uint32_t step, const struct prov_graph *graph,
			const struct prov_at *cf, const struct prov_at *other);
/*
 * Does the victim share its NIC with this flow by the schedule? One rank of a collective may send to several at once:
 * the expected time has that in it, and behind the NIC such flows delay only slower ones. Flows without a collective
 * are not scheduled: the expected time of each is its time alone.
 */
bool cause_is_planned(const struct cause_set *set, uint32_t step, const struct prov_graph *graph,
		      const struct prov_port *port, const struct prov_at *other);
/* The same of any flow at any port. */
bool cause_shares_nic(const struct cause_set *set, uint32_t step, uint32_t flow, uint32_t port);
/*
 * Is this the switch's port for which the step's sender was held back? A congestion control that leaves no queue
 * follows the fullest link of the path: of the links of the step, the one that used most of its rate, and
 * CAUSE_FULL_LOAD at least.
 */
bool cause_is_full(const struct cause_input *in, uint32_t step, const struct prov_graph *graph,
		   const struct prov_port *port);
/*
 * A port of equal cost that was idle while flows of the collective shared the queue of this one, which a hash chose for
 * the victim (load_imbalance.c). @return EV_NONE: there is none, no port reported it, or no other flow of the
 * collective was sent there by a hash
 */
uint32_t cause_idle_choice(const struct cause_set *set, uint32_t step, const struct prov_graph *graph,
			   const struct prov_port *port);
/* Did this port's own queue grow? Of a NIC: did flows wait for each other there? */
bool cause_has_queue(const struct cause_input *in, const struct prov_port *port);

/* ---- for signatures: loads of ports that no telemetry shows (traced.c) ---- */

/* @return NULL when out of memory; traced_destroy() */
struct traced *traced_create(const struct evidence *ev);
void traced_destroy(struct traced *traced);
/*
 * Of the switches' ports by which FlowTracer's latest replies before a step's end show its flow, the one that carried
 * most for its rate, CAUSE_FULL_LOAD at least. @param load  set: of its rate  @return EV_NONE: none carried as much
 */
uint32_t traced_full(const struct cause_set *set, uint32_t step, double *load);
/* Some of the flows. */
struct traced_flows {
	const uint32_t *flows; /* [count] ascending */
	uint32_t count;
};
/* Flows that a reply shows at a port, at any time. */
struct traced_flows traced_at(const struct cause_set *set, uint32_t port);
/*
 * Of the flows that their rounds of a time show at a port, those that are asked again: from the first reply of their next
 * rounds to the last. @return from UINT64_MAX to 0: there are none
 */
struct window traced_next(const struct cause_set *set, uint32_t port, uint64_t at_ps);
/* The packets that a flow sent through a port in a step's time. */
double traced_packets(const struct cause_set *set, uint32_t step, uint32_t flow, uint32_t port);

/*
 * The confidence of a finding, from its own evidence: of the time that it claims of a step, the measured part, of the
 * expected reports of that time, the part that arrived, and the part that no other cause claims as well.
 */

/* Weighs each finding of one step, before they join others. */
void confidence_step(struct cause_set *set, uint32_t step);
/* Weighs a finding that claims no time of a step: a port reported that state of itself. */
void confidence_reported(struct cause_set *set, struct cause_finding *finding, uint32_t step);
/* Sets the confidence of a finding by all of its steps: of those on the critical path, if there are any. */
void confidence_conclude(struct cause_finding *finding);

/* ---- its rule, for tests ---- */

/*
 * What is likely of a time that was inferred from so many reports: as the next of them, and without any, as likely right as
 * wrong.
 * @param measured  part, 0 to 1  @return part
 */
double confidence_inferred(double measured, uint64_t times);
/*
 * After this number of observations that agree and none that does not, the probability that the next one agrees
 * (Laplace).
 */
double confidence_seen(uint64_t times);
/* The undisputed share of a claim where others claim too and there is less time than both want. */
double confidence_undisputed(double claim_ps, double others_ps, double lost_ps);

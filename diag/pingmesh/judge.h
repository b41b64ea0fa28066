/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The analyzer at work (R-Pingmesh 4.3, 5): period by period, it puts each timeout down to a cause, and votes on the
 * rest. A probe is of the period in which it was sent, however late or in what order its result arrived.
 */
#pragma once

#include "diag/pingmesh/net.h"

#define JUDGE_MESH_PERCENT 10  /* of ToR-mesh probes to an RNIC time out: it is anomalous (5) */
#define JUDGE_LEAST_MESH 5     /* ToR-mesh probes to it that count as evidence */
#define JUDGE_RNIC_PERIODS 3   /* after which all timeouts to and from an anomalous RNIC are its own: a minute (5) */
#define JUDGE_LEAST_TIMEOUTS 3 /* put down to switches for a vote: the paper's threshold, which it does not state */
#define JUDGE_LEAST_DELAYS 20  /* of a host in a period, that count as evidence */
#define JUDGE_DELAY_RATIO 3    /* over the usual P99 of all hosts: abnormally high */
#define JUDGE_LATE_PART 4      /* of its P99: an agent that was late by less had its processor in time */
#define JUDGE_TIMEOUT_PART 10  /* a delay from this part of the timeout on may make timeouts */
#define JUDGE_MOST_VOTES 16    /* places a network and period */
#define JUDGE_WAIT_PERIODS 3   /* that a timeout waits for more of its like, without a significant place */
#define JUDGE_SURELY 4.5 /* a place is sure that is e^4.5 times as likely as all others together: 3 standard deviations */

struct judging {
	struct net net;
	struct pingmesh *own;
	const struct run *run;
	uint64_t *rnic_until_ps;             /* [nrnics] timeouts of probes sent before are the RNIC's */
	uint32_t period;                     /* that is judged, */
	uint32_t first, end;                 /* its probes: in net.probes */
	uint32_t begin;                      /* from here on some of periods before wait for more */
	uint32_t firsts[JUDGE_WAIT_PERIODS]; /* of periods, by their number modulo */
	bool *overloaded;                    /* [nnodes] hosts whose CPU was in the last period */
	double usual_delay_ps;  /* P99 of processing delay, the median of hosts; a probe's wire time at least */
	double usual_late_ps;   /* an agent's longest wait for a timer of its own between two uploads, the median */
	struct mesh_rnic *mesh; /* [nrnics] */
	struct votes *votes;
	struct service_flow *flows; /* [nflows] connections of services, by service */
	uint32_t nflows;
	bool slow[ENUM_COUNT(REC_PROBE_KINDS)]; /* even the quickest probe of a kind takes long beside the timeout; */
	bool all_slow;                          /* of all kinds that are answered */
	uint64_t *late_until_ps; /* [2 * nrnics] until then timeouts may be late answers: of the cluster, of services */
	struct held *held;       /* NULL: no queue held probes up for longer than the timeout */
	bool late;               /* in the last period probes returned so late that timeouts may be late answers */
	uint32_t problem_cap;
	struct err *err;
};

/* Of an RNIC in a period. */
struct mesh_rnic {
	uint32_t to, to_bad;          /* ToR-mesh probes to it, and those without ACKs */
	uint32_t all, all_bad;        /* all that has to do with it */
	uint32_t peer, bad_peer;      /* hosts that probe it, and of those that got no ACK: one of them, RUN_NONE: none; */
	bool of_several, bad_several; /* there are others */
	bool anomalous;
	bool alike; /* as likely as another, which alone vouches against it */
};

/*
 * Sets j->mesh: the RNICs that are anomalous by ToR-mesh. The paper's rule alone would blame all that an anomalous RNIC
 * probes (where there are fewer than eleven at a ToR, it makes more than 10 % of their probes). So the worst is judged
 * first, and its probes do not count for the others. An RNIC that is well to all peers but one is not anomalous. If all
 * of a ToR's are, with three hosts at least, the ToR is, and none of them.
 * @return the number of RNICs that the paper's rule alone would blame
 */
uint32_t mesh_judge(struct judging *j);
/* After mesh_judge(): are all RNICs of a ToR bad, of two hosts at least? Then it may be the ToR. */
bool mesh_is_all_bad(const struct judging *j, uint32_t tor);
/* @return RNICs that are probed within a ToR, if more than 10 % of those probes got no ACK at each; 0: some are well */
uint32_t mesh_bad_rnics(const struct judging *j, uint32_t tor);
/*
 * A ToR that loses is one cause, lossy RNICs are one cause each. A cause is as probable as an RNIC of another ToR is
 * bad, by Laplace's rule of succession: (bad + 1) / (others + 2).
 * @return the probability of the one cause against that of the many
 */
double mesh_believe_tor(const struct judging *j, uint32_t tor, uint32_t rnics);
/* After cpu_judge(): clears RNICs that only overloaded hosts are evidence against. */
void mesh_review(struct judging *j);

/* Sets j->usual_delay_ps and j->usual_late_ps. @return 0 or -ENOMEM */
int cpu_prepare(struct judging *j);
/*
 * Finds overloaded CPUs: several of a host's RNICs are anomalous at once, and its processing is not known to be as fast
 * as ever; or it was slow enough to make probes time out, even if only at the end of an earlier period's load. Their
 * RNICs are not anomalous then. @return 0 or -ENOMEM
 */
int cpu_judge(struct judging *j);

struct votes *votes_create(const struct run *run);
void votes_destroy(struct votes *votes);
/*
 * Places the rest of the period's timeouts: Algorithm 1 with its votes weighed by the number of good probes over the
 * same link. @return 0 or -ENOMEM
 */
int votes_judge(struct judging *j, enum pingmesh_network network);
/* The same of probes with high RTT. @return 0 or -ENOMEM */
int votes_judge_high(struct judging *j, enum pingmesh_network network);

/*
 * Marks probes with high RTT of all periods: by hardware timestamps, as those of busy kernels are high by themselves.
 * @return 0 or -ENOMEM
 */
int rtt_mark(struct judging *j);

/*
 * Adds a period's observation of a problem to the recent one of the same kind and place, or makes it. @return 0 or
 * -ENOMEM
 */
int problem_add(struct judging *j, const struct pingmesh_problem *seen);

static inline enum pingmesh_network
network_of(const struct net_probe *probe)
{
	return probe->kind == REC_PROBE_SERVICE ? PINGMESH_SERVICE : PINGMESH_CLUSTER;
}

/* All periods. @return 0 or -ENOMEM with j->err */
int judge_all(struct judging *j);

/* The preconditions of the analyzer's tests, and the tests that were not made where one does not hold. */

#define LIMITS_SLOW 4 /* an undelayed probe takes no more than this part of the timeout, or late and lost are one */
#define LIMITS_HOST_PS                                                                                                     \
	(1000ull * 1000 * 1000) /* a shorter timeout is one that processors make, which take some 10 us a completion */
#define LIMITS_LATE 2           /* an answer that took this part of the timeout was late, */
#define LIMITS_PART 10 /* and where they are this part of the timeouts, or of the answers, timeouts may be late, too */

/* Before periods are judged: sets j->slow and j->all_slow. */
void limits_prepare(struct judging *j);
/*
 * Takes out the period's timeouts that may be late answers: all of a kind of which even the quickest probe takes long
 * (j->slow); else those of RNICs to or from which, or of a period in which, other answers were late.
 * @param hosts  after cpu_judge(): processing time of hosts counts, too, but for those with overloaded CPUs: queues of
 *               their RNICs
 * @return 0 or -ENOMEM
 */
int limits_take_late(struct judging *j, bool hosts);
/*
 * After cpu_judge(): takes out timeouts of hosts whose agents had no room for received packets, by their own count,
 * where that explains them.
 * @return 1: there were some, 0, or -ENOMEM
 */
int limits_take_dropped(struct judging *j);
/* Before periods are judged: finds queues that hold probes up for longer than the timeout. @return 0 or -ENOMEM */
int held_prepare(struct judging *j);
/* May a queue on its path have held a probe up when it was sent? */
bool held_may_hold(const struct judging *j, const struct net_probe *probe);
void held_destroy(struct held *held);
/* After all periods: counts the tests that could not be made in own->limits. @return 0 or -ENOMEM */
int limits_count(struct judging *j);

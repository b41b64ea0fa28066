/* SPDX-License-Identifier: BSD-3-Clause */
/* Good and bad probes over links and switches, and places with the same probes. Private to votes.c and ballot.c. */
#pragma once

#include "diag/pingmesh/judge.h"

/* Probes over something, and the bad of them. */
struct vote_count {
	uint32_t all, bad;
	uint32_t stamp; /* of the probe that was counted last */
	uint64_t which; /* a sum over these probes: of others it is another */
};

struct votes {
	const struct run *run;
	struct vote_count *links;    /* [nports] of both directions, at the lower port */
	struct vote_count *ports;    /* [nports] of one */
	struct vote_count *switches; /* [nnodes] */
	double *loss_rate;           /* [nports] probability that a probe is lost there, by em_links_port() */
	struct vote_count *through;  /* [nnodes] scratch of switch_blame() */
	uint8_t *unsure;             /* [nports] 1: by em_sprayed(), of several it is one that may lose */
	uint32_t stamp;
};

#define BALLOT_PATHS (2 * NET_PATHS) /* of a probe */

/* The probes of a vote and its rules. */
struct ballot {
	struct judging *j;
	enum pingmesh_network network;
	bool high;      /* RTTs, not timeouts */
	bool plain;     /* a lost probe took the path that was traced last before it, whatever may have changed since */
	bool paper;     /* Algorithm 1 (4.3.3): each bad probe votes for all links of its path and of its ACKs' path */
	uint32_t first; /* of the probes: those of periods before, too, of which something is left open */
	uint8_t *voted; /* [end - first] probes that are explained, or wait for more of their like */
};

/* Is a probe evidence about links, and not explained yet? */
bool ballot_takes_part(const struct ballot *b, uint32_t probe);
bool ballot_is_bad(const struct ballot *b, const struct net_probe *probe);

/*
 * The paths that a probe is evidence about, forward and back. A lost probe of a tuple whose path alternates was lost on
 * one of its paths. Either ACK that arrived left from the probe's destination: a missing ACK was lost on the path back.
 * So was one of a probe that its responder received. A probe that its responder did not receive is no evidence about
 * the path back.
 * @param traces  set to indices into net.traces @return their number
 */
uint32_t ballot_paths(const struct ballot *b, const struct net_probe *probe, uint32_t traces[BALLOT_PATHS]);

/* Is a probe evidence about its forward path, or its path back? */
bool ballot_is_of_path(const struct ballot *b, const struct net_probe *probe, bool back);

/*
 * em_sprayed.c: assigns one of its paths to every probe that takes part, where packets are sprayed and received ones
 * report their paths. @return 0 or -ENOMEM
 */
int em_sprayed(const struct ballot *b);

/* Are so many of those that take part bad? Of most periods none is. */
bool ballot_has_bad(const struct ballot *b, uint32_t least);

/*
 * Counts all that take part.
 * @return bad probes whose path is known; less than JUDGE_LEAST_TIMEOUTS: there is nothing to vote for, nor all counted
 */
uint32_t ballot_count(const struct ballot *b);

/* @return the representative of both directions of a link: the lower of its ports */
uint32_t ballot_link(const struct run *run, uint32_t port);
/*
 * An end of Wilson's interval for a share, at 3 standard deviations: few probes prove little.
 * @param side  -1: the lower, 1: the upper
 */
double wilson(double bad, double all, int side);
/* Its lower end for the share of bad probes. */
double ballot_lower_bound(const struct vote_count *t);

/*
 * Algorithm 1: places the link that most of the ballot's bad probes cross. @param seen  set @return whether there is
 * such a place
 */
bool algorithm1(const struct ballot *b, struct pingmesh_problem *seen);

struct em_place {
	uint32_t port; /* which most surely loses its packets; RUN_NONE: none explains JUDGE_LEAST_TIMEOUTS */
	double charged, log_likelihood;
};

/* Of what ballot_count() has counted. Of ports that the same probes cross it is the first. @return 0 or -ENOMEM */
int em_links_port(const struct ballot *b, struct em_place *place);

/*
 * The likelihood if these ports lost nothing.
 * @param without  [nports] 1: such a one; all ports with the same probes have to be
 * @param charged  [nports] set to bad probes that others would be charged with
 * @return 0 or -ENOMEM
 */
int em_links_without(const struct ballot *b, const uint8_t *without, double *charged, double *log_likely);

/*
 * After em_links_port(): the switch that is at fault where a link is named, since its other links are as bad (the
 * paper's footnote), or since the link is well but for packets through that switch. @return RUN_NONE: the link itself
 */
uint32_t switch_blame(const struct ballot *b, uint32_t link, double log_likely);

/* Is this one of several links of which any may have lost a probe? By em_sprayed() */
bool ballot_is_unsure(const struct ballot *b, uint32_t link);

/* May a timeout wait for another period? */
bool ballot_can_wait(const struct judging *j, const struct net_probe *probe);

/*
 * selective.c: a switch that loses by addresses. All probes of some tuples are lost, and others cross every link of
 * their paths without loss.
 * @return 1: one was named, or candidates for several wait; 0: there is none; -ENOMEM
 */
int selective_once(const struct ballot *b);
/*
 * Are losses at a place likelier to be by addresses, of which selective_once() has too few probes yet? A place that loses
 * some packets loses those of all tuples alike. Of losses by addresses some tuples lose all, and the others none.
 * @return 1, 0; -ENOMEM
 */
int selective_is_likelier(const struct ballot *b, const struct pingmesh_problem *at);

/* Do the same probes cross both ports? */
bool ballot_is_alike(const struct votes *v, uint32_t port, uint32_t other);
/* A host's link is its RNIC's problem, in every kind of analysis (footnote 4). */
bool ballot_is_host_link(const struct run *run, uint32_t port);
/* @return the switch at the other end of a host's link, RUN_NONE: it is none */
uint32_t ballot_tor(const struct run *run, uint32_t port);
/*
 * A host's link that all probes over a switch cross: with one host at a ToR no probe separates the two.
 * @param node  RUN_NONE: there is none @return the link; RUN_NONE: some probes cross the switch without it
 */
uint32_t ballot_only_link(const struct votes *v, uint32_t node);
/* Names one more link: a switch's by the port that sends to its bad direction, a host's by its NIC. */
void ballot_name_link(const struct ballot *b, uint32_t link, struct pingmesh_problem *seen);
/* Does a probe cross the place of a problem? */
bool ballot_is_over(const struct ballot *b, const struct net_probe *probe, const struct pingmesh_problem *at);

enum significance { SIGNIFICANCE_SURE, SIGNIFICANCE_WAITS };

/* @return 1: the observations are significantly likelier with the place than without it; 0; -ENOMEM */
int significance_is_sure(const struct ballot *b, const struct em_place *place, const struct pingmesh_problem *seen);
/*
 * Could it as well be elsewhere? Then it is a known place that fits as well; or it waits for more evidence; or, after
 * the longest wait, all places that fit as well are named.
 * @param uncertain  whether it is in any case: the switch that those places share is named, too
 * @param seen       the place; may be changed
 * @return enum significance, or -ENOMEM
 */
int significance_place(const struct ballot *b, const struct em_place *place, bool uncertain, struct pingmesh_problem *seen);
/* Probes without a significant place wait: they do not count in this period any more. */
void significance_hold(const struct ballot *b, const struct pingmesh_problem *seen);

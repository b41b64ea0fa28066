/* SPDX-License-Identifier: BSD-3-Clause */
/* How probes over links and switches fared, and whose are the same. Private to votes.c and tally.c. */
#pragma once

#include "diag/pingmesh/judge.h"

/* Probes over something, and the bad of them. */
struct tally {
	uint32_t all, bad;
	uint32_t stamp; /* of the probe that was counted last */
	uint64_t which; /* a sum over these probes: of others it is another */
};

struct votes {
	const struct run *run;
	struct tally *links;    /* [nports] of both directions, at the lower port */
	struct tally *ports;    /* [nports] of one */
	struct tally *switches; /* [nnodes] */
	double *likely;         /* [nports] how likely a probe is lost there, by likely_port() */
	struct tally *through;  /* [nnodes] scratch of whole_switch() */
	uint32_t stamp;
};

/* What is voted on. */
struct ballot {
	struct judging *j;
	enum pingmesh_network network;
	bool high;      /* RTTs, not timeouts */
	uint8_t *voted; /* [end - first] probes that are explained */
};

/* Does a probe say anything of links, and nothing of it is explained yet? */
bool ballot_takes_part(const struct ballot *b, uint32_t probe);
bool ballot_is_bad(const struct ballot *b, const struct net_probe *probe);

/*
 * The ways of a probe that it says anything of. An ACK that came, whichever of the two, came back from where the probe had
 * arrived: what is missing was lost on the way back.
 * @param traces  set to indices into net.traces @return how many
 */
uint32_t ballot_ways(const struct ballot *b, const struct net_probe *probe, uint32_t traces[2]);

/* Counts all that take part. @return bad probes whose way is known */
uint32_t tally_all(const struct ballot *b);

/* @return what stands for both directions of a link: the lower of its ports */
uint32_t tally_link(const struct run *run, uint32_t port);
/* An end of Wilson's interval for a share, at 3 standard deviations: few probes prove little. @param side  -1: the lower, 1: the upper */
double wilson(double bad, double all, int side);
/* Its lower end for the share of bad probes. */
double tally_surely(const struct tally *t);

/*
 * The port which most surely loses what it sends, of what tally_all() has counted. Of ports that the same probes cross it is the first.
 * @param port  set; RUN_NONE: none explains JUDGE_LEAST_TIMEOUTS
 * @return 0 or -ENOMEM
 */
int likely_port(const struct ballot *b, uint32_t *port);

/*
 * After likely_port(): the switch that is meant where a link is named, since its other links are as bad (the paper's footnote), or since the
 * link is well but for what goes through that switch. @return RUN_NONE: the link itself
 */
uint32_t whole_switch(const struct ballot *b, uint32_t link);

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
/* Lower end of Wilson's interval for the share of bad probes, at 3 standard deviations: few probes prove little. */
double tally_surely(const struct tally *t);

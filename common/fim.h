/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Flow Imbalance Metric of FlowTracer (Eq. 1): how far the numbers of flows on links are from an even share, as a
 * mean absolute percentage error; and its expectation where flows choose their links by hash. fim_fabric.h has the links,
 * layers and probabilities of a network.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FIM_MAX_GROUPS 32
#define FIM_ALL UINT16_MAX            /* for a group: links of all groups */
#define FIM_SWITCHES (UINT16_MAX - 1) /* links of all groups that switches load */
#define FIM_CHANCES 8                 /* different probabilities of the flows that may take one link */

/* One direction of one link. */
struct fim_link {
	uint16_t group;    /* layer and direction, below FIM_MAX_GROUPS; links of a group are to be loaded alike */
	uint32_t flows;    /* that take it */
	uint64_t rate_bps; /* its share of its group's flows is by this; 0: not available, takes no part */
	double ideal;      /* flows in a perfectly balanced scenario; 0: takes no part */
};

struct fim {
	uint32_t links;       /* n of Eq. 1: those available that flows could have taken */
	uint32_t least, most; /* flows on one of them */
	double ideal;         /* mean of theirs */
	double percent;       /* 0 without links */
};

/* Flows that may take a link, by the probability with which they do. */
struct fim_chance {
	struct {
		double p;
		uint32_t flows;
	} of[FIM_CHANCES];
	uint32_t count; /* FIM_CHANCES + 1: there were more kinds than that */
};

/*
 * Sets the ideal of every link: the flows that its group carries, divided among the group's available links by their
 * rates. Groups that no flow crosses have an ideal of 0.
 * @param links  [count]
 */
void fim_even(struct fim_link *links, size_t count);

/*
 * Eq. 1 over the links of one group, or all of them. The ideal is the caller's, or fim_even()'s.
 * @param links  [count]
 * @param group  number, or FIM_ALL
 */
struct fim fim_of(const struct fim_link *links, size_t count, uint16_t group);

/* Some more flows may take a link, each with probability p. */
void fim_chance_add(struct fim_chance *chance, double p, uint32_t flows);

/*
 * Expectation of a link's term of Eq. 1 in percent, 100 E|X - ideal| / ideal: X flows take it, each by its own probability and
 * independently of the others. X is a sum of binomials; of one binomial whose mean is the ideal the result is De Moivre's mean
 * deviation. Exact to about 1e-9.
 * @param ideal  more than 0
 * @return NAN: there are too many kinds of probabilities or flows, or no memory
 */
double fim_expected(const struct fim_chance *chance, double ideal);

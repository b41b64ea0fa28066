/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Flow Imbalance Metric of FlowTracer (Eq. 1): how far the numbers of flows on links are from an even share, as a
 * mean absolute percentage error; and what it comes to on average where flows choose their links by hash.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FIM_MAX_GROUPS 32
#define FIM_ALL UINT16_MAX /* for a group: links of all groups */

/* One direction of one link. */
struct fim_link {
	uint16_t group;    /* layer and direction, below FIM_MAX_GROUPS; links of a group are to be loaded alike */
	uint32_t flows;    /* that take it */
	uint64_t rate_bps; /* its share of its group's flows is by this; 0: not available (down), takes no part */
	double ideal;      /* flows in a perfectly balanced scenario; 0: takes no part */
};

struct fim {
	uint32_t links;       /* n of Eq. 1: those available that flows could have taken */
	uint32_t least, most; /* flows on one of them */
	double ideal;         /* mean of theirs */
	double percent;       /* 0 without links */
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

/*
 * Expectation of the metric, in percent, over links that flows choose from uniformly and independently: a link's
 * flows are binomial, and their mean absolute deviation has De Moivre's closed form, exact for every number of both.
 * A hash of independent tuples comes near to it, however many hashes stand in a row, as long as every flow reaches
 * each of the links with the same probability.
 * @param flows  that choose
 * @param links  they choose from
 * @return 0 without flows, and for fewer than two links
 */
double fim_expected(uint64_t flows, uint64_t links);

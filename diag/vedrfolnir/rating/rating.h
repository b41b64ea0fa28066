/* SPDX-License-Identifier: BSD-3-Clause */
/* Contributor rating (III-D3): how much each flow did to a step, and to the whole collective. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "diag/vedrfolnir/provenance/provenance.h"

/*
 * Eq. 1, from downstream to upstream:
 * R(f, p_up) = w(p_up, f) + sum over e(p_up, p_down) of R(f, p_down) * w(p_up, p_down).
 * Ports that wait for each other in a circle count as one: each has the sum of the circle's w(p, f), and of what
 * leaves the circle.
 * @param r  filled: R(f, p) at [p * graph->nflows + f]
 */
void rating_ports(const struct prov_graph *graph, double *r);

/*
 * Eq. 2: R(f, cf) = sum over the ports p_k that cf waits at of [(w(cf,f) - w(p_k,f)) * I(f, p_k) + R(f, p_k)], where
 * w(cf,f) is what cf waited for f at p_k itself, and I(f, p_k) is 1 if f met p_k in the same time as cf.
 * @param r       of Eq. 1
 * @param scores  filled, in packet-waits, [graph->nflows]; 0 for the victim itself
 */
void rating_flows(const struct prov_graph *graph, const double *r, double *scores);

/*
 * The weight of one critical step in Eq. 3: (exec - expect) / sum over k of (exec_k - expect_k), with each difference
 * clamped at 0; 0 if nothing was slow.
 */
double rating_step_weight(uint64_t exec_ps, uint64_t expect_ps, double excess_sum_ps);

/* exec - expect, clamped at 0: the terms of the sum in Eq. 3. */
double rating_excess_ps(uint64_t exec_ps, uint64_t expect_ps);

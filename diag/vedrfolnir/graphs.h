/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "diag/run/run.h"
#include "diag/vedrfolnir/provenance/provenance.h"
#include "diag/vedrfolnir/section.h"

/*
 * Copies a step's provenance graph into the verdict and rates its flows (Eq. 1 and 2).
 * @return 0 or -ENOMEM with err; what was allocated is freed with the verdict
 */
int graphs_fill(struct provenance *out, const struct run *run, const struct prov_graph *graph, uint32_t step,
		struct err *err);

/* Leaves of a graph its step, times and flags alone. */
void graphs_empty(struct provenance *graph);

/*
 * Slow steps in the order in which they have their graphs built: those on the path that are shown, those on it, then the
 * others; of each those that lost most time first. What a limit leaves out is what cost least.
 * @param order  [nsteps] set to their indices
 * @return how many they are
 */
uint32_t graphs_order(const struct run_step *steps, const struct vedrfolnir_step *own, uint32_t nsteps, uint32_t *order);

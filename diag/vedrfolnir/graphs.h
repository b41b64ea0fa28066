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

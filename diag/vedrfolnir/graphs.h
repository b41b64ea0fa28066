/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "diag/vedrfolnir/provenance/provenance.h"
#include "diag/verdict.h"

/*
 * Copies a step's provenance graph into the verdict and rates its flows (Eq. 1 and 2).
 * @return 0 or -ENOMEM with err; what was allocated is freed with the verdict
 */
int graphs_fill(struct provenance *out, const struct verdict *v, const struct prov_graph *graph, uint32_t step,
		struct err *err);

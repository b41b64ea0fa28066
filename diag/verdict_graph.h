/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "diag/provenance/provenance.h"
#include "diag/verdict.h"

/*
 * Copies a step's provenance graph into the verdict and rates its flows (Eq. 1 and 2).
 * @return 0 or -ENOMEM with err; what was allocated is freed with the verdict
 */
int verdict_graph_fill(struct verdict_provenance *out, const struct verdict *v, const struct prov_graph *graph,
		       uint32_t step, struct err *err);

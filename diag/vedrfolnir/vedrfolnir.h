/* SPDX-License-Identifier: BSD-3-Clause */
/* VEDRFOLNIR's diagnosis: from slow steps by way of waiting and provenance graphs to findings and contributors. */
#pragma once

#include "diag/collect/evidence.h"
#include "diag/verdict.h"

/*
 * Waiting graphs, provenance graphs, scores, findings, contributors.
 * @return 0; -E2BIG with err past the limit of findings; -ENOMEM
 */
int vedrfolnir_diagnose(struct verdict *v, const struct evidence *ev, const struct vedrfolnir_options *options,
			struct err *err);
/* What they and the evidence say about the network. */
void vedrfolnir_conclude(struct verdict *v, const struct evidence *ev);
void vedrfolnir_fini(struct vedrfolnir *vedrfolnir);

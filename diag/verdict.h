/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict as plain data: what the analyzer concluded and all that a report needs to show why. */
#pragma once

#include "diag/finding.h"
#include "diag/run/run.h"
#include "diag/vedrfolnir/section.h"

#define VERDICT_SCHEMA_VERSION 1

struct verdict {
	struct run run;

	bool innocent;         /* nothing in the network explains the time */
	char reason[512];      /* a sentence */
	char incomplete[1024]; /* a sentence on what evidence is missing; empty if none is */

	struct finding *findings;
	uint32_t nfindings;
	struct vedrfolnir vedrfolnir;
};

/* VEDRFOLNIR's section. */
static inline struct vedrfolnir *
vedrfolnir_of(const struct verdict *v)
{
	return (struct vedrfolnir *)(uintptr_t)&v->vedrfolnir;
}

struct vedrfolnir_options {
	/*
	 * w(p_i,p_j) as the share of p_i in what all senders feed to p_j, instead of the share of p_j in what p_i
	 * sends (the default): the other reading of the paper's formula.
	 */
	bool share_by_senders;
};

/*
 * Draws every conclusion from one record stream.
 * @param options  NULL: defaults
 * @param out  set to the verdict on success, to be freed by verdict_destroy()
 * @return 0; -E2BIG with err past the limit of findings; -ENOMEM
 */
int verdict_build(const struct evidence *evidence, const struct vedrfolnir_options *options, struct verdict **out,
		  struct err *err);
void verdict_destroy(struct verdict *verdict);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VEDRFOLNIR, a diagnoser: from slow steps by way of waiting and provenance graphs to findings and contributors. What it
 * makes of a run beside findings is in section.h.
 */
#pragma once

#include "diag/diagnoser.h"

struct cause;

struct vedrfolnir_options {
	/*
	 * w(p_i,p_j) as the share of p_i in what all senders feed to p_j, instead of the share of p_j in what p_i
	 * sends (the default): the other reading of the paper's formula.
	 */
	bool share_by_senders;
	const struct cause *const *causes; /* [ncauses] signatures that look; NULL: all */
	uint32_t ncauses;
};

/* As diagnoser.h says. @param options  struct vedrfolnir_options  @return -E2BIG past the limit of findings, too */
int vedrfolnir_diagnose(const struct evidence *evidence, const struct run *run, const void *options,
			struct section *section, struct err *err);
void vedrfolnir_destroy(void *own);
/* --port-share: "receivers" or "senders". */
int vedrfolnir_port_share(void *options, const char *value, struct err *err);

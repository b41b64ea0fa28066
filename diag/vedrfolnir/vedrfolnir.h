/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * VEDRFOLNIR, a diagnoser: from slow steps by waiting and provenance graphs to findings and contributors. Its results
 * beside findings are in section.h.
 */
#pragma once

#include "common/err.h"
#include "diag/diagnoser.h"
#include "diag/run/run.h"
#include "diag/vedrfolnir/provenance/provenance.h"
#include "diag/vedrfolnir/section.h"

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

/* As in diagnoser.h. @param options  struct vedrfolnir_options  @return -E2BIG past the limit of findings, too */
int vedrfolnir_diagnose(const struct evidence *evidence, const struct run *run, const void *options,
			struct section *section, struct err *err);
void vedrfolnir_destroy(void *own);
/* --port-share: "receivers" or "senders". */
int vedrfolnir_port_share(void *options, const char *value, struct err *err);

/*
 * Slow steps in the order in which they have their graphs built: those on the path that are shown, those on it, then
 * the others; of each those that lost most time first. A limit leaves out those that cost least.
 * @param order  [nsteps] set to their indices
 * @return their number
 */
uint32_t graphs_order(const struct run_step *steps, const struct vedrfolnir_step *own, uint32_t nsteps, uint32_t *order);

/* The time budget of each collective. */

/*
 * Sums up the lost time of each collective's steps on the critical path, and the part that the section's findings
 * explain; marks those without effect, and puts them last.
 * @return 0, or -ENOMEM with err
 */
int budgets_sum_up(const struct run *run, struct section *section, struct err *err);

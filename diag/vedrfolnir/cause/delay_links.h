/* SPDX-License-Identifier: BSD-3-Clause */
/* The links that may have made a step's round trips longer: those of its ways that nobody crossed in time meanwhile. */
#pragma once

#include "diag/vedrfolnir/cause/cause.h"

/* Who crossed a port, data or ACKs. */
struct delay_crossing {
	uint32_t step;
	uint64_t start_ps;
};

struct delay_links {
	const struct cause_input *in;
	uint64_t *arrived_ps; /* [nsteps] when its message was there, as the next rank's start tells; RUN_UNKNOWN */
	uint32_t *first;      /* [nports + 1] in crossings */
	struct delay_crossing *crossings; /* by port and start */
	uint64_t *longest_ps;             /* [nports] of the steps that crossed it */
};

/* @return 0 or -ENOMEM */
int delay_links_init(struct delay_links *links, const struct cause_input *in);
void delay_links_fini(struct delay_links *links);

/*
 * Links that may have made a step's round trips longer by so much.
 * @param throughout  all of them; else on average: it may have been so for a part of its time alone
 * @param ports  [of its hops both ways] set to them
 * @return how many
 */
uint32_t delay_links_of(const struct delay_links *links, uint32_t step, double extra_ps, bool throughout, uint32_t *ports);

/* SPDX-License-Identifier: BSD-3-Clause */
/* How the flows of a run fared that no collective sent. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "common/slowdown.h"
#include "emulation/emulation.h"

struct flow_row;

struct flow_summary {
	size_t flows, open, waiting; /* that came; not complete; that never began */
	uint64_t retransmits, bytes; /* packets; of complete ones */
	uint64_t wait_ps;            /* how long all together waited for their connections */
	struct slowdown_bucket buckets[SLOWDOWN_BUCKETS];
};

/*
 * Background flows and generated ones that came before the end.
 * @return 0 or -ENOMEM
 */
int flow_summary(const struct emulation *emulation, struct flow_summary *summary);

/* A table for people; nothing where no flow came. */
void flow_summary_print(const struct flow_summary *summary, FILE *to);
/* @return NULL: out of memory */
json_t *flow_summary_json(const struct flow_summary *summary);

/* From when it came; to the end of the run, where it is open. */
uint64_t flow_row_fct_ps(const struct emulation *emulation, const struct flow_row *row);

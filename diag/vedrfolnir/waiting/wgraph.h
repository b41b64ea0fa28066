/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting graph of one iteration of a job (III-B, III-D1), over all of its collectives: which step waited for which,
 * pruned to those that any step waited for, and the critical path through it.
 */
#pragma once

#include "common/err.h"
#include "diag/run/run.h"
#include "diag/vedrfolnir/section.h"

/*
 * Builds graph, pruning and critical path in O(steps). Light edges go only to the step that a step actually waited for
 * (steps[i].waited_for). A step that started but did not finish ends at its end_ps, which the caller sets to the end of
 * the run; the path may end in such a step, and then in the one that holds up the others. Unreported steps have
 * vertices but no part in the path. Any acyclic schedule will do: of all its dependencies a step waited for one, and
 * only that one delayed it. Its own time on the path may be a message's or, of a local step, computation.
 * @param steps    all steps of the verdict: waited_for indexes into it
 * @param first    of the iteration's steps, which are consecutive, those of one rank of a collective too
 * @param count    number of them
 * @param waiting  filled on success; its arrays are the caller's to free
 * @return 0 or -ENOMEM with err
 */
int wgraph_build(const struct run_step *steps, uint32_t first, uint32_t count, struct waiting_graph *waiting,
		 struct err *err);

/*
 * The substitute for the critical path where nothing waits for a flow but itself: the slow flows of generators that
 * lost most time, most first. Flows are rated over it as over a critical path.
 */

#define SLOW_FLOWS_LISTED 24

/* @param waiting  of wgraph_build() over the same steps: its path has room for all of them, and is replaced */
void slow_flows_list(const struct run_step *steps, uint32_t first, uint32_t count, struct waiting_graph *waiting);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a verdict says that suspects cost, for comparison with what they did cost. A finding that names flows as culprits is
 * about them, each with its part of what the finding explains; one that names none is about whatever sits at its root: the
 * link that a port is an end of, or the node; where that is a flow, about what loses packets, or delays them, on its way. Of
 * several that sit there it is about those that it speaks of, a storm or a loss. What then fits several suspects is shared
 * among them evenly, what fits none is other's.
 */
#pragma once

#include <stdbool.h>

#include "eval/suspect.h"

struct claims {
	double ns[SUSPECT_MAX];  /* by suspect */
	bool named[SUSPECT_MAX]; /* as a root cause that cost something */
	double others_ns;        /* of findings that fit no suspect */
};

/*
 * @param verdict  verdict.json
 * @param job      whose findings count
 */
void claims_read(const json_t *verdict, const struct suspects *suspects, uint32_t job, struct claims *claims);

/* @return its part of all that is claimed for suspects, 0 to 1 */
double claims_share(const struct claims *claims, const struct suspects *suspects, size_t index);

/* SPDX-License-Identifier: BSD-3-Clause */
/* Both graphs for Graphviz: everything that the page leaves out for want of room is here. */
#pragma once

#include <stdio.h>

#include "diag/verdict.h"

/* waiting.dot: one cluster a collective; pruned parts grey, the critical path bold. @return 0 or -EIO */
int dot_write_waiting(const struct verdict *v, FILE *to);
/* provenance.dot: one cluster a slow step. @return 0 or -EIO */
int dot_write_provenance(const struct verdict *v, FILE *to);

/* SPDX-License-Identifier: BSD-3-Clause */
/* report.html: the run's data in the page that web/ built, whose script draws it. One file without dependencies. */
#pragma once

#include <stdio.h>

#include "diag/verdict.h"

#define PAGE_DATA_MARK "@data@"    /* in the page's template: the place of the data */
#define PAGE_MAX_STEPS 400000      /* more: only the worst collective and the first ones have theirs in the page */
#define PAGE_MAX_GRAPH_EDGES 60000 /* more: the provenance graphs of the critical path and of most time lost */

/*
 * Writes the page. Its data is verdict.json's, and the data of drawings alone: nodes, ports, flows and steps by index,
 * the waiting graphs, the provenance graphs, and the observations by time. Names are safe in it whatever they hold: no
 * '<' is left.
 * @param page  the template, PAGE_DATA_MARK once in it
 * @return 0, -ENOMEM, or -EIO
 */
int page_write(const struct verdict *v, const char *page, FILE *to);

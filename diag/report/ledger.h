/* SPDX-License-Identifier: BSD-3-Clause */
/* Where senders' time went, by entries of the ledger: in the slowest step, and on all critical paths of its job. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "common/wire/ledger.h"
#include "diag/report/facts.h"
#include "diag/report/text.h"

/* Lines beside the ledger's entries. */
enum { LEDGER_COMPUTE = LEDGER_ENTRIES, LEDGER_UNKNOWN, LEDGER_LINES };

struct ledger_facts {
	uint32_t step;                 /* that lost most on the path of facts.worst: index into run.steps */
	double step_ps[LEDGER_LINES];  /* adds up to its time */
	double paths_ps[LEDGER_LINES]; /* of the job of facts.worst; of flows: of the slow ones that are listed */
};

/* @return false: no step there has a ledger */
bool ledger_facts(const struct facts *facts, struct ledger_facts *ledger);
/* report.txt's section; nothing without a ledger. @return 0 or -ENOMEM */
int ledger_text(const struct text *text);
/* The page's "ledger", in steps of its last decimal; null without one. @return NULL: no memory */
json_t *page_ledger(const struct verdict *v);

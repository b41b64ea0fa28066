/* SPDX-License-Identifier: BSD-3-Clause */
/* What FlowPulse did not judge, and why: each reason once, with how often and where. */
#pragma once

#include "diag/flowpulse/section.h"
#include "diag/report/text.h"

struct json_t;

/* @return an array of "not_judged": why, because, nothing_lost, count, of, switches; NULL: no memory */
struct json_t *flowpulse_unjudged_json(const struct verdict *v, const struct flowpulse *own);
/* "Cannot tell at l0 and l1, because ...: 12 alarms." */
void flowpulse_unjudged_text(const struct text *text, const struct flowpulse *own);

/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of the text report. */
#pragma once

#include <stdio.h>

#include "diag/report/facts.h"

#define TEXT_MAX_COLLECTIVES 12
#define TEXT_MAX_PATH 24
#define TEXT_MAX_CONTRIBUTORS 10

/* Columns as nccl-tests prints them (src/common.cu), with what was expected beside. */
void text_collectives(const struct facts *facts, FILE *to);
/* Steps of the critical path of one collective; of a long one, those that lost most time. @return 0 or -ENOMEM */
int text_path(const struct facts *facts, uint32_t iteration, FILE *to);
/* Eq. 3. @return 0 or -ENOMEM */
int text_contributors(const struct facts *facts, FILE *to);

/* SPDX-License-Identifier: BSD-3-Clause */
/* How FlowPulse's section is reported; see diag/diagnoser.h. */
#pragma once

#include "diag/diagnoser.h"

/* "flowpulse": monitors, faults, volumes of iterations with an alarm, and what was not compared. */
int flowpulse_json(const struct verdict *v, const struct section *section, struct json_t *root);
/* Faults, the volumes of the leaf that saw each first, and what was not compared. */
int flowpulse_text(const struct text *text, const struct section *section);

#define FLOWPULSE_FILES 1
extern const struct diagnoser_file flowpulse_files[FLOWPULSE_FILES]; /* every volume that was told, as a table */

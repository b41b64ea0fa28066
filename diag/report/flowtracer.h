/* SPDX-License-Identifier: BSD-3-Clause */
/* How FlowTracer's section is reported; see diag/diagnoser.h. */
#pragma once

#include "diag/diagnoser.h"
#include "diag/flowtracer/section.h"

/* "flowtracer": rounds, layers with their FIM, links, pairs, paths of the round that is shown, collisions. */
int flowtracer_json(const struct verdict *v, const struct section *section, struct json_t *root);
/* The layers, where flows collided, and the pairs that got least. */
int flowtracer_text(const struct text *text, const struct section *section);

#define FLOWTRACER_FILES 1
extern const struct diagnoser_file flowtracer_files[FLOWTRACER_FILES]; /* every hop of every flow's way, as a table */

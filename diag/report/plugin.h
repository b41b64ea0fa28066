/* SPDX-License-Identifier: BSD-3-Clause */
/* How what an outside program said is reported (struct diagnoser_writers). */
#pragma once

#include "diag/diagnoser.h"

struct text;

/* Appends to the array "outside". */
int plugin_json(const struct verdict *v, const struct section *section, struct json_t *root);
int plugin_text(const struct text *text, const struct section *section);

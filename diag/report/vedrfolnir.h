/* SPDX-License-Identifier: BSD-3-Clause */
/* How VEDRFOLNIR's section is reported; see diag/diagnoser.h. */
#pragma once

#include "diag/diagnoser.h"

/* "critical_path" and "contributors". */
int vedrfolnir_json(const struct verdict *v, const struct section *section, struct json_t *root);
/* The critical path of the collective to look at first, and the contributors. */
int vedrfolnir_text(const struct text *text, const struct section *section);

#define VEDRFOLNIR_FILES 2
extern const struct diagnoser_file vedrfolnir_files[VEDRFOLNIR_FILES]; /* both graphs, for Graphviz */

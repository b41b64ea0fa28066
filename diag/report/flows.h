/* SPDX-License-Identifier: BSD-3-Clause */
/* The reports on generated flows, in place of collectives. */
#pragma once

#include <jansson.h>

#include "diag/report/text.h"

/* Are there flows of generators, and no collectives? */
bool flows_alone(const struct verdict *v);

/* "2901 flows: 412 of them took more than twice as long as on an idle fabric; ..." @return buf */
char *flows_headline(const struct verdict *v, char *buf, size_t cap);
/* Slowdowns of complete flows by size. @return 0 or -ENOMEM */
int flows_text(const struct text *text);
/* verdict.json, "flows": an object a generator. @return NULL: out of memory */
json_t *flows_json(const struct verdict *v);
/* The same of all generators together, for the page. */
json_t *flows_all_json(const struct verdict *v);

/* SPDX-License-Identifier: BSD-3-Clause */
/* report.html: one page that needs nothing else, on a screen, dark or light, and on paper. */
#pragma once

#include <stdio.h>

#include "diag/verdict.h"

/*
 * Writes the page. It is well-formed XML too, and its size is bounded whatever the verdict's: what is left out is said
 * where it is left out, and is in verdict.json and the DOT files.
 * @return 0, -ENOMEM or -EIO
 */
int html_write(const struct verdict *v, FILE *to);

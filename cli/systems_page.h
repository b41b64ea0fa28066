/* SPDX-License-Identifier: BSD-3-Clause */
/* The comparison in the page of the base run: data beside the run's own, which the page's script draws. */
#pragma once

#include <jansson.h>

#include "common/err.h"

/* @param dir  whose report.html gets it; without one, nothing happens. @return 0 or negative errno with err */
int systems_page(const char *dir, const json_t *comparison, struct err *err);

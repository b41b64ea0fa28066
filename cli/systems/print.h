/* SPDX-License-Identifier: BSD-3-Clause */
/* comparison.json for people. */
#pragma once

#include <stdio.h>

#include <jansson.h>

/* @param dir  of the base run, as paths begin. @return 0, -ENOMEM or -EIO */
int systems_print(const json_t *comparison, const char *dir, FILE *to);

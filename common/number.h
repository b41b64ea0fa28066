/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole numbers as people write them: decimal digits alone, where strtoull() takes blanks, signs and overflows too. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reads the number that text begins with. @return what stands behind it, or NULL without value: no digits, or too large */
const char *number_scan(const char *text, uint64_t *value);

/* @return whether all of text is a number from min to max; value is left alone otherwise */
bool number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value);

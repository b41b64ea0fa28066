/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

/*
 * Is this text strict JSON (RFC 8259) of one object or array, no object of which has a key twice, and which escapes no
 * character of more than 16 bits? Builds nothing, where a parser takes as long as what wrote the text.
 * @param where  set to where it is not
 */
bool strict_json(const char *text, const char **where);

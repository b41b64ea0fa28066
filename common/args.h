/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of command-line options, for parsers of argp(3). A value that is refused ends the program and says why. */
#pragma once

#include <argp.h>
#include <stdint.h>

/* @param option  as it was given, "--lcores" @return a whole number from min to max */
uint64_t args_number(const struct argp_state *state, const char *option, const char *text, uint64_t min, uint64_t max);

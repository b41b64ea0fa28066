/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/args.h"

#include <inttypes.h>

#include "common/number.h"

uint64_t
args_number(const struct argp_state *state, const char *option, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value = 0;

	if (!number_parse(text, min, max, &value))
		argp_error(state, "%s %s: give a number from %" PRIu64 " to %" PRIu64, option, text, min, max);
	return value;
}

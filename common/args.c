/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/args.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

uint64_t
args_number(const struct argp_state *state, const char *option, const char *text, uint64_t min, uint64_t max)
{
	uint64_t value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	/* strtoull() takes blanks and signs too */
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value < min || value > max)
		argp_error(state, "%s %s: give a number from %" PRIu64 " to %" PRIu64, option, text, min, max);
	return value;
}

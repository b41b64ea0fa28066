/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/number.h"

#include <errno.h>
#include <stdlib.h>

const char *
number_scan(const char *text, uint64_t *value)
{
	uint64_t read;
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	errno = 0;
	read = strtoull(text, &end, 10);
	if (errno != 0)
		return NULL;
	*value = read;
	return end;
}

bool
number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	uint64_t read;
	const char *end = number_scan(text, &read);

	if (end == NULL || *end != '\0' || read < min || read > max)
		return false;
	*value = read;
	return true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>
#include <string.h>

#include "eval/case.h"

const struct family *const families[] = {
	&family_contention,
	&family_incast,
	&family_storm,
	&family_backpressure,
	&family_deadlock,
	&family_loop,
	&family_imbalance,
	&family_mixed,
	&family_clean,
	&family_slow_host,
	NULL,
};

const struct family *
family_find(const char *name)
{
	for (size_t i = 0; families[i] != NULL; i++)
		if (strcmp(families[i]->name, name) == 0)
			return families[i];
	return NULL;
}

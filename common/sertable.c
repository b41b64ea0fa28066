/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/sertable.h"

#include <errno.h>
#include <stdlib.h>

#include "common/units.h"

const struct sertable *
sertables_get(struct sertables *tables, uint64_t rate_bps)
{
	struct sertable **grown, *table;

	for (uint32_t i = 0; i < tables->count; i++)
		if (tables->tables[i]->rate_bps == rate_bps)
			return tables->tables[i];
	if (rate_bps < SERTABLE_MIN_RATE_BPS) {
		errno = ERANGE;
		return NULL;
	}
	grown = realloc(tables->tables, (tables->count + 1) * sizeof(*grown));
	if (grown == NULL)
		return NULL;
	tables->tables = grown;
	table = malloc(sizeof(*table));
	if (table == NULL)
		return NULL;
	table->rate_bps = rate_bps;
	for (uint32_t bytes = 0; bytes < SERTABLE_FRAMES; bytes++)
		table->ps[bytes] = (uint32_t)units_serialize_ps(bytes, rate_bps, tables->quantum_ps);
	tables->tables[tables->count++] = table;
	return table;
}

void
sertables_fini(struct sertables *tables)
{
	for (uint32_t i = 0; i < tables->count; i++)
		free(tables->tables[i]);
	free(tables->tables);
	tables->tables = NULL;
	tables->count = 0;
}

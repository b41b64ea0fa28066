/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/telemetry_bytes.h"

#include <string.h>

#include "common/record/kinds.h"

int64_t
telemetry_bytes(const json_t *verdict, uint64_t kinds)
{
	int64_t bytes = 0;
	const json_t *of;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(verdict, "overhead"), "kinds"), i, of)
	{
		const char *name = json_string_value(json_object_get(of, "kind"));

		for (uint32_t kind = 0; name != NULL && kind < RECORD_KINDS; kind++)
			if ((kinds >> kind & 1) != 0 && record_kinds[kind].title != NULL &&
			    strcmp(record_kinds[kind].title, name) == 0)
				bytes += json_integer_value(json_object_get(of, "bytes"));
	}
	return bytes;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/value.h"

#include <math.h>

#include "common/plain.h"
#include "common/units.h"

json_t *
value_add(json_t *array, json_t *item)
{
	if (json_array_append_new(array, item) == 0)
		return array;
	json_decref(array);
	return NULL;
}

json_t *
value_ns(uint64_t time_ps)
{
	return json_integer((json_int_t)(time_ps / PS_PER_NS));
}

json_t *
value_real(double value)
{
	return json_real(isfinite(value) ? value : 0);
}

json_t *
value_text(const char *raw)
{
	char safe[1024];

	return json_string(plain_text(raw, safe, sizeof(safe)));
}

json_t *
value_flow(const struct verdict *v, uint32_t flow)
{
	return flow < v->run.nflows ? value_text(v->run.flows[flow].name) : json_null();
}

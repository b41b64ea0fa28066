/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/value.h"

#include <math.h>

#include "common/printable.h"
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
value_cost(double ps)
{
	return json_integer((json_int_t)((ps + PS_PER_NS / 2.0) / PS_PER_NS));
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

	return json_string(printable_text(raw, safe, sizeof(safe)));
}

json_t *
value_flow(const struct verdict *v, uint32_t flow)
{
	return flow < v->run.nflows ? value_text(v->run.flows[flow].name) : json_null();
}

json_t *
value_collective(const struct verdict *v, uint32_t collective)
{
	const struct run_collective *c = &v->run.collectives[collective];

	return json_pack("{s:I, s:I, s:I}", "job", (json_int_t)run_job_of(&v->run, collective)->id, "collective",
			 (json_int_t)c->id, "iteration", (json_int_t)c->iteration);
}

json_t *
value_step(const struct verdict *v, const struct run_step *step, json_t *more)
{
	json_t *value = value_collective(v, step->collective);
	json_t *name = json_pack("{s:I, s:I}", "rank", (json_int_t)step->rank, "step", (json_int_t)step->step);

	if (value == NULL || name == NULL || more == NULL || json_object_update(value, name) != 0 ||
	    json_object_update(value, more) != 0) {
		json_decref(value);
		value = NULL;
	}
	json_decref(name);
	json_decref(more);
	return value;
}

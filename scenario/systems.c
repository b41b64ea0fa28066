/* SPDX-License-Identifier: BSD-3-Clause */
#include "scenario/systems.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/wire/record.h"
#include "scenario/scenario_load.h"
#include "scenario/systems_prepare.h"

#define KIND(name) (UINT64_C(1) << REC_##name)
/* What polling packets have switches and NICs tell, and what hosts tell of them. */
#define POLLED                                                                                                             \
	(KIND(TRIGGER) | KIND(NOTIFY) | KIND(POLL) | KIND(PORT_ROW) | KIND(FLOW_ROW) | KIND(METER_ROW) |                   \
	 KIND(MATRIX_ROW) | KIND(DROP_ROW) | KIND(OVERTAKE_ROW) | KIND(PASSAGE))

#define POLICY(policy, title_, passive_)                                                                                   \
	{                                                                                                                  \
		.name = policy, .title = title_, .diagnoser = "vedrfolnir", .passive = passive_, .judges = true,           \
		.kinds = POLLED, .on = "detection.policy=" policy, .off = "detection.policy=off",                          \
		.prepare = system_prepare_policy                                                                           \
	}

const struct system_row systems[] = {
	POLICY("vedrfolnir", "VEDRFOLNIR", true),
	{ .name = "flowpulse",
	  .title = "FlowPulse",
	  .diagnoser = "flowpulse",
	  .passive = true,
	  .kinds = KIND(VOLUME) | KIND(VOLUME_ALARM) | KIND(VOLUME_FLAW) | KIND(MONITORED),
	  .on = "flowpulse.enabled=true",
	  .off = "flowpulse.enabled=false",
	  .prepare = system_prepare_flowpulse },
	{ .name = "flowtracer",
	  .title = "FlowTracer",
	  .diagnoser = "flowtracer",
	  .passive = true,
	  .kinds = KIND(TRACED) | KIND(TRACED_HOP) | KIND(TRACE_ROUND),
	  .on = "flowtracer.enabled=true",
	  .off = "flowtracer.enabled=false" },
	{ .name = "pingmesh",
	  .title = "R-Pingmesh",
	  .diagnoser = "pingmesh",
	  .kinds = KIND(PROBE) | KIND(PROBE_HOP) | KIND(RNIC) | KIND(UPLOAD) | KIND(CONNECTION) | KIND(HEARD),
	  .on = "pingmesh.enabled=true",
	  .off = "pingmesh.enabled=false",
	  .prepare = system_prepare_pingmesh },
	POLICY("hawkeye-minr", "Hawkeye-MinR", false),
	POLICY("hawkeye-maxr", "Hawkeye-MaxR", false),
	POLICY("full-polling", "full polling", false),
};
const size_t nsystems = ARRAY_LEN(systems);
_Static_assert(ARRAY_LEN(systems) <= SYSTEMS_MAX, "a scenario may list all");

bool
system_is_program(const char *name)
{
	return strchr(name, '/') != NULL;
}

const struct system_row *
system_find(const char *name)
{
	for (size_t i = 0; i < nsystems; i++)
		if (strcmp(systems[i].name, name) == 0)
			return &systems[i];
	return NULL;
}

char *
systems_names(char *buf, size_t cap)
{
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < nsystems && used < cap; i++)
		used += (size_t)snprintf(buf + used, cap - used, "%s%s", i != 0 ? ", " : "", systems[i].name);
	return buf;
}

int
systems_check_names(const struct cfg_strings *list, struct err *err)
{
	char names[256];

	for (size_t i = 0; i < list->count; i++) {
		if (system_find(list->items[i]) == NULL && !system_is_program(list->items[i]))
			return err_set(err, -EINVAL, "\"%.64s\" is none of %s, nor a program's path, with a slash",
				       list->items[i], systems_names(names, sizeof(names)));
		for (size_t before = 0; before < i; before++)
			if (strcmp(list->items[before], list->items[i]) == 0 && !system_is_program(list->items[i]))
				return err_set(err, -EINVAL, "\"%s\" is there twice: once is enough", list->items[i]);
	}
	return 0;
}

int
scenario_check_systems(const struct scenario *scenario, struct err *err)
{
	struct err why = { "" };

	if (systems_check_names(&scenario->root.diagnosers, &why) == 0)
		return 0;
	return cfg_fail(&scenario->root.where, "diagnosers", err, "%s", why.text);
}

int
systems_sets(const struct scenario *scenario, const struct system_row *const *of, size_t count, uint32_t at_work,
	     struct system_sets *sets, struct err *err)
{
	int ret = 0;

	sets->count = 0;
	for (size_t i = 0; ret == 0 && i < nsystems; i++)
		if (i == 0 || strcmp(systems[i].off, systems[i - 1].off) != 0)
			ret = system_set(sets, err, "%s", systems[i].off);
	for (size_t i = 0; ret == 0 && i < count; i++) {
		if ((at_work >> i & 1) != 0)
			ret = system_set(sets, err, "%s", of[i]->on);
		if (ret == 0 && of[i]->prepare != NULL)
			ret = of[i]->prepare(scenario, sets, err);
	}
	return ret;
}

struct scenario *
systems_load(const struct scenario_options *options, const struct scenario *scenario, const struct system_row *const *of,
	     size_t count, uint32_t at_work, struct system_sets *sets, struct err *err)
{
	struct scenario_options with = *options;
	int ret = systems_sets(scenario, of, count, at_work, sets, err);

	for (size_t i = 0; ret == 0 && i < sets->count; i++) {
		if (with.nsets == SCENARIO_MAX_SETS)
			ret = err_set(err, -EINVAL, "more than %d --set and keys of systems", SCENARIO_MAX_SETS);
		else
			with.sets[with.nsets++] = sets->text[i];
	}
	if (ret == 0)
		return scenario_load(&with, err);
	errno = -ret;
	return NULL;
}

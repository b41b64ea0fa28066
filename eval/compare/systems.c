/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/compare/systems.h"

#include <assert.h>
#include <string.h>

#include "common/array.h"

static const char *const by_queues[] = { "flow-contention", "strict-priority",
					 "incast",          "pfc-backpressure",
					 "pfc-storm",       "pfc-deadlock",
					 "forwarding-loop", "load-imbalance",
					 "path-delay",      "packet-loss",
					 "link-down",       "blackhole",
					 "slow-host",       NULL };
static const char *const by_volumes[] = { "silent-fault", NULL };
static const char *const by_ways[] = { "path-imbalance", NULL };
static const char *const by_probes[] = { "rnic-problem", "switch-problem", "host-down", "cpu-overload", "high-rtt", NULL };

#define POLICY(name_, run_)                                                                                                \
	{                                                                                                                  \
		.name = name_, .run = run_, .types = by_queues, .prices = true                                             \
	}

const struct compare_system compare_systems[] = {
	POLICY("vedrfolnir", "shared"),
	{ .name = "flowpulse", .run = "shared", .types = by_volumes, .sprayed_only = true },
	{
		.name = "pingmesh",
		.run = "pingmesh",
		.types = by_probes,
	},
	{ .name = "flowtracer", .run = "shared", .types = by_ways, .ecmp_only = true },
	POLICY("hawkeye-minr", "hawkeye-minr"),
	POLICY("hawkeye-maxr", "hawkeye-maxr"),
	POLICY("full-polling", "full-polling"),
};
const uint32_t compare_nsystems = ARRAY_LEN(compare_systems);
_Static_assert(ARRAY_LEN(compare_systems) <= COMPARE_MAX_SYSTEMS, "a row has marks for all");

const struct compare_run compare_runs[] = {
	{ .name = "shared",
	  .policy = "vedrfolnir",
	  .keys = { "flowtracer.enabled=true" },
	  .diagnosed = true,
	  .volumes = true },
	{ .name = "without",
	  .policy = "vedrfolnir",
	  .keys = { "flowtracer.enabled=true" },
	  .volumes = true,
	  .without_fault = true },
	{ .name = "quiet",
	  .policy = "vedrfolnir",
	  .keys = { "flowtracer.enabled=true" },
	  .volumes = true,
	  .without_background = true },
	{ .name = "pingmesh", .policy = "off", .keys = { "pingmesh.enabled=true" }, .diagnosed = true, .probes = true },
	{ .name = "hawkeye-minr", .policy = "hawkeye-minr", .diagnosed = true },
	{ .name = "hawkeye-maxr", .policy = "hawkeye-maxr", .diagnosed = true },
	{ .name = "full-polling", .policy = "full-polling", .diagnosed = true },
};
const uint32_t compare_nruns = ARRAY_LEN(compare_runs);
_Static_assert(ARRAY_LEN(compare_runs) <= COMPARE_MAX_RUNS, "a case has room for all");

const struct system_row *
compare_row_of(const struct compare_system *system)
{
	const struct system_row *row = system_find(system->name);

	assert(row != NULL);
	return row;
}

bool
compare_is_its(const struct compare_system *system, const char *type)
{
	for (size_t i = 0; system->types[i] != NULL; i++)
		if (strcmp(system->types[i], type) == 0)
			return true;
	return false;
}

bool
compare_sees(const struct compare_system *system, const struct compare_cell *cell)
{
	if ((system->ecmp_only && cell->fabric->is_sprayed) || (system->sprayed_only && !cell->fabric->is_sprayed))
		return false;
	for (const struct compare_rule *rule = cell->fault->rules; rule->type != NULL; rule++)
		if (compare_is_its(system, rule->type))
			return true;
	return false;
}

size_t
compare_diagnosers(const struct compare_run *run, const char **names)
{
	size_t count = 0;

	for (uint32_t s = 0; run->diagnosed && s < compare_nsystems; s++)
		if (strcmp(compare_systems[s].run, run->name) == 0)
			names[count++] = compare_row_of(&compare_systems[s])->diagnoser;
	return count;
}

bool
compare_is_background(const struct suspect *suspect)
{
	return strcmp(suspect->name, "generator@" COMPARE_BACKGROUND) == 0;
}

bool
compare_has_run(const struct compare_cell *cell, const struct compare_run *run)
{
	return (!run->without_fault || !cell->fault->is_clean) && (!run->without_background || cell->has_background);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/compare/systems.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "plugin/account.h"

static const char *const by_queues[] = { "flow-contention", "strict-priority",
					 "incast",          "pfc-backpressure",
					 "pfc-storm",       "pfc-deadlock",
					 "forwarding-loop", "load-imbalance",
					 "path-delay",      "packet-loss",
					 "link-down",       "blackhole",
					 "slow-host",       NULL };
static const char *const by_volumes[] = { "silent-fault", NULL };
static const char *const by_paths[] = { "path-imbalance", NULL };
static const char *const by_probes[] = { "rnic-problem", "switch-problem", "host-down", "cpu-overload", "high-rtt", NULL };

#define POLICY(name_, run_)                                                                                                \
	{                                                                                                                  \
		.name = name_, .run = run_, .types = by_queues, .prices = true                                             \
	}

struct compare_system compare_systems[COMPARE_MAX_SYSTEMS] = {
	POLICY("vedrfolnir", "shared"),
	{ .name = "flowpulse", .run = "shared", .types = by_volumes, .sprayed_only = true },
	{
		.name = "pingmesh",
		.run = "pingmesh",
		.types = by_probes,
	},
	{ .name = "flowtracer", .run = "shared", .types = by_paths, .ecmp_only = true },
	POLICY("hawkeye-minr", "hawkeye-minr"),
	POLICY("hawkeye-maxr", "hawkeye-maxr"),
	POLICY("full-polling", "full-polling"),
};
#define OURS 7
uint32_t compare_nsystems = OURS;
_Static_assert(OURS + PLUGIN_PROGRAMS == COMPARE_MAX_SYSTEMS, "a row has marks for all");

static struct program {
	struct system_row row;
	char name[PLUGIN_TYPE];
} programs[PLUGIN_PROGRAMS];

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

int
compare_add_program(const char *path, struct err *err)
{
	uint32_t number = compare_nsystems - OURS;
	struct plugin_account account;

	if (number == PLUGIN_PROGRAMS)
		return err_set(err, -EINVAL, "more than %u programs", PLUGIN_PROGRAMS);
	plugin_account_init(&account, path, NULL, 0);
	for (uint32_t i = 0; i < number; i++)
		if (strcmp(programs[i].name, account.name) == 0)
			return err_set(err, -EINVAL, "%s and %s are both called %s", compare_program(i)->program, path,
				       account.name);
	snprintf(programs[number].name, sizeof(programs[number].name), "%s", account.name);
	/* It reads all that crosses the socket. */
	programs[number].row = (struct system_row){ .name = programs[number].name,
						    .title = programs[number].name,
						    .diagnoser = programs[number].name,
						    .kinds = UINT64_MAX };
	compare_systems[compare_nsystems++] =
		(struct compare_system){ .name = programs[number].name, .program = path, .run = "shared" };
	return 0;
}

const struct compare_system *
compare_program(uint32_t number)
{
	return OURS + number < compare_nsystems ? &compare_systems[OURS + number] : NULL;
}

const struct system_row *
compare_row_of(const struct compare_system *system)
{
	const struct system_row *row =
		system->program != NULL ? &programs[system - compare_systems - OURS].row : system_find(system->name);

	assert(row != NULL);
	return row;
}

bool
compare_is_its(const struct compare_system *system, const char *type)
{
	for (size_t i = 0; system->types != NULL && system->types[i] != NULL; i++)
		if (strcmp(system->types[i], type) == 0)
			return true;
	return system->types == NULL;
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
compare_diagnosers(const struct compare_run *run, const char **names, const char **paths)
{
	size_t count = 0;

	for (uint32_t s = 0; run->diagnosed && s < compare_nsystems; s++)
		if (strcmp(compare_systems[s].run, run->name) == 0) {
			names[count] = compare_row_of(&compare_systems[s])->diagnoser;
			paths[count++] = compare_systems[s].program;
		}
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

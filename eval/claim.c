/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/claim.h"

#include <string.h>

#include "common/array.h"
#include "eval/truth.h"

/* Adds to the suspects that fit, evenly. @return whether any does */
static bool
share(struct claims *claims, const struct suspects *suspects, const bool *fits, bool costly, double ns)
{
	size_t count = 0;

	for (size_t s = 0; s < suspects->count; s++)
		count += fits[s];
	for (size_t s = 0; s < suspects->count; s++) {
		if (!fits[s])
			continue;
		claims->ns[s] += ns / (double)count;
		claims->named[s] |= costly && ns > 0;
	}
	return count != 0;
}

static bool
is_costly(const json_t *finding)
{
	return !json_is_true(json_object_get(finding, "without_effect"));
}

/* A finding that names flows: each has its part. @param iteration  of the job */
static void
claim_flows(struct claims *claims, const struct suspects *suspects, const json_t *finding, const json_t *iteration)
{
	const json_t *parts = json_object_get(iteration, "flows_explained_ns"), *flow;
	bool costly = is_costly(finding);
	size_t i;

	json_array_foreach(json_object_get(finding, "flows"), i, flow)
	{
		double part_ns = json_number_value(json_array_get(parts, i));
		bool fits[SUSPECT_MAX];

		for (size_t s = 0; s < suspects->count; s++)
			fits[s] = truth_lists(suspects->at[s].flows, json_string_value(flow));
		if (!share(claims, suspects, fits, costly, part_ns))
			claims->others_ns += part_ns;
	}
}

/* Which fault a type of finding speaks of, where it sits with others at one place. */
static const struct {
	const char *type, *fault;
} speaks_of[] = {
	{ "pfc-storm", "pfc-storm@" },
	{ "path-delay", "delay@" },
	{ "packet-loss", "loss@" },
	{ "packet-loss", "corruption@" },
	{ "blackhole", "blackhole@" },
	{ "blackhole", "loss@" },
	{ "link-down", "link-down@" },
	{ "slow-host", "slow-host@" },
	{ "slow-host", "straggler@" },
	{ "pfc-storm", "pcie-downgrade@" },
	{ "pfc-storm", "dma-detour@" },
	{ "packet-loss", "pfc-headroom@" },
	{ "blackhole", "missing-route@" },
	{ "blackhole", "acl@" },
	{ "blackhole", "rnic-down@" },
	{ "blackhole", "rnic-no-gid@" },
	{ "blackhole", "rnic-no-routes@" },
	{ "blackhole", "host-down@" },
	{ "load-imbalance", "ecmp-imbalance@" },
	{ "slow-host", "cpu-overload@" },
	{ "slow-host", "host-down@" },
};

static bool
is_meant(const char *type, const struct suspect *suspect)
{
	for (size_t i = 0; i < ARRAY_LEN(speaks_of); i++)
		if (strcmp(speaks_of[i].type, type) == 0 &&
		    strncmp(suspect->name, speaks_of[i].fault, strlen(speaks_of[i].fault)) == 0)
			return true;
	return false;
}

/* Of several that fit a place, those that the finding speaks of, if there are any. */
static void
keep_meant(const struct suspects *suspects, const char *type, bool *fits)
{
	bool any = false;

	for (size_t s = 0; s < suspects->count; s++)
		any |= fits[s] && is_meant(type, &suspects->at[s]);
	for (size_t s = 0; s < suspects->count; s++)
		fits[s] &= !any || is_meant(type, &suspects->at[s]);
}

static void
claim_place(struct claims *claims, const struct suspects *suspects, const json_t *finding, const json_t *iteration)
{
	double explained_ns = json_number_value(json_object_get(iteration, "explained_ns"));
	const char *root = truth_text(finding, "root"), *type = truth_text(finding, "type");
	bool delayed = strcmp(type, "path-delay") == 0;
	bool fits[SUSPECT_MAX];

	for (size_t s = 0; s < suspects->count; s++)
		fits[s] = truth_lists(suspects->at[s].ports, root) || truth_lists(suspects->at[s].nodes, root) ||
			  truth_lists(delayed ? suspects->at[s].late : suspects->at[s].losing, root);
	keep_meant(suspects, type, fits);
	if (!share(claims, suspects, fits, is_costly(finding), explained_ns))
		claims->others_ns += explained_ns;
}

static void
claim(struct claims *claims, const struct suspects *suspects, const json_t *finding, uint32_t job)
{
	const json_t *iteration;
	size_t i;

	json_array_foreach(json_object_get(finding, "iterations"), i, iteration)
	{
		if (json_integer_value(json_object_get(iteration, "job")) != (json_int_t)job)
			continue;
		if (json_array_size(json_object_get(finding, "flows")) != 0)
			claim_flows(claims, suspects, finding, iteration);
		else
			claim_place(claims, suspects, finding, iteration);
	}
}

void
claims_read(const json_t *verdict, const struct suspects *suspects, uint32_t job, struct claims *claims)
{
	const json_t *finding;
	size_t i;

	*claims = (struct claims){ 0 };
	json_array_foreach(json_object_get(verdict, "findings"), i, finding) claim(claims, suspects, finding, job);
}

double
claims_share(const struct claims *claims, const struct suspects *suspects, size_t index)
{
	double sum = 0;

	for (size_t s = 0; s < suspects->count; s++)
		sum += claims->ns[s];
	return sum > 0 ? claims->ns[index] / sum : 0;
}

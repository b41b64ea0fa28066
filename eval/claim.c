/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/claim.h"

#include <string.h>

#include "eval/truth.h"

/* What the verdict says a flow did, all findings together: the weight of its part in one of them. */
static double
weight_of(const json_t *verdict, const char *flow)
{
	const json_t *contributor;
	size_t i;

	json_array_foreach(json_object_get(verdict, "contributors"), i, contributor)
	{
		if (strcmp(truth_text(contributor, "flow"), flow) == 0)
			return json_number_value(json_object_get(contributor, "score"));
	}
	return 0;
}

/* Adds to the suspects that fit, evenly. @return whether any does */
static bool
share(struct claims *claims, const struct suspects *suspects, const bool *fits, double amount)
{
	size_t count = 0;

	for (size_t s = 0; s < suspects->count; s++)
		count += fits[s];
	for (size_t s = 0; s < suspects->count; s++) {
		if (!fits[s])
			continue;
		claims->amount[s] += amount / (double)count;
		claims->named[s] |= amount > 0;
	}
	return count != 0;
}

/* A finding that names flows: each has its part. */
static void
claim_flows(struct claims *claims, const json_t *verdict, const struct suspects *suspects, const json_t *flows,
	    double amount)
{
	double sum = 0;
	const json_t *flow;
	size_t i;

	json_array_foreach(flows, i, flow) sum += weight_of(verdict, json_string_value(flow));
	json_array_foreach(flows, i, flow)
	{
		const char *name = json_string_value(flow);
		double part = sum > 0 ? weight_of(verdict, name) / sum : 1 / (double)json_array_size(flows);
		bool fits[SUSPECT_MAX];

		for (size_t s = 0; s < suspects->count; s++)
			fits[s] = truth_lists(suspects->at[s].flows, name);
		if (!share(claims, suspects, fits, part * amount))
			claims->others += part * amount;
	}
}

void
claims_read(const json_t *verdict, const struct suspects *suspects, uint32_t job, struct claims *claims)
{
	const json_t *finding;
	size_t i;

	*claims = (struct claims){ 0 };
	json_array_foreach(json_object_get(verdict, "findings"), i, finding)
	{
		const json_t *explained = json_object_get(finding, "explained_ns"),
			     *flows = json_object_get(finding, "flows");
		double amount = json_number_value(explained != NULL ? explained : json_object_get(finding, "score"));
		const char *root = truth_text(finding, "root");
		bool fits[SUSPECT_MAX];

		if (json_integer_value(json_object_get(finding, "job")) != (json_int_t)job)
			continue;
		claims->in_ns |= explained != NULL;
		if (json_array_size(flows) != 0) {
			claim_flows(claims, verdict, suspects, flows, amount);
			continue;
		}
		for (size_t s = 0; s < suspects->count; s++)
			fits[s] = truth_lists(suspects->at[s].ports, root) || truth_lists(suspects->at[s].nodes, root);
		if (!share(claims, suspects, fits, amount))
			claims->others += amount;
	}
}

double
claims_share(const struct claims *claims, const struct suspects *suspects, size_t index)
{
	double sum = 0;

	for (size_t s = 0; s < suspects->count; s++)
		sum += claims->amount[s];
	return sum > 0 ? claims->amount[index] / sum : 0;
}

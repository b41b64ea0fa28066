/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/recorder/budget.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

struct departure {
	uint64_t time_ps, bytes;
};

void
departures_fini(struct departures *departures)
{
	free(departures->at);
	departures->at = NULL;
}

static void
departures_forget(struct departures *departures, uint64_t now_ps)
{
	while (departures->first < departures->end &&
	       departures->at[departures->first].time_ps + BUDGET_WINDOW_PS <= now_ps)
		departures->bytes -= departures->at[departures->first++].bytes;
}

void
departures_note(struct departures *departures, uint64_t now_ps, uint64_t bytes)
{
	departures_forget(departures, now_ps);
	departures->bytes += bytes;
	if (departures->first < departures->end && departures->at[departures->end - 1].time_ps == now_ps) {
		departures->at[departures->end - 1].bytes += bytes;
		return;
	}
	if (departures->first > 0 && departures->first >= departures->end - departures->first) {
		memmove(departures->at, departures->at + departures->first,
			(departures->end - departures->first) * sizeof(*departures->at));
		departures->end -= departures->first;
		departures->first = 0;
	}
	departures->at =
		grow(departures->at, &departures->cap, departures->end + 1, sizeof(*departures->at), "times of frames");
	departures->at[departures->end++] = (struct departure){ now_ps, bytes };
}

uint64_t
departures_ready_ps(const struct departures *departures, uint64_t bytes)
{
	uint64_t held_bytes = departures->bytes, ready_ps = 0;

	for (size_t i = departures->first; i < departures->end && held_bytes + bytes > departures->most_bytes; i++) {
		held_bytes -= departures->at[i].bytes;
		ready_ps = departures->at[i].time_ps + BUDGET_WINDOW_PS;
	}
	return ready_ps;
}

void
meters_fini(struct meters *meters)
{
	free(meters->switches);
	free(meters->pods);
	free(meters->pod_of);
	free(meters->is_switch);
}

static int
fill_buckets(struct bucket **buckets, uint32_t count, uint64_t budget)
{
	if (budget == 0)
		return 0;
	*buckets = calloc(count, sizeof(**buckets));
	for (uint32_t i = 0; *buckets != NULL && i < count; i++)
		bucket_init(&(*buckets)[i], budget, budget_burst_bytes(budget));
	return *buckets != NULL ? 0 : -ENOMEM;
}

int
meters_init(struct meters *meters, uint64_t switch_budget, uint64_t pod_budget, const bool *is_switch, const uint32_t *pods,
	    uint32_t nnodes)
{
	meters->nnodes = nnodes;
	meters->is_switch = malloc(nnodes * sizeof(*is_switch));
	meters->pod_of = malloc(nnodes * sizeof(*pods));
	if (meters->is_switch == NULL || meters->pod_of == NULL ||
	    fill_buckets(&meters->switches, nnodes, switch_budget) < 0 ||
	    fill_buckets(&meters->pods, nnodes, pod_budget) < 0)
		return -ENOMEM;
	memcpy(meters->is_switch, is_switch, nnodes * sizeof(*is_switch));
	memcpy(meters->pod_of, pods, nnodes * sizeof(*pods));
	return 0;
}

bool
meters_limit(const struct meters *meters, uint32_t node)
{
	return node < meters->nnodes && meters->is_switch[node] &&
	       (meters->switches != NULL || (meters->pods != NULL && meters->pod_of[node] != BUDGET_NO_POD));
}

uint64_t
meters_left(struct meters *meters, uint32_t node, uint64_t now_ps)
{
	uint64_t left_bytes = UINT64_MAX, pod_bytes;

	if (meters->switches != NULL) {
		bucket_fill(&meters->switches[node], now_ps);
		left_bytes = bucket_bytes(&meters->switches[node]);
	}
	if (meters->pods == NULL || meters->pod_of[node] == BUDGET_NO_POD)
		return left_bytes;
	bucket_fill(&meters->pods[meters->pod_of[node]], now_ps);
	pod_bytes = bucket_bytes(&meters->pods[meters->pod_of[node]]);
	return pod_bytes < left_bytes ? pod_bytes : left_bytes;
}

void
meters_take(struct meters *meters, uint32_t node, uint64_t bytes)
{
	if (meters->switches != NULL)
		bucket_take(&meters->switches[node], bytes);
	if (meters->pods != NULL && meters->pod_of[node] != BUDGET_NO_POD)
		bucket_take(&meters->pods[meters->pod_of[node]], bytes);
}

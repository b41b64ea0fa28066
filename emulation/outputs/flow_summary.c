/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/outputs/flow_summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "common/units.h"
#include "rxe-hosts/steps/engine.h"

uint64_t
flow_row_fct_ps(const struct emulation *emulation, const struct flow_row *row)
{
	uint64_t end_ps = row->end_ps != 0 ? row->end_ps : emulation->fabric->window.end_ps;

	return end_ps > row->start_ps ? end_ps - row->start_ps : 0;
}

static size_t
count_flows(const struct emulation *emulation)
{
	size_t count = 0;

	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++)
		count += emulation->engines[i] != NULL ? step_engine_flows(emulation->engines[i]) : 0;
	return count;
}

/* @return how many complete flows are in complete now */
static size_t
add_host(const struct emulation *emulation, const struct step_engine *engine, struct flow_summary *summary,
	 struct slowdown_flow *complete, size_t count)
{
	for (size_t i = 0; i < step_engine_flows(engine); i++) {
		struct flow_row row = step_engine_flow(engine, i);
		uint64_t end_ps = emulation->fabric->window.end_ps;

		if (row.start_ps >= end_ps)
			continue;
		summary->flows++;
		summary->retransmits += row.retransmits;
		summary->waiting += !row.begun;
		summary->wait_ps += (row.begun ? row.begin_ps : end_ps) - row.start_ps;
		summary->open += row.end_ps == 0;
		if (row.end_ps == 0)
			continue;
		summary->bytes += row.bytes;
		complete[count++] = (struct slowdown_flow){ row.bytes, flow_row_fct_ps(emulation, &row), row.ideal_ps };
	}
	return count;
}

int
flow_summary(const struct emulation *emulation, struct flow_summary *summary)
{
	size_t count = 0, cap = count_flows(emulation) + 1;
	struct slowdown_flow *complete = calloc(cap, sizeof(*complete));
	double *scratch = calloc(cap, sizeof(*scratch));
	int ret = complete != NULL && scratch != NULL ? 0 : -ENOMEM;

	*summary = (struct flow_summary){ 0 };
	for (uint32_t i = 0; ret == 0 && i < emulation->scenario->topo->nnodes; i++)
		if (emulation->engines[i] != NULL)
			count = add_host(emulation, emulation->engines[i], summary, complete, count);
	if (ret == 0)
		slowdown_summary(complete, count, scratch, summary->buckets);
	free(complete);
	free(scratch);
	return ret;
}

void
flow_summary_print(const struct flow_summary *summary, FILE *to)
{
	if (summary->flows == 0)
		return;
	fprintf(to, "# %zu flows, %zu of them open; slowdown: time to completion by that on an idle fabric\n",
		summary->flows, summary->open);
	fprintf(to, "# %-14s %10s %10s %10s %10s\n", "size", "flows", "p50", "p99", "max");
	for (int b = 0; b < SLOWDOWN_BUCKETS; b++) {
		const struct slowdown_bucket *bucket = &summary->buckets[b];

		if (bucket->flows != 0)
			fprintf(to, "  %-14s %10zu %10.2f %10.2f %10.2f\n", bucket->name, bucket->flows, bucket->p50,
				bucket->p99, bucket->max);
	}
	fputc('\n', to);
}

json_t *
flow_summary_json(const struct flow_summary *summary)
{
	json_t *buckets = json_array();

	for (int b = 0; b < SLOWDOWN_BUCKETS; b++) {
		const struct slowdown_bucket *bucket = &summary->buckets[b];

		json_array_append_new(buckets, json_pack("{s:s, s:I, s:f, s:f, s:f}", "size", bucket->name, "flows",
							 (json_int_t)bucket->flows, "p50", bucket->p50, "p99", bucket->p99,
							 "max", bucket->max));
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "flows", (json_int_t)summary->flows, "open",
			 (json_int_t)summary->open, "never_began", (json_int_t)summary->waiting, "bytes",
			 (json_int_t)summary->bytes, "retransmits", (json_int_t)summary->retransmits, "waited_ns",
			 (json_int_t)(summary->wait_ps / PS_PER_NS), "slowdown", buckets);
}

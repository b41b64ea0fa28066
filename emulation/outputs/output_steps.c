/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "common/outfile.h"
#include "common/run_files.h"
#include "common/units.h"
#include "emulation/outputs/outputs.h"
#include "rxe-hosts/steps/engine.h"

#define NS ((uint64_t)PS_PER_NS)

static const char *
node_name(const struct emulation *emulation, uint32_t node)
{
	return node != REC_NONE ? emulation->scenario->topo->nodes[node].name : "-";
}

/* Whose a row is; of a background flow, nobody's. */
static void
write_name(const struct step_row *row, FILE *file)
{
	if (row->collective == REC_NONE)
		fputs("-,-,-,-,0,-,", file);
	else
		fprintf(file, "%u,%u,%u,%u,%u,%u,", row->job, row->collective, row->iteration, row->rank, row->step,
			row->channel);
}

static void
write_row(const struct emulation *emulation, const struct step_row *row, FILE *file)
{
	static const struct flow none; /* a local step's */
	const struct flow *flow = row->flow != PLAN_NONE ? &emulation->scenario->plan->flows.flows[row->flow] : &none;
	uint64_t end_ps = row->end_ps != 0 ? row->end_ps : emulation->fabric->window.end_ps;

	write_name(row, file);
	fprintf(file, "%s,%s,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
		node_name(emulation, row->src), node_name(emulation, row->dst), flow->sport, flow->dport, row->bytes,
		row->start_ps / NS, (end_ps - row->start_ps) / NS, row->ideal_ps / NS, row->expect_ps / NS);
	if (row->waited_for.step == 0)
		fputs(",-,-,-\n", file);
	else
		fprintf(file, ",%u,%u,%u\n", row->waited_for.collective, row->waited_for.rank, row->waited_for.step);
}

/* Of a background flow that is not enabled? */
static bool
is_off(const struct plan *plan, const struct step_row *row)
{
	return row->collective == REC_NONE && plan->backgrounds[plan->of[row->flow].owner].start_ps == TIME_NEVER;
}

int
output_steps(const struct emulation *emulation, const char *dir, struct err *err)
{
	struct outfile out;
	int ret = outfile_open(&out, dir, RUN_STEPS, err);

	if (ret < 0)
		return ret;
	fputs("job,collective,iteration,rank,step,channel,src,dst,sport,dport,bytes,start_ns,duration_ns,ideal_ns,expect_"
	      "ns,"
	      "waited_collective,waited_rank,waited_step\n",
	      out.file);
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		size_t rows = emulation->engines[i] != NULL ? step_engine_rows(emulation->engines[i]) : 0;

		for (size_t r = 0; r < rows; r++) {
			struct step_row row = step_engine_row(emulation->engines[i], r);

			if (is_off(emulation->scenario->plan, &row))
				continue;
			write_row(emulation, &row, out.file);
		}
	}
	return outfile_close(&out, 0, err);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "common/outfile.h"
#include "common/run_files.h"
#include "common/units.h"
#include "emulation/outputs/flow_summary.h"
#include "emulation/outputs/outputs.h"
#include "rxe-hosts/steps/engine.h"
#include "workload/traffic/generator.h"

#define NS ((uint64_t)PS_PER_NS)

static void
write_row(const struct emulation *emulation, const struct flow_row *row, FILE *file)
{
	const struct scenario *sc = emulation->scenario;
	const struct flow *flow = &sc->plan->flows.flows[row->flow];
	const char *generator = row->generator != REC_NONE ? sc->traffic->generators[row->generator]->name : "-";
	uint64_t fct_ps = flow_row_fct_ps(emulation, row);

	fprintf(file, "%s,%s,%s,%u,%u,%" PRIu64 ",%" PRIu64 ",", generator, sc->topo->nodes[flow->src_node].name,
		sc->topo->nodes[flow->dst_node].name, flow->sport, flow->dport, row->bytes, row->start_ps / NS);
	if (row->begun)
		fprintf(file, "%" PRIu64, row->begin_ps / NS);
	fputc(',', file);
	if (row->end_ps != 0)
		fprintf(file, "%" PRIu64, row->end_ps / NS);
	fprintf(file, ",%" PRIu64 ",%" PRIu64 ",%.3f,%u,%d\n", fct_ps / NS, row->ideal_ps / NS,
		row->ideal_ps != 0 ? (double)fct_ps / (double)row->ideal_ps : 0, row->retransmits, row->end_ps == 0);
}

int
output_flows(const struct emulation *emulation, const char *dir, struct err *err)
{
	const struct plan *plan = emulation->scenario->plan;
	struct outfile out;
	int ret = 0;

	if (plan->nbackgrounds + plan->nmessages == 0)
		return 0;
	ret = outfile_open(&out, dir, RUN_FLOWS, err);
	if (ret < 0)
		return ret;
	fputs("generator,src,dst,sport,dport,bytes,start_ns,begin_ns,end_ns,fct_ns,ideal_ns,slowdown,retransmits,open\n",
	      out.file);
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		size_t rows = emulation->engines[i] != NULL ? step_engine_flows(emulation->engines[i]) : 0;

		for (size_t r = 0; r < rows; r++) {
			struct flow_row row = step_engine_flow(emulation->engines[i], r);

			if (row.start_ps < emulation->fabric->window.end_ps)
				write_row(emulation, &row, out.file);
		}
	}
	return outfile_close(&out, 0, err);
}

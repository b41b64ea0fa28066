/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of rows that a run leaves, and the tables on the terminal. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectives/bandwidth.h"
#include "common/outfile.h"
#include "common/run_files.h"
#include "common/units.h"
#include "emulation/outputs/outputs.h"
#include "emulation/volumes.h"
#include "rxe-hosts/steps/engine.h"
#include "workload/traffic/generator.h"

#define NS ((uint64_t)PS_PER_NS)

/* steps.csv. */

static const char *
node_name(const struct emulation *emulation, uint32_t node)
{
	return node != REC_NONE ? emulation->scenario->topo->nodes[node].name : "-";
}

/* The owner of a row; a background flow has none. */
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
write_step(const struct emulation *emulation, const struct step_row *row, FILE *file)
{
	static const struct flow none; /* a local step's */
	const struct flow *flow = row->flow != PLAN_NONE ? &emulation->scenario->plan->flows.flows[row->flow] : &none;
	uint64_t end_ps = row->state == REC_STEP_OPEN ? emulation->fabric->window.end_ps : row->end_ps;

	write_name(row, file);
	fprintf(file, "%s,%s,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64,
		node_name(emulation, row->src), node_name(emulation, row->dst), flow->sport, flow->dport, row->bytes,
		row->start_ps / NS, (end_ps - row->start_ps) / NS, row->ideal_ps / NS, row->expect_ps / NS);
	if (row->waited_for.step == 0)
		fputs(",-,-,-\n", file);
	else
		fprintf(file, ",%u,%u,%u\n", row->waited_for.collective, row->waited_for.rank, row->waited_for.step);
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

			if (row.state != REC_STEP_WAITS)
				write_step(emulation, &row, out.file);
		}
	}
	return outfile_close(&out, 0, err);
}

/* How the flows of a run fared that no collective sent. */

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

/* flows.csv. */

static void
write_flow(const struct emulation *emulation, const struct flow_row *row, FILE *file)
{
	const struct scenario *sc = emulation->scenario;
	const struct flow *flow = &sc->plan->flows.flows[row->flow];
	const char *generator = row->generator != REC_NONE ? sc->traffic->generators[row->generator]->name : "-";
	uint64_t fct_ps = flow_row_fct_ps(emulation, row);

	fprintf(file, "%s,%s,%s,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", generator,
		sc->topo->nodes[flow->src_node].name, sc->topo->nodes[flow->dst_node].name, flow->sport, flow->dport,
		row->bytes, row->acked_bytes, row->start_ps / NS);
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
	fputs("generator,src,dst,sport,dport,bytes,acked_bytes,start_ns,begin_ns,end_ns,fct_ns,ideal_ns,slowdown,"
	      "retransmits,"
	      "open\n",
	      out.file);
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		size_t rows = emulation->engines[i] != NULL ? step_engine_flows(emulation->engines[i]) : 0;

		for (size_t r = 0; r < rows; r++) {
			struct flow_row row = step_engine_flow(emulation->engines[i], r);

			if (row.start_ps < emulation->fabric->window.end_ps)
				write_flow(emulation, &row, out.file);
		}
	}
	return outfile_close(&out, 0, err);
}

/* prediction.csv. */

/* The monitors' prediction: sorted by port and sender. */
static uint64_t
predicted(const struct volumes_setup *setup, const struct volumes_predicted *of)
{
	uint32_t low = 0, high = setup->npredicted;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct volumes_predicted *row = &setup->predicted[middle];

		if (row->port < of->port || (row->port == of->port && row->sender < of->sender))
			low = middle + 1;
		else
			high = middle;
	}
	return setup->predicted[low].bytes;
}

int
output_prediction(const struct emulation *emulation, const char *dir, struct err *err)
{
	const struct topo *topo = emulation->scenario->topo;
	const struct volumes_owned *volumes = volumes_of(emulation);
	const struct prediction *prediction = volumes != NULL ? volumes->prediction : NULL;
	struct outfile out;
	int ret = prediction != NULL ? outfile_open(&out, dir, RUN_PREDICTION, err) : 0;

	if (ret < 0 || prediction == NULL)
		return ret;
	fputs("port,sender,run,predicted,seen\n", out.file);
	for (uint32_t i = 0; i < prediction->nrows; i++) {
		const struct volumes_predicted *row = &prediction->rows[i].predicted;
		char port[64];

		fprintf(out.file, "%s,%s,%u,%" PRIu64 ",%" PRIu64 "\n", topo_port_name(topo, row->port, port),
			topo->nodes[row->sender].name, prediction->rows[i].run, predicted(&volumes->setup, row),
			row->bytes);
	}
	return outfile_close(&out, 0, err);
}

/* The hosts' times of their collectives. */

struct coll_result
output_result(const struct emulation *emulation, uint32_t collective, uint32_t iteration, struct rec_collective *names,
	      bool *complete)
{
	const struct plan_collective *plan = &emulation->scenario->plan->collectives[collective];
	const struct coll_size size = coll_size_of(plan->schedule, coll_elem_bytes(plan->type));
	struct collective_result seen =
		step_engines_result(emulation->engines, emulation->scenario->topo->nnodes, collective, iteration);

	*complete = seen.complete;
	plan_collective_record(emulation->scenario->plan, collective, iteration, names);
	return (struct coll_result){
		.job = names->job_name,
		.collective = names->name,
		.iteration = iteration,
		.op = size.op,
		.type = plan->type,
		.ranks = size.ranks,
		.root = size.root,
		.count_elems = size.bytes / coll_elem_bytes(plan->type),
		.time_ps = seen.complete ? seen.end_ps - seen.start_ps : 0,
		.wrong = plan->real && plan->verify ? seen.wrong : COLL_WRONG_UNCHECKED,
	};
}

void
results_print(const struct emulation *emulation, FILE *to)
{
	const struct plan *plan = emulation->scenario->plan;
	char text[1024];

	if (plan->ncollectives == 0)
		return;
	fputs(coll_bandwidth_header(text, sizeof(text)), to);
	for (uint32_t c = 0; c < plan->ncollectives; c++) {
		for (uint32_t it = 0; plan->collectives[c].enabled && it < plan->collectives[c].iterations; it++) {
			struct rec_collective names;
			bool complete;
			struct coll_result result = output_result(emulation, c, it, &names, &complete);

			if (complete)
				fputs(coll_bandwidth_row(&result, text, sizeof(text)), to);
			else
				fprintf(to, "# %s, iteration %u did not complete\n", result.collective, it);
		}
	}
	fputc('\n', to);
	fflush(to);
}

uint64_t
results_wrong(const struct emulation *emulation)
{
	const struct plan *plan = emulation->scenario->plan;
	uint64_t wrong = 0;

	for (uint32_t c = 0; c < plan->ncollectives; c++) {
		for (uint32_t it = 0; plan->collectives[c].enabled && it < plan->collectives[c].iterations; it++) {
			struct rec_collective names;
			bool complete;
			struct coll_result result = output_result(emulation, c, it, &names, &complete);

			wrong += complete && result.wrong != COLL_WRONG_UNCHECKED ? result.wrong : 0;
		}
	}
	return wrong;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run consists of, and how its steps and flows went: the tables of the store that are no counters. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/op/op.h"
#include "common/units.h"
#include "emulation/counting/series.h"
#include "emulation/outputs/outputs.h"
#include "rxe-hosts/steps/engine.h"
#include "scenario/scenario.h"
#include "workload/traffic/generator.h"

#define NS(ps) STORE_INT((ps) / PS_PER_NS)

static void
write_topology(const struct scenario *sc, struct run_store *store)
{
	const struct topo *topo = sc->topo;
	char name[64];

	for (uint32_t i = 0; i < topo->nnodes; i++) {
		const char *kind = topo->nodes[i].kind == TOPO_SWITCH ? "switch"
				   : sc->hosts[i] == NULL             ? "host"
								      : host_kind_name((enum host_kind)sc->hosts[i]->kind);

		run_store_row(store, STORE_NODES,
			      (struct store_cell[]){ STORE_INT(i), STORE_TEXT(topo->nodes[i].name), STORE_TEXT(kind),
						     STORE_INT(topo->nodes[i].nports) });
	}
	for (uint32_t i = 0; i < topo->nports; i++) {
		const struct topo_port *port = &topo->ports[i];

		run_store_row(store, STORE_PORTS,
			      (struct store_cell[]){ STORE_INT(i), STORE_TEXT(topo_port_name(topo, i, name)),
						     STORE_INT(port->node), STORE_INT(port->index + 1),
						     STORE_INT(port->peer_port), STORE_INT(port->rate_bps),
						     NS(port->delay_ps) });
	}
}

/* A name of a record: not ended where it is as long as its field. @return buf */
static const char *
name_of(const char *field, size_t size, char *buf)
{
	size_t length = strnlen(field, size);

	memcpy(buf, field, length);
	buf[length] = '\0';
	return buf;
}

static void
write_collective(const struct emulation *emulation, uint32_t collective, uint32_t iteration, struct run_store *store)
{
	struct rec_collective names;
	bool complete;
	struct coll_result result = output_result(emulation, collective, iteration, &names, &complete);
	struct collective_result seen =
		step_engines_result(emulation->engines, emulation->scenario->topo->nnodes, collective, iteration);
	char name[sizeof(names.name) + 1];

	run_store_row(store, STORE_COLLECTIVES,
		      (struct store_cell[]){
			      STORE_INT(names.job), STORE_INT(collective), STORE_INT(iteration),
			      STORE_TEXT(name_of(names.name, sizeof(names.name), name)),
			      STORE_TEXT(coll_op_name(result.op)), STORE_INT(result.ranks),
			      STORE_INT(result.count_elems * coll_elem_bytes(result.type)),
			      complete ? NS(seen.start_ps) : STORE_NULL, complete ? NS(seen.end_ps) : STORE_NULL,
			      complete ? STORE_REAL(coll_algbw_gbps(&result)) : STORE_NULL,
			      complete ? STORE_REAL(coll_busbw_gbps(&result)) : STORE_NULL,
			      STORE_INT(coll_result_root(&result)), STORE_TEXT(coll_result_type(&result)),
			      STORE_TEXT(coll_result_redop(&result)), STORE_INT(coll_result_count(&result)),
			      result.wrong != COLL_WRONG_UNCHECKED && complete ? STORE_INT(result.wrong) : STORE_NULL });
}

/* The first rank's start, and the last one's end, over all of a job's collectives. */
static void
write_job(const struct emulation *emulation, uint32_t first, struct run_store *store)
{
	const struct plan *plan = emulation->scenario->plan;
	uint64_t start_ps = TIME_NEVER, end_ps = 0;
	struct rec_collective names;
	char name[sizeof(names.job_name) + 1];
	bool complete = true;

	plan_collective_record(plan, first, 0, &names);
	for (uint32_t c = first; c < plan->ncollectives; c++)
		for (uint32_t it = 0;
		     plan->collectives[c].enabled && plan->collectives[c].job == plan->collectives[first].job &&
		     it < plan->collectives[c].iterations;
		     it++) {
			struct collective_result seen =
				step_engines_result(emulation->engines, emulation->scenario->topo->nnodes, c, it);

			complete &= seen.complete;
			if (seen.complete && seen.start_ps < start_ps)
				start_ps = seen.start_ps;
			if (seen.complete && seen.end_ps > end_ps)
				end_ps = seen.end_ps;
		}
	run_store_row(store, STORE_JOBS,
		      (struct store_cell[]){
			      STORE_INT(names.job), STORE_TEXT(name_of(names.job_name, sizeof(names.job_name), name)),
			      STORE_INT(plan->collectives[first].iterations),
			      start_ps != TIME_NEVER ? NS(start_ps) : STORE_NULL, complete ? NS(end_ps) : STORE_NULL });
}

static void
write_jobs(const struct emulation *emulation, struct run_store *store)
{
	const struct plan *plan = emulation->scenario->plan;

	for (uint32_t c = 0; c < plan->ncollectives; c++) {
		bool first = plan->collectives[c].enabled;

		for (uint32_t before = 0; first && before < c; before++)
			first = !plan->collectives[before].enabled ||
				plan->collectives[before].job != plan->collectives[c].job;
		if (first)
			write_job(emulation, c, store);
		for (uint32_t it = 0; plan->collectives[c].enabled && it < plan->collectives[c].iterations; it++)
			write_collective(emulation, c, it, store);
	}
}

static void
write_step(const struct step_row *row, struct run_store *store)
{
	bool own = row->collective != REC_NONE, waited = row->waited_for.step != 0;

#define OWN(value) (own ? STORE_INT(value) : STORE_NULL)
#define WAITED(value) (waited ? STORE_INT(value) : STORE_NULL)
#define KNOWN(value, none) ((value) != (none) ? STORE_INT(value) : STORE_NULL)
	run_store_row(store, STORE_STEPS,
		      (struct store_cell[]){ OWN(row->job), OWN(row->collective), OWN(row->iteration), OWN(row->rank),
					     OWN(row->step), OWN(row->channel), KNOWN(row->src, REC_NONE),
					     KNOWN(row->dst, REC_NONE), KNOWN(row->flow, PLAN_NONE), STORE_INT(row->bytes),
					     NS(row->start_ps), row->state == REC_STEP_OPEN ? STORE_NULL : NS(row->end_ps),
					     NS(row->ideal_ps), NS(row->expect_ps), WAITED(row->waited_for.collective),
					     WAITED(row->waited_for.rank), WAITED(row->waited_for.step) });
}

static void
write_flow(const struct emulation *emulation, const struct flow_row *row, struct run_store *store)
{
	const struct scenario *sc = emulation->scenario;
	const struct flow *flow = &sc->plan->flows.flows[row->flow];
	const char *generator = row->generator != REC_NONE ? sc->traffic->generators[row->generator]->name : NULL;

	run_store_row(store, STORE_FLOWS,
		      (struct store_cell[]){ STORE_INT(row->flow), generator != NULL ? STORE_TEXT(generator) : STORE_NULL,
					     STORE_INT(flow->src_node), STORE_INT(flow->dst_node), STORE_INT(row->bytes),
					     NS(row->start_ps), row->begun ? NS(row->begin_ps) : STORE_NULL,
					     row->end_ps != 0 ? NS(row->end_ps) : STORE_NULL,
					     NS(flow_row_fct_ps(emulation, row)), NS(row->ideal_ps),
					     STORE_INT(row->retransmits) });
}

static void
write_host(const struct emulation *emulation, const struct step_engine *engine, struct run_store *store, bool steps)
{
	for (size_t i = 0; steps && i < step_engine_rows(engine); i++) {
		struct step_row row = step_engine_row(engine, i);

		if (row.state != REC_STEP_WAITS)
			write_step(&row, store);
	}
	for (size_t i = 0; i < step_engine_flows(engine); i++) {
		struct flow_row row = step_engine_flow(engine, i);

		if (row.start_ps < emulation->fabric->window.end_ps)
			write_flow(emulation, &row, store);
	}
}

/* @param setting  "switch.pfc.alpha=0.125" */
static int
write_setting(void *ctx, const char *setting)
{
	const char *value = strchr(setting, '=');
	char *path = strndup(setting, (size_t)(value - setting));

	if (path == NULL)
		return -ENOMEM;
	run_store_row(ctx, STORE_CONFIG, (struct store_cell[]){ STORE_TEXT(path), STORE_TEXT(value + 1) });
	free(path);
	return 0;
}

static void
write_config(const struct scenario *sc, struct run_store *store)
{
	struct cfg_known known[SCENARIO_MAX_TABLES];

	if (cfg_settings(sc->cfg, known, scenario_tables(known, SCENARIO_MAX_TABLES), NULL, write_setting, store) < 0)
		run_store_fail(store, ENOMEM);
}

void
rows_write(const struct emulation *emulation, struct run_store *store, bool all)
{
	if (all)
		write_config(emulation->scenario, store);
	write_topology(emulation->scenario, store);
	write_jobs(emulation, store);
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++)
		if (emulation->engines[i] != NULL)
			write_host(emulation, emulation->engines[i], store, all);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that dpswitch leaves beside the recording. The analyzer reads none of them. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "collectives/bandwidth.h"
#include "common/slowdown.h"
#include "emulation/emulation.h"

struct flow_row;
struct plan;
struct rec_collective;
struct step_row;

/*
 * DIR/run.json: the run's cost, its end, the invariants, the state and counters of kernel hosts.
 * @return 0 or negative errno with err set
 */
int output_run(const struct emulation *emulation, const char *dir, struct err *err);
/*
 * DIR/truth.json: faults, background flows; which flows shared which queue, when, for how long and how many packets
 * deep; which ports were paused and for how long, and which still are. Only scorers read it.
 */
int output_truth(const struct emulation *emulation, const char *dir, struct err *err);
/*
 * Of a partitioned fabric: the facts about a partition's own nodes that go into run.json and truth.json, for the
 * partition that writes them for the fabric. That one checks the report (its own to free), and adds it to its own
 * facts.
 */
json_t *output_partition(const struct emulation *emulation);
/* @return 0; -EPROTO with err set: it is impossible, or reports nodes that are not in the partition */
int output_partition_check(const struct emulation *emulation, const uint32_t *partition_of, uint32_t partition,
			   const json_t *reported, struct err *err);
/* @param section  "run", "truth". @param root  of the same keys, changed */
void output_partition_add(const struct emulation *emulation, const char *section, json_t *root);

/* The key of the scenario that ended a run; NULL: no limit did. */
const char *output_limit(enum rec_end_reason reason);

/* The facts of output_run() and output_truth() about this program's nodes alone. */
json_t *output_run_own(const struct emulation *emulation);
json_t *output_truth_own(const struct emulation *emulation);

/* DIR/steps.csv: every step of every flow that began, background flows with step 0. */
int output_steps(const struct emulation *emulation, const char *dir, struct err *err);

/*
 * DIR/flows.csv: every background flow and every generated one that arrived; none where the scenario has no such
 * flows.
 */
int output_flows(const struct emulation *emulation, const char *dir, struct err *err);

/*
 * DIR/prediction.csv: the volumes of earlier runs, a row a port, sender and run; the monitors use the mean of the
 * runs. As flowpulse.file it gives the same prediction. There is no file without earlier runs.
 */
int output_prediction(const struct emulation *emulation, const char *dir, struct err *err);

/* DIR/effective.cfg: the scenario with every default filled in; runs again as it is. */
int output_config(const struct scenario *scenario, const char *dir, struct err *err);

/*
 * DIR/NAME, a JSON document. @param root  taken over; NULL: there was no memory for it @return 0 or negative errno with
 * err set
 */
int output_json(json_t *root, const char *dir, const char *name, struct err *err);

#define OUTPUT_FLOW_NAME 160 /* two names of ports and two numbers */
/* "17->18/10000>10000" */
void output_flow_name(const struct scenario *scenario, uint32_t flow, char *buf, size_t cap);

/* How the flows of a run fared that no collective sent. */

struct flow_summary {
	size_t flows, open, waiting; /* that arrived; not complete; that never began */
	uint64_t retransmits, bytes; /* packets; of complete ones */
	uint64_t wait_ps;            /* how long all together waited for their connections */
	struct slowdown_bucket buckets[SLOWDOWN_BUCKETS];
};

/*
 * Background flows and generated ones that arrived before the end.
 * @return 0 or -ENOMEM
 */
int flow_summary(const struct emulation *emulation, struct flow_summary *summary);

/* A table for people; nothing where no flow arrived. */
void flow_summary_print(const struct flow_summary *summary, FILE *to);
/* @return NULL: out of memory */
json_t *flow_summary_json(const struct flow_summary *summary);

/* From its arrival; to the end of the run, where it is open. */
uint64_t flow_row_fct_ps(const struct emulation *emulation, const struct flow_row *row);

/* The hosts' times of their collectives, in the columns of nccl-tests. */

/*
 * An iteration of a collective. @param names  set. @param complete  set: else it has no time
 */
struct coll_result output_result(const struct emulation *emulation, uint32_t collective, uint32_t iteration,
				 struct rec_collective *names, bool *complete);

void results_print(const struct emulation *emulation, FILE *to);

/* @return wrong elements over all collectives, iterations and ranks */
uint64_t results_wrong(const struct emulation *emulation);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan under construction, and the parts of its making: plan.c places jobs and calls the others, plan_schedule.c makes
 * the schedule of a collective and finds what of it is measured, plan_flows.c makes the flows, of collectives, generators
 * and probes. Each part adds to the plan and reads what was added before.
 */
#pragma once

#include "collectives/schedule.h"
#include "common/array.h"
#include "workload/plan.h"

struct plan_builder {
	struct plan *plan;
	const struct topo *topo;
	const struct plan_options *options;
	const struct workload *workload;
	uint32_t cap;           /* flows allocated */
	uint32_t next_sport;    /* first source port above those of all earlier collectives */
	uint32_t *slots;        /* [nnodes] ranks placed on each host */
	uint32_t *flow_slots;   /* [nnodes] background flows placed on each host */
	uint64_t *region_bytes; /* [nnodes] */
	struct err *err;
};

/* Room for what is known of a collective's steps, once it has its schedule. @return 0 or -ENOMEM */
int plan_steps_create(struct plan_collective *c);
/*
 * Sets what is known of a step, until plan_estimate() is done. What many steps have alike is kept once from the start: the
 * making of a plan is what a large run takes most memory for.
 * @param known  not of c->steps, which may move
 * @return 0 or -ENOMEM
 */
int plan_know(struct plan_collective *c, size_t index, const struct plan_step *known);
void plan_steps_free(struct plan_collective *c);

/*
 * The schedule of a collective, over all ranks of its job.
 * @return 0; -ENOMEM; -EINVAL with err set: a collective that its algorithm does not support, too many steps
 */
int plan_make_schedule(struct plan_builder *b, uint32_t index);

/*
 * The flows of a collective whose ranks and chains are known: a data flow from each rank to each of its peers by each
 * channel, and with notifications a control flow from each rank to each peer that waits for some message of it.
 * @return 0; -ENOMEM; -EINVAL with err set: too long or empty messages, ports
 */
int plan_make_flows(struct plan_builder *b, uint32_t index, const struct collective_config *config);

/* @return the new flow's index, or PLAN_NONE without memory */
uint32_t plan_add_flow(struct plan_builder *b, const struct flow *flow, const struct plan_flow *of);

/*
 * Assigns connections to the messages of generators: the number that the generator configures, or fewer where there are
 * fewer messages. Messages use a pair's connections in turn, and skip one that is probably still busy.
 * @return 0, -ENOMEM, or -EINVAL with err set: more flows than a run can have
 */
int plan_add_traffic(struct plan_builder *b);

/*
 * Gives each 5-tuple to probe by a flow, where none has it already: a probe may take that of a connection.
 * @return 0, -ENOMEM, or -EINVAL with err set: more flows than a run can have
 */
int plan_add_probes(struct plan_builder *b);

/*
 * Marks the data flows of a collective that are measured, and gives them their class.
 * @return 0 or -EINVAL with err set: pairs that are no ranks, or send each other nothing
 */
int plan_measure(struct plan_builder *b, uint32_t index, const struct collective_config *config);
/* Tags distinguish iterations, not jobs. @return 0; -ENOMEM; -EINVAL with err set: a leaf receives those of two jobs */
int plan_check_measured(const struct plan_builder *b);

/* Records and switches know flows by their 5-tuples only. @return 0; -ENOMEM; -EINVAL with err set: two have the same */
int plan_check_tuples(const struct plan_builder *b);

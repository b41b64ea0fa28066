/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict as plain data: the facts of a run, and a section of each diagnoser that ran. */
#pragma once

#include "diag/diagnoser.h"
#include "diag/finding.h"
#include "diag/run/run.h"

#define VERDICT_SCHEMA_VERSION 5

/* The twin of a job, whose runs gave its findings their costs (diag/report/report.h). */
struct verdict_twin {
	uint32_t job; /* index into run.jobs */
	double measured_ps, twin_ps;
	double error, steps_error; /* of its base run, as shares: of the job's time, of its steps' on average */
	bool usable;               /* else it was given up, and the costs are estimates */
	uint32_t runs;
};

struct verdict {
	struct run run;

	struct finding *findings; /* of all sections, as findings_join() has them */
	uint32_t nfindings;
	struct section *sections;
	uint32_t nsections;
	struct verdict_twin *twins; /* [ntwins] none: costs are estimates */
	uint32_t ntwins;
	uint32_t prefixes; /* that were diagnosed for times to detection (diag/detection.h); 0: none was requested */
};

/* A diagnoser to run. */
struct diagnosis {
	const struct diagnoser *by;
	const void *options; /* NULL: defaults */
};

/*
 * Draws every conclusion from one record stream. The evidence's steps are the run's then: it is good for no other run.
 * @param asked  [nasked] in this order; those without any of their kinds of records are left out
 * @param out  set to the verdict on success, to be freed by verdict_destroy()
 * @return 0; -ENOMEM; a diagnoser's error with err
 */
int verdict_build(struct evidence *evidence, const struct diagnosis *asked, uint32_t nasked, struct verdict **out,
		  struct err *err);
void verdict_destroy(struct verdict *verdict);

/*
 * The claim about the network, of the sections that make a claim about time: of the first that does not call it
 * innocent, else of the first. NULL: there is none
 */
const struct claim *verdict_claim(const struct verdict *verdict);
/* Is all evidence there, and was all of it looked at? */
bool verdict_complete(const struct verdict *verdict);

/* @return the section of the diagnoser of this name; NULL: it did not run */
const struct section *verdict_section(const struct verdict *verdict, const char *name);

/*
 * The finding of which another one is a consequence: contention on the paths that a link that is down leaves, packets
 * sent again behind drops of a full queue.
 * @return index into findings, the costliest of them; RUN_NONE: it stands for itself
 */
uint32_t verdict_cause_of(const struct verdict *verdict, uint32_t finding);

/*
 * Gives each link that is down its share of what queues cost that follow from it: a queue keeps the part in which its flows
 * would share one if the link were there: by the paths that were configured with it, else as often as equal splits over the
 * shortest paths of now and then have it.
 * @param findings  [count] of one diagnoser, by collective, with their claims, of which the sum stays
 * @return 0, or -ENOMEM with err
 */
int findings_give_links(const struct run *run, struct finding *findings, uint32_t count, struct err *err);

/* One cause at one place is one finding, however many iterations and jobs it hits. */

/*
 * Joins findings of the same type, root and key: those of a job's iterations and collectives, and those of several jobs
 * unless flows of jobs are the culprits, who then are others for each. Then those of flows of no job at one place that
 * are each without effect, whatever their keys: a crowd of small flows may cost what none of them does. Sets the parts
 * of all, and orders them: those with effect first, of these by cost, then by score, those that are folded last; equals
 * keep their order. Findings without effect in each part have one if they sum up to a base RTT.
 * @param findings  [*count] those that joined others are freed
 * @return 0, or -ENOMEM with err: what is left is to be freed as before
 */
int findings_join(const struct run *run, struct finding *findings, uint32_t *count, struct err *err);

/*
 * Do findings claim, more likely than not, that the network is at fault? Where some have an effect, one of these; where
 * none has, they do not if they leave time unexplained, or if runs of the twin lose nothing by any of them.
 * @param findings  [count] those about hosts, and untimed ones, claim nothing of it
 * @param left      time is unexplained, or may have been lost by steps that were not reported
 * @param sure      set to the confidence of the best supported finding
 * @return CLAIM_FAULT, CLAIM_NO_EFFECT or CLAIM_UNCERTAIN
 */
enum claim_kind findings_blame(const struct finding *findings, uint32_t count, bool left, double *sure);
/*
 * Concludes again after costs have changed: the claims of sections that have findings about the network.
 * @param unexplained_ps  of the lost time, by the changed costs
 */
void verdict_conclude(struct verdict *verdict, double unexplained_ps);

/* Orders findings whose costs have changed. @return 0, or -ENOMEM with err */
int findings_order(const struct run *run, struct finding *findings, uint32_t count, struct err *err);

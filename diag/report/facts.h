/* SPDX-License-Identifier: BSD-3-Clause */
/* The facts that every report states in the same words: derived from the verdict, without new conclusions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "diag/report/fmt.h"
#include "diag/vedrfolnir/section.h"
#include "diag/verdict.h"

#define FACTS_TEXT 640 /* enough for every sentence below, but for these */
#define FACTS_EVIDENCE 512
#define FACTS_REASON 1024
#define FACTS_RANGES 160 /* of numbers of ten digits */
#define FACTS_INCOMPLETE 1024

struct facts {
	const struct verdict *v;
	uint32_t worst;       /* the collective to look at first: unfinished, else most above expect; RUN_NONE */
	uint64_t longest_ps;  /* what a collective took at most; without collectives, the run */
	struct fmt_unit unit; /* of all times */
};

struct facts facts_of(const struct verdict *v);

/* How long a collective took; of an unfinished one: until the run ended. */
uint64_t facts_took_ps(const struct verdict *v, const struct run_collective *collective);
/* Is it the only one of its job? */
bool facts_alone(const struct verdict *v, const struct run_collective *collective);
/* The number of its steps that were reported as finished. */
uint32_t facts_done(const struct verdict *v, const struct run_collective *collective);
/* 0.258: a quarter longer than expected. 0 without an expectation. */
double facts_excess(uint64_t took_ps, uint64_t expect_ps);
uint64_t facts_exec_ps(const struct run_step *step);
/* Against the expected time: "+25.8 %"; of a step that is open, so far: "+25.8 % so far", "open". */
struct fmt facts_change(const struct run_step *step);

const char *facts_op_name(uint32_t op);                /* "AllGather" */
const char *facts_algorithm_name(uint32_t algorithm);  /* "ring" */
const char *facts_record_name(uint32_t kind);          /* "flow row" */
const char *facts_ending_key(const struct verdict *v); /* "stall", as in run.json; "broken_off" of a truncated stream */
const char *facts_policy_name(uint32_t policy);        /* "vedrfolnir", as in scenarios */
const char *facts_op_key(uint32_t op);                 /* "allgather", of the table and JSON */

/* "17->18" where no other flow of the pair can be meant, else its whole name. @return buf */
char *facts_flow(const struct verdict *v, uint32_t flow, char *buf, size_t cap);
/* "1-3, 7"; of many ranges the first, "1-3, 7, 9, 11, 13, 15 and 20 more". */
char *facts_ranges(const uint32_t *sorted, uint32_t count, char *buf, size_t cap);
/* The owner of a step: its flow, as facts_flow() has it; of a local step its host. @return buf */
char *facts_doer(const struct verdict *v, const struct run_step *step, char *buf, size_t cap);
/* Step numbers of a finding, sorted, once each. @param out  [finding->nsteps]  @return their number */
uint32_t facts_step_numbers(const struct verdict *v, const struct finding *finding, uint32_t *out);

/* "Ring AllGather over 8 ranks took 270.907 ms, 25.8 % longer than the 215.299 ms expected." */
char *facts_headline(const struct facts *facts, char *buf, size_t cap);
/* Second sentence: the strongest cause, or that the network is innocent. */
char *facts_conclusion(const struct facts *facts, char *buf, size_t cap);
/* The verdict on the network, and its grounds. @param buf  of FACTS_REASON bytes  @return buf */
char *facts_reason(const struct verdict *v, char *buf);
/*
 * Switches on the path of steps that were slow or not reported, without a report of any port.
 * @param nodes  [run.nnodes] set to them  @return their number; RUN_NONE: no memory
 */
uint32_t facts_unreported(const struct verdict *v, uint32_t *nodes);
/* The missing evidence; "" if none is. @param buf  of FACTS_INCOMPLETE bytes  @return buf */
char *facts_incomplete(const struct verdict *v, char *buf);
/* That the recording knows less than this verdict does. @return NULL where it does not */
char *facts_recording_lost(const struct facts *facts, char *buf, size_t cap);
/*
 * The lateness of the machine that ran the fabric in real time, and the number of steps that it leaves unknown. @return
 * NULL in virtual time
 */
char *facts_lateness(const struct facts *facts, char *buf, size_t cap);
/*
 * How far the twin of each job is from the measured times, and whether its costs are used. @param buf  of FACTS_REASON
 * bytes  @return NULL where no twin was made
 */
char *facts_twins(const struct facts *facts, char *buf);
/* Its bytes by the time it took, in GB/s, as nccl-tests has them; 0: unfinished, or of no size. */
double facts_algbw(const struct verdict *v, const struct run_collective *collective);
double facts_busbw(const struct verdict *v, const struct run_collective *collective);
/* "Flow contention at 6:2: 13->19 ahead of 17->18 in steps 1-2" */
char *facts_finding(const struct verdict *v, const struct finding *finding, char *buf, size_t cap);
/* Of its culprits those without effect by the twin, "a and b"; "": none, or it has no effect itself. @return buf */
char *facts_innocents(const struct verdict *v, const struct finding *finding, char *buf, size_t cap);
/* Behind a mark, which finding it is a consequence of: ", a consequence of link down at l0:5"; nothing if of none. */
void facts_append_cause(const struct verdict *v, const struct finding *finding, const char *mark, char *buf, size_t cap);
/* The observations in the step that shows the finding best. @param buf  of FACTS_EVIDENCE bytes  @return buf */
char *facts_evidence(const struct verdict *v, const struct finding *finding, char *buf);
/* "a loss of 2 % at l2:3": a fault that was known before the run. @return buf */
char *facts_known(const struct run *run, const struct run_known *known, char *buf, size_t cap);
/*
 * Causes of one step, strongest first: "contention at 6:2 (13->19), backpressure of 6:2"; "" if there is none. Where no
 * finding names the step, those that cost its job time by the twin, and explain none of its critical path by waits.
 */
char *facts_step_causes(const struct verdict *v, uint32_t step, char *buf, size_t cap);

/* "guilty", "innocent", or "unknown". */
const char *facts_word(const struct verdict *v);
/* Is it known that the network is at fault? */
bool facts_is_guilty(const struct verdict *v);
/* Is the network innocent? */
bool facts_innocent(const struct verdict *v);
/* The number of findings that cost time: the first ones. */
uint32_t facts_costly(const struct verdict *v);
/* The number of findings of which it is known whether they do: the first ones. */
uint32_t facts_timed(const struct verdict *v);
/* What findings cost, as it is shown, beside the loss: times in facts.unit, and shares of a tenth of a percent. */
struct facts_shown {
	double *cost_ps, *share_ps; /* [nfindings] */
};
/* @return 0 or -ENOMEM: then each cost is rounded by itself */
int facts_shown_init(struct facts_shown *shown, const struct facts *facts);
void facts_shown_fini(struct facts_shown *shown);
/* "1.913 ms, 92.0 % of what was lost": of the whole of facts_loss(), so that shares add up. @return buf */
char *facts_cost(const struct facts *facts, const struct facts_shown *shown, const struct finding *finding, char *buf,
		 size_t cap);
/*
 * Its costliest parts: "1.056 ms in gradients iteration 1, 0.652 ms iteration 0"; those that cost nothing are left out;
 * "": it has one only. @return buf
 */
char *facts_parts(const struct facts *facts, const struct finding *finding, char *buf, size_t cap);
/* The parts of the lost time, which add up to it. */
struct facts_loss {
	double lost_ps;                   /* time that jobs would save if no step had lost time */
	double causes_ps, alone_ps;       /* explained by findings with an effect; by those without any */
	double little_ps, unexplained_ps; /* of hosts late by too little to be named; without an explanation */
	uint32_t causes, alone;           /* number of findings with the first two */
};
struct facts_loss facts_loss(const struct verdict *v);
/*
 * The same in whole steps, so that its parts as they are shown add up to the whole as it is shown.
 * @param step_ps  what the last decimal is worth
 */
struct facts_loss facts_loss_shown(const struct verdict *v, double step_ps);
/*
 * What each finding cost in whole steps: those with an effect add up to causes_ps of facts_loss_shown(), others to
 * alone_ps. @return [nfindings], to be freed; NULL: no memory
 */
double *facts_costs(const struct verdict *v, double step_ps);
/* Appends " Of the 7.930 ms lost in all, ... is unexplained. Confidence that the network is guilty: 0.87." to buf. */
void facts_append_trust(const struct facts *facts, char *buf, size_t cap);
/* The confidence of the verdict. @return false: the verdict is "unknown", which has no confidence */
bool facts_confidence(const struct verdict *v, double *confidence);
/* The lost time of a collective, and its unexplained part; NULL: no diagnoser with a time budget ran. */
const struct time_budget *facts_budget(const struct verdict *v, uint32_t collective);
/* The strongest finding that is not folded, else the strongest; NULL: none. */
const struct finding *facts_first(const struct verdict *v);
/* The same of those about the network. */
const struct finding *facts_root(const struct verdict *v);
/* The same of those about hosts. */
const struct finding *facts_host(const struct verdict *v);
bool facts_finding_has_step(const struct finding *finding, uint32_t step);
/* Share of a contributor in the sum of all scores, 0..1. */
double facts_share(const struct verdict *v, const struct contributor *contributor);

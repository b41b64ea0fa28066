/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is inferred of a run from its records: the scenario that its twin runs. Numbers of things are those of the
 * evidence. Filled in by flows.c, faults.c and jobs.c, changed by fit.c (trial.h), written by write.c.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "diag/collect/evidence.h"
#include "diag/run/run.h"

#define TWIN_MAX_FLOWS 256   /* foreign flows; the largest are taken */
#define TWIN_MAX_FAULTS 48   /* each may be left out by a key of its own */
#define TWIN_MAX_HOPS 16     /* of a path */
#define TWIN_NAME 160        /* of a port, a flow, a host with its NIC */
#define TWIN_MIN_BYTES 65536 /* of a foreign flow: what is smaller delays a step by less than 10 us at 100 Gbps */

/* A flow that no schedule has. */
struct twin_flow {
	uint32_t flow; /* of ev->flows */
	uint64_t start_ps, bytes;
	uint32_t path[TWIN_MAX_HOPS], hops; /* egress ports of switches, global ids; hops 0: not known */
	bool counted;                       /* a switch counted it from its first packet to its last */
	uint32_t counted_at;                /* hop that counted its first packet; hops: not one of its path */
};

/* What the runs of a twin may take of the machine. */
struct twin_work {
	const char *dir;      /* for runs while they last */
	uint32_t jobs;        /* side by side */
	uint64_t deadline_ns; /* of the machine's clock; 0: none */
	uint64_t run_ns;      /* that a run takes, one of jobs; 0: not known yet */
};

struct twin_fault_kind;

/* An item of "faults". Those of one finding are left out together. */
struct twin_fault {
	const struct twin_fault_kind *kind;
	size_t finding; /* index into the verdict's findings */
	uint32_t place; /* global port, or node, as its kind has it */
	uint64_t start_ps, duration_ps;
	uint64_t slack_ps;         /* by which its duration is not known; 0: it is, or lasts */
	double strength;           /* its rate, or extra delay in ps */
	uint32_t collective, step; /* slow-host: index of a twin_op, step 0: every one */
};

/* A collective of a job, all iterations. */
struct twin_op {
	uint32_t id;         /* in records */
	uint32_t collective; /* index into run->collectives, of iteration 0 */
	uint32_t channels;
	uint16_t sport, dport;
	uint64_t compute_ps; /* planned, of every rank */
	bool computes;
	bool as_goal; /* its schedule is written out: no algorithm gives it */
};

/* A longer or shorter computation of a rank, in one iteration. */
struct twin_compute {
	uint32_t work, rank, iteration;
	uint64_t extra_ps;
};

struct twin_job {
	uint32_t job;                /* index into run->jobs */
	uint32_t first_work, nworks; /* in works */
	uint32_t ranks;
	uint32_t *ports; /* [ranks] owned: global port of each rank's NIC */
	uint64_t start_ps, gap_ps;
	uint32_t first_compute, ncomputes; /* in computes */
};

struct twin_model {
	const struct evidence *ev;
	const struct run *run;
	const json_t *findings; /* of verdict.json */
	struct twin_flow *flows;
	uint32_t nflows;
	struct twin_fault faults[TWIN_MAX_FAULTS];
	uint32_t nfaults;
	struct twin_job *jobs;
	uint32_t njobs;
	struct twin_op *works;
	uint32_t nworks;
	struct twin_compute *computes;
	uint32_t ncomputes;
	uint64_t seed;  /* of all chance: never the run's, which no record has */
	uint32_t draws; /* of packets' chance, over which runs are averaged; 1: chance decides nothing */
};

/*
 * Infers all of it.
 * @param model  zeroed but for ev, run, findings and seed; twin_model_fini() in any case
 * @return 0; -EINVAL with err set: the records lack something, or have what no twin is made of; -ENOMEM
 */
int twin_model_infer(struct twin_model *model, struct err *err);
void twin_model_fini(struct twin_model *model);

/* "h3:2", or "h3" of a host with one NIC. @param buf  of TWIN_NAME @return buf */
char *twin_nic_name(const struct evidence *ev, uint32_t port, char *buf);

/* What a node takes from the end of a frame to its processing, as the head of the stream announces it; 0: it does not. */
uint64_t twin_pipeline_ps(const struct evidence *ev);

/* Jobs: ranks, collectives and their order as the head of the stream announces them, computation as hosts report it. */

/* @return 0; -EINVAL with err: not a job that can be rebuilt; -ENOMEM */
int twin_jobs_infer(struct twin_model *model, struct err *err);

/* Foreign flows: those that switches and NICs counted and that no schedule has. */

/*
 * Fills in model->flows: as FLOW_SEEN records count them, else from flow rows, when each was first and last counted and
 * how much in between. Paths are those of the ports that counted them: of the shortest ones the path with most of them.
 * @return 0 or -ENOMEM with err
 */
int twin_flows_infer(struct twin_model *model, struct err *err);

/* Faults: what the verdict found broken, with its place, and how much by the evidence. A kind is a row. */

struct twin_fault_kind {
	const char *finding; /* type of finding that shows it */
	const char *fault;   /* kind of the scenario's fault */
	/* Adds the faults that such a finding shows, none where it does not. */
	void (*infer)(struct twin_model *model, const json_t *finding, struct twin_fault *blank);
	/* Writes its keys but for kind. */
	void (*write)(const struct twin_model *model, const struct twin_fault *fault, FILE *to);
	/* Where it sits, as a suspect's name has it. @param buf  of TWIN_NAME @return buf */
	char *(*target)(const struct twin_model *model, const struct twin_fault *fault, char *buf);
};

#define TWIN_LINK_DOWN "link-down"

extern const struct twin_fault_kind twin_fault_kinds[]; /* a NULL finding ends it */

/* Fills in model->faults; jobs are known. */
void twin_faults_infer(struct twin_model *model);

/* The scenario of a twin, as a user can run and change it. */

/* Writes DIR/NAME. @return 0, or negative errno with err set */
int twin_write(const struct twin_model *model, const char *dir, const char *name, struct err *err);

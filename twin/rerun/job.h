/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of a case, in a process of its own: the fabric, then the diagnosis of its recording. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/child.h"
#include "common/err.h"

/* The exit status of a job's process. */
enum job_status { JOB_DONE = 0, JOB_FABRIC_FAILED = 1, JOB_NO_VERDICT = 2, JOB_NOT_STARTED = 3 };

#define JOB_LOG "log.txt"            /* of a job's folder: the output of its programs */
#define JOB_RECORDS "records.bin"    /* of the fabric's folder: the stream that is diagnosed */
#define JOB_ANALYSIS "analysis.json" /* { "cpu_s": of an analyzer with one diagnoser } */

struct job_config {
	const char *scenario;
	const char *fabric; /* folder of the fabric's run */
	const char *out;    /* folder of the diagnosis and of log.txt; made. Often the same */
	const char *policy; /* the fabric runs under it; NULL: it has run */
	bool diagnose;      /* the fabric's recording */
	/*
	 * Of the analyzer: each alone, its verdict in OUT/NAME, and the CPU time that it took in JOB_ANALYSIS beside
	 * it; none: all together, in OUT.
	 */
	const char *const *diagnosers; /* [ndiagnosers] */
	size_t ndiagnosers;
	bool detection_times; /* each also reports the earliest time of its findings */
	/*
	 * Of diagnosers, the plugins ("./NAME"): NULL, or [ndiagnosers] the program's path, NULL: a built-in one. It
	 * runs over the recording, and its processor time counts with the analyzer's.
	 */
	const char *const *programs;
	const char *again; /* an option of the analyzer, with which the recording is diagnosed once more; NULL: it is not */
	const char *again_out;   /* folder of that verdict */
	const char *const *sets; /* [nsets] keys of the scenario that every run is given */
	size_t nsets;
	int cpu; /* it and its children run there; -1: anywhere */
};

/*
 * Starts it. The programs' output goes to OUT/log.txt. SIGTERM ends the run early.
 * @return pid, or negative errno with err set
 */
pid_t job_start(const struct job_config *config, struct err *err);

/*
 * The same for one program of rocelab, whose exit status is the job's.
 * @param folder  its folder in the build tree, args its name and arguments
 * @param out     for log.txt; made
 */
pid_t job_start_program(const char *folder, const struct child_args *args, const char *out, int cpu, struct err *err);

/*
 * Did a run end by itself? One that was killed, interrupted, or could not write its results proves nothing.
 * @param fabric  folder of the fabric's run
 * @param status  of the job
 * @return 0, or -ENODATA with err set: how it ended
 */
int job_check(const char *dir, const char *fabric, int status, struct err *err);

/* Removes the files of an ended run, and its folder where nothing else is in it. @return 0 or negative errno, err set */
int job_discard(const char *dir, struct err *err);

/* CPUs that this process may use, one job each. @param cpus  [cap] @return how many there are, up to cap */
uint32_t job_cpus(int *cpus, uint32_t cap);

/* Jobs side by side: processes that are started while there are some to start, and all ended at an interrupt. */

#define POOL_MAX_JOBS 256

struct pool_ops {
	/*
	 * Starts the next job, if there is one now.
	 * @param slot  below the number of jobs; of this job until it has ended
	 * @param cpu   it has to itself, or shares with fewest others; -1: anywhere
	 * @return its pid, 0: none can start before another ends, negative errno with err set: no more jobs
	 */
	pid_t (*start)(void *ctx, uint32_t slot, int cpu, struct err *err);
	/*
	 * One has ended by itself. Not called for a stopped job, which leaves no result.
	 * @param status  its exit status, or 128 and the signal
	 * @return 0, or negative errno with err set: no more jobs
	 */
	int (*ended)(void *ctx, uint32_t slot, int status, struct err *err);
};

/*
 * Runs all that there is, one pool a process at a time; Ctrl-C, SIGTERM and SIGHUP end it.
 * @param jobs  at the same time, up to POOL_MAX_JOBS
 * @return 0: all have ended; -EINTR: interrupted; other negative errno with err set. No job runs any more
 */
int pool_run(uint32_t jobs, const struct pool_ops *ops, void *ctx, struct err *err);

/* How far a series of runs is, as a line of progress (common/log.h) with the time that is left. */
struct runs_progress {
	uint32_t expected, done;
	uint64_t start_ns;
};

void runs_progress_begin(struct runs_progress *progress, uint32_t expected);
/* @param remark  behind the number of runs: ", 3 wrong", or "" */
void runs_progress_show(const struct runs_progress *progress, const char *remark);
void runs_progress_end(void);

/*
 * The policy of a case's run: a detection policy, by itself or with keys of the scenario beside it, as in
 * "vedrfolnir+detections=1+exporter.budget=1KB". A key without a dot is one of the group "detection".
 */

#define VARIANT_NAME 96
#define VARIANT_MAX_SETS 8

struct variant_sets {
	char text[VARIANT_MAX_SETS][VARIANT_NAME]; /* "detection.policy=vedrfolnir", ... as --set takes them */
	uint32_t count;
};

/* @return 0, or -EINVAL with err set: no "key=value", too long, too many */
int variant_sets(const char *name, struct variant_sets *sets, struct err *err);

/* SPDX-License-Identifier: BSD-3-Clause */
/* One run: dpswitch on a scenario, and the analyzer that listens to it, connected by one socket. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/start/run_hosts.h"
#include "common/child.h"
#include "common/err.h"
#include "common/run_files.h"

struct launch {
	const char *scenario, *dir;    /* dir exists; the run's files go there */
	const char *private_dir;       /* struct private_dir's path: for sockets */
	const struct child_args *pass; /* options that dpswitch understands */
	struct run_hosts *hosts;       /* with their own kernel; NULL: there are none */
	uint32_t partitions;           /* programs that share the fabric; 0: one runs all of it */
	uint32_t processes;            /* the same of an MPI job that is started here; 0: none is */
	bool in_job;                   /* mpirun has started this program, once for each process */
	bool print;                    /* for people: brief results, then the report */
	bool arrivals;                 /* the analyzer writes DIR/arrivals.csv */
};

#define LAUNCH_NO_STREAM (-1) /* the analyzer was sent away: no run began that it could diagnose */

/*
 * The analyzer of a run, which may be slow, stopped or dead. Slow is waited for, however long a diagnosis takes; one
 * that is idle (common/child.h) while it should work is stopped or stuck, and is killed.
 */

struct analyzer {
	const char *dir; /* where the reports go; a recording is DIR/records.bin */
	bool print;      /* the report for people as well */
	bool arrivals;   /* of the stream that it listens to: DIR/arrivals.csv */
	pid_t pid;       /* 0: there is none */
	int done;        /* pipe that ends when the reports are written */
};

/* Exit statuses as child_wait() gives them. */
struct launch_status {
	int fabric, analyzer; /* analyzer: or LAUNCH_NO_STREAM */
};

/*
 * Runs both to their end; the verdict is in the directory when it returns.
 * @return 0 with *status set, or negative errno with err set: a program did not start
 */
int launch_run(const struct launch *launch, struct launch_status *status, struct err *err);

/*
 * Handles interrupts from now on: the first ends the running fabric, and the verdict on the records so far follows; a
 * later one kills both programs, so that launch_run() returns at once.
 */
void launch_catch_interrupts(void);
bool launch_abandoned(void);

/* A run in a folder that is locked: its sockets and hosts, the fabric and the analyzer, and their files. */

struct scenario;
struct scenario_options;

struct one_run {
	const struct scenario_options *options;
	const struct child_args *pass;  /* the same, and more, as dpswitch takes it */
	uint32_t partitions, processes; /* as struct launch has them */
	bool in_job;
	bool print; /* for people */
	bool arrivals;
};

/*
 * A process of a job, other than the first: its part of the fabric, as options tell dpswitch.
 * @return exit code; err set where it did not start
 */
int launch_process(const char *scenario, const char *dir, const struct child_args *pass, struct err *err);

/*
 * @param scenario  loaded with the options; taken over
 * @return 0 with *status set; or with err set and nothing run EXIT_USAGE: its options are impossible; EXIT_FAILED
 */
int one_run(const struct one_run *run, struct scenario *scenario, const struct run_dir *dir, struct launch_status *status,
	    struct err *err);

/*
 * The result of a run, with warnings for people where it failed.
 * @return exit code (common/program.h), EXIT_DONE also where the reader of the analyzer's output has gone
 */
int one_run_check(const struct launch_status *status, const char *dir);

/*
 * Completes the analyzer's reports: adds the scenario and counters to the page, and the findings to the store. If the
 * analyzer has written no reports, or they are complete already, nothing happens.
 * @param run  the run's folder
 * @param dir  that of its reports
 * @return 0 or negative errno with err set
 */
int reports_complete(const char *run, const char *dir, struct err *err);

/* DIR/verdict.json after a run: shown to machines, or judged for the exit code. */

/* Prints DIR/verdict.json. @return 0 or negative errno with err set */
int verdict_print(const char *dir, struct err *err);

struct verdict_counts {
	size_t findings;
	size_t unfinished; /* collectives, each iteration of its own, as far as the evidence goes */
	size_t left_out;   /* plugin diagnosers that broke, or sent invalid messages */
	struct err why;    /* "diagnoser ./NAME was left out: WHY" of the first of them */
};

/* Reads DIR/verdict.json. @return 0 or negative errno with err set */
int verdict_count(const char *dir, struct verdict_counts *counts, struct err *err);

/*
 * @return whether the analyzer lacks records of this run that its recording has, because it was given up, or did not
 *         keep up with real time; false, too, if DIR/run.json does not record it
 */
bool run_analyzer_lacks(const char *dir);

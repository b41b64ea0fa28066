/* SPDX-License-Identifier: BSD-3-Clause */
/* The files of a run's folder, by the names that they have in every run. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define RUN_RECORDING "records.bin"
#define RUN_ARRIVALS "arrivals.csv"
#define RUN_CAPTURE "capture.pcapng"
#define RUN_CONFIG "effective.cfg"
#define RUN_STEPS "steps.csv"
#define RUN_FLOWS "flows.csv"
#define RUN_TRUTH "truth.json"
#define RUN_SUMMARY "run.json"
#define RUN_STORE "run.sqlite"
#define RUN_STORE_JOURNAL "run.sqlite-journal" /* of one that was being changed: SQLite undoes it */
#define RUN_VERDICT "verdict.json"
#define RUN_TEXT "report.txt"
#define RUN_PAGE "report.html"
#define RUN_WAITING "waiting.dot"
#define RUN_VOLUMES "flowpulse.csv"
#define RUN_PATHS "flowtracer.csv"
#define RUN_PINGMESH "pingmesh.csv"
#define RUN_PREDICTION "prediction.csv"
#define RUN_PROVENANCE "provenance.dot"
#define RUN_TWIN_CONFIG "twin.cfg"
#define RUN_TWIN "twin.json"
#define RUN_TWIN_RUNS "twin.sqlite"
#define RUN_TWIN_WORK "twin" /* a folder: runs of the twin while they last */
#define RUN_COMPARISON "comparison.json"
#define RUN_SYSTEMS "systems" /* a folder of folders: runs and reports of systems that are compared */
#define RUN_PLUGIN "plugins.json"
#define RUN_MANAGEMENT "management" /* a folder: sockets of devices, while a run in real time goes on */
#define RUN_LIVE "live"             /* a socket, while a run goes on: store/store.h */
#define RUN_LIVE_LOCK "live.lock"   /* of its name */
#define RUN_PARTITIONS "partitions" /* a folder: K/ has the files of partition K, if several processes ran the fabric */
#define RUN_GUESTS "guests"         /* a folder: NAME.log of each host with its own kernel */

/*
 * Can a run write its files in a folder, if that is there?
 * @return 0, or with err set -EEXIST: something that it does not replace has the name of one; -EACCES, -EROFS: it has no
 *         right to
 */
int run_files_check(const char *dir, struct err *err);

/*
 * Prepares a folder for a new run: removes all files of an earlier run, and nothing else. Called once a run can no
 * longer be refused.
 * @return 0, or negative errno with err set: an entry of such a name cannot be removed
 */
int run_files_remove(const char *dir, struct err *err);

/* Is a file, whatever its path is called, one that run_files_remove() would take from a folder? */
bool run_files_has(const char *dir, const char *path);

/*
 * Removes the reports of an earlier run's hosts. Called before this run's hosts start, or if it has none.
 * @return 0, or negative errno with err set
 */
int run_files_remove_guests(const char *dir, struct err *err);

/*
 * Removes the folders of systems that an earlier run was compared by. Files there that no run makes are kept.
 * @return 0, or negative errno with err set
 */
int run_files_remove_systems(const char *dir, struct err *err);

/*
 * Removes the folders that an earlier run's partitions left, from number FIRST on.
 * @return 0, or negative errno with err set
 */
int run_files_remove_partitions(const char *dir, uint32_t first, struct err *err);

/* Removes what programs that were killed had not finished, or left. When none of them runs any more. */
void run_files_tidy(const char *dir);

/* The folder of a run: made where it is missing, used by one program at a time. */

struct run_dir {
	char path[PATH_MAX];
	int lock;
	int made; /* how many folders of its path */
};

/* NAME for .../NAME.cfg and .../NAME/; always that of a folder's own: one of nothing but dots keeps its ending. */
void run_dir_name(const char *path, char *buf, size_t cap);

/* PARENT/NAME, as run_dir_name() has it. */
void run_dir_default(const char *parent, const char *path, char *buf, size_t cap);

/*
 * Makes a folder as mkdir -p does.
 * @return how many folders were made, or negative errno with err set
 */
int run_dir_make(const char *path, struct err *err);

/*
 * Makes a run's folder and locks it against others who write there. The programs that are started hold the lock, too: it is
 * free when the last of them has ended. One that is busy is waited for, for as long as a run that was killed takes to end.
 * @return 0, or negative errno with err set
 */
int run_dir_open(struct run_dir *dir, const char *path, struct err *err);

/* run_dir_open() for reading a folder that must exist. @param others_read  others may read it at the same time */
int run_dir_open_existing(struct run_dir *dir, const char *path, bool others_read, struct err *err);

/* Gives it back, and removes what run_dir_open() made if it is empty. */
void run_dir_close(struct run_dir *dir);

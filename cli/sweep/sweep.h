/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sweep: a scenario with every combination of values of some keys, each with several seeds. Its runs are numbered: the
 * first key varies slowest, the seed fastest. DIR/sweep.sqlite has a row for each finished run, so that the same command
 * resumes an interrupted sweep, and other programs can make a share of the runs.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/store/tables.h"
#include "common/err.h"
#include "scenario/scenario.h"
#include "twin/rerun/shard.h"

#define SWEEP_MAX_PATHS 8
#define SWEEP_MAX_VALUES 256 /* of a path */
#define SWEEP_MAX_SEEDS 1024
#define SWEEP_MAX_RUNS 100000
#define SWEEP_SET_BYTES 512 /* "PATH=VALUE" */

#define SWEEP_STORE "sweep.sqlite"
#define SWEEP_CSV "sweep.csv"
#define SWEEP_PLOT "sweep.svg"
#define SWEEP_RUNS "runs" /* a folder: NUMBER/ has the files of a run */

struct sweep_path {
	const char *path;
	const char *values[SWEEP_MAX_VALUES]; /* [count] */
	uint32_t count;
};

struct sweep {
	struct scenario_options scenario; /* with sets that every run is given */
	struct sweep_path paths[SWEEP_MAX_PATHS];
	uint32_t npaths;
	const char *also; /* a set that goes with values of the paths: "collectives.[0].step_bytes=0"; NULL: none */
	uint64_t seeds[SWEEP_MAX_SEEDS];
	uint32_t nseeds;
	const char *dir;
	uint32_t jobs;
	struct shard shard;
	bool discard;   /* the folder of a run, once its row is stored */
	bool real_time; /* runs have the CPUs that they need */
};

/* @return how many runs a sweep has, of all shards; 0: more than SWEEP_MAX_RUNS */
uint32_t sweep_runs(const struct sweep *sweep);

/* A run of a sweep. */
struct sweep_run {
	uint32_t number, point; /* runs of a point differ by their seeds */
	uint64_t seed;
	uint32_t values[SWEEP_MAX_PATHS]; /* of each path */
};

struct sweep_run sweep_run_of(const struct sweep *sweep, uint32_t number);

/*
 * Makes the runs of this shard that the store does not have; each is a `rocelab run` in DIR/runs/NUMBER.
 * @return how many failed, -EINTR: interrupted; other negative errno with err set
 */
int sweep_make(const struct sweep *sweep, sqlite3 *db, struct err *err);

/* The store. Queries below need no struct sweep: they read any sweep's store. */

/* @return NULL with err and errno set: EIO: the disk is full or broken; EINVAL: it has another sweep's results */
sqlite3 *sweep_store_open(const struct sweep *sweep, struct err *err);
bool sweep_store_has(sqlite3 *db, uint32_t number);
/* Adds a row for a run that has ended, from DIR/runs/NUMBER/run.sqlite. @return 0 or negative errno with err set */
int sweep_store_add(sqlite3 *db, const struct sweep *sweep, const struct sweep_run *run, const char *dir, struct err *err);
/*
 * Makes DIR/sweep.sqlite of those of several shards.
 * @return NULL with err and errno set: EIO: the disk is full or broken; EINVAL: they are of different sweeps, or lack runs
 */
sqlite3 *sweep_store_merge(const char *dir, const struct shard *shard, struct err *err);

/* @return runs that are there; *all is set to those of the sweep */
uint32_t sweep_store_count(sqlite3 *db, uint32_t *all);
/* @return the first of the measures that has values */
const char *sweep_first_measure(sqlite3 *db);
const char *sweep_measure_unit(const char *name);
/* @return whether a measure of this name exists, and is a number */
bool sweep_has_measure(const char *name);
/* "job_ms    ms    meaning" a line, for --help */
void sweep_list_measures(FILE *to);
/* Prints a row a point: means over its seeds. @return 0 or negative errno with err set */
int sweep_print(sqlite3 *db, enum tables_format format, FILE *to, struct err *err);
/* Prints the sweep in the form of nccl-tests: a row a point and collective. @param args  of the command, up to NULL */
int sweep_print_nccl(sqlite3 *db, bool json, const char *const *args, FILE *to, struct err *err);
/* Writes DIR/sweep.csv, a row a run. @return 0 or negative errno with err set */
int sweep_write_csv(sqlite3 *db, const char *dir, struct err *err);
/* Writes DIR/sweep.svg: a measure over the values of the first path. @param measure  NULL: the first that has values */
int sweep_write_plot(sqlite3 *db, const char *dir, const char *measure, struct err *err);

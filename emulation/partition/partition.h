/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric that several programs run, each a partition of its nodes, joined at the cables between them: processes of an MPI
 * job in virtual time, programs with streams between them in real time.
 *
 * Partitions advance together, as nodes do within one program, and a frame that crosses arrives at its exact instant of the
 * run's time, whatever the transport took. With embedded hosts all open the same windows (windows.c). With kernel hosts,
 * whose frames arrive at any time, each promises the others a time before which nothing leaves it, and none opens a window
 * that ends later than that time plus the delay of the boundary cable. A transport slower than the cable makes windows
 * late, and overruns no buffer. Clocks pace, and are never compared.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct partition;
struct partitions;
struct record_check;
struct scenario;
struct transport;

struct partition_options {
	uint32_t which, count;
	const char *addresses;             /* of all, with commas between them */
	const char *token;                 /* file whose first line it is; NULL: none */
	bool processes;                    /* of an MPI job instead (partition_join_job()) */
	const struct transport *transport; /* the job's */
	uint32_t lcores;                   /* of this process, of such a job */
};

/*
 * Joins the MPI job whose process this is.
 * @param options  which and count are set. @return 0, or negative errno with err set
 */
int partition_join_job(struct partition_options *options, struct err *err);
/*
 * Where no partition_create() follows, or partition_destroy() has returned; of a run without a job: nothing.
 * @param lost  another process is gone or stopped: it is not waited for
 */
void partition_leave_job(const struct partition_options *options, bool lost);
/* Parses "I/N". @return 0, or -EINVAL with err set */
int partition_number(const char *text, struct partition_options *options, struct err *err);

/*
 * Checks that the scenario can be partitioned, and divides it. Contacts no other partition yet.
 * @return NULL with err set
 */
struct partitions *partition_create(struct scenario *scenario, const struct partition_options *options, struct err *err);
void partition_destroy(struct partitions *partitions);
/* Whether another partition is gone, of no use, or has not been found. */
bool partition_has_lost(const struct partitions *partitions);

/* For emulation_create(). */
const struct partition *partition_here(const struct partitions *partitions);

/*
 * Finds the others.
 * @param diagnosers  plugin programs of the run, which the first partition starts
 * @return 0, or negative errno with err set: -EINVAL, -ETIMEDOUT, -EINTR
 */
int partition_rendezvous(struct partitions *partitions, const struct partition_options *options, uint32_t diagnosers,
			 struct err *err);
/*
 * @return the checker of the other partitions' records, which needs the run's header records; NULL: none are sent
 *         here
 */
struct record_check *partition_check(const struct partitions *partitions);
/*
 * A phase of the run (emulation/hosts.h): all begin at once, or none does. Call it once everything else is in place.
 * @return 0 with *zero_ns set to clock_now_ns() at time 0 of the run; negative errno with err set
 */
int partition_start(struct partitions *partitions, uint64_t *zero_ns, struct err *err);
/* The fabric has stopped: notifies the others and drops what was on boundary cables. Before emulation_end(). */
void partition_stop(struct partitions *partitions);

/* "partition 0 of 2: a, h0, h1", for people. @param buf  of 200 bytes. @return buf */
char *partition_describe(const struct partitions *partitions, char *buf);

/* SPDX-License-Identifier: BSD-3-Clause */
/* The programs that run the other parts of a fabric here, beside that of part 0. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/start/launch.h"
#include "common/wire/partition.h"

struct launch_partitions {
	uint32_t count; /* with part 0; 0: the fabric is whole */
	const struct launch *launch;
	char addresses[PARTITION_MAX * 64]; /* as --parts-at wants them */
	char number[PARTITION_MAX][16];     /* "1/2" */
	char dir[PARTITION_MAX][PATH_MAX];
	char first[64]; /* socket of part 0 */
	bool started;
	pid_t pids[PARTITION_MAX]; /* 0: it does not run */
	struct child_watch watch[PARTITION_MAX];
	int status;  /* the worst of theirs */
	int refused; /* the first of theirs that is of no run */
};

/* Names everything. Nothing is started. @return 0, or negative errno with err set */
int launch_partitions_init(struct launch_partitions *partitions, const struct launch *launch, struct err *err);
/* Appends what makes dpswitch a part. @return 0 or -E2BIG with err set */
int launch_partitions_add(const struct launch_partitions *partitions, uint32_t which, struct child_args *args,
			  struct err *err);

/*
 * Starts the others once part 0 listens: what it refuses is told once. To be called while it runs.
 * @return 0, or negative errno with err set: one does not start
 */
int launch_partitions_tend(struct launch_partitions *partitions, struct err *err);
/* Whether one of them has ended: part 0 should, too. */
bool launch_partitions_ended(const struct launch_partitions *partitions);
/* The exit code of one that has ended before there was a run (EXIT_USAGE, EXIT_NOT_BEGUN); EXIT_DONE: none has. */
int launch_partitions_refused(const struct launch_partitions *partitions);
/* Part 0 has ended: waits for the others, and kills one that does nothing any more. @return the worst of their exit codes */
int launch_partitions_wait(struct launch_partitions *partitions);
/* In a signal's handler: asks them to end. */
void launch_partitions_ask(const struct launch_partitions *partitions);

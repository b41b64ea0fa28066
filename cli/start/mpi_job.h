/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric of a run as an MPI job: mpirun, which starts a dpswitch for each partition. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/child.h"
#include "common/err.h"
#include "common/private_dir.h"

struct mpi_job {
	pid_t pid;       /* mpirun's */
	int from;        /* its stderr, that of all processes included */
	char line[2048]; /* [used] of it so far */
	size_t used;
	bool cut;                                      /* the rest of a long line is skipped */
	char why[256];                                 /* mpirun's first words, for a job that does not begin */
	char status[sizeof(PRIVATE_DIR_PATTERN) + 16]; /* file: the first process's pid and exit code */
};

/* Has mpirun started this program itself? Its number there, from 0; -1: it was not started by mpirun. */
bool mpi_job_has_this(void);
int mpi_job_rank(void);

/*
 * Starts it. Signals of the terminal do not reach it: see mpi_job_interrupt().
 * @param dir   struct private_dir's path, for a file
 * @param args  of dpswitch, from its name on; borrowed until this returns
 * @return pid, or negative errno with err set: -ENOPKG: there is no mpirun
 */
pid_t mpi_job_start(struct mpi_job *job, uint32_t processes, const char *dir, const struct child_args *args,
		    struct err *err);
/* Forwards what its processes print on stderr, and keeps what mpirun prints. A few times a second. */
void mpi_job_tend(struct mpi_job *job);
/* Asks all processes to end in good order. For a signal's handler. */
void mpi_job_interrupt(pid_t pid);
/* @return the first process, 0: it has not begun */
pid_t mpi_job_first(const struct mpi_job *job);
/*
 * mpirun has ended. @return the exit code of the first process; EXIT_FAILED where it did not begin as another one of this
 * machine had failed; CHILD_KILLED + SIGKILL: it died
 */
int mpi_job_end(struct mpi_job *job);

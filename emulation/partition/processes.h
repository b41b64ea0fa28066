/* SPDX-License-Identifier: BSD-3-Clause */
/* Partitions as processes of an MPI job that mpirun has started: the other transport of channels (rendezvous.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct transport;

/* Whether mpirun has started this process. */
bool processes_are_here(void);
/*
 * Joins the job, in the first thread, which alone uses the transport.
 * @param which      set: this process, of count
 * @param transport  set: to all others, until its end()
 * @return 0; -ENOTSUP with err set: this build has no MPI; -EINVAL: mpirun did not start it, or the number is impossible
 */
int processes_begin(uint32_t *which, uint32_t *count, const struct transport **transport, struct err *err);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How late the machine ran a fabric in real time: what its packet threads and its hosts with their own kernel waited for a
 * processor, and how far its windows were behind the clock. A thread of its own reads /proc, so that no packet thread waits
 * for that; between windows the first lcore takes what it has read, as LATENESS records.
 */
#pragma once

#include <jansson.h>

#include "common/err.h"
#include "emulation/emulation.h"

struct lateness;

/* Starts to measure; just before the first window. @return NULL with err set */
struct lateness *lateness_create(struct emulation *emulation, struct err *err);
/* Between windows: puts what was measured into the nodes' buffers. Never waits. @param now_ps  time of the records */
void lateness_collect(struct lateness *lateness, uint64_t now_ps);
/* After the last window: ends the thread, and puts the rest. @param end_ps  of the run */
void lateness_finish(struct lateness *lateness, uint64_t end_ps);
/* For run.json: sums of what this program measured. */
json_t *lateness_json(const struct lateness *lateness);
void lateness_destroy(struct lateness *lateness);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Outside programs that follow a run (outside/session.h). At each epoch's end, between windows, on the first lcore, they are told
 * how far the run is, with all records of before, and may ask for polls and probes: a port of a switch by its management, a
 * flow or a host by agents, as their own. In virtual time the run waits for their answers, in real time it does not.
 */
#pragma once

#include <stdint.h>

#include "common/err.h"
#include "emulation/recorder/output.h"
#include "outside/bounds.h"

struct emulation;
struct outsiders;

/* Starts programs. @param paths  [count]. @return NULL with err set: one cannot be run, or there are too many */
struct outsiders *outsiders_create(const struct emulation *emulation, const char *const *paths, uint32_t count,
				   struct err *err);
/* Ends what still runs. Also of NULL. */
void outsiders_destroy(struct outsiders *outsiders);

/* @param targets  [OUTSIDE_PROGRAMS] filled: outputs of the run's stream. @return how many; of NULL: 0 */
uint32_t outsiders_targets(const struct outsiders *outsiders, struct output_target *targets);

/* The run begins: from now on emulation->outsiders has turns. */
void outsiders_begin(struct outsiders *outsiders, struct emulation *emulation);
/* When the next turn is due; TIME_NEVER: none. Of NULL: the same. */
uint64_t outsiders_next_ps(const struct outsiders *outsiders);
/* Between windows: the turn that is due, if one is. */
void outsiders_run(struct emulation *emulation, uint64_t now_ps);

/*
 * The stream has ended: asks for last words, waits for them in either clock, ends the programs, tells the user what he should know,
 * and writes DIR/outside.json. Of NULL: nothing.
 * @return how many were left out, which the user was told; or negative errno with err set
 */
int outsiders_end(struct emulation *emulation, const char *dir, struct err *err);

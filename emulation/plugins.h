/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plugin diagnosers that follow a run (plugin/session.h). At each epoch's end, between windows, on the first lcore,
 * they receive the time of the run and all records up to it, and may ask for polls and probes: a port of a switch by
 * its management, a flow or a host by agents, as their own. In virtual time the run waits for their answers, in real
 * time it does not.
 */
#pragma once

#include <stdint.h>

#include "common/err.h"
#include "emulation/recorder/output.h"
#include "emulation/service.h"
#include "plugin/account.h"

struct emulation;
struct plugins;

/* Attached by plugins_begin(); its state is a struct plugins. */
extern const struct run_service service_plugins;

/* Starts programs. @param paths  [count]. @return NULL with err set: one cannot be run, or there are too many */
struct plugins *plugins_create(const struct emulation *emulation, const char *const *paths, uint32_t count,
			       struct err *err);
/* Ends the programs that still run. Also of NULL. */
void plugins_destroy(struct plugins *plugins);

/* @param targets  [PLUGIN_PROGRAMS] filled: outputs of the run's stream. @return how many; of NULL: 0 */
uint32_t plugins_targets(struct plugins *plugins, struct output_target *targets);

/* The run begins: from now on plugins have turns, as a service of the emulation. */
void plugins_begin(struct plugins *plugins, struct emulation *emulation);

/*
 * The stream has ended: requests the last findings, waits for them in either clock, ends the programs, prints
 * warnings for the user, and writes DIR/plugins.json. Without any: nothing.
 * @return how many were left out, which the user's warnings name; or negative errno with err set
 */
int plugins_end(struct emulation *emulation, const char *dir, struct err *err);

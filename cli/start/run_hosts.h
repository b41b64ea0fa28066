/* SPDX-License-Identifier: BSD-3-Clause */
/* The hosts of a run that have their own kernel: booted once the fabric listens, watched, and gone after it. */
#pragma once

#include <limits.h>

#include "common/child.h"
#include "common/run_files.h"
#include "rxe-hosts/guest/guest.h"

struct scenario;
struct scenario_options;

struct run_hosts;

/*
 * Finds the hosts of a scenario and the requirements to boot them; builds the guests' kernel where it is missing.
 * Nothing is started.
 * @param options   that dpswitch gets
 * @param scenario  loaded with the options; taken over
 * @param dir       of the run; the guests' files go to DIR/guests, and as long as a guest lives the lock is held
 * @param sockets   folder where the fabric makes the hosts' sockets
 * @param hosts     set to NULL where every host is embedded
 * @return 0, or negative errno with err set
 */
int run_hosts_create(const struct scenario_options *options, struct scenario *scenario, const struct run_dir *dir,
		     const char *sockets, struct run_hosts **hosts, struct err *err);
/* Stops all that still run. NULL is allowed. */
void run_hosts_destroy(struct run_hosts *hosts);

/*
 * Does what is due: boots hosts whose sockets the fabric has made, and ends a guest whose program has ended before
 * the run did, so that the fabric sees it. To be called a few times a second while the fabric runs.
 * @return 0, or negative errno with err set: a host does not start
 */
int run_hosts_tend(struct run_hosts *hosts, struct err *err);

/* The fabric has ended: stops all guests, side by side. */
void run_hosts_stop(struct run_hosts *hosts);

/* The files that booting guests needs on this machine: their paths. */

struct guests_paths {
	char init[PATH_MAX];
	char kernel[PATH_MAX]; /* empty: not built yet */
};

/*
 * Finds rxe-guest-init and the cached kernel.
 * @param err  the missing file and its remedy
 * @return 0; -ENOENT if rxe-guest-init is not there. A kernel that was not built is no error here: only "uml" needs
 *         it.
 */
int guests_find(struct guests_paths *paths, struct err *err);

/*
 * Installs the packages that guests need, and builds their kernel where it is missing: minutes. @return 0, or -ENOENT
 * with err
 */
int guests_install(struct guests_paths *paths, struct err *err);

/* SPDX-License-Identifier: BSD-3-Clause */
/* What booting guests needs on this machine: where it is. */
#pragma once

#include <limits.h>

#include "rxe-hosts/guest/guest.h"

struct guests_paths {
	char init[PATH_MAX];
	char kernel[PATH_MAX]; /* empty: not built yet */
};

/*
 * Finds rxe-guest-init and the cached kernel.
 * @param err  what is missing and how to get it
 * @return 0; -ENOENT if rxe-guest-init is not there. A kernel that was not built is no error here: only "uml" needs it.
 */
int guests_find(struct guests_paths *paths, struct err *err);

/* Installs the packages that guests need, and builds their kernel where it is missing: minutes. @return 0, or -ENOENT with err */
int guests_install(struct guests_paths *paths, struct err *err);

/*
 * Of a kernel that guests_find() did not find: asks at a terminal whether to install it, and is refused without one.
 * @return 0, or negative errno with err, which has the command: -ENOPKG: it is not there
 */
int guests_want_kernel(struct guests_paths *paths, struct err *err);

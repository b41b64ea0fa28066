/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The warden of a guest's process group: what ends the group when the keeper can no longer, since it was killed. A death
 * signal reaches only the keeper's own child; what user-mode Linux has forked by then may be stopped under ptrace, with
 * the guest's connections open, and whoever waits for their end would wait for ever.
 */
#pragma once

#include <sys/types.h>

struct warden {
	pid_t group; /* the warden, which leads it; 0: none */
	int alive;   /* the keeper's end of a pipe: its closing is the keeper's death */
};

/*
 * Forks a warden, which leads a new process group in the caller's session. Processes join it by setpgid(). When the caller
 * ends, however it does, the whole group is killed at once.
 * @return 0, or -errno
 */
int warden_start(struct warden *warden);

/* Ends the warden, and the group if anything is in it. A warden that was not started is left alone. */
void warden_stop(struct warden *warden);

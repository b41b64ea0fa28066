/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The warden of a guest's process group: what ends the group when the keeper can no longer, since it was killed. A death
 * signal reaches only the keeper's own child; what user-mode Linux has forked by then may be stopped under ptrace, with
 * the guest's connections open, and whoever waits for their end would wait for ever.
 *
 * The guest leads the group, as user-mode Linux would make itself a session of its own if it led none. The warden is in it,
 * and a child of the keeper's, which is a subreaper: the guest has no child that it does not know.
 */
#pragma once

/*
 * In the process that is to become the guest, once it leads its group: forks the warden. When the other end of a pipe is
 * closed everywhere, the whole group is killed at once.
 * @param alive  the end that is read
 * @return 0, or -errno
 */
int reaper_start(int alive);

/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/init/init.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "common/array.h"

struct mounted {
	const char *type, *dir, *options;
	bool of_namespace; /* shows what a network namespace has */
};

/* /tmp stays the server's: what is written to read it in a guest is seen there. Scratch space is /run. */
static const struct mounted mounts[] = {
	{ "proc", "/proc", NULL, false },     { "sysfs", "/sys", NULL, true },
	{ "devtmpfs", "/dev", NULL, false },  { "devpts", "/dev/pts", "mode=620,ptmxmode=666", false },
	{ "tmpfs", "/dev/shm", NULL, false }, { "tmpfs", "/run", "mode=755", false },
};

#define NMOUNTS ARRAY_LEN(mounts)

int
mounts_setup(bool namespace_only, struct err *err)
{
	const char *cpuinfo = getenv("ROCELAB_CPUINFO");

	for (size_t i = 0; i < NMOUNTS; i++) {
		const struct mounted *m = &mounts[i];

		if (namespace_only && !m->of_namespace)
			continue;
		if (strncmp(m->dir, "/dev/", 5) == 0)
			mkdir(m->dir, 0755);
		/* EBUSY: the kernel mounted it before us */
		if (mount(m->type, m->dir, m->type, 0, m->options) < 0 && errno != EBUSY)
			return err_set(err, -errno, "mount %s on %s: %s", m->type, m->dir, strerror(errno));
	}
	/* perftest reads the clock rate there, which a user-mode kernel does not know. */
	if (cpuinfo != NULL && mount(cpuinfo, "/proc/cpuinfo", NULL, MS_BIND, NULL) < 0)
		return err_set(err, -errno, "mount %s on /proc/cpuinfo: %s", cpuinfo, strerror(errno));
	return 0;
}

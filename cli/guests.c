/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/guests.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/child.h"

/* Where the script is that builds and finds the kernel: in the tree we were built from, or installed. */
static const char *const scripts[] = {
	ROCELAB_SOURCE "/scripts/rxe-kernel",
	ROCELAB_DATA "/scripts/rxe-kernel",
};

static void
find_kernel(char *path, size_t cap)
{
	char command[PATH_MAX + 32];

	path[0] = '\0';
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]) && path[0] == '\0'; i++) {
		FILE *script;

		if (access(scripts[i], X_OK) < 0)
			continue;
		snprintf(command, sizeof(command), "'%s' --cached", scripts[i]);
		script = popen(command, "re");
		if (script == NULL)
			continue;
		if (fgets(path, (int)cap, script) == NULL)
			path[0] = '\0';
		path[strcspn(path, "\n")] = '\0';
		pclose(script);
	}
}

int
guests_find(struct guests_paths *paths, struct err *err)
{
	find_kernel(paths->kernel, sizeof(paths->kernel));
	return child_find("rxe-guest-init", "rxe-hosts/guest", paths->init, sizeof(paths->init), err);
}

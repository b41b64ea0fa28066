/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/guests.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/child.h"
#include "common/log.h"

/* Where the script is that builds and finds the kernel: in the tree we were built from, or installed. */
static const char *const scripts[] = {
	ROCELAB_SOURCE "/scripts/rxe-kernel",
	ROCELAB_DATA "/scripts/rxe-kernel",
};

/* Asks the script. @param option  "--cached", or "" to build what is not there */
static void
ask_kernel(const char *option, char *path, size_t cap)
{
	char command[PATH_MAX + 32];

	path[0] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(scripts) && path[0] == '\0'; i++) {
		char line[PATH_MAX];
		FILE *script;

		if (access(scripts[i], X_OK) < 0)
			continue;
		snprintf(command, sizeof(command), "'%s' %s", scripts[i], option);
		script = popen(command, "re");
		if (script == NULL)
			continue;
		while (fgets(line, sizeof(line), script) != NULL) /* the last line is the path */
			snprintf(path, cap, "%.*s", (int)strcspn(line, "\n"), line);
		pclose(script);
	}
}

int
guests_find(struct guests_paths *paths, struct err *err)
{
	ask_kernel("--cached", paths->kernel, sizeof(paths->kernel));
	return child_find("rxe-guest-init", "rxe-hosts/guest", paths->init, sizeof(paths->init), err);
}

int
guests_build_kernel(struct guests_paths *paths, struct err *err)
{
	log_info("building the guests' kernel, once: some minutes (scripts/rxe-kernel)");
	ask_kernel("", paths->kernel, sizeof(paths->kernel));
	if (paths->kernel[0] != '/' || access(paths->kernel, X_OK) < 0)
		return err_set(err, -ENOENT, "the guests' kernel was not built; scripts/rxe-kernel tells why");
	return 0;
}

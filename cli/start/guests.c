/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/start/guests.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Runs scripts/setup kernel, whose output the user sees. @return its exit status, -1: it is not there */
static int
install_packages(void)
{
	char command[PATH_MAX + 32];

	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		if (access(scripts[i], X_OK) < 0)
			continue;
		snprintf(command, sizeof(command), "'%.*s/setup' kernel >&2", (int)(strrchr(scripts[i], '/') - scripts[i]),
			 scripts[i]);
		return system(command);
	}
	return -1;
}

int
guests_install(struct guests_paths *paths, struct err *err)
{
	log_info("looking for what the guests need: what is missing is installed, and their kernel built once, in some "
		 "minutes");
	if (install_packages() != 0)
		return err_set(err, -ENOENT, "the packages were not installed; scripts/setup kernel reports why");
	ask_kernel("", paths->kernel, sizeof(paths->kernel));
	if (paths->kernel[0] != '/' || access(paths->kernel, X_OK) < 0)
		return err_set(err, -ENOENT, "the guests' kernel was not built; scripts/rxe-kernel reports why");
	return 0;
}

/* @return whether a person at a terminal agrees */
static bool
is_agreed(void)
{
	char answer[16] = "";

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return false;
	fputs("The kernel of guests is not built yet. Install packages and build it now, which takes some minutes? [y/N] ",
	      stderr);
	return fgets(answer, sizeof(answer), stdin) != NULL && (answer[0] == 'y' || answer[0] == 'Y');
}

int
guests_want_kernel(struct guests_paths *paths, struct err *err)
{
	if (paths->kernel[0] != '\0')
		return 0;
	if (is_agreed())
		return guests_install(paths, err);
	return err_set(
		err, -ENOPKG,
		"the kernel that guests boot is not built yet: `rocelab doctor --install` installs what it needs and "
		"builds it, once");
}

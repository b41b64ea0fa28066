/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/init/init.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_MODULES 16

int
modules_load(struct err *err)
{
	const char *list = getenv("ROCELAB_MODULES");
	char words[256], *argv[MAX_MODULES + 3] = { "modprobe", "-a" };
	int count = 2, status;
	pid_t pid;

	if (list == NULL)
		return 0;
	snprintf(words, sizeof(words), "%s", list);
	for (char *word = strtok(words, ","); word != NULL && count < MAX_MODULES + 2; word = strtok(NULL, ","))
		argv[count++] = word;
	pid = fork();
	if (pid == 0) {
		execvp(argv[0], argv);
		fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return err_set(err, -errno, "%s: %s", argv[0], strerror(errno));
	return status == 0 ? 0 : err_set(err, -EIO, "modprobe %s failed; what it says is in the guest's log", list);
}

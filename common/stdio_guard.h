/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs started with standard streams closed must not take their own files for them, programs whose output was lost
 * must not end as if it had been read, and a file that may not grow any more (ulimit -f) is reported like a full disk.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Why stdout did not take what was written before: the reason went with that write, so it is asked again. */
static inline int
stdio_error(void)
{
	clearerr(stdout);
	return putchar('\n') == EOF || fflush(stdout) != 0 ? errno : EIO;
}

/* At exit: what stdout did not take ends the program with 1. */
static inline void
stdio_check(void)
{
	bool failed = ferror(stdout) != 0;
	int error = fflush(stdout) != 0 ? errno : 0;

	if (error == 0 && failed)
		error = stdio_error();
	if (error == 0)
		return;
	fprintf(stderr, "%s: standard output cannot be written: %s\n", program_invocation_short_name, strerror(error));
	_exit(EXIT_FAILURE);
}

/*
 * Opens what is closed among descriptors 0 to 2 (stdout for reading: writes fail, as they would have), has writes beyond
 * a limit fail, and stdout checked at exit. First in every main().
 */
static inline void
stdio_guard(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
		if (fd == STDOUT_FILENO) {
			close(fd);
			fd = open("/dev/null", O_RDONLY);
		}
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
	signal(SIGXFSZ, SIG_IGN); /* the write fails instead */
	atexit(stdio_check);
}

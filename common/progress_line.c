/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/progress_line.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define LINE_BYTES 512

void
progress_line(const char *format, ...)
{
	char line[LINE_BYTES] = "\r\033[K";
	const size_t lead = 4;
	va_list ap;
	int fd, n;

	if (!isatty(STDERR_FILENO))
		return;
	va_start(ap, format);
	n = vsnprintf(line + lead, sizeof(line) - lead, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	/* Opened anew: to make standard error itself non-blocking would do so for whoever shares it. */
	fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, line, lead + ((size_t)n < sizeof(line) - lead ? (size_t)n : sizeof(line) - lead - 1)) < 0)
		n = 0; /* the next one will do */
	close(fd);
}

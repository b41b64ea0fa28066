/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/progress_line.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/printable.h"

#define LINE_BYTES 512
#define PERIOD_NS 60000000000ULL

/*
 * Into a file, a pipe or a journal: a line a minute, the first after a minute. What is full gets none.
 * @param text  its length is n
 */
static void
log_line(const char *text, size_t n)
{
	static _Atomic uint64_t shown_ns; /* 0: never asked */
	struct pollfd to = { .fd = STDERR_FILENO, .events = POLLOUT };
	uint64_t now_ns = clock_now_ns(), before_ns = shown_ns;
	char line[LINE_BYTES + 64];
	int bytes;

	if (n == 0 || (before_ns != 0 && now_ns - before_ns < PERIOD_NS))
		return;
	shown_ns = now_ns;
	if (before_ns == 0 || poll(&to, 1, 0) != 1 || (to.revents & POLLOUT) == 0)
		return;
	bytes = snprintf(line, sizeof(line), "%s: %s\n", program_invocation_short_name, text);
	if (write(STDERR_FILENO, line, (size_t)bytes) < 0)
		return; /* the next one will do */
}

void
progress_line(const char *format, ...)
{
	char line[LINE_BYTES] = "\r\033[K";
	const size_t lead = 4;
	va_list ap;
	int fd, n;

	va_start(ap, format);
	n = vsnprintf(line + lead, sizeof(line) - lead, format, ap);
	va_end(ap);
	if (n < 0)
		return;
	printable_text(line + lead, line + lead, sizeof(line) - lead);
	n = (int)strlen(line + lead);
	if (!isatty(STDERR_FILENO)) {
		log_line(line + lead, (size_t)n);
		return;
	}
	/* Opened anew: to make standard error itself non-blocking would do so for whoever shares it. */
	fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, line, lead + (size_t)n) < 0)
		n = 0; /* the next one will do */
	close(fd);
}

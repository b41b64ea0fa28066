/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/printable.h"

static const char *const names[] = {
	[LOG_ERROR] = "error",
	[LOG_WARNING] = "warning",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

/* Written before there are threads. */
static enum log_level log_threshold = LOG_INFO;
static char command[64]; /* "": a user started this program */

int
log_open(void)
{
	const char *name = getenv("ROCELAB_LOG"), *caller = getenv(LOG_COMMAND);

	log_threshold = LOG_INFO;
	snprintf(command, sizeof(command), "%s", caller != NULL ? caller : "");
	unsetenv(LOG_COMMAND); /* what this program starts was not started by that command */
	if (name == NULL || *name == '\0')
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (strcmp(name, names[i]) == 0) {
			log_threshold = (enum log_level)i;
			return 0;
		}
	}
	log_error("ROCELAB_LOG=%s: error, warning, info or debug would be right", name);
	return -EINVAL;
}

void
log_set_command(const char *name)
{
	snprintf(command, sizeof(command), "%s", name);
}

const char *
log_command(void)
{
	return command[0] != '\0' ? command : NULL;
}

__attribute__((format(printf, 2, 0))) static void
log_line(const char *program, const char *fmt, va_list ap)
{
	char text[LOG_BYTES];

	vsnprintf(text, sizeof(text), fmt, ap);
	fprintf(stderr, "%s: %s\n", program, plain_line(text).text); /* one write: stderr is not buffered in between */
}

void
log_print(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	if (level > log_threshold)
		return;
	va_start(ap, fmt);
	log_line(program_invocation_short_name, fmt, ap);
	va_end(ap);
}

void
log_refusal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(command[0] != '\0' ? command : program_invocation_short_name, fmt, ap);
	va_end(ap);
}

void
log_fatal(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	log_line(program_invocation_short_name, fmt, ap);
	va_end(ap);
	abort();
}

/* The line of progress. */

#define LINE_BYTES 512
#define PERIOD_NS 60000000000ULL

/*
 * Into a file, a pipe or a journal: a line a minute, the first after a minute. What is full gets none.
 * @param text  its length is n
 */
static void
put_line(const char *text, size_t n)
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
		put_line(line + lead, (size_t)n);
		return;
	}
	/* Opened again: making standard error itself non-blocking would do so for all processes that share it. */
	fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (write(fd, line, lead + (size_t)n) < 0)
		n = 0; /* the next one will do */
	close(fd);
}

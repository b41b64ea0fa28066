/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
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

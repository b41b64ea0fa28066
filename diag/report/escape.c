/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/escape.h"

#include <stdarg.h>

#include "common/printable.h"

#define ESCAPE_CAP 2048

void
escape_dotf(FILE *to, const char *fmt, ...)
{
	char text[ESCAPE_CAP], safe[ESCAPE_CAP];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	printable_text(text, safe, sizeof(safe));
	fputc('"', to);
	for (const char *p = safe; *p != '\0'; p++) {
		if (*p == '\n') {
			fputs("\\n", to);
			continue;
		}
		if (*p == '"' || *p == '\\')
			fputc('\\', to);
		fputc(*p, to);
	}
	fputc('"', to);
}

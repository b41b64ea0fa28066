/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/err.h"

#include <stdio.h>

#include "common/printable.h"

int
err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (err == NULL || err->text[0] != '\0')
		return code;
	va_start(ap, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	printable_text(err->text, err->text, sizeof(err->text));
	return code;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Error text for people: filled where the problem is known, printed once by main(). */
#pragma once

#include <stdarg.h>

struct err {
	char text[1024];
};

/*
 * Stores a message, unless one is stored already (the first cause is the one to show). Its quotes may be untrusted:
 * it is kept as plain text (common/printable.h).
 * @return code, so that "return err_set(err, -EINVAL, ...)" reads well.
 */
int err_set(struct err *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

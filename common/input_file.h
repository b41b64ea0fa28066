/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a user names as input: regular ones alone, for a FIFO or a device would hold the program up. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "common/err.h"

/* @return descriptor, closed on exec; or negative errno with err: it cannot be opened, or -EINVAL: it is no regular file */
int input_open(const char *path, struct err *err);

/* Opens a file as input_open() does. @param err  NULL: the reason is not kept  @return NULL with err and errno */
FILE *input_fopen(const char *path, struct err *err);

/*
 * Checks a file that a reader then opens by its path, as SQLite does.
 * @return 0, or negative errno with err, as input_open()
 */
int input_check(const char *path, struct err *err);

/*
 * Parses a file as json_load_file() does, but opens it by input_open(). Inline: few programs that link this have
 * Jansson.
 * @return NULL with error, which may be NULL
 */
static inline json_t *
input_json(const char *path, size_t flags, json_error_t *error)
{
	struct err why = { "" };
	FILE *from = input_fopen(path, &why);
	json_t *root = from != NULL ? json_loadf(from, flags, error) : NULL;

	if (from != NULL)
		fclose(from);
	if (from == NULL && error != NULL) {
		*error = (json_error_t){ .line = -1, .column = -1 };
		snprintf(error->text, sizeof(error->text), "unable to open %.*s", (int)sizeof(error->text) - 16, why.text);
	}
	return root;
}

/*
 * The whole of a file, as input_open() opens it, with a zero byte behind it, the caller's to free.
 * @return NULL with err and errno, EINVAL too where it has more than max_bytes, whole MiB
 */
char *input_read(const char *path, size_t max_bytes, size_t *length, struct err *err);

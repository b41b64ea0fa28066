/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/import/import.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/array.h"
#include "common/cfg/cfg.h"
#include "common/printable.h"

#define FORMAT(id, value, name, symbol) [id] = &import_##symbol,
static const struct import_format *const formats[] = { IMPORT_KINDS(FORMAT) };

const struct import_format *
import_format(enum import_kind kind)
{
	assert((size_t)kind < ARRAY_LEN(formats));
	return formats[kind];
}

char *
import_read(const char *path, size_t *length, struct err *err)
{
	FILE *file = cfg_open_file(path);
	char *text = NULL;
	struct stat st;
	int rc = 0;

	if (file == NULL) {
		rc = -errno;
		err_set(err, rc, "%s: %s", path, strerror(errno));
		errno = -rc;
		return NULL;
	}
	if (fstat(fileno(file), &st) != 0 || st.st_size > (off_t)IMPORT_MAX_BYTES)
		rc = err_set(err, -EINVAL, "%s is no regular file of at most %u MiB", path, IMPORT_MAX_BYTES >> 20);
	else if ((text = calloc(1, (size_t)st.st_size + 1)) == NULL)
		rc = err_set(err, -ENOMEM, "%s: out of memory", path);
	else if (fread(text, 1, (size_t)st.st_size, file) != (size_t)st.st_size)
		rc = err_set(err, -EIO, "%s cannot be read", path);
	else
		*length = (size_t)st.st_size;
	fclose(file);
	if (rc == 0)
		return text;
	free(text);
	errno = -rc;
	return NULL;
}

char *
import_read_text(const char *path, size_t *length, struct err *err)
{
	char *text = import_read(path, length, err);

	if (text != NULL) {
		const char *begin = plain_begin(text);

		*length -= (size_t)(begin - text);
		memmove(text, begin, *length + 1);
	}
	return text;
}

struct coll_schedule *
import_schedule(const struct import_options *options, struct err *err)
{
	const struct import_format *format = import_format(options->kind);
	struct err first = { 0 };
	struct coll_schedule *schedule = format->read(options, false, &first);
	int rc = errno;

	if (schedule != NULL)
		return schedule;
	if (rc == EPROTO) {
		assert(format->stages); /* the others have no contents of messages, which the proof is about */
		return format->read(options, true, err);
	}
	err_set(err, -rc, "%s", first.text);
	errno = rc;
	return NULL;
}

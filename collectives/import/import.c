/* SPDX-License-Identifier: BSD-3-Clause */
#include "collectives/import/import.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "common/input_file.h"
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
	return input_read(path, IMPORT_MAX_BYTES, length, err);
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

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
	if (fstat(fileno(file), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t)IMPORT_MAX_BYTES)
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

/* Reads and proves. @param proved  cleared where the schedule is one, but does not do what it is for */
static struct coll_schedule *
attempt(const struct import_options *options, bool staged, bool *proved, struct err *err)
{
	struct coll_schedule *schedule = import_format(options->kind)->read(options, staged, err);
	struct err cause = { 0 };
	int rc;

	*proved = true;
	if (schedule == NULL || schedule->op == COLL_CUSTOM)
		return schedule;
	rc = coll_schedule_check(schedule, &cause);
	if (rc == 0)
		return schedule;
	*proved = rc != -EINVAL;
	err_set(err, rc, "%s does no %s: %s", options->path, coll_op_name(schedule->op), cause.text);
	coll_schedule_destroy(schedule);
	errno = -rc;
	return NULL;
}

struct coll_schedule *
import_schedule(const struct import_options *options, struct err *err)
{
	struct err first = { 0 };
	bool proved;
	struct coll_schedule *schedule = attempt(options, false, &proved, &first);

	if (schedule == NULL && !proved && import_format(options->kind)->stages)
		return attempt(options, true, &proved, err);
	if (schedule == NULL) {
		int rc = errno;

		err_set(err, -rc, "%s", first.text);
		errno = rc;
	}
	return schedule;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A look at the text before libconfig reads it, for what libconfig 1.5 does not survive or does not tell:
 * an included file that cannot be read to its end (a directory, say) ends the whole program, and an integer beyond
 * 32 bits without an L behind it is cut down silently.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/cfg/cfg_tree.h"

#define MAX_INCLUDE_DEPTH 8 /* libconfig itself stops at 10 */

struct scan {
	const char *text, *name, *dir; /* dir NULL: no files, no @include */
	const char *at;
	int line, depth;
	struct err *err;
};

static int scan_text(struct scan *scan);

int
cfg_scan(const char *text, const char *name, const char *include_dir, struct err *err)
{
	struct scan scan = { .text = text, .name = name, .dir = include_dir, .at = text, .line = 1, .err = err };

	return scan_text(&scan);
}

/* Moves behind the string or comment that begins here, if any does. */
static bool
skip_blank(struct scan *scan)
{
	const char *from = scan->at, *end = from;

	if (*from == '"') {
		for (end++; *end != '\0' && *end != '"'; end++)
			end += *end == '\\' && end[1] != '\0';
		end += *end == '"';
	} else if (*from == '#' || (from[0] == '/' && from[1] == '/')) {
		end += strcspn(from, "\n");
	} else if (from[0] == '/' && from[1] == '*') {
		end = strstr(from + 2, "*/");
		end = end != NULL ? end + 2 : from + strlen(from);
	}
	for (; scan->at < end; scan->at++)
		scan->line += *scan->at == '\n';
	return end != from;
}

static int
scan_number(struct scan *scan)
{
	bool is_hex = scan->at[0] == '0' && (scan->at[1] | 0x20) == 'x';
	size_t length = strspn(scan->at, "0123456789");
	const char *start = scan->at;
	unsigned long long value;
	bool is_long;
	char *end;

	errno = 0;
	value = strtoull(start, &end, is_hex ? 16 : 10);
	scan->at = end;
	if (!is_hex && (start[length] == '.' || (start[length] | 0x20) == 'e')) {
		scan->at += strspn(scan->at, "0123456789.eE+-");
		return 0;
	}
	is_long = *end == 'L';
	if (errno == ERANGE || value > INT64_MAX)
		return err_set(scan->err, -EINVAL, "%s:%d: %.*s does not fit 64 bits", scan->name, scan->line,
			       (int)(end - start < 64 ? end - start : 64), start);
	if (value > INT32_MAX && !is_long)
		return err_set(scan->err, -EINVAL, "%s:%d: %.*s does not fit 32 bits; %.*sL would be right", scan->name,
			       scan->line, (int)(end - start), start, (int)(end - start), start);
	return 0;
}

/* At "@include": libconfig takes it at the beginning of a line only. */
static int
scan_include(struct scan *scan)
{
	const char *name = scan->at + strlen("@include");
	struct scan inner = *scan;
	char file[CFG_MAX_FILE], *text;
	struct err why = { "" };
	size_t length;
	int rc;

	name += strspn(name, " \t");
	scan->at++;
	if (*name != '"')
		return 0;
	length = strcspn(++name, "\"\\\n");
	if (scan->dir == NULL)
		return err_set(scan->err, -EINVAL, "%s:%d: @include works in files only", scan->name, scan->line);
	if (name[length] != '"' || length == 0 || length + strlen(scan->dir) + 2 > sizeof(file))
		return err_set(scan->err, -EINVAL, "%s:%d: @include needs a file name in double quotes, without \\",
			       scan->name, scan->line);
	if (scan->depth == MAX_INCLUDE_DEPTH)
		return err_set(scan->err, -EINVAL, "%s:%d: @include: more than %d files deep", scan->name, scan->line,
			       MAX_INCLUDE_DEPTH);
	snprintf(file, sizeof(file), "%s%s%.*s", *name == '/' ? "" : scan->dir, *name == '/' ? "" : "/", (int)length, name);
	text = cfg_read_file(file, &why);
	if (text == NULL)
		return err_set(scan->err, -EINVAL, "%s:%d: @include: %s", scan->name, scan->line, why.text);
	inner.text = inner.at = text;
	inner.name = file;
	inner.line = 1;
	inner.depth++;
	rc = scan_text(&inner);
	free(text);
	return rc;
}

static bool
is_name(char c)
{
	return isalnum((unsigned char)c) || strchr("_*-", c) != NULL;
}

static int
scan_text(struct scan *scan)
{
	int rc = 0;

	while (*scan->at != '\0' && rc == 0) {
		char c = *scan->at;

		if (skip_blank(scan))
			continue;
		if (isdigit((unsigned char)c)) {
			rc = scan_number(scan);
		} else if (isalpha((unsigned char)c)) {
			while (*scan->at != '\0' && is_name(*scan->at))
				scan->at++;
		} else if (strncmp(scan->at, "@include", strlen("@include")) == 0) {
			rc = scan_include(scan);
		} else {
			scan->line += c == '\n';
			scan->at++;
		}
	}
	return rc;
}

FILE *
cfg_open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	return fd >= 0 ? fdopen(fd, "rb") : NULL;
}

char *
cfg_read_file(const char *path, struct err *err)
{
	FILE *file = cfg_open_file(path);
	char *text = NULL;
	struct stat st;

	if (file == NULL || fstat(fileno(file), &st) != 0) {
		err_set(err, -errno, "%s: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > CFG_MAX_BYTES) {
		errno = EINVAL;
		err_set(err, -EINVAL, "%s: not a regular file of at most %u MiB", path, CFG_MAX_BYTES >> 20);
		goto out;
	}
	text = calloc(1, (size_t)st.st_size + 1);
	if (text == NULL || fread(text, 1, (size_t)st.st_size, file) != (size_t)st.st_size) {
		errno = EIO;
		err_set(err, -EIO, "%s: cannot be read", path);
		goto fail;
	}
	if (memchr(text, '\0', (size_t)st.st_size) == NULL)
		goto out;
	errno = EINVAL;
	err_set(err, -EINVAL, "%s: holds a zero byte; plain text would be right", path);
fail:
	free(text);
	text = NULL;
out:
	if (file != NULL)
		fclose(file);
	return text;
}

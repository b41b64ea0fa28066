/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* @return descriptor, with its state; or negative errno with err */
static int
open_regular(const char *path, struct stat *st, struct err *err)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), ret;

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, st) != 0)
		ret = err_set(err, -errno, "%s: %s", path, strerror(errno));
	else if (S_ISREG(st->st_mode))
		return fd;
	else if (S_ISDIR(st->st_mode))
		ret = err_set(err, -EISDIR, "%s: this is a folder: give a regular file", path);
	else
		ret = err_set(err, -EINVAL, "%s: this is a pipe, a socket or a device: give a regular file", path);
	close(fd);
	return ret;
}

int
input_open(const char *path, struct err *err)
{
	struct stat st;

	return open_regular(path, &st, err);
}

int
input_check(const char *path, struct err *err)
{
	int fd = input_open(path, err);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

FILE *
input_fopen(const char *path, struct err *err)
{
	struct err unread;
	int fd = input_open(path, err != NULL ? err : &unread), code;
	FILE *file;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	file = fdopen(fd, "r");
	if (file == NULL) {
		code = errno;
		if (err != NULL)
			err_set(err, -code, "%s: %s", path, strerror(code));
		close(fd);
		errno = code;
	}
	return file;
}

char *
input_read(const char *path, size_t max_bytes, size_t *length, struct err *err)
{
	struct stat st;
	int fd = open_regular(path, &st, err), rc = fd < 0 ? fd : 0;
	char *text = NULL;

	if (rc == 0 && (size_t)st.st_size > max_bytes)
		rc = err_set(err, -EINVAL, "%s is no regular file of at most %zu MiB", path, max_bytes >> 20);
	if (rc == 0 && (text = calloc(1, (size_t)st.st_size + 1)) == NULL)
		rc = err_set(err, -ENOMEM, "%s: out of memory", path);
	if (rc == 0 && read(fd, text, (size_t)st.st_size) != (ssize_t)st.st_size)
		rc = err_set(err, -EIO, "%s cannot be read", path);
	if (fd >= 0)
		close(fd);
	if (rc == 0) {
		*length = (size_t)st.st_size;
		return text;
	}
	free(text);
	errno = -rc;
	return NULL;
}

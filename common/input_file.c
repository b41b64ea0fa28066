/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
input_open(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), ret;
	struct stat st;

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	ret = S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	close(fd);
	return err_set(err, ret, "%s: %s: give a regular file", path,
		       ret == -EISDIR ? "this is a folder" : "this is a pipe, a socket or a device");
}

FILE *
input_fopen(const char *path, struct err *err)
{
	int fd = input_open(path, err);
	FILE *file;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	file = fdopen(fd, "r");
	if (file == NULL) {
		err_set(err, -errno, "%s: %s", path, strerror(errno));
		close(fd);
	}
	return file;
}

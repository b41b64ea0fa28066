/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/initramfs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define MODE_EXECUTABLE 0100755U
#define TRAILER "TRAILER!!!"

static void
pad(FILE *to, size_t written)
{
	static const char zeros[4];

	fwrite(zeros, 1, (4 - written % 4) % 4, to);
}

static void
write_header(FILE *to, unsigned number, const char *name, unsigned mode, size_t bytes)
{
	/* magic, inode, mode, uid, gid, links, mtime, size, device major and minor twice, length of the name, checksum */
	int n = fprintf(to, "070701%08X%08X%08X%08X%08X%08X%08zX%08X%08X%08X%08X%08zX%08X%s", number, mode, 0, 0, 1, 0,
			bytes, 0, 0, 0, 0, strlen(name) + 1, 0, name);

	fputc('\0', to);
	pad(to, (size_t)n + 1);
}

static int
write_file(FILE *to, unsigned number, const struct initramfs_file *file, struct err *err)
{
	FILE *from = fopen(file->from, "re");
	char bytes[65536];
	struct stat status;
	size_t n, left;

	if (from == NULL || fstat(fileno(from), &status) < 0) {
		int rc = err_set(err, -errno, "%s: %s", file->from, strerror(errno));

		if (from != NULL)
			fclose(from);
		return rc;
	}
	left = (size_t)status.st_size;
	write_header(to, number, file->name, MODE_EXECUTABLE, left);
	while (left > 0 && (n = fread(bytes, 1, left < sizeof(bytes) ? left : sizeof(bytes), from)) > 0) {
		fwrite(bytes, 1, n, to);
		left -= n;
	}
	fclose(from);
	pad(to, (size_t)status.st_size);
	return left == 0 ? 0 : err_set(err, -EIO, "%s: it shrank while it was read", file->from);
}

int
initramfs_write(const char *path, const struct initramfs_file *files, size_t count, struct err *err)
{
	FILE *to = fopen(path, "we");
	int rc = 0;

	if (to == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	for (size_t i = 0; i < count && rc == 0; i++)
		rc = write_file(to, (unsigned)i + 1, &files[i], err);
	write_header(to, 0, TRAILER, 0, 0);
	if (ferror(to) || fclose(to) != 0)
		return err_set(err, -EIO, "%s: cannot be written", path);
	return rc;
}

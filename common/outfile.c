/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#define MODE 0666

static int
make_paths(struct outfile *out, const char *dir, const char *name, struct err *err)
{
	if (snprintf(out->path, sizeof(out->path), "%s/%s", dir, name) >= (int)sizeof(out->path) ||
	    snprintf(out->aside, sizeof(out->aside), "%s/.%s.new", dir, name) >= (int)sizeof(out->aside))
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	return 0;
}

/* Writes all of it, or sets err: stdio forgets the errno. */
static ssize_t
write_all(void *cookie, const char *data, size_t size_bytes)
{
	struct outfile *out = cookie;
	size_t left_bytes = size_bytes;

	while (left_bytes > 0) {
		ssize_t done = write(out->fd, data, left_bytes);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0) {
			if (out->error == 0)
				out->error = errno;
			return 0; /* a write that failed, to stdio */
		}
		data += done;
		left_bytes -= (size_t)done;
	}
	return (ssize_t)size_bytes;
}

int
outfile_open(struct outfile *out, const char *dir, const char *name, struct err *err)
{
	const cookie_io_functions_t functions = { .write = write_all };
	struct stat there;
	int ret;

	*out = (struct outfile){ .fd = -1 };
	ret = make_paths(out, dir, name, err);
	if (ret < 0)
		return ret;
	if (stat(out->path, &there) == 0 && !S_ISREG(there.st_mode))
		return err_set(err, -EINVAL, "%s is there, and no regular file: it is not replaced", out->path);
	out->fd = outfile_stream(out->aside, err);
	if (out->fd < 0)
		return out->fd;
	out->file = fopencookie(out, "w", functions);
	if (out->file != NULL)
		return 0;
	close(out->fd);
	unlink(out->aside);
	return err_set(err, -ENOMEM, "%s: out of memory", out->path);
}

int
outfile_open_path(struct outfile *out, const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];

	if (slash == NULL)
		return outfile_open(out, ".", path, err);
	if (slash - path >= (ptrdiff_t)sizeof(dir))
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", path);
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = '\0'; /* of "/name": "", and "/" is put between the two */
	return outfile_open(out, dir, slash + 1, err);
}

int
outfile_finish(struct outfile *out, int ret, struct err *err)
{
	bool failed = ferror(out->file) != 0;

	failed |= fclose(out->file) != 0;
	out->file = NULL;
	if (close(out->fd) < 0 && out->error == 0)
		out->error = errno;
	if (failed && out->error == 0)
		out->error = EIO;
	out->whole = ret == 0 && out->error == 0;
	if (!out->whole)
		unlink(out->aside);
	if (out->error != 0)
		ret = err_set(err, -out->error, "%s: cannot be written: %s", out->path, strerror(out->error));
	return ret == 0 ? 0 : err_set(err, ret, "%s: %s", out->path, strerror(-ret));
}

int
outfile_place(struct outfile *out, struct err *err)
{
	int ret;

	if (rename(out->aside, out->path) == 0) {
		out->whole = false;
		return 0;
	}
	ret = err_set(err, -errno, "%s: cannot be moved there from %s: %s", out->path, out->aside, strerror(errno));
	outfile_drop(out);
	return ret;
}

void
outfile_drop(struct outfile *out)
{
	if (out->whole)
		unlink(out->aside);
	out->whole = false;
}

int
outfile_close(struct outfile *out, int ret, struct err *err)
{
	ret = outfile_finish(out, ret, err);
	return ret == 0 ? outfile_place(out, err) : ret;
}

/* Files and links are removed; a folder, a device or a pipe of that name stays. @return 0 or negative errno */
static int
remove_file(const char *path)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode))
		return -EEXIST;
	return unlink(path) == 0 || errno == ENOENT ? 0 : -errno;
}

int
outfile_stream(const char *path, struct err *err)
{
	int fd, ret = remove_file(path);

	if (ret < 0)
		return err_set(err, ret, "%s: %s", path, strerror(-ret));
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, MODE);
	return fd >= 0 ? fd : err_set(err, -errno, "%s: %s", path, strerror(errno));
}

int
outfile_tidy(const char *dir, const char *name)
{
	struct outfile out;
	int ret = make_paths(&out, dir, name, NULL);

	return ret == 0 ? remove_file(out.aside) : ret;
}

int
outfile_remove(const char *dir, const char *name, struct err *err)
{
	struct outfile out;
	int ret = make_paths(&out, dir, name, err);

	if (ret == 0)
		ret = remove_file(out.aside);
	if (ret == 0)
		ret = remove_file(out.path);
	return ret == 0 ? 0 : err_set(err, ret, "%s/%s: cannot be removed: %s", dir, name, strerror(-ret));
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/run_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/outfile.h"
#include "common/wire/partition.h"

/* Results before the recording that they are of: no moment has a verdict beside the recording of another run. */
static const char *const names[] = {
	RUN_COMPARISON, RUN_VERDICT,   RUN_TEXT,        RUN_PAGE,    RUN_WAITING,       RUN_PROVENANCE,
	RUN_VOLUMES,    RUN_PATHS,     RUN_PINGMESH,    RUN_SUMMARY, RUN_TRUTH,         RUN_STEPS,
	RUN_FLOWS,      RUN_CAPTURE,   RUN_PREDICTION,  RUN_PLUGIN,  RUN_STORE_JOURNAL, RUN_STORE,
	RUN_TWIN,       RUN_TWIN_RUNS, RUN_TWIN_CONFIG, RUN_CONFIG,  RUN_ARRIVALS,      RUN_RECORDING,
};

#define NAMES ARRAY_LEN(names)

int
run_files_check(const char *dir, struct err *err)
{
	char path[PATH_MAX];
	struct stat there;

	if (access(dir, W_OK | X_OK) < 0 && errno != ENOENT) /* which the run makes */
		return err_set(err, -errno, "%s: no files can be written there: %s: give another --out", dir,
			       strerror(errno));
	for (size_t i = 0; i < NAMES; i++)
		if (snprintf(path, sizeof(path), "%s/%s", dir, names[i]) < (int)sizeof(path) && lstat(path, &there) == 0 &&
		    !S_ISREG(there.st_mode) && !S_ISLNK(there.st_mode))
			return err_set(err, -EEXIST,
				       "%s is %s, and a run writes a file of this name: move it, or give another --out",
				       path, S_ISDIR(there.st_mode) ? "a folder" : "no regular file");
	return 0;
}

int
run_files_remove(const char *dir, struct err *err)
{
	int ret = 0;

	for (size_t i = 0; i < NAMES && ret == 0; i++)
		ret = outfile_remove(dir, names[i], err);
	return ret;
}

bool
run_files_has(const char *dir, const char *path)
{
	struct stat asked, ours;
	char name[PATH_MAX];

	if (stat(path, &asked) < 0)
		return false;
	for (size_t i = 0; i < NAMES; i++)
		if (snprintf(name, sizeof(name), "%s/%s", dir, names[i]) < (int)sizeof(name) && stat(name, &ours) == 0 &&
		    ours.st_dev == asked.st_dev && ours.st_ino == asked.st_ino)
			return true;
	return false;
}

static bool
is_log(const char *name)
{
	size_t length = strlen(name);

	return length > 4 && strcmp(name + length - 4, ".log") == 0;
}

int
run_files_remove_guests(const char *dir, struct err *err)
{
	char path[PATH_MAX];
	struct dirent *entry;
	int fd, ret = 0;
	DIR *guests;

	if (snprintf(path, sizeof(path), "%s/" RUN_GUESTS, dir) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) /* what else may have that name is not ours */
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
			       ? 0
			       : err_set(err, -errno, "%s: %s", path, strerror(errno));
	guests = fdopendir(fd);
	if (guests == NULL) {
		close(fd);
		return err_set(err, -ENOMEM, "%s: out of memory", path);
	}
	while (ret == 0 && (entry = readdir(guests)) != NULL)
		if (is_log(entry->d_name) && unlinkat(fd, entry->d_name, 0) < 0 && errno != ENOENT)
			ret = err_set(err, -errno, "%s/%s: cannot be removed: %s", path, entry->d_name, strerror(errno));
	closedir(guests);
	rmdir(path); /* where nothing else is in it */
	return ret;
}

/* One folder; a file, or a link that leads elsewhere, is not ours. */
static int
remove_system(const char *path, struct err *err)
{
	struct stat status;
	int ret;

	if (lstat(path, &status) < 0 || !S_ISDIR(status.st_mode))
		return 0;
	ret = run_files_remove(path, err);
	if (ret == 0)
		ret = run_files_remove_guests(path, err);
	rmdir(path); /* where nothing else is in it */
	return ret;
}

int
run_files_remove_systems(const char *dir, struct err *err)
{
	char path[PATH_MAX], inside[PATH_MAX];
	struct dirent *entry;
	struct stat status;
	DIR *systems;
	int ret = 0;

	if (snprintf(path, sizeof(path), "%s/" RUN_SYSTEMS, dir) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
	if (lstat(path, &status) < 0 || !S_ISDIR(status.st_mode))
		return 0;
	systems = opendir(path);
	if (systems == NULL)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	while (ret == 0 && (entry = readdir(systems)) != NULL)
		if (entry->d_name[0] != '.' &&
		    snprintf(inside, sizeof(inside), "%s/%s", path, entry->d_name) < (int)sizeof(inside))
			ret = remove_system(inside, err);
	closedir(systems);
	rmdir(path);
	return ret;
}

int
run_files_remove_partitions(const char *dir, uint32_t first, struct err *err)
{
	char path[PATH_MAX];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/" RUN_PARTITIONS, dir) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode)) /* what leads elsewhere is not ours */
		return 0;
	for (uint32_t partition = first; partition < PARTITION_MAX; partition++) {
		int ret;

		if (snprintf(path, sizeof(path), "%s/" RUN_PARTITIONS "/%u", dir, partition) >= (int)sizeof(path))
			return err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
		if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		ret = run_files_remove(path, err);
		if (ret < 0)
			return ret;
		rmdir(path); /* where nothing else is in it */
	}
	snprintf(path, sizeof(path), "%s/" RUN_PARTITIONS, dir);
	rmdir(path);
	return 0;
}

void
run_files_tidy(const char *dir)
{
	char path[PATH_MAX];
	struct stat there;

	for (size_t i = 0; i < NAMES; i++)
		outfile_tidy(dir, names[i]);
	if (snprintf(path, sizeof(path), "%s/" RUN_LIVE, dir) >= (int)sizeof(path) || lstat(path, &there) < 0 ||
	    !S_ISSOCK(there.st_mode))
		return;
	unlink(path);
	snprintf(path, sizeof(path), "%s/" RUN_LIVE_LOCK, dir);
	unlink(path);
}

/* The folder. */

#define BUSY_NS 3000000000ULL
#define BUSY_POLL_NS 20000000ULL
#define MAX_TRIES 16 /* a refused run may remove the folder that it made while we open it */

int
run_dir_make(const char *dir, struct err *err)
{
	char path[PATH_MAX];
	int made = 0;

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", dir);
	for (char *end = path + 1, last = '/'; last != '\0'; end++) {
		last = *end;
		if (last != '/' && last != '\0')
			continue;
		*end = '\0';
		if (mkdir(path, 0777) == 0)
			made++;
		else if (errno != EEXIST)
			return err_set(err, -errno, "%s: %s", path, strerror(errno));
		*end = last;
	}
	return made;
}

/* @return 0, or -EWOULDBLOCK while another program has it, or another negative errno */
static int
wait_for_lock(int fd, int how)
{
	uint64_t deadline_ns = clock_now_ns() + BUSY_NS;

	while (flock(fd, how | LOCK_NB) < 0) {
		if (errno != EINTR && (errno != EWOULDBLOCK || clock_now_ns() >= deadline_ns))
			return -errno;
		clock_sleep_until_ns(clock_now_ns() + BUSY_POLL_NS);
	}
	return 0;
}

/* @return descriptor; -ESTALE: the folder was removed meanwhile; other negative errno with err set */
static int
lock_dir(const char *path, int how, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY), ret; /* inherited by programs that are started */
	struct stat ours, there;

	if (fd < 0)
		return errno == ENOENT ? -ESTALE : err_set(err, -errno, "%s: %s", path, strerror(errno));
	ret = wait_for_lock(fd, how);
	if (ret == -EWOULDBLOCK)
		err_set(err, ret, "%s: another run writes there; give --out DIR", path);
	else if (ret < 0)
		err_set(err, ret, "%s: cannot be locked: %s", path, strerror(-ret));
	else if (fstat(fd, &ours) < 0 || stat(path, &there) < 0 || ours.st_dev != there.st_dev ||
		 ours.st_ino != there.st_ino)
		ret = -ESTALE;
	if (ret == 0)
		return fd;
	close(fd);
	return ret;
}

static void
remove_made(struct run_dir *dir)
{
	char *slash;

	while (dir->made > 0 && rmdir(dir->path) == 0) {
		dir->made--;
		slash = strrchr(dir->path, '/');
		if (slash == NULL)
			break;
		*slash = '\0';
	}
}

int
run_dir_open(struct run_dir *dir, const char *path, struct err *err)
{
	*dir = (struct run_dir){ .lock = -1 };
	if (path[0] == '\0')
		return err_set(err, -EINVAL, "a folder without a name; \".\" is the current one");
	if (snprintf(dir->path, sizeof(dir->path), "%s", path) >= (int)sizeof(dir->path))
		return err_set(err, -ENAMETOOLONG, "%s: too long a path", path);
	for (size_t end = strlen(dir->path); end > 1 && dir->path[end - 1] == '/'; end--)
		dir->path[end - 1] = '\0';
	for (int tries = 0; tries < MAX_TRIES; tries++) {
		int made = run_dir_make(dir->path, err);

		if (made < 0)
			return made;
		dir->made = made > dir->made ? made : dir->made;
		dir->lock = lock_dir(dir->path, LOCK_EX, err);
		if (dir->lock >= 0)
			return 0;
		if (dir->lock != -ESTALE)
			return dir->lock;
	}
	return err_set(err, -ESTALE, "%s: others remove it again and again", path);
}

int
run_dir_open_existing(struct run_dir *dir, const char *path, bool others_read, struct err *err)
{
	*dir = (struct run_dir){ .lock = -1 };
	snprintf(dir->path, sizeof(dir->path), "%s", path);
	dir->lock = lock_dir(path, others_read ? LOCK_SH : LOCK_EX, err);
	if (dir->lock == -ESTALE)
		err_set(err, -ENOENT, "%s: %s", path, strerror(ENOENT));
	return dir->lock >= 0 ? 0 : dir->lock;
}

void
run_dir_close(struct run_dir *dir)
{
	if (dir->lock < 0)
		return;
	remove_made(dir);
	close(dir->lock);
	dir->lock = -1;
}

void
run_dir_name(const char *path, char *buf, size_t cap)
{
	static const char ending[] = ".cfg";
	const size_t ending_len = sizeof(ending) - 1;
	size_t end = strlen(path), start, len;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	len = end - start;
	if (len > ending_len && strncmp(path + end - ending_len, ending, ending_len) == 0 &&
	    strspn(path + start, ".") < len - ending_len)
		len -= ending_len;
	if (strspn(path + start, "./") >= len) /* "..", ".", "/" are no names */
		snprintf(buf, cap, "run");
	else
		snprintf(buf, cap, "%.*s", (int)len, path + start);
}

void
run_dir_default(const char *parent, const char *path, char *buf, size_t cap)
{
	int len = snprintf(buf, cap, "%s/", parent);

	if (len < (int)cap)
		run_dir_name(path, buf + len, cap - (size_t)len);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/private_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARENT "/tmp"
#define PREFIX "rocelab-run-"
#define RANDOM_LETTERS 6
#define LOCK "lock"
#define MAX_DEPTH 4  /* of folders in it; deeper ones are not ours */
#define MAX_TRIES 16 /* others may take a new folder for one that was left over, once each */

static bool
is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/*
 * Removes the contents of a folder, without following links. @param keep  but this; NULL: nothing @param fd  is closed
 */
static void
empty(int fd, const char *keep, int depth)
{
	DIR *dir = fdopendir(fd);
	struct dirent *entry;

	if (dir == NULL) {
		close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		int below;

		if (is_dot(entry->d_name) || (keep != NULL && strcmp(entry->d_name, keep) == 0) ||
		    unlinkat(dirfd(dir), entry->d_name, 0) == 0 || depth == 0)
			continue;
		below = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0)
			empty(below, NULL, depth - 1);
		unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR);
	}
	closedir(dir);
}

/* The lock is removed last: a folder without one is never emptied. @param fd  of the folder */
static void
remove_all(int parent, const char *name, int fd)
{
	empty(dup(fd), LOCK, MAX_DEPTH);
	unlinkat(fd, LOCK, 0);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* Removes a folder if it is one of ours whose program is gone. */
static void
sweep(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), lock;
	struct stat status;

	if (fd < 0)
		return;
	lock = openat(fd, LOCK, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fstat(fd, &status) < 0 || status.st_uid != geteuid())
		; /* of another owner */
	else if (lock < 0 && errno == ENOENT)
		unlinkat(parent, name, AT_REMOVEDIR); /* killed before it could lock it: it is empty */
	else if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
		remove_all(parent, name, fd);
	if (lock >= 0)
		close(lock);
	close(fd);
}

static void
sweep_all(void)
{
	DIR *dir = opendir(PARENT);
	struct dirent *entry;

	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
		    strlen(entry->d_name) == strlen(PREFIX) + RANDOM_LETTERS)
			sweep(dirfd(dir), entry->d_name);
	closedir(dir);
}

/*
 * Programs that are started hold it, too.
 * @return descriptor; -1 with errno, ENOENT: another program removed the folder as a leftover
 */
static int
make_lock(const char *folder)
{
	char path[sizeof(PRIVATE_DIR_PATTERN) + sizeof(LOCK)];
	struct stat status;
	int fd;

	snprintf(path, sizeof(path), "%s/" LOCK, folder);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &status) == 0 && status.st_nlink == 1)
		return fd;
	close(fd);
	errno = ENOENT;
	return -1;
}

int
private_dir_create(struct private_dir *dir, struct err *err)
{
	*dir = (struct private_dir){ .lock = -1 };
	sweep_all();
	for (int tries = 0; tries < MAX_TRIES; tries++) {
		strcpy(dir->path, PRIVATE_DIR_PATTERN);
		if (mkdtemp(dir->path) == NULL)
			break;
		dir->lock = make_lock(dir->path);
		if (dir->lock >= 0)
			return 0;
		if (errno != ENOENT) { /* not swept, but no file can be made */
			rmdir(dir->path);
			break;
		}
	}
	dir->path[0] = '\0';
	return err_set(err, -errno, PRIVATE_DIR_PATTERN ": %s", strerror(errno));
}

void
private_dir_remove(struct private_dir *dir)
{
	int parent, fd;

	if (dir->path[0] == '\0')
		return;
	parent = open(PARENT, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (parent >= 0 && fd >= 0)
		remove_all(parent, dir->path + strlen(PARENT "/"), fd);
	if (fd >= 0)
		close(fd);
	if (parent >= 0)
		close(parent);
	close(dir->lock);
	*dir = (struct private_dir){ .lock = -1 };
}

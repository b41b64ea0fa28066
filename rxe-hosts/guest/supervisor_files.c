/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/guest/supervisor_files.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/outfile.h"

#define MAX_OPEN_FOLDERS 8
#define BACKLOG 8

static int
path_in(char *path, size_t cap, const char *dir, const char *name, const char *suffix, struct err *err)
{
	int n = snprintf(path, cap, "%s/%s%s", dir, name, suffix);

	return n < (int)cap ? 0 : err_set(err, -ENAMETOOLONG, "%s: too long a path for the guests' files", dir);
}

static FILE *
create_in(const struct supervisor_files *files, const char *name, struct err *err)
{
	char path[PATH_MAX];
	FILE *file;

	if (path_in(path, sizeof(path), files->private_dir, name, "", err) < 0)
		return NULL;
	file = fopen(path, "we");
	if (file == NULL)
		err_set(err, -errno, "%s: %s", path, strerror(errno));
	return file;
}

/* A copy: a guest sees files of the server's /proc as empty. */
static int
write_cpuinfo(const struct supervisor_files *files, struct err *err)
{
	FILE *from = fopen("/proc/cpuinfo", "re"), *to = create_in(files, "cpuinfo", err);
	char line[4096];

	while (from != NULL && to != NULL && fgets(line, sizeof(line), from) != NULL)
		fputs(line, to);
	if (from != NULL)
		fclose(from);
	if (to != NULL && fclose(to) == 0)
		return 0;
	return err_set(err, -EIO, "%s/cpuinfo: cannot be written: %s", files->private_dir, strerror(errno));
}

/* The path of a socket has room for 107 characters: it is bound through its folder's descriptor. */
static int
open_socket(struct supervisor_files *files, const char *dir, const char *name, struct err *err)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int folder = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), rc = 0;

	files->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/%s.sock", folder, name);
	if (folder < 0 || files->listener < 0 || (unlink(files->socket_path) < 0 && errno != ENOENT) ||
	    bind(files->listener, (const struct sockaddr *)&at, sizeof(at)) < 0 || chmod(files->socket_path, 0600) < 0 ||
	    listen(files->listener, BACKLOG) < 0)
		rc = err_set(err, -errno, "%s: %s", files->socket_path, strerror(errno));
	if (folder >= 0)
		close(folder);
	return rc;
}

int
supervisor_files_init(struct supervisor_files *files, const struct guest_config *config, struct err *err)
{
	int rc;

	*files = (struct supervisor_files){ .log = -1, .listener = -1 };
	rc = path_in(files->private_dir, sizeof(files->private_dir), config->dir, config->name, "", err);
	if (rc == 0)
		rc = path_in(files->log_path, sizeof(files->log_path), config->dir, config->name, ".log", err);
	if (rc == 0)
		rc = path_in(files->socket_path, sizeof(files->socket_path), config->dir, config->name, ".sock", err);
	if (rc < 0)
		return rc;
	supervisor_files_remove(config->dir, config->name);
	if (mkdir(files->private_dir, 0700) < 0 || realpath(files->private_dir, files->guest_dir) == NULL)
		return err_set(err, -errno, "%s: %s", files->private_dir, strerror(errno));
	files->log = outfile_stream(files->log_path, err);
	if (files->log < 0)
		return files->log;
	fcntl(files->log, F_SETFL, O_WRONLY | O_APPEND); /* a guest's kernel and its program both write there */
	rc = write_cpuinfo(files, err);
	return rc == 0 ? open_socket(files, config->dir, config->name, err) : rc;
}

static int
remove_entry(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)type;
	(void)where;
	remove(path);
	return 0;
}

static void
remove_all(const char *private_dir, const char *socket_path)
{
	if (private_dir[0] != '\0')
		nftw(private_dir, remove_entry, MAX_OPEN_FOLDERS, FTW_DEPTH | FTW_PHYS);
	if (socket_path[0] != '\0')
		unlink(socket_path);
}

void
supervisor_files_fini(struct supervisor_files *files)
{
	if (files->log >= 0)
		close(files->log);
	if (files->listener >= 0)
		close(files->listener);
	remove_all(files->private_dir, files->socket_path);
}

void
supervisor_files_remove(const char *dir, const char *name)
{
	char private_dir[PATH_MAX], socket_path[PATH_MAX];

	if (path_in(private_dir, sizeof(private_dir), dir, name, "", NULL) == 0 &&
	    path_in(socket_path, sizeof(socket_path), dir, name, ".sock", NULL) == 0)
		remove_all(private_dir, socket_path);
}

void
supervisor_last_line(const char *log_path, char *line, size_t cap)
{
	FILE *log = fopen(log_path, "re");
	char read_line[512];

	snprintf(line, cap, "(nothing)");
	while (log != NULL && fgets(read_line, sizeof(read_line), log) != NULL) {
		read_line[strcspn(read_line, "\r\n")] = '\0';
		if (read_line[0] != '\0')
			snprintf(line, cap, "%s", read_line);
	}
	if (log != NULL)
		fclose(log);
}

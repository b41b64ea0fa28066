/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files that a program leaves. Each is written aside, as DIR/.NAME.new, and moved to its name when it is whole: a
 * reader of DIR/NAME reads all of it, an older one stays until then, and a symbolic link of that name is replaced, not
 * followed. A device or a folder, or a link to one, is never replaced. A file that grows over a whole run (a recording,
 * a capture, a log) is made under its name: outfile_stream().
 *
 * The names of one folder are written by one program at a time; runs hold the folder's lock (cli/start/launch.h).
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/err.h"

struct outfile {
	FILE *file; /* the stream to write to; NULL unless open */
	char path[PATH_MAX], aside[PATH_MAX];
	int fd;
	int error;  /* errno of the first write that failed */
	bool whole; /* closed, and not moved yet */
};

/* @param dir  exists. @return 0 with file open, or negative errno with err set; -EINVAL: the name is no regular file's */
int outfile_open(struct outfile *out, const char *dir, const char *name, struct err *err);
/* outfile_open() for a whole path. */
int outfile_open_path(struct outfile *out, const char *path, struct err *err);

/*
 * Ends a file that was opened: closes it and moves it to its name, or removes it when a write failed, or the caller
 * did.
 * @param ret  0, or the caller's negative errno: the written file is not worth keeping
 * @return 0, ret, or negative errno; err names the file and the reason
 */
int outfile_close(struct outfile *out, int ret, struct err *err);

/*
 * outfile_close() in two steps, for files that belong together: all are written, then all are moved.
 * outfile_drop() removes files that were not moved; on one that was never opened, failed or was moved it does nothing.
 */
int outfile_finish(struct outfile *out, int ret, struct err *err);
int outfile_place(struct outfile *out, struct err *err);
void outfile_drop(struct outfile *out);

/*
 * Makes a new file that is written bit by bit. An older file of that name is removed, never written to.
 * @return descriptor, or negative errno with err set
 */
int outfile_stream(const char *path, struct err *err);

/* Removes what a program that was killed had written aside for DIR/NAME. @return 0 or negative errno; nothing there is 0 */
int outfile_tidy(const char *dir, const char *name);

/*
 * Removes DIR/NAME and what an end at a bad moment left of it. @return 0 or negative errno with err set; no such file
 * is 0
 */
int outfile_remove(const char *dir, const char *name, struct err *err);

/* SPDX-License-Identifier: BSD-3-Clause */
/* The folder of a run: made where it is missing, used by one program at a time. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

struct run_dir {
	char path[PATH_MAX];
	int lock;
	int made; /* how many folders of its path */
};

/* PARENT/NAME for .../NAME.cfg and .../NAME/; always below the parent: a name of nothing but dots keeps its ending. */
void run_dir_default(const char *parent, const char *path, char *buf, size_t cap);

/*
 * Makes a folder as mkdir -p does.
 * @return how many folders were made, or negative errno with err set
 */
int run_dir_make(const char *path, struct err *err);

/*
 * Makes a run's folder and locks it against others who write there. The programs that are started hold the lock, too: it is
 * free when the last of them has ended. One that is busy is waited for, for as long as a run that was killed takes to end.
 * @return 0, or negative errno with err set
 */
int run_dir_open(struct run_dir *dir, const char *path, struct err *err);

/* The same for a folder that has to be there, to read it. @param others_read  at the same time */
int run_dir_open_existing(struct run_dir *dir, const char *path, bool others_read, struct err *err);

/* Gives it back, and removes what run_dir_open() made and nobody put anything into. */
void run_dir_close(struct run_dir *dir);

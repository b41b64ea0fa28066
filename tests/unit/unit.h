/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of tests, NAME_test.c, is a function of its folder's program (tests/unit/run.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * How often, or how much, of what only repeats: few in a short run, which reports what that leaves out, and many in a long
 * one (scripts/test --long).
 */
static inline uint32_t
unit_wide(uint32_t few, uint32_t many, const char *what)
{
	const char *is_long = getenv("ROCELAB_LONG");

	if (is_long != NULL && strcmp(is_long, "1") == 0)
		return many;
	printf("LEFT OUT: %s: %u of %u\n", what, few, many);
	return few;
}

#define UNIT_PATH 64 /* bytes of what unit_file() and unit_dir() put in a path */

/* Where tests create many files: in memory, if that can be had, as disks take long to create one. */
static inline const char *
unit_folder(void)
{
	return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
}

static inline void
unit_template(char path[UNIT_PATH], const char *name)
{
	snprintf(path, UNIT_PATH, "%s/rocelab-%s-XXXXXX", unit_folder(), name);
}

/* Creates a file, whose path is then known. @return its descriptor, or -1 */
static inline int
unit_file(char path[UNIT_PATH], const char *name)
{
	unit_template(path, name);
	return mkstemp(path);
}

/* The same with a folder. @return whether there is one */
static inline bool
unit_dir(char path[UNIT_PATH], const char *name)
{
	unit_template(path, name);
	return mkdtemp(path) != NULL;
}

/* As _exit(), for a process that a test has forked: where coverage is measured, what it reached is counted. */
static inline void __attribute__((__noreturn__)) unit_exit(int code)
{
#ifdef UNIT_COVERAGE
	extern void __gcov_dump(void);

	__gcov_dump();
#endif
	_exit(code);
}

/* Stands where main() would: @return how many of the file's tests failed */
#define UNIT_TEST(name)                                                                                                    \
	int name##_test(void);                                                                                             \
	int name##_test(void)

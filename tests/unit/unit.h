/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of tests, NAME_test.c, is a function of its folder's program (tests/unit/run.c). */
#pragma once

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

/* SPDX-License-Identifier: BSD-3-Clause */
/* A file of tests, NAME_test.c, is a function of its folder's program (tests/unit/run.c). */
#pragma once

/* Stands where main() would: @return how many of the file's tests failed */
#define UNIT_TEST(name)                                                                                                    \
	int name##_test(void);                                                                                             \
	int name##_test(void)

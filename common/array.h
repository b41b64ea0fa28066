/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Elements of an array: of the array itself, never of a pointer to its first one. */
#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

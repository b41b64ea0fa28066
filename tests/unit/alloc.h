/* SPDX-License-Identifier: BSD-3-Clause */
/* What the programs under test do without memory: any one of their allocations can be refused (tests/unit/alloc.c). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Refuses this thread's allocation number nth from here, from 1, and no other; 0: none. */
void alloc_refuse(uint64_t nth);

/* Ends what alloc_refuse() began. @return whether an allocation was refused */
bool alloc_was_refused(void);

#define ALLOC_MAX_TRIES 100000

/* FOR_EACH_REFUSED(nth) { ... alloc_was_refused() ... break, if not; }: the first, the second, ... */
#define FOR_EACH_REFUSED(nth) for (uint64_t nth = 1; nth < ALLOC_MAX_TRIES && (alloc_refuse(nth), true); nth++)

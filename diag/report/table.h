/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of text. They are printed to a stream, never cut to a terminal's width: a name cut short names nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct libscols_table;

/* @param right  of each column: its cells stand at the right  @return NULL: no memory */
struct libscols_table *table_create(const char *const *columns, const bool *right, size_t count);
void table_destroy(struct libscols_table *table);
/* Cells in the columns' order, NULL-terminated. @return 0 or -ENOMEM */
int table_row(struct libscols_table *table, ...) __attribute__((sentinel));
/* With a margin and without blanks at line ends. @return 0 or -ENOMEM */
int table_print(struct libscols_table *table, FILE *to);

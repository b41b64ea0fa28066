/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/report/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <libsmartcols/libsmartcols.h>

struct libscols_table *
table_create(const char *const *columns, const bool *right, size_t count)
{
	struct libscols_table *table = scols_new_table();

	if (table == NULL)
		return NULL;
	scols_table_set_termforce(table, SCOLS_TERMFORCE_NEVER);
	scols_table_set_termwidth(table, 4096);
	scols_table_set_column_separator(table, "  ");
	for (size_t i = 0; i < count; i++) {
		if (scols_table_new_column(table, columns[i], 0, right[i] ? SCOLS_FL_RIGHT : 0) == NULL) {
			scols_unref_table(table);
			return NULL;
		}
	}
	return table;
}

int
table_row(struct libscols_table *table, ...)
{
	struct libscols_line *line = scols_table_new_line(table, NULL);
	const char *cell;
	size_t column = 0;
	va_list ap;
	int rc = line == NULL ? -ENOMEM : 0;

	va_start(ap, table);
	while (rc == 0 && (cell = va_arg(ap, const char *)) != NULL)
		rc = scols_line_set_data(line, column++, cell);
	va_end(ap);
	return rc;
}

int
table_print(struct libscols_table *table, FILE *to)
{
	char *text = NULL, *save = NULL;

	if (scols_print_table_to_string(table, &text) != 0)
		return -ENOMEM;
	for (char *line = strtok_r(text, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
		size_t len = strlen(line);

		while (len > 0 && line[len - 1] == ' ')
			len--;
		fprintf(to, "  %.*s\n", (int)len, line);
	}
	free(text);
	return 0;
}

void
table_destroy(struct libscols_table *table)
{
	scols_unref_table(table);
}

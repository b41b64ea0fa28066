/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of any experiment, for people and for machines. */
#include <libsmartcols/libsmartcols.h>

#include "eval/flowpulse/study.h"

static void
print_value(const json_t *value, char *cell, size_t cap)
{
	if (json_is_string(value))
		snprintf(cell, cap, "%s", json_string_value(value));
	else if (json_is_integer(value))
		snprintf(cell, cap, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(cell, cap, "%.4g", json_real_value(value));
	else
		snprintf(cell, cap, "-");
}

static void
print_rows(const json_t *rows, FILE *to)
{
	struct libscols_table *table = scols_new_table();
	const char *key;
	json_t *value, *row;
	size_t i;

	scols_table_set_stream(table, to);
	json_object_foreach(json_array_get(rows, 0), key, value)
		scols_table_new_column(table, key, 0, json_is_string(value) ? 0 : SCOLS_FL_RIGHT);
	json_array_foreach(rows, i, row)
	{
		struct libscols_line *line = scols_table_new_line(table, NULL);
		char cell[64];
		size_t column = 0;

		json_object_foreach(row, key, value)
		{
			print_value(value, cell, sizeof(cell));
			scols_line_set_data(line, column++, cell);
		}
	}
	scols_print_table(table);
	scols_unref_table(table);
}

void
fp_print(const struct fp_study *study, FILE *to)
{
	for (uint32_t i = 0; i < study->nexperiments; i++) {
		fprintf(to, "%s%s: %s\n", i != 0 ? "\n" : "", study->experiments[i]->name, study->experiments[i]->doc);
		print_rows(study->rows[i], to);
	}
}

json_t *
fp_json(const struct fp_study *study)
{
	json_t *root = json_object();

	for (uint32_t i = 0; i < study->nexperiments; i++)
		json_object_set(root, study->experiments[i]->name, study->rows[i]);
	return root;
}

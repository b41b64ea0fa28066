/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts in the JSON of a run. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

/* @return the object's string of that key; "" if it has none */
static inline const char *
json_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text != NULL ? text : "";
}

/* Is the string one of the array's? */
static inline bool
json_lists(const json_t *array, const char *text)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(array, i, entry)
		if (strcmp(json_string_value(entry), text) == 0)
			return true;
	return false;
}

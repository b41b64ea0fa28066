/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugin/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* The kind of a value, for people. */
static const char *
kind(const json_t *value)
{
	static const char *const kinds[] = { "an object",     "an array", "a text", "an integer",
					     "a real number", "true",     "false",  "null" };

	return value != NULL ? kinds[json_typeof(value)] : "missing";
}

int
fields_known(const json_t *object, const char *of, const char *const *names, struct err *err)
{
	const char *key;
	const json_t *value;

	json_object_foreach((json_t *)object, key, value) {
		size_t i = 0;

		while (names[i] != NULL && strcmp(names[i], key) != 0)
			i++;
		if (names[i] == NULL)
			return err_set(err, -EINVAL, "%s has \"%.60s\", which no %s has", of, key, of);
	}
	return 0;
}

int
fields_number(const json_t *object, const char *of, const char *name, bool must, uint64_t most, uint64_t *to,
	      struct err *err)
{
	const json_t *value = json_object_get(object, name);

	if (value == NULL && !must)
		return 0;
	if (!json_is_integer(value))
		return err_set(err, -EINVAL, "%s: \"%s\" is %s; right would be an integer from 0 to %" PRIu64, of, name,
			       kind(value), most);
	if (json_integer_value(value) < 0 || (uint64_t)json_integer_value(value) > most)
		return err_set(err, -EINVAL, "%s: \"%s\" is %" JSON_INTEGER_FORMAT "; right would be 0 to %" PRIu64, of,
			       name, json_integer_value(value), most);
	*to = (uint64_t)json_integer_value(value);
	return 0;
}

int
fields_share(const json_t *object, const char *of, const char *name, double *to, struct err *err)
{
	const json_t *value = json_object_get(object, name);
	double number = json_number_value(value);

	if (!json_is_number(value))
		return err_set(err, -EINVAL, "%s: \"%s\" is %s; right would be a number from 0 to 1", of, name,
			       kind(value));
	if (!(number >= 0 && number <= 1))
		return err_set(err, -EINVAL, "%s: \"%s\" is %g; right would be 0 to 1", of, name, number);
	*to = number;
	return 0;
}

int
fields_is_text(const json_t *value, const char *of, const char *name, char *to, size_t cap, struct err *err)
{
	const char *text = json_string_value(value);
	size_t length = json_string_length(value);

	if (text == NULL)
		return err_set(err, -EINVAL, "%s: \"%s\" is %s; right would be a text", of, name, kind(value));
	if (length == 0 || length >= cap)
		return err_set(err, -EINVAL, "%s: \"%s\" has %zu bytes; right would be 1 to %zu", of, name, length,
			       cap - 1);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return err_set(err, -EINVAL, "%s: \"%s\" has a control character, %d", of, name, text[i]);
	memcpy(to, text, length + 1);
	return 0;
}

int
fields_text(const json_t *object, const char *of, const char *name, char *to, size_t cap, struct err *err)
{
	return fields_is_text(json_object_get(object, name), of, name, to, cap, err);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of SONiC as such: JSON documents, pg_profile_lookup.ini, and their settings for which a scenario has no place. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/import.h"
#include "collectives/import/sonic.h"
#include "common/array.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/units.h"

/* Objects and lists of a text, and those that begin in its strings. */
static size_t
count_groups(const char *text, size_t bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < bytes; i++)
		count += text[i] == '{' || text[i] == '[';
	return count;
}

json_t *
sonic_load(const char *path, size_t *bytes, struct err *err)
{
	json_error_t at;
	char *text = import_read_text(path, bytes, err);
	json_t *doc;
	int ret;

	if (text == NULL)
		return NULL;
	if (*bytes > SONIC_MAX_BYTES || count_groups(text, *bytes) > SONIC_MAX_GROUPS) {
		free(text);
		err_set(err, -EINVAL, "%s: %zu B; a configuration of at most %u MiB and %d objects would be right", path,
			*bytes, SONIC_MAX_BYTES >> 20, SONIC_MAX_GROUPS);
		errno = EINVAL;
		return NULL;
	}
	doc = json_loadb(text, *bytes, JSON_REJECT_DUPLICATES, &at);
	free(text);
	if (json_is_object(doc))
		return doc;
	if (doc != NULL)
		ret = err_set(err, -EINVAL, "%s: no JSON object; tables by name, as in config_db.json, would be right",
			      path);
	else if (at.text[0] == '\0') /* that is all that Jansson says */
		ret = err_set(err, -ENOMEM, "%s: out of memory", path);
	else if (json_error_code(&at) == json_error_end_of_input_expected)
		ret = err_set(err, -EINVAL,
			      "%s:%d: %.100s: one document a file would be right, or that of all namespaces, which SONiC "
			      "writes by `config save FILE`",
			      path, at.line, at.text);
	else
		ret = err_set(err, -EINVAL, "%s:%d: %.100s", path, at.line, at.text);
	json_decref(doc);
	errno = -ret;
	return NULL;
}

const char *
sonic_metadata(const json_t *config, const char *field)
{
	const json_t *host = json_object_get(json_object_get(config, "DEVICE_METADATA"), "localhost");

	return json_string_value(json_object_get(host, field));
}

/* pg_profile_lookup.ini: speed, cable, size, xon, xoff, threshold, xon_offset. */

static bool
parse_row(char *text, struct sonic_row *row)
{
	char *words[8], *rest = text, *word;
	uint64_t values[3], metres, offset = 0, threshold;
	size_t count = 0, length;
	bool negative;

	text[strcspn(text, "#")] = '\0';
	while ((word = strsep(&rest, " \t\r")) != NULL && count < ARRAY_LEN(words))
		if (word[0] != '\0')
			words[count++] = word;
	if (count < 6 || word != NULL)
		return false;
	length = strlen(words[1]);
	if (words[1][length - 1] != 'm')
		return false;
	words[1][length - 1] = '\0';
	for (size_t i = 0; i < 3; i++)
		if (!number_parse(words[2 + i], 0, SONIC_MAX_BUFFER, &values[i]))
			return false;
	negative = words[5][0] == '-';
	if (!number_parse(words[5] + negative, 0, SONIC_MAX_BUFFER, &threshold) ||
	    !number_parse(words[0], 1, SONIC_MAX_MBPS, &row->rate_mbps) ||
	    !number_parse(words[1], 0, SONIC_MAX_LENGTH_M, &metres) ||
	    (count > 6 && !number_parse(words[6], 0, SONIC_MAX_BUFFER, &offset)))
		return false;
	row->length_m = (uint32_t)metres;
	row->xon_bytes = values[1];
	row->xoff_bytes = values[2];
	row->size_bytes = values[0];
	row->xon_offset_bytes = offset;
	row->threshold = negative ? -(int64_t)threshold : (int64_t)threshold;
	return true;
}

/* @return the row before it that is of the same speed and cable; NULL: none is */
static const struct sonic_row *
same_row(const struct sonic_common *common)
{
	const struct sonic_row *row = &common->rows[common->nrows - 1];

	for (uint32_t i = 0; i + 1 < common->nrows; i++)
		if (common->rows[i].rate_mbps == row->rate_mbps && common->rows[i].length_m == row->length_m)
			return &common->rows[i];
	return NULL;
}

int
sonic_read_rows(const char *path, struct sonic_common *common, struct err *err)
{
	uint32_t before = common->nrows;
	size_t length;
	char *text = import_read_text(path, &length, err), *rest = text, *line;
	int number_of = 0, ret = 0;

	if (text == NULL)
		return -errno;
	while (ret == 0 && (line = strsep(&rest, "\n")) != NULL) {
		number_of++;
		line += strspn(line, " \t\r");
		if (*line == '\0' || *line == '#')
			continue;
		if (common->nrows == SONIC_ROWS)
			ret = err_set(err, -EINVAL, "%s:%d: more than %d rows", path, number_of, SONIC_ROWS);
		else if (!parse_row(line, &common->rows[common->nrows++]))
			ret = err_set(
				err, -EINVAL,
				"%s:%d: \"speed cable size xon xoff threshold [xon_offset]\", as \"100000 5m 18432 18432 "
				"35840 0\", would be right",
				path, number_of);
		else if (same_row(common) != NULL)
			ret = err_set(err, -EINVAL,
				      "%s:%d: %" PRIu64 " Mbps and %u m have a row already, of xoff %" PRIu64
				      "; one row would be right",
				      path, number_of, same_row(common)->rate_mbps, same_row(common)->length_m,
				      same_row(common)->xoff_bytes);
	}
	if (ret == 0 && common->nrows == before)
		log_warning("%s:%d: no row; \"100000 5m 18432 18432 35840 0\" is one", path, number_of);
	free(text);
	return ret;
}

/* What of the files a scenario has no place for. */

bool
sonic_parse_key(const char *text, struct sonic_key *key)
{
	const char *bar = strrchr(text, '|'), *end;
	uint64_t from, to;

	end = bar != NULL && bar != text ? number_scan(bar + 1, &from) : NULL;
	to = from = end != NULL ? from : 0;
	if (end == NULL || from > UINT16_MAX || (*end == '-' && !number_parse(end + 1, from, UINT16_MAX, &to)) ||
	    (*end != '-' && *end != '\0'))
		return false;
	*key = (struct sonic_key){ bar, (uint32_t)from, (uint32_t)to };
	return true;
}

/* Of a key's classes. */
struct left_classes {
	const char *table;
	uint32_t from, to;
	const char *meaning;
};

/* A field whose value has an effect on a switch; a table without a field: each entry. */
struct left_field {
	const char *table, *field, *harmless; /* the value that changes nothing; NULL: none */
	const char *meaning;
};

#define CONTROL                                                                                                            \
	"queue and group 0 carry control here, which no profile, weight or mark is of; class 1 has those of RoCE data "    \
	"there"

static const struct left_classes left_classes[] = {
	{ "BUFFER_PG", 0, 0, CONTROL },
	{ "BUFFER_QUEUE", 0, 0, CONTROL },
	{ "QUEUE", 0, 0, CONTROL },
	{ "BUFFER_QUEUE", SONIC_CLASSES, SONIC_QUEUES, "queues are 0 to 7 here, all of unicast: no data is in others" },
	{ "QUEUE", SONIC_CLASSES, SONIC_QUEUES, "queues are 0 to 7 here, all of unicast: no data is in others" },
};

static const struct left_field left_fields[] = {
	{ "SCHEDULER", "pir", "0", "a queue has no highest rate here" },
	{ "SCHEDULER", "cir", "0", "a queue has no assured rate here beside its weight" },
	{ "PORT_QOS_MAP", "scheduler", NULL, "a port has its cable's rate here, and no other" },
	{ "PORT_QOS_MAP", "dot1p_to_tc_map", NULL, "classes are by DSCP here" },
	{ "PORT_QOS_MAP", "tc_to_dscp_map", NULL, "a switch changes no DSCP here" },
	{ "BUFFER_PROFILE", "packet_discard_action", "drop", "what does not fit is dropped here" },
	{ "PFC_WD", "BIG_RED_SWITCH", "disable", "a watchdog acts by what it detects here" },
	{ "BUFFER_PORT_INGRESS_PROFILE_LIST", NULL, NULL, "a port has no limit in a pool here beside those of its groups" },
	{ "BUFFER_PORT_EGRESS_PROFILE_LIST", NULL, NULL, "a port has no limit in a pool here beside those of its queues" },
	{ "MAP_PFC_PRIORITY_TO_QUEUE", "", NULL, "a PAUSE of priority p is of queue p here" },
	{ "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "", NULL, "a PAUSE of priority p is of group p here" },
};

_Static_assert(ARRAY_LEN(left_classes) + ARRAY_LEN(left_fields) <= SONIC_KINDS_LEFT, "a kind has a place");

void
sonic_note(struct sonic_left *left, const char *path, const char *table, const char *key, const char *field,
	   const json_t *value)
{
	char shown[64], text[64];

	if (left->count++ != 0)
		return;
	snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	snprintf(left->first, sizeof(left->first), "%.80s: %s.%s", path, table, printable_text(key, shown, sizeof(shown)));
	if (field != NULL)
		snprintf(left->first + strlen(left->first), sizeof(left->first) - strlen(left->first), ".%s = %s", field,
			 printable_text(json_string_value(value) != NULL ? json_string_value(value) : text, shown,
					sizeof(shown)));
}

/* A map's rows that lead from a number to another. */
static void
note_rows(const json_t *map, const char *path, const char *table, const char *key, struct sonic_left *left)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)map, name, value) {
		uint64_t from = 0, to = (uint64_t)json_integer_value(value);
		char shown[32];

		if (number_parse(name, 0, UINT16_MAX, &from) &&
		    (json_is_integer(value) ||
		     (json_is_string(value) && number_parse(json_string_value(value), 0, UINT16_MAX, &to))) &&
		    from != to)
			sonic_note(left, path, table, key, printable_text(name, shown, sizeof(shown)), value);
	}
}

static void
note_fields(const json_t *tables, const char *path, const struct left_field *kind, struct sonic_left *left)
{
	const char *key;
	json_t *fields;

	json_object_foreach(json_object_get(tables, kind->table), key, fields) {
		const json_t *value = kind->field != NULL ? json_object_get(fields, kind->field) : NULL;

		if (kind->field == NULL)
			sonic_note(left, path, kind->table, key, NULL, NULL);
		else if (kind->field[0] == '\0')
			note_rows(fields, path, kind->table, key, left);
		else if (value != NULL && (kind->harmless == NULL || !json_is_string(value) ||
					   strcmp(json_string_value(value), kind->harmless) != 0))
			sonic_note(left, path, kind->table, key, kind->field, value);
	}
}

/* The profile or scheduler that a row has, which is its value. */
static void
note_classes(const json_t *tables, const char *path, const struct left_classes *kind, struct sonic_left *left)
{
	const char *key;
	json_t *fields;

	json_object_foreach(json_object_get(tables, kind->table), key, fields) {
		struct sonic_key range;
		void *first = json_object_iter(fields);

		if (sonic_parse_key(key, &range) && range.from <= kind->to && range.to >= kind->from && first != NULL)
			sonic_note(left, path, kind->table, key, json_object_iter_key(first),
				   json_object_iter_value(first));
	}
}

void
sonic_note_left(const json_t *tables, const char *path, struct sonic_left left[SONIC_KINDS_LEFT])
{
	for (size_t i = 0; i < ARRAY_LEN(left_classes); i++)
		note_classes(tables, path, &left_classes[i], left++);
	for (size_t i = 0; i < ARRAY_LEN(left_fields); i++)
		note_fields(tables, path, &left_fields[i], left++);
}

void
sonic_warn_of(const struct sonic_left *left, const char *meaning)
{
	char more[64] = "";

	if (left->count > 1)
		snprintf(more, sizeof(more), "; so it is at %" PRIu32 " more place%s", left->count - 1,
			 left->count == 2 ? "" : "s");
	if (left->count != 0)
		log_warning("%s is left out: %s%s", left->first, meaning, more);
}

void
sonic_warn_of_left(const struct sonic_left left[SONIC_KINDS_LEFT])
{
	for (size_t i = 0; i < ARRAY_LEN(left_classes) + ARRAY_LEN(left_fields); i++)
		sonic_warn_of(&left[i], i < ARRAY_LEN(left_classes) ? left_classes[i].meaning
								    : left_fields[i - ARRAY_LEN(left_classes)].meaning);
}

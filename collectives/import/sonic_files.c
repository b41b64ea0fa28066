/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of SONiC as such: JSON documents, and pg_profile_lookup.ini. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/import.h"
#include "collectives/import/sonic.h"
#include "common/array.h"
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
	uint64_t values[3], metres, offset = 0, exponent;
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
	if (!number_parse(words[5] + negative, 0, 127, &exponent) ||
	    !number_parse(words[0], 1, SONIC_MAX_MBPS, &row->rate_mbps) ||
	    !number_parse(words[1], 0, SONIC_MAX_LENGTH_M, &metres) ||
	    (count > 6 && !number_parse(words[6], 0, SONIC_MAX_BUFFER, &offset)))
		return false;
	row->length_m = (uint32_t)metres;
	row->xon_bytes = values[1];
	row->xoff_bytes = values[2];
	row->size_bytes = values[0];
	row->xon_offset_bytes = offset;
	row->dynamic_th = negative ? -(int32_t)exponent : (int32_t)exponent;
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
		ret = err_set(err, -EINVAL, "%s:%d: no row; \"100000 5m 18432 18432 35840 0\" is one", path, number_of);
	free(text);
	return ret;
}

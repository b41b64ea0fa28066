/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugin/answer.h"

#include <errno.h>
#include <string.h>

#include "common/array.h"
#include "plugin/fields.h"

static int
read_done(const json_t *value, struct plugin_answer *answer, struct err *err)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return err_set(err, -EINVAL, "\"done\" is not the number of a turn");
	answer->kind = PLUGIN_DONE;
	answer->turn = (uint64_t)json_integer_value(value);
	return 0;
}

static int
read_finding(const json_t *value, struct plugin_answer *answer, struct err *err)
{
	answer->kind = PLUGIN_FINDING;
	return plugin_finding_read(value, &answer->finding, err);
}

static int
read_poll(const json_t *value, struct plugin_answer *answer, struct err *err)
{
	static const char *const fields[] = { "port", "flow", NULL };
	bool port = json_object_get(value, "port") != NULL;
	int rc;

	if (!json_is_object(value) || json_object_size(value) != 1)
		return err_set(err, -EINVAL, "\"poll\" is no object with either \"port\" or \"flow\"");
	rc = fields_known(value, "poll", fields, err);
	answer->kind = port ? PLUGIN_POLL_PORT : PLUGIN_POLL_FLOW;
	if (rc == 0)
		rc = fields_text(value, "poll", port ? "port" : "flow", answer->name, sizeof(answer->name), err);
	return rc;
}

static int
read_probe(const json_t *value, struct plugin_answer *answer, struct err *err)
{
	static const char *const fields[] = { "from", "to", NULL };
	int rc = json_is_object(value) ? fields_known(value, "probe", fields, err)
				       : err_set(err, -EINVAL, "\"probe\" is no object with \"from\" and \"to\"");

	answer->kind = PLUGIN_PROBE;
	if (rc == 0)
		rc = fields_text(value, "probe", "from", answer->name, sizeof(answer->name), err);
	if (rc == 0)
		rc = fields_text(value, "probe", "to", answer->to, sizeof(answer->to), err);
	return rc;
}

static const struct {
	const char *key;
	int (*read)(const json_t *value, struct plugin_answer *answer, struct err *err);
} kinds[] = {
	{ "done", read_done },
	{ "finding", read_finding },
	{ "poll", read_poll },
	{ "probe", read_probe },
};

int
plugin_answer_read(const char *line, size_t bytes, struct plugin_answer *answer, struct err *err)
{
	json_error_t error;
	json_t *root = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, &error);
	int rc = -EINVAL;

	memset(answer, 0, sizeof(*answer));
	if (root == NULL)
		return err_set(err, -EINVAL, "a line of %zu bytes is no JSON: %s, at byte %d", bytes, error.text,
			       error.position);
	for (size_t i = 0; i < ARRAY_LEN(kinds) && json_object_size(root) == 1; i++) {
		const json_t *value = json_object_get(root, kinds[i].key);

		if (value != NULL)
			rc = kinds[i].read(value, answer, err);
	}
	json_decref(root);
	return rc != -EINVAL
		       ? rc
		       : err_set(err, rc, "a line is no object with one of \"done\", \"finding\", \"poll\", \"probe\"");
}

void
plugin_answer_fini(struct plugin_answer *answer)
{
	plugin_finding_fini(&answer->finding);
}

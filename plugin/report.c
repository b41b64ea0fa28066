/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugin/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/outfile.h"
#include "common/units.h"
#include "plugin/finding.h"

#define MOST ((1ULL << 62) - 1)

/* Numbers of an account, by their names in the file. */
static const struct {
	const char *name;
	size_t at;
	uint64_t unit;
} numbers[] = {
	{ "left_ns", offsetof(struct plugin_account, left_ps), PS_PER_NS },
	{ "turns", offsetof(struct plugin_account, turns), 1 },
	{ "missed_turns", offsetof(struct plugin_account, missed), 1 },
	{ "polls", offsetof(struct plugin_account, polls), 1 },
	{ "probes", offsetof(struct plugin_account, probes), 1 },
	{ "refused", offsetof(struct plugin_account, refused), 1 },
	{ "dropped_records", offsetof(struct plugin_account, dropped_records), 1 },
};

static json_t *
account_json(const struct plugin_account *account)
{
	json_t *findings = json_array(), *object;

	for (uint32_t i = 0; i < account->nfindings; i++)
		if (json_array_append_new(findings, plugin_finding_json(&account->findings[i])) != 0) {
			json_decref(findings);
			return NULL;
		}
	object = json_pack("{s:s, s:s, s:b, s:s, s:s, s:o}", "name", account->name, "path", account->path, "left_out",
			   account->left_out, "why", account->why, "refused_why", account->refused_why, "findings",
			   findings);
	for (size_t i = 0; object != NULL && i < ARRAY_LEN(numbers); i++)
		json_object_set_new(
			object, numbers[i].name,
			json_integer((json_int_t)(*(const uint64_t *)(const void *)((const char *)account + numbers[i].at) /
						  numbers[i].unit)));
	return object;
}

int
plugin_report_write(const struct plugin_account *const *accounts, uint32_t count, const char *path, struct err *err)
{
	json_t *programs = json_array(), *root;
	struct outfile out;
	int ret = 0;

	for (uint32_t i = 0; i < count && ret == 0; i++)
		ret = json_array_append_new(programs, account_json(accounts[i])) == 0 ? 0 : -ENOMEM;
	root = json_pack("{s:o}", "programs", programs);
	ret = ret == 0 && root != NULL ? outfile_open_path(&out, path, err)
				       : err_set(err, -ENOMEM, "%s: out of memory", path);
	if (ret == 0) {
		if (json_dumpf(root, out.file, JSON_INDENT(1)) < 0 && ferror(out.file) == 0)
			ret = -ENOMEM;
		ret = outfile_close(&out, ret, err);
	}
	json_decref(root);
	return ret;
}

/* A text that may be empty, or not there. */
static int
read_text(const json_t *from, const char *name, char *to, size_t cap, struct err *err)
{
	return json_string_length(json_object_get(from, name)) == 0 ? 0 : fields_text(from, "program", name, to, cap, err);
}

static int
read_findings(const json_t *from, struct plugin_account *account, struct err *err)
{
	const json_t *list = json_object_get(from, "findings");
	struct plugin_finding finding;
	int ret = 0;

	for (size_t i = 0; i < json_array_size(list) && ret == 0; i++) {
		memset(&finding, 0, sizeof(finding));
		ret = plugin_finding_read(json_array_get(list, i), &finding, err);
		if (ret == 0 && plugin_account_add(account, &finding) != 0)
			ret = err_set(err, -EINVAL, "more than %u findings, or out of memory", PLUGIN_FINDINGS);
		plugin_finding_fini(&finding);
	}
	return ret;
}

static int
read_account(const json_t *from, struct plugin_account *account, struct err *err)
{
	int ret = fields_text(from, "program", "name", account->name, sizeof(account->name), err);

	if (ret == 0 && strncmp(account->name, "./", 2) != 0)
		ret = err_set(err, -EINVAL, "program: \"name\" is \"%s\"; right would be one that begins with ./",
			      account->name);
	account->left_out = json_is_true(json_object_get(from, "left_out"));
	if (ret == 0)
		ret = read_text(from, "path", account->path, sizeof(account->path), err);
	if (ret == 0)
		ret = read_text(from, "why", account->why, sizeof(account->why), err);
	if (ret == 0)
		ret = read_text(from, "refused_why", account->refused_why, sizeof(account->refused_why), err);
	for (size_t i = 0; ret == 0 && i < ARRAY_LEN(numbers); i++) {
		uint64_t *number = (uint64_t *)(void *)((char *)account + numbers[i].at);

		ret = fields_number(from, "program", numbers[i].name, true, MOST / numbers[i].unit, number, err);
		*number *= numbers[i].unit;
	}
	return ret == 0 ? read_findings(from, account, err) : ret;
}

int
plugin_report_read(const char *path, struct plugin_report *report, struct err *err)
{
	json_error_t error = { 0 };
	bool is_absent = access(path, F_OK) < 0 && errno == ENOENT;
	json_t *root = is_absent ? NULL : json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	const json_t *programs = json_object_get(root, "programs");
	struct err why = { "" };
	int ret = 0;

	if (is_absent)
		return 0;
	if (root == NULL)
		return err_set(err, -EINVAL, "%s:%d: %s", path, error.line, error.text);
	if (!json_is_array(programs) || json_array_size(programs) > PLUGIN_PROGRAMS)
		ret = err_set(&why, -EINVAL, "\"programs\" is no array of %u at most", PLUGIN_PROGRAMS);
	report->programs = ret == 0 ? calloc(json_array_size(programs) + 1, sizeof(*report->programs)) : NULL;
	if (ret == 0 && report->programs == NULL)
		ret = err_set(&why, -ENOMEM, "out of memory");
	while (ret == 0 && report->count < json_array_size(programs)) {
		ret = read_account(json_array_get(programs, report->count), &report->programs[report->count], &why);
		report->count++;
	}
	json_decref(root);
	return ret == 0 ? 0 : err_set(err, ret, "%s: %.600s", path, why.text);
}

void
plugin_report_fini(struct plugin_report *report)
{
	for (uint32_t i = 0; i < report->count; i++)
		plugin_account_fini(&report->programs[i]);
	free(report->programs);
	*report = (struct plugin_report){ 0 };
}

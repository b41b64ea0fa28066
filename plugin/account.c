/* SPDX-License-Identifier: BSD-3-Clause */
#include "plugin/account.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/input_file.h"
#include "common/outfile.h"
#include "common/printable.h"
#include "common/units.h"
#include "common/wire/layout.h"
#include "common/wire/record_hdr.h"

#define FINDINGS_AT_ONCE 16

static bool
is_taken(const char *name, const struct plugin_account *const *before, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(before[i]->name, name) == 0)
			return true;
	return false;
}

void
plugin_account_init(struct plugin_account *account, const char *path, const struct plugin_account *const *before,
		    uint32_t index)
{
	const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
	int length = (int)strcspn(base, ".");
	char first[PLUGIN_TYPE - 4]; /* with room for a number */

	*account = (struct plugin_account){ 0 };
	snprintf(account->path, sizeof(account->path), "%s", path);
	printable_text(account->path, account->path, sizeof(account->path));
	snprintf(first, sizeof(first), "./%.*s", length, base);
	printable_text(first, first, sizeof(first));
	snprintf(account->name, sizeof(account->name), "%s", first);
	for (uint32_t n = 2; is_taken(account->name, before, index); n++)
		snprintf(account->name, sizeof(account->name), "%s-%u", first, n);
}

void
plugin_account_fini(struct plugin_account *account)
{
	for (uint32_t i = 0; i < account->nfindings; i++)
		plugin_finding_fini(&account->findings[i]);
	free(account->findings);
	account->findings = NULL;
	account->nfindings = 0;
}

int
plugin_account_add(struct plugin_account *account, struct plugin_finding *finding)
{
	if (account->nfindings == PLUGIN_FINDINGS)
		return -ENOSPC;
	if (account->nfindings % FINDINGS_AT_ONCE == 0) {
		size_t room = account->nfindings + FINDINGS_AT_ONCE;
		struct plugin_finding *more = realloc(account->findings, room * sizeof(*more));

		if (more == NULL)
			return -ENOMEM;
		account->findings = more;
	}
	account->findings[account->nfindings++] = *finding;
	*finding = (struct plugin_finding){ 0 };
	return 0;
}

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

/* @return object, or NULL once anything failed: a report that lacks a member would look whole */
static json_t *
set(json_t *object, const char *name, uint64_t number)
{
	if (json_object_set_new(object, name, json_integer((json_int_t)number)) == 0)
		return object;
	json_decref(object);
	return NULL;
}

/* @return array, or NULL: the same of an entry */
static json_t *
add(json_t *array, json_t *entry)
{
	if (json_array_append_new(array, entry) == 0)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *
account_json(const struct plugin_account *account)
{
	json_t *findings = json_array(), *object;

	for (uint32_t i = 0; i < account->nfindings; i++)
		findings = add(findings, plugin_finding_json(&account->findings[i]));
	object = json_pack("{s:s, s:s, s:b, s:s, s:s, s:o}", "name", account->name, "path", account->path, "left_out",
			   account->left_out, "why", account->why, "refused_why", account->refused_why, "findings",
			   findings);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		object = set(object, numbers[i].name,
			     *(const uint64_t *)(const void *)((const char *)account + numbers[i].at) / numbers[i].unit);
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
	json_t *root = is_absent ? NULL : input_json(path, JSON_REJECT_DUPLICATES, &error);
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

#define OF "finding"
/* Times of records end there, and so do all others. */
#define MOST_NS (RECORD_MAX_PS / PS_PER_NS)

static const char *const finding_fields[] = { "type", "where",        "flows",      "steps",    "collective",  "job",
					      "time", "explained_ns", "confidence", "evidence", "reported_ns", NULL };
static const char *const where_fields[] = { "ports", "links", "hosts", NULL };
static const char *const time_fields[] = { "start_ns", "end_ns", NULL };
static const char *const step_fields[] = { "collective", "iteration", "rank", "step", NULL };

/* An array with a limit on its elements. @return 0, *list NULL where there is none; or -EINVAL with err */
static int
list_of(const json_t *object, const char *name, const json_t **list, struct err *err)
{
	*list = json_object_get(object, name);
	if (*list == NULL)
		return 0;
	if (!json_is_array(*list))
		return err_set(err, -EINVAL, OF ": \"%s\" is no array", name);
	if (json_array_size(*list) > PLUGIN_PLACES)
		return err_set(err, -EINVAL, OF ": \"%s\" has %zu entries; right would be %u at most", name,
			       json_array_size(*list), PLUGIN_PLACES);
	return 0;
}

static int
read_names(const json_t *object, const char *name, struct plugin_names *to, struct err *err)
{
	const json_t *list;
	int rc = list_of(object, name, &list, err);

	if (rc != 0 || json_array_size(list) == 0)
		return rc;
	to->names = calloc(json_array_size(list), sizeof(*to->names));
	if (to->names == NULL)
		return err_set(err, -ENOMEM, "out of memory for a finding");
	for (size_t i = 0; i < json_array_size(list) && rc == 0; i++, to->count++)
		rc = fields_is_text(json_array_get(list, i), OF, name, to->names[i], PLUGIN_NAME, err);
	return rc;
}

static int
read_where(const json_t *from, struct plugin_finding *to, struct err *err)
{
	const json_t *where = json_object_get(from, "where");
	int rc;

	if (!json_is_object(where))
		return err_set(err, -EINVAL, OF ": \"where\" is no object with \"ports\", \"links\" or \"hosts\"");
	rc = fields_known(where, "where", where_fields, err);
	if (rc == 0)
		rc = read_names(where, "ports", &to->ports, err);
	if (rc == 0)
		rc = read_names(where, "links", &to->links, err);
	if (rc == 0)
		rc = read_names(where, "hosts", &to->hosts, err);
	if (rc == 0 && to->ports.count + to->links.count + to->hosts.count == 0)
		rc = err_set(err, -EINVAL, OF ": \"where\" names no port, link or host; right would be one at least");
	return rc;
}

static int
read_number32(const json_t *object, const char *of, const char *name, bool must, uint32_t *to, struct err *err)
{
	uint64_t number = *to;
	int rc = fields_number(object, of, name, must, UINT32_MAX - 1, &number, err);

	*to = (uint32_t)number;
	return rc;
}

static int
read_step(const json_t *from, struct plugin_step *to, struct err *err)
{
	int rc;

	if (!json_is_object(from))
		return err_set(err, -EINVAL,
			       OF ": a step is no object with \"collective\", \"iteration\", \"rank\", \"step\"");
	rc = fields_known(from, "step", step_fields, err);
	if (rc == 0)
		rc = read_number32(from, "step", "collective", true, &to->collective, err);
	if (rc == 0)
		rc = read_number32(from, "step", "iteration", false, &to->iteration, err);
	if (rc == 0)
		rc = read_number32(from, "step", "rank", true, &to->rank, err);
	if (rc == 0)
		rc = read_number32(from, "step", "step", true, &to->step, err);
	return rc;
}

static int
read_steps(const json_t *from, struct plugin_finding *to, struct err *err)
{
	const json_t *list;
	int rc = list_of(from, "steps", &list, err);

	for (; rc == 0 && to->nsteps < json_array_size(list); to->nsteps++)
		rc = read_step(json_array_get(list, to->nsteps), &to->steps[to->nsteps], err);
	return rc;
}

static int
read_time(const json_t *from, struct plugin_finding *to, struct err *err)
{
	const json_t *time = json_object_get(from, "time");
	uint64_t start_ns = 0, end_ns = 0;
	int rc;

	if (!json_is_object(time))
		return err_set(err, -EINVAL, OF ": \"time\" is no object with \"start_ns\" and \"end_ns\"");
	rc = fields_known(time, "time", time_fields, err);
	if (rc == 0)
		rc = fields_number(time, "time", "start_ns", true, MOST_NS, &start_ns, err);
	if (rc == 0)
		rc = fields_number(time, "time", "end_ns", true, MOST_NS, &end_ns, err);
	if (rc == 0 && end_ns < start_ns)
		rc = err_set(err, -EINVAL, OF ": \"time\" ends before it starts");
	to->start_ps = start_ns * PS_PER_NS;
	to->end_ps = end_ns * PS_PER_NS;
	return rc;
}

/* Small letters, digits and hyphens, as all types of findings are called. */
static int
read_type(const json_t *from, struct plugin_finding *to, struct err *err)
{
	int rc = fields_text(from, OF, "type", to->type, sizeof(to->type), err);

	if (rc == 0 && to->type[strspn(to->type, "abcdefghijklmnopqrstuvwxyz0123456789-")] != '\0')
		rc = err_set(err, -EINVAL,
			     OF ": \"type\" is \"%s\"; right would be small letters, digits and hyphens: \"deep-queue\"",
			     to->type);
	return rc;
}

int
plugin_finding_read(const json_t *from, struct plugin_finding *to, struct err *err)
{
	uint64_t explained_ns = 0, reported_ns = 0;
	int rc = json_is_object(from) ? fields_known(from, OF, finding_fields, err)
				      : err_set(err, -EINVAL, "a finding is no object");

	to->collective = to->job = REC_NONE;
	if (rc == 0)
		rc = read_type(from, to, err);
	if (rc == 0)
		rc = read_where(from, to, err);
	if (rc == 0)
		rc = read_names(from, "flows", &to->flows, err);
	if (rc == 0)
		rc = read_steps(from, to, err);
	if (rc == 0)
		rc = read_number32(from, OF, "collective", false, &to->collective, err);
	if (rc == 0)
		rc = read_number32(from, OF, "job", false, &to->job, err);
	if (rc == 0)
		rc = read_time(from, to, err);
	if (rc == 0)
		rc = fields_number(from, OF, "explained_ns", false, MOST_NS, &explained_ns, err);
	if (rc == 0)
		rc = fields_number(from, OF, "reported_ns", false, MOST_NS, &reported_ns, err);
	if (rc == 0)
		rc = fields_share(from, OF, "confidence", &to->confidence, err);
	if (rc == 0)
		rc = fields_text(from, OF, "evidence", to->evidence, sizeof(to->evidence), err);
	to->explained_ps = explained_ns * PS_PER_NS;
	to->reported_ps = reported_ns * PS_PER_NS;
	return rc;
}

static json_t *
names_json(const struct plugin_names *names)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < names->count; i++)
		array = add(array, json_string(names->names[i]));
	return array;
}

static json_t *
steps_json(const struct plugin_finding *finding)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < finding->nsteps; i++) {
		const struct plugin_step *s = &finding->steps[i];

		array = add(array,
			    json_pack("{s:I, s:I, s:I, s:I}", "collective", (json_int_t)s->collective, "iteration",
				      (json_int_t)s->iteration, "rank", (json_int_t)s->rank, "step", (json_int_t)s->step));
	}
	return array;
}

json_t *
plugin_finding_json(const struct plugin_finding *f)
{
	json_t *object =
		json_pack("{s:s, s:{s:o, s:o, s:o}, s:o, s:o, s:{s:I, s:I}, s:I, s:f, s:s, s:I}", "type", f->type, "where",
			  "ports", names_json(&f->ports), "links", names_json(&f->links), "hosts", names_json(&f->hosts),
			  "flows", names_json(&f->flows), "steps", steps_json(f), "time", "start_ns",
			  (json_int_t)(f->start_ps / PS_PER_NS), "end_ns", (json_int_t)(f->end_ps / PS_PER_NS),
			  "explained_ns", (json_int_t)(f->explained_ps / PS_PER_NS), "confidence", f->confidence,
			  "evidence", f->evidence, "reported_ns", (json_int_t)(f->reported_ps / PS_PER_NS));

	if (f->collective != REC_NONE)
		object = set(object, "collective", f->collective);
	return f->job != REC_NONE ? set(object, "job", f->job) : object;
}

void
plugin_finding_fini(struct plugin_finding *finding)
{
	free(finding->ports.names);
	free(finding->links.names);
	free(finding->hosts.names);
	free(finding->flows.names);
	*finding = (struct plugin_finding){ 0 };
}

/* ---- a line that a program writes ---- */

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

/* The kind of a value, for people. */
static const char *
kind(const json_t *value)
{
	static const char *const types[] = { "an object",     "an array", "a text", "an integer",
					     "a real number", "true",     "false",  "null" };

	return value != NULL ? types[json_typeof(value)] : "missing";
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

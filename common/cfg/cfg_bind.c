/* SPDX-License-Identifier: BSD-3-Clause */
/* Binds nodes to structs, and finds what the tables do not know. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cfg/cfg_tree.h"
#include "common/nearest.h"
#include "common/printable.h"
#include "common/units.h"

/* One value: from node to the field of a struct, with its limits. */

/* @return a description of right values, for messages */
static const char *
wanted(const struct cfg_field *field)
{
	switch (field->type) {
	case CFG_BOOL:
		return "true or false";
	case CFG_INT:
		return "an integer";
	case CFG_FLOAT:
		return "a number";
	case CFG_STRING:
	case CFG_PATH:
		return "a string in double quotes";
	case CFG_ENUM:
		return "one of the words in double quotes";
	case CFG_TIME:
		return "a time with its unit in double quotes, as \"2us\" (s, ms, us, ns, ps)";
	case CFG_RATE:
		return "a rate with its unit in double quotes, as \"100Gbps\" (bps, Kbps, Mbps, Gbps, Tbps)";
	case CFG_BYTES:
		return "whole bytes, as 4096, \"360MB\" or \"64KiB\"";
	case CFG_STRINGS:
		return "a list of strings, as [ \"a\", \"b\" ]";
	}
	return "";
}

/* "a|b|c" */
static const char *
list_choices(const struct cfg_choice *choices, char *buf, size_t cap)
{
	size_t used = 0;

	buf[0] = '\0';
	for (const struct cfg_choice *c = choices; c->name != NULL && used < cap; c++)
		used += (size_t)snprintf(buf + used, cap - used, "%s%s", c == choices ? "" : "|", c->name);
	return buf;
}

static int
choice_error(const struct cfg_node *node, const struct cfg_field *field, struct err *err)
{
	struct cfg_where where = { node->file, node->line, node };
	struct nearest nearest = { .word = node->type == CFG_NODE_STRING ? node->text : "" };
	char found[CFG_MAX_PATH], right[CFG_MAX_PATH];

	cfg_node_describe(node, found);
	list_choices(field->choices, right, sizeof(right));
	for (const struct cfg_choice *c = field->choices; c->name != NULL; c++)
		nearest_offer(&nearest, c->name, NEAREST_MAX_WORD);
	if (nearest_is_near(&nearest))
		return cfg_fail(&where, NULL, err, "found %s; did you mean \"%s\"? One of %s would be right", found,
				nearest.best, right);
	return cfg_fail(&where, NULL, err, "found %s; one of %s would be right", found, right);
}

static int
type_error(const struct cfg_node *node, const struct cfg_field *field, struct err *err)
{
	struct cfg_where where = { node->file, node->line, node };
	char found[CFG_MAX_PATH];

	if (field->type == CFG_ENUM)
		return choice_error(node, field, err);
	return cfg_fail(&where, NULL, err, "found %s; %s would be right", cfg_node_describe(node, found), wanted(field));
}

static const char *
format_limit(const struct cfg_field *field, double limit, char *buf, size_t cap)
{
	switch (field->type) {
	case CFG_TIME:
		return units_format_time((uint64_t)limit, buf, cap);
	case CFG_RATE:
		return units_format_rate((uint64_t)limit, buf, cap);
	case CFG_BYTES:
		return units_format_bytes((uint64_t)limit, buf, cap);
	default:
		snprintf(buf, cap, "%.15g", limit);
		return buf;
	}
}

static int
check_time(const struct cfg_node *node, uint64_t ps, struct err *err)
{
	struct cfg_where where = { node->file, node->line, node };
	char found[CFG_MAX_PATH];

	if (ps <= CFG_MAX_PS)
		return 0;
	return cfg_fail(&where, NULL, err, "found %s; 13 days at most would be right", cfg_node_describe(node, found));
}

static int
check_limits(const struct cfg_node *node, const struct cfg_field *field, double value, struct err *err)
{
	struct cfg_where where = { node->file, node->line, node };
	char found[CFG_MAX_PATH], min[64], max[64];

	if ((field->min == 0 && field->max == 0) ||
	    (value >= field->min && (field->max < field->min || value <= field->max)))
		return 0;
	cfg_node_describe(node, found);
	format_limit(field, field->min, min, sizeof(min));
	if (field->max < field->min)
		return cfg_fail(&where, NULL, err, "found %s; at least %s would be right", found, min);
	return cfg_fail(&where, NULL, err, "found %s; %s to %s would be right", found, min,
			format_limit(field, field->max, max, sizeof(max)));
}

/* @return NULL: no such word */
static const struct cfg_choice *
find_choice(const struct cfg_choice *choices, const char *text)
{
	for (const struct cfg_choice *c = choices; c->name != NULL; c++)
		if (strcmp(c->name, text) == 0)
			return c;
	return NULL;
}

/* CFG_TIME, CFG_RATE, CFG_BYTES */
static int
bind_unit(const struct cfg_node *node, const struct cfg_field *field, uint64_t *out, struct err *err)
{
	int rc = -EINVAL;

	if (node->type == CFG_NODE_STRING && field->type == CFG_TIME)
		rc = units_parse_time(node->text, out);
	else if (node->type == CFG_NODE_STRING && field->type == CFG_RATE)
		rc = units_parse_rate(node->text, out);
	else if (node->type == CFG_NODE_STRING || (node->type == CFG_NODE_INT && field->type == CFG_BYTES))
		rc = units_parse_bytes(node->text, out);
	if (rc != 0)
		return type_error(node, field, err);
	rc = check_limits(node, field, (double)*out, err);
	return rc == 0 && field->type == CFG_TIME ? check_time(node, *out, err) : rc;
}

static int
bind_number(const struct cfg_node *node, const struct cfg_field *field, void *out, struct err *err)
{
	double value = node->type == CFG_NODE_INT ? (double)node->integer : node->real;

	if (node->type != CFG_NODE_INT && (node->type != CFG_NODE_FLOAT || field->type == CFG_INT || !isfinite(value)))
		return type_error(node, field, err);
	if (field->type == CFG_INT)
		*(int64_t *)out = node->integer;
	else
		*(double *)out = value;
	return check_limits(node, field, value, err);
}

/* Names reach tables, sentences and terminals: what steers a terminal or hides in a line is refused here. */
static int
check_prints(const struct cfg_node *node, struct err *err)
{
	struct cfg_where where = { node->file, node->line, node };
	char found[CFG_MAX_PATH], name[PLAIN_NAME_BYTES];

	if (node->text == NULL || !plain_find_unprintable(node->text, name))
		return 0;
	return cfg_fail(&where, NULL, err, "found %s, with %s; printable characters of UTF-8 alone would be right",
			cfg_node_describe(node, found), name);
}

static int
bind_strings(const struct cfg_node *node, const struct cfg_field *field, struct cfg_strings *out, struct err *err)
{
	int ret = 0;

	if ((node->type != CFG_NODE_LIST && node->type != CFG_NODE_ARRAY) || (node->strings == NULL && node->nkids != 0))
		return type_error(node, field, err);
	for (size_t i = 0; ret == 0 && i < node->nkids; i++)
		ret = check_prints(node->kids[i], err);
	out->items = node->strings;
	out->count = node->nkids;
	return ret;
}

static int
bind_words(const struct cfg_node *node, const struct cfg_field *field, void *out, struct err *err)
{
	const struct cfg_choice *choice;

	switch (field->type) {
	case CFG_STRING:
	case CFG_PATH:
		if (node->text == NULL)
			return type_error(node, field, err);
		*(const char **)out = node->text;
		return field->type == CFG_STRING ? check_prints(node, err) : 0;
	case CFG_ENUM:
		choice = node->type == CFG_NODE_STRING ? find_choice(field->choices, node->text) : NULL;
		if (choice == NULL)
			return type_error(node, field, err);
		*(int *)out = choice->value;
		return 0;
	default:
		return bind_strings(node, field, out, err);
	}
}

/* Converts a node for a field; the default is written as text. @return 0 or -EINVAL with err set */
static int
cfg_value_bind(const struct cfg_node *node, const struct cfg_field *field, void *out, struct err *err)
{
	switch (field->type) {
	case CFG_BOOL:
		if (node->type != CFG_NODE_BOOL)
			return type_error(node, field, err);
		*(bool *)out = node->integer != 0;
		return 0;
	case CFG_INT:
	case CFG_FLOAT:
		return bind_number(node, field, out, err);
	case CFG_TIME:
	case CFG_RATE:
	case CFG_BYTES:
		return bind_unit(node, field, out, err);
	default:
		return bind_words(node, field, out, err);
	}
}

struct cfg_node *
cfg_value_default(const struct cfg_field *field, const char *file)
{
	struct cfg_node *node = cfg_node_create(CFG_NODE_STRING, field->name, file, 0);
	char *end;

	if (node == NULL)
		return NULL;
	node->origin = "default";
	node->text = strdup(field->def);
	if (node->text == NULL) {
		cfg_node_destroy(node);
		return NULL;
	}
	if (field->type == CFG_BOOL) {
		node->type = CFG_NODE_BOOL;
		node->integer = strcmp(field->def, "true") == 0;
	} else if (field->type == CFG_FLOAT) {
		node->type = CFG_NODE_FLOAT;
		node->real = strtod(field->def, NULL);
	} else if (field->type == CFG_INT || field->type == CFG_BYTES) {
		node->integer = strtoll(field->def, &end, 0);
		if (*end == '\0')
			node->type = CFG_NODE_INT;
	}
	return node;
}

/* Groups. */

int
cfg_fail(const struct cfg_where *where, const char *key, struct err *err, const char *fmt, ...)
{
	const struct cfg_node *node = where->node;
	char path[CFG_MAX_PATH] = "", place[CFG_MAX_PATH] = "", message[768];
	va_list ap;

	if (node != NULL && key != NULL && cfg_node_kid(node, key) != NULL) {
		node = cfg_node_kid(node, key);
		key = NULL;
	}
	if (node != NULL)
		cfg_node_path(node, path);
	if (where->file != NULL) {
		int line = node != NULL ? node->line : where->line;

		if (line > 0)
			snprintf(place, sizeof(place), "%.200s:%d: ", node != NULL ? node->file : where->file, line);
		else
			snprintf(place, sizeof(place), "%.200s: ", where->file);
	}
	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return err_set(err, -EINVAL, "%s%s%s%s%s%s", place, path, path[0] != '\0' && key != NULL ? "." : "",
		       key != NULL ? key : "", path[0] != '\0' || key != NULL ? ": " : "", message);
}

static int
bind_default(const struct cfg_field *field, void *out, struct err *err)
{
	struct cfg_node *node;
	int rc;

	if (field->def[0] == '\0' || field->type == CFG_STRINGS)
		return 0;
	if (field->type == CFG_STRING || field->type == CFG_PATH) {
		*(const char **)out = field->def;
		return 0;
	}
	node = cfg_value_default(field, "default");
	if (node == NULL)
		return err_set(err, -ENOMEM, "out of memory");
	rc = cfg_value_bind(node, field, out, err);
	assert(rc == 0 && "a table's default must satisfy its own limits");
	cfg_node_destroy(node);
	return rc;
}

/* @param group  NULL: all defaults */
static int
bind_group(const struct cfg *cfg, const struct cfg_node *group, const struct cfg_table *table, void *out, struct err *err)
{
	struct cfg_where *where = out;

	memset(out, 0, table->size);
	where->file = group != NULL ? group->file : cfg->files[0];
	where->line = group != NULL ? group->line : 0;
	where->node = group;
	for (size_t i = 0; i < table->nfields; i++) {
		const struct cfg_field *field = &table->fields[i];
		const struct cfg_node *kid = group != NULL ? cfg_node_kid(group, field->name) : NULL;
		void *value = (char *)out + field->offset;
		int rc;

		if (kid != NULL)
			rc = cfg_value_bind(kid, field, value, err);
		else if (field->def != NULL)
			rc = bind_default(field, value, err);
		else
			rc = cfg_fail(where, group == NULL && table->path[0] != '\0' ? table->path : NULL, err,
				      "%s is missing: %s", field->name, field->doc);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* @param node  what stands where the group should; NULL: nothing */
static int
bind_node(const struct cfg *cfg, const struct cfg_node *node, const struct cfg_table *table, void *out, struct err *err)
{
	char found[CFG_MAX_PATH];

	if (node != NULL && node->type != CFG_NODE_GROUP) {
		struct cfg_where where = { node->file, node->line, node };

		return cfg_fail(&where, NULL, err, "found %s; a group { ... } would be right",
				cfg_node_describe(node, found));
	}
	return bind_group(cfg, node, table, out, err);
}

int
cfg_bind(const struct cfg *cfg, const struct cfg_table *table, void *out, struct err *err)
{
	return bind_node(cfg, cfg_node_find(cfg, table->path), table, out, err);
}

/* @return the node within a group that the last word of the table's path names; NULL: there is none */
static struct cfg_node *
find_in(const struct cfg_where *group, const struct cfg_table *table)
{
	const char *dot = strrchr(table->path, '.');

	return group->node != NULL ? cfg_node_kid(group->node, dot != NULL ? dot + 1 : table->path) : NULL;
}

int
cfg_bind_in(const struct cfg *cfg, const struct cfg_where *group, const struct cfg_table *table, void *out, struct err *err)
{
	return bind_node(cfg, find_in(group, table), table, out, err);
}

int
cfg_bind_over(const struct cfg_where *group, const struct cfg_table *table, void *out, struct err *err)
{
	const char *dot = strrchr(table->path, '.');
	const struct cfg_node *node = dot != NULL ? cfg_node_kid(group->node, dot + 1) : group->node;
	int rc = 0;

	if (node == NULL)
		return 0;
	*(struct cfg_where *)out = (struct cfg_where){ node->file, node->line, node };
	for (size_t i = 0; i < table->nfields && rc == 0; i++) {
		const struct cfg_field *field = &table->fields[i];
		const struct cfg_node *kid = cfg_node_kid(node, field->name);

		if (kid != NULL)
			rc = cfg_value_bind(kid, field, (char *)out + field->offset, err);
	}
	return rc;
}

bool
cfg_has(const struct cfg_where *group, const char *key)
{
	return group->node != NULL && cfg_node_kid(group->node, key) != NULL;
}

static bool
is_kind(const struct cfg_node *element, const char *kind)
{
	const struct cfg_node *kid = cfg_node_kid(element, "kind");

	return kind == NULL || (kid != NULL && kid->type == CFG_NODE_STRING && strcmp(kid->text, kind) == 0);
}

static int
bind_list(const struct cfg *cfg, const struct cfg_node *list, const struct cfg_table *table, const char *kind, void **out,
	  size_t *count, struct err *err)
{
	char *items;

	*out = NULL;
	*count = 0;
	if (list == NULL)
		return 0;
	if (list->type != CFG_NODE_LIST) {
		struct cfg_where where = { list->file, list->line, list };
		char found[CFG_MAX_PATH];

		if (list->type == CFG_NODE_ARRAY && list->nkids == 0)
			return 0;
		return cfg_fail(&where, NULL, err, "found %s; a list ( { ... }, ... ) would be right",
				cfg_node_describe(list, found));
	}
	if (list->nkids == 0)
		return 0;
	items = calloc(list->nkids, table->size);
	if (items == NULL)
		return err_set(err, -ENOMEM, "out of memory for %s", table->path);
	for (size_t i = 0; i < list->nkids; i++) {
		int rc = cfg_node_expand(list->kids[i], table, err);

		if (rc == 0 && is_kind(list->kids[i], kind))
			rc = bind_group(cfg, list->kids[i], table, items + (*count)++ * table->size, err);
		if (rc != 0) {
			free(items);
			*count = 0;
			return rc;
		}
	}
	*out = items;
	return 0;
}

int
cfg_bind_list(const struct cfg *cfg, const struct cfg_table *table, const char *kind, void **out, size_t *count,
	      struct err *err)
{
	return bind_list(cfg, cfg_node_find(cfg, table->path), table, kind, out, count, err);
}

int
cfg_bind_list_in(const struct cfg *cfg, const struct cfg_where *group, const struct cfg_table *table, void **out,
		 size_t *count, struct err *err)
{
	return bind_list(cfg, find_in(group, table), table, NULL, out, count, err);
}

/* A word for a field of integers is one, if it looks so; else the field will refuse the string. */
static void
make_integer(struct cfg_node *word, const struct cfg_table *table)
{
	uint64_t value;

	for (size_t i = 0; i < table->nfields; i++)
		if (table->fields[i].type == CFG_INT && strcmp(table->fields[i].name, word->name) == 0 &&
		    number_parse(word->text, 0, INT64_MAX, &value)) {
			word->type = CFG_NODE_INT;
			word->integer = (int64_t)value;
		}
}

int
cfg_node_expand(struct cfg_node *node, const struct cfg_table *table, struct err *err)
{
	struct cfg_where where = { node->file, node->line, node };
	const char *names = table->words, *texts = node->text;
	char name[64], found[CFG_MAX_PATH];

	if (node->type == CFG_NODE_GROUP)
		return 0;
	if (node->type != CFG_NODE_STRING || names == NULL)
		return cfg_fail(&where, NULL, err, "found %s; a group { ... }%s%s%s would be right",
				cfg_node_describe(node, found), names != NULL ? " or \"" : "", names != NULL ? names : "",
				names != NULL ? "\"" : "");
	for (texts += strspn(texts, " \t"); *texts != '\0'; texts += strspn(texts, " \t")) {
		size_t name_length, length = strcspn(texts, " \t");
		struct cfg_node *kid;

		names += strspn(names, " ");
		name_length = strcspn(names, " ");
		if (name_length == 0)
			return cfg_fail(&where, NULL, err, "found %s; at most the words \"%s\" would be right",
					cfg_node_describe(node, found), table->words);
		snprintf(name, sizeof(name), "%.*s", (int)name_length, names);
		names += name_length;
		kid = cfg_node_create(CFG_NODE_STRING, name, node->file, node->line);
		if (kid == NULL || (kid->text = strndup(texts, length)) == NULL || cfg_node_add(node, kid) != 0)
			return err_set(err, -ENOMEM, "out of memory for %s", table->path);
		make_integer(kid, table);
		texts += length;
	}
	node->type = CFG_NODE_GROUP;
	free(node->text);
	node->text = NULL;
	return 0;
}

struct cfg_where
cfg_where_key(const struct cfg *cfg, const char *path)
{
	const struct cfg_node *node = NULL;
	char prefix[CFG_MAX_PATH];

	snprintf(prefix, sizeof(prefix), "%s", path);
	for (node = cfg_node_find(cfg, prefix); node == NULL; node = cfg_node_find(cfg, prefix)) {
		char *dot = strrchr(prefix, '.');

		*(dot != NULL ? dot : prefix) = '\0';
	}
	return (struct cfg_where){ node->file, node->line, node };
}

/* Unknown keys, and the keys that were probably meant. */

struct known_set {
	const struct cfg_known *at;
	size_t count;
};

/* Is table part of a group of this path and kind? */
static bool
applies(const struct cfg_known *known, const char *path, const char *kind)
{
	return strcmp(known->table->path, path) == 0 &&
	       (known->kind == NULL || (kind != NULL && strcmp(known->kind, kind) == 0));
}

static bool
has_kinds(const struct known_set *set, const char *path)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->at[i].kind != NULL && strcmp(set->at[i].table->path, path) == 0)
			return true;
	return false;
}

static bool
has_field(const struct cfg_table *table, const char *name)
{
	for (size_t i = 0; i < table->nfields; i++)
		if (strcmp(table->fields[i].name, name) == 0)
			return true;
	return false;
}

/* The name that follows path in a table's path: "pfc" for "switch.pfc" below "switch". @return its length, 0: none */
static size_t
child_name(const char *table_path, const char *path, const char **name)
{
	size_t length = strlen(path);

	if (length != 0 && (strncmp(table_path, path, length) != 0 || table_path[length] != '.'))
		return 0;
	*name = table_path + length + (length != 0);
	return strcspn(*name, ".");
}

/* @return the key that replaces a key that a table of this group had, NULL if none had it */
static const char *
written_now(const struct known_set *set, const char *name, const char *path, const char *kind)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct cfg_gone *gone = set->at[i].table->gone;

		for (; applies(&set->at[i], path, kind) && gone != NULL && gone->name != NULL; gone++)
			if (strcmp(gone->name, name) == 0)
				return gone->instead;
	}
	return NULL;
}

static int
unknown_key(const struct known_set *set, const struct cfg_node *key, const char *path, const char *kind, struct err *err)
{
	struct cfg_where where = { key->file, key->line, key };
	struct nearest nearest = { .word = key->name };
	const char *what = key->type == CFG_NODE_GROUP ? "group" : "key", *child;
	const char *instead = written_now(set, key->name, path, kind);

	if (instead != NULL)
		return cfg_fail(&where, NULL, err, "is no key any more; write %s", instead);
	for (size_t i = 0; i < set->count; i++) {
		const struct cfg_table *table = set->at[i].table;
		size_t length = child_name(table->path, path, &child);

		if (length != 0)
			nearest_offer(&nearest, child, length);
		if (strcmp(table->path, path) == 0 && !applies(&set->at[i], path, kind) && has_field(table, key->name))
			return cfg_fail(&where, NULL, err, "is a key of kind \"%s\", not of \"%s\"", set->at[i].kind,
					kind != NULL ? kind : "");
		for (size_t f = 0; applies(&set->at[i], path, kind) && f < table->nfields; f++)
			nearest_offer(&nearest, table->fields[f].name, NEAREST_MAX_WORD);
	}
	if (nearest_is_near(&nearest))
		return cfg_fail(&where, NULL, err, "unknown %s; did you mean \"%s\"?", what, nearest.best);
	if (nearest.best[0] != '\0')
		return cfg_fail(&where, NULL, err, "unknown %s; the nearest known here is \"%s\"", what, nearest.best);
	return cfg_fail(&where, NULL, err, "unknown %s", what);
}

static int
check_kind(const struct known_set *set, const struct cfg_node *group, const char *path, const char **kind, struct err *err)
{
	struct cfg_where where = { group->file, group->line, group };
	const struct cfg_node *node = cfg_node_kid(group, "kind");
	char all[512] = "", found[CFG_MAX_PATH];
	struct nearest nearest = { .word = "" };

	*kind = node != NULL && node->type == CFG_NODE_STRING ? node->text : NULL;
	nearest.word = *kind != NULL ? *kind : "";
	for (size_t i = 0; i < set->count; i++) {
		if (set->at[i].kind == NULL || strcmp(set->at[i].table->path, path) != 0)
			continue;
		if (*kind != NULL && strcmp(set->at[i].kind, *kind) == 0)
			return 0;
		nearest_offer(&nearest, set->at[i].kind, NEAREST_MAX_WORD);
		if (strlen(all) + strlen(set->at[i].kind) + 3 < sizeof(all)) {
			strcat(all, all[0] != '\0' ? ", " : "");
			strcat(all, set->at[i].kind);
		}
	}
	if (node == NULL)
		return cfg_fail(&where, NULL, err, "kind is missing; one of %s would be right", all);
	cfg_node_describe(node, found);
	if (nearest_is_near(&nearest))
		return cfg_fail(&where, "kind", err, "found %s; did you mean \"%s\"? Known are %s", found, nearest.best,
				all);
	return cfg_fail(&where, "kind", err, "found %s; one of %s would be right", found, all);
}

static int check_group(const struct known_set *set, const struct cfg_node *group, const char *path, struct err *err);

/* A child that is no field: a group or list of its own table, or only a step on the path to one. */
static int
check_child(const struct known_set *set, const struct cfg_node *kid, const char *path, bool *known, struct err *err)
{
	const struct cfg_table *own = NULL;
	struct cfg_where where = { kid->file, kid->line, kid };
	char found[CFG_MAX_PATH];
	const char *child;
	bool is_list;

	*known = false;
	for (size_t i = 0; i < set->count; i++) {
		if (strcmp(set->at[i].table->path, path) == 0)
			own = set->at[i].table;
		*known = *known || own != NULL || child_name(set->at[i].table->path, path, &child) != 0;
	}
	if (!*known)
		return 0;
	is_list = own != NULL && own->list;
	if (!is_list && kid->type == CFG_NODE_GROUP)
		return check_group(set, kid, path, err);
	if (is_list && kid->type == CFG_NODE_ARRAY && kid->nkids == 0)
		return 0;
	if (!is_list || kid->type != CFG_NODE_LIST)
		return cfg_fail(&where, NULL, err, "found %s; a %s would be right", cfg_node_describe(kid, found),
				is_list ? "list ( { ... }, ... )" : "group { ... }");
	for (size_t i = 0; i < kid->nkids; i++) {
		int rc = cfg_node_expand(kid->kids[i], own, err);

		if (rc == 0)
			rc = check_group(set, kid->kids[i], path, err);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int
check_group(const struct known_set *set, const struct cfg_node *group, const char *path, struct err *err)
{
	bool kinds = has_kinds(set, path), known;
	const char *kind = NULL;
	char child[CFG_MAX_PATH * 2];
	int rc = kinds ? check_kind(set, group, path, &kind, err) : 0;

	for (size_t k = 0; k < group->nkids && rc == 0; k++) {
		const struct cfg_node *kid = group->kids[k];

		known = kinds && strcmp(kid->name, "kind") == 0;
		for (size_t i = 0; i < set->count && !known; i++)
			known = applies(&set->at[i], path, kind) && has_field(set->at[i].table, kid->name);
		if (known)
			continue;
		snprintf(child, sizeof(child), "%s%s%s", path, path[0] != '\0' ? "." : "", kid->name);
		rc = check_child(set, kid, child, &known, err);
		if (rc == 0 && !known)
			rc = unknown_key(set, kid, path, kind, err);
	}
	return rc;
}

int
cfg_check(const struct cfg *cfg, const struct cfg_known *known, size_t count, struct err *err)
{
	struct known_set set = { known, count };

	return check_group(&set, cfg->root, "", err);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* From groups to structs. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cfg/cfg_tree.h"
#include "common/number.h"

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

/* What a group has of a table, whose path ends with the key's name. */
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

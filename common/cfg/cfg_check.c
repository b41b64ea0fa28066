/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that nobody knows, and what was probably meant. */
#include <errno.h>
#include <string.h>

#include "common/cfg/cfg_tree.h"
#include "common/nearest.h"

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

/* @return what is written instead of a key that a table of this group had, NULL if none had it */
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

/* A kid that is no field: a group or list of its own table, or only a step on the way to one. */
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

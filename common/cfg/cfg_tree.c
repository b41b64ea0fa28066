/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/cfg/cfg_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/printable.h"

struct cfg_node *
cfg_node_create(enum cfg_node_type type, const char *name, const char *file, int line)
{
	struct cfg_node *node = calloc(1, sizeof(*node));

	if (node == NULL)
		return NULL;
	node->type = type;
	node->file = file;
	node->line = line;
	if (name != NULL) {
		node->name = strdup(name);
		if (node->name == NULL) {
			free(node);
			return NULL;
		}
	}
	return node;
}

void
cfg_node_destroy(struct cfg_node *node)
{
	if (node == NULL)
		return;
	for (size_t i = 0; i < node->nkids; i++)
		cfg_node_destroy(node->kids[i]);
	free(node->kids);
	free(node->strings);
	free(node->text);
	free(node->name);
	free(node);
}

int
cfg_node_add(struct cfg_node *parent, struct cfg_node *kid)
{
	/* Room grows by doubling, at powers of two. */
	if ((parent->nkids & (parent->nkids - 1)) == 0) {
		size_t room = parent->nkids == 0 ? 1 : parent->nkids * 2;
		struct cfg_node **kids = realloc(parent->kids, room * sizeof(*kids));

		if (kids == NULL) {
			cfg_node_destroy(kid);
			return -ENOMEM;
		}
		parent->kids = kids;
	}
	kid->parent = parent;
	parent->kids[parent->nkids++] = kid;
	return 0;
}

struct cfg_node *
cfg_node_copy(const struct cfg_node *node)
{
	struct cfg_node *copy = cfg_node_create(node->type, node->name, node->file, node->line);

	if (copy == NULL)
		return NULL;
	copy->origin = node->origin;
	copy->integer = node->integer;
	copy->real = node->real;
	if (node->text != NULL && (copy->text = strdup(node->text)) == NULL)
		goto fail;
	for (size_t i = 0; i < node->nkids; i++) {
		struct cfg_node *kid = cfg_node_copy(node->kids[i]);

		if (kid == NULL || cfg_node_add(copy, kid) != 0)
			goto fail;
	}
	return copy;
fail:
	cfg_node_destroy(copy);
	return NULL;
}

struct cfg_node *
cfg_node_kid(const struct cfg_node *group, const char *name)
{
	for (size_t i = 0; i < group->nkids; i++)
		if (group->kids[i]->name != NULL && strcmp(group->kids[i]->name, name) == 0)
			return group->kids[i];
	return NULL;
}

int
cfg_node_put(struct cfg_node *parent, const char *name, size_t index, struct cfg_node *kid)
{
	for (size_t i = 0; i < parent->nkids; i++) {
		if (name != NULL ? strcmp(parent->kids[i]->name, name) != 0 : i != index)
			continue;
		cfg_node_destroy(parent->kids[i]);
		parent->kids[i] = kid;
		kid->parent = parent;
		return 0;
	}
	return cfg_node_add(parent, kid);
}

int
cfg_node_collect_strings(struct cfg_node *node)
{
	free(node->strings);
	node->strings = NULL;
	if ((node->type != CFG_NODE_LIST && node->type != CFG_NODE_ARRAY) || node->nkids == 0)
		return 0;
	for (size_t i = 0; i < node->nkids; i++)
		if (node->kids[i]->text == NULL)
			return 0;
	node->strings = calloc(node->nkids, sizeof(*node->strings));
	if (node->strings == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < node->nkids; i++)
		node->strings[i] = node->kids[i]->text;
	return 0;
}

char *
cfg_node_path(const struct cfg_node *node, char *buf)
{
	char head[CFG_MAX_PATH], step[CFG_MAX_PATH];

	buf[0] = '\0';
	for (; node->parent != NULL; node = node->parent) {
		const struct cfg_node *parent = node->parent;
		size_t index = 0;

		while (node->name == NULL && index < parent->nkids && parent->kids[index] != node)
			index++;
		if (node->name != NULL)
			snprintf(step, sizeof(step), "%s", node->name);
		else
			snprintf(step, sizeof(step), "[%zu]", index);
		snprintf(head, sizeof(head), "%s", buf);
		if (strlen(step) + strlen(head) + 2 > CFG_MAX_PATH)
			break;
		strcpy(buf, step);
		if (head[0] != '\0') {
			strcat(buf, ".");
			strcat(buf, head);
		}
	}
	return buf;
}

struct cfg_node *
cfg_node_find(const struct cfg *cfg, const char *path)
{
	struct cfg_node *node = cfg->root;
	struct cfg_step step;
	bool ok = true;

	if (path[0] == '\0')
		return node;
	for (const char *rest = path; rest != NULL && node != NULL;) {
		rest = cfg_path_step(rest, &step, &ok);
		if (!ok)
			return NULL;
		if (step.is_index)
			node = step.index < node->nkids ? node->kids[step.index] : NULL;
		else
			node = cfg_node_kid(node, step.name);
	}
	return node;
}

const char *
cfg_path_step(const char *path, struct cfg_step *step, bool *ok)
{
	size_t length = path[0] == '[' ? 1 + strcspn(path + 1, ".[") : strcspn(path, ".[");
	char *end;

	*ok = false;
	if (length == 0 || length >= sizeof(step->name))
		return NULL;
	memcpy(step->name, path, length);
	step->name[length] = '\0';
	step->is_index = step->name[0] == '[';
	if (step->is_index) {
		step->index = strtoul(step->name + 1, &end, 10);
		if (end == step->name + 1 || step->name[1] == '-' || strcmp(end, "]") != 0)
			return NULL;
	} else {
		/* libconfig's names: a letter or '*', then letters, digits, '-', '_', '*' */
		if (strspn(step->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_*") != length ||
		    strspn(step->name, "0123456789-_") != 0)
			return NULL;
	}
	*ok = true;
	if (path[length] == '\0')
		return NULL;
	return path + length + (path[length] == '.');
}

char *
cfg_node_describe(const struct cfg_node *node, char *buf)
{
	switch (node->type) {
	case CFG_NODE_GROUP:
		return strcpy(buf, "a group");
	case CFG_NODE_LIST:
		return strcpy(buf, "a list");
	case CFG_NODE_ARRAY:
		return strcpy(buf, "an array");
	case CFG_NODE_BOOL:
		return strcpy(buf, node->integer ? "true" : "false");
	case CFG_NODE_INT:
		snprintf(buf, CFG_MAX_PATH, "%lld", (long long)node->integer);
		return buf;
	case CFG_NODE_FLOAT:
		snprintf(buf, CFG_MAX_PATH, "%g", node->real);
		return buf;
	case CFG_NODE_STRING:
		snprintf(buf, CFG_MAX_PATH, "\"%.200s\"", plain_line(node->text).text);
		return buf;
	}
	return strcpy(buf, "nothing");
}

const char *
cfg_intern(struct cfg *cfg, const char *name)
{
	char **files;

	for (size_t i = 0; i < cfg->nfiles; i++)
		if (strcmp(cfg->files[i], name) == 0)
			return cfg->files[i];
	files = realloc(cfg->files, (cfg->nfiles + 1) * sizeof(*files));
	if (files == NULL)
		return NULL;
	cfg->files = files;
	files[cfg->nfiles] = strdup(name);
	return files[cfg->nfiles] == NULL ? NULL : files[cfg->nfiles++];
}

char *
cfg_where_path(const struct cfg_where *where, char *buf)
{
	_Static_assert(CFG_WHERE_PATH == CFG_MAX_PATH, "one length of paths");
	buf[0] = '\0';
	return where->node != NULL ? cfg_node_path(where->node, buf) : buf;
}

/* A tree without some of its groups. */

struct copying {
	struct cfg *cfg; /* made */
	const struct cfg_where *without;
	size_t count;
};

static bool
is_left_out(const struct copying *c, const struct cfg_node *node)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->without[i].node == node)
			return true;
	return false;
}

/*
 * Gives a copied node strings of the new tree, and removes the nodes that are left out.
 * @param from  the node that it was copied from
 */
static int
adopt(struct copying *c, const struct cfg_node *from, struct cfg_node *node)
{
	size_t kept = 0;
	int ret = 0;

	node->file = cfg_intern(c->cfg, from->file);
	if (from->origin != NULL)
		node->origin = cfg_intern(c->cfg, from->origin);
	if (node->file == NULL || (from->origin != NULL && node->origin == NULL))
		return -ENOMEM;
	for (size_t i = 0; i < node->nkids; i++) {
		if (is_left_out(c, from->kids[i])) {
			cfg_node_destroy(node->kids[i]);
			continue;
		}
		ret = ret == 0 ? adopt(c, from->kids[i], node->kids[i]) : ret;
		node->kids[kept++] = node->kids[i];
	}
	node->nkids = kept;
	return ret == 0 ? cfg_node_collect_strings(node) : ret;
}

struct cfg *
cfg_copy(const struct cfg *cfg, const struct cfg_where *without, size_t count, struct err *err)
{
	struct copying copying = { calloc(1, sizeof(struct cfg)), without, count };
	struct cfg *made = copying.cfg;

	if (made != NULL && cfg_intern(made, cfg_file(cfg)) != NULL && (made->root = cfg_node_copy(cfg->root)) != NULL &&
	    adopt(&copying, cfg->root, made->root) == 0) {
		made->overrides = cfg->overrides;
		return made;
	}
	if (made != NULL)
		cfg_destroy(made);
	err_set(err, -ENOMEM, "%s: out of memory", cfg_file(cfg));
	errno = ENOMEM;
	return NULL;
}

/* Adding settings of another tree that a tree lacks. */

/* Gives a value that was copied from another tree strings of this tree. */
static int
make_own(struct cfg *cfg, struct cfg_node *node)
{
	int ret = 0;

	node->file = cfg_intern(cfg, node->file);
	for (size_t i = 0; i < node->nkids && ret == 0; i++)
		ret = make_own(cfg, node->kids[i]);
	if (node->file == NULL)
		return -ENOMEM;
	return ret == 0 ? cfg_node_collect_strings(node) : ret;
}

/* @return the group's copy without what it holds, or the whole value's */
static struct cfg_node *
copy_missing(struct cfg *cfg, const struct cfg_node *from, const char *origin)
{
	bool is_group = from->type == CFG_NODE_GROUP;
	struct cfg_node *copy =
		is_group ? cfg_node_create(CFG_NODE_GROUP, from->name, from->file, from->line) : cfg_node_copy(from);

	if (copy == NULL)
		return NULL;
	copy->origin = is_group ? NULL : origin;
	if (make_own(cfg, copy) == 0)
		return copy;
	cfg_node_destroy(copy);
	return NULL;
}

static int
add_missing(struct cfg *cfg, struct cfg_node *to, const struct cfg_node *from, const char *origin)
{
	int ret = 0;

	for (size_t i = 0; i < from->nkids && ret == 0; i++) {
		const struct cfg_node *kid = from->kids[i];
		struct cfg_node *own = cfg_node_kid(to, kid->name);

		if (own == NULL) {
			own = copy_missing(cfg, kid, origin);
			ret = own != NULL ? cfg_node_add(to, own) : -ENOMEM;
		}
		if (ret == 0 && own->type == CFG_NODE_GROUP && kid->type == CFG_NODE_GROUP)
			ret = add_missing(cfg, own, kid, origin);
	}
	return ret;
}

int
cfg_add_missing(struct cfg *cfg, const char *path, const struct cfg *from, const char *from_path, const char *origin,
		struct err *err)
{
	const char *own = cfg_intern(cfg, origin);
	int ret = own != NULL ? add_missing(cfg, cfg_node_find(cfg, path), cfg_node_find(from, from_path), own) : -ENOMEM;

	return ret == 0 ? 0 : err_set(err, ret, "%s: out of memory", cfg_file(cfg));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* --set path=value */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cfg/cfg_tree.h"

#define SET_FILE_BYTES 256 /* of "--set PATH"; a longer one is cut */

/* Text that libconfig would read as something else than a bare word. */
static bool
is_structured(const char *text)
{
	return strchr("\"[({", text[0]) != NULL;
}

static bool
is_integer(const char *text)
{
	text += *text == '-';
	return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static struct cfg_node *
parse_value(struct cfg *cfg, const char *text, struct err *err)
{
	struct err reason = { "" };
	struct cfg_node *root, *node = NULL;
	size_t size = strlen(text) + sizeof("value = L\n;");
	char *setting = malloc(size);

	if (setting == NULL)
		goto out;
	snprintf(setting, size, "value = %s%s\n;", text, is_integer(text) ? "L" : "");
	root = cfg_parse(cfg, setting, cfg->override_place, NULL, &reason);
	if (root != NULL && root->nkids == 1) {
		node = root->kids[0];
		root->nkids = 0;
		node->parent = NULL;
		free(node->name);
		node->name = NULL;
	}
	cfg_node_destroy(root);
	if (node == NULL && !is_structured(text)) {
		node = cfg_node_create(CFG_NODE_STRING, NULL, cfg->override_place, cfg->overrides);
		if (node != NULL && (node->text = strdup(text)) == NULL) {
			cfg_node_destroy(node);
			node = NULL;
		}
	}
out:
	free(setting);
	if (node == NULL)
		err_set(err, -EINVAL, "--set: \"%s\" is no value: write it as in a file, or as a bare word", text);
	return node;
}

static void
set_place(struct cfg_node *node, const char *file, int line)
{
	node->file = file;
	node->line = line;
	for (size_t i = 0; i < node->nkids; i++)
		set_place(node->kids[i], file, line);
}

/* The aggregate that a step leads to, made when it is missing. next says whether it must hold indices. */
static int
descend(struct cfg_node **node, const struct cfg_step *step, const struct cfg_step *next, struct cfg *cfg)
{
	struct cfg_node *kid;
	int rc;

	if (step->is_index)
		kid = step->index < (*node)->nkids ? (*node)->kids[step->index] : NULL;
	else
		kid = cfg_node_kid(*node, step->name);
	if (kid == NULL) {
		kid = cfg_node_create(next->is_index ? CFG_NODE_LIST : CFG_NODE_GROUP, step->is_index ? NULL : step->name,
				      cfg->override_place, cfg->overrides);
		if (kid == NULL)
			return -ENOMEM;
		rc = cfg_node_add(*node, kid);
		if (rc != 0)
			return rc;
	}
	*node = kid;
	return 0;
}

/* May step be taken from node? */
static bool
step_fits(const struct cfg_node *node, const struct cfg_step *step)
{
	if (!step->is_index)
		return node->type == CFG_NODE_GROUP;
	return (node->type == CFG_NODE_LIST || node->type == CFG_NODE_ARRAY) && step->index <= node->nkids;
}

static int
put_value(struct cfg *cfg, struct cfg_node *node, const char *path, const char *text, struct err *err)
{
	struct cfg_step step, next;
	struct cfg_node *value;
	char what[CFG_MAX_PATH];
	bool ok;

	for (int depth = 0; depth < CFG_MAX_DEPTH; depth++) {
		path = cfg_path_step(path, &step, &ok);
		if (!ok)
			return err_set(err, -EINVAL, "--set %s: the path is made of names and [indices] joined by dots",
				       text);
		if (!step_fits(node, &step))
			return err_set(err, -EINVAL, "--set %s: \"%s\" leads nowhere in %s%s", text, step.name,
				       cfg_node_describe(node, what),
				       step.is_index ? ": an index counts from 0, one past the end appends" : "");
		if (path == NULL) {
			value = parse_value(cfg, strchr(text, '=') + 1, err);
			if (value == NULL)
				return -EINVAL;
			set_place(value, cfg->override_place, cfg->overrides);
			if (!step.is_index && (value->name = strdup(step.name)) == NULL) {
				cfg_node_destroy(value);
				return err_set(err, -ENOMEM, "--set: out of memory");
			}
			if (cfg_node_put(node, value->name, step.index, value) != 0 || cfg_node_collect_strings(node) != 0)
				return err_set(err, -ENOMEM, "--set: out of memory");
			return 0;
		}
		cfg_path_step(path, &next, &ok);
		if (!ok)
			continue;
		if (descend(&node, &step, &next, cfg) != 0)
			return err_set(err, -ENOMEM, "--set: out of memory");
	}
	return err_set(err, -EINVAL, "--set %s: more than %d groups within groups", text, CFG_MAX_DEPTH);
}

int
cfg_override(struct cfg *cfg, const char *assignment, struct err *err)
{
	const char *equals = strchr(assignment, '=');
	char place[SET_FILE_BYTES], *path;
	int rc;

	if (equals == NULL || equals == assignment || equals[1] == '\0')
		return err_set(err, -EINVAL, "--set %s: write path=value, as in switch.pfc.headroom=80KB", assignment);
	path = strndup(assignment, (size_t)(equals - assignment));
	snprintf(place, sizeof(place), "--set %.*s", (int)(equals - assignment), assignment);
	cfg->override_place = cfg_intern(cfg, place);
	if (path == NULL || cfg->override_place == NULL) {
		free(path);
		return err_set(err, -ENOMEM, "--set: out of memory");
	}
	cfg->overrides++;
	rc = put_value(cfg, cfg->root, path, assignment, err);
	free(path);
	return rc;
}

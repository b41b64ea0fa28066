/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading: the only file that sees libconfig. */
#include "common/cfg/cfg.h"

#include <errno.h>
#include <libconfig.h>
#include <libgen.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cfg/cfg_tree.h"

/* Copies line number line of text, trimmed, for a message. */
static void
quote_line(const char *text, int line, char *buf, size_t cap)
{
	size_t length;

	buf[0] = '\0';
	for (; line > 1 && text != NULL; line--) {
		text = strchr(text, '\n');
		text = text != NULL ? text + 1 : NULL;
	}
	if (text == NULL)
		return;
	text += strspn(text, " \t");
	length = strcspn(text, "\r\n");
	snprintf(buf, cap, "%.*s", (int)(length < cap ? length : cap - 1), text);
}

/* One parse. Names of included files come from libconfig as they were written, relative to include_dir. */
struct parse {
	struct cfg *cfg;
	const char *text, *name, *include_dir;
	struct err *err;
};

static const char *
file_name(const struct parse *parse, const char *source, char *buf, size_t cap)
{
	if (source == NULL)
		return parse->name;
	if (source[0] == '/' || parse->include_dir == NULL)
		return source;
	snprintf(buf, cap, "%s/%s", parse->include_dir, source);
	return buf;
}

static void
parse_failed(const struct parse *parse, const config_t *config)
{
	const char *reason = config_error_text(config) != NULL ? config_error_text(config) : "cannot be parsed";
	const char *hint = "", *file;
	int line = config_error_line(config);
	char near[120] = "", joined[CFG_MAX_FILE];

	file = file_name(parse, config_error_file(config), joined, sizeof(joined));
	if (config_error_file(config) == NULL)
		quote_line(parse->text, line, near, sizeof(near));
	if (strstr(reason, "syntax") != NULL)
		hint = "; values with a unit need quotes (\"2us\"), and settings end with ';'";
	else if (strstr(reason, "duplicate") != NULL)
		hint = "; a key may stand once in a group";
	if (near[0] == '\0')
		err_set(parse->err, -EINVAL, "%s:%d: %s%s", file, line, reason, hint);
	else
		err_set(parse->err, -EINVAL, "%s:%d: %s at or before \"%s\"%s", file, line, reason, near, hint);
}

static struct cfg_node *copy_setting(const struct parse *parse, const config_setting_t *setting, int depth);

static int
copy_kids(const struct parse *parse, const config_setting_t *setting, struct cfg_node *node, int depth)
{
	int count = config_setting_length(setting);

	for (int i = 0; i < count; i++) {
		struct cfg_node *kid = copy_setting(parse, config_setting_get_elem(setting, (unsigned int)i), depth + 1);

		if (kid == NULL)
			return -EINVAL;
		if (cfg_node_add(node, kid) != 0)
			return -ENOMEM;
	}
	return cfg_node_collect_strings(node);
}

static int
copy_value(const config_setting_t *setting, struct cfg_node *node)
{
	char digits[32];

	switch (config_setting_type(setting)) {
	case CONFIG_TYPE_INT:
	case CONFIG_TYPE_INT64:
		node->type = CFG_NODE_INT;
		node->integer = config_setting_get_int64(setting);
		snprintf(digits, sizeof(digits), "%lld", (long long)node->integer);
		node->text = strdup(digits);
		return node->text != NULL ? 0 : -ENOMEM;
	case CONFIG_TYPE_FLOAT:
		node->type = CFG_NODE_FLOAT;
		node->real = config_setting_get_float(setting);
		return isfinite(node->real) ? 0 : -ERANGE;
	case CONFIG_TYPE_BOOL:
		node->type = CFG_NODE_BOOL;
		node->integer = config_setting_get_bool(setting);
		return 0;
	default:
		node->type = CFG_NODE_STRING;
		node->text = strdup(config_setting_get_string(setting) != NULL ? config_setting_get_string(setting) : "");
		return node->text != NULL ? 0 : -ENOMEM;
	}
}

static struct cfg_node *
copy_setting(const struct parse *parse, const config_setting_t *setting, int depth)
{
	char joined[CFG_MAX_FILE];
	const char *file =
		cfg_intern(parse->cfg, file_name(parse, config_setting_source_file(setting), joined, sizeof(joined)));
	int line = (int)config_setting_source_line(setting), rc = -ENOMEM;
	struct cfg_node *node = cfg_node_create(CFG_NODE_GROUP, config_setting_name(setting), file, line);

	if (node == NULL || file == NULL)
		goto fail;
	if (depth > CFG_MAX_DEPTH) {
		rc = err_set(parse->err, -EINVAL, "%s:%d: more than %d groups within groups", file, line, CFG_MAX_DEPTH);
		goto fail;
	}
	if (config_setting_is_list(setting))
		node->type = CFG_NODE_LIST;
	else if (config_setting_is_array(setting))
		node->type = CFG_NODE_ARRAY;
	rc = config_setting_is_aggregate(setting) ? copy_kids(parse, setting, node, depth) : copy_value(setting, node);
	if (rc == 0)
		return node;
fail:
	cfg_node_destroy(node);
	if (rc == -ENOMEM)
		err_set(parse->err, rc, "%s: out of memory", parse->name);
	else if (rc == -ERANGE)
		err_set(parse->err, rc, "%s:%d: a number beyond what a double holds", file, line);
	return NULL;
}

struct cfg_node *
cfg_parse(struct cfg *cfg, const char *text, const char *name, const char *include_dir, struct err *err)
{
	struct parse parse = { cfg, text, name, include_dir, err };
	struct cfg_node *root = NULL;
	config_t config;

	if (cfg_scan(text, name, include_dir, err) != 0)
		return NULL;
	config_init(&config);
	if (include_dir != NULL)
		config_set_include_dir(&config, include_dir);
	if (config_read_string(&config, text) != CONFIG_TRUE)
		parse_failed(&parse, &config);
	else
		root = copy_setting(&parse, config_root_setting(&config), 0);
	config_destroy(&config);
	return root;
}

static struct cfg *
load_text(const char *text, const char *name, const char *include_dir, struct err *err)
{
	struct cfg *cfg = calloc(1, sizeof(*cfg));

	if (cfg == NULL || cfg_intern(cfg, name) == NULL) {
		free(cfg);
		err_set(err, -ENOMEM, "%s: out of memory", name);
		errno = ENOMEM;
		return NULL;
	}
	cfg->root = cfg_parse(cfg, text, name, include_dir, err);
	if (cfg->root != NULL)
		return cfg;
	cfg_destroy(cfg);
	errno = EINVAL;
	return NULL;
}

struct cfg *
cfg_load(const char *path, struct err *err)
{
	char *text = cfg_read_file(path, err), *copy = strdup(path);
	struct cfg *cfg = NULL;

	if (text != NULL && copy != NULL)
		cfg = load_text(text, path, dirname(copy), err);
	free(copy);
	free(text);
	return cfg;
}

struct cfg *
cfg_load_string(const char *text, const char *name, struct err *err)
{
	return load_text(text, name, NULL, err);
}

void
cfg_destroy(struct cfg *cfg)
{
	if (cfg == NULL)
		return;
	cfg_node_destroy(cfg->root);
	for (size_t i = 0; i < cfg->nfiles; i++)
		free(cfg->files[i]);
	free(cfg->files);
	free(cfg);
}

const char *
cfg_file(const struct cfg *cfg)
{
	return cfg->files[0];
}

char *
cfg_resolve(const struct cfg *cfg, const char *path)
{
	char *copy, *resolved = NULL;

	if (path[0] == '/')
		return strdup(path);
	copy = strdup(cfg_file(cfg));
	if (copy != NULL && asprintf(&resolved, "%s/%s", dirname(copy), path) < 0)
		resolved = NULL;
	free(copy);
	return resolved;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading: the only file that sees libconfig. */
#include "common/cfg/cfg.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libconfig.h>
#include <libgen.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cfg/cfg_tree.h"

FILE *
cfg_open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "rb") : NULL;

	if (fd >= 0 && file == NULL) {
		close(fd);
		errno = ENOMEM;
	}
	return file;
}

#define BYTE_ORDER_MARK "\xef\xbb\xbf"

/* The whole of a plain text file, the caller's to free. NULL with err and errno set. */
static char *
cfg_read_file(const char *path, struct err *err)
{
	FILE *file = cfg_open_file(path);
	char *text = NULL;
	struct stat st;

	if (file == NULL || fstat(fileno(file), &st) != 0) {
		err_set(err, -errno, "%s: %s", path, strerror(errno));
		goto out;
	}
	if (!S_ISREG(st.st_mode) || st.st_size > CFG_MAX_BYTES) {
		errno = EINVAL;
		err_set(err, -EINVAL, "%s: not a regular file of at most %u MiB", path, CFG_MAX_BYTES >> 20);
		goto out;
	}
	text = calloc(1, (size_t)st.st_size + 1);
	if (text == NULL || fread(text, 1, (size_t)st.st_size, file) != (size_t)st.st_size) {
		errno = EIO;
		err_set(err, -EIO, "%s: cannot be read", path);
		goto fail;
	}
	if (memchr(text, '\0', (size_t)st.st_size) != NULL)
		err_set(err, -EINVAL, "%s: holds a zero byte; plain text would be right", path);
	else if (strncmp(text, BYTE_ORDER_MARK, sizeof(BYTE_ORDER_MARK) - 1) == 0)
		err_set(err, -EINVAL,
			"%s: begins with a byte order mark, which editors hide; UTF-8 without one would be right", path);
	else
		goto out;
	errno = EINVAL;
fail:
	free(text);
	text = NULL;
out:
	if (file != NULL)
		fclose(file);
	return text;
}

/*
 * A look at the text before libconfig reads it, for errors that libconfig 1.5 does not survive or does not report:
 * an included file that cannot be read to its end (a directory, say) ends the whole program, and an integer beyond
 * 32 bits without an L behind it is truncated silently.
 */

#define MAX_INCLUDE_DEPTH 8 /* libconfig itself stops at 10 */

struct scan {
	const char *text, *name, *dir; /* dir NULL: no files, no @include */
	const char *at;
	int line, depth;
	struct err *err;
};

static int scan_text(struct scan *scan);

/* Finds what libconfig would not survive or not report. @return 0 or -EINVAL with err set */
static int
cfg_scan(const char *text, const char *name, const char *include_dir, struct err *err)
{
	struct scan scan = { .text = text, .name = name, .dir = include_dir, .at = text, .line = 1, .err = err };

	return scan_text(&scan);
}

/* Moves behind the string or comment that begins here, if any does. */
static bool
skip_blank(struct scan *scan)
{
	const char *from = scan->at, *end = from;

	if (*from == '"') {
		for (end++; *end != '\0' && *end != '"'; end++)
			end += *end == '\\' && end[1] != '\0';
		end += *end == '"';
	} else if (*from == '#' || (from[0] == '/' && from[1] == '/')) {
		end += strcspn(from, "\n");
	} else if (from[0] == '/' && from[1] == '*') {
		end = strstr(from + 2, "*/");
		end = end != NULL ? end + 2 : from + strlen(from);
	}
	for (; scan->at < end; scan->at++)
		scan->line += *scan->at == '\n';
	return end != from;
}

static int
scan_number(struct scan *scan)
{
	bool is_hex = scan->at[0] == '0' && (scan->at[1] | 0x20) == 'x';
	size_t length = strspn(scan->at, "0123456789");
	const char *start = scan->at;
	unsigned long long value;
	bool is_long;
	char *end;

	errno = 0;
	value = strtoull(start, &end, is_hex ? 16 : 10);
	scan->at = end;
	if (!is_hex && (start[length] == '.' || (start[length] | 0x20) == 'e')) {
		scan->at += strspn(scan->at, "0123456789.eE+-");
		return 0;
	}
	is_long = *end == 'L';
	if (errno == ERANGE || value > INT64_MAX)
		return err_set(scan->err, -EINVAL, "%s:%d: %.*s does not fit 64 bits", scan->name, scan->line,
			       (int)(end - start < 64 ? end - start : 64), start);
	if (value > INT32_MAX && !is_long)
		return err_set(scan->err, -EINVAL, "%s:%d: %.*s does not fit 32 bits; %.*sL would be right", scan->name,
			       scan->line, (int)(end - start), start, (int)(end - start), start);
	return 0;
}

/* At "@include": libconfig takes it at the beginning of a line only. */
static int
scan_include(struct scan *scan)
{
	const char *name = scan->at + strlen("@include");
	struct scan inner = *scan;
	char file[CFG_MAX_FILE], *text;
	struct err why = { "" };
	size_t length;
	int rc;

	name += strspn(name, " \t");
	scan->at++;
	if (*name != '"')
		return 0;
	length = strcspn(++name, "\"\\\n");
	if (scan->dir == NULL)
		return err_set(scan->err, -EINVAL, "%s:%d: @include works in files only", scan->name, scan->line);
	if (name[length] != '"' || length == 0 || length + strlen(scan->dir) + 2 > sizeof(file))
		return err_set(scan->err, -EINVAL, "%s:%d: @include needs a file name in double quotes, without \\",
			       scan->name, scan->line);
	if (scan->depth == MAX_INCLUDE_DEPTH)
		return err_set(scan->err, -EINVAL, "%s:%d: @include: more than %d files deep", scan->name, scan->line,
			       MAX_INCLUDE_DEPTH);
	snprintf(file, sizeof(file), "%s%s%.*s", *name == '/' ? "" : scan->dir, *name == '/' ? "" : "/", (int)length, name);
	text = cfg_read_file(file, &why);
	if (text == NULL)
		return err_set(scan->err, -EINVAL, "%s:%d: @include: %s", scan->name, scan->line, why.text);
	inner.text = inner.at = text;
	inner.name = file;
	inner.line = 1;
	inner.depth++;
	rc = scan_text(&inner);
	free(text);
	return rc;
}

static bool
is_name(char c)
{
	return isalnum((unsigned char)c) || strchr("_*-", c) != NULL;
}

static int
scan_text(struct scan *scan)
{
	int rc = 0;

	while (*scan->at != '\0' && rc == 0) {
		char c = *scan->at;

		if (skip_blank(scan))
			continue;
		if (isdigit((unsigned char)c)) {
			rc = scan_number(scan);
		} else if (isalpha((unsigned char)c)) {
			while (*scan->at != '\0' && is_name(*scan->at))
				scan->at++;
		} else if (strncmp(scan->at, "@include", strlen("@include")) == 0) {
			rc = scan_include(scan);
		} else {
			scan->line += c == '\n';
			scan->at++;
		}
	}
	return rc;
}

/* Loading. */

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

/* One parse. libconfig returns the names of included files as they were written, relative to include_dir. */
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
		hint = "; a key may occur once in a group";
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

/* Parses libconfig text into a tree; names in messages and places are interned in cfg. NULL with err set. */
static struct cfg_node *
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
		cfg_destroy(cfg);
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

/* --set path=value */

#define SET_FILE_BYTES 256 /* of "--set PATH"; a longer one is truncated */

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
parse_value(struct cfg *cfg, const char *override, struct err *err)
{
	const char *text = strchr(override, '=') + 1;
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
		err_set(err, -EINVAL, "--set %.*s: \"%s\" is no value: write it as in a file, or as a bare word",
			(int)(text - 1 - override), override, text);
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

/* The aggregate that a step leads to, made when it is missing. next shows whether it must hold indices. */
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
			value = parse_value(cfg, text, err);
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

/*
 * Parses one item of a list of indices such as "0-2,5".
 * @return the end of the "INDEX" or "FIRST-LAST" that at points to; NULL: it is malformed
 */
static const char *
index_range(const char *at, unsigned long *first, unsigned long *last)
{
	char *end;

	if (!isdigit((unsigned char)*at))
		return NULL;
	*first = *last = strtoul(at, &end, 10);
	if (*end == '-') {
		if (!isdigit((unsigned char)end[1]))
			return NULL;
		*last = strtoul(end + 1, &end, 10);
	}
	return *last >= *first && *last - *first < CFG_MAX_PLACES && (*end == ',' || *end == ']') ? end : NULL;
}

/* @return the number of places of a path, or one above CFG_MAX_PLACES; 1 of a path that put_values() refuses */
static uint64_t
count_places(const char *path)
{
	uint64_t count = 1;

	for (const char *at = strchr(path, '['); at != NULL && count <= CFG_MAX_PLACES; at = strchr(at, '[')) {
		unsigned long first, last;
		uint64_t indices = 0;

		do {
			at = index_range(at + 1, &first, &last);
			if (at == NULL)
				return 1;
			indices += last - first + 1;
		} while (*at == ',');
		count *= indices;
	}
	return count;
}

/* "[0-2,5]" in a path stands for each of these indices: the value is put at all of them. */
static int
put_values(struct cfg *cfg, const char *path, const char *text, struct err *err)
{
	const char *open = strchr(path, '[');
	size_t room = strlen(path) + 24;
	unsigned long first, last;
	char *one;
	int rc = 0;

	while (open != NULL && strpbrk(open, ",-]") != NULL && *strpbrk(open, ",-]") == ']')
		open = strchr(open + 1, '[');
	if (open == NULL || strchr(open, ']') == NULL)
		return put_value(cfg, cfg->root, path, text, err);
	one = malloc(room);
	if (one == NULL)
		return err_set(err, -ENOMEM, "--set: out of memory");
	for (const char *at = open; rc == 0 && *at != ']';) {
		at = index_range(at + 1, &first, &last);
		if (at == NULL) {
			rc = err_set(err, -EINVAL, "--set %s: the path is made of names and [indices] joined by dots",
				     text);
			break;
		}
		for (unsigned long i = first; rc == 0 && i <= last; i++) {
			snprintf(one, room, "%.*s[%lu%s", (int)(open - path), path, i, strchr(at, ']'));
			rc = put_values(cfg, one, text, err);
		}
	}
	free(one);
	return rc;
}

/* @param place  in messages */
static int
override_at(struct cfg *cfg, const char *place, const char *assignment, struct err *err)
{
	char *path = strndup(assignment, strcspn(assignment, "="));
	int rc;

	cfg->override_place = cfg_intern(cfg, place);
	if (path == NULL || cfg->override_place == NULL) {
		free(path);
		return err_set(err, -ENOMEM, "--set: out of memory");
	}
	cfg->overrides++;
	if (count_places(path) <= CFG_MAX_PLACES)
		rc = put_values(cfg, path, assignment, err);
	else
		rc = err_set(err, -EINVAL, "--set %s: more than %d places", assignment, CFG_MAX_PLACES);
	free(path);
	return rc;
}

int
cfg_override(struct cfg *cfg, const char *assignment, struct err *err)
{
	const char *equals = strchr(assignment, '=');
	char place[SET_FILE_BYTES];

	if (equals == NULL || equals == assignment || equals[1] == '\0')
		return err_set(err, -EINVAL, "--set %s: write path=value, as in switch.pfc.headroom=80KB", assignment);
	snprintf(place, sizeof(place), "--set %.*s", (int)(equals - assignment), assignment);
	return override_at(cfg, place, assignment, err);
}

int
cfg_override_by(struct cfg *cfg, const char *option, const char *key, const char *value, struct err *err)
{
	char assignment[SET_FILE_BYTES];

	if (value[0] == '\0' || snprintf(assignment, sizeof(assignment), "%s=%s", key, value) >= (int)sizeof(assignment))
		return err_set(err, -EINVAL, "%s: found \"%.40s\", which no %s can be", option, value, key);
	return override_at(cfg, option, assignment, err);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The effective configuration, and the reference of all keys. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cfg/cfg_tree.h"
#include "common/units.h"

static void
print_string(const char *text, FILE *to)
{
	fputc('"', to);
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(to, "\\%c", c);
		else if (c == '\n')
			fputs("\\n", to);
		else if (c == '\t')
			fputs("\\t", to);
		else if (c < ' ')
			fprintf(to, "\\x%02x", c);
		else
			fputc(c, to);
	}
	fputc('"', to);
}

static void
print_float(double value, FILE *to)
{
	char text[40];

	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	/* A float needs a point or an exponent to stay one. */
	fprintf(to, "%s%s", text, strpbrk(text, ".en") == NULL ? ".0" : "");
}

static void print_node(const struct cfg_node *node, int indent, FILE *to);

/* The end of a setting. @param origin  NULL: the user wrote it */
static void
print_origin(const char *origin, FILE *to)
{
	if (origin == NULL)
		fputs(";\n", to);
	else
		fprintf(to, "; # %s\n", origin);
}

static void
print_kids(const struct cfg_node *node, int indent, FILE *to)
{
	for (size_t i = 0; i < node->nkids; i++) {
		fprintf(to, "%*s", indent, "");
		print_node(node->kids[i], indent, to);
		if (node->type == CFG_NODE_GROUP)
			print_origin(node->kids[i]->origin, to);
		else
			fprintf(to, "%s\n", i + 1 < node->nkids ? "," : "");
	}
}

static void
print_scalar(const struct cfg_node *node, FILE *to)
{
	switch (node->type) {
	case CFG_NODE_GROUP:
	case CFG_NODE_LIST:
	case CFG_NODE_ARRAY:
		return;
	case CFG_NODE_BOOL:
		fputs(node->integer ? "true" : "false", to);
		return;
	case CFG_NODE_INT:
		fprintf(to, "%lld%s", (long long)node->integer,
			node->integer > INT32_MAX || node->integer < INT32_MIN ? "L" : "");
		return;
	case CFG_NODE_FLOAT:
		print_float(node->real, to);
		return;
	case CFG_NODE_STRING:
		print_string(node->text, to);
		return;
	}
}

static bool
is_scalar(const struct cfg_node *node)
{
	return node->type != CFG_NODE_GROUP && node->type != CFG_NODE_LIST && node->type != CFG_NODE_ARRAY;
}

static void
print_node(const struct cfg_node *node, int indent, FILE *to)
{
	static const char open[] = { [CFG_NODE_GROUP] = '{', [CFG_NODE_LIST] = '(', [CFG_NODE_ARRAY] = '[' };
	static const char close[] = { [CFG_NODE_GROUP] = '}', [CFG_NODE_LIST] = ')', [CFG_NODE_ARRAY] = ']' };

	if (node->name != NULL)
		fprintf(to, "%s = ", node->name);
	if (is_scalar(node)) {
		print_scalar(node, to);
		return;
	}
	fprintf(to, "%c\n", open[node->type]);
	print_kids(node, indent + 2, to);
	fprintf(to, "%*s%c", indent, "", close[node->type]);
}

/* The path from the root; of a name that is the beginning of several files', by its folder. @return malloc'd, or NULL */
static char *
absolute_path(char *path)
{
	char *absolute = realpath(path, NULL), *slash = strrchr(path, '/'), *folder, *joined;

	if (absolute != NULL || slash == NULL || slash == path)
		return absolute;
	*slash = '\0';
	folder = realpath(path, NULL);
	*slash = '/';
	if (folder == NULL || asprintf(&joined, "%s%s", folder, slash) < 0)
		joined = NULL;
	free(folder);
	return joined;
}

/* Makes a path absolute, so that it means the same file to a reader in another folder. */
static int
make_absolute(const struct cfg *cfg, struct cfg_node *node)
{
	char *path = node->text != NULL ? cfg_resolve(cfg, node->text) : NULL, *absolute;

	if (path == NULL)
		return node->text != NULL ? -ENOMEM : 0;
	absolute = absolute_path(path);
	free(path);
	if (absolute != NULL) {
		free(node->text);
		node->text = absolute;
	}
	return 0;
}

static int
make_paths_absolute(const struct cfg *cfg, struct cfg_node *group, const struct cfg_table *table)
{
	int rc = 0;

	for (size_t i = 0; i < table->nfields && rc == 0; i++) {
		struct cfg_node *node = cfg_node_kid(group, table->fields[i].name);

		if (table->fields[i].type == CFG_PATH && node != NULL)
			rc = make_absolute(cfg, node);
	}
	return rc;
}

static int
add_defaults(struct cfg_node *group, const struct cfg_table *table, const char *file)
{
	for (size_t i = 0; i < table->nfields; i++) {
		const struct cfg_field *field = &table->fields[i];
		struct cfg_node *node;

		if (field->def == NULL || field->def[0] == '\0' || field->type == CFG_STRINGS ||
		    cfg_node_kid(group, field->name) != NULL)
			continue;
		node = cfg_value_default(field, file);
		if (node == NULL || cfg_node_add(group, node) != 0)
			return -ENOMEM;
	}
	return 0;
}

static bool
has_kind(const struct cfg_node *group, const char *kind)
{
	const struct cfg_node *node = group != NULL ? cfg_node_kid(group, "kind") : NULL;

	return kind == NULL || (node != NULL && node->text != NULL && strcmp(node->text, kind) == 0);
}

static int
complete(const struct cfg *copy, struct cfg_node *group, const struct cfg_known *known)
{
	int rc;

	if (group->type != CFG_NODE_GROUP || !has_kind(group, known->kind))
		return 0;
	rc = make_paths_absolute(copy, group, known->table);
	if (known->table->over != NULL)
		return rc;
	return rc == 0 ? add_defaults(group, known->table, "default") : rc;
}

/* Tables that are printed, and the one at hand. */
struct filling {
	struct cfg *copy;
	const struct cfg_known *all;
	size_t count;
	const struct cfg_known *known;
};

/* @return whether the path up to rest is that of a list: only its elements have the table's fields */
static bool
is_list(const struct filling *filling, const char *rest)
{
	const char *path = filling->known->table->path;
	size_t length = rest != NULL ? (size_t)(rest - path) - 1 : strlen(path);

	for (size_t i = 0; i < filling->count; i++)
		if (filling->all[i].table->list && strlen(filling->all[i].table->path) == length &&
		    strncmp(filling->all[i].table->path, path, length) == 0)
			return true;
	return false;
}

/*
 * Completes the setting at a table's path: every element of the lists on the path. Groups that are not in lists are
 * made where they are missing; other settings there are left alone.
 * @param rest  the path from node on; NULL at its end
 */
static int
fill(const struct filling *filling, struct cfg_node *node, const char *rest, bool in_list)
{
	const struct cfg_known *known = filling->known;
	struct cfg_step step;
	struct cfg_node *kid;
	int rc = 0;
	bool ok;

	if (node->type == CFG_NODE_LIST) {
		for (size_t i = 0; i < node->nkids && rc == 0; i++)
			rc = fill(filling, node->kids[i], rest, true);
		return rc;
	}
	if (rest == NULL || node->type != CFG_NODE_GROUP)
		return complete(filling->copy, node, known);
	rest = cfg_path_step(rest, &step, &ok);
	assert(ok && "a table's path");
	kid = cfg_node_kid(node, step.name);
	if (kid == NULL && (in_list || known->kind != NULL || is_list(filling, rest)))
		return 0;
	if (kid == NULL) {
		kid = cfg_node_create(CFG_NODE_GROUP, step.name, "default", 0);
		if (kid == NULL || cfg_node_add(node, kid) != 0)
			return -ENOMEM;
	}
	return fill(filling, kid, rest, in_list);
}

/* A copy with all defaults. @param copy  its root is to be destroyed in any case @return 0 or -ENOMEM */
static int
copy_filled(const struct cfg *cfg, const struct cfg_known *known, size_t count, struct cfg *copy)
{
	int rc = 0;

	*copy = *cfg;
	copy->root = cfg_node_copy(cfg->root);
	if (copy->root == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count && rc == 0; i++) {
		struct filling filling = { copy, known, count, &known[i] };

		rc = fill(&filling, copy->root, known[i].table->path[0] != '\0' ? known[i].table->path : NULL, false);
	}
	return rc;
}

int
cfg_print(const struct cfg *cfg, const struct cfg_known *known, size_t count, FILE *to)
{
	struct cfg copy;
	int rc = copy_filled(cfg, known, count, &copy);

	if (rc == 0)
		print_kids(copy.root, 0, to);
	cfg_node_destroy(copy.root);
	return rc;
}

/* Prints settings one after the other into the same text. */
struct setting_printer {
	FILE *to; /* of text */
	char *text;
	size_t size;
	int (*each)(void *ctx, const char *setting);
	void *ctx;
};

/* "PATH=VALUE" of a key. @return 0, -ENOMEM, or what each() returned */
static int
print_setting(struct setting_printer *printer, const struct cfg_node *node)
{
	char path[CFG_MAX_PATH];
	FILE *to = printer->to;

	rewind(to);
	fprintf(to, "%s=%s", cfg_node_path(node, path), node->type == CFG_NODE_ARRAY ? "[" : "");
	if (is_scalar(node))
		print_scalar(node, to);
	for (size_t i = 0; i < node->nkids; i++) {
		fputs(i != 0 ? "," : "", to);
		print_scalar(node->kids[i], to);
	}
	fputs(node->type == CFG_NODE_ARRAY ? "]" : "", to);
	fputc('\0', to); /* a longer one may have been there */
	return fflush(to) == 0 ? printer->each(printer->ctx, printer->text) : -ENOMEM;
}

/* Prints the setting of every key at a node and below it. */
static int
each_setting(struct setting_printer *printer, const struct cfg_node *node)
{
	int rc = 0;

	if (node->type == CFG_NODE_ARRAY || is_scalar(node))
		return print_setting(printer, node);
	for (size_t i = 0; i < node->nkids && rc == 0; i++)
		rc = each_setting(printer, node->kids[i]);
	return rc;
}

int
cfg_settings(const struct cfg *cfg, const struct cfg_known *known, size_t count, const char *group,
	     int (*each)(void *ctx, const char *setting), void *ctx)
{
	struct setting_printer printer = { .each = each, .ctx = ctx };
	const struct cfg_node *node;
	struct cfg copy;
	int rc = copy_filled(cfg, known, count, &copy);

	node = rc == 0 ? (group != NULL ? cfg_node_kid(copy.root, group) : copy.root) : NULL;
	if (node != NULL) {
		printer.to = open_memstream(&printer.text, &printer.size);
		rc = printer.to != NULL ? each_setting(&printer, node) : -ENOMEM;
	}
	if (printer.to != NULL)
		fclose(printer.to);
	free(printer.text);
	cfg_node_destroy(copy.root);
	return rc;
}

const char *
cfg_type_name(const struct cfg_field *field)
{
	static const char *const names[] = {
		[CFG_BOOL] = "bool",   [CFG_INT] = "integer",     [CFG_FLOAT] = "number", [CFG_STRING] = "string",
		[CFG_PATH] = "path",   [CFG_ENUM] = "word",       [CFG_TIME] = "time",    [CFG_RATE] = "rate",
		[CFG_BYTES] = "bytes", [CFG_STRINGS] = "strings",
	};

	return names[field->type];
}

const char *
cfg_limit_text(const struct cfg_field *field, double value, char *buf, size_t cap)
{
	if (field->type == CFG_TIME)
		return units_format_time((uint64_t)value, buf, cap);
	if (field->type == CFG_RATE)
		return units_format_rate((uint64_t)value, buf, cap);
	if (field->type == CFG_BYTES)
		return units_format_bytes((uint64_t)value, buf, cap);
	snprintf(buf, cap, "%.15g", value);
	return buf;
}

static void
print_limits(const struct cfg_field *field, FILE *to)
{
	char min[64], max[64];

	if (field->type == CFG_ENUM) {
		for (const struct cfg_choice *c = field->choices; c->name != NULL; c++)
			fprintf(to, "%s%s", c == field->choices ? "" : ", ", c->name);
	} else if (field->max < field->min) {
		fprintf(to, "from %s", cfg_limit_text(field, field->min, min, sizeof(min)));
	} else if (field->max != 0) {
		fprintf(to, "%s to %s", cfg_limit_text(field, field->min, min, sizeof(min)),
			cfg_limit_text(field, field->max, max, sizeof(max)));
	}
}

/* " `a`: its meaning; `b`: its meaning." where choices have one. */
static void
print_meanings(const struct cfg_field *field, FILE *to)
{
	if (field->type != CFG_ENUM || field->choices->doc == NULL)
		return;
	for (const struct cfg_choice *c = field->choices; c->name != NULL; c++)
		fprintf(to, "%s `%s`: %s", c == field->choices ? "" : ";", c->name, c->doc);
	fputc('.', to);
}

static void
print_section(const struct cfg_known *known, FILE *to)
{
	const struct cfg_table *table = known->table;

	fprintf(to, "## %s%s", table->path[0] != '\0' ? table->path : "top level", table->list ? " (list)" : "");
	if (known->kind != NULL)
		fprintf(to, ", kind = \"%s\"", known->kind);
	fprintf(to, "\n\n%s\n", table->doc);
	if (table->words != NULL)
		fprintf(to, "\nShort form of an element: `\"%s\"`.\n", table->words);
	fputs("\n| key | type | default | limits | meaning |\n|---|---|---|---|---|\n", to);
}

void
cfg_print_reference(const struct cfg_known *known, size_t count, FILE *to)
{
	for (size_t i = 0; i < count; i++) {
		const struct cfg_table *table = known[i].table;

		if (table->doc != NULL) {
			fputs(i != 0 ? "\n" : "", to);
			print_section(&known[i], to);
		}
		for (size_t f = 0; f < table->nfields; f++) {
			const struct cfg_field *field = &table->fields[f];

			fprintf(to, "| `%s` | %s | ", field->name, cfg_type_name(field));
			if (table->over != NULL)
				fprintf(to, "of `%s`", table->over);
			else if (field->def == NULL)
				fputs("required", to);
			else if (field->def[0] != '\0')
				fprintf(to, "`%s`", field->def);
			fputs(" | ", to);
			print_limits(field, to);
			fprintf(to, " | %s", field->doc);
			print_meanings(field, to);
			fputs(" |\n", to);
		}
	}
}

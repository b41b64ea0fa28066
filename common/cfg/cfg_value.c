/* SPDX-License-Identifier: BSD-3-Clause */
/* One value: from node to the field of a struct, with its limits. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/cfg/cfg_tree.h"
#include "common/printable.h"
#include "common/units.h"

/* What would have been right, for messages. */
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
type_error(const struct cfg_node *node, const struct cfg_field *field, struct err *err)
{
	struct cfg_where where = { node->file, node->line, node };
	char found[CFG_MAX_PATH], right[CFG_MAX_PATH];

	if (field->type == CFG_ENUM)
		return cfg_fail(&where, NULL, err, "found %s; one of %s would be right", cfg_node_describe(node, found),
				list_choices(field->choices, right, sizeof(right)));
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
	return cfg_fail(&where, NULL, err, "found %s; 53 days at most would be right", cfg_node_describe(node, found));
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

int
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
	node->is_default = true;
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration tree, private to the cfg_*.c files: what libconfig read, without libconfig's types. */
#pragma once

#include "common/cfg/cfg.h"

#define CFG_MAX_BYTES (64u << 20) /* of one file */
#define CFG_MAX_DEPTH 32          /* groups within groups */
#define CFG_MAX_PATH 256
#define CFG_MAX_PLACES 65536 /* that one --set puts its value at, by "[0-2]" in its path */
#define CFG_MAX_FILE 512     /* name of an included file, with its folder */

enum cfg_node_type {
	CFG_NODE_GROUP,
	CFG_NODE_LIST,  /* "( ... )" */
	CFG_NODE_ARRAY, /* "[ ... ]" */
	CFG_NODE_BOOL,
	CFG_NODE_INT,
	CFG_NODE_FLOAT,
	CFG_NODE_STRING,
};

struct cfg_node {
	enum cfg_node_type type;
	int line;
	const char *file;   /* owned by struct cfg */
	const char *origin; /* cfg_print() names it: "default", or of cfg_add_missing(); NULL: the file or --set */
	char *name;         /* NULL for list elements and the root */
	int64_t integer;    /* also bool */
	double real;
	char *text; /* a string, or an integer's digits */
	struct cfg_node *parent;
	struct cfg_node **kids;
	size_t nkids;
	const char **strings; /* lists and arrays of strings: the kids' texts */
};

struct cfg {
	struct cfg_node *root;
	char **files; /* names that nodes point to; [0] is the scenario */
	size_t nfiles;
	int overrides;              /* number of earlier --set */
	const char *override_place; /* of the last of them, in messages: "--set PATH" */
};

/* @return a node without parent, or NULL when out of memory. name may be NULL. */
struct cfg_node *cfg_node_create(enum cfg_node_type type, const char *name, const char *file, int line);
void cfg_node_destroy(struct cfg_node *node);
/* Takes over kid. @return 0, or -ENOMEM with kid destroyed */
int cfg_node_add(struct cfg_node *parent, struct cfg_node *kid);
struct cfg_node *cfg_node_copy(const struct cfg_node *node);
struct cfg_node *cfg_node_kid(const struct cfg_node *group, const char *name);
/* Replaces or appends; list elements by index. */
int cfg_node_put(struct cfg_node *parent, const char *name, size_t index, struct cfg_node *kid);
/* Fills node->strings of a list or array of strings; others are left alone. @return 0 or -ENOMEM */
int cfg_node_collect_strings(struct cfg_node *node);

/* "flows.[2].src" of a node; buf of CFG_MAX_PATH. @return buf */
char *cfg_node_path(const struct cfg_node *node, char *buf);
/* Group or list by path, list elements by index; the root for "". NULL when absent. */
struct cfg_node *cfg_node_find(const struct cfg *cfg, const char *path);

/* Says what a node holds, for messages: "the string \"x\"", "5", "a group". buf of CFG_MAX_PATH. @return buf */
char *cfg_node_describe(const struct cfg_node *node, char *buf);

/* One step of "flows.[0].bytes", or "flows[0].bytes": a name, or an index. */
struct cfg_step {
	char name[64];
	bool is_index;
	size_t index;
};
/* @return the rest of path behind its first step (NULL at the end); *ok is false where path is malformed */
const char *cfg_path_step(const char *path, struct cfg_step *step, bool *ok);

/* Keeps a copy of name as long as the tree lives. @return NULL when out of memory */
const char *cfg_intern(struct cfg *cfg, const char *name);

/* Turns the short form of a list element into a group, see struct cfg_table. @return 0, -EINVAL or -ENOMEM */
int cfg_node_expand(struct cfg_node *node, const struct cfg_table *table, struct err *err);

/* A node with the field's default. @return NULL when out of memory; not for required or empty defaults */
struct cfg_node *cfg_value_default(const struct cfg_field *field, const char *file);

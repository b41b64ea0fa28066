/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration: a libconfig file becomes a tree that remembers file:line, and tables turn parts of the tree into
 * plain structs. The same tables print the reference documentation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct cfg;

enum cfg_type {
	CFG_BOOL,   /* bool */
	CFG_INT,    /* int64_t */
	CFG_FLOAT,  /* double; an integer literal is accepted */
	CFG_STRING, /* const char *, owned by the tree; NULL when absent and without default */
	CFG_ENUM,   /* int: index into choices ("a|b|c") */
	CFG_TIME,   /* uint64_t ps, written "2us" */
	CFG_RATE,   /* uint64_t bit/s, written "100Gbps" */
	CFG_BYTES,  /* uint64_t, written "360MB" or a bare integer */
	CFG_STRINGS, /* struct cfg_strings: list or array of strings (integers are taken as their digits) */
};

struct cfg_strings {
	const char **items; /* owned by the tree */
	size_t count;
};

struct cfg_field {
	const char *name;
	enum cfg_type type;
	size_t offset;       /* offsetof() in the bound struct */
	const char *def;     /* default as it would be written in a file; NULL: required; "" for strings: absent -> NULL */
	double min, max;     /* inclusive, in the type's own unit; max 0 with min 0: no limits */
	const char *choices; /* CFG_ENUM */
	const char *doc;     /* meaning, one sentence; units; paper or standard where one defines it */
};

/* One group ("switch.pfc") or, with list set, every group of a list ("flows"). */
struct cfg_table {
	const char *path;
	const char *doc;
	bool list;
	size_t size; /* sizeof the bound struct; its first member must be struct cfg_where where, see below */
	const struct cfg_field *fields;
	size_t nfields;
};

/* Where a group stood, for messages about it after binding. Zero when it was absent. */
struct cfg_where {
	const char *file; /* owned by the tree */
	int line;
};

/* @return the tree, or NULL with err set (file:line, what was found, what would be right) and errno */
struct cfg *cfg_load(const char *path, struct err *err);
/* The same from memory; name stands for the file in messages. Used by tests and fuzzing. */
struct cfg *cfg_load_string(const char *text, const char *name, struct err *err);
void cfg_destroy(struct cfg *cfg);

/* "path=value", value in libconfig syntax or a bare word; list items as "flows.[0].bytes". Messages say "--set". */
int cfg_override(struct cfg *cfg, const char *assignment, struct err *err);

/* Binds one group into *out, defaults included (an absent group gets all defaults). @return 0 or -EINVAL */
int cfg_bind(const struct cfg *cfg, const struct cfg_table *table, void *out, struct err *err);
/*
 * Binds every group of a list. For a list whose elements carry "kind = NAME" and belong to different tables (faults),
 * kind selects: only elements whose kind equals it are bound; NULL binds all.
 * @param out  set to a malloc'd array of *count structs, the caller's to free
 */
int cfg_bind_list(const struct cfg *cfg, const struct cfg_table *table, const char *kind, void **out, size_t *count,
		  struct err *err);

/*
 * Fails on the first group or key that no table knows, naming the nearest known spelling.
 * List elements with kinds are checked against the tables of that path whose kind matches (see cfg_kind).
 */
struct cfg_known {
	const struct cfg_table *table;
	const char *kind; /* NULL unless the table is one kind of a list */
};
int cfg_check(const struct cfg *cfg, const struct cfg_known *known, size_t count, struct err *err);

/* Line of a key inside a bound group, for messages; falls back to the group's own line. */
struct cfg_where cfg_where_key(const struct cfg *cfg, const char *path);

/* Writes the effective tree back as libconfig text (defaults included where tables are given). */
void cfg_print(const struct cfg *cfg, FILE *to);
/* Markdown reference, one section a table. */
void cfg_print_reference(const struct cfg_known *known, size_t count, FILE *to);

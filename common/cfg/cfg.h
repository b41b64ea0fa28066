/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration: a libconfig file becomes a tree that remembers file:line, and tables turn groups of the tree into
 * plain structs. The same tables find misspelt keys, print the effective configuration and the reference.
 *
 * Order of use: cfg_load, cfg_override for every --set, cfg_check with all tables, then cfg_bind where needed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"

struct cfg;
struct cfg_node;

enum cfg_type {
	CFG_BOOL,    /* bool */
	CFG_INT,     /* int64_t */
	CFG_FLOAT,   /* double; an integer literal is accepted */
	CFG_STRING,  /* const char *, owned by the tree; integers are taken as their digits (node names) */
	CFG_PATH,    /* const char *, as it was written, see cfg_resolve() */
	CFG_ENUM,    /* int: the value of the choice that the word names */
	CFG_TIME,    /* uint64_t ps, written "2us"; CFG_MAX_PS at most, even if the field allows more */
	CFG_RATE,    /* uint64_t bit/s, written "100Gbps" */
	CFG_BYTES,   /* uint64_t, written "360MB" or a bare integer */
	CFG_STRINGS, /* struct cfg_strings: list or array of strings (integers are taken as their digits) */
};

#define CFG_MAX_PS (1ULL << 60) /* 13 days: sixteen times add up, and records hold them */

struct cfg_strings {
	const char **items; /* owned by the tree */
	size_t count;
};

/* One word of a CFG_ENUM; a list of them ends with a name of NULL. */
struct cfg_choice {
	const char *name;
	int value;
	const char *doc; /* meaning, for the reference; NULL: the field's has it all */
};

struct cfg_field {
	const char *name;
	enum cfg_type type;
	size_t offset;   /* offsetof() in the bound struct */
	const char *def; /* default as it would be written in a file; not given: required; "": absent -> 0, NULL or empty */
	double min, max; /* inclusive, in the type's own unit; no lower limit with both 0, no upper one with max < min */
	const struct cfg_choice *choices; /* CFG_ENUM */
	const char *doc;                  /* meaning, one sentence; units; paper or standard where one defines it */
};

/* A row of a table: its key, type and offset, then the members of cfg_field that are not 0, by name. */
#define CFG_FIELD(name_, type_, offset_, ...)                                                                              \
	{                                                                                                                  \
		.name = (name_), .type = (type_), .offset = (offset_), __VA_ARGS__                                         \
	}

/* A key that is written otherwise by now; a list of them ends with a name of NULL. */
struct cfg_gone {
	const char *name;
	const char *instead; /* what to write */
};

/* One group ("switch.pfc", "" for the top) or, with list set, every group of a list ("flows"). */
struct cfg_table {
	const char *path;
	const char *doc; /* NULL: its keys stand in the section of the table before it, of the same group */
	bool list;
	size_t size; /* sizeof the bound struct; its first member must be struct cfg_where where, see below */
	const struct cfg_field *fields;
	size_t nfields;
	const struct cfg_gone *gone; /* NULL: none */
	/*
	 * Short form of a list element, or NULL: names of fields, separated by blanks. With "a b rate" the element
	 * "12 0 100Gbps" means { a = "12"; b = "0"; rate = "100Gbps"; }; trailing words may be left out.
	 */
	const char *words;
	/*
	 * Its keys override those of another group, which may have defaults: "switch.pfc". Bound with cfg_bind_over();
	 * an absent key keeps the value of that group. NULL: absent keys have the fields' defaults
	 */
	const char *over;
};

/*
 * The place of a group in its file, for messages about it after binding. A group set by --set has file "--set PATH" and
 * the ordinal of that option as line. An absent group has the scenario's file and line 0.
 */
struct cfg_where {
	const char *file; /* owned by the tree */
	int line;
	const struct cfg_node *node; /* NULL when absent; for cfg_fail() */
};

/* @return the tree, or NULL with err set (file:line, the value found, a right value) and errno */
struct cfg *cfg_load(const char *path, struct err *err);
/*
 * Loads a tree from memory, for tests and fuzzing. NAME stands for the file in messages; @include is refused.
 * @return as cfg_load()
 */
struct cfg *cfg_load_string(const char *text, const char *name, struct err *err);
void cfg_destroy(struct cfg *cfg);
/* @return the path (or name) that the tree was loaded from */
const char *cfg_file(const struct cfg *cfg);

/*
 * The file that a CFG_PATH means: a relative one is resolved from the scenario's folder, wherever the key was written
 * (an included file, --set). @return malloc'd; NULL: out of memory
 */
char *cfg_resolve(const struct cfg *cfg, const char *path);
/* Opens it to read, without waiting for a writer where it is a pipe. @return NULL with errno */
FILE *cfg_open_file(const char *path);

/*
 * "path=value", value in libconfig syntax or a bare word; list items as "flows.[0].bytes", the index one past the end
 * appends. Missing groups and lists are created, so a wrong path is found by cfg_check(), with "--set PATH" as its place.
 * @return 0, -EINVAL or -ENOMEM
 */
int cfg_override(struct cfg *cfg, const char *assignment, struct err *err);
/*
 * Sets one key by an option of its own ("--seed"), which messages name as the value's place. Otherwise as
 * cfg_override().
 */
int cfg_override_by(struct cfg *cfg, const char *option, const char *key, const char *value, struct err *err);

/*
 * A tree of its own, which may be overridden.
 * @param without  [count] bound groups, elements of lists, that it is not to have; those behind them move up
 * @return NULL with err and errno set: out of memory
 */
struct cfg *cfg_copy(const struct cfg *cfg, const struct cfg_where *without, size_t count, struct err *err);

/*
 * Adds the keys and groups that a group of a tree lacks and a group of another tree has; they keep their places.
 * @param path, from_path  of the groups, which are there; "" of the whole tree, "switches.[0]" of an element
 * @param origin           cfg_print() names it behind them
 * @return 0 or -ENOMEM
 */
int cfg_add_missing(struct cfg *cfg, const char *path, const struct cfg *from, const char *from_path, const char *origin,
		    struct err *err);

/*
 * Binds one group into *out, defaults included (an absent group gets all defaults).
 * @return 0 or -EINVAL: wrong type, out of range, bad unit, a required key missing
 */
int cfg_bind(const struct cfg *cfg, const struct cfg_table *table, void *out, struct err *err);
/*
 * Binds every group of a list. For a list whose elements carry "kind = NAME" and belong to different tables (faults),
 * kind selects: only elements whose kind equals it are bound; NULL binds all.
 * @param out  set to a malloc'd array of *count structs, the caller's to free; NULL when there are none
 * @return 0, -EINVAL or -ENOMEM
 */
int cfg_bind_list(const struct cfg *cfg, const struct cfg_table *table, const char *kind, void **out, size_t *count,
		  struct err *err);

/*
 * cfg_bind() and cfg_bind_list() for a group or list within a group that is already bound. The table's path continues
 * that group's: "jobs.placement" within an element of "jobs".
 * @param group  where of the bound group
 */
int cfg_bind_in(const struct cfg *cfg, const struct cfg_where *group, const struct cfg_table *table, void *out,
		struct err *err);
int cfg_bind_list_in(const struct cfg *cfg, const struct cfg_where *group, const struct cfg_table *table, void **out,
		     size_t *count, struct err *err);

/*
 * Binds the keys that a group has over those of a struct that is bound already; the others keep their values.
 * @param group  where of the bound group of this path, or of the group that it is in; out keeps all where it is absent
 */
int cfg_bind_over(const struct cfg_where *group, const struct cfg_table *table, void *out, struct err *err);

/*
 * A table that the program knows. Groups and list elements with tables of several kinds carry "kind = NAME", which
 * names the table of its keys (besides those of tables with the same path and kind NULL).
 */
struct cfg_known {
	const struct cfg_table *table;
	const char *kind; /* NULL unless the table is one kind of several */
};

/* Fails on the first group or key that no table knows, naming the nearest known spelling. @return 0 or -EINVAL */
int cfg_check(const struct cfg *cfg, const struct cfg_known *known, size_t count, struct err *err);

/* @return whether a bound group contains the key, be it with its default value */
bool cfg_has(const struct cfg_where *group, const char *key);

/*
 * The path of a group as --set takes it: "flows.[2]".
 * @param buf  of CFG_WHERE_PATH  @return buf; "" of one that is absent, or the top
 */
#define CFG_WHERE_PATH 256
char *cfg_where_path(const struct cfg_where *where, char *buf);

/* Place of a key by path ("switch.pfc.headroom", "flows.[0].src"), or of the nearest group above it that exists. */
struct cfg_where cfg_where_key(const struct cfg *cfg, const char *path);

/*
 * Sets err to "file:line: path.key: MESSAGE" for a problem found after binding.
 * @param where  of the bound group
 * @param key    one of its keys, or NULL to speak of the group itself
 * @return -EINVAL
 */
int cfg_fail(const struct cfg_where *where, const char *key, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/*
 * Writes the effective tree as libconfig text that loads again: what the file and --set gave, then the defaults of
 * every known table; it means the same in any folder. @return 0 or -ENOMEM
 */
int cfg_print(const struct cfg *cfg, const struct cfg_known *known, size_t count, FILE *to);
/*
 * Every key of a group of the top and of all below it, or of all groups (NULL), defaults included, as cfg_override()
 * takes it: "switch.pfc.alpha=0.125".
 * @param each  its result other than 0 ends it
 * @return 0, -ENOMEM, or the result of each()
 */
int cfg_settings(const struct cfg *cfg, const struct cfg_known *known, size_t count, const char *group,
		 int (*each)(void *ctx, const char *setting), void *ctx);
/* Markdown reference, one section a table. */
void cfg_print_reference(const struct cfg_known *known, size_t count, FILE *to);
/* @return "integer", "time", ...: as the reference has it */
const char *cfg_type_name(const struct cfg_field *field);
/* A field's min or max, as a scenario has it ("10Tbps"). @param buf  of 64 bytes. @return the text, in buf */
const char *cfg_limit_text(const struct cfg_field *field, double value, char *buf, size_t cap);

/* SPDX-License-Identifier: BSD-3-Clause */
/* A GOAL text being read: goal_text.c cuts it into statements, goal.c carries them out. */
#pragma once

#include "collectives/import/program.h"

#define GOAL_MAX_WORDS 16 /* of a statement */

struct label {
	const char *name;
	uint32_t op;
	int line;
};

/* A dependency, to be resolved when all labels of its rank are known. */
struct require {
	const char *what, *on;
	bool start;
	int line;
};

struct goal {
	const char *path;
	struct program program;
	struct label *labels; /* of the rank that is being read */
	struct require *requires;
	size_t nlabels, label_room, nrequires, require_room;
	bool *seen;    /* [ranks] */
	uint32_t rank; /* PROGRAM_NONE between ranks */
	int rank_line;
	uint64_t largest_elems; /* message */
	int line;
	const char *files[1];
	struct err *err;
};

/* err: "file:line: ...". @return -EINVAL */
int goal_fail(const struct goal *goal, int line, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* One statement, of at least one word; ":", "{" and "}" are words. @return 0; -EINVAL, -E2BIG or -ENOMEM */
int goal_statement(struct goal *goal, char **words, size_t count);

/* All statements of a text, which is cut up. @return 0; -EINVAL, -E2BIG or -ENOMEM with err set */
int goal_text(struct goal *goal, char *text, size_t length);

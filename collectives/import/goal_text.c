/* SPDX-License-Identifier: BSD-3-Clause */
/* A statement ends with its line, and at a bracket. Comments are C's. */
#include <errno.h>
#include <string.h>

#include "collectives/import/goal.h"

struct statement {
	char *words[GOAL_MAX_WORDS];
	size_t count;
};

/* Writes blanks over comments. @return 0, or -EINVAL: one has no end */
static int
blank_comments(const struct goal *goal, char *text, size_t length)
{
	bool line = false, block = false;
	int at_line = 1, begins = 0;

	for (size_t i = 0; i < length; i++) {
		bool pair = i + 1 < length && !line;

		at_line += text[i] == '\n';
		if (!block && pair && text[i] == '/' && (text[i + 1] == '/' || text[i + 1] == '*')) {
			line = text[i + 1] == '/';
			block = !line;
			begins = at_line;
			text[i++] = ' ';
		} else if (block && pair && text[i] == '*' && text[i + 1] == '/') {
			block = false;
			text[i++] = ' ';
		} else if (text[i] == '\n') {
			line = false;
			continue;
		} else if (!line && !block) {
			continue;
		}
		text[i] = ' ';
	}
	return block ? goal_fail(goal, begins, "the file ends within a comment") : 0;
}

static int
add_word(const struct goal *goal, struct statement *statement, char *word)
{
	if (statement->count == GOAL_MAX_WORDS)
		return goal_fail(goal, goal->line, "more than %d words", GOAL_MAX_WORDS);
	statement->words[statement->count++] = word;
	return 0;
}

static int
end_statement(struct goal *goal, struct statement *statement)
{
	size_t count = statement->count;

	statement->count = 0;
	return count != 0 ? goal_statement(goal, statement->words, count) : 0;
}

/* What ends a word: a bracket or a colon is one itself, a bracket ends the statement that it is in, "}" has its own. */
static int
take_mark(struct goal *goal, struct statement *statement, char mark)
{
	static char colon[] = ":", begins[] = "{", ends[] = "}";
	int rc = 0;

	if (mark == '\n') {
		rc = end_statement(goal, statement);
		goal->line++;
	} else if (mark == ':') {
		rc = add_word(goal, statement, colon);
	} else if (mark == '{' || mark == '}') {
		if (mark == '}')
			rc = end_statement(goal, statement);
		if (rc == 0)
			rc = add_word(goal, statement, mark == '{' ? begins : ends);
		if (rc == 0)
			rc = end_statement(goal, statement);
	}
	return rc;
}

static bool
ends_word(char c)
{
	return c == '\0' || c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ':' || c == '{' || c == '}';
}

int
goal_text(struct goal *goal, char *text, size_t length)
{
	struct statement statement = { .count = 0 };
	int rc = memchr(text, '\0', length) == NULL ? blank_comments(goal, text, length)
						    : goal_fail(goal, 1, "no text: there is a byte of zero");

	for (char *at = text; at < text + length && rc == 0; at++) {
		char *word = at, mark;

		while (!ends_word(*at)) /* strcspn() may look at all that is left, for each word */
			at++;
		mark = *at;
		*at = '\0';
		if (at > word)
			rc = add_word(goal, &statement, word);
		if (rc == 0)
			rc = take_mark(goal, &statement, mark);
	}
	return rc == 0 ? end_statement(goal, &statement) : rc;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GOAL, the "Group Operation Assembly Language" (Hoefler et al., ICPP 2009) in the text form that LogGOPSim's txt2bin
 * reads and ATLAHS' htsim with it: per rank sends, receives and computations with labels, and which of them require
 * which.
 *
 * "a requires b": a starts when b is over. "a irequires b": a starts when b may: it waits for all that b waits for. A
 * computation's number is nanoseconds. Computations of one cpu go one after another; so do messages of one tag from one
 * rank to another, as MPI matches them, while messages of different tags are in flight at once.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/import.h"
#include "collectives/import/program.h"
#include "common/units.h"

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

#define MAX_NS (PROGRAM_MAX_PS / PS_PER_NS)

static char *
describe(const struct program *program, const struct program_place *place, char *buf)
{
	snprintf(buf, PROGRAM_PLACE, "%.160s:%" PRIu64 ": rank %" PRIu64, program->files[0], place->at, place->name);
	return buf;
}

/* err: "file:line: ...". @return -EINVAL */
static int __attribute__((format(printf, 3, 4))) goal_fail(const struct goal *goal, int line, const char *fmt, ...)
{
	char message[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	return err_set(goal->err, -EINVAL, "%s:%d: %s", goal->path, line, message);
}

static bool
is_label(const char *word)
{
	if (!isalpha((unsigned char)*word) && *word != '_')
		return false;
	while (isalnum((unsigned char)*word) || *word == '_')
		word++;
	return *word == '\0';
}

static int
compare_labels(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

static const struct label *
find_label(const struct goal *goal, const char *name)
{
	const struct label key = { .name = name };

	if (goal->nlabels == 0)
		return NULL;
	return bsearch(&key, goal->labels, goal->nlabels, sizeof(key), compare_labels);
}

static int
resolve(struct goal *goal, const struct require *require)
{
	const struct label *what = find_label(goal, require->what), *on = find_label(goal, require->on);

	if (what == NULL || on == NULL)
		return goal_fail(goal, require->line, "rank %u has no \"%.64s\"", goal->rank,
				 what == NULL ? require->what : require->on);
	if (what == on)
		return goal_fail(goal, require->line, "\"%.64s\" requires itself", require->what);
	return program_wait(&goal->program, what->op, on->op, require->start, goal->err);
}

/* "}": all labels are known. */
static int
end_rank(struct goal *goal)
{
	int rc = 0;

	if (goal->nlabels != 0)
		qsort(goal->labels, goal->nlabels, sizeof(*goal->labels), compare_labels);
	for (size_t i = 1; i < goal->nlabels; i++) {
		const struct label *a = &goal->labels[i - 1], *b = &goal->labels[i];

		if (strcmp(a->name, b->name) == 0)
			return goal_fail(goal, a->line > b->line ? a->line : b->line,
					 "\"%.64s\" is a label of line %d already", a->name,
					 a->line < b->line ? a->line : b->line);
	}
	for (size_t i = 0; i < goal->nrequires && rc == 0; i++)
		rc = resolve(goal, &goal->requires[i]);
	goal->nlabels = goal->nrequires = 0;
	goal->rank = PROGRAM_NONE;
	return rc;
}

static int
begin_rank(struct goal *goal, const char *word)
{
	uint64_t rank;

	if (goal->seen == NULL)
		return goal_fail(goal, goal->line, "a rank before num_ranks");
	if (goal->rank != PROGRAM_NONE)
		return goal_fail(goal, goal->line, "rank %u of line %d has no closing bracket", goal->rank,
				 goal->rank_line);
	if (!number_parse(word, 0, goal->program.ranks - 1, &rank))
		return goal_fail(goal, goal->line, "found rank \"%.32s\"; 0 to %u would be right", word,
				 goal->program.ranks - 1);
	if (goal->seen[rank])
		return goal_fail(goal, goal->line, "rank %" PRIu64 " a second time", rank);
	goal->seen[rank] = true;
	goal->rank = (uint32_t)rank;
	goal->rank_line = goal->line;
	return 0;
}

static int
set_ranks(struct goal *goal, const char *word)
{
	uint64_t ranks;

	if (goal->seen != NULL)
		return goal_fail(goal, goal->line, "num_ranks a second time");
	if (!number_parse(word, 2, COLL_MAX_RANKS, &ranks))
		return goal_fail(goal, goal->line, "found \"%.32s\" ranks; 2 to %d would be right", word, COLL_MAX_RANKS);
	goal->seen = calloc(ranks, sizeof(*goal->seen));
	goal->program.ranks = (uint32_t)ranks;
	return goal->seen != NULL ? 0 : -ENOMEM;
}

/* "tag 5 cpu 0 nic 0" behind an operation, in any order. */
static int
read_places(struct goal *goal, char **words, size_t count, struct program_op *op)
{
	uint64_t value;

	for (size_t i = 0; i < count; i += 2) {
		const char *number = i + 1 < count ? words[i + 1] : "nothing";

		if (strcmp(words[i], "tag") != 0 && strcmp(words[i], "cpu") != 0 && strcmp(words[i], "nic") != 0)
			return goal_fail(goal, goal->line, "found \"%.32s\"; tag, cpu or nic would be right", words[i]);
		if (*words[i] == 't' && strcmp(number, "-1") == 0)
			return goal_fail(goal, goal->line,
					 "tag -1 takes a message of any tag: its sender cannot be determined in advance");
		if (!number_parse(number, 0, *words[i] == 't' ? UINT32_MAX : UINT8_MAX, &value))
			return goal_fail(goal, goal->line, "found %s \"%.32s\"; 0 to %u would be right", words[i], number,
					 *words[i] == 't' ? UINT32_MAX : UINT8_MAX);
		if (*words[i] == 'n' && value != 0)
			return goal_fail(goal, goal->line, "nic %" PRIu64 ": a rank has one NIC here; nic 0 would be right",
					 value);
		if (*words[i] == 't')
			op->tag = value;
		else if (*words[i] == 'c' && op->kind == PROGRAM_LOCAL)
			op->lane = value;
	}
	if (op->kind == PROGRAM_SEND)
		op->lane = op->tag;
	return 0;
}

/* "10b to 1", "10b from 1". */
static int
read_message(struct goal *goal, char **words, size_t count, struct program_op *op)
{
	const char *link = op->kind == PROGRAM_SEND ? "to" : "from";
	uint64_t length, peer;
	size_t digits;

	if (count < 3 || strcmp(words[1], link) != 0)
		return goal_fail(goal, goal->line, "found no \"BYTESb %s RANK\"", link);
	digits = strlen(words[0]);
	if (digits > 1 && words[0][digits - 1] == 'b')
		words[0][digits - 1] = '\0';
	if (!number_parse(words[0], 1, PROGRAM_MAX_COUNT, &length))
		return goal_fail(goal, goal->line, "found length \"%.32s\"; 1b to %llub would be right", words[0],
				 PROGRAM_MAX_COUNT);
	if (strcmp(words[2], "-1") == 0)
		return goal_fail(goal, goal->line, "a message from any rank: its sender cannot be determined in advance");
	if (!number_parse(words[2], 0, goal->program.ranks - 1, &peer))
		return goal_fail(goal, goal->line, "found rank \"%.32s\"; 0 to %u would be right", words[2],
				 goal->program.ranks - 1);
	if (peer == goal->rank)
		return goal_fail(goal, goal->line, "rank %u sends to itself", goal->rank);
	op->peer = (uint32_t)peer;
	op->count_elems = length;
	goal->largest_elems = length > goal->largest_elems ? length : goal->largest_elems;
	return read_places(goal, words + 3, count - 3, op);
}

static int
read_operation(struct goal *goal, const char *label, char **words, size_t count)
{
	struct program_op op = { .rank = goal->rank, .place = { 0, (uint64_t)goal->line, goal->rank } };
	uint64_t ns;
	int rc;

	if (strcmp(words[0], "calc") == 0) {
		if (count < 2 || !number_parse(words[1], 0, MAX_NS, &ns))
			return goal_fail(goal, goal->line, "found calc \"%.32s\"; 0 to %llu ns would be right",
					 count < 2 ? "" : words[1], MAX_NS);
		op.kind = ns != 0 ? PROGRAM_LOCAL : PROGRAM_JOIN;
		op.compute_ps = ns * PS_PER_NS;
		rc = read_places(goal, words + 2, count - 2, &op);
	} else if (strcmp(words[0], "send") == 0 || strcmp(words[0], "recv") == 0) {
		op.kind = *words[0] == 's' ? PROGRAM_SEND : PROGRAM_RECV;
		rc = read_message(goal, words + 1, count - 1, &op);
	} else {
		return goal_fail(goal, goal->line, "found \"%.32s\"; send, recv or calc would be right", words[0]);
	}
	if (rc != 0)
		return rc;
	if (label != NULL) {
		if (!import_room(&goal->labels, &goal->label_room, goal->nlabels, sizeof(*goal->labels)))
			return -ENOMEM;
		goal->labels[goal->nlabels++] = (struct label){ label, (uint32_t)goal->program.nops, goal->line };
	}
	return program_add(&goal->program, &op, goal->err) != PROGRAM_NONE ? 0 : -errno;
}

static int
read_require(struct goal *goal, char **words, size_t count)
{
	if (count != 3 || !is_label(words[0]) || !is_label(words[2]))
		return goal_fail(goal, goal->line, "found no \"LABEL %s LABEL\"", words[1]);
	if (!import_room(&goal->requires, &goal->require_room, goal->nrequires, sizeof(*goal->requires)))
		return -ENOMEM;
	goal->requires[goal->nrequires++] =
		(struct require){ words[0], words[2], strcmp(words[1], "irequires") == 0, goal->line };
	return 0;
}

/* One statement, of at least one word; ":", "{" and "}" are words. @return 0; -EINVAL, -E2BIG or -ENOMEM */
static int
goal_statement(struct goal *goal, char **words, size_t count)
{
	if (strcmp(words[0], "num_ranks") == 0)
		return count == 2 ? set_ranks(goal, words[1])
				  : goal_fail(goal, goal->line, "found no \"num_ranks NUMBER\"");
	if (strcmp(words[0], "rank") == 0)
		return count == 3 && *words[2] == '{' ? begin_rank(goal, words[1])
						      : goal_fail(goal, goal->line, "found no \"rank NUMBER {\"");
	if (goal->rank == PROGRAM_NONE)
		return goal_fail(goal, goal->line, "found \"%.32s\"; a rank would be right", words[0]);
	if (*words[0] == '}')
		return end_rank(goal);
	if (count > 1 && (strcmp(words[1], "requires") == 0 || strcmp(words[1], "irequires") == 0))
		return read_require(goal, words, count);
	if (count < 2 || *words[1] != ':')
		return read_operation(goal, NULL, words, count);
	if (count < 3 || !is_label(words[0]))
		return goal_fail(goal, goal->line, "found no \"LABEL: OPERATION\"");
	return read_operation(goal, words[0], words + 2, count - 2);
}

/* A statement ends with its line, and at a bracket. Comments are C's. */

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

/*
 * Handles a character that ends a word. A bracket or a colon is a word itself, "{" ends the statement that it is in,
 * and "}" is a statement of its own.
 */
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

/* All statements of a text, which is split in place. @return 0; -EINVAL, -E2BIG or -ENOMEM with err set */
static int
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

static int
check_end(const struct goal *goal)
{
	if (goal->seen == NULL)
		return goal_fail(goal, goal->line, "the file ends in place of num_ranks");
	if (goal->rank != PROGRAM_NONE)
		return goal_fail(goal, goal->line, "the file ends within rank %u of line %d", goal->rank, goal->rank_line);
	if (goal->program.nops == 0)
		return goal_fail(goal, goal->line, "a schedule without operations");
	return 0;
}

/* The file has no contents of messages: all are read from one place of a rank's memory, and put to one behind it. */
static struct coll_schedule *
make(struct goal *goal)
{
	const struct coll_params params = {
		.op = COLL_CUSTOM,
		.algorithm = COLL_FILE,
		.ranks = goal->program.ranks,
		.count_elems = goal->largest_elems,
	};
	const struct coll_layout layout = {
		.out_elems = goal->largest_elems,
		.scratch_elems = 2 * goal->largest_elems,
		.memory_elems = 2 * goal->largest_elems,
	};

	for (size_t i = 0; i < goal->program.nops; i++)
		goal->program.ops[i].dst_elems = goal->program.ops[i].kind == PROGRAM_RECV ? goal->largest_elems : 0;
	return program_schedule(&goal->program, &params, &layout, goal->err);
}

static struct coll_schedule *
read_goal(const struct import_options *options, bool staged, struct err *err)
{
	struct goal goal = {
		.path = options->path, .rank = PROGRAM_NONE, .files = { options->path }, .line = 1, .err = err
	};
	struct coll_schedule *schedule = NULL;
	size_t length;
	char *text = import_read_text(options->path, &length, err);
	int rc;

	if (text == NULL)
		return NULL;
	program_init(&goal.program, length, 0, options->elem_bytes, goal.files, describe);
	goal.program.max_channels = options->max_channels;
	rc = goal_text(&goal, text, length);
	if (rc == 0)
		rc = check_end(&goal);
	free(goal.labels);
	free(goal.requires);
	free(goal.seen);
	free(text);
	if (rc == 0)
		schedule = make(&goal);
	else
		err_set(err, rc, "%s: out of memory", options->path);
	rc = rc != 0 ? -rc : errno;
	program_fini(&goal.program);
	errno = rc;
	return schedule;
}

const struct import_format import_goal = {
	.kind = "goal",
	.doc = "a GOAL schedule (text)",
	.read = read_goal,
};

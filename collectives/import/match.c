/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends and receives find each other; lanes become channels; dependencies are put in a row. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/import/stages.h"

/* One end of a message, to be sorted so that the two ends of each stand at the same place of two lists. */
struct end {
	uint32_t from, to;
	uint64_t key; /* tag, or lane */
	uint32_t op;
};

static int
compare_ends(const void *a, const void *b)
{
	const struct end *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->op < y->op ? -1 : x->op > y->op;
}

/* All sends, or all receives, by (from, to, tag) and the order of the file. @return how many */
static size_t
collect_ends(const struct program *program, enum program_kind kind, struct end *ends)
{
	size_t count = 0;

	for (uint32_t i = 0; i < program->nops; i++) {
		const struct program_op *op = &program->ops[i];
		bool send = kind == PROGRAM_SEND;

		if (op->kind == kind)
			ends[count++] = (struct end){ send ? op->rank : op->peer, send ? op->peer : op->rank, op->tag, i };
	}
	qsort(ends, count, sizeof(*ends), compare_ends);
	return count;
}

/* Of two lists of ends of messages the first that has no counterpart. */
static int
unmatched(const struct program *program, const struct end *send, const struct end *receive, struct err *err)
{
	int order = send == NULL ? 1 : receive == NULL ? -1 : 0;

	if (order == 0) {
		order = send->from != receive->from ? (send->from < receive->from ? -1 : 1) : 0;
		if (order == 0)
			order = send->to != receive->to ? (send->to < receive->to ? -1 : 1) : 0;
		if (order == 0)
			order = send->key != receive->key ? (send->key < receive->key ? -1 : 1) : 0;
	}
	if (order == 0)
		return 0;
	if (order < 0)
		return program_fail(program, send->op, err,
				    "sends to rank %" PRIu32 ", which has no receive of it (from rank %" PRIu32
				    ", tag %" PRIu64 ")",
				    send->to, send->from, send->key);
	return program_fail(program, receive->op, err,
			    "is a receive that never comes: rank %" PRIu32 " has no send of it (to rank %" PRIu32
			    ", tag %" PRIu64 ")",
			    receive->from, receive->to, receive->key);
}

static int
check_lengths(const struct program *program, uint32_t send, uint32_t receive, struct err *err)
{
	uint64_t sent = program->ops[send].count_elems, wanted = program->ops[receive].count_elems;
	char place[PROGRAM_PLACE];

	if (sent * program->elem_bytes > COLL_MAX_MESSAGE_BYTES)
		return program_fail(program, send, err, "sends %" PRIu64 " B; a message has 2 GiB at most",
				    sent * program->elem_bytes);
	if (sent == wanted)
		return 0;
	return program_fail(program, send, err, "sends %" PRIu64 " B to one that wants %" PRIu64 ": %s",
			    sent * program->elem_bytes, wanted * program->elem_bytes,
			    program->describe(program, &program->ops[receive].place, place));
}

static int
match(struct links *links, const struct program *program, struct end *ends, struct err *err)
{
	size_t nsends = collect_ends(program, PROGRAM_SEND, ends);
	struct end *sends = ends, *receives = ends + nsends;
	size_t nreceives = collect_ends(program, PROGRAM_RECV, receives);
	int rc = 0;

	for (size_t i = 0; (i < nsends || i < nreceives) && rc == 0; i++) {
		rc = unmatched(program, i < nsends ? &sends[i] : NULL, i < nreceives ? &receives[i] : NULL, err);
		if (rc == 0)
			rc = check_lengths(program, sends[i].op, receives[i].op, err);
		if (rc == 0) {
			links->partner[sends[i].op] = receives[i].op;
			links->partner[receives[i].op] = sends[i].op;
		}
	}
	return rc;
}

/* Lanes of a pair are numbered in the order of their names; a rank's local ones are those to itself. */
static void
number_channels(struct links *links, const struct program *program, struct end *ends)
{
	size_t count = 0;
	uint32_t lanes = 0;

	for (uint32_t i = 0; i < program->nops; i++) {
		const struct program_op *op = &program->ops[i];

		if (op->kind == PROGRAM_SEND || op->kind == PROGRAM_LOCAL)
			ends[count++] =
				(struct end){ op->rank, op->kind == PROGRAM_SEND ? op->peer : op->rank, op->lane, i };
	}
	qsort(ends, count, sizeof(*ends), compare_ends);
	for (size_t i = 0; i < count; i++) {
		bool same_pair = i > 0 && ends[i].from == ends[i - 1].from && ends[i].to == ends[i - 1].to;

		lanes = !same_pair ? 0 : ends[i].key != ends[i - 1].key ? lanes + 1 : lanes;
		links->channel[ends[i].op] =
			ends[i].from != ends[i].to && program->max_channels != 0 ? lanes % program->max_channels : lanes;
	}
}

static void
sort_waits(struct links *links, const struct program *program)
{
	uint32_t *first = links->first;

	for (size_t i = 0; i < program->nwaits; i++)
		first[program->waits[i].op + 1]++;
	for (size_t i = 0; i < program->nops; i++)
		first[i + 1] += first[i];
	for (size_t i = program->nwaits; i-- > 0;) {
		const struct program_wait *wait = &program->waits[i];
		uint32_t at = --first[wait->op + 1];

		links->waits[at] = (struct link){ .on = wait->on & INT32_MAX, .start = wait->start };
	}
	/* Each first[op + 1] has come down to where op begins. */
	memmove(first, first + 1, program->nops * sizeof(*first));
	first[program->nops] = (uint32_t)program->nwaits;
}

int
links_init(struct links *links, const struct program *program, struct err *err)
{
	struct end *ends = malloc((program->nops + 1) * sizeof(*ends));
	int rc = -ENOMEM;

	*links = (struct links){
		.partner = malloc((program->nops + 1) * sizeof(*links->partner)),
		.channel = calloc(program->nops + 1, sizeof(*links->channel)),
		.first = calloc(program->nops + 2, sizeof(*links->first)),
		.waits = malloc((program->nwaits + 1) * sizeof(*links->waits)),
	};
	if (ends == NULL || links->partner == NULL || links->channel == NULL || links->first == NULL ||
	    links->waits == NULL) {
		err_set(err, rc, "out of memory for %zu operations", program->nops);
	} else {
		memset(links->partner, 0xff, program->nops * sizeof(*links->partner)); /* PROGRAM_NONE */
		number_channels(links, program, ends);
		sort_waits(links, program);
		rc = match(links, program, ends, err);
	}
	free(ends);
	return rc;
}

void
links_fini(struct links *links)
{
	free(links->partner);
	free(links->channel);
	free(links->first);
	free(links->waits);
}

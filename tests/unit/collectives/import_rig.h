/* SPDX-License-Identifier: BSD-3-Clause */
/* Files to import: written for a test, gone after it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectives/import/import.h"
#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

/* Writes a file into the folder of the test run. @return its path, of a static buffer */
static inline const char *
write_file(const char *name, const void *bytes, size_t length)
{
	static char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/rocelab-import-%d-%s", unit_folder(), (int)getpid(), name);
	file = fopen(path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
	return path;
}

/* @return the schedule of a text, or NULL with err set; count 0 where the format is not sized */
static inline struct coll_schedule *
import_text(enum import_kind kind, const char *text, uint64_t count_elems, uint64_t local_bps, struct err *err)
{
	struct import_options options = {
		.kind = kind,
		.path = write_file("text", text, strlen(text)),
		.count_elems = count_elems,
		.elem_bytes = count_elems != 0 ? 4 : 1,
		.local_bps = local_bps,
	};
	struct coll_schedule *schedule = import_schedule(&options, err);

	unlink(options.path);
	return schedule;
}

static inline struct coll_schedule *
must_import(enum import_kind kind, const char *text, uint64_t count_elems, uint64_t local_bps)
{
	struct err err = { 0 };
	struct coll_schedule *schedule = import_text(kind, text, count_elems, local_bps, &err);

	if (schedule == NULL)
		fail_msg("%s\n%s", err.text, text);
	return schedule;
}

/* The text is refused with a message that has both parts; line 0: anywhere. */
static inline void
must_refuse(enum import_kind kind, const char *text, uint64_t count_elems, int line, const char *why)
{
	struct err err = { 0 };
	struct coll_schedule *schedule = import_text(kind, text, count_elems, 0, &err);
	char place[32];

	snprintf(place, sizeof(place), "text:%d: ", line);
	if (schedule != NULL)
		fail_msg("taken, but should have been refused (%s):\n%s", why, text);
	if (strstr(err.text, why) == NULL || (line != 0 && strstr(err.text, place) == NULL))
		fail_msg("refused by\n%s\nwhich should be of line %d and say\n%s", err.text, line, why);
}

/* Whether a step waits for another. */
static inline bool
waits_for(const struct coll_schedule *schedule, uint32_t rank, uint32_t step, uint32_t on_rank, uint32_t on_step)
{
	const struct coll_step *at = coll_step_at(schedule, rank, step);
	bool found = false;

	for (uint32_t i = 0; i < at->ndeps; i++)
		found |= schedule->deps[at->first_dep + i].rank == on_rank &&
			 schedule->deps[at->first_dep + i].step == on_step;
	return found;
}

/* Both have the same steps, whatever the order of what they wait for; memory: at the same places, too. */
static inline void
must_be_alike(const struct coll_schedule *a, const struct coll_schedule *b, bool memory)
{
	assert_int_equal(a->ranks, b->ranks);
	for (uint32_t rank = 0; rank < a->ranks; rank++) {
		assert_int_equal(coll_steps(a, rank), coll_steps(b, rank));
		for (uint32_t step = 1; step <= coll_steps(a, rank); step++) {
			const struct coll_step *x = coll_step_at(a, rank, step), *y = coll_step_at(b, rank, step);

			assert_int_equal(x->peer, y->peer);
			assert_int_equal(x->compute_ps, y->compute_ps);
			assert_int_equal(x->ndeps, y->ndeps);
			for (uint32_t i = 0; i < x->ndeps; i++)
				assert_true(waits_for(b, rank, step, a->deps[x->first_dep + i].rank,
						      a->deps[x->first_dep + i].step));
			if (!memory)
				continue;
			assert_int_equal(x->count_elems, y->count_elems);
			assert_int_equal(x->src_elems, y->src_elems);
			assert_int_equal(x->dst_elems, y->dst_elems);
			assert_int_equal(x->reduce, y->reduce);
		}
	}
}

/*
 * Whichever allocation is refused to an importer of a scenario, the files are, with a message.
 * @param import  writes the scenario of files, which it knows the type of. @return 0 or negative errno with err
 * @return allocations that were refused, one after another
 */
static inline uint64_t
refuse_each_allocation(int (*import)(const void *files, FILE *to, struct err *err), const void *files)
{
	uint64_t refused = 0;
	FILE *to = fopen("/dev/null", "w");

	assert_non_null(to);
	FOR_EACH_REFUSED(nth)
	{
		struct err err = { 0 };
		int rc = import(files, to, &err);
		bool was = alloc_was_refused();

		if (was ? rc == 0 || strstr(err.text, "memory") == NULL : rc != 0)
			fail_msg("allocation %u: %d \"%s\"", (unsigned)nth, rc, err.text);
		if (!was)
			break;
		refused++;
	}
	fclose(to);
	return refused;
}

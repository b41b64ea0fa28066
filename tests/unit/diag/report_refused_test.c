/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports without memory, or on a disk without room: none looks whole that is not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include "common/array.h"
#include "diag/report/json.h"
#include "diag/report/report.h"
#include "diag/report/text.h"
#include "tests/unit/alloc.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/diag/flowpulse_rig.h"
#include "tests/unit/diag/pingmesh_rig.h"
#include "tests/unit/unit.h"

/* Of the allocations of a report each is refused up to this one, then one of so many. */
#define EACH 250
#define ONE_OF 29

static int
text(const struct verdict *v, FILE *to)
{
	return text_write(v, NULL, to);
}

static int
page(const struct verdict *v, FILE *to)
{
	return page_write(v, PAGE_DATA_MARK, to);
}

/* Jansson loses some of its own when others are refused: they stay in this list, and are no leak of ours. */
struct block {
	_Alignas(max_align_t) struct block *next;
	struct block *before;
};

static struct block blocks = { &blocks, &blocks };

static void *
take(size_t bytes)
{
	struct block *block = malloc(sizeof(*block) + bytes);

	if (block == NULL)
		return NULL;
	*block = (struct block){ blocks.next, &blocks };
	block->next->before = blocks.next = block;
	return block + 1;
}

static void
give(void *memory)
{
	struct block *block = memory != NULL ? (struct block *)memory - 1 : NULL;

	if (block == NULL)
		return;
	block->next->before = block->before;
	block->before->next = block->next;
	free(block);
}

/* @return whether one was refused; *out what was written, to be freed */
static bool
write_refused(int (*write)(const struct verdict *v, FILE *to), const struct verdict *v, uint64_t nth, int *rc, char **out)
{
	size_t size;
	FILE *to = open_memstream(out, &size);
	bool was;

	assert_non_null(to);
	alloc_refuse(nth);
	*rc = write(v, to);
	was = alloc_was_refused();
	fclose(to);
	return was;
}

/* Has one all members of the other, of the same kinds? Words and figures may differ: a sentence may name less. */
static bool
same_shape(json_t *a, json_t *b)
{
	const char *key;
	json_t *value;

	if (json_typeof(a) != json_typeof(b) || json_array_size(a) != json_array_size(b) ||
	    json_object_size(a) != json_object_size(b))
		return false;
	for (size_t i = 0; i < json_array_size(a); i++)
		if (!same_shape(json_array_get(a, i), json_array_get(b, i)))
			return false;
	json_object_foreach(a, key, value) {
		if (json_object_get(b, key) == NULL || !same_shape(value, json_object_get(b, key)))
			return false;
	}
	return true;
}

static bool
is_whole(const char *out, const char *whole)
{
	json_t *a = json_loads(whole, 0, NULL), *b = json_loads(out, 0, NULL);
	bool is = a == NULL || (b != NULL && same_shape(a, b));

	json_decref(a);
	json_decref(b);
	return is;
}

/* JSON that could be written without an allocation lacks nothing. */
static void
refuse_each(int (*write)(const struct verdict *v, FILE *to), const struct verdict *v)
{
	char *whole;
	int rc;

	write_refused(write, v, 0, &rc, &whole);
	assert_int_equal(rc, 0);
	for (uint64_t nth = 1;; nth += nth < EACH ? 1 : ONE_OF) {
		char *out;
		bool was = write_refused(write, v, nth, &rc, &out);

		if (rc == 0 && !is_whole(out, whole))
			fail_msg("allocation %u: %d, %zu B instead of %zu", (unsigned)nth, rc, strlen(out), strlen(whole));
		free(out);
		if (!was)
			break;
	}
	free(whole);
}

static void
refuse_all(struct verdict *v)
{
	json_set_alloc_funcs(take, give); /* those of this program, which can be refused */
	refuse_each(json_write, v);
	refuse_each(page, v);
	refuse_each(text, v);
	for (uint32_t i = 0; i < v->nsections; i++)
		for (uint32_t f = 0; f < v->sections[i].by->writers.nfiles; f++)
			refuse_each(v->sections[i].by->writers.files[f].write, v);
	verdict_destroy(v);
}

static void
of_contention(void **state)
{
	struct records r;

	(void)state;
	case_study(&r);
	refuse_all(case_conclude(&r, REC_END_COMPLETE));
}

static void
of_a_storm(void **state)
{
	struct records r;

	(void)state;
	case_stormy(&r);
	refuse_all(case_conclude(&r, REC_END_STALL));
}

static void
of_losses(void **state)
{
	struct records r;

	(void)state;
	put_network(&r);
	put_alarm(&r, 1, 1, REC_LOSS_REMOTE, 0, 1);
	put_alarm(&r, 2, 0, REC_LOSS_LOCAL, REC_NONE, 3);
	refuse_all(diagnose(&r));
}

static void
of_lost_probes(void **state)
{
	struct rig rig;

	(void)state;
	rig_init_lossy(&rig);
	refuse_all(rig_diagnose(&rig));
}

/* /dev/full has room for nothing. */
static void
without_room(void **state)
{
	struct verdict *v;
	struct records r;

	(void)state;
	case_study(&r);
	v = case_conclude(&r, REC_END_COMPLETE);
	for (uint32_t i = 0; i < 3 + v->sections[0].by->writers.nfiles; i++) {
		int (*write)(const struct verdict *v, FILE *to) = i == 0   ? json_write
								  : i == 1 ? page
								  : i == 2 ? text
									   : v->sections[0].by->writers.files[i - 3].write;
		FILE *to = fopen("/dev/full", "w");

		assert_non_null(to);
		setvbuf(to, NULL, _IONBF, 0);
		assert_int_equal(write(v, to), -EIO);
		fclose(to);
	}
	verdict_destroy(v);
}

UNIT_TEST(report_refused)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_contention),  cmocka_unit_test(of_a_storm),   cmocka_unit_test(of_losses),
		cmocka_unit_test(of_lost_probes), cmocka_unit_test(without_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

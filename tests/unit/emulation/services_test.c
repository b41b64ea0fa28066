/* SPDX-License-Identifier: BSD-3-Clause */
/* What an emulation asks of the services of its run (emulation/service.h), and when. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/units.h"
#include "emulation/service.h"
#include "scenario/scenario.h"
#include "tests/unit/emulation/hosts_rig.h"
#include "tests/unit/unit.h"

#define PAIR_RUN                                                                                                           \
	PAIR "flows = ( { src = \"a\"; dst = \"b\"; sport = 20000; bytes = \"10KB\"; } ); telemetry = { epoch = "          \
	     "\"100us\"; };"
#define CHANGES 3
#define BETWEEN_PS (100 * PS_PER_US)

/* Counts what it is asked for; busy until it has changed the fabric CHANGES times. */
struct fake_service {
	uint32_t changes, answers, collects, heads, finishes, destroys;
	uint64_t changed_ps[CHANGES], end_ps;
	bool fails;
};

static struct fake_service fake;

static int
create(struct emulation *emulation, const struct emulation_options *options, void **state, struct err *err)
{
	assert_non_null(emulation->fabric);
	assert_int_equal(options->phase, EMULATION_RUN);
	*state = &fake;
	return fake.fails ? err_set(err, -ENOMEM, "it fails") : 0;
}

static uint64_t
next_ps(const void *state, uint64_t now_ps)
{
	const struct fake_service *f = state;
	uint64_t due_ps = (f->changes + 1) * BETWEEN_PS;

	return f->changes == CHANGES ? TIME_NEVER : now_ps > due_ps ? now_ps : due_ps;
}

static void
change(void *state, uint64_t now_ps)
{
	struct fake_service *f = state;

	if (f->changes < CHANGES && now_ps >= (f->changes + 1) * BETWEEN_PS)
		f->changed_ps[f->changes++] = now_ps;
}

static void
answer(void *state, uint64_t now_ps)
{
	(void)now_ps;
	((struct fake_service *)state)->answers++;
}

static void
collect(void *state, uint64_t now_ps)
{
	(void)now_ps;
	((struct fake_service *)state)->collects++;
}

static bool
busy(const void *state)
{
	return ((const struct fake_service *)state)->changes < CHANGES;
}

static void
stream_head(const void *state, struct exporter *exporter)
{
	assert_non_null(exporter);
	((struct fake_service *)(uintptr_t)state)->heads++;
}

static void
finish(void *state, uint64_t end_ps)
{
	((struct fake_service *)state)->finishes++;
	((struct fake_service *)state)->end_ps = end_ps;
}

static void
report(const void *state, json_t *root)
{
	json_object_set_new(root, "changes", json_integer(((const struct fake_service *)state)->changes));
}

static void
destroy(void *state)
{
	((struct fake_service *)state)->destroys++;
}

static const struct run_service service_fake = { "fake", create,      next_ps, change, answer, collect,
						 busy,   stream_head, finish,  report, destroy };

/* One that wants nothing, and leaves no state: it is never asked for anything. */
static int
decline(struct emulation *emulation, const struct emulation_options *options, void **state, struct err *err)
{
	(void)emulation, (void)options, (void)state, (void)err;
	return 0;
}

static const struct run_service service_absent = { .name = "absent", .create = decline };

static const struct run_service *const services[] = { &service_absent, &service_fake, NULL };
static const struct emulation_options options = { .lcores = 1, .phase = EMULATION_RUN, .services = services };

static void
a_service_is_asked_between_windows_and_keeps_the_run_going(void **state)
{
	struct scenario *scenario = hosts_load(PAIR_RUN);
	struct err err = { "" };
	struct exporter *exporter = exporter_create(&scenario->exporter, NULL, 0, &err);
	struct emulation *emulation;
	json_t *root = json_object();

	(void)state;
	fake = (struct fake_service){ 0 };
	emulation = emulation_create(scenario, &options, &err);
	assert_non_null(emulation);
	assert_ptr_equal(emulation_service(emulation, &service_fake), &fake);
	assert_null(emulation_service(emulation, &service_absent));
	emulation_stream_head(emulation, exporter);
	emulation_begin(emulation, exporter, 0);
	assert_non_null(emulation->pacer.pending); /* it answers somebody */
	fabric_run(emulation->fabric, 0);
	emulation_end(emulation);
	emulation_report(emulation, root);
	assert_int_equal(emulation->fabric->end_reason, REC_END_COMPLETE);
	assert_int_equal(fake.changes, CHANGES);
	for (uint32_t i = 0; i < CHANGES; i++) /* a change ends a window: it is neither early nor late */
		assert_int_equal(fake.changed_ps[i], (i + 1) * BETWEEN_PS);
	assert_true(fake.end_ps >= CHANGES * BETWEEN_PS); /* the flow was done long before */
	assert_int_equal(fake.collects, fake.answers);
	assert_true(fake.collects != 0);
	assert_int_equal(fake.heads, 1);
	assert_int_equal(fake.finishes, 1);
	assert_int_equal(json_integer_value(json_object_get(root, "changes")), CHANGES);
	assert_int_equal(fake.destroys, 0);
	emulation_destroy(emulation);
	assert_int_equal(fake.destroys, 1);
	json_decref(root);
	exporter_destroy(exporter);
	scenario_destroy(scenario);
}

static void
a_service_that_cannot_begin_is_destroyed_with_the_others(void **state)
{
	struct scenario *scenario = hosts_load(PAIR_RUN);
	struct err err = { "" };

	(void)state;
	fake = (struct fake_service){ .fails = true };
	assert_null(emulation_create(scenario, &options, &err));
	assert_int_equal(errno, ENOMEM);
	assert_string_equal(err.text, "it fails");
	assert_int_equal(fake.destroys, 1);
	scenario_destroy(scenario);
}

static void
names_are_unique_and_rows_begin(void **state)
{
	(void)state;
	for (uint32_t i = 0; run_services[i] != NULL; i++) {
		assert_true(i < RUN_SERVICES);
		assert_non_null(run_services[i]->create);
		for (uint32_t j = 0; j < i; j++)
			assert_string_not_equal(run_services[i]->name, run_services[j]->name);
	}
}

UNIT_TEST(services)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_service_is_asked_between_windows_and_keeps_the_run_going),
		cmocka_unit_test(a_service_that_cannot_begin_is_destroyed_with_the_others),
		cmocka_unit_test(names_are_unique_and_rows_begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Results of a host in another program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rxe-hosts/steps/engine.h"
#include "tests/unit/rxe-hosts/engine_rig.h"
#include "tests/unit/rxe-hosts/steps_rig.h"
#include "tests/unit/unit.h"

/* What a host reports over the management channel, put together elsewhere, reads as if it had run there. */
static void
remote_results_read_the_same(void **state)
{
	struct step_engine *remote[3];
	struct collective_result here, there;
	struct manage_step stranger = { .collective = 7, .step = 1 };
	struct manage_iteration late = { .iteration = 99 };
	struct err err = { 0 };

	init(3,
	     "collectives = ( { bytes = 1200; iterations = 2; } );"
	     "flows = ( { src = \"1\"; dst = \"0\"; sport = 9; bytes = 5000; mode = \"repeat\"; until = \"300us\"; } );");
	steps_rig_run(&rig, even);
	for (uint32_t h = 0; h < 3; h++) {
		step_engine_close(rig.engine[h], 1 * MS);
		remote[h] = step_engine_create_remote(rig.plan, h, &err);
		assert_non_null(remote[h]);
		for (size_t i = 0; i < step_engine_rows(rig.engine[h]); i++) {
			struct manage_step step = step_engine_get_step(rig.engine[h], i);

			assert_true(step_engine_put_step(remote[h], &step));
			step.open = REC_STEP_WAITS + 1;
			assert_false(step_engine_put_step(remote[h], &step));
		}
		for (size_t i = 0; i < step_engine_iterations(rig.engine[h]); i++) {
			struct manage_iteration iteration = step_engine_get_iteration(rig.engine[h], i);

			assert_true(step_engine_put_iteration(remote[h], &iteration));
		}
		assert_int_equal(step_engine_rows(remote[h]), step_engine_rows(rig.engine[h]));
		for (size_t i = 0; i < step_engine_rows(remote[h]); i++) {
			struct step_row a = step_engine_row(rig.engine[h], i), b = step_engine_row(remote[h], i);

			assert_memory_equal(&a, &b, offsetof(struct step_row, state)); /* no padding before */
			assert_int_equal(a.state, b.state);
		}
		assert_false(step_engine_put_step(remote[h], &stranger));
		assert_false(step_engine_put_iteration(remote[h], &late));
	}
	for (uint32_t it = 0; it < 2; it++) {
		here = step_engines_result(rig.engine, 3, 0, it);
		there = step_engines_result(remote, 3, 0, it);
		assert_true(here.complete);
		assert_memory_equal(&here, &there, offsetof(struct collective_result, complete));
	}
	for (uint32_t h = 0; h < 3; h++)
		step_engine_destroy(remote[h]);
}

UNIT_TEST(remote)
{
	const struct CMUnitTest tests[] = {
		TEST(remote_results_read_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

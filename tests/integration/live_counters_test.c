/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/run_files.h"
#include "common/unix_socket.h"
#include "emulation/counting/series.h"
#include "tests/unit/unit.h"

#define READERS 3  /* more would wait to connect */
#define LIMIT_S 60 /* of all runs: one that never ends is killed */

/* A run may end while readers wait for counters that nobody will write any more: it ends all the same. */
static void
runs_end_while_readers_wait(void **state)
{
	uint32_t runs = unit_wide(200, 2000, "runs that end while readers wait");
	char dir[] = "/tmp/live-test-XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" RUN_LIVE, dir);
	alarm(LIMIT_S);
	for (uint32_t run = 0; run < runs; run++) {
		struct live_counters *live = live_counters_create(dir);
		int readers[READERS];
		char byte;

		assert_non_null(live);
		for (int i = 0; i < READERS; i++) {
			readers[i] = unix_connect(path, "run", NULL);
			assert_true(readers[i] >= 0);
		}
		live_counters_destroy(live);
		for (int i = 0; i < READERS; i++) {
			assert_true(read(readers[i], &byte, 1) <= 0);
			close(readers[i]);
		}
	}
	alarm(0);
	snprintf(path, sizeof(path), "%s/" RUN_LIVE ".lock", dir);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
}

UNIT_TEST(live_counters)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_end_while_readers_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

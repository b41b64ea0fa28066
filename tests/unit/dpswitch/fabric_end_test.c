/* SPDX-License-Identifier: BSD-3-Clause */
/* How a run of the window engine ends: as its nodes say, by stall, by interrupt. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/units.h"
#include "dpswitch/fabric/fabric.h"
#include "tests/unit/dpswitch/pair_rig.h"
#include "tests/unit/unit.h"

static void
ends_by_status(enum node_status status, enum rec_end_reason reason, uint32_t at_node)
{
	struct pair pair;

	pair_init(&pair);
	pair.config.limit_ps = PS_PER_MS;
	pair.echo[0]->status_ps = pair.echo[1]->status_ps = 50 * PS_PER_US + 1;
	pair.echo[1]->status = status;
	/* completion needs both, an error one */
	pair.echo[0]->status = status == NODE_PASSIVE ? NODE_PASSIVE : NODE_RUNNING;
	pair_start(&pair);
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.fabric->end_reason, reason);
	assert_int_equal(pair.fabric->end_node, at_node);
	assert_in_range(pair.fabric->window.end_ps, 50 * PS_PER_US + 1, 70 * PS_PER_US);
	pair_stop(&pair);
}

static void
a_run_ends_as_its_nodes_require(void **state)
{
	(void)state;
	ends_by_status(NODE_PASSIVE, REC_END_COMPLETE, REC_NONE);
	ends_by_status(NODE_QP_ERROR, REC_END_QP_ERROR, 1);
	ends_by_status(NODE_NO_BUFFER, REC_END_INVARIANT, 1);
}

static void
one_running_node_keeps_the_run_going(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair.echo[1]->status_ps = 0;
	pair.echo[1]->status = NODE_PASSIVE;
	pair_start(&pair);
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.fabric->end_reason, REC_END_VIRTUAL_TIME);
	assert_int_equal(pair.fabric->window.end_ps, 10 * PS_PER_US);
	pair_stop(&pair);
}

static void
without_progress_a_run_stalls(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair.config.limit_ps = 100 * PS_PER_MS;
	pair.config.stall_ps = 3 * PS_PER_MS;
	pair.config.epoch_ps = PS_PER_MS / 2;
	pair.echo[0]->progress_until_ps = 4 * PS_PER_MS;
	pair_start(&pair);
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.fabric->end_reason, REC_END_STALL);
	/* the last progress was in the window that began at 3.5 ms; 3 ms later it is over, seen at once */
	assert_in_range(pair.fabric->window.end_ps, 6500 * PS_PER_US, 6510 * PS_PER_US);
	pair_stop(&pair);
}

/* Nothing is due before 20 ms. */
static bool
due_later(void *ctx, uint64_t now_ps)
{
	(void)ctx;
	return now_ps >= 20 * PS_PER_MS;
}

/* A clock of its own: half as fast as the run's. */
static uint64_t
lived_half(void *ctx)
{
	return ((struct pair *)ctx)->fabric->window.end_ps / 2;
}

/* Silence is no stall while nothing is due; from then on it lasts as long as its clock says. */
static void
a_stall_needs_something_due(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair.config.limit_ps = 100 * PS_PER_MS;
	pair.config.stall_ps = 3 * PS_PER_MS;
	pair.config.epoch_ps = PS_PER_MS / 2;
	pair_start(&pair);
	pair.fabric->hooks = (struct fabric_hooks){ .ctx = &pair, .due = due_later };
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.fabric->end_reason, REC_END_STALL);
	assert_in_range(pair.fabric->window.end_ps, 22 * PS_PER_MS, 23010 * PS_PER_US);
	pair_stop(&pair);
}

static void
silence_has_a_clock_of_its_own(void **state)
{
	struct pair pair;

	(void)state;
	pair_init(&pair);
	pair.config.limit_ps = 100 * PS_PER_MS;
	pair.config.stall_ps = 3 * PS_PER_MS;
	pair.config.epoch_ps = PS_PER_MS / 2;
	pair_start(&pair);
	pair.fabric->hooks = (struct fabric_hooks){ .ctx = &pair, .lived_ps = lived_half };
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.fabric->end_reason, REC_END_STALL);
	assert_in_range(pair.fabric->window.end_ps, 6 * PS_PER_MS, 6510 * PS_PER_US);
	pair_stop(&pair);
}

static void
collect(void *ctx, uint64_t now_ps)
{
	struct pair *pair = ctx;

	if (pair->ncollected < 8)
		pair->collected[pair->ncollected] = now_ps;
	pair->ncollected++;
}

static bool
interrupted(void *ctx)
{
	return ((struct pair *)ctx)->ncollected >= 3;
}

static void
housekeeping_collects_and_takes_interrupts(void **state)
{
	uint64_t busy[1000];
	struct pair pair;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		busy[i] = i * 500 * PS_PER_NS;
	pair_init(&pair);
	pair.config.limit_ps = PS_PER_MS;
	pair.echo[0]->times = busy;
	pair.echo[0]->ntimes = 1000;
	pair_start(&pair);
	pair.fabric->hooks = (struct fabric_hooks){ .ctx = &pair, .collect = collect, .interrupted = interrupted };
	fabric_run(pair.fabric, 0);
	assert_int_equal(pair.fabric->end_reason, REC_END_INTERRUPT);
	/* every 16 windows of 1 us, and once more at the end */
	assert_int_equal(pair.ncollected, 4);
	assert_int_equal(pair.collected[0], 16 * PS_PER_US);
	assert_int_equal(pair.collected[1], 32 * PS_PER_US);
	assert_int_equal(pair.collected[2], 48 * PS_PER_US);
	assert_int_equal(pair.collected[3], 48 * PS_PER_US);
	pair_stop(&pair);
}

UNIT_TEST(fabric_end)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_run_ends_as_its_nodes_require),
		cmocka_unit_test(one_running_node_keeps_the_run_going),
		cmocka_unit_test(without_progress_a_run_stalls),
		cmocka_unit_test(a_stall_needs_something_due),
		cmocka_unit_test(silence_has_a_clock_of_its_own),
		cmocka_unit_test(housekeeping_collects_and_takes_interrupts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

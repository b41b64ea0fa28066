/* SPDX-License-Identifier: BSD-3-Clause */
/* SSQ, RSQ and Table I on rank 1 of a ring reduce-scatter of 4 nodes (Fig. 4): it sends to 2, receives from 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "collectives/builder.h"
#include "common/units.h"
#include "common/wire/record.h"
#include "rxe-hosts/monitor/monitor.h"
#include "tests/unit/collectives/schedule_rig.h"
#include "tests/unit/unit.h"

static struct monitor monitor;
static struct coll_schedule *schedule;
static struct chains *chains;

static int
setup(void **state)
{
	struct err err = { .text = "" };

	schedule = coll_schedule_create(
		&(struct coll_params){ .op = COLL_REDUCESCATTER, .algorithm = COLL_RING, .ranks = 4, .count_elems = 16 },
		&err);
	assert_non_null(schedule);
	assert_int_equal(coll_max_steps(schedule), 3);
	chains = chains_create(schedule);
	assert_non_null(chains);
	assert_int_equal(chains_count(chains, 1), 1);
	return monitor_init(&monitor, chains, 1);
}

static int
teardown(void **state)
{
	monitor_fini(&monitor);
	chains_destroy(chains);
	coll_schedule_destroy(schedule);
	return 0;
}

/* The message that a step of rank 1 waits for is here. */
static void
arrived(uint32_t step, bool next, uint64_t now_ps)
{
	monitor_dependency_done(&monitor, step, (struct coll_dep){ 0, step - 1 }, next, now_ps);
}

static void
queues_name_targets_and_sources(void **state)
{
	struct coll_dep set;
	uint32_t step;

	for (uint32_t entry = 1; entry <= 3; entry++)
		assert_int_equal(monitor_ssq_target(&monitor, 0, entry), 2);
	assert_int_equal(monitor_rsq_set(&monitor, 0, 0, &step), 0); /* step 1 waits for nobody */
	assert_int_equal(monitor_rsq_set(&monitor, 0, 1, &step), 1);
	set = chains_await(monitor.chains, monitor.rank, step, 0);
	assert_int_equal(set.rank, 0);
	assert_int_equal(set.step, 1);
	assert_int_equal(monitor_rsq_set(&monitor, 0, 2, &step), 1);
	set = chains_await(monitor.chains, monitor.rank, step, 0);
	assert_int_equal(set.rank, 0);
	assert_int_equal(set.step, 2);
	assert_int_equal(monitor_rsq_set(&monitor, 0, 3, &step), 0); /* no step 4 */
}

/* Table I: equal indices wait, a larger receive index does not. */
static void
send_first_waits(void **state)
{
	assert_int_equal(monitor_state(&monitor, 0), MONITOR_NON_WAITING);
	assert_int_equal(monitor_next_step(&monitor, 0), 1);
	monitor_started(&monitor, 0);
	assert_int_equal(monitor.queues[0].ssq, 1);
	assert_int_equal(monitor.queues[0].rsq, 1);
	assert_int_equal(monitor_state(&monitor, 0), MONITOR_WAITING);
	assert_int_equal(monitor_waits_for(&monitor, 0).rank, 0);
	assert_false(monitor_next_ready(&monitor, 0));

	arrived(2, false, 500);
	assert_int_equal(monitor.queues[0].rsq, 2);
	assert_int_equal(monitor_state(&monitor, 0), MONITOR_NON_WAITING);
	assert_int_equal(monitor_waits_for(&monitor, 0).rank, COLL_NONE);
	assert_true(monitor_next_ready(&monitor, 0));
}

static void
waited_for_is_the_later(void **state)
{
	monitor_started(&monitor, 0);
	arrived(2, false, 500);
	assert_int_equal(monitor_waited_for(&monitor, 0, 499).rank, 0);
	assert_int_equal(monitor_waited_for(&monitor, 0, 500).rank, 1);
	assert_int_equal(monitor_waited_for(&monitor, 0, 501).rank, 1);
}

static void
last_step_does_not_wait(void **state)
{
	monitor_started(&monitor, 0);
	arrived(2, false, 1);
	monitor_started(&monitor, 0);
	assert_int_equal(monitor_state(&monitor, 0), MONITOR_WAITING);
	arrived(3, false, 2);
	assert_int_equal(monitor_state(&monitor, 0), MONITOR_NON_WAITING);
	monitor_started(&monitor, 0);
	assert_int_equal(monitor.queues[0].ssq, 3);
	assert_int_equal(monitor.queues[0].rsq, 4);
	assert_int_equal(monitor_state(&monitor, 0), MONITOR_NON_WAITING);
	assert_int_equal(monitor_next_step(&monitor, 0), 0);
	assert_false(monitor_next_ready(&monitor, 0));
}

static void
early_data_is_remembered(void **state)
{
	/* Step 3's data overtakes step 2's: the receive index stays at the gap. */
	arrived(3, false, 10);
	assert_int_equal(monitor.queues[0].rsq, 1);
	arrived(2, false, 20);
	assert_int_equal(monitor.queues[0].rsq, 4);
}

static void
next_iteration_takes_what_arrived_early(void **state)
{
	arrived(2, false, 10);
	arrived(3, false, 11);
	for (int i = 0; i < 3; i++)
		monitor_started(&monitor, 0);
	arrived(2, true, 12);
	assert_int_equal(monitor.queues[0].ssq, 3);
	monitor_next_iteration(&monitor);
	assert_int_equal(monitor.queues[0].ssq, 0);
	assert_int_equal(monitor.queues[0].rsq, 2);
	monitor_started(&monitor, 0);
	assert_true(monitor_next_ready(&monitor, 0));
	assert_int_equal(monitor_waited_for(&monitor, 0, 11).rank, 0);
	monitor_started(&monitor, 0);
	assert_false(monitor_next_ready(&monitor, 0)); /* step 3's data of the first iteration is forgotten */
	arrived(3, false, 13);
	assert_true(monitor_next_ready(&monitor, 0));
}

/* Rank 1 of three: step 1 waits for messages of 0 and 2, step 2 by another channel for that of 2 and for step 1. */
static void
a_set_is_complete_with_its_last(void **state)
{
	struct coll_builder *builder = coll_builder_create(3);
	const struct coll_chunk word = { .count_elems = 1 };
	struct coll_dep from0 = coll_builder_send(builder, 0, 1, 0, &word);
	struct coll_dep from2 = coll_builder_send(builder, 2, 1, 0, &word);
	struct coll_dep one = coll_builder_send(builder, 1, 0, 0, &word);
	struct coll_dep aside = coll_builder_send(builder, 1, 2, 1, &word);
	struct coll_dep two = coll_builder_send(builder, 1, 2, 0, &word);
	struct err err = { .text = "" };
	uint32_t step;

	coll_builder_depend(builder, one, from0);
	coll_builder_depend(builder, one, from2);
	coll_builder_depend(builder, two, one);
	coll_builder_depend(builder, two, aside);
	coll_builder_depend(builder, two, from2);
	teardown(NULL);
	schedule = finish_allgather(builder, 3, 8, 8, &err);
	assert_non_null(schedule);
	chains = chains_create(schedule);
	assert_int_equal(monitor_init(&monitor, chains, 1), 0);

	/* Step 3 follows the later of its own: chains are 1, and 2 3. */
	assert_int_equal(chains_count(chains, 1), 2);
	assert_int_equal(monitor_rsq_set(&monitor, 0, 0, &step), 2);
	assert_int_equal(monitor_rsq_set(&monitor, 1, 0, &step), 0);
	assert_int_equal(monitor_rsq_set(&monitor, 1, 1, &step), 2);
	assert_int_equal(monitor_state(&monitor, 0), MONITOR_WAITING);
	assert_int_equal(monitor_state(&monitor, 1), MONITOR_NON_WAITING);
	monitor_dependency_done(&monitor, 1, from2, false, 100);
	assert_int_equal(monitor_state(&monitor, 0), MONITOR_WAITING);
	assert_int_equal(monitor_waits_for(&monitor, 0).rank, 0);
	monitor_dependency_done(&monitor, 3, from2, false, 100);
	monitor_dependency_done(&monitor, 1, from0, false, 200);
	assert_true(monitor_next_ready(&monitor, 0));
	assert_int_equal(monitor_waited_for(&monitor, 0, 0).rank, 0);
	monitor_started(&monitor, 0);
	monitor_started(&monitor, 1);
	/* Its own step of the other chain is what step 3 waits for. */
	assert_int_equal(monitor_state(&monitor, 1), MONITOR_WAITING);
	assert_int_equal(monitor_waits_for(&monitor, 1).rank, 1);
	assert_int_equal(monitor_waits_for(&monitor, 1).step, 1);
	monitor_dependency_done(&monitor, 3, one, false, 300);
	assert_int_equal(monitor_state(&monitor, 1), MONITOR_NON_WAITING);
	assert_int_equal(monitor_waited_for(&monitor, 1, 250).step, 1);
	assert_int_equal(monitor_waited_for(&monitor, 1, 350).step, 2);
}

#define MANY 100

/*
 * All arrive before any of their steps starts, for this iteration and the next, and steps start in two orders: of each it
 * is known when its message was there.
 */
static void
many_steps_are_here_at_once(void **state)
{
	struct coll_builder *builder = coll_builder_create(3);
	const struct coll_chunk word = { .count_elems = 1 };
	struct err err = { .text = "" };

	for (uint32_t i = 0; i < MANY; i++) {
		struct coll_dep from = coll_builder_send(builder, 0, 1, i, &word);

		coll_builder_depend(builder, coll_builder_send(builder, 1, 2, i, &word), from);
	}
	teardown(NULL);
	schedule = finish_allgather(builder, 3, 8, 8, &err);
	assert_non_null(schedule);
	chains = chains_create(schedule);
	assert_int_equal(monitor_init(&monitor, chains, 1), 0);
	assert_int_equal(chains_count(chains, 1), MANY);
	for (uint32_t i = 0; i < 2 * MANY; i++) {
		uint32_t step = i * 37 % MANY + 1;

		monitor_dependency_done(&monitor, step, (struct coll_dep){ 0, step }, i >= MANY, 1000 + step);
	}
	for (uint32_t iteration = 0; iteration < 2; iteration++) {
		for (uint32_t i = 0; i < MANY; i++) {
			uint32_t chain = iteration == 0 ? i * 61 % MANY : MANY - 1 - i, step = chain + 1;

			assert_true(monitor_next_ready(&monitor, chain));
			assert_int_equal(monitor_waited_for(&monitor, chain, 999 + step).step, step);
			assert_int_equal(monitor_waited_for(&monitor, chain, 1000 + step).rank, COLL_NONE);
			monitor_started(&monitor, chain);
		}
		monitor_next_iteration(&monitor);
	}
	for (uint32_t chain = 0; chain < MANY; chain++)
		assert_false(monitor_next_ready(&monitor, chain));
}

static void
report_is_the_record(void **state)
{
	struct recbuf records;
	struct step_result result = {
		.collective = 5,
		.iteration = 6,
		.rank = 1,
		.step = 7,
		.waited_for = { 5, 8, 6 },
		.bytes = 900,
		.acked_bytes = 900,
		.start_ps = 1000,
		.end_ps = 3000,
		.retransmits = 2,
	};
	struct send_times times = { .rtt = { .min_ps = 70, .sum_ps = 240, .count = 3 }, .waited_ps = 4001, .naks = 9 };
	const struct rec_step *rec;

	recbuf_init(&records, 17);
	for (uint32_t i = 0; i < LEDGER_ENTRIES; i++)
		times.ledger_ps[i] = 100 + i;
	monitor_report(&records, &result, &times, 3000);
	rec = (const void *)records.data;
	assert_int_equal(records.used_bytes, 232);
	assert_int_equal(rec->hdr.type, REC_STEP);
	assert_int_equal(rec->hdr.node, 17);
	assert_int_equal(rec->hdr.time_ps, 3000);
	assert_int_equal(rec->rank, 1);
	assert_int_equal(rec->collective, 5);
	assert_int_equal(rec->iteration, 6);
	assert_int_equal(rec->step, 7);
	assert_int_equal(rec->waited_collective, 5);
	assert_int_equal(rec->waited_rank, 8);
	assert_int_equal(rec->waited_step, 6);
	assert_int_equal(rec->start_ps, 1000);
	assert_int_equal(rec->end_ps, 3000);
	assert_int_equal(rec->retransmits, 2);
	assert_int_equal(rec->rtt_min_ps, 70);
	assert_int_equal(rec->rtt_mean_ps, 80);
	assert_int_equal(rec->rtt_samples, 3);
#define IS_IN_RECORD(id, value, name, member, title, meaning) assert_int_equal(rec->member, 100 + id);
	LEDGER_ROWS(IS_IN_RECORD)
	assert_int_equal(rec->waited_ns, 5);
	assert_int_equal(rec->naks, 9);
	assert_int_equal(rec->open, 0);
	recbuf_fini(&records);
}

/* Off by more than 0.1 % and 1 us, or not; without any entry it is not known. */
static void
ledgers_are_audited(void **state)
{
	static const struct {
		uint64_t took_ps, wire_ps, paced_ps, steps, wrong;
	} cases[] = {
		{ 10 * PS_PER_MS, 6 * PS_PER_MS, 4 * PS_PER_MS, 1, 0 },
		{ 10 * PS_PER_MS, 6 * PS_PER_MS, 4 * PS_PER_MS - 10 * PS_PER_US, 1, 0 },
		{ 10 * PS_PER_MS, 6 * PS_PER_MS, 4 * PS_PER_MS - 11 * PS_PER_US, 1, 1 },
		{ 10 * PS_PER_MS, 6 * PS_PER_MS, 4 * PS_PER_MS + 11 * PS_PER_US, 1, 1 },
		{ 5 * PS_PER_US, 4 * PS_PER_US, 0, 1, 0 },
		{ 5 * PS_PER_US, 3 * PS_PER_US, 0, 1, 1 },
		{ 5 * PS_PER_US, 0, 0, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct step_result result = { .start_ps = 77 };
		const struct send_times times = {
			.ledger_ps = { [LEDGER_WIRE] = cases[i].wire_ps, [LEDGER_PACED] = cases[i].paced_ps }
		};
		struct ledger_audit audit = { 0 };

		monitor_audit(&audit, &result, &times, 77 + cases[i].took_ps);
		assert_int_equal(audit.steps, cases[i].steps);
		assert_int_equal(audit.wrong, cases[i].wrong);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TEST(monitor)
{
	const struct CMUnitTest tests[] = {
		TEST(queues_name_targets_and_sources),
		TEST(send_first_waits),
		TEST(waited_for_is_the_later),
		TEST(last_step_does_not_wait),
		TEST(early_data_is_remembered),
		TEST(next_iteration_takes_what_arrived_early),
		TEST(a_set_is_complete_with_its_last),
		TEST(many_steps_are_here_at_once),
		TEST(report_is_the_record),
		TEST(ledgers_are_audited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

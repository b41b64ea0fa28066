/* SPDX-License-Identifier: BSD-3-Clause */
/* When iterations begin and end, and what counts to them. */
#include "tests/unit/telemetry/volumes_rig.h"
#include "tests/unit/unit.h"

#define US PS_PER_US

static const struct volumes_config config = { .ports = 2, .senders = 2, .grace_ps = 10 * US, .idle_ps = 100 * US };

static uint64_t
packets(const struct volumes *v, const struct volumes_slot *slot)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 4u; i++)
		sum += slot->counts[i].packets;
	assert_non_null(v);
	return sum;
}

/* Nothing is due up to this time; then this iteration is, of so many packets. */
static void
expect(struct volumes *v, uint64_t at_ps, uint32_t iteration, uint64_t count)
{
	struct volumes_slot *slot;
	uint64_t reported_ps = 0;

	volumes_window(v, at_ps - 1);
	assert_null(volumes_due(v, at_ps - 1, &reported_ps));
	assert_int_equal(volumes_next_ps(v), at_ps);
	volumes_window(v, at_ps);
	slot = volumes_due(v, at_ps, &reported_ps);
	assert_non_null(slot);
	assert_int_equal(reported_ps, at_ps);
	assert_int_equal(slot->iteration, iteration);
	assert_int_equal(packets(v, slot), count);
	volumes_release(v, slot);
}

static void
an_iteration_ends_when_the_next_begins(void **state)
{
	struct volumes v;
	uint64_t at_ps;

	(void)state;
	assert_int_equal(volumes_init(&v, &config), 0);
	assert_int_equal(volumes_sender(&v, 70), 0);
	assert_int_equal(volumes_sender(&v, 71), 1);
	assert_int_equal(volumes_next_ps(&v), TIME_NEVER);
	volumes_add(&v, 0, 0, 0, 1000, 1 * US);
	volumes_add(&v, 1, 1, 0, 500, 1 * US);
	volumes_window(&v, 2 * US);
	volumes_add(&v, 1, 0, 1, 1000, 20 * US + 5); /* in no order */
	volumes_add(&v, 0, 0, 1, 1000, 20 * US + 3);
	volumes_add(&v, 0, 1, 0, 500, 20 * US + 7); /* this sender is behind */
	volumes_window(&v, 21 * US);
	volumes_add(&v, 0, 1, 0, 500, 35 * US);
	volumes_window(&v, 36 * US);
	assert_null(volumes_due(&v, 36 * US, &at_ps));
	volumes_add(&v, 1, 1, 1, 500, 40 * US + 9);
	volumes_window(&v, 41 * US);
	volumes_add(&v, 0, 0, 0, 1000, 45 * US);    /* late, within the grace */
	volumes_add(&v, 0, 1, 0, 500, 50 * US + 9); /* too late */
	assert_int_equal(v.late_packets, 1);
	expect(&v, 50 * US + 9, 0, 5);
	volumes_add(&v, 0, 1, 0, 500, 51 * US);
	assert_int_equal(v.late_packets, 2);
	assert_int_equal(packets(&v, &v.slots[v.current]), 3);
	volumes_fini(&v);
}

/* What a sender has not begun cannot be waited for longer than another iteration. */
static void
a_sender_may_stop(void **state)
{
	struct volumes v;
	struct volumes_slot *slot;
	uint64_t at_ps;

	(void)state;
	assert_int_equal(volumes_init(&v, &config), 0);
	assert_int_equal(volumes_sender(&v, 70), 0);
	assert_int_equal(volumes_sender(&v, 71), 1);
	for (uint16_t i = 0; i < 3; i++) {
		volumes_add(&v, 0, 0, (uint8_t)i, 1000, (20 * i + 1) * US);
		if (i == 0)
			volumes_add(&v, 0, 1, 0, 1000, 1 * US);
		volumes_window(&v, (20 * i + 2) * US);
	}
	expect(&v, 51 * US, 0, 2);
	slot = volumes_due(&v, 51 * US, &at_ps); /* it was over then, too */
	assert_non_null(slot);
	assert_int_equal(slot->iteration, 1);
	assert_int_equal(at_ps, 51 * US);
	volumes_fini(&v);
}

/* Seventeen iterations: numbers come round, those of the tag are 4 bit. */
static void
iterations_are_counted_on(void **state)
{
	struct volumes v;

	(void)state;
	assert_int_equal(volumes_init(&v, &config), 0);
	assert_int_equal(volumes_sender(&v, 70), 0);
	for (uint32_t i = 3; i < 40; i++) {
		uint64_t now_ps = i * 30 * US;

		volumes_add(&v, 0, 0, i % VOLUMES_NUMBERS, 1000, now_ps);
		volumes_window(&v, now_ps + US);
		if (i != 3)
			expect(&v, now_ps + 10 * US, i - 1, 1);
	}
	/* Some may pass a switch by. */
	volumes_add(&v, 0, 0, (39 + VOLUMES_AHEAD) % VOLUMES_NUMBERS, 1000, 1230 * US);
	volumes_window(&v, 1231 * US);
	expect(&v, 1240 * US, 39, 1);
	assert_int_equal(v.slots[v.current].iteration, 39 + VOLUMES_AHEAD);
	assert_int_equal(v.slots[v.current].flaws, 0);
	volumes_fini(&v);
}

static void
the_last_one_ends_by_quiet(void **state)
{
	struct volumes v;
	uint64_t at_ps;

	(void)state;
	assert_int_equal(volumes_init(&v, &config), 0);
	assert_int_equal(volumes_sender(&v, 70), 0);
	volumes_add(&v, 0, 0, 5, 1000, 1 * US);
	volumes_window(&v, 2 * US);
	volumes_add(&v, 0, 0, 5, 1000, 90 * US);
	volumes_window(&v, 91 * US);
	volumes_window(&v, 190 * US); /* quiet for the idle time: what comes in another one counts */
	assert_null(volumes_due(&v, 190 * US, &at_ps));
	volumes_add(&v, 0, 0, 5, 1000, 250 * US);
	volumes_window(&v, 251 * US);
	volumes_add(&v, 0, 0, 5, 1000, 290 * US);
	expect(&v, 290 * US, 5, 3);
	assert_int_equal(v.late_packets, 1);
	assert_int_equal(volumes_next_ps(&v), TIME_NEVER);
	volumes_add(&v, 0, 0, 5, 1000, 300 * US); /* of one that is over */
	assert_int_equal(v.late_packets, 2);
	/* The next one; and its quiet has to last as long as that one did. */
	volumes_add(&v, 0, 0, 6, 1000, 400 * US);
	volumes_window(&v, 401 * US);
	assert_false(v.slots[v.current].new_task);
	expect(&v, 400 * US + 2 * 249 * US, 6, 1);
	volumes_fini(&v);
}

/* The end by quiet does not depend on windows: here one of 50 us has the end, a packet behind it and the next iteration. */
static void
quiet_does_not_depend_on_windows(void **state)
{
	struct volumes v;
	struct volumes_slot *slot;
	uint64_t at_ps;

	(void)state;
	assert_int_equal(volumes_init(&v, &config), 0);
	assert_int_equal(volumes_sender(&v, 70), 0);
	volumes_add(&v, 0, 0, 5, 1000, 1 * US);
	volumes_window(&v, 50 * US);
	volumes_window(&v, 100 * US);
	volumes_window(&v, 150 * US); /* quiet since 101 us */
	volumes_window(&v, 200 * US);
	volumes_add(&v, 0, 0, 5, 1000, 201 * US + 1);
	volumes_add(&v, 0, 0, 6, 1000, 210 * US);
	volumes_window(&v, 250 * US);
	slot = volumes_due(&v, 250 * US, &at_ps);
	assert_non_null(slot);
	assert_int_equal(at_ps, 201 * US);
	assert_int_equal(slot->iteration, 5);
	assert_int_equal(packets(&v, slot), 1);
	volumes_release(&v, slot);
	assert_null(volumes_due(&v, 250 * US, &at_ps));
	assert_int_equal(v.slots[v.current].iteration, 6);
	volumes_fini(&v);
}

static void
another_task_begins_anew(void **state)
{
	struct volumes v;
	uint64_t at_ps;

	(void)state;
	assert_int_equal(volumes_init(&v, &config), 0);
	assert_int_equal(volumes_sender(&v, 70), 0);
	volumes_add(&v, 0, 0, 12, 1000, 1 * US);
	assert_true(v.slots[v.current].new_task);
	volumes_window(&v, 2 * US);
	expect(&v, 201 * US, 12, 1);
	volumes_add(&v, 0, 0, 10, 1000, 300 * US); /* 14 ahead, or 2 behind: none of the same task */
	volumes_window(&v, 301 * US);
	assert_null(volumes_due(&v, 301 * US, &at_ps));
	assert_true(v.slots[v.current].new_task);
	assert_int_equal(v.slots[v.current].iteration, 10);
	assert_int_equal(v.slots[v.current].flaws, 0);
	volumes_fini(&v);
}

static void
what_cannot_be_decided_is_reported(void **state)
{
	struct volumes v;

	(void)state;
	assert_int_equal(volumes_init(&v, &config), 0);
	assert_int_equal(volumes_sender(&v, 70), 0);
	assert_int_equal(volumes_sender(&v, 71), 1);
	assert_int_equal(volumes_sender(&v, 70), 0);
	assert_int_equal(volumes_sender(&v, 72), VOLUMES_NO_SENDER);
	volumes_add(&v, 0, VOLUMES_NO_SENDER, 4, 1000, 1 * US);
	assert_int_equal(v.slots[v.current].flaws, VOLUMES_FLAW(REC_FLAW_SENDERS));
	assert_int_equal(v.lost_packets, 1);
	volumes_window(&v, 2 * US);
	volumes_routes_changed(&v);
	assert_int_equal(v.slots[v.current].flaws, VOLUMES_FLAW(REC_FLAW_SENDERS) | VOLUMES_FLAW(REC_FLAW_ROUTES));
	volumes_add(&v, 0, 0, 5, 1000, 30 * US);
	volumes_window(&v, 31 * US);
	expect(&v, 40 * US, 4, 0);
	assert_int_equal(v.slots[v.current].flaws, 0);
	volumes_add(&v, 0, 0, 2, 1000, 50 * US); /* two before the one before */
	assert_int_equal(v.slots[v.current].flaws, VOLUMES_FLAW(REC_FLAW_TAGS));
	volumes_add(&v, 0, 0, 6, 1000, 60 * US);
	volumes_window(&v, 61 * US);
	volumes_add(&v, 0, 0, 7, 1000, 62 * US);
	assert_int_equal(v.slots[v.current].flaws, 0);
	volumes_window(&v, 63 * US);
	volumes_add(&v, 0, 0, 8, 1000, 64 * US); /* 5 still has its grace */
	assert_int_equal(v.slots[v.current].flaws, VOLUMES_FLAW(REC_FLAW_OVERLAP));
	volumes_window(&v, 65 * US);
	expect(&v, 72 * US, 6, 1);
	expect(&v, 74 * US, 7, 1);
	volumes_fini(&v);
}

static void
a_run_may_end_within_two(void **state)
{
	struct volumes v;
	struct volumes_slot *slot;

	(void)state;
	assert_int_equal(volumes_init(&v, &config), 0);
	assert_int_equal(volumes_sender(&v, 70), 0);
	assert_null(volumes_last(&v));
	volumes_add(&v, 0, 0, 4, 1000, 1 * US);
	volumes_add(&v, 0, 0, 5, 1000, 1 * US + 1);
	volumes_window(&v, 2 * US);
	for (uint32_t i = 4; i <= 5; i++) {
		slot = volumes_last(&v);
		assert_non_null(slot);
		assert_int_equal(slot->iteration, i);
		volumes_release(&v, slot);
	}
	assert_null(volumes_last(&v));
	volumes_fini(&v);
}

UNIT_TEST(volumes)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_iteration_ends_when_the_next_begins),
		cmocka_unit_test(a_sender_may_stop),
		cmocka_unit_test(iterations_are_counted_on),
		cmocka_unit_test(the_last_one_ends_by_quiet),
		cmocka_unit_test(quiet_does_not_depend_on_windows),
		cmocka_unit_test(another_task_begins_anew),
		cmocka_unit_test(what_cannot_be_decided_is_reported),
		cmocka_unit_test(a_run_may_end_within_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

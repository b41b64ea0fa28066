/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts that a switch's stages hand over by: arrivals of an egress, its queues, and what accounting is given. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dpswitch/pipeline/switch.h"
#include "tests/unit/unit.h"

static struct pkt
packet(uint64_t time_ps, uint8_t prio, uint16_t bytes)
{
	return (struct pkt){ .time_ps = time_ps, .prio = prio, .wire_bytes = bytes };
}

/* Two ingresses' packets come out by time, at one instant those of the lower ingress first. */
static void
arrivals_merge_by_time_then_ingress(void **state)
{
	struct arrivals arrivals = { 0 }, all;
	struct pkt pkts[5] = { packet(10, 3, 1), packet(30, 3, 2), packet(10, 3, 3), packet(20, 3, 4), packet(30, 3, 5) };
	static const uint16_t order[] = { 1, 3, 4, 2, 5 };
	uint32_t run = 0;

	(void)state;
	assert_int_equal(arrivals_init(&arrivals, 4), 0);
	for (uint32_t i = 0; i < 5; i++)
		arrivals_add(&arrivals, i < 2 ? 1 : 3, &pkts[i], 5, false);
	assert_int_equal(arrivals.nruns, 2);
	all = arrivals_take_all(&arrivals);
	assert_int_equal(arrivals.nruns + arrivals.count, 0); /* ready for the next window */
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(arrivals_next_ps(&all, &run), pkts[order[i] - 1].time_ps);
		assert_int_equal(arrivals_take(&all, run)->wire_bytes, order[i]);
	}
	assert_int_equal(arrivals_next_ps(&all, &run), TIME_NEVER);
	arrivals_add(&arrivals, 3, &pkts[4], 1, false); /* the ingress whose run was the last */
	assert_int_equal(arrivals.nruns, 1);
	all = arrivals_take_all(&arrivals);
	assert_int_equal(arrivals_take(&all, 0)->wire_bytes, 5);
	assert_int_equal(all.nruns, 0);
	arrivals_fini(&arrivals);
}

/* Runs lie before the packets in one memory: as many as there are ports, whatever their number. */
static void
every_ingress_may_have_a_run(void **state)
{
	(void)state;
	for (uint16_t nports = 1; nports <= 9; nports++) {
		struct arrivals arrivals = { 0 }, all;
		struct pkt pkts[9];
		uint32_t run = 0;

		assert_int_equal(arrivals_init(&arrivals, nports), 0);
		for (uint16_t i = 0; i < nports; i++) {
			pkts[i] = packet(1, 0, 100u + i);
			pkts[i].time_ps = 100u - i;
			arrivals_add(&arrivals, i, &pkts[i], 1, false);
		}
		assert_int_equal(arrivals.nruns, nports);
		all = arrivals_take_all(&arrivals);
		for (uint16_t i = nports; i-- > 0;) { /* the packet of the last ingress arrived first */
			assert_int_equal(arrivals_next_ps(&all, &run), 100u - i);
			assert_int_equal(arrivals_take(&all, run)->wire_bytes, 100 + i);
		}
		assert_int_equal(all.nruns, 0);
		arrivals_fini(&arrivals);
	}
}

/* Room is made with an ingress's first packet; packets that the switch makes meanwhile take none of it. */
static void
arrivals_have_room_for_an_ingress_and_extras(void **state)
{
	enum { MOST = 40, EXTRAS = 100 };
	struct arrivals arrivals = { 0 }, all;
	struct pkt p = packet(1, 3, 100);
	uint32_t room;

	(void)state;
	assert_int_equal(arrivals_init(&arrivals, 2), 0);
	arrivals_add(&arrivals, 0, &p, 1, false);
	arrivals_add(&arrivals, 1, &p, MOST, false);
	assert_true(1u << arrivals.room_log2 >= 1 + MOST);
	for (uint32_t i = 0; i < EXTRAS; i++) {
		arrivals_add(&arrivals, 1, &p, MOST, true);
		assert_true(1u << arrivals.room_log2 >= arrivals.count + MOST - 1);
	}
	room = arrivals.room_log2;
	for (uint32_t i = 1; i < MOST; i++)
		arrivals_add(&arrivals, 1, &p, MOST, false);
	assert_int_equal(arrivals.room_log2, room);
	all = arrivals_take_all(&arrivals);
	assert_int_equal(all.count, 1 + MOST + EXTRAS);
	for (uint32_t i = 0; i < all.count; i++)
		assert_ptr_equal(all.pkts[i], &p);
	arrivals_fini(&arrivals);
}

static void
an_egress_knows_what_may_go(void **state)
{
	struct egress egress = { 0 };
	struct pkt control = packet(1, 0, 60), data = packet(2, 3, 1000), other = packet(3, 4, 500);
	uint64_t packets = 0, bytes = 0;

	(void)state;
	for (uint32_t c = 0; c < DWRR_CLASSES; c++)
		egress.dwrr.quantum_bytes[c] = 1000;
	assert_int_equal(egress_ready(&egress), 0);
	assert_true(egress_push(&egress, &data) && egress_push(&egress, &other) && egress_push(&egress, &control));
	assert_int_equal(egress.data_packets, 2);
	egress_held(&egress, &packets, &bytes);
	assert_int_equal(packets, 3);
	assert_int_equal(bytes, 1560);
	assert_int_equal(egress_select(&egress, egress_ready(&egress)), 0); /* control first */
	assert_int_equal(egress_pop(&egress, 0)->wire_bytes, 60);
	egress.paused = 1 << 3;
	assert_int_equal(egress_ready(&egress), 1 << 4);
	assert_int_equal(egress_select(&egress, egress_ready(&egress)), 4);
	assert_int_equal(egress_pop(&egress, 4)->wire_bytes, 500);
	assert_int_equal(egress_ready(&egress), 0);
	egress.paused = 0;
	assert_int_equal(egress_pop(&egress, 3)->wire_bytes, 1000);
	assert_int_equal(egress.backlog + egress.data_packets, 0);
	egress_fini(&egress, NULL);
}

/* A strict class finds its own frames ahead, and those of higher ones; the others all that wait. */
static void
strict_classes_go_before_those_that_share(void **state)
{
	struct egress egress = { .strict = 1 << 5 | 1 << 6 };
	static const uint8_t order[] = { 0, 6, 5, 5 };

	(void)state;
	for (uint32_t c = 0; c < DWRR_CLASSES; c++)
		egress.dwrr.quantum_bytes[c] = 1000;
	for (uint8_t prio = 0; prio < 8; prio++) {
		struct pkt p = packet(1, prio, 500);

		assert_true(egress_push(&egress, &p) && (prio != 5 || egress_push(&egress, &p)));
	}
	assert_int_equal(egress_depth(&egress, 6), 1);
	assert_int_equal(egress_depth(&egress, 5), 3);
	assert_int_equal(egress_depth(&egress, 7), 8); /* it shares, and finds all data */
	assert_int_equal(egress_ahead(&egress, 0), 1);
	assert_int_equal(egress_ahead(&egress, 5), 1 | 1 << 5 | 1 << 6);
	assert_int_equal(egress_ahead(&egress, 7), 0xff);
	for (size_t i = 0; i < sizeof(order); i++) {
		assert_int_equal(egress_select(&egress, egress_ready(&egress)), order[i]);
		egress_pop(&egress, order[i]);
	}
	egress.paused = 1 << 5;
	for (uint32_t i = 0; i < 5; i++) { /* the rest in turn */
		uint8_t prio = egress_select(&egress, egress_ready(&egress));

		assert_true(prio != 0 && prio != 5 && prio != 6);
		egress_pop(&egress, prio);
	}
	assert_int_equal(egress.backlog, 0);
	egress_fini(&egress, NULL);
}

/* Keys order by time, arrivals before departures; an egress that sent nothing makes no run. */
static void
accounting_is_handed_runs(void **state)
{
	uint64_t left[8] = { 0 }, arrived[8] = { 0 }, keys[4];
	uint32_t runs[4];
	struct account account = { .charged = 1 << 3,
				   .first = { 4, 4, 4, 0, 4, 4, 4, 4 },
				   .nclasses = 1,
				   .nports = 4,
				   .arrived_bytes = arrived,
				   .left_bytes = left,
				   .keys = keys,
				   .key_runs = runs };
	struct pkt p = packet(1, 3, 1000), control = packet(1, 0, 60);

	(void)state;
	assert_true(account_key(7, false, 9, 3, 1) < account_key(7, true, 0, 3, 1));
	assert_true(account_key(7, true, 9, 3, 1) < account_key(8, false, 0, 3, 1));
	p.in_port = 2;
	account_arrive(&account, &p);
	account_arrive(&account, &control);
	assert_int_equal(arrived[2], 1000);
	assert_int_equal(arrived[0], 0);
	account_end_run(&account);
	assert_int_equal(account.nruns, 0);
	account_depart(&account, &p, 100);
	account_depart(&account, &p, 200);
	account_depart(&account, &control, 300); /* nobody pauses its class */
	account_end_run(&account);
	account_end_run(&account);
	assert_int_equal(account.nruns, 1);
	assert_int_equal(runs[0], 2);
	assert_int_equal(left[2], 2000);
	assert_int_equal(keys[1], account_key(200, true, 2, 3, 1000));
}

UNIT_TEST(egress)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arrivals_merge_by_time_then_ingress),
		cmocka_unit_test(every_ingress_may_have_a_run),
		cmocka_unit_test(arrivals_have_room_for_an_ingress_and_extras),
		cmocka_unit_test(an_egress_knows_what_may_go),
		cmocka_unit_test(strict_classes_go_before_those_that_share),
		cmocka_unit_test(accounting_is_handed_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What switches report of what has passed, and what came in whole or damaged: where packets were lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "dpswitch/fabric/link.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/dpswitch/poll_rig.h"
#include "tests/unit/unit.h"

static void
send(struct link *link, uint32_t parity, uint64_t done_ps)
{
	const struct pkt p = { .wire_bytes = 1000 };

	link_send(link, parity, &p, done_ps);
}

/* A frame knows how many left the one end before it, and how many came in at the other. */
static void
frames_know_what_the_cable_lost(void **state)
{
	/* 1000 B are 80 ns */
	const struct link_config config = { .rate_bps = 100000000000ULL,
					    .delay_ps = 2 * US,
					    .window_ps = 250 * PS_PER_NS,
					    .min_frame_bytes = 1000,
					    .pause_bytes = 84 };
	struct link_passed passed;
	struct link link;
	struct pkt *pkts;

	(void)state;
	assert_int_equal(link_init(&link, &config), 0);
	for (uint32_t window = 0; window < 4; window++) {
		link_set_loss(&link, window == 2);
		for (uint32_t i = 0; i < 3; i++)
			send(&link, window & 1, 250000 * window + 80000 * (i + 1));
		link_receive(&link, (window & 1) ^ 1);
		if (window == 0) { /* two arrive, one is left in the cable */
			assert_int_equal(link_arrivals(&link, 2200000, &pkts), 2);
			passed = link_passed(&link, &pkts[1]);
			assert_int_equal(passed.sent_frames, 1);
			assert_int_equal(passed.received_frames, 1);
			link_consume(&link, 2, 0);
		}
	}
	assert_int_equal(link_arrivals(&link, TIME_NEVER, &pkts), 7);
	passed = link_passed(&link, &pkts[6]);
	assert_int_equal(passed.sent_frames, 11);
	assert_int_equal(passed.received_frames, 8);
	link_consume(&link, 7, 0);
	send(&link, 0, 1080000);
	link_set_down(&link, true);
	link_set_down(&link, false);
	send(&link, 0, 1160000);
	link_receive(&link, 1);
	assert_int_equal(link_arrivals(&link, TIME_NEVER, &pkts), 1);
	passed = link_passed(&link, &pkts[0]);
	assert_int_equal(passed.sent_frames, 13);
	assert_int_equal(passed.received_frames, 9);
	link_fini(&link);
}

/*
 * Of the n-th polling packet that asked for it: frames before it on its cable, all of which came, and packets of the
 * flow.
 */
static void
expect_passage(const struct sw *sw, uint32_t n, uint16_t in_port, uint64_t frames, uint64_t packets)
{
	const struct rec_passage *row = frig_record(&sw->node, REC_PASSAGE, n);

	assert_non_null(row);
	assert_int_equal(row->hdr.event, 77);
	assert_int_equal(row->flow.sport, 10000);
	assert_int_equal(row->in_port, in_port);
	assert_int_equal(row->in_frames, frames);
	assert_int_equal(row->sent_frames, frames);
	assert_int_equal(row->flow_packets, packets);
	assert_int_equal(row->waiting, 0);
}

/* Both directions report, where asked for: of the flow's packets in their own direction alone. */
static void
both_directions_report_what_has_passed(void **state)
{
	struct sw *s1, *s2;
	struct frig rig;

	(void)state;
	frig_init(&rig, chain);
	uint32_t victim = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_send(&rig, victim, 0, 1000, 10);
	send_poll(&rig, victim, 20 * US, 76, POLL_VICTIM);
	send_poll(&rig, victim, 21 * US, 77, POLL_VICTIM | POLL_ACKS);
	send_back(&rig, victim, 30 * US, 77);
	frig_run(&rig, 100 * US);
	s1 = frig_switch(&rig, "S1");
	s2 = frig_switch(&rig, "S2");
	expect_passage(s1, 0, S1_A, 11, 10);
	expect_passage(s2, 0, S2_S1, 11, 10);
	expect_passage(s2, 1, S2_B, 0, 0);
	expect_passage(s1, 1, S1_S2, 0, 0);
	assert_null(frig_record(&s1->node, REC_PASSAGE, 2)); /* none of the packet that asks for rows alone */
	frig_stop(&rig);
}

/* A polling packet right behind the flow's own has them all before it, wherever these are by then. */
static void
what_arrived_just_before_is_counted(void **state)
{
	const struct rec_passage *row;
	struct frig rig;

	(void)state;
	frig_init(&rig, chain);
	uint32_t victim = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_send(&rig, victim, 0, 1000, 10);
	send_poll(&rig, victim, 800000, 77, POLL_VICTIM | POLL_ACKS);
	frig_send(&rig, victim, 900000, 1000, 10);
	frig_run(&rig, 100 * US);
	for (int hop = 0; hop < 2; hop++) {
		row = frig_record(&frig_switch(&rig, hop == 0 ? "S1" : "S2")->node, REC_PASSAGE, 0);
		assert_non_null(row);
		assert_int_equal(row->in_frames, 10);
		assert_int_equal(row->flow_packets, 10);
		assert_in_range(row->waiting, 1, 10);
	}
	frig_stop(&rig);
}

/* Frames that a cable loses are missing behind it: the switch there reports both counts. */
static void
what_a_cable_lost_is_reported_behind_it(void **state)
{
	const struct rec_passage *row;
	struct link *cable;
	struct frig rig;

	(void)state;
	frig_init(&rig, chain);
	uint32_t victim = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	cable = frig_link(&rig, "S1:2");
	link_set_loss(cable, 0.1);
	frig_send(&rig, victim, 0, 1000, 100);
	send_poll(&rig, victim, 20 * US, 77, POLL_VICTIM | POLL_ACKS);
	frig_run(&rig, 100 * US);
	assert_in_range(cable->injected_packets, 5, 20);
	expect_passage(frig_switch(&rig, "S1"), 0, S1_A, 100, 100);
	row = frig_record(&frig_switch(&rig, "S2")->node, REC_PASSAGE, 0);
	assert_non_null(row);
	assert_int_equal(row->sent_frames, 100);
	assert_int_equal(row->in_frames, 100 - cable->injected_packets);
	assert_int_equal(row->flow_packets, row->in_frames);
	frig_stop(&rig);
}

/* Frames that vanish behind the MAC have come in: the counters of the two ends agree. Only the flow has too few. */
static void
a_silent_loss_is_in_no_counter_of_a_cable(void **state)
{
	const struct rec_passage *row;
	struct link *cable;
	struct frig rig;

	(void)state;
	frig_init(&rig, chain);
	uint32_t victim = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	cable = frig_link(&rig, "S1:2");
	link_set_loss(cable, 0.1);
	cable->silent = true;
	frig_send(&rig, victim, 0, 1000, 100);
	send_poll(&rig, victim, 20 * US, 77, POLL_VICTIM | POLL_ACKS);
	frig_run(&rig, 100 * US);
	assert_in_range(cable->injected_packets, 5, 20);
	row = frig_record(&frig_switch(&rig, "S2")->node, REC_PASSAGE, 0);
	assert_non_null(row);
	assert_int_equal(row->sent_frames, 100);
	assert_int_equal(row->in_frames, 100);
	assert_int_equal(row->flow_packets, 100 - cable->injected_packets);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* A frame that arrives damaged goes no further, and its ingress port reports it when polled. */
static void
damage_is_reported_where_it_entered(void **state)
{
	const struct rec_drop_row *row;
	struct link *cable;
	struct frig rig;
	struct sw *s1;

	(void)state;
	frig_init(&rig, chain);
	uint32_t victim = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	cable = frig_link(&rig, "a:1");
	link_set_corruption(cable, 0.1, 0);
	frig_send(&rig, victim, 0, 1000, 100);
	send_poll(&rig, victim, 20 * US, 77, POLL_VICTIM);
	frig_run(&rig, 100 * US);
	assert_in_range(cable->corrupted_packets, 5, 20);
	s1 = frig_switch(&rig, "S1");
	row = frig_record(&s1->node, REC_DROP_ROW, 0);
	assert_non_null(row);
	assert_int_equal(row->port, S1_A);
	assert_int_equal(row->reason, REC_DROP_CORRUPT);
	assert_int_equal(row->packets, cable->corrupted_packets);
	assert_null(frig_record(&s1->node, REC_DROP_ROW, 1));
	assert_null(frig_record(&frig_switch(&rig, "S2")->node, REC_DROP_ROW, 0));
	assert_int_equal(frig_host(&rig, "b")->ngot, 101 - cable->corrupted_packets); /* with the polling packet */
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

UNIT_TEST(passage)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_know_what_the_cable_lost),
		cmocka_unit_test(both_directions_report_what_has_passed),
		cmocka_unit_test(what_arrived_just_before_is_counted),
		cmocka_unit_test(what_a_cable_lost_is_reported_behind_it),
		cmocka_unit_test(what_arrived_just_before_is_counted),
		cmocka_unit_test(a_silent_loss_is_in_no_counter_of_a_cable),
		cmocka_unit_test(damage_is_reported_where_it_entered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

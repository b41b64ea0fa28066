/* SPDX-License-Identifier: BSD-3-Clause */
/* Polling packets through real switches: their way, and who replies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/dpswitch/poll_rig.h"
#include "tests/unit/unit.h"

static void
the_victims_path_answers_hop_by_hop(void **state)
{
	const struct rec_port_row *row;
	struct sw *s1, *s2;
	struct frig rig;

	(void)state;
	frig_init(&rig, chain);
	uint32_t victim = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_send(&rig, victim, 0, 1000, 10);
	send_poll(&rig, victim, 20 * US, 77, POLL_VICTIM);
	frig_run(&rig, 100 * US);
	s1 = frig_switch(&rig, "S1");
	s2 = frig_switch(&rig, "S2");
	expect_poll(s1, 0, S1_A, S1_S2, POLL_VICTIM, false, false);
	expect_poll(s2, 0, S2_S1, S2_B, POLL_VICTIM, false, false);
	assert_null(poll_of(s1, 1));
	assert_null(poll_of(s2, 1));
	assert_null(frig_record(&s1->node, REC_PASSAGE, 0)); /* nothing was sent again */
	assert_int_equal(poll_of(s1, 0)->hdr.event, 77);
	assert_int_equal(poll_of(s1, 0)->victim.sport, 10000);
	assert_int_equal(poll_of(s1, 0)->ttl, PKT_TTL_INIT - 1);
	assert_int_equal(poll_of(s2, 0)->ttl, PKT_TTL_INIT - 2);
	/* 84 B take 6.72 ns: with S1 at 21.00672 us */
	assert_int_equal(poll_of(s1, 0)->hdr.time_ps, 20 * US + 6720 + US);
	row = row_of(s1, 77, S1_S2);
	assert_non_null(row);
	assert_int_equal(row->packets, 10);
	assert_int_equal(row->bytes, 10000);
	assert_int_equal(row->paused, 0);
	assert_non_null(row_of(s2, 77, S2_B));
	assert_null(row_of(s1, 77, S1_C));
	assert_null(row_of(s2, 77, S2_S1));
	/* it continues to the victim's destination */
	assert_int_equal(polls_at(frig_host(&rig, "b")), 1);
	assert_int_equal(s1->node.count.control[PKT_POLL].packets, 1);
	assert_int_equal(s2->node.count.control[PKT_POLL].bytes, 84);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* One that was sent back takes the way of the ACKs, and traces no pauses from there: nobody pauses them. */
static void
the_acks_path_answers_too(void **state)
{
	struct sw *s1, *s2;
	struct frig rig;

	(void)state;
	frig_init(&rig, chain);
	uint32_t victim = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_send(&rig, victim, 0, 1000, 10);
	send_poll(&rig, victim, 20 * US, 77, POLL_VICTIM | POLL_ACKS);
	send_back(&rig, victim, 30 * US, 77);
	frig_pause(&rig, "a", 10 * US, CLASS_3, true);
	frig_run(&rig, 100 * US);
	s1 = frig_switch(&rig, "S1");
	s2 = frig_switch(&rig, "S2");
	expect_poll(s1, 0, S1_A, S1_S2, POLL_VICTIM | POLL_ACKS, false, false);
	expect_poll(s2, 0, S2_S1, S2_B, POLL_VICTIM | POLL_ACKS, false, false);
	expect_poll(s2, 1, S2_B, S2_S1, POLL_VICTIM | POLL_BACK, false, false);
	expect_poll(s1, 1, S1_S2, S1_A, POLL_VICTIM | POLL_BACK, true, false);
	assert_int_equal(frig_host(&rig, "b")->got[10].arg, POLL_VICTIM | POLL_ACKS);
	assert_int_equal(polls_at(frig_host(&rig, "a")), 1);
	assert_int_equal(frig_host(&rig, "a")->got[0].arg, POLL_VICTIM | POLL_BACK);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* A quiet packet goes the same way and is answered; nobody records its way, and of all answers one in 50 us is kept. */
static void
a_flood_is_answered_and_one_answer_kept(void **state)
{
	struct frig rig;
	struct sw *s1;

	(void)state;
	frig_init(&rig, chain);
	rig.config.telemetry.retain_ps = 50 * US;
	uint32_t victim = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_send(&rig, victim, 0, 1000, 10);
	send_poll(&rig, victim, 20 * US, 1, POLL_VICTIM);
	for (uint32_t i = 0; i < 5; i++)
		send_poll(&rig, victim, 21 * US + i * US / 10, 100 + i, POLL_VICTIM | POLL_QUIET);
	send_poll(&rig, victim, 80 * US, 200, POLL_VICTIM | POLL_QUIET);
	frig_run(&rig, 200 * US);
	s1 = frig_switch(&rig, "S1");
	assert_int_equal(polls_at(frig_host(&rig, "b")), 7);
	assert_int_equal(frig_host(&rig, "b")->got[16].arg, POLL_VICTIM | POLL_QUIET);
	assert_non_null(poll_of(s1, 0));
	assert_null(poll_of(s1, 1));
	assert_non_null(row_of(s1, 1, S1_S2));
	assert_non_null(row_of(s1, 200, S1_S2)); /* its report is the one that is kept */
	assert_null(row_of(s1, 100, S1_S2));
	assert_int_equal(s1->node.count.reports.unkept_reports, 5); /* of seven */
	assert_true(s1->node.count.reports.unkept_bytes > 5 * sizeof(struct rec_hdr));
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* More polls in one window than a switch sends on in one: what it cannot is dropped by name, and counted once. */
static void
a_window_has_room_for_so_many(void **state)
{
	static const char long_cables[] =
		"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"20us\"; switches = [ \"S1\" ]; "
		"hosts = [ \"a\", \"b\", \"c\" ]; links = ( \"a S1\", \"b S1\", \"c S1\" ); };";
	const uint32_t each = SWITCH_MAX_BORN - 100;
	uint32_t one, two;
	struct frig rig;
	struct sw *s1;

	(void)state;
	frig_init(&rig, long_cables);
	one = frig_flow(&rig, "a", "b", 3);
	two = frig_flow(&rig, "c", "b", 3);
	start(&rig);
	for (uint32_t i = 0; i < each; i++) {
		send_poll(&rig, one, 0, 1 + i, POLL_VICTIM);
		send_poll(&rig, two, 0, 1 + each + i, POLL_VICTIM);
	}
	frig_run(&rig, 200 * US);
	s1 = frig_switch(&rig, "S1");
	assert_int_equal(s1->node.count.dropped_packets, 2 * each - SWITCH_MAX_BORN);
	assert_int_equal(polls_at(frig_host(&rig, "b")), SWITCH_MAX_BORN);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* Full polling: every port reports itself once an epoch, unasked; idle ones, too. */
static void
all_ports_report_every_epoch(void **state)
{
	const struct rec_port_row *row;
	struct frig rig;
	struct sw *s1;

	(void)state;
	frig_init(&rig, chain);
	rig.config.telemetry.every_epoch = true;
	uint32_t victim = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_send(&rig, victim, 0, 1000, 10);
	frig_send(&rig, victim, 1100 * US, 1000, 20);
	frig_send(&rig, victim, 3 * PS_PER_MS + US, 1000, 1);
	frig_run(&rig, 3500 * US);
	s1 = frig_switch(&rig, "S1");
	assert_int_equal(s1->node.count.reports.unkept_reports, 0);
	assert_null(poll_of(s1, 0));
	row = row_of(s1, 0, S1_C);
	assert_non_null(row);
	assert_int_equal(row->packets, 0);
	uint64_t packets[4] = { 0 };
	for (uint32_t n = 0; (row = frig_record(&s1->node, REC_PORT_ROW, n)) != NULL; n++)
		if (row->port == S1_S2 && row->epoch_last < 4)
			packets[row->epoch_last] =
				row->packets > packets[row->epoch_last] ? row->packets : packets[row->epoch_last];
	assert_int_equal(packets[0], 10);
	assert_int_equal(packets[1], 20);
	assert_int_equal(packets[2], 0);
	assert_int_equal(packets[3], 0); /* not over yet */
	frig_stop(&rig);
}

static void
an_event_is_answered_once(void **state)
{
	struct sw *s1;
	struct frig rig;

	(void)state;
	frig_init(&rig, chain);
	uint32_t victim = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	send_poll(&rig, victim, 10 * US, 9, POLL_VICTIM);
	send_poll(&rig, victim, 20 * US, 9, POLL_VICTIM);
	send_poll(&rig, victim, 30 * US, 10, POLL_VICTIM);
	frig_run(&rig, 100 * US);
	s1 = frig_switch(&rig, "S1");
	expect_poll(s1, 0, S1_A, S1_S2, POLL_VICTIM, false, false);
	expect_poll(s1, 1, S1_A, S1_S2, POLL_VICTIM, false, true);
	expect_poll(s1, 2, S1_A, S1_S2, POLL_VICTIM, false, false);
	assert_int_equal(polls_at(frig_host(&rig, "b")), 2);
	assert_null(poll_of(frig_switch(&rig, "S2"), 2));
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* Polls are control packets: a paused class does not hold them up. */
static void
polls_pass_a_paused_port(void **state)
{
	struct frig rig;

	(void)state;
	frig_init(&rig, chain);
	uint32_t victim = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_pause(&rig, "b", 0, CLASS_3, true);
	frig_send(&rig, victim, 5 * US, 1000, 10);
	send_poll(&rig, victim, 10 * US, 1, POLL_VICTIM);
	frig_run(&rig, 100 * US);
	assert_int_equal(frig_host(&rig, "b")->ngot, 1);
	assert_int_equal(polls_at(frig_host(&rig, "b")), 1);
	frig_stop(&rig);
}

static const char parallel[] =
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"S1\", \"S2\" ]; "
	"hosts = [ \"a\", \"b\", \"c\", \"d\" ]; "
	"links = ( \"a S1\", \"S1 S2\", \"S1 S2\", \"c S1\", \"b S2\", \"d S2\" ); };";

/* Which member of the set of equal cost a hash chooses for a flow. */
static uint32_t
hash_of(const struct frig *rig, const struct sw *sw, uint32_t index)
{
	const struct route_tuple tuple = route_tuple_of(&rig->flows[index], false);

	return route_select(&rig->config.balance.hashing, rig->config.hash_seed, sw->node.id, &tuple, 2);
}

/* Flows from a and c of which a hash sends both by the same of two cables: the other one is idle, and says so. */
static void
an_idle_port_of_equal_cost_answers(void **state)
{
	const struct rec_port_row *row;
	struct frig rig;
	struct sw *s1;
	uint8_t path;

	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		frig_init(&rig, parallel);
		uint32_t victim = frig_flow(&rig, "a", "b", 3), other = frig_flow(&rig, "c", "b", 3);

		start(&rig);
		s1 = frig_switch(&rig, "S1");
		path = (uint8_t)(1 + hash_of(&rig, s1, victim));
		while (1 + hash_of(&rig, s1, other) != path) /* the table's flow, before any packet of it */
			rig.flows[other].sport++;
		frig_send(&rig, victim, 0, 1000, 100);
		if (shared)
			frig_send(&rig, other, 0, 1000, 100);
		send_poll(&rig, victim, 20 * US, 5, POLL_VICTIM);
		frig_run(&rig, 100 * US);
		assert_non_null(row_of(s1, 5, path));
		row = row_of(s1, 5, (uint16_t)(3 - path));
		assert_int_equal(row != NULL, shared);
		if (shared)
			assert_int_equal(row->packets, 0);
		frig_stop(&rig);
	}
}

/*
 * The victim's packets are sprayed: both cables answer and bring the polling packet on, which asks what has passed as
 * well; the host hears of it once.
 */
static void
all_ports_of_a_sprayed_victim_answer(void **state)
{
	static const enum balance_kind kinds[] = { BALANCE_RANDOM, BALANCE_ADAPTIVE };

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct frig rig;
		struct sw *s1, *s2;
		uint32_t victim, packets = 0;

		frig_init(&rig, parallel);
		rig.config.balance.ops = balance_kinds[kinds[k]];
		victim = frig_flow(&rig, "a", "b", 3);
		start(&rig);
		s1 = frig_switch(&rig, "S1");
		s2 = frig_switch(&rig, "S2");
		frig_send(&rig, victim, 0, 1000, 100);
		send_poll(&rig, victim, 20 * US, 5, POLL_VICTIM | POLL_ACKS);
		frig_run(&rig, 100 * US);
		for (uint16_t path = 1; path <= 2; path++) {
			const struct rec_passage *passage = frig_record(&s1->node, REC_PASSAGE, path - 1);

			assert_non_null(row_of(s1, 5, path));
			packets += row_of(s1, 5, path)->packets;
			expect_poll(s1, path - 1, 0, path, POLL_VICTIM | POLL_ACKS, false, false);
			assert_int_equal(passage->out_port, path);
			assert_int_equal(passage->in_frames, 100);
			assert_int_equal(passage->flow_packets, row_of(s1, 5, path)->packets);
			assert_int_equal(poll_of(s2, path - 1)->repeated, path == 2);
			assert_int_equal(poll_of(s2, path - 1)->ttl, PKT_TTL_INIT - 2);
		}
		assert_int_equal(packets, 100);
		assert_null(frig_record(&s1->node, REC_PASSAGE, 2));
		assert_int_equal(polls_at(frig_host(&rig, "b")), 1);
		assert_true(frig_conserves(&rig));
		frig_stop(&rig);
	}
}

/*
 * A polling packet right behind sprayed packets, of which the switch has not chosen all egresses yet: it has them all,
 * and those may wait.
 */
static void
sprayed_packets_that_just_arrived_are_counted(void **state)
{
	(void)state;
	for (int kind = 0; kind < BALANCE_COUNT; kind++) {
		const struct rec_passage *passage;
		uint64_t packets = 0, waiting = 0;
		struct frig rig;
		uint32_t victim;

		if (kind == BALANCE_ECMP)
			continue;
		frig_init(&rig, parallel);
		rig.config.balance.ops = balance_kinds[kind];
		victim = frig_flow(&rig, "a", "b", 3);
		start(&rig);
		frig_send(&rig, victim, 0, 1000, 10);
		send_poll(&rig, victim, 800000, 5, POLL_VICTIM | POLL_ACKS);
		frig_send(&rig, victim, 900000, 1000, 10);
		frig_run(&rig, 100 * US);
		for (uint32_t n = 0; (passage = frig_record(&frig_switch(&rig, "S1")->node, REC_PASSAGE, n)) != NULL; n++) {
			packets += passage->flow_packets;
			waiting += passage->waiting;
			assert_true(passage->waiting <= passage->flow_packets);
		}
		assert_int_equal(packets, 10);
		assert_in_range(waiting, 1, 10);
		frig_stop(&rig);
	}
}

/* The victim's cable is cut; its packets and polls take the other one, and the dead port reports its drops. */
static void
a_cut_port_of_equal_cost_answers(void **state)
{
	char text[sizeof(parallel) + 128];
	const struct rec_drop_row *drop;
	struct frig rig;
	struct sw *s1;

	(void)state;
	for (uint32_t cut = 0; cut < 2; cut++) {
		snprintf(text, sizeof(text),
			 "%sfaults = ( { kind = \"link-down\"; port = \"S1:%u\"; start = \"5us\"; duration = \"1us\"; } );",
			 parallel, 2 + cut);
		frig_init(&rig, text);
		uint32_t victim = frig_flow(&rig, "a", "b", 3);

		start(&rig);
		send_poll(&rig, victim, 20 * US, 5, POLL_VICTIM);
		frig_run(&rig, 100 * US);
		s1 = frig_switch(&rig, "S1");
		drop = frig_record(&s1->node, REC_DROP_ROW, 0);
		assert_non_null(drop);
		assert_int_equal(drop->port, 1 + cut);
		assert_int_equal(drop->reason, REC_DROP_LINK_DOWN);
		assert_int_equal(drop->packets, 0);
		assert_int_equal(drop->first_ps, 5 * US);
		assert_int_equal(drop->last_ps, 6 * US);
		assert_null(frig_record(&s1->node, REC_DROP_ROW, 1));
		frig_stop(&rig);
	}
}

UNIT_TEST(poll)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_victims_path_answers_hop_by_hop),
		cmocka_unit_test(the_acks_path_answers_too),
		cmocka_unit_test(a_flood_is_answered_and_one_answer_kept),
		cmocka_unit_test(a_window_has_room_for_so_many),
		cmocka_unit_test(all_ports_report_every_epoch),
		cmocka_unit_test(an_event_is_answered_once),
		cmocka_unit_test(polls_pass_a_paused_port),
		cmocka_unit_test(an_idle_port_of_equal_cost_answers),
		cmocka_unit_test(all_ports_of_a_sprayed_victim_answer),
		cmocka_unit_test(sprayed_packets_that_just_arrived_are_counted),
		cmocka_unit_test(a_cut_port_of_equal_cost_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Where packets were lost, by what had passed when polling packets came by, and by where these vanish. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/detection.h"
#include "common/wire/drop.h"
#include "common/wire/record.h"
#include "diag/vedrfolnir/section.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

#define FLOW "17->18/10000>10000"

/* Counts of 17->18 as its polling packet passes hosts and switches: from the run's beginning. */
struct counts {
	uint64_t sent, sw2, sw6, sw3; /* packets of the flow */
	uint64_t lost_2_6, lost_3_6;  /* frames: from switch 2 to 6, and of ACKs from 3 to 6 */
	uint32_t duplicates, out_of_sequence, most_missing;
	uint32_t waiting; /* at switch 2 */
	uint32_t resent;  /* packets, by the source */
	uint64_t from_17; /* frames that host 17's port sent; 0: many */
};

static void
put(struct records *r, uint32_t event, uint64_t at_ps, uint32_t node, struct rec_passage rec)
{
	rec.hdr.event = event;
	rec.flow = F17;
	RECORDS_PUT(r, rec, REC_PASSAGE, node, at_ps);
}

/* The packet goes 17, 2, 6, 3, 18 and returns the same way. */
static void
pass(struct records *r, uint32_t event, uint64_t at_ps, const struct counts *c)
{
	const uint64_t frames = 10000, us = PS_PER_US;

	put(r, event, at_ps, H17,
	    (struct rec_passage){
		    .in_port = REC_NO_PORT, .out_port = 0, .waiting = 60, .flow_packets = c->sent, .resent = c->resent });
	put(r, event, at_ps + us, SW2,
	    (struct rec_passage){ .in_port = 1,
				  .out_port = 2,
				  .waiting = c->waiting,
				  .in_frames = c->from_17 != 0 ? c->from_17 : frames,
				  .sent_frames = c->from_17 != 0 ? c->from_17 : frames,
				  .flow_packets = c->sw2 });
	put(r, event, at_ps + 2 * us, SW6,
	    (struct rec_passage){ .in_port = 0,
				  .out_port = 1,
				  .in_frames = frames,
				  .sent_frames = frames + c->lost_2_6,
				  .flow_packets = c->sw6 });
	put(r, event, at_ps + 3 * us, SW3,
	    (struct rec_passage){
		    .in_port = 2, .out_port = 0, .in_frames = frames, .sent_frames = frames, .flow_packets = c->sw3 });
	put(r, event, at_ps + 4 * us, H18,
	    (struct rec_passage){ .in_port = 0,
				  .out_port = REC_NO_PORT,
				  .in_frames = frames,
				  .sent_frames = frames,
				  .duplicates = c->duplicates,
				  .out_of_sequence = c->out_of_sequence,
				  .most_missing = c->most_missing });
	put(r, event, at_ps + 5 * us, SW3,
	    (struct rec_passage){ .in_port = 0, .out_port = 2, .in_frames = 9, .sent_frames = 9 });
	put(r, event, at_ps + 6 * us, SW6,
	    (struct rec_passage){ .in_port = 1, .out_port = 0, .in_frames = 9, .sent_frames = 9 + c->lost_3_6 });
}

/* Step 1 of 17->18 from 40 to 80 ms, which sent packets again, with these counts at 60 ms. */
static struct verdict *
diagnose(struct records *r, const struct counts *c)
{
	struct rec_step step = { .step = 1, WAITED_NONE, .start_ps = 40 * MS, .end_ps = 80 * MS, .retransmits = 40 };

	RECORDS_PUT(r, step, REC_STEP, H17, 80 * MS);
	if (c != NULL)
		pass(r, 9, 60 * MS, c);
	return case_conclude(r, REC_END_COMPLETE);
}

/* One finding, or none of a place (NULL), but of the flow. */
static void
expect(struct verdict *v, const struct finding_type *type, const char *root, const char *other_end)
{
	assert_int_equal(v->nfindings, 1);
	assert_non_null(case_find(v, type, root, NULL));
	if (other_end != NULL) {
		assert_int_equal(v->findings[0].nports, 2);
		assert_true(case_has_port(v, &v->findings[0], other_end));
	}
	verdict_destroy(v);
}

static void
expect_places(const struct counts *c, const struct finding_type *type, const char *root, const char *other_end)
{
	struct records r;

	case_fabric(&r);
	expect(diagnose(&r, c), type, root, other_end);
}

static void
test_a_link_that_loses_has_sent_more_than_arrived(void **state)
{
	const struct counts lossy = {
		.sent = 500, .sw2 = 500, .sw6 = 495, .sw3 = 495, .lost_2_6 = 5, .out_of_sequence = 70
	};
	struct records r;
	struct verdict *v;

	expect_places(&lossy, FINDING_PACKET_LOSS, "2:3", "6:1");
	case_fabric(&r);
	v = diagnose(&r, &lossy);
	assert_non_null(
		strstr(case_evidence(v, &v->findings[0]),
		       "2:3 sent 5 frames that never reached 6:1, the other end of its link; it sent 40 packets again"));
	verdict_destroy(v);
}

/* What was lost before the step is taken off; what others lost too, where the flow's own counts are complete. */
static void
test_what_others_lost_is_not_the_steps(void **state)
{
	const struct counts before = { .sent = 100, .sw2 = 100, .sw6 = 95, .sw3 = 95, .lost_2_6 = 5 };
	const struct counts after = { .sent = 500, .sw2 = 500, .sw6 = 495, .sw3 = 495, .lost_2_6 = 5 };
	const struct counts others = { .sent = 500, .sw2 = 500, .sw6 = 500, .sw3 = 500, .lost_2_6 = 5 };
	const struct counts in_flight = { .sent = 300, .sw2 = 300, .sw6 = 200, .sw3 = 200, .lost_2_6 = 5, .waiting = 100 };
	struct records r;

	case_fabric(&r);
	pass(&r, 8, 30 * MS, &before);
	expect(diagnose(&r, &after), FINDING_PACKET_LOSS, FLOW, NULL);
	expect_places(&others, FINDING_PACKET_LOSS, FLOW, NULL);
	/* in the middle of the step no switch can report it, at its end all can */
	case_fabric(&r);
	pass(&r, 8, 50 * MS, &in_flight);
	expect(diagnose(&r, &others), FINDING_PACKET_LOSS, FLOW, NULL);
}

/* What arrived by a whole link and was not let go is lost in the switch: in a row, or some of it. */
static void
test_a_switch_that_forwards_less_than_arrived(void **state)
{
	const struct counts hole = {
		.sent = 500, .sw2 = 500, .sw6 = 360, .sw3 = 360, .out_of_sequence = 70, .most_missing = 140
	};
	const struct counts all = { .sent = 500, .sw2 = 500, .sw6 = 460, .sw3 = 460 };
	const struct counts some = {
		.sent = 500, .sw2 = 500, .sw6 = 430, .sw3 = 430, .out_of_sequence = 70, .most_missing = 9
	};
	/* all that is missing, in a row: of 258 packets with 16 among them */
	const struct counts row = {
		.sent = 500, .sw2 = 500, .sw6 = 258, .sw3 = 258, .out_of_sequence = 16, .most_missing = 242
	};
	/* a half of 1,000, and 15 in a row once: that comes to be in one of 40 cases */
	const struct counts half = {
		.sent = 900, .sw2 = 900, .sw6 = 400, .sw3 = 400, .out_of_sequence = 500, .most_missing = 15
	};
	const struct counts few = { .sent = 500, .sw2 = 500, .sw6 = 495, .sw3 = 495 };

	expect_places(&hole, FINDING_BLACKHOLE, "6:1", "2:3");
	expect_places(&all, FINDING_BLACKHOLE, "6:1", "2:3");
	expect_places(&row, FINDING_BLACKHOLE, "6:1", "2:3");
	expect_places(&half, FINDING_PACKET_LOSS, "6:1", "2:3");
	expect_places(&some, FINDING_PACKET_LOSS, "6:1", "2:3");
	expect_places(&few, FINDING_PACKET_LOSS, "6:1", "2:3");
}

/* Packets that come to a switch of a loop and never leave it by their way go round, or stand: they have not vanished. */
static void
test_what_goes_round_is_not_swallowed(void **state)
{
	const struct counts hole = {
		.sent = 500, .sw2 = 500, .sw6 = 360, .sw3 = 360, .out_of_sequence = 70, .most_missing = 140
	};
	struct rec_poll there = { .hdr.event = 3, .victim = F17, .in_port = 1, .out_port = 2, .flags = 1, .ttl = 62 };
	struct rec_poll again = there;
	struct records r;

	again.in_port = 2;
	again.repeated = 1;
	again.ttl = 60;
	case_fabric(&r);
	RECORDS_PUT(&r, there, REC_POLL, SW2, 50 * MS);
	RECORDS_PUT(&r, again, REC_POLL, SW2, 51 * MS);
	expect(diagnose(&r, &hole), FINDING_FORWARDING_LOOP, "2:3", NULL);
}

/*
 * All that was sent left the last switch and arrived at its host's port, and its queue pair had none of what was sent
 * again; or fewer frames left a host's port than its queue pair sent: a NIC or host that stopped. Where other frames of
 * the host may be those that its switch received, no count shows which of the two lost them.
 */
static void
test_a_nic_that_stops(void **state)
{
	static const struct {
		struct counts counts;
		const char *root, *other_end, *states;
	} cases[] = {
		{ { .sent = 540, .sw2 = 540, .sw6 = 540, .sw3 = 540, .resent = 40 },
		  "18:1",
		  "3:1",
		  "40 of its packets, in a row, left by 3:1 and arrived at 18:1" },
		/* its host went on, and what arrived then showed the gap */
		{ { .sent = 540, .sw2 = 540, .sw6 = 540, .sw3 = 540, .out_of_sequence = 70, .most_missing = 30 },
		  "18:1",
		  "3:1",
		  "30 of its packets, in a row, left by 3:1 and arrived at 18:1" },
		{ { .sent = 540, .sw2 = 400, .sw6 = 400, .sw3 = 400, .from_17 = 410 },
		  "17:1",
		  "2:2",
		  "130 of its packets, in a row, never left the NIC 17:1" },
		{ { .sent = 540, .sw2 = 400, .sw6 = 400, .sw3 = 400 }, "2:2", "17:1", "no count shows which of the two" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		v = diagnose(&r, &cases[i].counts);
		assert_non_null(strstr(case_evidence(v, &v->findings[0]), cases[i].states));
		expect(v, FINDING_BLACKHOLE, cases[i].root, cases[i].other_end);
	}
	/* by chance, one here and one there; or not known to have arrived there */
	expect_places(
		&(struct counts){
			.sent = 540, .sw2 = 540, .sw6 = 540, .sw3 = 540, .out_of_sequence = 70, .most_missing = 9 },
		FINDING_PACKET_LOSS, FLOW, NULL);
	expect_places(
		&(struct counts){
			.sent = 540, .sw2 = 540, .sw6 = 540, .sw3 = 515, .out_of_sequence = 70, .most_missing = 30 },
		FINDING_BLACKHOLE, "3:3", NULL);
}

/*
 * Traceroutes of R-Pingmesh's agents by the flow's own tuple end at a switch by design: they are not swallowed, nor
 * lost where the flow is sprayed.
 */
static void
test_traceroutes_end_at_a_switch(void **state)
{
	const struct counts less = { .sent = 500, .sw2 = 500, .sw6 = 480, .sw3 = 480 };
	const struct rec_pingmesh mesh = {
		.time_factor_ppm = 1000, .timeout_ps = MS, .upload_ps = 5 * MS, .period_ps = 20 * MS, .pinglist_ps = MS
	};
	struct rec_ecmp set = { .set = 1, .sprayed = 1, .ports = { 1 << 1 | 1 << 2 } };
	struct rec_route by_set = { .flow = F17, .hop = 1, .port = 2, .ecmp = 1 };

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t traces = i % 2 * 20, sprayed = i / 2;
		struct rec_probe_hop hop = { .tuple = F17, .hop = 2, .at = SW6, .sent_ps = 42 * MS };
		struct rec_pingmesh pingmesh = mesh;
		struct rec_probe probed = { .tuple = F17 };
		struct rec_rnic rnic = { .ip = F17.src_ip, .tor = SW2 };
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		if (sprayed) {
			RECORDS_PUT(&r, set, REC_ECMP, SW2, 0);
			RECORDS_PUT(&r, by_set, REC_ROUTE, SW2, 1);
		}
		RECORDS_PUT(&r, pingmesh, REC_PINGMESH, REC_NONE, 0);
		RECORDS_PUT(&r, rnic, REC_RNIC, H17, 1);
		RECORDS_PUT(&r, probed, REC_PROBE, H17, 45 * MS);
		for (hop.trace = 0; hop.trace < traces; hop.trace++)
			RECORDS_PUT(&r, hop, REC_PROBE_HOP, H17, 45 * MS);
		v = diagnose(&r, &less);
		assert_int_equal(case_find(v, FINDING_BLACKHOLE, "6:1", NULL) != NULL, traces == 0 && !sprayed);
		assert_int_equal(case_find(v, FINDING_PACKET_LOSS, "6:1", NULL) != NULL, traces == 0 && sprayed);
		verdict_destroy(v);
	}
}

/* What may stand in the queue before need not be lost; of what came before the step, that much more may be. */
static void
test_what_may_wait_is_not_lost(void **state)
{
	struct counts c = { .sent = 500, .sw2 = 500, .sw6 = 440, .sw3 = 440, .waiting = 60 };
	const struct counts before = { .sent = 200, .sw2 = 200, .sw6 = 170, .sw3 = 170, .waiting = 30 };
	struct records r;

	expect_places(&c, FINDING_PACKET_LOSS, FLOW, NULL);
	c.sw6 = c.sw3 = 439;
	expect_places(&c, FINDING_PACKET_LOSS, "6:1", "2:3");
	for (uint32_t missing = 90; missing <= 91; missing++) {
		c.sw6 = c.sw3 = 500 - missing;
		case_fabric(&r);
		pass(&r, 8, 30 * MS, &before);
		expect(diagnose(&r, &c), FINDING_PACKET_LOSS, missing == 90 ? FLOW : "6:1", NULL);
	}
}

/* The way of the ACKs is to blame where the data's lost nothing, or where data came twice. */
static void
test_acks_are_lost_on_their_path(void **state)
{
	const struct counts acks = { .sent = 500, .sw2 = 500, .sw6 = 500, .sw3 = 500, .lost_3_6 = 2, .duplicates = 40 };
	struct counts both = {
		.sent = 500, .sw2 = 500, .sw6 = 495, .sw3 = 495, .lost_2_6 = 5, .lost_3_6 = 2, .duplicates = 40
	};
	struct records r;
	struct verdict *v;

	expect_places(&acks, FINDING_PACKET_LOSS, "3:3", "6:2");
	for (int twice = 1; twice >= 0; twice--) {
		both.duplicates = twice ? 40 : 0;
		case_fabric(&r);
		v = diagnose(&r, &both);
		assert_non_null(case_find(v, FINDING_PACKET_LOSS, "2:3", NULL));
		assert_true((case_find(v, FINDING_PACKET_LOSS, "3:3", NULL) != NULL) == twice);
		verdict_destroy(v);
	}
}

/*
 * Data that arrived twice in order was late, or its ACKs were late or lost: it is no loss of data, and ACKs may come
 * late.
 */
static void
test_what_arrived_twice_in_order_is_not_judged(void **state)
{
	const struct counts twice = { .sent = 540, .sw2 = 540, .sw6 = 540, .sw3 = 540, .duplicates = 40, .resent = 40 };
	const struct counts missed = {
		.sent = 540, .sw2 = 540, .sw6 = 540, .sw3 = 540, .duplicates = 40, .out_of_sequence = 3, .resent = 40
	};

	/* nor has a switch swallowed what it had not let go then */
	const struct counts less = { .sent = 540, .sw2 = 540, .sw6 = 440, .sw3 = 440, .duplicates = 40, .resent = 40 };
	const struct counts *const cases[] = { &twice, &less, &missed };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool lost = cases[i] == &missed;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		/* Its return to the source is no arrival, though the record at switch 2 before it was lost. */
		put(&r, 9, 60 * MS + 8 * PS_PER_US, H17, (struct rec_passage){ .in_port = 0, .out_port = REC_NO_PORT });
		v = diagnose(&r, cases[i]);
		assert_int_equal(v->nfindings, lost);
		assert_int_equal(case_find(v, FINDING_PACKET_LOSS, FLOW, NULL) != NULL, lost);
		assert_int_equal(vedrfolnir_of(v)->unjudged.resends, !lost);
		verdict_destroy(v);
	}
}

/*
 * Step 2 of 17->18 sent 40 packets again.
 * @param duplicates  that arrived; gap  of what the exporter left out, or NULL
 * @param waiting     that its polling packet may have overtaken
 * @param asked_ps    when another one left the last switch; 0: there is none
 * @param unreported  the switch of whose port no report was kept then
 * @return whether lost ACKs are named
 */
static bool
names_lost_acks_of(struct rec_step slow, uint32_t duplicates, const struct rec_gap *gap, uint32_t waiting,
		   uint64_t asked_ps, uint32_t unreported)
{
	static const uint32_t path[][2] = { { SW2, 2 }, { SW6, 1 }, { SW3, 0 } };
	const struct counts twice = {
		.sent = 540, .sw2 = 540, .sw6 = 540, .sw3 = 540, .duplicates = duplicates, .resent = 40, .waiting = waiting
	};
	struct rec_poll asked = { .hdr.event = 7, .victim = F17, .in_port = 2, .out_port = 0, .flags = 1 };
	struct rec_step before = { .step = 1, WAITED_NONE, .end_ps = 30 * MS };
	const struct finding *found;
	struct records r;
	struct verdict *v;

	slow.step = 2;
	slow.start_ps = 40 * MS;
	slow.end_ps = 80 * MS;
	slow.retransmits = 40;
	slow.timeout_ps = slow.early_ps == 0 ? 9 * MS : 0;
	slow.late_ps = slow.early_ps == 0 ? 0 : 9 * MS;
	slow.rtt_min_ps = slow.rtt_mean_ps;
	case_fabric(&r);
	RECORDS_PUT(&r, before, REC_STEP, H17, 30 * MS);
	RECORDS_PUT(&r, slow, REC_STEP, H17, 80 * MS);
	pass(&r, 1, 60 * MS, &twice);
	for (uint32_t h = 0; asked_ps != 0 && h < ARRAY_LEN(path); h++) {
		const uint32_t epoch = (uint32_t)(asked_ps / RECORDS_EPOCH_PS) - 1; /* the one that has ended then */
		struct rec_port_row row = records_port_row((uint16_t)path[h][1], epoch, epoch, 0, 0, 0);

		row.hdr.event = asked.hdr.event;
		if (path[h][0] != unreported)
			RECORDS_PUT(&r, row, REC_PORT_ROW, path[h][0], asked_ps);
	}
	if (asked_ps != 0)
		RECORDS_PUT(&r, asked, REC_POLL, SW3, asked_ps);
	if (gap != NULL) {
		struct rec_gap rec = *gap;

		RECORDS_PUT(&r, rec, REC_GAP, REC_NONE, 79 * MS);
	}
	v = case_conclude(&r, REC_END_COMPLETE);
	found = case_find(v, FINDING_PACKET_LOSS, FLOW, NULL);
	if ((duplicates == 40 || waiting != 0) && found != NULL) {
		assert_non_null(strstr(case_evidence(v, found), "ACKs were lost on their path"));
		assert_true(found->confidence < 0.9); /* one timer, or two, ended */
	}
	if (found == NULL)
		assert_int_equal(vedrfolnir_of(v)->unjudged.resends, 1);
	verdict_destroy(v);
	return found != NULL;
}

static bool
names_lost_acks(struct rec_step slow, uint32_t duplicates, const struct rec_gap *gap)
{
	return names_lost_acks_of(slow, duplicates, gap, 0, 0, REC_NONE);
}

/*
 * The same, with round trips that were measured: if none of them can have lasted as long as the timer, ACKs were lost, on
 * their path. A timer without room for round trips shows nothing, nor do round trips as long as it, nor one that may end
 * while the sender still sends what an ACK is for: of five ACKs four are for as many packets each.
 */
static void
test_acks_that_are_lost(void **state)
{
	static const struct {
		uint32_t waited_ns, duplicates;
		uint64_t rtt_ps;
		bool lost;
		uint32_t samples;
		uint64_t wire_ps;
	} cases[] = {
		{ 4000000, 40, 11 * PS_PER_US, true, 5, 0 },
		{ 4000000, 39, 11 * PS_PER_US, true, 5, 0 }, /* one of them is a gap */
		{ 30000, 40, 11 * PS_PER_US, false, 5, 0 },
		{ 4000000, 40, 2000 * PS_PER_US, false, 5, 0 },
		{ 4000000, 40, 0, false, 0, 0 },
		{ 4000000, 40, 11 * PS_PER_US, true, 5, 15 * MS },
		{ 4000000, 40, 11 * PS_PER_US, false, 5, 16 * MS },
		{ 4000000, 40, 11 * PS_PER_US, true, 2, 3 * MS }, /* the last one may be for one packet */
		{ 4000000, 40, 11 * PS_PER_US, false, 2, 4 * MS },
		{ 4000000, 40, 11 * PS_PER_US, false, 1, 4 * MS },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct rec_step slow = { WAITED_NONE, .waited_ns = cases[i].waited_ns, .wire_ps = cases[i].wire_ps,
					       .rtt_samples = cases[i].samples, .rtt_mean_ps = cases[i].rtt_ps };

		if (names_lost_acks(slow, cases[i].duplicates, NULL) != cases[i].lost)
			fail_msg("case %zu", i);
	}
}

/*
 * Whatever else held the sender back while it sent may all stand between two ACKs: congestion control, pauses, its NIC,
 * other queue pairs, a receiver that was not ready. A round trip on an idle path is added.
 */
static void
test_acks_that_what_holds_a_sender_back_delays(void **state)
{
	static const size_t entries[] = { offsetof(struct rec_step, paced_ps), offsetof(struct rec_step, paused_ps),
					  offsetof(struct rec_step, nic_ps), offsetof(struct rec_step, behind_ps),
					  offsetof(struct rec_step, peer_ps) };

	for (size_t i = 0; i < ARRAY_LEN(entries); i++)
		for (uint32_t late = 0; late < 2; late++) {
			struct rec_step slow = { WAITED_NONE, .waited_ns = 4000000, .rtt_samples = 5,
						 .rtt_mean_ps = 11 * PS_PER_US };
			uint64_t held_ps = 4 * MS - 5 * PS_PER_US - (1 - late) * 100 * PS_PER_US;

			memcpy((char *)&slow + entries[i], &held_ps, sizeof(held_ps));
			if (names_lost_acks(slow, 40, NULL) != (late == 0))
				fail_msg("entry %zu, %u", i, late);
		}
}

/*
 * A pause that begins behind a short round trip holds the next ACK back as suddenly as a loss does, and the sender has no
 * sample of it. It is found by the rows of ports: where some of the step's time are missing, nothing is known.
 */
static void
test_acks_are_not_lost_where_rows_are(void **state)
{
	static const struct {
		struct rec_gap gap;
		bool lost;
	} cases[] = {
		{ { .kind = REC_PORT_ROW, .dropped = 1, .dropped_bytes = 160, .from_ps = 50 * MS, .to_ps = 51 * MS },
		  false },
		{ { .kind = REC_PORT_ROW, .dropped = 1, .dropped_bytes = 160, .from_ps = 10 * MS, .to_ps = 11 * MS },
		  true },
		{ { .kind = REC_NOTIFY, .dropped = 1, .dropped_bytes = 48, .from_ps = 50 * MS, .to_ps = 51 * MS }, true },
	};
	const struct rec_step slow = { WAITED_NONE, .waited_ns = 4000000, .rtt_samples = 5, .rtt_mean_ps = 11 * PS_PER_US };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (names_lost_acks(slow, 40, &cases[i].gap) != cases[i].lost)
			fail_msg("case %zu", i);
}

/*
 * A polling packet may overtake the last of the second copies. Where the sender's ledger has all of them as early, ACKs of
 * all had returned before these can have caused them: the last one had arrived before, too.
 */
static void
test_acks_are_lost_though_a_copy_is_in_flight(void **state)
{
	static const struct {
		uint64_t early_ps;
		uint32_t duplicates, waiting;
		bool lost;
	} cases[] = {
		{ 11 * PS_PER_US, 39, 1, true },
		{ 0, 39, 1, false },
		{ 11 * PS_PER_US, 0, 40, false }, /* no count shows any */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct rec_step slow = { WAITED_NONE, .waited_ns = 4000000, .rtt_samples = 5,
					       .rtt_mean_ps = 11 * PS_PER_US, .early_ps = cases[i].early_ps };

		if (names_lost_acks_of(slow, cases[i].duplicates, NULL, cases[i].waiting, 0, REC_NONE) != cases[i].lost)
			fail_msg("case %zu", i);
	}
}

/* Where all ACKs of a step were lost, there is no round trip. A polling packet that passed its path meanwhile shows it. */
static void
test_all_acks_are_lost(void **state)
{
	const struct rec_step slow = { WAITED_NONE, .waited_ns = 4000000 };

	assert_false(names_lost_acks_of(slow, 40, NULL, 0, 0, REC_NONE));
	assert_false(names_lost_acks_of(slow, 40, NULL, 0, 75 * MS, REC_NONE)); /* before it began to wait */
	assert_false(names_lost_acks_of(slow, 40, NULL, 0, 77 * MS, SW6));
	assert_true(names_lost_acks_of(slow, 40, NULL, 0, 77 * MS, REC_NONE));
}

static const struct {
	uint32_t resent, twice, waiting, gap, resent_before, twice_before;
	bool asked, incomplete, lost;
	uint32_t naks;
	bool unreported; /* the step before */
} time_cases[] = {
	{ 70, 69, 0, 0, 30, 30, true, false, false, 0, true },
	{ 0, 0, 0, 0, 0, 0, false, false, true, 1, false },  /* a NAK reports a gap */
	{ 0, 0, 0, 0, 0, 0, false, false, false, 0, false }, /* no polling packet arrived */
	{ 40, 0, 0, 0, 0, 0, true, false, true, 0, false },
	{ 40, 40, 0, 0, 0, 0, true, false, false, 0, false },
	{ 40, 39, 0, 0, 0, 0, true, false, true, 0, false },
	{ 40, 39, 1, 0, 0, 0, true, false, false, 0, false },
	{ 40, 40, 0, 1, 0, 0, true, false, true, 0, false },
	{ 40, 0, 0, 0, 0, 0, true, true, false, 0, false },
	{ 70, 70, 0, 0, 30, 30, true, false, false, 0, false },
	{ 70, 69, 0, 0, 30, 30, true, false, true, 0, false },
	{ 70, 30, 0, 0, 30, 30, true, false, true, 0, false },
	{ 70, 40, 0, 0, 30, 0, true, false, false, 0, false },
};

/*
 * A sender that goes by time alone takes late packets for lost, however long it waited. They are lost where the
 * receiver saw a gap, or where more were sent again in the step than arrived twice or may wait on the path: neither
 * counts of the time before nor of a packet under way make a loss, nor does any count where rows are missing, or what
 * the flow sent again before.
 */
static void
test_time_alone_shows_no_loss(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(time_cases); i++) {
		struct rec_step before = { .step = 1,
					   WAITED_NONE,
					   .end_ps = 30 * MS,
					   .retransmits = time_cases[i].resent_before,
					   .waited_ns = 4000000 };
		struct rec_step step = before;
		struct rec_gap gap = {
			.kind = REC_PORT_ROW, .dropped = 1, .dropped_bytes = 160, .from_ps = 50 * MS, .to_ps = 51 * MS
		};
		const struct counts then = { .resent = time_cases[i].resent_before,
					     .duplicates = time_cases[i].twice_before };
		const struct counts now = { .resent = time_cases[i].resent,
					    .duplicates = time_cases[i].twice,
					    .out_of_sequence = time_cases[i].gap,
					    .waiting = time_cases[i].waiting };
		struct records r;
		struct verdict *v;

		step.step = 2;
		step.start_ps = 40 * MS;
		step.end_ps = 80 * MS;
		step.retransmits = 40;
		step.naks = time_cases[i].naks;
		case_fabric(&r);
		if (!time_cases[i].unreported)
			RECORDS_PUT(&r, before, REC_STEP, H17, 30 * MS);
		RECORDS_PUT(&r, step, REC_STEP, H17, 80 * MS);
		if (time_cases[i].asked) {
			pass(&r, 8, 29 * MS, &then);
			pass(&r, 9, 60 * MS, &now);
		}
		if (time_cases[i].incomplete)
			RECORDS_PUT(&r, gap, REC_GAP, REC_NONE, 51 * MS);
		v = case_conclude(&r, REC_END_COMPLETE);
		if ((case_find(v, FINDING_PACKET_LOSS, FLOW, NULL) != NULL ||
		     case_find(v, FINDING_BLACKHOLE, "18:1", NULL) != NULL) != time_cases[i].lost)
			fail_msg("case %zu: %s", i, case_reason(v));
		assert_int_equal(vedrfolnir_of(v)->unjudged.resends, !time_cases[i].lost);
		verdict_destroy(v);
	}
}

/*
 * Two NAKs made 17 send again, for 9 ms with the wait. Where as many packets arrived twice, both gaps were overtakings:
 * lost packets arrive once. After a timer, copies of others arrive twice too.
 */
static void
test_what_was_overtaken_arrives_twice(void **state)
{
	static const struct {
		uint32_t twice;
		uint64_t timeout_ps;
		bool overtaken;
	} cases[] = { { 2, 0, true }, { 9, 0, true }, { 1, 0, false }, { 0, 0, false }, { 9, MS, false } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_step step = { .step = 1,
					 WAITED_NONE,
					 .start_ps = 40 * MS,
					 .end_ps = 80 * MS,
					 .retransmits = 40,
					 .naks = 2,
					 .wire_ps = 30 * MS,
					 .nak_ps = 9 * MS,
					 .timeout_ps = cases[i].timeout_ps };
		const struct counts c = { .resent = 40, .duplicates = cases[i].twice, .out_of_sequence = 2 };
		const struct finding *found;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		RECORDS_PUT(&r, step, REC_STEP, H17, 80 * MS);
		pass(&r, 9, 60 * MS, &c);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(v->nfindings, 1);
		found = case_find(v, cases[i].overtaken ? FINDING_REORDERING : FINDING_PACKET_LOSS, FLOW, NULL);
		if (found == NULL)
			fail_msg("case %zu: %s", i, case_reason(v));
		if (cases[i].overtaken)
			assert_float_equal((float)(found->explained_ps / 1e9), 9.0f, 0.01f);
		assert_int_equal(vedrfolnir_of(v)->unjudged.resends, 0);
		verdict_destroy(v);
	}
}

/* What a switch lets not go, and counts for want of room in a queue, is lost there: it swallows nothing. */
static void
test_a_full_queue_is_no_blackhole(void **state)
{
	const struct counts less = { .sent = 540, .sw2 = 540, .sw6 = 540, .sw3 = 500 };

	for (int counted = 0; counted < 2; counted++) {
		struct rec_drop_row row = { .port = 1,
					    .reason = REC_DROP_QUEUE_FULL,
					    .packets = 40,
					    .first_ps = 41 * MS,
					    .last_ps = 79 * MS,
					    .last = records_tuple(H15, H16, 7) };
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		if (counted)
			RECORDS_PUT(&r, row, REC_DROP_ROW, SW6, 80 * MS);
		v = diagnose(&r, &less);
		/* no row of the port has its flows: that of the last packet that was dropped filled it */
		assert_int_equal(case_find(v, FINDING_TAIL_DROP, "6:2", "15->16/7>7") != NULL, counted);
		assert_null(case_find(v, FINDING_NO_PFC, "6:2", NULL)); /* of others' packets it says nothing */
		for (uint32_t i = 0; i < v->nfindings && counted; i++)
			assert_string_not_equal(v->findings[i].type->key, "blackhole");
		verdict_destroy(v);
	}
}

/* A polling packet leaves 2:3, and switch 6 may not see it. */
static void
poll(struct records *r, uint32_t event, uint64_t at_ps, bool arrives)
{
	struct rec_poll first = { .hdr.event = event, .victim = F17, .in_port = 1, .out_port = 2, .flags = 1 };
	struct rec_poll next = { .hdr.event = event, .victim = F17, .in_port = 0, .out_port = 1, .flags = 1 };
	struct rec_poll last = { .hdr.event = event, .victim = F17, .in_port = 2, .out_port = 0, .flags = 1 };

	RECORDS_PUT(r, first, REC_POLL, SW2, at_ps);
	if (!arrives)
		return;
	RECORDS_PUT(r, next, REC_POLL, SW6, at_ps + PS_PER_US);
	RECORDS_PUT(r, last, REC_POLL, SW3, at_ps + 2 * PS_PER_US);
}

/* One polling packet may be lost as any is; two in a row, or all of a step that never ends, are swallowed. */
static void
test_polling_packets_vanish(void **state)
{
	struct records r;
	struct rec_step open = { .step = 1, WAITED_NONE, .start_ps = 40 * MS, .open = 1, .retransmits = 40 };

	for (uint32_t vanish = 0; vanish <= 2; vanish++) {
		case_fabric(&r);
		for (uint32_t n = 0; n < vanish; n++)
			poll(&r, 1 + n, (45 + n) * MS, false);
		if (vanish == 0)
			poll(&r, 1, 45 * MS, true);
		expect(diagnose(&r, NULL), vanish == 2 ? FINDING_BLACKHOLE : FINDING_PACKET_LOSS,
		       vanish == 2   ? "6:1"
		       : vanish == 1 ? "2:3"
				     : FLOW,
		       vanish == 0   ? NULL
		       : vanish == 1 ? "6:1"
				     : "2:3");
	}
	case_fabric(&r);
	poll(&r, 1, 45 * MS, false);
	RECORDS_PUT(&r, open, REC_STEP, H17, 80 * MS);
	expect(case_conclude(&r, REC_END_STALL), FINDING_BLACKHOLE, "6:1", "2:3");
}

/* A step that sent again, and whose polling packets leave this port and are not seen again. */
static void
put_vanishing(struct records *r, uint32_t host, uint64_t start_ps, uint64_t end_ps, uint32_t node, uint16_t out_port)
{
	struct rec_step step = {
		.rank = r->rank_of[host], .step = 1, WAITED_NONE, .start_ps = start_ps, .end_ps = end_ps, .retransmits = 40
	};

	RECORDS_PUT(r, step, REC_STEP, host, end_ps);
	for (uint32_t n = 1; n <= 2; n++) {
		struct rec_poll poll = { .hdr.event = 10 * host + n,
					 .victim = host == H17 ? F17 : F15,
					 .in_port = 1,
					 .out_port = out_port,
					 .flags = 1 };

		RECORDS_PUT(r, poll, REC_POLL, node, start_ps + 5 * n * MS);
	}
}

/* A switch that swallows what enters by two ports is one cause, named by the port that shows most; at two times, two. */
static void
test_a_hole_that_two_ports_lead_to(void **state)
{
	static const uint32_t way15[][2] = { { H15, 0 }, { SW1, 2 }, { SW6, 0 }, { SW2, 0 } };
	static const struct {
		uint64_t end17_ps, from15_ps, end15_ps; /* 17's step begins at 40 ms */
		bool one;
		const char *root; /* of the longer */
	} cases[] = { { 80 * MS, 40 * MS, 75 * MS, true, "6:1" },
		      { 75 * MS, 40 * MS, 80 * MS, true, "6:3" },
		      { 80 * MS, 40 * MS, 80 * MS, true, "6:1" },
		      { 80 * MS, 0, 39 * MS, false, "6:1" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct finding *hole;
		uint32_t holes = 0;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_route(&r, F15, way15, 4);
		put_vanishing(&r, H17, 40 * MS, cases[i].end17_ps, SW2, 2);
		put_vanishing(&r, H15, cases[i].from15_ps, cases[i].end15_ps, SW1, 2);
		v = case_conclude(&r, REC_END_COMPLETE);
		hole = case_find(v, FINDING_BLACKHOLE, cases[i].root, NULL);
		for (uint32_t f = 0; f < v->nfindings; f++)
			holes += v->findings[f].type == FINDING_BLACKHOLE;
		if (hole == NULL || holes != (cases[i].one ? 1 : 2))
			fail_msg("case %zu: %s", i, case_reason(v));
		assert_int_equal(hole->nsteps, cases[i].one ? 2 : 1);
		verdict_destroy(v);
	}
}

/* What comes in damaged is dropped and counted, polling packets too: nobody swallowed them. */
static void
test_damage_takes_polling_packets_too(void **state)
{
	const struct rec_drop_row damage = {
		.last = F15, .port = 0, .reason = REC_DROP_CORRUPT, .packets = 9, .first_ps = 41 * MS, .last_ps = 49 * MS
	};
	const struct counts missing = { .sent = 500, .sw2 = 500, .sw6 = 460, .sw3 = 460 };
	struct rec_drop_row row = damage;
	struct records r;

	case_fabric(&r);
	RECORDS_PUT(&r, row, REC_DROP_ROW, SW6, 50 * MS);
	for (uint32_t n = 0; n < 2; n++)
		poll(&r, 1 + n, (45 + n) * MS, false);
	expect(diagnose(&r, &missing), FINDING_PACKET_LOSS, "6:1", "2:3");
}

/*
 * Where the link's counts are known, they decide: a link that lost frames loses polling packets too, a whole one loses
 * none.
 */
static void
test_what_the_link_lost_shows_who_swallows(void **state)
{
	const struct counts clean = { .sent = 500, .sw2 = 500, .sw6 = 500, .sw3 = 500 };
	const struct counts lossy = {
		.sent = 500, .sw2 = 500, .sw6 = 300, .sw3 = 300, .lost_2_6 = 200, .out_of_sequence = 200
	};
	struct records r;

	case_fabric(&r);
	poll(&r, 1, 45 * MS, false);
	expect(diagnose(&r, &clean), FINDING_BLACKHOLE, "6:1", "2:3");
	case_fabric(&r);
	for (uint32_t n = 0; n < 3; n++)
		poll(&r, 1 + n, (45 + n) * MS, false);
	expect(diagnose(&r, &lossy), FINDING_PACKET_LOSS, "2:3", "6:1");
}

/* Of a sprayed flow one polling packet that vanishes was lost, though its link's counts are whole; two in a row more. */
static void
test_one_sprayed_poll_is_lost(void **state)
{
	const struct counts clean = { .sent = 500, .sw2 = 500, .sw6 = 500, .sw3 = 500 };
	struct rec_ecmp set = { .set = 1, .sprayed = 1, .ports = { 1 << 1 | 1 << 2 } };
	struct rec_route hop = { .flow = F17, .hop = 1, .port = 2, .ecmp = 1 };

	for (uint32_t vanish = 1; vanish <= 2; vanish++) {
		struct records r;

		case_fabric(&r);
		RECORDS_PUT(&r, set, REC_ECMP, SW2, 0);
		RECORDS_PUT(&r, hop, REC_ROUTE, SW2, 1);
		for (uint32_t n = 0; n < vanish; n++)
			poll(&r, 1 + n, (45 + n) * MS, false);
		if (vanish == 1)
			expect(diagnose(&r, &clean), FINDING_PACKET_LOSS, "2:3", "6:1");
		else
			expect(diagnose(&r, &clean), FINDING_BLACKHOLE, "6:1", "2:3");
	}
}

/* Polls reach the host, which sends them back on the way of the ACKs: they leave 6:1, and switch 2 sees none. */
static void
test_silent_blackhole_on_the_acks_path(void **state)
{
	for (int seen = 0; seen < 2; seen++) {
		struct records r;

		case_fabric(&r);
		for (uint32_t event = 1; event <= 2; event++) {
			struct rec_poll last = {
				.hdr.event = event, .victim = F17, .in_port = 2, .out_port = 0, .flags = 9
			};
			struct rec_poll first = { .hdr.event = event, .victim = F17, .in_port = REC_NO_PORT, .flags = 17 };
			struct rec_poll second = {
				.hdr.event = event, .victim = F17, .in_port = 0, .out_port = 2, .flags = 17
			};
			struct rec_poll third = {
				.hdr.event = event, .victim = F17, .in_port = 1, .out_port = 0, .flags = 17
			};
			struct rec_poll fourth = {
				.hdr.event = event, .victim = F17, .in_port = 2, .out_port = 1, .flags = 17
			};
			uint64_t at_ps = (44 + event) * MS;

			RECORDS_PUT(&r, last, REC_POLL, SW3, at_ps);
			RECORDS_PUT(&r, first, REC_POLL, H18, at_ps);
			RECORDS_PUT(&r, second, REC_POLL, SW3, at_ps);
			RECORDS_PUT(&r, third, REC_POLL, SW6, at_ps);
			if (seen)
				RECORDS_PUT(&r, fourth, REC_POLL, SW2, at_ps);
		}
		expect(diagnose(&r, NULL), seen ? FINDING_PACKET_LOSS : FINDING_BLACKHOLE, seen ? FLOW : "2:3", NULL);
	}
}

UNIT_TEST(cause_passage)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_link_that_loses_has_sent_more_than_arrived),
		cmocka_unit_test(test_what_others_lost_is_not_the_steps),
		cmocka_unit_test(test_a_switch_that_forwards_less_than_arrived),
		cmocka_unit_test(test_what_goes_round_is_not_swallowed),
		cmocka_unit_test(test_one_sprayed_poll_is_lost),
		cmocka_unit_test(test_a_nic_that_stops),
		cmocka_unit_test(test_traceroutes_end_at_a_switch),
		cmocka_unit_test(test_what_may_wait_is_not_lost),
		cmocka_unit_test(test_acks_are_lost_on_their_path),
		cmocka_unit_test(test_what_arrived_twice_in_order_is_not_judged),
		cmocka_unit_test(test_what_was_overtaken_arrives_twice),
		cmocka_unit_test(test_acks_that_are_lost),
		cmocka_unit_test(test_acks_are_lost_though_a_copy_is_in_flight),
		cmocka_unit_test(test_all_acks_are_lost),
		cmocka_unit_test(test_acks_that_what_holds_a_sender_back_delays),
		cmocka_unit_test(test_acks_are_not_lost_where_rows_are),
		cmocka_unit_test(test_time_alone_shows_no_loss),
		cmocka_unit_test(test_a_full_queue_is_no_blackhole),
		cmocka_unit_test(test_polling_packets_vanish),
		cmocka_unit_test(test_a_hole_that_two_ports_lead_to),
		cmocka_unit_test(test_damage_takes_polling_packets_too),
		cmocka_unit_test(test_what_the_link_lost_shows_who_swallows),
		cmocka_unit_test(test_silent_blackhole_on_the_acks_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

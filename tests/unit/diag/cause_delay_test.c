/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A link that takes longer than it is configured to. 17->18 takes 80 ms instead of 30.75 ms, by 2:3, 6:2 and 3:1; its ACKs
 * come by 3:3, 6:1 and 2:2. 15->16 goes by 1:3, 6:1, 2:1; its ACKs by 2:3, 6:3, 1:2.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/wire/detection.h"
#include "common/wire/drop.h"
#include "common/wire/record.h"
#include "diag/vedrfolnir/section.h"
#include "tests/unit/diag/case.h"
#include "tests/unit/unit.h"

#define LAST 79 /* epoch */
#define PACKETS 250000

/* What is known of a step that runs from 0 to 80 ms, and of the ports behind its NIC. */
struct seen {
	uint64_t min_us, mean_us;          /* round trips */
	uint64_t depth;                    /* that each packet found at each of the ports that report */
	uint32_t ports, epochs;            /* that report; in this number of epochs, 0: one row for all of them */
	uint32_t sent_again;               /* packets */
	bool elsewhere, turned;            /* packets at a port that is not on the way; that left 6 by their ingress */
	uint64_t nic_paused_ps, paused_ps; /* of 2:3 */
	uint64_t early_depth, late_depth;  /* the first and last epoch's, where it is another */
	uint32_t classes;                  /* others that sent there too */
	uint64_t others;                   /* packets of other steps of the flow, for each of the step's */
	uint32_t per_ack;                  /* packets that an ACK speaks for; 0: one */
	bool unbounded;                    /* no window bounds what is in flight; else it is of 93 packets */
	uint64_t from_ps;                  /* the step begins */
	uint64_t reported_ps;              /* after an epoch began, when rows of its flow were reported; 0: at its end */
	uint64_t ack_bytes;                /* of ACKs that were served before packets that waited at 2:3 */
	uint16_t prio;                     /* the class that ports report */
};

typedef uint32_t hop_at[2];
static const hop_at back17[] = { { H18, 0 }, { SW3, 2 }, { SW6, 0 }, { SW2, 1 } };
static const hop_at way15[] = { { H15, 0 }, { SW1, 2 }, { SW6, 0 }, { SW2, 0 } };
static const hop_at back15[] = { { H16, 0 }, { SW2, 2 }, { SW6, 2 }, { SW1, 1 } };

static void
route_back(struct records *r, struct rec_tuple flow, const hop_at *hops)
{
	for (uint32_t h = 0; h < 4; h++) {
		struct rec_route rec = { .flow = flow, .hop = (uint16_t)h, .port = (uint16_t)hops[h][1], .reverse = 1 };

		RECORDS_PUT(r, rec, REC_ROUTE, hops[h][0], 0);
	}
}

/* Of 360 MB, in packets of the run's payload. */
static uint32_t
samples(const struct records *r, const struct seen *seen)
{
	const struct rec_run *run = (const void *)(r->data + sizeof(struct rec_stream));
	uint32_t packets = (uint32_t)((360000000 + run->payload_bytes - 1) / run->payload_bytes);

	return seen->mean_us == 0 ? 0 : seen->per_ack != 0 ? packets / seen->per_ack : packets;
}

static void
put_step(struct records *r, uint32_t host, uint64_t start_ps, uint64_t end_ps, const struct seen *seen)
{
	struct rec_step step = { .step = 1,
				 WAITED_NONE,
				 .rank = host == H15,
				 .bytes = 360000000,
				 .acked_bytes = 360000000,
				 .start_ps = start_ps,
				 .end_ps = end_ps,
				 .retransmits = seen->sent_again,
				 .rtt_min_ps = seen->min_us * PS_PER_US,
				 .rtt_mean_ps = seen->mean_us * PS_PER_US,
				 .rtt_samples = samples(r, seen) };

	RECORDS_PUT(r, step, REC_STEP, host, end_ps);
}

static uint64_t
depth_at(const struct seen *seen, uint32_t epoch, uint32_t epochs)
{
	if (epoch == 0 && seen->early_depth != 0)
		return seen->early_depth;
	return epoch + 1 == epochs && seen->late_depth != 0 ? seen->late_depth : seen->depth;
}

static void
put_port(struct records *r, struct rec_tuple flow, uint32_t node, uint16_t port, uint16_t in_port, const struct seen *seen)
{
	uint32_t rows = seen->epochs != 0 ? seen->epochs : 1, span = (LAST + 1) / rows;

	for (uint32_t i = 0; i < rows; i++) {
		uint64_t n = PACKETS / rows * (1 + seen->others), depth = depth_at(seen, i, rows);
		struct rec_port_row row =
			records_port_row(port, i * span, (i + 1) * span - 1, n, n * depth, (uint32_t)depth);
		struct rec_flow_row of_flow;

		row.prio = seen->prio;
		row.pause_ps = node == SW2 ? seen->paused_ps : 0;
		records_put_port(r, node, row);
		for (uint32_t c = 0; c < seen->classes; c++) {
			struct rec_port_row other =
				records_port_row(port, i * span, (i + 1) * span - 1, 1000, 1000 * depth, 1);

			other.prio = (uint16_t)(row.prio + 1 + c);
			records_put_port(r, node, other);
		}
		of_flow = records_flow_row(port, flow, i * span, (i + 1) * span - 1, n, n * depth);
		of_flow.in_port = in_port;
		RECORDS_PUT(r, of_flow, REC_FLOW_ROW, node,
			    seen->reported_ps != 0 ? i * span * MS + seen->reported_ps : row.to_ps);
	}
}

/* The ports of 17->18, of which it is reported as much as was seen. */
static void
put_way17(struct records *r, const struct seen *seen)
{
	static const struct {
		uint32_t node;
		uint16_t port, in_port;
	} hop[] = { { SW2, 2, 1 }, { SW6, 1, 0 }, { SW3, 0, 2 } };
	struct rec_port_row nic = records_port_row(0, 0, LAST, PACKETS, 0, 0);

	nic.pause_ps = seen->nic_paused_ps;
	records_put_port(r, H17, nic);
	records_put_flow(r, H17, records_flow_row(0, F17, 0, LAST, PACKETS, 0));
	for (uint32_t i = 0; i < seen->ports; i++)
		put_port(r, F17, hop[i].node, hop[i].port,
			 seen->turned && hop[i].node == SW6 ? hop[i].port : hop[i].in_port, seen);
	if (seen->elsewhere)
		put_port(r, F17, SW3, 1, 2, seen);
	if (seen->ack_bytes != 0) {
		struct rec_overtake_row acks = {
			.port = 2, .acks = 1, .epoch_last = LAST, .packets = seen->ack_bytes / 84, .bytes = seen->ack_bytes
		};

		RECORDS_PUT(r, acks, REC_OVERTAKE_ROW, SW2, 80 * MS);
	}
}

static void
set_window(struct records *r)
{
	struct rec_run *run = (void *)(r->data + sizeof(struct rec_stream));

	run->window_bytes = 93 * run->payload_bytes;
}

static struct verdict *
conclude(const struct seen *seen)
{
	struct records r;

	case_fabric(&r);
	if (!seen->unbounded)
		set_window(&r);
	put_step(&r, H17, seen->from_ps, 80 * MS, seen);
	put_way17(&r, seen);
	return case_conclude(&r, REC_END_COMPLETE);
}

/* 30 us where an idle path takes 10: the path is named, as nothing distinguishes its links, and has what that costs. */
static void
test_delay(void **state)
{
	struct verdict *v = conclude(&(struct seen){ .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3 });
	const struct finding *delay = case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL);

	assert_non_null(delay);
	assert_int_equal(v->nfindings, 1);
	assert_true(case_has_port(v, delay, "2:3") && case_has_port(v, delay, "6:2") && case_has_port(v, delay, "3:1"));
	assert_string_equal(v->run.flows[delay->victims[0]].name, "17->18/10000>10000");
	assert_true(delay->critical_ps == delay->explained_ps && delay->explained_ps > 0);
	assert_true(delay->explained_ps <= (double)(80 * MS - EXPECT));
	assert_false(delay->costless);
	assert_false(verdict_claim(v)->innocent);
	assert_non_null(strstr(case_evidence(v, delay),
			       "took 0.031 ms on average where an idle path takes 0.010, and the queues on its path do not "
			       "account for it; one of 2:3, 3:1, 6:2 and 17:1 is longer than configured"));
	verdict_destroy(v);
}

/*
 * No row has what went ahead of data where it was a small share of them: 210 us of so many. It may all have held up the one
 * packet whose round trip was measured; not every sixteenth.
 */
static void
test_a_small_share_goes_ahead_unreported(void **state)
{
	(void)state;
	for (uint32_t per_ack = 16; per_ack <= PACKETS; per_ack *= PACKETS / 16) {
		struct verdict *v = conclude(
			&(struct seen){ .min_us = 30, .mean_us = 31, .ports = 3, .per_ack = per_ack, .unbounded = true });

		assert_int_equal(case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL) != NULL, per_ack == 16);
		verdict_destroy(v);
	}
}

/*
 * A strict class goes ahead of the step's packets for as long as it sends, 40 ms. Rows of class 0 are of all without
 * PFC. In a queue too short for rows of what else goes ahead, ACKs do of as much data as the cable may have had the other
 * way, of which one packet may be the only one to wait; unless a row says that they were few.
 */
static void
test_strict_classes_are_served_first(void **state)
{
	static const struct {
		uint16_t prio; /* the step's; 0: all of its round trips were measured, else one */
		bool strict;
		uint64_t rtt_us, acks;
		bool found;
	} rows[] = {
		{ 0, false, 30, 0, true },    { 0, true, 30, 0, false },   { 3, true, 41510, 0, false },
		{ 3, true, 41510, 84, true }, { 3, true, 44010, 0, true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct seen seen = { .min_us = rows[i].rtt_us,
					   .mean_us = rows[i].rtt_us,
					   .ports = 3,
					   .prio = rows[i].prio,
					   .per_ack = rows[i].prio != 0 ? PACKETS : 1,
					   .unbounded = rows[i].prio != 0,
					   .ack_bytes = rows[i].acks };
		struct rec_port_row first = records_port_row(2, 0, LAST, 1000, 0, 0);
		struct rec_run *run;
		struct verdict *v;
		struct records r;

		case_fabric(&r);
		records_class(&r, rows[i].prio);
		if (!seen.unbounded)
			set_window(&r);
		run = (void *)(r.data + sizeof(struct rec_stream));
		run->strict_classes = (uint16_t)(rows[i].strict << 6);
		put_step(&r, H17, 0, 80 * MS, &seen);
		put_way17(&r, &seen);
		first.prio = rows[i].prio != 0 ? 6 : 0;
		first.bytes = 500000000;
		records_put_port(&r, SW2, first);
		v = case_conclude(&r, REC_END_COMPLETE);
		if ((case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL) != NULL) != rows[i].found)
			fail_msg("row %zu", i);
		verdict_destroy(v);
	}
}

static void
put_cc(struct records *r, const char *kind)
{
	struct rec_setting setting = { 0 };

	snprintf(setting.text, sizeof(setting.text), "host.cc=\"%s\"", kind);
	RECORDS_PUT(r, setting, REC_SETTING, REC_NONE, 0);
}

/*
 * Congestion control takes 20 us more for a queue, and holds the sender back for all that it loses: no packet waited behind
 * another's. It has not recovered in the next step, whose ledger has no late ACK. Marks of queues slow no sender for a
 * longer path: of congestion control that is known to go by these, the delay costs what ACKs were late.
 */
static void
test_delay_slows_the_sender(void **state)
{
	const struct seen seen = { .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3, .unbounded = true };
	struct rec_step step = { .step = 1,
				 WAITED_NONE,
				 .bytes = 360000000,
				 .acked_bytes = 360000000,
				 .end_ps = 80 * MS,
				 .rtt_min_ps = 30 * PS_PER_US,
				 .rtt_mean_ps = 31 * PS_PER_US,
				 .wire_ps = EXPECT,
				 .paced_ps = 80 * MS - EXPECT };
	static const struct {
		const char *kind; /* of congestion control; NULL: it is not announced */
		uint64_t late_ps;
		float ms;
		uint32_t steps;
	} rows[] = {
		{ NULL, 0, 98.5f, 2 },
		{ "swift", 0, 98.5f, 2 },
		{ "dcqcn", 3 * MS, 3, 1 },
		{ "none", 3 * MS, 3, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct rec_step next, first = step;
		const struct finding *delay;
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		if (rows[i].kind != NULL)
			put_cc(&r, rows[i].kind);
		first.rank = r.rank_of[H17];
		first.rtt_samples = samples(&r, &seen);
		first.late_ps = rows[i].late_ps;
		first.paced_ps -= rows[i].late_ps;
		RECORDS_PUT(&r, first, REC_STEP, H17, first.end_ps);
		put_way17(&r, &seen);
		next = step;
		next.rank = next.waited_rank = first.rank;
		next.step = 2;
		next.waited_step = 1;
		next.waited_collective = 0;
		next.rtt_min_ps = next.rtt_mean_ps = next.rtt_samples = 0;
		next.start_ps = step.end_ps;
		next.end_ps = step.end_ps + 80 * MS;
		RECORDS_PUT(&r, next, REC_STEP, H17, next.end_ps);
		v = case_conclude(&r, REC_END_COMPLETE);
		delay = case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL);
		assert_non_null(delay);
		assert_int_equal(v->nfindings, 1);
		assert_int_equal(delay->nsteps, rows[i].steps);
		for (uint32_t p = 0; p < delay->nports; p++) /* it is of one of several links: none is of both for sure */
			assert_true(delay->ports[p] < v->run.nports);
		assert_float_equal((float)(delay->explained_ps / 1e9), rows[i].ms, 0.1f);
		verdict_destroy(v);
	}
}

/* A detection in a step whose path is reported for its first half alone. */
struct trip {
	const char *cc;
	uint64_t rtt_us, at_ps;
	uint32_t cause, depth, sent_again, classes;
	uint32_t packets, first_epoch; /* in each epoch, 0: of a fortieth of the step; that is reported */
	uint64_t paused_ps;
	bool slow_cable, found;
};

/* @param hop  of 17->18 */
static void
put_trip_epoch(struct records *r, uint32_t hop, uint32_t epoch, const struct trip *trip)
{
	static const hop_at way17[] = { { H17, 0 }, { SW2, 2 }, { SW6, 1 }, { SW3, 0 } };
	static const uint16_t in_port[] = { 0, 1, 0, 2 };
	uint16_t port = (uint16_t)way17[hop][1];
	uint64_t packets = trip->packets != 0 ? trip->packets : PACKETS / 40, depths = packets * trip->depth;
	struct rec_port_row row = records_port_row(port, epoch, epoch, packets, depths, trip->depth);
	struct rec_port_row other = records_port_row(port, epoch, epoch, packets / 2, 0, 0);
	struct rec_flow_row of_flow = records_flow_row(port, F17, epoch, epoch, packets, depths);

	row.pause_ps = trip->paused_ps;
	other.prio = (uint16_t)(row.prio + 1);
	records_put_port(r, way17[hop][0], row);
	if (trip->classes != 0)
		records_put_port(r, way17[hop][0], other);
	of_flow.in_port = in_port[hop];
	records_put_flow(r, way17[hop][0], of_flow);
}

/*
 * Most of a step's packets left before or after a link was longer for a while, as congestion control by round trips then
 * sends next to none: the least round trip is of an idle path, and half of the time is not reported. One round trip that
 * its switches report is long enough. It is no evidence where queues, those of before too, other classes or pauses may have
 * made it so, where it is of a time without reports, or no round trip; nor of packets that were sent again, or of a slow
 * cable.
 */
static void
test_one_round_trip_shows_a_delay(void **state)
{
	static const struct trip trips[] = {
		{ "swift", 70, 20 * MS, REC_TRIGGER_RTT, .depth = 7, .found = true },
		{ "swift", 70, 40 * MS, REC_TRIGGER_RTT, .depth = 7, .found = true },
		{ "swift", 70, 40 * MS + 30 * PS_PER_US, REC_TRIGGER_RTT, .depth = 7,
		  .found = true }, /* it waited then at most */
		{ "swift", 70, 40 * MS + 60 * PS_PER_US, REC_TRIGGER_RTT, .depth = 7 },
		{ "swift", 12, 20 * MS, REC_TRIGGER_RTT, .depth = 7 },
		{ "swift", 70, 20 * MS, REC_TRIGGER_RTT, .depth = 700 },
		{ "swift", 70, 20 * MS, REC_TRIGGER_RTT, .depth = 700, .packets = 10 }, /* a queue of before */
		{ "swift", 500, 10 * MS + 900 * PS_PER_US, REC_TRIGGER_RTT, .depth = 7, .found = true },
		{ "swift", 500, 10 * MS + 900 * PS_PER_US, REC_TRIGGER_RTT, .depth = 7, .first_epoch = 10 },
		{ "swift", 70, 60 * MS, REC_TRIGGER_RTT, .depth = 7 },
		{ "swift", 70, 20 * MS, REC_TRIGGER_STALL, .depth = 7 },
		{ "swift", 70, 20 * MS, REC_TRIGGER_RTT, .depth = 7, .sent_again = 1 },
		{ "swift", 70, 20 * MS, REC_TRIGGER_RTT, .depth = 7, .classes = 1 },
		{ "swift", 70, 20 * MS, REC_TRIGGER_RTT, .depth = 7, .paused_ps = 60 * PS_PER_US },
		{ "swift", 70, 20 * MS, REC_TRIGGER_RTT, .depth = 7, .slow_cable = true },
		{ "dcqcn", 70, 20 * MS, REC_TRIGGER_RTT, .depth = 7, .found = true },
		{ "dcqcn", 70, 20 * MS, REC_TRIGGER_RTT, .depth = 700 },
		{ "dcqcn", 70, 20 * MS, REC_TRIGGER_RTT, .depth = 7, .classes = 1 },
		{ "none", 70, 20 * MS, REC_TRIGGER_RTT, .depth = 7, .paused_ps = 60 * PS_PER_US },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(trips); i++) {
		const struct trip *trip = &trips[i];
		const struct seen seen = { .min_us = 10, .mean_us = 20, .unbounded = true, .sent_again = trip->sent_again };
		struct rec_trigger trigger = {
			.flow = F17, .step = 1, .cause = trip->cause, .rtt_ps = trip->rtt_us * PS_PER_US, .threshold_ps = 20
		};
		struct rec_trigger before;
		struct rec_link_rate cable = { .port = 2, .rate_bps = 25000000000 };
		const struct finding *delay;
		struct verdict *v;
		struct records r;

		case_fabric(&r);
		put_cc(&r, trip->cc);
		put_step(&r, H17, 0, 80 * MS, &seen);
		trigger.rank = r.rank_of[H17];
		before = trigger;
		before.cause = REC_TRIGGER_STALL;
		RECORDS_PUT(&r, before, REC_TRIGGER, H17, trip->at_ps - 100 * PS_PER_US);
		RECORDS_PUT(&r, trigger, REC_TRIGGER, H17, trip->at_ps);
		for (uint32_t h = 0; h < 4; h++)
			for (uint32_t epoch = trip->first_epoch; epoch < 40; epoch++)
				put_trip_epoch(&r, h, epoch, trip);
		if (trip->slow_cable)
			RECORDS_PUT(&r, cable, REC_LINK_RATE, SW2, 0);
		v = case_conclude(&r, REC_END_COMPLETE);
		delay = case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL);
		if ((delay != NULL) != trip->found)
			fail_msg("row %zu", i);
		if (delay != NULL) /* one trip that agrees, of one of four steps */
			assert_float_equal((float)delay->confidence, (2 / 3.0f + 1 / 6.0f) * 5 / 8, 1e-3f);
		verdict_destroy(v);
	}
}

/* A port that the ACKs leave by dropped packets from a full queue: ACKs may wait there, unless that was later. */
static void
test_delay_beside_a_full_queue(void **state)
{
	const struct seen seen = { .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3 };

	(void)state;
	for (int later = 0; later < 2; later++) {
		struct rec_drop_row drop = { .last = F15,
					     .port = 0,
					     .reason = REC_DROP_QUEUE_FULL,
					     .packets = 10,
					     .first_ps = (later ? 81 : 1) * MS,
					     .last_ps = (later ? 82 : 2) * MS };
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		set_window(&r);
		route_back(&r, F17, back17);
		put_step(&r, H17, 0, 80 * MS, &seen);
		put_way17(&r, &seen);
		RECORDS_PUT(&r, drop, REC_DROP_ROW, SW6, 83 * MS);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL) != NULL, later);
		verdict_destroy(v);
	}
}

/* ACKs are of class 0, and behind others' data in it they may wait: a twentieth of a link's time is such a part. */
static void
test_delay_beside_lossy_data(void **state)
{
	const struct seen seen = { .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3, .prio = 3 };
	static const struct {
		uint16_t port; /* of 6 */
		uint64_t bytes;
		bool delay;
	} cases[] = { { 0, 51000000, false }, { 0, 49000000, true }, { 2, 51000000, true } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rec_port_row lossy = records_port_row(cases[i].port, 0, LAST, 1000, 0, 1);
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		records_class(&r, 3);
		set_window(&r);
		route_back(&r, F17, back17);
		put_step(&r, H17, 0, 80 * MS, &seen);
		put_way17(&r, &seen);
		lossy.bytes = cases[i].bytes; /* a GB is 80 ms of the link's time */
		records_put_port(&r, SW6, lossy);
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL) != NULL, cases[i].delay);
		verdict_destroy(v);
	}
}

/* A switch that has no route for some of the packets: they are late because they were sent again, and no link is. */
static void
test_delay_beside_a_hole(void **state)
{
	struct rec_drop_row drop = { .last = F17,
				     .port = 1,
				     .reason = REC_DROP_NO_ROUTE,
				     .packets = 250000,
				     .first_ps = 10 * MS,
				     .last_ps = 40 * MS };
	const struct seen seen = { .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3, .sent_again = 250000 };
	const struct finding *hole;
	struct records r;
	struct verdict *v;

	case_fabric(&r);
	set_window(&r);
	put_step(&r, H17, 0, 80 * MS, &seen);
	put_way17(&r, &seen);
	RECORDS_PUT(&r, drop, REC_DROP_ROW, SW6, 41 * MS);
	v = case_conclude(&r, REC_END_COMPLETE);
	hole = case_find(v, FINDING_BLACKHOLE, "6:2", NULL);
	assert_non_null(hole);
	assert_null(case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL));
	assert_true(hole->explained_ps > (double)(37 * MS)); /* 250,000 packets again, of 526,924 in 80 ms */
	verdict_destroy(v);
}

/* ACKs to 17 are late, and its NIC pauses 2:2, for 5 ms in all. */
static void
put_late_and_paused(struct records *r)
{
	const struct seen seen = { .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3 };
	struct rec_port_row row = records_port_row(1, 0, LAST, 1000, 0, 1);

	case_fabric(r);
	set_window(r);
	put_step(r, H17, 0, 80 * MS, &seen);
	put_way17(r, &seen);
	route_back(r, F17, back17);
	row.pause_ps = 5 * MS;
	records_put_port(r, SW2, row);
}

/* Whatever the NIC takes in waits, which no storm does. */
static void
test_delay_of_a_slow_nic(void **state)
{
	const struct finding *nic;
	struct records r;
	struct verdict *v;

	(void)state;
	put_late_and_paused(&r);
	v = case_conclude(&r, REC_END_COMPLETE);
	nic = case_find(v, FINDING_HOST_LIMITED, "17:1", NULL);
	assert_non_null(nic);
	assert_int_equal(v->nfindings, 1);
	assert_non_null(strstr(case_evidence(v, nic), "17:1 took in the ACKs of what it sent late"));
	assert_non_null(strstr(case_evidence(v, nic), "and paused 2:2 meanwhile"));
	verdict_destroy(v);
}

/* One pause, which lasts at a report, is no slow NIC's, whatever delays the ACKs to it. */
static void
test_delay_beside_a_storm(void **state)
{
	struct rec_port_row lasting = records_port_row(1, 0, LAST, 1000, 0, 1);
	struct records r;
	struct verdict *v;

	(void)state;
	put_late_and_paused(&r);
	lasting.state_only = true;
	lasting.paused = true;
	lasting.paused_since_ps = lasting.to_ps - 4 * MS;
	records_put_port(&r, SW2, lasting);
	v = case_conclude(&r, REC_END_COMPLETE);
	assert_null(case_find(v, FINDING_HOST_LIMITED, "17:1", NULL));
	assert_non_null(case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL));
	verdict_destroy(v);
}

/*
 * What is not needed: packets sent only once, a NIC that was never paused (round trips begin behind it), queues that were
 * always short, switches that stood still for no moment, a delay that was there all the time; a bound for packets in
 * flight, where ACKs that were served first overtook a short queue.
 */
static void
test_delay_beside_others(void **state)
{
	static const struct seen seen[] = {
		{ .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3, .sent_again = 1 },
		{ .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3, .nic_paused_ps = PS_PER_US },
		{ .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3, .paused_ps = 20 * MS },
		{ .min_us = 30, .mean_us = 90, .depth = 900, .ports = 3, .epochs = 80, .late_depth = 7 },
		{ .min_us = 10, .mean_us = 31, .depth = 7, .ports = 3 },
		{ .min_us = 30, .mean_us = 31, .depth = 32, .ports = 3 },
		{ .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3, .classes = 1 },
		{ .min_us = 30, .mean_us = 31, .ports = 3, .per_ack = 16 },
		{ .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3, .ack_bytes = 80000000, .unbounded = true },
	};

	for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
		struct verdict *v = conclude(&seen[i]);

		assert_non_null(case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL));
		verdict_destroy(v);
	}
}

/*
 * No delay: where queues were as deep as that (62 packets at each of three ports, of 108 ns, are 20 us); where a port
 * of the way is unknown; where no round trip was measured; where packets left their way; where it is too little; where
 * packets went round; where a switch was paused so long that each window met it; where another class was served in
 * turn; where most packets of the rows are of other steps of the flow, so that the step's may be those that met the
 * queues; where an ACK speaks for 16 packets, so that those whose round trips are known may be the ones that waited;
 * where nothing bounds the packets that a pause held up; where ACKs overtook a long queue; where all of an epoch with a
 * short queue may have been sent again.
 */
static void
test_no_delay(void **state)
{
	static const struct seen seen[] = {
		{ .min_us = 30, .mean_us = 30, .depth = 62, .ports = 3 },
		{ .min_us = 30, .mean_us = 30, .depth = 7, .ports = 2 },
		{ .depth = 7, .ports = 3 },
		{ .min_us = 30, .mean_us = 30, .depth = 7, .ports = 3, .elsewhere = true },
		{ .min_us = 11, .mean_us = 11, .depth = 7, .ports = 3 },
		{ .min_us = 30, .mean_us = 30, .depth = 7, .ports = 3, .turned = true },
		{ .min_us = 30, .mean_us = 30, .depth = 7, .ports = 3, .paused_ps = 60 * MS },
		{ .min_us = 30, .mean_us = 31, .depth = 32, .ports = 3, .classes = 1 },
		{ .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3, .others = 99 },
		{ .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3, .per_ack = 16 },
		{ .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3, .paused_ps = 20 * MS, .unbounded = true },
		{ .min_us = 30, .mean_us = 31, .depth = 50, .ports = 3, .ack_bytes = 800000000, .unbounded = true },
		{ .min_us = 30,
		  .mean_us = 90,
		  .depth = 900,
		  .ports = 3,
		  .epochs = 80,
		  .late_depth = 7,
		  .sent_again = 2 * PACKETS / 80 },
	};

	for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
		struct verdict *v = conclude(&seen[i]);

		if (case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL) != NULL)
			fail_msg("case %zu", i);
		verdict_destroy(v);
	}
}

static const struct seen always_late = { .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3 };

/* 17->18, delayed from 0 to 80 ms, beside 15->16 with its round trips. */
static void
put_both(struct records *r, const struct seen *delayed, const struct seen *other, uint64_t start_ps, uint64_t end_ps)
{
	case_fabric(r);
	set_window(r);
	route_back(r, F17, back17);
	records_route(r, F15, way15, 4);
	route_back(r, F15, back15);
	put_step(r, H17, 0, 80 * MS, delayed);
	put_step(r, H15, start_ps, end_ps, other);
	put_way17(r, delayed);
	for (uint32_t h = 1; h < 4; h++)
		put_port(r, F15, way15[h][0], (uint16_t)way15[h][1], h == 1 ? 1 : 2, delayed);
}

static struct verdict *
conclude_both(const struct seen *other, uint64_t start_ps, uint64_t end_ps)
{
	struct records r;

	put_both(&r, &always_late, other, start_ps, end_ps);
	return case_conclude(&r, REC_END_COMPLETE);
}

/* The same host's next step, with these round trips. */
static void
put_next(struct records *r, uint32_t host, uint64_t start_ps, uint64_t end_ps, const struct seen *seen)
{
	struct rec_step step = { .step = 2,
				 .rank = host == H15,
				 .waited_rank = host == H15,
				 .waited_step = 1,
				 .bytes = 360000000,
				 .acked_bytes = 360000000,
				 .start_ps = start_ps,
				 .end_ps = end_ps,
				 .rtt_min_ps = seen->min_us * PS_PER_US,
				 .rtt_mean_ps = seen->mean_us * PS_PER_US,
				 .rtt_samples = samples(r, seen) };

	RECORDS_PUT(r, step, REC_STEP, host, end_ps);
}

/*
 * What was reported of a flow before a step began is of other steps: these packets met a short queue, and the step's
 * may not have.
 */
static void
test_rows_from_before_a_step(void **state)
{
	for (uint32_t before = 0; before < 2; before++) {
		struct verdict *v = conclude(&(struct seen){ .min_us = 30,
							     .mean_us = 90,
							     .depth = 900,
							     .early_depth = 7,
							     .ports = 3,
							     .epochs = 80,
							     .from_ps = MS / 2,
							     .reported_ps = before ? MS / 4 : MS * 3 / 4 });

		assert_int_equal(case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL) == NULL, before);
		verdict_destroy(v);
	}
}

/*
 * The step begins within an epoch, of which 0.5 ms are its own and show a short queue; in all others queues explain its
 * round trips. Where these are a large part of 0.5 ms, the packets that one switch reports need not be another's.
 */
static void
test_packets_across_epochs(void **state)
{
	static const struct {
		uint64_t min_us, mean_us, depth;
		bool delay, unjudged;
	} cases[] = { { 230, 240, 900, true, false }, { 230, 260, 900, false, false }, { 600, 650, 2100, false, true } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct verdict *v = conclude(&(struct seen){ .min_us = cases[i].min_us,
							     .mean_us = cases[i].mean_us,
							     .depth = cases[i].depth,
							     .early_depth = 7,
							     .ports = 3,
							     .epochs = 80,
							     .from_ps = MS / 2 });

		assert_int_equal(case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL) != NULL, cases[i].delay);
		assert_int_equal(vedrfolnir_of(v)->unjudged.epochs, cases[i].unjudged);
		verdict_destroy(v);
	}
}

/* A step of one packet, from and to these times, with the round trip of its whole time. */
static void
put_packet_step(struct records *r, uint32_t number, uint64_t start_ps, uint64_t end_ps)
{
	struct rec_step step = { .step = (uint16_t)number,
				 WAITED_NONE,
				 .bytes = 360000000,
				 .acked_bytes = 360000000,
				 .start_ps = start_ps,
				 .end_ps = end_ps,
				 .rtt_min_ps = end_ps - start_ps,
				 .rtt_mean_ps = end_ps - start_ps,
				 .rtt_samples = 1 };

	RECORDS_PUT(r, step, REC_STEP, H17, end_ps);
}

/*
 * One packet a step, and a queue that lasts for longer than switches keep epochs: the only packet that rows have is that of
 * the step before. Nobody knows how long the step's own waited, which arrived in epochs that are not kept.
 */
static void
test_a_packet_that_no_row_has(void **state)
{
	static const hop_at path[] = { { SW2, 2 }, { SW6, 1 }, { SW3, 0 } };
	static const uint16_t in_ports[] = { 1, 0, 2 };

	for (uint32_t own = 0; own < 2; own++) {
		struct records r;
		struct verdict *v;

		case_fabric(&r);
		((struct rec_run *)(r.data + sizeof(struct rec_stream)))->payload_bytes = 360000000; /* of all steps */
		put_packet_step(&r, 1, 0, MS / 2);
		put_packet_step(&r, 2, MS / 2, 80 * MS);
		for (size_t h = 0; h < ARRAY_LEN(path); h++) {
			uint16_t port = (uint16_t)path[h][1];
			struct rec_flow_row row = records_flow_row(port, F17, 0, 0, 1 + own, 100);

			for (uint32_t epoch = 0; epoch <= LAST; epoch += epoch == 0 ? LAST / 2 : 1)
				records_put_port(&r, path[h][0], records_port_row(port, epoch, epoch, 100, 100, 100));
			row.in_port = in_ports[h];
			records_put_flow(&r, path[h][0], row);
		}
		v = case_conclude(&r, REC_END_COMPLETE);
		assert_int_equal(case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL) != NULL, own);
		verdict_destroy(v);
	}
}

/* Both are delayed: they have the cable between 2 and 6 in common, one's data and the other's ACKs in each direction. */
static void
test_what_all_have_in_common(void **state)
{
	struct verdict *v = conclude_both(&(struct seen){ .min_us = 32, .mean_us = 33 }, 0, 80 * MS);
	const struct finding *delay = case_find(v, FINDING_PATH_DELAY, "2:3", NULL);

	assert_non_null(delay);
	assert_int_equal(v->nfindings, 1);
	assert_int_equal(delay->nvictims, 2);
	assert_int_equal(delay->nports, 2);
	assert_true(case_has_port(v, delay, "2:3") && case_has_port(v, delay, "6:1"));
	assert_non_null(strstr(case_evidence(v, delay), "2:3 is the only one that no packet crossed in time"));
	verdict_destroy(v);
}

/*
 * That cable was late for a part of 17->18's next step, too: not for all of its packets, but their mean is longer, and
 * switches report its queues.
 */
static void
test_the_step_after_was_late_in_part(void **state)
{
	static const hop_at way17[] = { { SW2, 2 }, { SW6, 1 }, { SW3, 0 } };
	static const struct {
		uint64_t mean_us;
		bool reported;
		uint32_t steps;
	} cases[] = { { 20, true, 3 }, { 10, true, 2 }, { 20, false, 2 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct finding *delay;
		struct records r;
		struct verdict *v;

		put_both(&r, &always_late, &(struct seen){ .min_us = 32, .mean_us = 33 }, 0, 80 * MS);
		put_next(&r, H17, 80 * MS, 120 * MS, &(struct seen){ .min_us = 10, .mean_us = cases[i].mean_us });
		for (size_t h = 0; h < ARRAY_LEN(way17) && cases[i].reported; h++) {
			uint16_t port = (uint16_t)way17[h][1];

			records_put_port(&r, way17[h][0], records_port_row(port, 80, 119, PACKETS, PACKETS, 1));
			case_flow(&r, way17[h][0], port,
				  (uint16_t)(h == 0   ? 1
					     : h == 1 ? 0
						      : 2),
				  F17, 80, 119, PACKETS, PACKETS);
		}
		records_end(&r, REC_END_COMPLETE, 120 * MS);
		v = case_diagnose(&r);
		records_fini(&r);
		delay = case_find(v, FINDING_PATH_DELAY, "2:3", NULL);
		assert_non_null(delay);
		assert_int_equal(delay->nsteps, cases[i].steps);
		verdict_destroy(v);
	}
}

/*
 * A step some of whose packets were in time: nobody knows when the others were not. Others in time clear what they crossed
 * if they did for most of its time, one after the other.
 */
static void
test_who_was_in_time_most_of_the_time_clears_links(void **state)
{
	static const struct seen at_times = { .min_us = 10, .mean_us = 31, .depth = 7, .ports = 3 };
	static const struct seen in_time = { .min_us = 10, .mean_us = 11 };

	for (uint32_t second = 0; second < 2; second++) {
		const struct finding *delay;
		struct records r;
		struct verdict *v;

		put_both(&r, &at_times, &in_time, 0, 45 * MS);
		if (second)
			put_next(&r, H15, 45 * MS, 79 * MS, &in_time);
		v = case_conclude(&r, REC_END_COMPLETE);
		delay = case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL);
		assert_non_null(delay);
		assert_int_equal(case_has_port(v, delay, "2:3"), !second);
		assert_int_equal(delay->nports, second ? 6 : 8);
		verdict_destroy(v);
	}
}

/* The other one is in time: what it crossed meanwhile is not at fault; what it crossed before and after may be. */
static void
test_who_was_in_time_clears_links(void **state)
{
	static const struct seen in_time = { .min_us = 10, .mean_us = 11 };
	struct verdict *v = conclude_both(&in_time, 10 * MS, 45 * MS);
	const struct finding *delay = case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL);

	assert_non_null(delay);
	assert_int_equal(delay->nports, 6);
	assert_false(case_has_port(v, delay, "2:3") || case_has_port(v, delay, "6:1"));
	verdict_destroy(v);
	v = conclude_both(&in_time, 80 * MS, 80 * MS);
	delay = case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL);
	assert_non_null(delay);
	assert_int_equal(delay->nports, 8);
	verdict_destroy(v);
}

/* 1->2 over one switch: either link may be at fault, and both are links of that switch. */
static void
test_all_links_left_are_of_a_switch(void **state)
{
	static const uint32_t path[][2] = { { 1, 0 }, { 0, 1 } };
	static const struct seen delayed = { .min_us = 30, .mean_us = 31, .depth = 7 };
	const struct rec_tuple flow = records_tuple(1, 2, 10000);
	const struct finding *delay;
	struct records r;
	struct verdict *v;

	records_init(&r);
	records_run(&r);
	set_window(&r);
	records_node(&r, 0, "s", false, 2);
	records_node(&r, 1, "1", true, 1);
	records_node(&r, 2, "2", true, 1);
	records_link(&r, 0, 0, false, 1, 0, true);
	records_link(&r, 0, 1, false, 2, 0, true);
	records_collective(&r, 1, 1);
	records_schedule(&r, 0, 1, 1, 2, REC_NONE, EXPECT);
	records_route(&r, flow, path, 2);
	put_step(&r, 1, 0, 80 * MS, &delayed);
	records_put_port(&r, 1, records_port_row(0, 0, LAST, PACKETS, 0, 0));
	records_put_flow(&r, 1, records_flow_row(0, flow, 0, LAST, PACKETS, 0));
	put_port(&r, flow, 0, 1, 0, &delayed);
	v = case_conclude(&r, REC_END_COMPLETE);
	delay = case_find(v, FINDING_PATH_DELAY, "1->2/10000>10000", NULL);
	if (delay == NULL)
		fail_msg("%s", case_reason(v));
	assert_non_null(strstr(case_evidence(v, delay), "; one of s:2 and 1:1 is longer than configured"));
	v->findings[delay - v->findings].evidence.count = 12; /* as of many links: those here are not all of them */
	assert_non_null(strstr(case_evidence(v, delay), "; one of 12 links of s is longer than configured"));
	verdict_destroy(v);
}

/*
 * When the next rank began, the message was there: the last ACK returned in time (then the way there is longer), or
 * did not.
 */
static void
test_the_last_ack_distinguishes_directions(void **state)
{
	static const struct seen delayed = { .min_us = 30, .mean_us = 31, .depth = 7, .ports = 3 };

	for (uint64_t back_us = 5; back_us <= 25; back_us += 20) {
		struct records r;
		struct verdict *v;
		const struct finding *delay;

		case_fabric(&r);
		route_back(&r, F17, back17);
		put_step(&r, H17, 0, 80 * MS, &delayed);
		records_step(&r, 2, H15, H17, 80 * MS - back_us * PS_PER_US, 80 * MS);
		put_way17(&r, &delayed);
		v = case_conclude(&r, REC_END_COMPLETE);
		delay = case_find(v, FINDING_PATH_DELAY, "17->18/10000>10000", NULL);
		assert_non_null(delay);
		assert_int_equal(delay->nports, 4);
		assert_true(case_has_port(v, delay, "6:2") == (back_us == 5));
		assert_true(case_has_port(v, delay, "3:3") == (back_us == 25));
		verdict_destroy(v);
	}
}

UNIT_TEST(cause_delay)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_delay),
		cmocka_unit_test(test_a_small_share_goes_ahead_unreported),
		cmocka_unit_test(test_strict_classes_are_served_first),
		cmocka_unit_test(test_delay_slows_the_sender),
		cmocka_unit_test(test_one_round_trip_shows_a_delay),
		cmocka_unit_test(test_delay_beside_a_full_queue),
		cmocka_unit_test(test_delay_beside_lossy_data),
		cmocka_unit_test(test_delay_beside_a_hole),
		cmocka_unit_test(test_delay_of_a_slow_nic),
		cmocka_unit_test(test_delay_beside_a_storm),
		cmocka_unit_test(test_delay_beside_others),
		cmocka_unit_test(test_no_delay),
		cmocka_unit_test(test_rows_from_before_a_step),
		cmocka_unit_test(test_packets_across_epochs),
		cmocka_unit_test(test_a_packet_that_no_row_has),
		cmocka_unit_test(test_what_all_have_in_common),
		cmocka_unit_test(test_the_step_after_was_late_in_part),
		cmocka_unit_test(test_who_was_in_time_most_of_the_time_clears_links),
		cmocka_unit_test(test_who_was_in_time_clears_links),
		cmocka_unit_test(test_all_links_left_are_of_a_switch),
		cmocka_unit_test(test_the_last_ack_distinguishes_directions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

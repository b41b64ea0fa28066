/* SPDX-License-Identifier: BSD-3-Clause */
/* What a switch writes into packets that carry telemetry, and into which. */
#include "common/int_header.h"
#include "tests/unit/dpswitch/switch_rig.h"
#include "tests/unit/unit.h"

static const struct int_rates rates = { .bps = { 100000000000ULL, 10000000000ULL }, .count = 2 };

static void
start_inband(struct frig *rig)
{
	rig->config.inband = &rates;
	rig->fabric_config.inband = true;
	start(rig);
}

static void
send_int(struct frig *rig, uint32_t flow, uint8_t type, uint32_t count)
{
	struct pkt p = {
		.flow = flow,
		.wire_bytes = 1000,
		.type = type,
		.prio = rig->flows[flow].prio,
		.flags = PKT_INT,
		.ttl = PKT_TTL_INIT,
	};

	for (p.psn = 0; p.psn < count; p.psn++)
		frig_send_pkt(rig, 0, &p);
}

/*
 * Four frames through the narrow port. The first leaves as it comes, at 1080 ns, the others 800 ns after each other; 1000 B
 * behind a frame are 12 units of 80 B, 2000 are 25; 1000 B sent are 7 units of 128 B, 2000 are 15, 3000 are 23.
 */
static void
data_gets_time_rate_bytes_sent_and_queue(void **state)
{
	const uint32_t tx_units[] = { 0, 7, 15, 23 }, queue_bytes[] = { 0, 25 * 80, 12 * 80, 0 };
	struct frig_host *b;
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	uint32_t flow = frig_flow(&rig, "a", "b", 3);
	start_inband(&rig);
	send_int(&rig, flow, PKT_DATA, 4);
	frig_run(&rig, 100 * PS_PER_US);
	b = frig_host(&rig, "b");
	assert_int_equal(b->ngot, 4);
	for (uint32_t j = 0; j < 4; j++) {
		const struct int_header *header = &b->ints[j];
		struct int_hop hop = int_unpack(header->hops[0]);

		assert_int_equal(header->count, 1);
		assert_int_equal(header->path, frig_switch(&rig, "S")->node.id);
		assert_int_equal(hop.rate, 1);
		assert_int_equal(hop.time_ns, FIRST_NS + j * SLOW_NS);
		assert_int_equal(hop.tx_units, tx_units[j]);
		assert_int_equal(hop.queue_bytes, queue_bytes[j]);
	}
	frig_stop(&rig);
}

/* A frame of another flow, without telemetry, from c at the same time: it is counted, and queued before a's second. */
static void
frames_without_telemetry_are_counted_too(void **state)
{
	struct frig_host *b;
	struct frig rig;
	uint32_t last = 0;

	(void)state;
	frig_init(&rig, narrow);
	uint32_t a = frig_flow(&rig, "a", "b", 3), c = frig_flow(&rig, "c", "b", 3);
	start_inband(&rig);
	send_int(&rig, a, PKT_DATA, 2);
	frig_send(&rig, c, 0, 1000, 1);
	frig_run(&rig, 100 * PS_PER_US);
	b = frig_host(&rig, "b");
	assert_int_equal(b->ngot, 3);
	for (uint32_t j = 0; j < 3; j++)
		if (b->got[j].flags & PKT_INT)
			last = j;
	assert_int_equal(last, 2);
	assert_int_equal(int_unpack(b->ints[2].hops[0]).tx_units, 15);
	assert_int_equal(int_unpack(b->ints[2].hops[0]).time_ns, FIRST_NS + 2 * SLOW_NS);
	assert_int_equal(b->got[1].flags & PKT_INT, 0);
	frig_stop(&rig);
}

/* 1000 B at 100 Gbps are 80 ns; 250 ns hold three frames and the one under way. */
static const struct link_config cable = {
	.rate_bps = 100000000000ULL,
	.delay_ps = 25 * PS_PER_US,
	.window_ps = 250 * NS,
	.min_frame_bytes = 1000,
	.pause_bytes = 84,
	.inband = true,
};

/* The header of frame psn names it. @param stretched  as a fault on the delay has it: frames are taken in one by one */
static void
expect_headers(bool stretched)
{
	struct link link;
	struct pkt *pkts;

	assert_int_equal(link_init(&link, &cable), 0);
	link.stretched = stretched;
	link.extra_ps = stretched ? 1 : 0;
	for (uint32_t window = 0; window < 100; window++) {
		link_receive(&link, window & 1);
		for (uint32_t i = 0; i < 3; i++) {
			const struct pkt p = { .psn = 3 * window + i, .wire_bytes = 1000, .flags = i < 2 ? PKT_INT : 0 };
			const struct int_header header = { .hops = { p.psn }, .count = 1 };
			uint64_t done_ps = window * cable.window_ps + (i + 1) * 80 * NS;

			if (p.flags & PKT_INT)
				link_send_int(&link, window & 1, &p, &header, done_ps);
			else
				link_send(&link, window & 1, &p, done_ps);
		}
	}
	link_consume(&link, 40, 0); /* what is left moves, and the array has grown on the way */
	link_receive(&link, 0);
	assert_int_equal(link_arrivals(&link, TIME_NEVER, &pkts), 260);
	for (uint32_t i = 0; i < 260; i++)
		if (pkts[i].flags & PKT_INT)
			assert_int_equal(link_int(&link, &pkts[i])->hops[0], pkts[i].psn);
	link_fini(&link);
}

static void
headers_stay_beside_their_frames(void **state)
{
	(void)state;
	expect_headers(false);
	expect_headers(true);
}

/* What an ACK brings back is of the data's way. */
static void
acks_pass_as_they_are(void **state)
{
	struct frig_host *b;
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	uint32_t flow = frig_flow(&rig, "a", "b", 0);
	start_inband(&rig);
	send_int(&rig, flow, PKT_ACK, 3);
	frig_run(&rig, 100 * PS_PER_US);
	b = frig_host(&rig, "b");
	assert_int_equal(b->ngot, 3);
	for (uint32_t j = 0; j < 3; j++) {
		assert_true(b->got[j].flags & PKT_INT);
		assert_int_equal(b->ints[j].count, 0);
	}
	frig_stop(&rig);
}

UNIT_TEST(inband)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_gets_time_rate_bytes_sent_and_queue),
		cmocka_unit_test(frames_without_telemetry_are_counted_too),
		cmocka_unit_test(headers_stay_beside_their_frames),
		cmocka_unit_test(acks_pass_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ideal and expected times by hand, on a star of 100 Gbps links. A full frame is 1348 B with 1300 B of payload: 107.84
 * ns, or 107 in whole nanoseconds; an ACK is 60 B: 4.8 ns, or 4.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "common/units.h"
#include "tests/unit/rxe-hosts/star.h"
#include "tests/unit/unit.h"
#include "workload/plan.h"

#define HOSTS 4

static struct star star;
static struct expect_port ports[2 * HOSTS];
static struct expect_frames frames = {
	.payload_bytes = 1300,
	.frame_bytes = 1348,
	.ack_bytes = 60,
	.frames_per_ack = 1,
	.quantum_ps = PS_PER_NS,
};

static int
setup(void **state)
{
	star_init(&star, HOSTS);
	frames.quantum_ps = PS_PER_NS;
	frames.frames_per_ack = 1;
	frames.window_bytes = 0;
	return 0;
}

/* From host a to host b. */
static struct route_path
path(uint32_t a, uint32_t b)
{
	return (struct route_path){ .ports = { a, HOSTS + b }, .hops = 2 };
}

static void
frames_and_bytes(void **state)
{
	assert_int_equal(expect_data_frames(&frames, 360000000), 276924);
	assert_int_equal(expect_wire_bytes(&frames, 360000000), 373292352);
	assert_int_equal(expect_data_frames(&frames, 1300), 1);
	assert_int_equal(expect_data_frames(&frames, 1301), 2);
	assert_int_equal(expect_wire_bytes(&frames, 1301), 1397);
}

/* A published step: 29,871,596 ns for 360 MB over two hops with a base RTT of 8.208 us. */
static void
ideal_is_exact(void **state)
{
	struct route_path p = path(0, 1);

	assert_int_equal(expect_ideal_ps(&star.topo, &frames, &p, 360000000, 8208 * PS_PER_NS), 29871596 * PS_PER_NS + 160);
}

static void
ideal_takes_the_slowest_link(void **state)
{
	struct route_path p = path(0, 1);

	star.ports[HOSTS + 1].rate_bps = 25000000000ull;
	/* one frame of 1348 B at 25 Gbps: 431.36 ns */
	assert_int_equal(expect_ideal_ps(&star.topo, &frames, &p, 1300, 1000), 431360 + 1000);
}

/*
 * A message from post to last ACK, by hand. 100 B are a frame of 148 B: 11 ns on each of two links, 2 us of delay behind
 * each, an ACK of 4 ns on each of the two back: 8030 ns. 2600 B are a frame of 107 ns behind another.
 */
static void
fct_of_a_message(void **state)
{
	struct route_path p = path(0, 1), back = path(1, 0);

	assert_int_equal(expect_fct_ps(&star.topo, &frames, &p, &back, 100, 0), 8030 * PS_PER_NS);
	assert_int_equal(expect_fct_ps(&star.topo, &frames, &p, &back, 2600, 0), (8222 + 107) * PS_PER_NS);
	assert_int_equal(expect_fct_ps(&star.topo, &frames, &p, &back, 2600, 600 * PS_PER_NS),
			 (8222 + 107 + 2400) * PS_PER_NS);
	star.ports[HOSTS + 1].rate_bps = 25000000000ull; /* 431 ns a frame, 324 ns more; ACKs pass elsewhere */
	assert_int_equal(expect_fct_ps(&star.topo, &frames, &p, &back, 2600, 0), (8222 + 324 + 431) * PS_PER_NS);
}

/*
 * 10 packets in a window of 4, 8222 ns a round trip: two whole windows, then two frames. One packet more, and it is three
 * frames of the third; a window that holds all of them, or packets that take longer than a round trip, is no bound.
 */
static void
windows_are_round_trips(void **state)
{
	const uint64_t frame_ps = 107 * PS_PER_NS, rtt_ps = 8222 * PS_PER_NS;

	assert_int_equal(expect_windows_ps(&frames, 13000, frame_ps, rtt_ps), 0);
	frames.window_bytes = 3 * 1300 + 1;
	assert_int_equal(expect_windows_ps(&frames, 13000, frame_ps, rtt_ps), 2 * rtt_ps + 2 * frame_ps);
	assert_int_equal(expect_windows_ps(&frames, 13001, frame_ps, rtt_ps), 2 * rtt_ps + 3 * frame_ps);
	assert_int_equal(expect_windows_ps(&frames, 4 * 1300, frame_ps, rtt_ps), 0);
	/*
	 * One ACK for three packets: the window opens two frames later. One for more than it holds: when the last is
	 * there.
	 */
	frames.frames_per_ack = 3;
	assert_int_equal(expect_windows_ps(&frames, 13000, frame_ps, rtt_ps), 2 * (rtt_ps + 2 * frame_ps) + 2 * frame_ps);
	frames.frames_per_ack = 16;
	assert_int_equal(expect_windows_ps(&frames, 13000, frame_ps, rtt_ps), 2 * (rtt_ps + 3 * frame_ps) + 2 * frame_ps);
}

/* A packet is acknowledged when as many are there as share an ACK, or as the window holds. */
static void
coalesced_acks_wait_for_further_frames(void **state)
{
	const struct route_path forward = path(0, 1);
	uint64_t frame_ps = units_serialize_ps(frames.frame_bytes, star.topo.ports[0].rate_bps, frames.quantum_ps);

	assert_int_equal(expect_ack_wait_ps(&star.topo, &frames, &forward), 0);
	frames.frames_per_ack = 16;
	assert_int_equal(expect_ack_wait_ps(&star.topo, &frames, &forward), 15 * frame_ps);
	frames.window_bytes = 3 * 1300;
	assert_int_equal(expect_ack_wait_ps(&star.topo, &frames, &forward), 2 * frame_ps);
}

/* The same as a step, as an ideal one, and as a message of a flow. An ACK that meets nobody's data waits for nothing. */
static void
small_windows_take_longer(void **state)
{
	struct route_path there = path(0, 1), back = path(1, 0);
	struct expect_flow flow = { .bytes = 13000, .forward = &there, .reverse = &back, .base_rtt_ps = 8222 * PS_PER_NS };
	const uint64_t ps = (2 * 8222 + 2 * 107) * PS_PER_NS;

	frames.window_bytes = 4 * 1300;
	expect_steps(&star.topo, &frames, &flow, 1, ports);
	assert_int_equal(flow.wire_ps, ps);
	assert_int_equal(flow.tx_ps, 10 * 107 * PS_PER_NS);
	assert_int_equal(expect_fct_ps(&star.topo, &frames, &there, &back, 13000, 0), ps + (8222 - 107) * PS_PER_NS);
	frames.quantum_ps = 0;
	expect_ideal_step(&star.topo, &frames, &flow);
	assert_int_equal(flow.wire_ps, 2 * 8222 * PS_PER_NS + 2 * 107840);
	frames.window_bytes = 80 * 1300; /* more than the path holds */
	expect_ideal_step(&star.topo, &frames, &flow);
	assert_int_equal(flow.wire_ps, 10 * 107840);
}

/* Both ways at once: where an ACK leaves, data are sent for so much of the time, and it waits for half a frame of them. */
static void
acks_wait_for_a_frame(void **state)
{
	struct route_path there = path(0, 1), back = path(1, 0);
	struct expect_flow flows[2] = {
		{ .bytes = 13000, .forward = &there, .reverse = &back, .base_rtt_ps = 8222 * PS_PER_NS },
		{ .bytes = 13000, .forward = &back, .reverse = &there, .base_rtt_ps = 8222 * PS_PER_NS },
	};
	const double ps = (2 * 8222 + 2 * 107) * PS_PER_NS, waits_ps = 107 * PS_PER_NS * (10 * 107 * PS_PER_NS / ps);

	frames.window_bytes = 4 * 1300;
	expect_steps(&star.topo, &frames, flows, 2, ports);
	assert_int_equal(flows[0].wire_ps, (uint64_t)ps + 2 * (uint64_t)waits_ps);
	assert_int_equal(ports[0].data_ps, 0);
}

/*
 * A ring: every link carries one step's data and the ACKs of the neighbour's, so a frame costs 107 + 4 ns; the last
 * of 276,924 frames has 100 B + 48: 11 ns. (276,923 x 107 + 11 + 276,924 x 4) ns = 30.738468 ms.
 */
static void
ring_shares_with_acks(void **state)
{
	struct route_path forward[HOSTS], reverse[HOSTS];
	struct expect_flow flows[HOSTS];

	for (uint32_t h = 0; h < HOSTS; h++) {
		forward[h] = path(h, (h + 1) % HOSTS);
		reverse[h] = path((h + 1) % HOSTS, h);
		flows[h] = (struct expect_flow){
			.bytes = 360000000,
			.forward = &forward[h],
			.reverse = &reverse[h],
		};
	}
	expect_steps(&star.topo, &frames, flows, HOSTS, ports);
	for (uint32_t h = 0; h < HOSTS; h++)
		assert_int_equal(flows[h].wire_ps, (276923ull * 107 + 11 + 276924ull * 4) * PS_PER_NS);
	for (uint32_t i = 0; i < 2 * HOSTS; i++)
		assert_int_equal(ports[i].acks_ps + ports[i].senders + ports[i].receivers, 0);

	/* Exact: 373,292,352 B and 276,924 x 60 B at 100 Gbps. */
	frames.quantum_ps = 0;
	expect_steps(&star.topo, &frames, flows, HOSTS, ports);
	assert_int_equal(flows[0].wire_ps, 29863388160ull + 1329235200ull);

	/* One ACK for four frames: 69,231 of them. */
	frames.frames_per_ack = 4;
	expect_steps(&star.topo, &frames, flows, HOSTS, ports);
	assert_int_equal(flows[0].wire_ps, 29863388160ull + 69231ull * 4800);
}

/* Two hosts send to each other: the ACKs of one run with the data of the other. One way alone shares with nothing. */
static void
acks_count_in_their_direction_only(void **state)
{
	struct route_path there = path(0, 1), back = path(1, 0);
	struct expect_flow flows[2] = {
		{ .bytes = 13000, .forward = &there, .reverse = &back },
		{ .bytes = 1300, .forward = &back, .reverse = &there },
	};

	expect_steps(&star.topo, &frames, flows, 1, ports);
	assert_int_equal(flows[0].wire_ps, 10 * 107 * PS_PER_NS);
	expect_steps(&star.topo, &frames, flows, 2, ports);
	assert_int_equal(flows[0].wire_ps, (10 * 107 + 1 * 4) * PS_PER_NS);
	assert_int_equal(flows[1].wire_ps, (1 * 107 + 10 * 4) * PS_PER_NS);
}

/* Senders that leave a fifth of every link free: all takes a quarter longer. */
static void
links_are_slower_by_what_is_left_free(void **state)
{
	struct route_path there = path(0, 1), back = path(1, 0);
	struct expect_flow flows[2] = {
		{ .bytes = 13000, .forward = &there, .reverse = &back },
		{ .bytes = 1300, .forward = &back, .reverse = &there },
	};

	frames.spare = 0.2;
	expect_steps(&star.topo, &frames, flows, 2, ports);
	assert_int_equal(flows[0].wire_ps, (10 * 107 + 1 * 4) * PS_PER_NS * 5 / 4);
	assert_int_equal(flows[1].wire_ps, (1 * 107 + 10 * 4) * PS_PER_NS * 5 / 4);
	expect_ideal_step(&star.topo, &frames, &flows[0]);
	assert_int_equal(flows[0].wire_ps, 10 * 1348 * 80);
	frames.spare = 0;
}

/* The link that is busy longest decides, which need not be the first. */
static void
busiest_link_decides(void **state)
{
	struct route_path forward[3] = { path(0, 1), path(2, 0), path(1, 3) };
	struct route_path reverse[3] = { path(1, 0), path(0, 2), path(3, 1) };
	struct expect_flow flows[3];

	for (int i = 0; i < 3; i++)
		flows[i] = (struct expect_flow){ .bytes = 1300 * 10, .forward = &forward[i], .reverse = &reverse[i] };
	flows[2].bytes = 1300 * 100;
	expect_steps(&star.topo, &frames, flows, 3, ports);
	/* 0->1: host 0's NIC has 10 ACKs of 2->0, the switch's port to 1 has 100 ACKs of 1->3. */
	assert_int_equal(flows[0].wire_ps, (10 * 107 + 100 * 4) * PS_PER_NS);
}

/*
 * Host 0 sends to 1, 2 and 3 at once, and 3 back to it: what the ACKs of that one step take of host 0's NIC is shared by
 * its three; fluid_run() makes the rest of it.
 */
static void
steps_that_share_a_nic_share_its_acks(void **state)
{
	struct route_path forward[4] = { path(0, 1), path(0, 2), path(0, 3), path(3, 0) };
	struct route_path reverse[4] = { path(1, 0), path(2, 0), path(3, 0), path(0, 3) };
	struct expect_flow flows[4];

	for (int i = 0; i < 4; i++)
		flows[i] = (struct expect_flow){ .bytes = 1300 * 30, .forward = &forward[i], .reverse = &reverse[i] };
	expect_steps(&star.topo, &frames, flows, 4, ports);
	assert_int_equal(flows[0].tx_ps, (30 * 107 + 30 * 4 / 3) * PS_PER_NS);
	assert_int_equal(flows[0].rx_ps, 30 * 107 * PS_PER_NS);
	assert_int_equal(flows[0].wire_ps, flows[0].tx_ps);
	/* 0->3: the ACKs of 3->0 go to host 3 too, which receives this one only. */
	assert_int_equal(flows[2].rx_ps, (30 * 107 + 30 * 4) * PS_PER_NS);
	assert_int_equal(flows[2].wire_ps, flows[2].rx_ps);
	/* 3->0 has both NICs for itself, and 30 ACKs against it on each side. Host 0's has those of three. */
	assert_int_equal(flows[3].tx_ps, (30 * 107 + 30 * 4) * PS_PER_NS);
	assert_int_equal(flows[3].rx_ps, (30 * 107 + 90 * 4) * PS_PER_NS);
	assert_int_equal(flows[3].wire_ps, flows[3].rx_ps);

	expect_ideal_step(&star.topo, &frames, &flows[0]);
	assert_int_equal(flows[0].wire_ps, 30 * 107840);
	assert_int_equal(flows[0].tx_ps, flows[0].wire_ps);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

UNIT_TEST(expect)
{
	const struct CMUnitTest tests[] = {
		TEST(frames_and_bytes),
		TEST(ideal_is_exact),
		TEST(fct_of_a_message),
		TEST(ideal_takes_the_slowest_link),
		TEST(windows_are_round_trips),
		TEST(coalesced_acks_wait_for_further_frames),
		TEST(small_windows_take_longer),
		TEST(acks_wait_for_a_frame),
		TEST(ring_shares_with_acks),
		TEST(acks_count_in_their_direction_only),
		TEST(links_are_slower_by_what_is_left_free),
		TEST(busiest_link_decides),
		TEST(steps_that_share_a_nic_share_its_acks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

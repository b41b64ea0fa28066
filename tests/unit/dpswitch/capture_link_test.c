/* SPDX-License-Identifier: BSD-3-Clause */
/* What is taken from links between windows: times, order, faults, exact bytes, the limit. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/units.h"
#include "common/wire/eth.h"
#include "dpswitch/edge/capture/capture.h"
#include "dpswitch/edge/frame/pcapng.h"
#include "tests/unit/alloc.h"
#include "tests/unit/rxe-hosts/star.h"
#include "tests/unit/unit.h"

#define PIPELINE_PS (600 * PS_PER_NS)
#define MAX_BYTES 8192
#define FRAME_BYTES 90

/* Host 0's NIC is port 0, "0:1"; the switch's port to it is port 2, "2:1". */
enum { NIC, SWITCH, PORTS };
static const uint32_t ports[PORTS] = { 0, 2 };

static struct {
	struct star star;
	struct fabric *fabric;
	struct capture *capture;
	struct window window;
	char path[64];
	uint32_t words[MAX_BYTES / 4];
	size_t at, size; /* in words */
} rig;

#define UNKNOWN 9 /* a PSN */

/* Bytes that no descriptor stands for: flags, then the PSN over and over. */
static size_t
frame(void *ctx, const struct pkt *p, uint8_t *bytes, size_t cap_bytes)
{
	assert_ptr_equal(ctx, &rig);
	assert_true(cap_bytes >= FRAME_BYTES);
	if (p->psn == UNKNOWN)
		return 0;
	memset(bytes, (int)p->psn, FRAME_BYTES);
	bytes[0] = p->flags;
	return FRAME_BYTES;
}

/* @param path  for capture_create(), which the fabric is made for */
static struct capture_config
prepare(const char *path)
{
	struct fabric_config fabric = {
		.topo = &rig.star.topo,
		.pipeline_ps = PIPELINE_PS,
		.epoch_ps = PS_PER_MS,
		.limit_ps = PS_PER_S,
		.stall_ps = PS_PER_S,
		.seed = 1,
		.min_frame_bytes = 84,
		.pause_bytes = 84,
		.lcores = 1,
	};
	struct err err = { "" };

	star_init(&rig.star, 2);
	rig.fabric = fabric_create(&fabric, &err);
	assert_non_null(rig.fabric);
	return (struct capture_config){
		.fabric = rig.fabric,
		.ports = ports,
		.nports = PORTS,
		.path = path,
		.application = "",
		.comment = "",
		.frame = frame,
		.ctx = &rig,
	};
}

static void
make_file(void)
{
	int fd;

	strcpy(rig.path, "/tmp/rocelab-capture-XXXXXX");
	fd = mkstemp(rig.path);
	assert_int_not_equal(fd, -1);
	close(fd);
}

static void
start(uint64_t limit_bytes, uint32_t snap_bytes)
{
	struct capture_config capture = prepare(rig.path);
	struct err err = { "" };

	capture.limit_bytes = limit_bytes;
	capture.snap_bytes = snap_bytes;
	make_file();
	rig.capture = capture_create(&capture, &err);
	assert_non_null(rig.capture);
	rig.window = (struct window){ .end_ps = rig.fabric->window_ps };
	capture_arriving(rig.capture, &rig.window);
}

static int
stop(void **state)
{
	capture_destroy(rig.capture);
	fabric_destroy(rig.fabric);
	remove(rig.path);
	return 0;
}

static void
send_frame(uint32_t port, uint32_t psn, uint64_t done_ps)
{
	const struct pkt p = { .psn = psn, .wire_bytes = 114 };

	link_send(&rig.fabric->links[ports[port]], rig.window.parity, &p, done_ps);
}

static void
send_pause(uint32_t port, bool xoff, uint64_t done_ps)
{
	link_send_pause(&rig.fabric->links[ports[port]], rig.window.parity, 0x28, xoff, done_ps);
}

/* The present window ends and the next one begins. */
static void
turn(void)
{
	capture_sent(rig.capture, &rig.window);
	rig.window.index++;
	rig.window.parity ^= 1;
	rig.window.start_ps = rig.window.end_ps;
	rig.window.end_ps += rig.fabric->window_ps;
	capture_arriving(rig.capture, &rig.window);
}

/* Ends the capture and reads the file, up to the first frame: section and interfaces come before. */
static void
finish(void)
{
	const struct capture_count *counts;
	struct capture_totals totals;
	uint32_t nports;
	FILE *file;

	capture_sent(rig.capture, &rig.window);
	assert_int_equal(capture_close(rig.capture, rig.window.end_ps), 0);
	capture_sum(rig.capture, &totals);
	file = fopen(rig.path, "rb");
	assert_non_null(file);
	rig.size = fread(rig.words, 4, MAX_BYTES / 4, file);
	fclose(file);
	assert_int_equal(totals.bytes, rig.size * 4);
	counts = capture_counts(rig.capture, &nports);
	assert_int_equal(nports, PORTS);
	for (uint32_t i = 0; i < PORTS; i++)
		assert_int_equal(counts[i].port, ports[i]);
	rig.at = 0;
	for (int block = 0; block < 1 + PORTS; block++)
		rig.at += rig.words[rig.at + 1] / 4;
}

/* The next block is the given frame. @return its bytes */
static const uint8_t *
next(uint32_t port, enum pcapng_direction direction, uint64_t time_ps, uint32_t captured_bytes, uint32_t frame_bytes)
{
	const uint32_t *words = rig.words + rig.at, total = words[1] / 4;

	assert_true(rig.at < rig.size);
	assert_int_equal(words[0], 6);
	assert_int_equal(words[2], port);
	assert_int_equal(((uint64_t)words[3] << 32 | words[4]) * 100, time_ps);
	assert_int_equal(words[5], captured_bytes);
	assert_int_equal(words[6], frame_bytes);
	assert_int_equal(words[total - 3], direction);
	rig.at += total;
	return (const uint8_t *)(words + 7);
}

static void
expect_frame(uint32_t port, enum pcapng_direction direction, uint64_t time_ns, uint8_t psn, uint8_t flags)
{
	const uint8_t *bytes = next(port, direction, time_ns * PS_PER_NS, FRAME_BYTES, FRAME_BYTES);

	assert_int_equal(bytes[0], flags);
	for (int i = 1; i < FRAME_BYTES; i++)
		assert_int_equal(bytes[i], psn);
}

static void
expect_pfc(uint32_t port, enum pcapng_direction direction, uint64_t time_ns, bool xoff, const uint8_t mac[6])
{
	const uint8_t *bytes = next(port, direction, time_ns * PS_PER_NS, 60, 60);
	uint8_t quanta = xoff ? 0xff : 0;

	assert_memory_equal(bytes + 6, mac, 6);
	assert_int_equal(bytes[17], 0x28);
	assert_int_equal(bytes[18 + 2 * 3], quanta);
	assert_int_equal(bytes[18 + 2 * 4], 0);
	assert_int_equal(bytes[18 + 2 * 5], quanta);
}

/* Nothing but statistics is left. */
static void
expect_end(uint64_t nic_seen, uint64_t switch_seen, uint64_t missing)
{
	uint64_t seen[PORTS] = { nic_seen, switch_seen }, missed = 0;

	for (uint32_t i = 0; i < PORTS; i++) {
		const uint32_t *words = rig.words + rig.at;

		assert_true(rig.at < rig.size);
		assert_int_equal(words[0], 5);
		assert_int_equal(words[2], i);
		assert_int_equal(words[12], seen[i]);
		missed += words[15];
		rig.at += words[1] / 4;
	}
	assert_int_equal(missed, missing);
	assert_int_equal(rig.at, rig.size);
}

static const uint8_t nic_mac[] = { 2, 0, 10, 0, 0, 1 }, switch_mac[] = { 6, 0, 0, 2, 0, 1 };

/* Both ends of one cable: what leaves at t is there at t + 2 us, and taken in 0.6 us later still. */
static void
both_directions_in_order_of_time(void **state)
{
	struct pkt *pkts;

	start(1000000, 0);
	send_frame(NIC, 1, 100 * PS_PER_NS);
	send_frame(NIC, 2, 2700 * PS_PER_NS); /* begins in this window and ends in the next */
	send_pause(SWITCH, true, 150 * PS_PER_NS);
	send_frame(SWITCH, 3, 160 * PS_PER_NS);
	send_frame(SWITCH, 5, 2300 * PS_PER_NS); /* others that arrive before this are reported in the next window */
	turn();
	send_frame(SWITCH, 4, 2690 * PS_PER_NS);
	send_pause(NIC, false, 2610 * PS_PER_NS);
	/* The receiver finds what it would have found. */
	link_receive(&rig.fabric->links[0], rig.window.parity);
	assert_int_equal(link_arrivals(&rig.fabric->links[0], rig.window.end_ps, &pkts), 1);
	assert_int_equal(pkts[0].time_ps, 2700 * PS_PER_NS);
	link_consume(&rig.fabric->links[0], 1, 0);
	link_consume(&rig.fabric->links[2], 2, 1);
	turn();
	finish();
	expect_frame(NIC, PCAPNG_OUTBOUND, 100, 1, 0);
	expect_pfc(SWITCH, PCAPNG_OUTBOUND, 150, true, switch_mac);
	expect_frame(SWITCH, PCAPNG_OUTBOUND, 160, 3, 0);
	expect_frame(SWITCH, PCAPNG_INBOUND, 2100, 1, 0);
	expect_pfc(NIC, PCAPNG_INBOUND, 2150, true, switch_mac);
	expect_frame(NIC, PCAPNG_INBOUND, 2160, 3, 0);
	expect_frame(SWITCH, PCAPNG_OUTBOUND, 2300, 5, 0);
	expect_pfc(NIC, PCAPNG_OUTBOUND, 2610, false, nic_mac);
	expect_frame(SWITCH, PCAPNG_OUTBOUND, 2690, 4, 0);
	expect_frame(NIC, PCAPNG_OUTBOUND, 2700, 2, 0);
	expect_frame(NIC, PCAPNG_INBOUND, 4300, 5, 0);
	expect_pfc(SWITCH, PCAPNG_INBOUND, 4610, false, nic_mac);
	expect_frame(NIC, PCAPNG_INBOUND, 4690, 4, 0);
	expect_frame(SWITCH, PCAPNG_INBOUND, 4700, 2, 0);
	expect_end(7, 7, 0);
}

static void
faults_of_the_cable_show_where_they_act(void **state)
{
	start(1000000, 0);
	send_frame(NIC, 1, 100 * PS_PER_NS);
	link_set_corruption(&rig.fabric->links[0], 1, 0);
	turn();
	link_consume(&rig.fabric->links[0], 1, 0);
	link_set_corruption(&rig.fabric->links[0], 0, 0);
	link_set_loss(&rig.fabric->links[0], 1);
	send_frame(NIC, 2, 2700 * PS_PER_NS);
	turn();
	link_set_loss(&rig.fabric->links[0], 0);
	send_frame(NIC, 3, 5300 * PS_PER_NS);
	capture_sent(rig.capture, &rig.window);
	rig.window.parity ^= 1;
	link_set_down(&rig.fabric->links[0], true);
	rig.window.start_ps = rig.window.end_ps;
	rig.window.end_ps += rig.fabric->window_ps;
	capture_arriving(rig.capture, &rig.window);
	finish();
	expect_frame(NIC, PCAPNG_OUTBOUND, 100, 1, 0);
	expect_frame(SWITCH, PCAPNG_INBOUND, 2100, 1, PKT_CORRUPT);
	expect_frame(NIC, PCAPNG_OUTBOUND, 2700, 2, 0);
	expect_frame(NIC, PCAPNG_OUTBOUND, 5300, 3, 0);
	expect_end(3, 1, 0);
}

/* From the first frame that does not fit on, frames are counted, smaller ones as well. */
static void
the_limit_ends_the_file_and_not_the_count(void **state)
{
	struct capture_totals totals;
	uint64_t limit_bytes;

	start(1000000, 0);
	finish();
	limit_bytes = rig.size * 4 + 2 * pcapng_frame_bytes(FRAME_BYTES) + pcapng_frame_bytes(ETH_MIN_BYTES);
	stop(state);
	start(limit_bytes, 0);
	send_frame(NIC, 1, 100 * PS_PER_NS);
	send_frame(NIC, 2, 200 * PS_PER_NS);
	send_frame(NIC, 3, 300 * PS_PER_NS);
	send_pause(NIC, true, 310 * PS_PER_NS);
	turn();
	send_pause(NIC, true, 2700 * PS_PER_NS);
	finish();
	assert_int_equal(rig.size * 4, limit_bytes - pcapng_frame_bytes(ETH_MIN_BYTES));
	expect_frame(NIC, PCAPNG_OUTBOUND, 100, 1, 0);
	expect_frame(NIC, PCAPNG_OUTBOUND, 200, 2, 0);
	capture_sum(rig.capture, &totals);
	assert_int_equal(totals.limit_ps, 300 * PS_PER_NS);
	assert_int_equal(totals.frames, 9);
	assert_int_equal(totals.missing, 7);
	expect_end(5, 4, 7);
}

static void
frames_are_cut(void **state)
{
	const uint8_t *bytes;

	start(1000000, 61);
	send_frame(NIC, 7, 100 * PS_PER_NS);
	send_pause(SWITCH, true, 150 * PS_PER_NS);
	finish();
	bytes = next(NIC, PCAPNG_OUTBOUND, 100 * PS_PER_NS, 61, FRAME_BYTES);
	assert_int_equal(bytes[60], 7);
	assert_int_equal(bytes[61], 0); /* padding */
	expect_pfc(SWITCH, PCAPNG_OUTBOUND, 150, true, switch_mac);
	expect_end(1, 1, 0);
}

static void
a_packet_of_unknown_bytes_is_there_all_the_same(void **state)
{
	start(1000000, 0);
	send_frame(NIC, UNKNOWN, 100 * PS_PER_NS);
	send_frame(NIC, 1, 200 * PS_PER_NS);
	finish();
	next(NIC, PCAPNG_OUTBOUND, 100 * PS_PER_NS, 0, 114 - 24); /* without preamble, FCS and gap */
	expect_frame(NIC, PCAPNG_OUTBOUND, 200, 1, 0);
	expect_end(2, 0, 0);
}

/* A file that cannot be made, or memory that there is not: a reason, and nothing is left. */
static void
without_file_or_memory_there_is_no_capture(void **state)
{
	struct capture_config capture = prepare("/tmp/rocelab-no-such-folder/capture");
	struct err err = { "" };

	(void)state;
	make_file();
	rig.capture = capture_create(&capture, &err);
	assert_null(rig.capture);
	assert_int_equal(errno, ENOENT);
	assert_non_null(strstr(err.text, "/tmp/rocelab-no-such-folder/capture: No such file"));
	capture.path = rig.path;
	FOR_EACH_REFUSED(nth)
	{
		err = (struct err){ "" };
		rig.capture = capture_create(&capture, &err);
		if (!alloc_was_refused())
			break;
		assert_null(rig.capture);
		assert_non_null(strstr(err.text, "Cannot allocate memory"));
		assert_true(nth < 100);
	}
	assert_non_null(rig.capture);
}

UNIT_TEST(capture_link)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(both_directions_in_order_of_time, stop),
		cmocka_unit_test_teardown(faults_of_the_cable_show_where_they_act, stop),
		cmocka_unit_test_teardown(the_limit_ends_the_file_and_not_the_count, stop),
		cmocka_unit_test_teardown(frames_are_cut, stop),
		cmocka_unit_test_teardown(a_packet_of_unknown_bytes_is_there_all_the_same, stop),
		cmocka_unit_test_teardown(without_file_or_memory_there_is_no_capture, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

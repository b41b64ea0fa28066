/* SPDX-License-Identifier: BSD-3-Clause */
/* The UD QP of a NIC: contents, numbers, replies, times, and all that it drops. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/wire/roce.h"
#include "rxe-hosts/device/embedded/host.h"
#include "tests/unit/rxe-hosts/host_rig.h"
#include "tests/unit/unit.h"

/*
 * 8 preamble, 14 Ethernet, 20 IPv4, 8 UDP, 12 BTH, 8 DETH, 50 and 2 of pad, 4 ICRC, 4 FCS, 12 gap; at 100 Gbps 80 ps a
 * byte.
 */
#define WIRE_BYTES 142
#define SERIALIZE_PS (80 * WIRE_BYTES)

static struct rig rig;
static struct pkt seen;
static struct pkt_message message;

static int
setup(void **state)
{
	(void)state;
	rig_defaults(&rig);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	rig_stop(&rig);
	return 0;
}

static uint32_t
open_qp(uint32_t host, uint32_t receives)
{
	struct device *dev = rig.hosts[host].dev;
	int64_t qpn = dev->ops->ud_open(dev, 0, receives);

	assert_true(qpn > 0 && qpn <= ROCE_24BIT_MASK);
	return (uint32_t)qpn;
}

static int
post(uint32_t host, uint32_t flow, uint32_t qpn, const char *text, bool reply)
{
	char contents[50] = "";
	struct datagram datagram = { .flow = flow,
				     .qpn = qpn,
				     .contents = contents,
				     .bytes = sizeof(contents),
				     .type = PKT_UD,
				     .signaled = true,
				     .reply = reply };
	struct device *dev = rig.hosts[host].dev;

	memcpy(contents, text, strlen(text));
	return dev->ops->post_datagram(dev, &datagram);
}

static bool
watch(struct rig *g, uint32_t from, struct pkt *p)
{
	(void)from;
	seen = *p;
	embedded_describe(g->shared, &g->params, p, &message);
	return true;
}

static void
contents_and_numbers_cross(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0), there, here;

	(void)state;
	rig.filter = watch;
	rig_start(&rig);
	here = open_qp(0, 4);
	there = open_qp(1, 4);
	assert_int_not_equal(here, there);
	assert_int_equal(post(0, flow, there, "probe", false), 0);
	rig_run(&rig, 2 * PS_PER_US);
	assert_int_equal(seen.wire_bytes, WIRE_BYTES);
	assert_int_equal(seen.prio, 3);
	assert_int_equal(message.dst_qpn, there);
	assert_int_equal(message.src_qpn, here);
	assert_string_equal((const char *)message.payload, "probe");
	rig_run(&rig, 3 * PS_PER_US);
	assert_int_equal(rig.hosts[1].ndatagrams, 1);
	assert_string_equal((const char *)rig.hosts[1].datagram.contents, "probe");
	assert_int_equal(rig.hosts[1].datagram.qpn, here);
	assert_false(rig.hosts[1].datagram.reply);
	assert_int_equal(rig.hosts[0].departed.left_ps, SERIALIZE_PS);
	assert_int_equal(rig.hosts[1].datagram_ps, SERIALIZE_PS + RIG_DELAY_PS);
	/* back by the same flow, as its ACKs go */
	assert_int_equal(post(1, flow, here, "ack", true), 0);
	rig_run(&rig, 6 * PS_PER_US);
	assert_true(seen.flags & PKT_REVERSE);
	assert_string_equal((const char *)rig.hosts[0].datagram.contents, "ack");
	assert_int_equal(rig.hosts[0].datagram.qpn, there);
	assert_true(rig.hosts[0].datagram.reply);
	assert_int_equal(rig.hosts[1].departed.left_ps, 3 * PS_PER_US + SERIALIZE_PS);
	assert_int_equal(rig.hosts[0].datagram_ps, 3 * PS_PER_US + SERIALIZE_PS + RIG_DELAY_PS);
	assert_true(rig_conserves(&rig));
}

static uint64_t
dropped(enum embedded_datagram_drop reason)
{
	return embedded_nic_at(rig.hosts[1].node, 0).datagram_drops[reason];
}

/* Who opens again has another number, and nobody who knows the old one reaches him. */
static void
numbers_that_are_old_reach_no_host(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0), old, now;

	(void)state;
	rig_start(&rig);
	open_qp(0, 4);
	old = open_qp(1, 4);
	now = open_qp(1, 4);
	assert_int_not_equal(old, now);
	assert_int_equal(post(0, flow, old, "stale", false), 0);
	assert_int_equal(post(0, flow, now, "fresh", false), 0);
	rig_run(&rig, 3 * PS_PER_US);
	assert_int_equal(rig.hosts[1].ndatagrams, 1);
	assert_string_equal((const char *)rig.hosts[1].datagram.contents, "fresh");
	assert_int_equal(dropped(EMBEDDED_DATAGRAM_UNKNOWN_QP), 1);
	assert_true(rig_conserves(&rig));
}

static void
no_listener(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	(void)state;
	rig_start(&rig);
	open_qp(0, 4);
	assert_int_equal(post(0, flow, 7, "hello", false), 0);
	rig_run(&rig, 3 * PS_PER_US);
	assert_int_equal(dropped(EMBEDDED_DATAGRAM_UNKNOWN_QP), 1);
	assert_int_equal(rig.hosts[1].ndatagrams, 0);
}

static void
room_is_what_was_posted(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0), there;
	struct device *dev;
	struct embedded_counters sum;

	(void)state;
	rig_start(&rig);
	open_qp(0, 0);
	there = open_qp(1, 2);
	dev = rig.hosts[1].dev;
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(post(0, flow, there, "x", false), 0);
	rig_run(&rig, 3 * PS_PER_US);
	embedded_sum(rig.hosts[1].node, &sum);
	assert_int_equal(rig.hosts[1].ndatagrams, 2);
	assert_int_equal(sum.datagrams_unposted, 1);
	assert_int_equal(dropped(EMBEDDED_DATAGRAM_UNPOSTED), 1);
	dev->ops->ud_receive(dev, 0);
	assert_int_equal(post(0, flow, there, "y", false), 0);
	rig_run(&rig, 6 * PS_PER_US);
	assert_int_equal(rig.hosts[1].ndatagrams, 3);
	assert_true(rig_conserves(&rig));
}

/* As if it had been in flight while its sender made so many others that its contents are gone. */
static bool
age(struct rig *g, uint32_t from, struct pkt *p)
{
	(void)g;
	(void)from;
	p->psn = (p->psn - rig.shared->ud_slots) & PSN_MASK;
	return true;
}

static void
what_is_too_old_is_counted(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0), there;

	(void)state;
	rig.filter = age;
	rig_start(&rig);
	open_qp(0, 4);
	there = open_qp(1, 4);
	assert_int_equal(post(0, flow, there, "late", false), 0);
	rig_run(&rig, 3 * PS_PER_US);
	assert_int_equal(rig.hosts[1].ndatagrams, 0);
	assert_int_equal(dropped(EMBEDDED_DATAGRAM_EXPIRED), 1);
	assert_int_equal(dropped(EMBEDDED_DATAGRAM_UNKNOWN_QP) + dropped(EMBEDDED_DATAGRAM_UNPOSTED), 0);
}

static void
what_is_too_long_is_refused(void **state)
{
	static const uint8_t much[DEVICE_UD_BYTES + 1];
	struct datagram datagram = { .contents = much, .qpn = 1, .bytes = sizeof(much), .type = PKT_UD };
	struct device *dev;

	(void)state;
	datagram.flow = rig_flow(&rig, 0, 0);
	rig_start(&rig);
	open_qp(0, 0);
	dev = rig.hosts[0].dev;
	assert_int_equal(dev->ops->post_datagram(dev, &datagram), -EINVAL);
	datagram.bytes = 0;
	assert_int_equal(dev->ops->post_datagram(dev, &datagram), -EINVAL);
	assert_int_equal(rig.hosts[0].node->count.born_packets, 0);
}

static struct pkt first;
static uint32_t watched, kept_for;

/* How many more of the NIC's datagrams are made before the first one's contents are gone? */
static bool
watch_first(struct rig *g, uint32_t from, struct pkt *p)
{
	struct pkt_message m;

	(void)from;
	if (watched++ == 0)
		first = *p;
	embedded_describe(g->shared, &g->params, &first, &m);
	if (m.payload != NULL) {
		assert_string_equal((const char *)m.payload, "first");
		kept_for = watched;
	}
	return true;
}

/*
 * Contents are kept for the NIC's slots less UD_WINDOW_SLOTS, and a sender that posts more than the latter in a window
 * waits.
 */
static void
contents_are_kept_for_so_many(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0), there;

	(void)state;
	rig.filter = watch_first;
	watched = kept_for = 0;
	rig_start(&rig);
	rig.shared->ud_slots = UD_MIN_SLOTS;
	open_qp(0, 1);
	there = open_qp(1, 2000);
	assert_int_equal(post(0, flow, there, "first", false), 0);
	for (uint32_t i = 1; i < 1200; i++) {
		if (i % 50 == 0) /* the queue holds 64; a window sends 88 */
			rig_run(&rig, i / 50 * PS_PER_US);
		assert_int_equal(post(0, flow, there, "another", false), 0);
	}
	rig_run(&rig, 30 * PS_PER_US);
	assert_int_equal(watched, 1200);
	assert_int_equal(rig.hosts[1].ndatagrams, 1200);
	/* those of one window are posted before the last of them is looked at */
	assert_in_range(kept_for, 768 - 50, 768);
}

/* A slot may be read while a window runs, so no window makes as many as would come round to it. */
static void
a_window_makes_so_many(void **state)
{
	struct datagram datagram = { .contents = "x", .bytes = 1, .type = PKT_UD, .qpn = 1 };
	struct host *host;
	struct pkt p;

	(void)state;
	datagram.flow = rig_flow(&rig, 0, 0);
	rig_start(&rig);
	open_qp(0, 1);
	host = (struct host *)rig.hosts[0].node;
	for (uint32_t window = 0; window < 3; window++) {
		rig_run(&rig, (window + 1) * PS_PER_US);
		for (uint32_t i = 0; i < UD_WINDOW_SLOTS; i++)
			assert_int_equal(ud_qp_make(host, &host->nics[0], &datagram, &p), 0);
		assert_int_equal(ud_qp_make(host, &host->nics[0], &datagram, &p), -ENOSPC);
		/* what was made in it is nobody's to read before it is over */
		assert_null(ud_contents_of(rig.shared, &p, rig.window.index));
		assert_non_null(ud_contents_of(rig.shared, &p, rig.window.index + 1));
	}
}

/* Another program keeps a copy of one datagram, and none of those that follow: it expires there with the sender's. */
static void
a_copy_expires_with_its_sender(void **state)
{
	struct datagram datagram = { .contents = "x", .bytes = 1, .type = PKT_UD, .qpn = 1 };
	uint32_t port, next, kept = 0, made = 1;
	uint8_t bytes[EMBEDDED_DATAGRAM_BYTES];
	struct embedded_shared *copy;
	struct err err = { 0 };
	struct host *host;
	struct pkt one, p;

	(void)state;
	datagram.flow = rig_flow(&rig, 0, 0);
	rig_start(&rig);
	open_qp(0, 1);
	host = (struct host *)rig.hosts[0].node;
	port = rig.topo.nodes[0].first_port;
	copy = embedded_shared_create(&rig.topo, &rig.table, &err);
	assert_non_null(copy);
	rig.shared->ud_slots = copy->ud_slots = UD_MIN_SLOTS;
	assert_false(embedded_datagram_made(rig.shared, port, &next));
	assert_int_equal(ud_qp_make(host, &host->nics[0], &datagram, &one), 0);
	rig_run(&rig, PS_PER_US);
	assert_int_equal(embedded_datagram_put(copy, &one, bytes, embedded_datagram_get(rig.shared, &one, bytes)), 0);
	for (uint32_t window = 1; window < 30; window++) {
		bool is_kept = ud_contents_of(rig.shared, &one, rig.window.index + 1) != NULL;

		if (embedded_datagram_made(rig.shared, port, &next))
			assert_int_equal(embedded_datagram_set_made(copy, port, next), 0);
		assert_false(embedded_datagram_made(rig.shared, port, &next));
		assert_int_equal(is_kept, made <= UD_MIN_SLOTS - UD_WINDOW_SLOTS);
		assert_int_equal(ud_contents_of(copy, &one, rig.window.index + 1) != NULL, is_kept);
		kept += is_kept;
		rig_run(&rig, (window + 1) * PS_PER_US);
		for (uint32_t i = 0; i < 50; i++, made++)
			assert_int_equal(ud_qp_make(host, &host->nics[0], &datagram, &p), 0);
	}
	assert_in_range(kept, 10, 20);
	embedded_shared_destroy(copy);
}

/* The fewer NICs, the more each keeps, as the budget allows. PSNs wrap: only a power of two has no gap there. */
static void
few_nics_keep_more(void **state)
{
	(void)state;
	assert_int_equal(ud_slots_of(0), UD_MAX_SLOTS);
	assert_int_equal(ud_slots_of(16), UD_MAX_SLOTS);
	for (uint32_t nics = 27; nics < 800; nics++) {
		uint32_t slots = ud_slots_of(nics);

		assert_int_equal((PSN_MASK + 1) % slots, 0);
		assert_in_range((uint64_t)slots * nics * sizeof(struct ud_contents), UD_SLOTS_BYTES / 2, UD_SLOTS_BYTES);
	}
	assert_int_equal(ud_slots_of(16384), UD_MIN_SLOTS);
	rig_start(&rig);
	assert_int_equal(rig.shared->ud_slots, UD_MAX_SLOTS);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

UNIT_TEST(ud_qp)
{
	const struct CMUnitTest tests[] = {
		T(contents_and_numbers_cross),
		T(numbers_that_are_old_reach_no_host),
		T(no_listener),
		T(room_is_what_was_posted),
		T(what_is_too_long_is_refused),
		T(what_is_too_old_is_counted),
		T(contents_are_kept_for_so_many),
		T(a_window_makes_so_many),
		T(a_copy_expires_with_its_sender),
		T(few_nics_keep_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a switch does to packets that pass: order, ECN marks, TTL, drops at the tail. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/dpswitch/switch_rig.h"
#include "tests/unit/unit.h"

static void
class_0_overtakes(void **state)
{
	char order[16];
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	uint32_t data = frig_flow(&rig, "a", "b", 3), control = frig_flow(&rig, "c", "b", 0);

	start(&rig);
	frig_send(&rig, data, 0, 1000, 6);
	/* with the switch at 1080 + 820 ns: frame 1 of a is on the wire, 2 to 5 wait */
	frig_send(&rig, control, 820 * NS, 1000, 2);
	frig_run(&rig, 100 * PS_PER_US);
	order_of(frig_host(&rig, "b"), order, sizeof(order));
	assert_string_equal(order, "33003333");
	assert_int_equal(frig_switch(&rig, "S")->node.count.tx_packets, 8);
	assert_int_equal(frig_switch(&rig, "S")->node.count.tx_bytes, 8000);
	frig_stop(&rig);
}

/* Frames of class 0 at a port since the run began. */
static uint64_t
overtakers(const struct frig *rig, uint16_t port, uint32_t flow, bool acks)
{
	const struct overtakes *overtakes = frig_switch(rig, "S")->ports[port].telem.epochs.open->overtakes;
	uint32_t key = overtakes_key(flow, acks);

	return overtakes != NULL && overtakes->by[key].key == key ? overtakes->by[key].packets : 0;
}

/* Whose frames went ahead of data that waited is counted; where data is paused, nothing is taken from it. */
static void
who_overtakes_data_is_counted(void **state)
{
	struct pkt ack = { .wire_bytes = 84, .type = PKT_ACK, .flags = PKT_REVERSE };
	struct frig rig;

	(void)state;
	for (uint32_t paused = 0; paused < 2; paused++) {
		frig_init(&rig, narrow);
		uint32_t data = frig_flow(&rig, "a", "b", 3), control = frig_flow(&rig, "c", "b", 0);

		ack.flow = frig_flow(&rig, "b", "c", 3);
		start(&rig);
		if (paused)
			frig_pause(&rig, "b", 0, 1 << 3, true);
		frig_send(&rig, data, 0, 1000, 6);
		frig_send(&rig, control, 820 * NS, 1000, 2);
		frig_send_pkt(&rig, 990 * NS, &ack);
		frig_send(&rig, control, 20000 * NS, 1000, 1); /* nobody waits any more */
		frig_run(&rig, 100 * PS_PER_US);
		assert_int_equal(overtakers(&rig, PORT_B, control, false), paused ? 0 : 2);
		assert_int_equal(overtakers(&rig, PORT_B, ack.flow, true), paused ? 0 : 1);
		frig_stop(&rig);
	}
}

/* CNPs in a strict class of their own go ahead of data as ACKs do, are counted as ACKs are, and have no rows. */
static void
a_class_of_cnps_overtakes(void **state)
{
	static const char *items[] = { "6" };
	struct pkt cnp = { .wire_bytes = 84, .type = PKT_CNP, .prio = 6, .flags = PKT_REVERSE };
	const struct switch_port *port;
	struct frig rig;
	char order[16];

	(void)state;
	for (uint32_t strict = 0; strict < 2; strict++) {
		frig_init(&rig, narrow);
		uint32_t data = frig_flow(&rig, "a", "b", 3);

		cnp.flow = frig_flow(&rig, "b", "c", 3);
		rig.setup.all.params.strict = (struct cfg_strings){ items, strict };
		rig.config.cnp_classes = 1 << 6;
		start(&rig);
		frig_send(&rig, data, 0, 1000, 6);
		frig_send_pkt(&rig, 820 * NS, &cnp);
		frig_send_pkt(&rig, 990 * NS, &cnp);
		frig_run(&rig, 100 * PS_PER_US);
		order_of(frig_host(&rig, "b"), order, sizeof(order));
		if (strict)
			assert_string_equal(order, "33663333");
		assert_int_equal(overtakers(&rig, PORT_B, cnp.flow, true), strict ? 2 : 0);
		port = &frig_switch(&rig, "S")->ports[PORT_B];
		assert_int_equal(port_flows_find(&port->flows, cnp.flow), PORT_FLOWS_NONE);
		assert_int_equal(port->telem.epochs.open->rows[port_flows_find(&port->flows, data)].packets, 6);
		frig_stop(&rig);
	}
}

/* The same of a strict class of data: it goes ahead, is counted by those that it overtakes, and waits for itself alone. */
static void
a_strict_class_overtakes(void **state)
{
	static const char *items[] = { "5" };
	const struct epoch_row *row;
	char order[16];
	struct frig rig;

	(void)state;
	for (uint32_t strict = 0; strict < 2; strict++) {
		frig_init(&rig, narrow);
		uint32_t data = frig_flow(&rig, "a", "b", 3), measured = frig_flow(&rig, "c", "b", 5);
		const struct switch_port *port;

		rig.setup.all.params.strict = (struct cfg_strings){ items, strict };
		start(&rig);
		frig_send(&rig, data, 0, 1000, 6);
		frig_send(&rig, measured, 820 * NS, 1000, 2);
		frig_run(&rig, 100 * PS_PER_US);
		order_of(frig_host(&rig, "b"), order, sizeof(order));
		assert_string_equal(order, strict ? "33553333" : "33353533");
		port = &frig_switch(&rig, "S")->ports[PORT_B];
		assert_int_equal(overtakers(&rig, PORT_B, measured, false), strict ? 2 : 0);
		row = &port->telem.epochs.open->rows[port_flows_find(&port->flows, measured)];
		assert_int_equal(row->packets, 2);
		assert_int_equal(row->depth_max, strict ? 1 : 5);
		frig_stop(&rig);
	}
}

static void
what_is_no_class_is_refused(void **state)
{
	static const char *const items[] = { "0", "8", "x", "3:1" };
	struct switch_params params = { .where = { .file = "s.cfg", .line = 4 } };
	uint8_t classes;

	(void)state;
	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++) {
		const char *one[] = { items[i] };
		struct err err = { "" };

		params.strict = (struct cfg_strings){ one, 1 };
		assert_int_equal(switch_strict_classes(&params, &classes, &err), -EINVAL);
		assert_non_null(strstr(err.text, "s.cfg:4: strict: "));
	}
}

static void
data_classes_share_by_weight(void **state)
{
	char order[55]; /* in the first 54 both wait */
	struct frig rig;
	uint32_t twice = 0;

	(void)state;
	frig_init(&rig, "switch = { weights = [ \"3:2\" ]; pfc = { priorities = [ \"3\", \"4\" ]; }; };" NETWORK(
				"\"a S\", \"b S 10Gbps\", \"c S\""));
	uint32_t three = frig_flow(&rig, "a", "b", 3), four = frig_flow(&rig, "c", "b", 4);

	start(&rig);
	frig_send(&rig, three, 0, 1000, 40);
	frig_send(&rig, four, 0, 1000, 40);
	frig_run(&rig, 100 * PS_PER_US);
	assert_int_equal(frig_host(&rig, "b")->ngot, 80);
	order_of(frig_host(&rig, "b"), order, sizeof(order));
	/* while both wait, two of class 3 go for each of class 4 */
	for (uint32_t i = 6; i < 54; i++)
		twice += order[i] == '3';
	assert_int_equal(twice, 48 * 2 / 3);
	assert_null(strstr(order + 6, "333"));
	assert_null(strstr(order + 6, "44"));
	frig_stop(&rig);
}

/*
 * 11 frames; frame j leaves with 10 - j behind it. At a tenth of the reference rate kmin is 4000 B and kmax kmax_bytes
 * / 10.
 * @param wred      of single classes; NULL: none
 * @param from, to  frames marked
 */
static void
expect_marks_of(uint8_t prio, const struct switch_wred_params *wred, uint64_t kmax_bytes, uint32_t from, uint32_t to)
{
	struct frig_host *b;
	struct frig rig;

	frig_init(&rig, narrow);
	rig.setup.all.ecn.kmin_bytes = 40000;
	rig.setup.all.ecn.kmax_bytes = kmax_bytes;
	if (wred != NULL)
		rig.setup.all.wreds[rig.setup.all.nwreds++] = *wred;
	uint32_t flow = frig_flow(&rig, "a", "b", prio);
	start(&rig);
	frig_send(&rig, flow, 0, 1000, 11);
	frig_run(&rig, 100 * PS_PER_US);
	b = frig_host(&rig, "b");
	assert_int_equal(b->ngot, 11);
	for (uint32_t j = 0; j < 11; j++)
		assert_int_equal((b->got[j].flags & PKT_CE) != 0, j >= from && j <= to);
	frig_stop(&rig);
}

static void
expect_marks(uint64_t kmax_bytes, uint32_t from, uint32_t to)
{
	expect_marks_of(3, NULL, kmax_bytes, from, to);
}

/* Above 4001 B: those with at least 5 behind them, but frame 0, which met an empty queue. */
static void
ecn_marks_by_what_is_left_behind(void **state)
{
	(void)state;
	expect_marks(40010, 1, 5);
}

/* kmin = kmax: above 4000 B. The frame with 4 behind it leaves exactly that, and is not marked. */
static void
ecn_marks_a_step_where_thresholds_are_equal(void **state)
{
	(void)state;
	expect_marks(40000, 1, 5);
}

/* RFC 3168: marks are of queues, whatever a class does when it overflows. Class 0 carries what is not ECN-capable. */
static void
ecn_marks_classes_without_pfc(void **state)
{
	(void)state;
	expect_marks_of(5, NULL, 40000, 1, 5);
	expect_marks_of(0, NULL, 40000, 11, 11);
}

/* A class has the thresholds of its row: above 7000 B. The others keep those of all. */
static void
a_class_has_thresholds_of_its_own(void **state)
{
	static const struct switch_wred_params row = { .class = 5, .kmin_bytes = 70000, .kmax_bytes = 70000 };

	(void)state;
	expect_marks_of(5, &row, 40000, 1, 2);
	expect_marks_of(3, &row, 40000, 1, 5);
}

static void
thresholds_of_ecn_in_the_wrong_order_are_an_error(void **state)
{
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	rig.setup.all.ecn.kmin_bytes = 40001;
	rig.setup.all.ecn.kmax_bytes = 40000;
	frig_flow(&rig, "a", "b", 3);
	assert_true(frig_start(&rig) < 0);
	assert_non_null(strstr(rig.err.text, "kmin 40001 B lies above kmax 40000 B"));
	frig_stop(&rig);
}

static void
ecn_off_marks_nothing(void **state)
{
	struct frig_host *b;
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	rig.setup.all.ecn.enabled = false;
	rig.setup.all.ecn.kmin_bytes = 0;
	rig.setup.all.ecn.kmax_bytes = 10;
	uint32_t flow = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	frig_send(&rig, flow, 0, 1000, 11);
	frig_run(&rig, 100 * PS_PER_US);
	b = frig_host(&rig, "b");
	assert_int_equal(b->ngot, 11);
	for (uint32_t j = 0; j < 11; j++)
		assert_int_equal(b->got[j].flags & PKT_CE, 0);
	frig_stop(&rig);
}

static void
every_hop_takes_from_ttl(void **state)
{
	struct pkt p = { .wire_bytes = 500, .type = PKT_DATA, .prio = 3 };
	const struct drop_count *drops;
	struct frig rig;

	(void)state;
	frig_init(&rig, wide);
	p.flow = frig_flow(&rig, "a", "b", 3);
	start(&rig);
	for (p.ttl = 1; p.ttl <= 3; p.ttl++)
		frig_send_pkt(&rig, 0, &p);
	frig_run(&rig, 10 * PS_PER_US);
	assert_int_equal(frig_host(&rig, "b")->ngot, 2);
	assert_int_equal(frig_host(&rig, "b")->got[0].ttl, 1);
	assert_int_equal(frig_host(&rig, "b")->got[1].ttl, 2);
	drops = &frig_switch(&rig, "S")->ports[PORT_A].telem.drops->of[REC_DROP_TTL];
	assert_int_equal(drops->packets, 1);
	assert_int_equal(drops->bytes, 500);
	assert_int_equal(drops->first_ps, (40 + DELAY_NS) * NS);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* A class without PFC: frame 0 leaves at once, 3 fit the queue, the others of ten are lost by name. */
static void
lossy_classes_drop_at_the_tail(void **state)
{
	const struct drop_count *drops;
	struct frig_host *b;
	struct frig rig;

	(void)state;
	frig_init(&rig, narrow);
	rig.setup.all.params.lossy_queue_bytes = 3999;
	uint32_t flow = frig_flow(&rig, "a", "b", 1);
	start(&rig);
	frig_send(&rig, flow, 0, 1000, 10);
	frig_run(&rig, 100 * PS_PER_US);
	b = frig_host(&rig, "b");
	assert_int_equal(b->ngot, 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(b->got[i].psn, i);
	drops = &frig_switch(&rig, "S")->ports[PORT_B].telem.drops->of[REC_DROP_QUEUE_FULL];
	assert_int_equal(drops->packets, 6);
	assert_int_equal(frig_host(&rig, "a")->npauses, 0);
	assert_true(frig_conserves(&rig));
	frig_stop(&rig);
}

/* Two senders that pause and are paused, on so many lcores. @return digest */
static uint64_t
digest_on(uint32_t lcores)
{
	uint64_t digest;
	struct frig rig;

	frig_init(&rig, narrow);
	static_pfc(&rig);
	rig.fabric_config.lcores = lcores;
	uint32_t one = frig_flow(&rig, "a", "b", 3), other = frig_flow(&rig, "c", "b", 3);

	start(&rig);
	frig_send(&rig, one, 0, 1000, 60);
	frig_send(&rig, other, 5 * PS_PER_US, 700, 60);
	frig_run(&rig, 200 * PS_PER_US);
	assert_true(frig_host(&rig, "a")->npauses > 0);
	assert_int_equal(frig_host(&rig, "b")->ngot, 120);
	assert_true(frig_conserves(&rig));
	digest = fabric_digest(rig.fabric);
	frig_stop(&rig);
	return digest;
}

static void
lcores_change_nothing(void **state)
{
	uint64_t alone = digest_on(1);

	(void)state;
	assert_true(digest_on(2) == alone);
	assert_true(digest_on(3) == alone);
}

UNIT_TEST(switch)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(class_0_overtakes),
		cmocka_unit_test(who_overtakes_data_is_counted),
		cmocka_unit_test(a_class_of_cnps_overtakes),
		cmocka_unit_test(a_strict_class_overtakes),
		cmocka_unit_test(what_is_no_class_is_refused),
		cmocka_unit_test(data_classes_share_by_weight),
		cmocka_unit_test(ecn_marks_by_what_is_left_behind),
		cmocka_unit_test(ecn_marks_a_step_where_thresholds_are_equal),
		cmocka_unit_test(ecn_marks_classes_without_pfc),
		cmocka_unit_test(a_class_has_thresholds_of_its_own),
		cmocka_unit_test(thresholds_of_ecn_in_the_wrong_order_are_an_error),
		cmocka_unit_test(ecn_off_marks_nothing),
		cmocka_unit_test(every_hop_takes_from_ttl),
		cmocka_unit_test(lossy_classes_drop_at_the_tail),
		cmocka_unit_test(lcores_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

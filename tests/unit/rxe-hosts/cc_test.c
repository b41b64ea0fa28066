/* SPDX-License-Identifier: BSD-3-Clause */
/* What a host passes to its congestion control: ACKs, losses, and telemetry that returns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rxe-hosts/roce/cc/algorithms.h"
#include "tests/unit/rxe-hosts/nic_rig.h"
#include "tests/unit/unit.h"

static struct {
	struct cc_ack acks[64];
	uint16_t hops[64]; /* of their telemetry */
	uint64_t hop[64];
	uint32_t nacks, naks, timeouts, resets;
} received;

static void
receive_reset(struct cc *cc, const struct cc_params *params)
{
	received.resets++;
	cc->window_bytes = 4 * 1300;
	cc->rate_bps = cc->line_bps / 2;
}

static void
receive_ack(struct cc *cc, const struct cc_params *params, const struct cc_ack *ack)
{
	uint32_t at = received.nacks < 64 ? received.nacks++ : 63;

	received.acks[at] = *ack;
	if (ack->telemetry == NULL)
		return;
	received.hops[at] = ack->telemetry->count;
	received.hop[at] = ack->telemetry->hops[0];
}

static void
receive_loss(struct cc *cc, const struct cc_params *params, enum cc_loss loss, uint64_t now_ps)
{
	received.naks += loss == CC_LOSS_NAK;
	received.timeouts += loss == CC_LOSS_TIMEOUT;
}

static const struct cc_ops ears = { .name = "ears", .reset = receive_reset, .acked = receive_ack, .lost = receive_loss };

static int
setup_ears(void **state)
{
	memset(&received, 0, sizeof(received));
	setup(state);
	rig.params.cc.ops = &ears;
	return 0;
}

/* Half of the line's rate: 1348 B each 214 ns (quantum 1 ns: 215.68 floored); no more than 4 packets in flight. */
static void
test_rate_and_window_are_obeyed(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig_start(&rig);
	rig_send(&rig, flow, 20 * 1300, 1);
	rig_run(&rig, 1000 * NS);
	assert_int_equal(rig.sent[0][PKT_DATA], 4); /* and then the window is full */
	rig_run(&rig, 100 * PS_PER_US);
	assert_int_equal(received.nacks, 20);
	assert_int_equal(received.resets, 1);
	assert_int_equal(received.acks[1].now_ps - received.acks[0].now_ps, 215 * NS);
}

static void
test_an_ack_reports_what_it_acknowledges(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig.params.ack_every = 2;
	rig_start(&rig);
	rig_send(&rig, flow, 6 * 1300, 1);
	rig_run(&rig, 100 * PS_PER_US);
	assert_int_equal(received.nacks, 3);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(received.acks[i].acked, 2);
		assert_int_equal(received.acks[i].una, rig.first_psn + 2 * (i + 1));
		assert_true(received.acks[i].nxt >= received.acks[i].una);
		assert_int_equal(received.acks[i].rtt_ps, (107 + 1000 + 4 + 1000) * NS);
		assert_int_equal(received.acks[i].switches, 0);
		assert_null(received.acks[i].telemetry);
	}
}

static bool
lose_third_once(struct rig *g, uint32_t from, struct pkt *p)
{
	return p->type != PKT_DATA || p->psn != g->first_psn + 2 || g->state++ != 0;
}

static bool
lose_all_acks(struct rig *g, uint32_t from, struct pkt *p)
{
	return p->type == PKT_DATA;
}

static void
test_losses_are_reported_by_kind(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig.filter = lose_third_once;
	rig_start(&rig);
	rig_send(&rig, flow, 6 * 1300, 1);
	rig_run(&rig, 100 * PS_PER_US);
	assert_non_null(rig_wc(&rig, 0, WC_SENT, 0));
	assert_int_equal(received.naks, 1);
	assert_int_equal(received.timeouts, 0);
	rig.filter = lose_all_acks;
	rig_send(&rig, flow, 1300, 2);
	rig_run(&rig, 9 * PS_PER_MS);
	assert_int_equal(received.timeouts, 1);
}

static void
stamp(struct rig *g, const struct pkt *p, struct int_header *header)
{
	if (p->type == PKT_DATA)
		int_push(header, 9, p->psn);
}

/* A packet's ACK brings its own telemetry back; 42 B more on the wire, there and back. */
static void
test_telemetry_returns(void **state)
{
	static struct cc_ops inband;
	uint32_t flow = rig_flow(&rig, 0, 0);

	inband = ears;
	inband.inband = true;
	rig.params.cc.ops = &inband;
	rig.params.int_bytes = INT_WIRE_BYTES;
	rig.stamp = stamp;
	rig_start(&rig);
	rig_send(&rig, flow, 10 * 1300, 1);
	rig_run(&rig, 100 * PS_PER_US);
	assert_int_equal(received.nacks, 10);
	for (uint32_t i = 0; i < 10; i++) {
		assert_int_equal(received.hops[i], 1);
		assert_int_equal(received.hop[i], rig.first_psn + i);
	}
}

static void
test_telemetry_counts_on_the_wire(void **state)
{
	const struct roce_cfg cfg = { .mtu_bytes = 1024, .window = "none" };
	struct cc_params cc = { .ops = &cc_hpcc };
	struct roce_params params;
	struct err err = { "" };

	assert_int_equal(roce_params_init(&params, &cfg, &cc, 0, &err), 0);
	assert_int_equal(roce_data_bytes(&params, 1024, false, false), 1106 + 42);
	assert_int_equal(params.middle_bytes, 1106 + 42);
	assert_int_equal(params.ack_bytes, 86 + 42);
	assert_int_equal(params.cnp_bytes, 98);
	assert_int_equal(roce_ud_bytes(&params, 64), 82 + 8 + 4 + 64);
}

UNIT_TEST(cc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rate_and_window_are_obeyed, setup_ears, teardown),
		cmocka_unit_test_setup_teardown(test_an_ack_reports_what_it_acknowledges, setup_ears, teardown),
		cmocka_unit_test_setup_teardown(test_losses_are_reported_by_kind, setup_ears, teardown),
		cmocka_unit_test_setup_teardown(test_telemetry_returns, setup_ears, teardown),
		cmocka_unit_test(test_telemetry_counts_on_the_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

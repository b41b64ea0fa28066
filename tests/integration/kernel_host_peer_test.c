/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An embedded host and an external host speak RoCEv2 with each other: the test is the peer, frame by frame. WRITE and SEND
 * with immediate in both directions, UD, ACK, NAK, what is lost and sent again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/integration/kernel_host_rig.h"
#include "tests/unit/dpswitch/peer_rig.h"
#include "tests/unit/unit.h"

/* 600 B in three segments; the second is lost, asked for and sent again with what follows. Then a SEND. */
static void
messages_from_a_kernel_host_arrive_whole(void **state)
{
	static struct talk t;
	const uint8_t *data;

	(void)state;
	begin(&t);
	data = t.region; /* any bytes */
	assert_int_equal(t.dev->ops->post_receive(t.dev, t.to_e, 30000, 1000), 0);
	from_a(&t, 0, ROCE_RC_WRITE_FIRST, 0, data, MTU, 4000, 0);
	from_a(&t, 0, ROCE_RC_WRITE_LAST_IMM, 2, data + 2 * MTU, 88, 0, 0xabcd);
	from_a(&t, 1 * MS, ROCE_RC_WRITE_MIDDLE, 1, data + MTU, MTU, 0, 0);
	from_a(&t, 1 * MS, ROCE_RC_WRITE_LAST_IMM, 2, data + 2 * MTU, 88, 0, 0xabcd);
	from_a(&t, 1 * MS, ROCE_RC_WRITE_LAST_IMM, 2, data + 2 * MTU, 88, 0, 0xabcd); /* again */
	from_a(&t, 2 * MS, ROCE_RC_SEND_FIRST, 3, data + 5000, MTU, 0, 0);
	from_a(&t, 2 * MS, ROCE_RC_SEND_LAST_IMM, 4, data + 5000 + MTU, 7, 0, 77);
	from_a(&t, 3 * MS, ROCE_RC_SEND_ONLY_IMM, 5, data, 10, 0, 78);      /* no receive is posted */
	from_a(&t, 4 * MS, ROCE_RC_WRITE_ONLY, 5, data, 10, REGION - 5, 0); /* beyond the region */
	from_a(&t, 5 * MS, ROCE_RC_WRITE_ONLY, 5, data, 10, 0, 0);          /* silent */
	xrig_run(&t.x, 20 * PS_PER_MS);
	assert_int_equal(t.nwcs, 2);
	assert_int_equal(t.wcs[0].opcode, WC_RECEIVED);
	assert_int_equal(t.wcs[0].imm, 0xabcd);
	assert_int_equal(t.wcs[0].bytes, 2 * MTU + 88);
	assert_int_equal(t.wcs[1].imm, 77);
	assert_int_equal(t.wcs[1].bytes, MTU + 7);
	assert_int_equal(t.accepts, 2);
	assert_memory_equal(t.got + 4000, data, 2 * MTU + 88);
	assert_memory_equal(t.got + 30000, data + 5000, MTU + 7);
	assert_int_equal(t.x.ports[0]->nout, 9);
	expect_reply(&t, 0, AETH_ACK, 0, 0);
	expect_reply(&t, 1, AETH_NAK_SEQUENCE, 1, 0);
	expect_reply(&t, 2, AETH_ACK, 1, 0);
	expect_reply(&t, 3, AETH_ACK, 2, 1);
	expect_reply(&t, 4, AETH_ACK, 2, 1);
	expect_reply(&t, 5, AETH_ACK, 3, 1);
	expect_reply(&t, 6, AETH_ACK, 4, 2);
	assert_int_equal(at_a(&t, 7).syndrome & AETH_KIND_MASK, 0x20);
	expect_reply(&t, 8, AETH_ACK, 5, 3);
	finish(&t);
}

/* e writes 600 B and sends 10 B; a loses the second segment, says so, then takes all. */
static void
messages_to_a_kernel_host_are_right_in_every_byte(void **state)
{
	static struct talk t;
	struct send_wr wr = { .wr_id = 1, .bytes = 600, .local_offset = 100, .remote_offset = 0x20, .imm = 0x1234 };
	struct frame f;

	(void)state;
	begin(&t);
	assert_int_equal(t.dev->ops->post_send(t.dev, t.to_a, &wr), 0);
	wr = (struct send_wr){ .wr_id = 2, .bytes = 10, .local_offset = 5, .imm = 9, .send = true };
	assert_int_equal(t.dev->ops->post_send(t.dev, t.to_a, &wr), 0);
	reply_from_a(&t, 1 * MS, 0, AETH_ACK);
	reply_from_a(&t, 1 * MS, 1, AETH_NAK_SEQUENCE);
	reply_from_a(&t, 2 * MS, 3, AETH_ACK);
	xrig_run(&t.x, 20 * PS_PER_MS);
	assert_int_equal(t.x.ports[0]->nout, 4 + 3);
	for (uint32_t i = 0; i < 7; i++) {
		static const uint8_t opcodes[] = { ROCE_RC_WRITE_FIRST, ROCE_RC_WRITE_MIDDLE, ROCE_RC_WRITE_LAST_IMM,
						   ROCE_RC_SEND_ONLY_IMM };
		static const uint32_t offsets[] = { 100, 100 + MTU, 100 + 2 * MTU, 5 };
		static const uint32_t sizes[] = { MTU, MTU, 600 - 2 * MTU, 10 };
		uint32_t k = i < 4 ? i : i - 3; /* the second and all behind it again */

		f = at_a(&t, i);
		assert_int_equal(f.opcode, opcodes[k]);
		assert_int_equal(f.psn, k);
		assert_int_equal(f.dst_qpn, t.x.f.flows[t.to_a].dst_qpn);
		assert_int_equal(f.payload_bytes, sizes[k]);
		assert_memory_equal(f.payload, t.region + offsets[k], sizes[k]);
	}
	f = at_a(&t, 0);
	assert_int_equal(f.va, 0x7020);
	assert_int_equal(f.rkey, 5);
	assert_int_equal(f.dma_bytes, 600);
	assert_int_equal(at_a(&t, 2).imm, 0x1234);
	assert_int_equal(at_a(&t, 3).imm, 9);
	assert_int_equal(t.nwcs, 2);
	assert_int_equal(t.wcs[0].opcode, WC_SENT);
	assert_int_equal(t.wcs[1].wr_id, 2);
	finish(&t);
}

static void
a_refusal_of_a_kernel_host_ends_the_qp(void **state)
{
	static struct talk t;
	const struct send_wr wr = { .wr_id = 1, .bytes = 600 };

	(void)state;
	begin(&t);
	assert_int_equal(t.dev->ops->post_send(t.dev, t.to_a, &wr), 0);
	reply_from_a(&t, 1 * MS, 0, AETH_NAK_SEQUENCE | 2); /* remote access error */
	xrig_run(&t.x, 20 * PS_PER_MS);
	assert_int_equal(t.nwcs, 1);
	assert_int_equal(t.wcs[0].opcode, WC_ERROR);
	assert_non_null(strstr(t.e->error, "refused"));
	finish(&t);
}

static void
datagrams_cross_in_both_directions(void **state)
{
	static struct talk t;
	struct datagram out = { .bytes = 100, .arg = 0x55, .type = PKT_UD };
	struct frame f;

	(void)state;
	begin(&t);
	out.flow = t.to_a;
	assert_int_equal(t.dev->ops->post_receive(t.dev, t.to_e, 0, 1000), 0);
	assert_int_equal(t.dev->ops->post_datagram(t.dev, &out), 0);
	from_a(&t, 0, ROCE_UD_SEND_ONLY_IMM, 0, t.region, 64, 0, 0x66);
	xrig_run(&t.x, 5 * PS_PER_MS);
	assert_int_equal(t.nwcs, 0);
	assert_int_equal(t.datagram.arg, 0x66);
	assert_int_equal(t.datagram.bytes, 64);
	f = at_a(&t, 0);
	assert_int_equal(f.opcode, ROCE_UD_SEND_ONLY_IMM);
	assert_int_equal(f.imm, 0x55);
	assert_int_equal(f.qkey, 0x11111111);
	finish(&t);
}

/* A wrong ICRC, another QP, an answer to nothing, a flow of nobody's: dropped by name, and nobody is disturbed. */
static void
what_is_not_for_the_host_is_dropped(void **state)
{
	static struct talk t;
	uint8_t *bytes;

	(void)state;
	begin(&t);
	from_a(&t, 0, ROCE_RC_WRITE_ONLY_IMM, 0, t.region, 100, 0, 1);
	bytes = t.x.ports[0]->in[0].data;
	bytes[t.x.ports[0]->in[0].size - 1] ^= 1;
	t.x.f.flows[t.to_e].dst_qpn++;
	from_a(&t, 0, ROCE_RC_WRITE_ONLY_IMM, 0, t.region, 100, 0, 1);
	t.x.f.flows[t.to_e].dst_qpn--;
	t.x.f.flows[t.to_a].src_qpn++;
	reply_from_a(&t, 0, 0, AETH_ACK);
	t.x.f.flows[t.to_a].src_qpn--;
	t.x.f.flows[t.to_e].sport++;
	from_a(&t, 0, ROCE_RC_WRITE_ONLY_IMM, 0, t.region, 100, 0, 1);
	t.x.f.flows[t.to_e].sport--;
	xrig_run(&t.x, 5 * PS_PER_MS);
	assert_int_equal(t.nwcs, 0);
	assert_int_equal(t.x.ports[0]->nout, 0);
	assert_int_equal(t.e->ops->dropped(t.e, 0, REC_DROP_CORRUPT), 1);
	assert_int_equal(t.e->ops->dropped(t.e, 0, REC_DROP_NO_ROUTE), 3);
	finish(&t);
}

UNIT_TEST(kernel_host_peer)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_from_a_kernel_host_arrive_whole),
		cmocka_unit_test(messages_to_a_kernel_host_are_right_in_every_byte),
		cmocka_unit_test(a_refusal_of_a_kernel_host_ends_the_qp),
		cmocka_unit_test(datagrams_cross_in_both_directions),
		cmocka_unit_test(what_is_not_for_the_host_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

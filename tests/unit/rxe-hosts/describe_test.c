/* SPDX-License-Identifier: BSD-3-Clause */
/* What descriptors say of their headers, and senders beyond them, for every frame on a cable between two hosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/wire/roce.h"
#include "tests/unit/rxe-hosts/host_rig.h"
#include "tests/unit/unit.h"

#define MAX_SEEN 1024

static struct rig rig;
static struct {
	struct pkt pkt;
	struct pkt_message message;
} seen[MAX_SEEN];
static uint32_t nseen, lose;

static int
setup(void **state)
{
	nseen = 0;
	lose = UINT32_MAX;
	rig_defaults(&rig);
	return 0;
}

static int
teardown(void **state)
{
	rig_stop(&rig);
	return 0;
}

static bool
watch(struct rig *g, uint32_t from, struct pkt *p)
{
	assert_true(nseen < MAX_SEEN);
	seen[nseen].pkt = *p;
	embedded_describe(g->shared, &g->params, p, &seen[nseen].message);
	return nseen++ != lose;
}

/* The n-th frame (from 0) of a type. */
static const struct pkt_message *
nth(enum pkt_type type, uint32_t n, const struct pkt **p)
{
	*p = NULL;
	for (uint32_t i = 0; i < nseen; i++) {
		if (seen[i].pkt.type == type && n-- == 0) {
			*p = &seen[i].pkt;
			return &seen[i].message;
		}
	}
	fail_msg("no such frame");
	return NULL;
}

static void
segments_of_a_message(void **state)
{
	const struct pkt_message *m;
	const struct pkt *p;
	struct send_wr wr = { .bytes = 2500, .local_offset = 100, .remote_offset = 7000, .imm = 9 };
	uint32_t flow = rig_flow(&rig, 0, 0);

	rig.params.real_payload = true;
	rig.filter = watch;
	rig_start(&rig);
	rig.hosts[0].dev->ops->register_region(rig.hosts[0].dev, rig.hosts[0].region, RIG_REGION_BYTES);
	rig_send(&rig, flow, 1000, 1);
	assert_int_equal(rig.hosts[0].dev->ops->post_send(rig.hosts[0].dev, flow, &wr), 0);
	rig_run(&rig, 5 * PS_PER_US);

	m = nth(PKT_DATA, 0, &p);
	assert_int_equal(p->opcode, ROCE_RC_WRITE_ONLY_IMM);
	assert_int_equal(m->dma_bytes, 1000);
	for (uint32_t i = 0; i < 3; i++) {
		m = nth(PKT_DATA, 1 + i, &p);
		assert_int_equal(p->arg, 9);
		assert_int_equal(m->dma_bytes, 2500);
		assert_int_equal(m->va, 7000);
		assert_ptr_equal(m->payload, rig.hosts[0].region + 100 + 1024 * i);
	}
}

/* MSN: messages completed, as the responder has them. ACKs of a message under way report those before it. */
static void
answers_count_messages(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0), n = 0;
	const struct pkt *p;

	rig.filter = watch;
	rig_start(&rig);
	for (uint64_t round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < 40; i++) /* in all more than there are slots */
			assert_int_equal(rig_send(&rig, flow, 2048, i), 0);
		rig_run(&rig, (round + 1) * 12 * PS_PER_US);
	}
	for (; n < 240; n++) {
		nth(PKT_ACK, n, &p);
		assert_int_equal(p->psn, n);
		assert_int_equal(p->arg, (n + 1) / 2);
	}
}

static void
a_nak_asks_for_what_is_not_complete(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);
	const struct pkt *p;

	rig.filter = watch;
	lose = 3; /* the second segment of the second message */
	rig_start(&rig);
	for (uint64_t i = 0; i < 3; i++)
		rig_send(&rig, flow, 2048, i);
	rig_run(&rig, 20 * PS_PER_US);
	nth(PKT_NAK, 0, &p);
	assert_int_equal(p->psn, 3);
	assert_int_equal(p->syndrome, AETH_NAK_SEQUENCE);
	assert_int_equal(p->arg, 1);
}

/* Where a duplicate went whose message's slot is another's by now, nobody remembers. */
static void
a_late_duplicate_is_forgotten(void **state)
{
	struct send_wr wr = { .bytes = 2048, .remote_offset = 7000 };
	uint32_t flow = rig_flow(&rig, 0, 0);
	const struct pkt *first;
	struct pkt_message m;

	rig.filter = watch;
	rig_start(&rig);
	assert_int_equal(rig.hosts[0].dev->ops->post_send(rig.hosts[0].dev, flow, &wr), 0);
	rig_run(&rig, 5 * PS_PER_US);
	nth(PKT_DATA, 0, &first);
	embedded_describe(rig.shared, &rig.params, first, &m);
	assert_int_equal(m.va, 7000);
	for (uint64_t i = 0; i < 64; i++) {
		rig_send(&rig, flow, 2048, i);
		rig_run(&rig, (10 + 5 * i) * PS_PER_US);
	}
	embedded_describe(rig.shared, &rig.params, first, &m);
	assert_int_equal(m.va, 0);
	assert_int_equal(m.dma_bytes, 0);
	assert_null(m.payload);
}

UNIT_TEST(describe)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(segments_of_a_message, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_count_messages, setup, teardown),
		cmocka_unit_test_setup_teardown(a_nak_asks_for_what_is_not_complete, setup, teardown),
		cmocka_unit_test_setup_teardown(a_late_duplicate_is_forgotten, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What headers say beyond descriptors, looked up for every frame on a cable between two hosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rxe-hosts/roce/rc_recv.h"
#include "tests/unit/rxe-hosts/host_rig.h"

#define MAX_SEEN 1024

static struct rig rig;
static struct {
	struct pkt pkt;
	struct embedded_message message;
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
static const struct embedded_message *
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
	const struct embedded_message *m;
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
	assert_true(m->first && m->write && m->with_imm);
	assert_int_equal(m->bytes, 1000);
	for (uint32_t i = 0; i < 3; i++) {
		m = nth(PKT_DATA, 1 + i, &p);
		assert_int_equal(m->first, i == 0);
		assert_int_equal(m->imm, 9);
		assert_int_equal(m->bytes, 2500);
		assert_int_equal(m->remote_offset, 7000);
		assert_ptr_equal(m->payload, rig.hosts[0].region + 100 + 1024 * i);
	}
}

/* MSN: messages completed, as the responder has them. ACKs of a message under way tell of those before it. */
static void
answers_count_messages(void **state)
{
	const struct embedded_message *m;
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
		m = nth(PKT_ACK, n, &p);
		assert_int_equal(p->psn, n);
		assert_int_equal(m->msn, (n + 1) / 2);
	}
}

static void
a_nak_asks_for_what_is_not_complete(void **state)
{
	const struct embedded_message *m;
	uint32_t flow = rig_flow(&rig, 0, 0);
	const struct pkt *p;

	rig.filter = watch;
	lose = 3; /* the second segment of the second message */
	rig_start(&rig);
	for (uint64_t i = 0; i < 3; i++)
		rig_send(&rig, flow, 2048, i);
	rig_run(&rig, 20 * PS_PER_US);
	m = nth(PKT_NAK, 0, &p);
	assert_int_equal(p->psn, 3);
	assert_int_equal(m->msn, 1);
}

/* A duplicate whose message's slot is another's by now still has the headers that its size has room for. */
static void
a_late_duplicate_keeps_its_shape(void **state)
{
	uint32_t flow = rig_flow(&rig, 0, 0);
	const struct pkt *first, *middle;
	struct embedded_message m;

	rig.filter = watch;
	rig_start(&rig);
	rig_send(&rig, flow, 2048, 0);
	rig_run(&rig, 5 * PS_PER_US);
	for (uint64_t i = 0; i < 64; i++) {
		rig_send(&rig, flow, 2048, i);
		rig_run(&rig, (10 + 5 * i) * PS_PER_US);
	}
	nth(PKT_DATA, 0, &first);
	nth(PKT_DATA, 1, &middle);
	embedded_describe(rig.shared, &rig.params, first, &m);
	assert_true(m.first && m.write && !m.with_imm);
	assert_null(m.payload);
	embedded_describe(rig.shared, &rig.params, middle, &m);
	assert_true(!m.first && m.write && m.with_imm);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(segments_of_a_message, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_count_messages, setup, teardown),
		cmocka_unit_test_setup_teardown(a_nak_asks_for_what_is_not_complete, setup, teardown),
		cmocka_unit_test_setup_teardown(a_late_duplicate_keeps_its_shape, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What befalls a packet depends on the packet alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/pkt_chance.h"
#include "tests/unit/unit.h"

#define DRAWS 100000

static struct flow flows[] = {
	{ .src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 7, .dport = 4791 },
	{ .src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 8, .dport = 4791 },
	{ .src_ip = 0x0a000001, .dst_ip = 0x0a000002, .sport = 7, .dport = 4791 },
};
static const struct flow_table table = { .flows = flows, .count = 3 };

static double
draw(enum pkt_chance_of of, uint32_t place, const struct pkt *p)
{
	return pkt_chance(pkt_chance_stream(1, of, place), &table, p);
}

/* Packets one after another, flows, places, and what may happen there: uniform, and unlike each other. */
static void
draws_are_uniform_and_unlike(void **state)
{
	static const struct {
		enum pkt_chance_of of;
		uint32_t place, flow;
	} rows[] = { { PKT_CHANCE_LOSS, 1, 0 }, { PKT_CHANCE_LOSS, 1, 1 },       { PKT_CHANCE_LOSS, 2, 0 },
		     { PKT_CHANCE_ECN, 1, 0 },  { PKT_CHANCE_CORRUPTION, 1, 0 }, { PKT_CHANCE_DELAY, 1, 0 } };
	const size_t nrows = sizeof(rows) / sizeof(*rows);

	(void)state;
	for (size_t a = 0; a < nrows; a++) {
		for (size_t b = 0; b <= a; b++) {
			double sum = 0, both = 0;

			for (uint32_t psn = 0; psn < DRAWS; psn++) {
				const struct pkt one = { .psn = psn, .flow = rows[a].flow, .ttl = 64 };
				const struct pkt next = { .psn = psn + (a == b), .flow = rows[b].flow, .ttl = 64 };
				double x = draw(rows[a].of, rows[a].place, &one),
				       y = draw(rows[b].of, rows[b].place, &next);

				assert_true(x >= 0 && x < 1);
				sum += x;
				both += (x - 0.5) * (y - 0.5);
			}
			/* Five standard deviations. */
			assert_true(fabs(sum / DRAWS - 0.5) < 5 / sqrt(12.0 * DRAWS));
			assert_true(fabs(both / DRAWS) < 5 / (12 * sqrt(DRAWS)));
		}
	}
}

static void
a_flow_is_known_by_its_names(void **state)
{
	const struct pkt here = { .psn = 5, .flow = 0, .time_ps = 1 }, there = { .psn = 5, .flow = 2, .time_ps = 9 };
	struct pkt ack = { .type = PKT_ACK, .psn = 5, .time_ps = 1 }, again = here;
	double first;

	(void)state;
	assert_true(draw(PKT_CHANCE_LOSS, 1, &here) == draw(PKT_CHANCE_LOSS, 1, &there));
	first = draw(PKT_CHANCE_LOSS, 1, &ack);
	ack.time_ps = 2;
	assert_true(draw(PKT_CHANCE_LOSS, 1, &ack) != first);
	again.tag = 0x83;
	assert_true(draw(PKT_CHANCE_LOSS, 1, &here) == draw(PKT_CHANCE_LOSS, 1, &again));
	again.flags = PKT_RETRANSMIT;
	first = draw(PKT_CHANCE_LOSS, 1, &again);
	assert_true(first != draw(PKT_CHANCE_LOSS, 1, &here));
	again.time_ps = 2;
	assert_true(draw(PKT_CHANCE_LOSS, 1, &again) != first);
}

UNIT_TEST(pkt_chance)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draws_are_uniform_and_unlike),
		cmocka_unit_test(a_flow_is_known_by_its_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

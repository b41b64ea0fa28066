/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots for flows that nobody planned: when one may be given to another flow, and what remembers flows hears of it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "dpswitch/edge/kernel_host/classify.h"
#include "tests/unit/alloc.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define IDLE_PS 1000

static const char pair[] = "topology = { kind = \"explicit\"; rate = \"10Gbps\"; delay = \"1us\"; switches = [ \"s\" ]; "
			   "hosts = [ \"a\", \"b\" ]; links = ( \"s a\", \"s b\" ); };";

static struct tuple
tuple_of(const struct frig *rig, uint16_t sport)
{
	return (struct tuple){
		.src_ip = topo_nic_ip(topo_find(rig->topo, "a"), 0),
		.dst_ip = topo_nic_ip(topo_find(rig->topo, "b"), 0),
		.sport = sport,
		.dport = 9,
		.protocol = 17,
	};
}

/* @return the slot, LOOKUP_NONE: none was to be had */
static uint32_t
add(struct lookup *lookup, const struct frig *rig, uint16_t sport, uint64_t now_ps)
{
	static const _Atomic uint32_t in_flight[2];
	struct tuple tuple = tuple_of(rig, sport);
	bool recycled;

	return lookup_add(lookup, &tuple, 1, now_ps, in_flight, &recycled);
}

static void
begin(struct frig *rig, struct lookup *lookup, uint32_t spares)
{
	frig_init(rig, pair);
	rig->table.spares = spares;
	assert_int_equal(lookup_init(lookup, rig->topo, &rig->table, IDLE_PS), 0);
}

static void
end(struct frig *rig, struct lookup *lookup)
{
	lookup_fini(lookup);
	frig_stop(rig);
}

/* NICs are at times of their own within a window: another's last packet may be later than the asker's now. */
static void
a_slot_seen_later_than_now_is_in_use(void **state)
{
	struct lookup lookup;
	struct frig rig;
	uint32_t slot;

	(void)state;
	begin(&rig, &lookup, 1);
	slot = add(&lookup, &rig, 1, 100);
	assert_int_not_equal(slot, LOOKUP_NONE);
	lookup_touch(&lookup, slot, 5000);
	assert_int_equal(add(&lookup, &rig, 2, 2000), LOOKUP_NONE);
	assert_int_equal(add(&lookup, &rig, 2, 5000 + IDLE_PS - 1), LOOKUP_NONE);
	assert_int_equal(add(&lookup, &rig, 2, 5000 + IDLE_PS), slot);
	assert_int_equal(lookup.recycled, 1);
	end(&rig, &lookup);
}

/* Also a flow that takes a slot nobody had: what is an answer to it was something else before. */
static void
a_new_flow_is_a_new_generation(void **state)
{
	struct lookup lookup;
	struct frig rig;
	uint32_t generation;

	(void)state;
	begin(&rig, &lookup, 2);
	for (uint16_t sport = 1; sport <= 4; sport++) {
		generation = lookup_generation(&lookup);
		assert_int_not_equal(add(&lookup, &rig, sport, sport * 2 * IDLE_PS), LOOKUP_NONE);
		assert_int_not_equal(lookup_generation(&lookup), generation);
	}
	end(&rig, &lookup);
}

/* Only hosts of the topology have flows, and not with themselves. */
static void
a_flow_of_no_two_hosts_takes_no_slot(void **state)
{
	static const _Atomic uint32_t in_flight[2];
	struct lookup lookup;
	struct tuple tuple;
	struct frig rig;
	bool recycled;

	(void)state;
	begin(&rig, &lookup, 2);
	tuple = tuple_of(&rig, 1);
	tuple.src_ip = 0x08080808;
	assert_int_equal(lookup_add(&lookup, &tuple, 1, 0, in_flight, &recycled), LOOKUP_NONE);
	tuple = tuple_of(&rig, 1);
	tuple.dst_ip = 0x08080808;
	assert_int_equal(lookup_add(&lookup, &tuple, 1, 0, in_flight, &recycled), LOOKUP_NONE);
	tuple.dst_ip = tuple.src_ip;
	assert_int_equal(lookup_add(&lookup, &tuple, 1, 0, in_flight, &recycled), LOOKUP_NONE);
	assert_int_equal(lookup.taken, 0);
	end(&rig, &lookup);
}

/* Whatever their number, each planned flow is found by its tuple, and of two with one tuple the first. */
static void
planned_flows_are_found(void **state)
{
	static struct flow flows[3001];
	struct flow_table table = { .flows = flows, .count = 3000, .spares = 1 };
	struct lookup lookup;
	struct frig rig;

	(void)state;
	frig_init(&rig, pair);
	for (uint32_t i = 0; i < table.count; i++)
		flows[i] = (struct flow){ .src_ip = 1 + i % 7, .dst_ip = 100, .sport = (uint16_t)(i / 7) };
	flows[2999] = flows[5];
	for (uint64_t nth = 1; nth <= 4; nth++) {
		alloc_refuse(nth);
		assert_int_equal(lookup_init(&lookup, rig.topo, &table, IDLE_PS), -ENOMEM);
		assert_true(alloc_was_refused());
	}
	assert_int_equal(lookup_init(&lookup, rig.topo, &table, IDLE_PS), 0);
	for (uint32_t i = 0; i < table.count; i++) {
		const struct tuple tuple = { .src_ip = flows[i].src_ip,
					     .dst_ip = flows[i].dst_ip,
					     .sport = flows[i].sport,
					     .dport = ROCEV2_UDP_PORT,
					     .protocol = 17 };

		assert_int_equal(lookup_find(&lookup, &tuple), i == 2999 ? 5 : i);
		/* Another in any field is none of them, whatever chain it is looked for in. */
		for (int field = 0; field < 5; field++) {
			struct tuple other = tuple;

			other.src_ip += field == 0 ? 7 : 0;
			other.dst_ip += field == 1;
			other.sport = (uint16_t)(other.sport + (field == 2 ? 1000 : 0));
			other.dport = (uint16_t)(other.dport + (field == 3));
			other.protocol = field == 4 ? 6 : 17;
			assert_int_equal(lookup_find(&lookup, &other), LOOKUP_NONE);
		}
	}
	lookup_fini(&lookup);
	frig_stop(&rig);
}

UNIT_TEST(slots)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slot_seen_later_than_now_is_in_use),
		cmocka_unit_test(a_new_flow_is_a_new_generation),
		cmocka_unit_test(a_flow_of_no_two_hosts_takes_no_slot),
		cmocka_unit_test(planned_flows_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

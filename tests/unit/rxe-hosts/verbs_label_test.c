/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rxe-hosts/device/verbs/label.h"
#include "tests/unit/unit.h"

/* The label that the kernel turns into this port, for every port that can be. */
static void
every_port_has_a_label(void **state)
{
	for (uint32_t sport = VERBS_FIRST_SPORT; sport <= UINT16_MAX; sport++) {
		uint32_t label = verbs_flow_label((uint16_t)sport);

		assert_true(verbs_sport_possible((uint16_t)sport));
		assert_int_not_equal(label, 0); /* 0 leaves the port to the device */
		assert_true(label < 1u << 20);
		assert_int_equal(verbs_label_sport(label), sport);
	}
	assert_false(verbs_sport_possible(VERBS_FIRST_SPORT - 1));
	assert_false(verbs_sport_possible(4791));
}

/* rdma_flow_label_to_udp_sport() of Linux 6.1, include/rdma/ib_verbs.h, worked by hand. */
static void
labels_fold_as_in_the_kernel(void **state)
{
	assert_int_equal(verbs_label_sport(0x00001), 0xc001);
	assert_int_equal(verbs_label_sport(0x03fff), 0xffff);
	assert_int_equal(verbs_label_sport(0x04001), 0xc000);
	assert_int_equal(verbs_label_sport(0xfc000), 0xc03f);
	assert_int_equal(verbs_label_sport(0xabcde), 0xc000 | (0x3cde ^ 0x2a));
}

/*
 * hash_32(n, 14) of Linux 6.1, include/linux/hash.h, worked by hand; tests/sim/pingmesh/pingmesh_rxe_test.py sees that
 * frames have them.
 */
static void
ports_of_ud_qps_are_hashes_as_in_the_kernel(void **state)
{
	assert_int_equal(verbs_rxe_sport(0), 0xc000);
	assert_int_equal(verbs_rxe_sport(1), 0xc000 | 0x61c88647u >> 18);
	assert_int_equal(verbs_rxe_sport(17711), 0xc000); /* Fibonacci's numbers come close to 0 */
	assert_int_equal(verbs_rxe_sport(6765), 0xc001);
}

/* Wherever one begins to count, a port is no further away than a walk goes. */
static void
a_walk_passes_every_port(void **state)
{
	static uint32_t last[UINT16_MAX + 1u];

	memset(last, 0, sizeof(last));
	for (uint32_t qpn = 1; qpn < 1u << 20; qpn++) {
		uint16_t sport = verbs_rxe_sport(qpn);

		assert_true(sport >= VERBS_FIRST_SPORT);
		assert_true(qpn - last[sport] <= VERBS_PORTS_WALK);
		last[sport] = qpn;
	}
	for (uint32_t sport = VERBS_FIRST_SPORT; sport <= UINT16_MAX; sport++)
		assert_int_not_equal(last[sport], 0);
}

static void
ports_are_those_of_the_host_each_once(void **state)
{
	struct flow flows[] = {
		{ .src_node = 1, .dst_node = 2, .sport = 50001, .dport = ROCEV2_UDP_PORT, .kind = FLOW_PROBE },
		{ .src_node = 2, .dst_node = 1, .sport = 49999, .dport = ROCEV2_UDP_PORT, .kind = FLOW_COLLECTIVE },
		{ .src_node = 3, .dst_node = 1, .sport = 50001, .dport = ROCEV2_UDP_PORT, .kind = FLOW_PROBE },
		{ .src_node = 3, .dst_node = 2, .sport = 60000, .dport = ROCEV2_UDP_PORT, .kind = FLOW_PROBE },
		{ .src_node = 1, .dst_node = 2, .sport = 60001, .dport = ROCEV2_UDP_PORT, .kind = FLOW_CONTROL },
	};
	const struct flow_table table = { .flows = flows, .count = 5 };
	struct verbs_ports ports;

	assert_int_equal(verbs_ports_init(&ports, &table, 1), 0);
	assert_int_equal(ports.count, 2);
	assert_int_equal(verbs_ports_find(&ports, 49999), 0);
	assert_int_equal(verbs_ports_find(&ports, 50001), 1);
	assert_int_equal(verbs_ports_find(&ports, 60000), VERBS_NO_PORT);
	verbs_ports_fini(&ports);
	assert_int_equal(verbs_ports_init(&ports, &table, 9), 0);
	assert_int_equal(ports.count, 0);
	assert_int_equal(verbs_ports_find(&ports, 50001), VERBS_NO_PORT);
	verbs_ports_fini(&ports);
}

static void
classes_are_class_selectors(void **state)
{
	for (uint8_t prio = 0; prio < 8; prio++) {
		assert_int_equal(verbs_traffic_class(prio) >> 2, 8 * prio); /* DSCP */
		assert_int_equal(verbs_traffic_class(prio) & 3, 2);         /* ECT(0) */
	}
	assert_int_equal(verbs_traffic_class_of_tag(tag_make(0)), 0x0e); /* docs/wire-formats.md */
	assert_int_equal(verbs_traffic_class_of_tag(tag_make(15)), 0xfe);
}

static void
timeouts_are_no_shorter_than_asked(void **state)
{
	assert_int_equal(verbs_timeout(0), 0);
	assert_int_equal(verbs_timeout(1), VERBS_MIN_TIMEOUT);
	assert_int_equal(verbs_timeout(16777216000ull), VERBS_MIN_TIMEOUT);
	assert_int_equal(verbs_timeout(16777216001ull), 13);
	assert_int_equal(verbs_timeout(1073741824000ull), 18);
	assert_int_equal(verbs_timeout(1073741824001ull), 19);
	assert_int_equal(verbs_timeout(UINT64_MAX), VERBS_MAX_TIMEOUT);
}

UNIT_TEST(verbs_label)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_port_has_a_label),
		cmocka_unit_test(labels_fold_as_in_the_kernel),
		cmocka_unit_test(ports_of_ud_qps_are_hashes_as_in_the_kernel),
		cmocka_unit_test(a_walk_passes_every_port),
		cmocka_unit_test(ports_are_those_of_the_host_each_once),
		cmocka_unit_test(classes_are_class_selectors),
		cmocka_unit_test(timeouts_are_no_shorter_than_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Many lcores that give back a port's frames do not keep all of them in their caches. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_mbuf.h>

#include "common/array.h"
#include "tests/integration/port_rig.h"
#include "tests/unit/unit.h"

#define LCORES 16
#define MBUFS 2047
#define AT_ONCE 10
#define ROUNDS 19 /* fewer frames than a cache of 128 gives back of itself */

/* All of them on one CPU: there may be no other. */
static void
start_eal(void)
{
	char map[LCORES * 12] = "";
	char *argv[] = { (char[]){ "test" },          (char[]){ "--no-huge" },   (char[]){ "--no-pci" }, (char[]){ "-m" },
			 (char[]){ "128" },           (char[]){ "--no-shconf" }, (char[]){ "--lcores" }, map,
			 (char[]){ "--no-telemetry" } };
	size_t used = 0;
	cpu_set_t cpus;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	while (!CPU_ISSET(cpu, &cpus))
		cpu++;
	for (int i = 0; i < LCORES; i++)
		used += (size_t)snprintf(map + used, sizeof(map) - used, "%s%d@%d", i != 0 ? "," : "", i, cpu);
	assert_true(rte_eal_init(ARRAY_LEN(argv), argv) >= 0);
	assert_int_equal(rte_lcore_count(), LCORES);
}

static int
give_back(void *mbufs)
{
	rte_pktmbuf_free_bulk(mbufs, AT_ONCE);
	return 0;
}

static void
most_frames_are_free_for_who_receives(void **state)
{
	struct port_rig *rig = port_rig_create("p", MBUFS);
	struct rte_mbuf *mbufs[MBUFS];
	uint32_t count = 0;
	unsigned lcore;

	(void)state;
	RTE_LCORE_FOREACH_WORKER(lcore)
	{
		for (uint32_t i = 0; i < ROUNDS; i++) {
			if (rte_pktmbuf_alloc_bulk(rig->port.pool, mbufs, AT_ONCE) < 0)
				fail_msg("lcores keep all frames: none is left at lcore %u", lcore);
			assert_int_equal(rte_eal_remote_launch(give_back, mbufs, lcore), 0);
			rte_eal_wait_lcore(lcore);
		}
	}
	while (count < MBUFS && (mbufs[count] = rte_pktmbuf_alloc(rig->port.pool)) != NULL)
		count++;
	assert_in_range(count, MBUFS / 2, MBUFS);
	rte_pktmbuf_free_bulk(mbufs, count);
	port_rig_destroy(rig);
}

UNIT_TEST(port_cache)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(most_frames_are_free_for_who_receives),
	};

	start_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

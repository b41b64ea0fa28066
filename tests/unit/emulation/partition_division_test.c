/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "emulation/partition/boundary.h"
#include "tests/unit/unit.h"

#define FAT_TREE "topology = { kind = \"fat-tree\"; k = 8; rate = \"100Gbps\"; delay = \"2us\"; }; "
#define WORK "collectives = ( { op = \"allgather\"; algorithm = \"ring\"; bytes = \"1MB\"; } ); "
#define TWO                                                                                                                \
	"topology = { kind = \"explicit\"; hosts = [ \"h0\", \"h1\" ]; switches = [ \"a\", \"b\" ]; rate = \"1Gbps\"; "    \
	"delay = \"50us\"; links = ( \"h0 a\", \"h1 b\", \"a b\", \"a b\" ); }; "

static struct scenario *
load(const char *text)
{
	char path[] = "/tmp/division-test-XXXXXX";
	struct scenario_options options = { .path = path };
	FILE *file = fdopen(mkstemp(path), "w");
	struct scenario *sc;
	struct err err = { "" };

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	sc = scenario_load(&options, &err);
	unlink(path);
	if (sc == NULL)
		fail_msg("%s", err.text);
	return sc;
}

/* Work is even within a fifth, hosts are with their switch, and twice computed is the same. */
static void
test_even(void **state)
{
	struct scenario *sc = load(FAT_TREE WORK);
	const struct topo *topo = sc->topo;
	uint32_t *partition = calloc(topo->nnodes, sizeof(*partition)), *again = calloc(topo->nnodes, sizeof(*again));
	struct err err = { "" };

	(void)state;
	for (uint32_t partitions = 2; partitions <= 4; partitions += 2) {
		uint64_t work[4] = { 0 }, all = 0;
		uint32_t boundary = 0;

		assert_int_equal(division_make(sc, partitions, partition, &err), 0);
		assert_int_equal(division_make(sc, partitions, again, &err), 0);
		assert_memory_equal(partition, again, topo->nnodes * sizeof(*partition));
		for (uint32_t i = 0; i < topo->nnodes; i++) {
			uint64_t ports = topo->nodes[i].nports * (topo->nodes[i].kind == TOPO_HOST ? 2u : 1u);

			assert_in_range(partition[i], 0, partitions - 1);
			if (topo->nodes[i].kind == TOPO_HOST)
				assert_int_equal(partition[i], partition[topo_port_of(topo, i, 0)->peer]);
			work[partition[i]] += ports;
			all += ports;
		}
		for (uint32_t i = 0; i < topo->nlinks; i++)
			boundary += partition[topo->ports[topo->links[i].port[0]].node] !=
				    partition[topo->ports[topo->links[i].port[1]].node];
		for (uint32_t p = 0; p < partitions; p++)
			assert_in_range(work[p] * partitions * 100 / all, 80, 120);
		assert_true(boundary < topo->nlinks / 2);
	}
	free(partition);
	free(again);
	scenario_destroy(sc);
}

/* A scenario may say it, hosts too. */
static void
test_stated(void **state)
{
	struct scenario *sc = load(TWO WORK "partitions = ( { names = [ \"b\", \"h0\" ]; }, { names = [ \"a\" ]; } ); ");
	uint32_t partition[4];
	char name[DIVISION_NAME];
	struct err err = { "" };

	(void)state;
	assert_int_equal(division_make(sc, 2, partition, &err), 0);
	assert_int_equal(partition[topo_find(sc->topo, "a")], 1);
	assert_int_equal(partition[topo_find(sc->topo, "b")], 0);
	assert_int_equal(partition[topo_find(sc->topo, "h0")], 0);
	assert_int_equal(partition[topo_find(sc->topo, "h1")], 0);
	assert_string_equal(division_name(sc->topo, partition, 1, name), "partition 1 (a)");
	assert_string_equal(division_name(sc->topo, partition, 0, name), "partition 0 (h0, h1, b)");
	assert_int_equal(division_make(sc, 3, partition, &err), -EINVAL);
	assert_non_null(strstr(err.text, "the scenario has 2 partitions, and 3 are asked for"));
	scenario_destroy(sc);
}

static void
test_too_many(void **state)
{
	struct scenario *sc = load(TWO WORK);
	uint32_t partition[4];
	struct err err = { "" };

	(void)state;
	assert_int_equal(division_make(sc, 2, partition, &err), 0);
	assert_int_not_equal(partition[topo_find(sc->topo, "a")], partition[topo_find(sc->topo, "b")]);
	assert_int_equal(division_make(sc, 3, partition, &err), -EINVAL);
	assert_non_null(strstr(err.text, "3 partitions of 2 switches"));
	scenario_destroy(sc);
}

UNIT_TEST(partition_division)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_stated),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

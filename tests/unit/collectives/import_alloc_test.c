/* SPDX-License-Identifier: BSD-3-Clause */
/* Importers without memory: whichever allocation is refused, the file is, with a message, and nothing is lost. */
#include <errno.h>

#include "collectives/import/hpcc.h"
#include "common/array.h"
#include "tests/unit/alloc.h"
#include "tests/unit/collectives/chakra_rig.h"
#include "tests/unit/unit.h"

/* The first attempts each lack one allocation, the last none: it alone has a schedule. */
static void
each_refusal_is_reported(const struct import_options *options)
{
	uint64_t refused = 0;

	FOR_EACH_REFUSED(nth)
	{
		struct err err = { 0 };
		struct coll_schedule *schedule = import_schedule(options, &err);
		int rc = schedule != NULL ? 0 : errno;
		bool was = alloc_was_refused();

		if (was && (rc != ENOMEM || strstr(err.text, "memory") == NULL))
			fail_msg("allocation %u: %d \"%s\"", (unsigned)nth, rc, err.text);
		if (!was && schedule == NULL)
			fail_msg("%s", err.text);
		coll_schedule_destroy(schedule);
		if (!was)
			break;
		refused++;
	}
	assert_true(refused > 10);
}

static void
text_without_memory(enum import_kind kind, const char *text, uint64_t count_elems)
{
	const struct import_options options = {
		.kind = kind,
		.path = write_file("text", text, strlen(text)),
		.count_elems = count_elems,
		.elem_bytes = count_elems != 0 ? 4 : 1,
		.local_bps = 32000000000,
	};

	each_refusal_is_reported(&options);
	unlink(options.path);
}

/* Labels, dependencies, a set that is bundled, and lists that grow beyond their first size. */
static void
goal(void **state)
{
	static char text[1 << 15];
	size_t used = 0;

	used += (size_t)snprintf(text, sizeof(text), "num_ranks 2\nrank 0 {\n");
	for (int i = 0; i < 80; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "send 1b to 1 tag %d\n", i);
	used += (size_t)snprintf(text + used, sizeof(text) - used, "}\nrank 1 {\nj: calc 0\n");
	for (int i = 0; i < 80; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "r%d: recv 1b from 0 tag %d\nj requires r%d\n",
					 i, i, i);
	for (int i = 0; i < 30; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "c%d: calc 1 cpu %d\nc%d requires j\n", i, i, i);
	used += (size_t)snprintf(text + used, sizeof(text) - used, "k: calc 2\nk irequires c1\n}\n");
	assert_true(used < sizeof(text));
	text_without_memory(IMPORT_GOAL, text, 0);
}

#define STEP(s, type, src, dst, srcoff)                                                                                    \
	"<step s=\"" s "\" type=\"" type "\" srcbuf=\"" src "\" srcoff=\"" srcoff "\" dstbuf=\"" dst                       \
	"\" dstoff=\"0\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"1\"/>"
#define ADD(s, chunk)                                                                                                      \
	"<step s=\"" s "\" type=\"re\" srcbuf=\"s\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"" chunk                             \
	"\" cnt=\"1\" depid=\"0\" deps=\"" chunk "\" hasdep=\"0\"/>"
#define GPU(id, peer)                                                                                                      \
	"<gpu id=\"" id "\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"1\"><tb id=\"0\" send=\"" peer                        \
	"\" recv=\"-1\" chan=\"0\">" STEP("0", "s", "i", "s", "0")                                                         \
		STEP("1", "s", "i", "s", "1") "</tb><tb id=\"1\" send=\"-1\" recv=\"" peer                                 \
					      "\" chan=\"0\">" STEP("0", "r", "i", "s", "0") ADD("1", "0")                 \
						      STEP("2", "r", "i", "s", "0") ADD("3", "1") "</tb></gpu>"

/* The proof refuses it as it stands, and takes it with places for early messages: both without memory. */
static void
msccl(void **state)
{
	text_without_memory(IMPORT_MSCCL,
			    "<algo name=\"a\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"allreduce\" inplace=\"1\">" GPU(
				    "0", "1") GPU("1", "0") "</algo>",
			    20);
	/* The first operation of all is part of a step of two. */
	text_without_memory(IMPORT_MSCCL,
			    "<algo name=\"a\" nchunksperloop=\"1\" ngpus=\"2\" coll=\"reduce\" inplace=\"1\">"
			    "<gpu id=\"0\" i_chunks=\"1\" o_chunks=\"0\" s_chunks=\"0\">"
			    "<tb id=\"0\" send=\"-1\" recv=\"1\" chan=\"0\">" STEP(
				    "0", "rrc", "i", "i", "0") "</tb></gpu>"
							       "<gpu id=\"1\" i_chunks=\"1\" o_chunks=\"0\" s_chunks=\"0\">"
							       "<tb id=\"0\" send=\"0\" recv=\"-1\" chan=\"0\">" STEP(
								       "0", "s", "i", "i", "0") "</tb></gpu></algo>",
			    20);
}

/* Messages, computations and collectives, of all ranks and of a group that the file of groups defines. */
static void
chakra(void **state)
{
	char groups[2048] = "{ \"pair\": [0, 1]", groups_path[256], stem[128];
	struct import_options options = { .kind = IMPORT_CHAKRA, .path = folder, .elem_bytes = 1 };

	for (int i = 0; i < 70; i++) /* more than a list of groups has room for at first */
		sprintf(groups + strlen(groups), ", \"%d\": [0]", i);
	strcat(groups, " }");
	snprintf(groups_path, sizeof(groups_path), "%s", write_file("groups", groups, strlen(groups)));
	begin(5);
	for (uint32_t rank = 0; rank < 5; rank++) {
		collective(rank, 1, 0, 900, NULL, NULL, 0);
		compute(rank, 2, 5, DEPS(1));
		if (rank < 2)
			collective(rank, 3, 7, 64, "pair", DEPS(2));
	}
	send_or_receive(0, 4, SEND, 2, 10, 9, DEPS(3));
	send_or_receive(2, 4, RECV, 0, 10, 9, NULL, 0);
	write_traces();
	options.groups_path = groups_path;
	each_refusal_is_reported(&options);
	snprintf(stem, sizeof(stem), "%s/trace", folder);
	options.path = stem;
	each_refusal_is_reported(&options);
	remove_traces();
	unlink(groups_path);
}

/*
 * Whichever operation or dependency is the first that its list has no room for: of a collective's steps and ends, of a node
 * with several dependencies.
 */
static void
lists_grow_anywhere(void **state)
{
	const struct import_options options = { .kind = IMPORT_CHAKRA, .path = folder, .elem_bytes = 1 };

	for (uint64_t before = 0; before < 2; before++) {
		begin(5);
		for (uint64_t id = 1; id < 62 + before; id++) {
			const uint64_t deps[] = { id - 1, id - 2, id - 3, id - 4 };

			compute(0, id, 5, deps, id < 5 ? id - 1 : 4);
		}
		for (uint32_t rank = 0; rank < 5; rank++)
			collective(rank, 100, 0, 900, NULL, NULL, 0);
		write_traces();
		each_refusal_is_reported(&options);
	}
	remove_traces();
}

static int
import_hpcc(const void *input, FILE *to, struct err *err)
{
	return hpcc_import(input, to, err);
}

static void
hpcc(void **state)
{
	static const char topology[] = "3 1 2\n2\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 1000ns 0\n",
			  flow[] = "2\n0 1 3 100 1000 2.0\n1 0 3 100 1000 2.0\n", config[] = "CC_MODE 1\n";
	char topology_path[256], flow_path[256], config_path[256];
	const struct hpcc_files all = { .config = config_path, .topology = topology_path, .flow = flow_path };

	snprintf(topology_path, sizeof(topology_path), "%s", write_file("topology", topology, strlen(topology)));
	snprintf(flow_path, sizeof(flow_path), "%s", write_file("flow", flow, strlen(flow)));
	snprintf(config_path, sizeof(config_path), "%s", write_file("config", config, strlen(config)));
	assert_true(refuse_each_allocation(import_hpcc, &all) > 10);
	unlink(topology_path);
	unlink(flow_path);
	unlink(config_path);
}

UNIT_TEST(import_alloc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(goal),   cmocka_unit_test(msccl),
		cmocka_unit_test(chakra), cmocka_unit_test(lists_grow_anywhere),
		cmocka_unit_test(hpcc),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

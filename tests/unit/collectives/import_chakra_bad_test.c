/* SPDX-License-Identifier: BSD-3-Clause */
/* Chakra's execution traces: what is refused, by file, node and byte. */
#include "tests/unit/collectives/chakra_rig.h"
#include "tests/unit/unit.h"

static void
pair(uint64_t size)
{
	begin(2);
	send_or_receive(0, 0, SEND, 1, size, 9, NULL, 0);
	send_or_receive(1, 0, RECV, 0, 10, 9, NULL, 0);
}

static void
what_messages_cannot_be_is_refused(void **state)
{
	pair(0);
	refused("trace.0.et: node 0 at byte 8 is a message without comm_size");
	pair(UINT64_MAX);
	refused("comm_size that is negative or more than");
	pair(11);
	refused("sends 11 B to one that wants 10");
	pair(10);
	files[1].used = files[0].used = 8; /* nothing but the metadata */
	refused("a trace without messages");
	pair(10);
	files[1].used--;
	refused("trace.1.et: byte 8: the file ends within a message");
	pair(10);
	files[1].at[8] = 0xff;
	files[1].at[9] = 0xff;
	refused("trace.1.et: byte 8: the file ends within a message");
	pair(10);
	memset(files[1].at + 9, 0x07, files[1].used - 9); /* a wire type that there is not */
	refused("trace.1.et: byte 8: no Node");
	pair(10);
	files[1].used = 0;
	refused("trace.1.et is empty");
}

static void
what_nodes_cannot_be_is_refused(void **state)
{
	struct bytes message;

	pair(10);
	send_or_receive(0, 1, SEND, 0, 10, 9, NULL, 0);
	refused("is a send with comm_dst 0; another of the 2 ranks");
	pair(10);
	send_or_receive(0, 1, SEND, 1, 10, 9, DEPS(7));
	refused("waits for node 7, which the file has not");
	pair(10);
	send_or_receive(0, 1, RECV, 1, 10, 9, NULL, 0);
	refused("node 1 at byte 60 is a receive without a send");
	pair(10);
	send_or_receive(0, 0, SEND, 1, 10, 9, NULL, 0);
	refused("has the id of the node at byte 8");
	pair(10);
	compute(0, 1, 1, DEPS(2));
	compute(0, 2, 1, DEPS(1));
	refused("waits for itself, through");
	pair(10);
	compute(0, 1, UINT64_MAX, NULL, 0);
	refused("us at most would be right");
	pair(10);
	message = node(1, COMP, NULL, 0);
	put_attribute(&message, "num_ops", 9, 1000);
	end_node(0, &message);
	refused("but no duration");
	pair(10);
	message = node(1, 2, NULL, 0);
	end_node(0, &message);
	refused("remote memory");
	pair(10);
	message = node(1, 12, NULL, 0);
	end_node(0, &message);
	refused("has type 12; 1 to 7");
	pair(10);
	message = node(1, COMP, NULL, 0);
	put_text(&message, "comm_size", "ten");
	end_node(0, &message);
	refused("comm_size that is no whole number");
}

static void
what_collectives_cannot_be_is_refused(void **state)
{
	begin(2);
	collective(0, 0, 0, 100, NULL, NULL, 0);
	refused("of which rank 1 has fewer: it would never end");
	begin(2);
	collective(0, 0, 0, 100, NULL, NULL, 0);
	collective(1, 0, 0, 200, NULL, NULL, 0);
	refused("is another collective than");
	begin(2);
	for (uint32_t rank = 0; rank < 2; rank++)
		collective(rank, 0, 0, 100, "7", NULL, 0);
	refused("group \"7\", whose ranks are neither");
	begin(2);
	for (uint32_t rank = 0; rank < 2; rank++)
		collective(rank, 0, 3, 100, NULL, NULL, 0);
	refused("is a GATHER, which there is no algorithm for");
	begin(2);
	for (uint32_t rank = 0; rank < 2; rank++)
		collective(rank, 0, 77, 100, NULL, NULL, 0);
	refused("without a comm_type of 0 to 9");
	/* Two that two ranks join in opposite order wait for each other. */
	begin(2);
	for (uint32_t rank = 0; rank < 2; rank++) {
		struct bytes meta = node(9, METADATA, NULL, 0), in_out = { .used = 0 };
		static const char inputs[] =
			"[{\"pg_name\": \"1\", \"ranks\": [0, 1]}, {\"pg_name\": \"2\", \"ranks\": [0, 1]}]";

		put_block(&in_out, 1, inputs, sizeof(inputs) - 1);
		put_block(&meta, 8, in_out.at, in_out.used);
		end_node(rank, &meta);
		collective(rank, 1, 0, 100, rank == 0 ? "1" : "2", NULL, 0);
		collective(rank, 2, 0, 100, rank == 0 ? "2" : "1", DEPS(1));
	}
	refused("waits for itself, through");
}

UNIT_TEST(import_chakra_bad)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_messages_cannot_be_is_refused),
		cmocka_unit_test(what_nodes_cannot_be_is_refused),
		cmocka_unit_test(what_collectives_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

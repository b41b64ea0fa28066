/* SPDX-License-Identifier: BSD-3-Clause */
/* Chakra's execution traces: what they mean. */
#include "tests/unit/collectives/chakra_rig.h"
#include "tests/unit/unit.h"

/* A send, its receive, a computation, and a message back; sizes in every type that the schema has. */
static void
nodes_wait_for_nodes(void **state)
{
	static const unsigned fields[] = { 7, 9, 11, 13, 15, 17, 19, 21, 23, 25 };

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		struct coll_schedule *s;

		begin(2);
		send_or_receive(0, 0, SEND, 1, 70000, fields[i], NULL, 0);
		send_or_receive(0, 5, RECV, 1, 300, 9, DEPS(0));
		send_or_receive(1, 0, RECV, 0, 70000, 9, NULL, 0);
		compute(1, 1, 7, DEPS(0));
		send_or_receive(1, 2, SEND, 0, 300, 9, DEPS(0, 1));
		s = must(NULL);
		assert_int_equal(coll_steps(s, 0), 1);
		assert_int_equal(coll_step_at(s, 0, 1)->count_elems, 70000);
		assert_int_equal(coll_steps(s, 1), 2);
		assert_int_equal(coll_step_at(s, 1, 1)->compute_ps, 7 * PS_PER_US);
		assert_true(waits_for(s, 1, 1, 0, 1));
		assert_int_equal(coll_step_at(s, 1, 2)->ndeps, 1);
		assert_true(waits_for(s, 1, 2, 1, 1));
		coll_schedule_destroy(s);
	}
}

/* What MSCCL's converter makes of a ring: the steps of the XML where adding takes as long as the trace says. */
static void
a_trace_and_its_xml_are_alike(void **state)
{
	static const char one[] = "<algo name=\"r\" proto=\"LL128\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" "
				  "coll=\"allreduce\" inplace=\"1\">\n"
				  "<gpu id=\"0\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"0\"><tb id=\"0\" send=\"1\" "
				  "recv=\"1\" chan=\"0\">\n"
				  "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"1\" "
				  "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
				  "<step s=\"1\" type=\"rrc\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"1\" "
				  "cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
				  "<step s=\"2\" type=\"s\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"1\" cnt=\"1\" "
				  "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
				  "<step s=\"3\" type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"1\" "
				  "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
				  "</tb></gpu>\n"
				  "<gpu id=\"1\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"0\"><tb id=\"0\" send=\"0\" "
				  "recv=\"0\" chan=\"0\">\n"
				  "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"1\" cnt=\"1\" "
				  "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
				  "<step s=\"1\" type=\"rrc\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" "
				  "cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
				  "<step s=\"2\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"1\" "
				  "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
				  "<step s=\"3\" type=\"r\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"1\" cnt=\"1\" "
				  "depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n"
				  "</tb></gpu></algo>\n";
	struct coll_schedule *xml = must_import(IMPORT_MSCCL, one, 20000, 40000 * 8 / 4 * 1000000ull), *trace;

	begin(2);
	for (uint32_t rank = 0; rank < 2; rank++) {
		send_or_receive(rank, 0, SEND, 1 - rank, 40000, 9, NULL, 0);
		send_or_receive(rank, 1, RECV, 1 - rank, 40000, 9, DEPS(0));
		compute(rank, 2, 4, DEPS(1));
		send_or_receive(rank, 3, SEND, 1 - rank, 40000, 9, DEPS(2));
		send_or_receive(rank, 4, RECV, 1 - rank, 40000, 9, DEPS(3));
	}
	trace = must(NULL);
	must_be_alike(xml, trace, false);
	coll_schedule_destroy(xml);
	coll_schedule_destroy(trace);
}

/* A computation that another node controls, behind one of data. */
static void
controlled(uint32_t rank, uint64_t id, uint64_t micros, uint64_t control, uint64_t data)
{
	struct bytes message = node(id, COMP, DEPS(data));

	put_number(&message, 4, control);
	put_number(&message, 7, micros);
	put_attribute(&message, "is_cpu_op", 27, id % 2);
	end_node(rank, &message);
}

/*
 * Control is waited for, as data is; but where it is who called whom. Node 2 is behind 1 by control alone; the rank's two
 * processors would compute at once.
 */
static void
control_is_waited_for_but_not_callers(void **state)
{
	/* whom another node of the file names: a node of it; one that it has not; itself */
	static const uint64_t other[] = { 0, 99, 3 };

	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		struct coll_schedule *s;

		begin(2);
		send_or_receive(0, 0, SEND, 1, 100, 9, NULL, 0);
		controlled(0, 1, 5, 0, 0);
		controlled(0, 2, 5, 1, 0);
		controlled(0, 3, 5, other[i], 2);
		send_or_receive(1, 0, RECV, 0, 100, 9, NULL, 0);
		s = must(NULL);
		assert_int_equal(coll_steps(s, 0), 4);
		assert_int_equal(waits_for(s, 0, 3, 0, 2), i == 0);
		assert_int_equal(waits_for(s, 0, 3, 0, 1), i != 0);
		coll_schedule_destroy(s);
	}
}

/* A collective is the algorithm's, behind what its node waits for. */
static void
a_collective_is_spelled_out(void **state)
{
	struct err err = { 0 };
	struct coll_schedule *ring = coll_schedule_create(
		&(struct coll_params){ .op = COLL_ALLREDUCE, .algorithm = COLL_RING, .ranks = 4, .count_elems = 4000 },
		&err);
	struct coll_schedule *s;

	begin(4);
	for (uint32_t rank = 0; rank < 4; rank++)
		collective(rank, rank, 0, 4000, NULL, NULL, 0);
	s = must(NULL);
	must_be_alike(s, ring, false);
	coll_schedule_destroy(s);

	begin(4);
	for (uint32_t rank = 0; rank < 4; rank++) {
		compute(rank, 0, 5, NULL, 0);
		collective(rank, 1, 0, 4000, "0", DEPS(0));
		compute(rank, 2, 6, DEPS(1));
	}
	s = must(NULL);
	for (uint32_t rank = 0; rank < 4; rank++) {
		assert_int_equal(coll_steps(s, rank), 8);
		assert_true(waits_for(s, rank, 2, rank, 1));
		assert_int_equal(coll_step_at(s, rank, 8)->compute_ps, 6 * PS_PER_US);
		assert_true(waits_for(s, rank, 8, rank, 7));
		assert_true(waits_for(s, rank, 8, (rank + 3) % 4, 7)); /* the last message to it */
	}
	coll_schedule_destroy(s);
	coll_schedule_destroy(ring);
}

/* The size of an AllGather is what one rank contributes. */
static void
an_allgather_gathers_what_each_has(void **state)
{
	struct coll_schedule *s;

	begin(4);
	for (uint32_t rank = 0; rank < 4; rank++)
		collective(rank, 0, 2, 1000, NULL, NULL, 0);
	s = must(NULL);
	assert_int_equal(coll_steps(s, 0), 3);
	assert_int_equal(coll_step_at(s, 0, 1)->count_elems, 1000);
	coll_schedule_destroy(s);
}

/* An operation that the algorithm has not is done by the first that has it; a Broadcast's root is a rank of the trace. */
static void
other_operations_have_their_algorithms(void **state)
{
	struct coll_schedule *s;

	begin(4);
	for (uint32_t rank = 0; rank < 4; rank++)
		collective(rank, 0, 6, 4000, NULL, NULL, 0);
	s = must(NULL);
	assert_int_equal(coll_steps(s, 0), 3 + 1); /* a block to each, the own one too */
	for (uint32_t step = 1; step <= 4; step++)
		assert_int_equal(coll_step_at(s, 0, step)->count_elems, 1000);
	coll_schedule_destroy(s);

	begin(4);
	for (uint32_t rank = 0; rank < 4; rank++) {
		struct bytes message = node(1, COLL, NULL, 0);

		put_attribute(&message, "comm_type", 9, 5);
		put_attribute(&message, "comm_size", 9, 4096);
		put_attribute(&message, "root_rank", 9, 2);
		end_node(rank, &message);
	}
	s = must(NULL);
	for (uint32_t rank = 0; rank < 4; rank++)
		for (uint32_t step = 1; step <= coll_steps(s, rank); step++)
			assert_int_not_equal(coll_step_at(s, rank, step)->peer, 2);
	assert_int_not_equal(coll_steps(s, 2), 0);
	coll_schedule_destroy(s);
}

/* Groups by a file, and by a metadata node; the k-th of a group is one collective, whatever is between. */
static void
groups_have_their_own_collectives(void **state)
{
	static const char json[] = "{ \"1\": [2, 0], \"2\": [1, 3] }";
	static const char inputs[] =
		"['[{\"pg_name\": \"1\", \"ranks\": [0, 2]}, {\"pg_name\": \"2\", \"ranks\": [1, 3]}]']";

	for (int from_nodes = 0; from_nodes < 2; from_nodes++) {
		const char *path = write_file("groups", json, sizeof(json) - 1);
		struct coll_schedule *s;

		begin(4);
		for (uint32_t rank = 0; rank < 4; rank++) {
			struct bytes meta = node(9, METADATA, NULL, 0), in_out = { .used = 0 };

			put_block(&in_out, 1, inputs, sizeof(inputs) - 1);
			put_block(&meta, 8, in_out.at, in_out.used);
			if (from_nodes)
				end_node(rank, &meta);
			collective(rank, 1, 0, 800, rank % 2 == 0 ? "1" : "2", NULL, 0);
			collective(rank, 2, 0, 1600, rank % 2 == 0 ? "1" : "2", DEPS(1));
		}
		s = must(from_nodes ? NULL : path);
		for (uint32_t rank = 0; rank < 4; rank++) {
			assert_int_equal(coll_steps(s, rank), 4);
			for (uint32_t step = 1; step <= 4; step++) {
				assert_int_equal(coll_step_at(s, rank, step)->peer, (rank + 2) % 4);
				assert_int_equal(coll_step_at(s, rank, step)->count_elems, step <= 2 ? 400 : 800);
			}
		}
		coll_schedule_destroy(s);
		unlink(path);
	}
}

/*
 * A barrier moves no data of its own, a group of one rank nothing at all, and what a processor does to start a collective
 * is a computation, which may take no time.
 */
static void
some_collectives_move_nothing(void **state)
{
	static const char json[] = "{ \"alone\": [0] }";
	const char *path = write_file("groups", json, sizeof(json) - 1);
	struct coll_schedule *s;

	begin(2);
	for (uint32_t rank = 0; rank < 2; rank++) {
		struct bytes message = node(1, COLL, NULL, 0), start = node(2, COLL, DEPS(1)),
			     text = node(3, COLL, DEPS(2)), sized;

		put_attribute(&message, "comm_type", 9, 9);
		end_node(rank, &message);
		put_attribute(&start, "is_cpu_op", 27, 1);
		end_node(rank, &start);
		put_number(&text, 7, 3);
		put_attribute(&text, "is_cpu_op", 27, 1);
		put_attribute(&text, "num_ops", 9, 5);
		end_node(rank, &text);
		compute(rank, 4, 0, DEPS(3));
		sized = node(6, COLL, DEPS(4)); /* one that a processor carries out has a size, and is one */
		put_attribute(&sized, "is_cpu_op", 27, 1);
		put_attribute(&sized, "comm_type", 9, 0);
		put_attribute(&sized, "comm_size", 13, 100);
		end_node(rank, &sized);
		if (rank == 0)
			collective(rank, 5, 0, 100, "alone", NULL, 0);
	}
	s = must(path);
	for (uint32_t rank = 0; rank < 2; rank++) {
		/* Two messages of one element, a computation, and two messages of half of 100 B. */
		assert_int_equal(coll_steps(s, rank), 5);
		assert_int_equal(coll_step_at(s, rank, 5)->count_elems, 50);
		assert_int_equal(coll_step_at(s, rank, 1)->count_elems, 1);
		assert_int_equal(coll_step_at(s, rank, 3)->compute_ps, 3 * PS_PER_US);
		assert_true(waits_for(s, rank, 3, rank, 2));
	}
	assert_int_equal(coll_size_of(s, 1).bytes, 0);
	coll_schedule_destroy(s);
	unlink(path);
}

/* A Reduce ends at its root; an attribute that is no number is none. */
static void
a_reduce_has_a_root(void **state)
{
	struct coll_schedule *s;

	begin(3);
	for (uint32_t rank = 0; rank < 3; rank++) {
		struct bytes message = node(1, COLL, NULL, 0);

		put_attribute(&message, "comm_type", 9, 1);
		put_attribute(&message, "comm_size", 9, 4096);
		put_attribute(&message, "root_rank", 9, 1);
		put_text(&message, "is_cpu_op", "true");
		end_node(rank, &message);
	}
	s = must(NULL);
	assert_int_equal(coll_steps(s, 1), 0);
	assert_int_not_equal(coll_steps(s, 0) + coll_steps(s, 2), 0);
	assert_int_equal(coll_size_of(s, 1).bytes, 4096);
	assert_int_equal(coll_size_of(s, 1).root, 1);
	coll_schedule_destroy(s);
}

/* Groups beside each other whose collectives differ, in whatever it is, have no common size. */
static void
unlike_groups_have_no_size(void **state)
{
	static const struct {
		const char *groups;
		uint64_t type, size, root; /* of the second */
		uint64_t bytes;
	} cases[] = {
		{ "{ \"a\": [0, 1], \"b\": [2, 3] }", 5, 400, 0, 400 },
		{ "{ \"a\": [0, 1], \"b\": [2, 3] }", 1, 400, 0, 0 },
		{ "{ \"a\": [0, 1], \"b\": [2, 3] }", 5, 500, 0, 0 },
		{ "{ \"a\": [0, 1], \"b\": [2, 3] }", 5, 400, 3, 0 },
		{ "{ \"a\": [0, 1], \"b\": [2, 3, 4] }", 5, 400, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *path = write_file("groups", cases[i].groups, strlen(cases[i].groups));
		struct coll_schedule *s;

		begin(5);
		for (uint32_t rank = 0; rank < (i == 4 ? 5 : 4); rank++) {
			struct bytes message = node(1, COLL, NULL, 0);

			put_attribute(&message, "comm_type", 9, rank < 2 ? 5 : cases[i].type);
			put_attribute(&message, "comm_size", 9, rank < 2 ? 400 : cases[i].size);
			put_attribute(&message, "root_rank", 9, rank < 2 ? 0 : cases[i].root);
			put_text(&message, "pg_name", rank < 2 ? "a" : "b");
			end_node(rank, &message);
		}
		s = must(path);
		assert_int_equal(coll_size_of(s, 1).bytes, cases[i].bytes);
		coll_schedule_destroy(s);
		unlink(path);
	}
}

/* Of all traces whose control is the call hierarchy there is one warning; none of them waits for it. */
static void
callers_of_all_traces_are_ignored(void **state)
{
	struct coll_schedule *s;

	begin(2);
	for (uint32_t rank = 0; rank < 2; rank++) {
		send_or_receive(rank, 1, SEND, 1 - rank, 10, 9, NULL, 0);
		send_or_receive(rank, 2, RECV, 1 - rank, 10, 9, NULL, 0);
		end_node(rank,
			 &(struct bytes){ { 0x08, 3, 0x18, COMP, 0x38, 7, 0x20, 99 }, 8 }); /* controlled by node 99 */
	}
	s = must(NULL);
	for (uint32_t rank = 0; rank < 2; rank++)
		assert_int_equal(coll_steps(s, rank), 2);
	coll_schedule_destroy(s);
}

/* Size as nccl-tests has it: of one collective, of all ranks or of groups that do not overlap. */
static void
one_collective_has_a_size(void **state)
{
	static const struct {
		uint64_t comm_type, size;
		enum coll_op op;
		uint64_t bytes;
	} kinds[] = { { 0, 1048576, COLL_ALLREDUCE, 1048576 },
		      { 2, 1000, COLL_ALLGATHER, 4000 },
		      { 6, 800, COLL_ALLTOALL, 800 },
		      { 7, 4096, COLL_REDUCESCATTER, 4096 },
		      { 0, 1, COLL_ALLREDUCE, 1 } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct coll_schedule *s;

		begin(4);
		for (uint32_t rank = 0; rank < 4; rank++)
			collective(rank, 1, kinds[i].comm_type, kinds[i].size, NULL, NULL, 0);
		s = must(NULL);
		assert_int_equal(s->op, COLL_CUSTOM);
		assert_int_equal(coll_size_of(s, 1).op, kinds[i].op);
		assert_int_equal(coll_size_of(s, 1).ranks, 4);
		assert_int_equal(coll_size_of(s, 1).bytes, kinds[i].bytes);
		coll_schedule_destroy(s);
	}
}

/* Two collectives behind each other, one beside a message or a computation, and messages alone have none. */
static void
others_have_no_size(void **state)
{
	for (int kind = 0; kind < 4; kind++) {
		struct coll_schedule *s;

		begin(2);
		for (uint32_t rank = 0; rank < 2; rank++) {
			if (kind != 3)
				collective(rank, 1, 0, 1000, NULL, NULL, 0);
			if (kind == 0)
				collective(rank, 2, 0, 1000, NULL, DEPS(1));
			if (kind == 1)
				compute(rank, 2, 5, NULL, 0);
		}
		if (kind >= 2) {
			send_or_receive(0, 3, SEND, 1, 500, 9, NULL, 0);
			send_or_receive(1, 3, RECV, 0, 500, 9, NULL, 0);
		}
		s = must(NULL);
		assert_int_equal(coll_size_of(s, 1).bytes, 0);
		assert_int_equal(coll_size_of(s, 1).op, COLL_CUSTOM);
		coll_schedule_destroy(s);
	}
}

UNIT_TEST(import_chakra)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_wait_for_nodes),
		cmocka_unit_test(a_trace_and_its_xml_are_alike),
		cmocka_unit_test(control_is_waited_for_but_not_callers),
		cmocka_unit_test(a_collective_is_spelled_out),
		cmocka_unit_test(an_allgather_gathers_what_each_has),
		cmocka_unit_test(other_operations_have_their_algorithms),
		cmocka_unit_test(groups_have_their_own_collectives),
		cmocka_unit_test(one_collective_has_a_size),
		cmocka_unit_test(others_have_no_size),
		cmocka_unit_test(some_collectives_move_nothing),
		cmocka_unit_test(a_reduce_has_a_root),
		cmocka_unit_test(unlike_groups_have_no_size),
		cmocka_unit_test(callers_of_all_traces_are_ignored),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Chakra's execution traces: what is refused, by file, node and byte. */
#include <errno.h>
#include <fcntl.h>

#include "collectives/import/chakra.h"
#include "common/array.h"
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

/* One more node behind a pair of messages, of raw bytes. */
static void
raw_node(const void *bytes, size_t length)
{
	pair(10);
	put_varint(&files[0], length);
	put(&files[0], bytes, length);
	refused("trace.0.et: byte 60: no Node of Chakra's schema");
}

#define RAW(...) raw_node((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* Fields that end early, or that protobuf does not have. */
static void
what_is_no_field_is_refused(void **state)
{
	RAW(0x00, 1);                                                                   /* field 0 */
	RAW(0xf8, 0xff, 0xff, 0xff, 0xff, 0x01, 1);                                     /* a field beyond 32 bits */
	RAW(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1); /* a key without an end */
	RAW(0x08);                                                                      /* a number that is not there */
	RAW(0x08, 0x80);                                                                /* one that ends early */
	RAW(0x12);                                                                      /* a length that is not there */
	RAW(0x12, 5, 'x');                                                              /* one beyond the end */
	RAW(0x0b);                                                                      /* a group */
	RAW(0x09, 1, 2, 3);                                                             /* a fixed number, cut */
	RAW(0x18, 4, 0x52, 2, 0x0a, 9);                                                 /* an attribute whose name is cut */
	RAW(0x18, 4, 0x50, 1);                                                          /* an attribute that is a number */
	RAW(0x18, 1, 0x40, 1);                                                          /* inputs that are a number */
}

/* What others add to a node does not matter: inputs of which no values are kept, names of other types. */
static void
what_means_nothing_is_left_out(void **state)
{
	static const uint8_t nodes[][16] = {
		{ 15, 0x08, 9, 0x18, 1, 0x42, 2, 0x12, 0, 0x42, 0, 0x52, 2, 0x08, 1 },
		{ 15, 0x08, 7, 0x18, 1, 0x42, 2, 0x08, 1, 0x52, 0, 0x52, 0, 0x52, 0 },
		{ 15, 0x08, 8, 0x18, 1, 0x42, 3, 0x0a, 1, 'x', 0x42, 1, 0x12, 0x52, 0 },
	};

	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		struct coll_schedule *s;

		pair(10);
		put_varint(&files[0], nodes[i][0] - 1u);
		put(&files[0], nodes[i] + 1, nodes[i][0] - 1u);
		s = must(NULL);
		assert_int_equal(coll_steps(s, 0), 1);
		coll_schedule_destroy(s);
	}
}

static void
ends_of_messages_are_checked(void **state)
{
	struct bytes message;

	pair(10);
	send_or_receive(0, 1, SEND, 7, 10, 9, NULL, 0);
	refused("is a send with comm_dst 7; another of the 2 ranks");
	pair(10);
	compute(0, 4, 1, NULL, 0);
	compute(0, 2, 1, DEPS(3)); /* between two that there are */
	refused("waits for node 3, which the file has not");
	pair(10);
	end_node(0, &(struct bytes){ { 0x08, 1, 0x18, RECV }, 4 });
	refused("is a receive with comm_src -1; another of the 2 ranks");
	for (uint64_t src = 0; src < 2; src++) {
		pair(10);
		message = node(1, SEND, NULL, 0);
		put_attribute(&message, "comm_dst", 7, 1);
		put_attribute(&message, "comm_src", 7, src);
		end_node(0, &message);
		refused(src == 0 ? "is a message without comm_size" : "has comm_src 1 in the trace of rank 0");
	}
	pair(10);
	message = node(1, RECV, NULL, 0);
	put_attribute(&message, "comm_dst", 7, 1);
	put_attribute(&message, "comm_src", 7, 1);
	end_node(0, &message);
	refused("has comm_dst 1 in the trace of rank 0");
	pair(10);
	message = node(2, 3, NULL, 0);
	end_node(0, &message);
	refused("remote memory");
}

/* Two collectives that are as far in the order of their group: of one kind, size and root. */
static void
parts_of_a_collective_agree(void **state)
{
	static const uint64_t parts[][3] = {
		{ 5, 100, 0 }, { 1, 100, 0 }, { 5, 101, 0 }, { 5, 100, 1 }
	}; /* type, size, root */

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		struct err err = { 0 };
		struct coll_schedule *s;

		begin(2);
		for (uint32_t rank = 0; rank < 2; rank++) {
			struct bytes message = node(1, COLL, NULL, 0);

			put_attribute(&message, "comm_type", 9, parts[rank * i][0]);
			put_attribute(&message, "comm_size", 9, parts[rank * i][1]);
			put_attribute(&message, "root_rank", 9, parts[rank * i][2]);
			end_node(rank, &message);
		}
		s = import(NULL, &err);
		assert_true((s != NULL) == (i == 0));
		assert_true(s != NULL || strstr(err.text, "is another collective than") != NULL);
		coll_schedule_destroy(s);
	}
}

/* What an algorithm cannot do, and what no message can have. */
static void
collectives_have_limits(void **state)
{
	struct import_options options = { .kind = IMPORT_CHAKRA, .path = folder, .algorithm = COLL_HALVING_DOUBLING };
	struct err err = { 0 };

	options.elem_bytes = 1;
	begin(3);
	for (uint32_t rank = 0; rank < 3; rank++)
		collective(rank, 0, 0, 1024, NULL, NULL, 0);
	write_traces();
	assert_null(import_schedule(&options, &err));
	assert_non_null(strstr(err.text, "trace.0.et: node 0 at byte 8 is a ALL_REDUCE: "));
	remove_traces();
	begin(2);
	for (uint32_t rank = 0; rank < 2; rank++)
		collective(rank, 0, 2, 1ull << 40, NULL, NULL, 0);
	refused("node 0 at byte 8 sends 1099511627776 B; a message has 2 GiB at most");
}

/* A length that no message has, in a file that is long enough for it; one without an end. */
static void
lengths_of_messages_have_limits(void **state)
{
	char path[128];

	pair(10);
	put_varint(&files[1], (64u << 20) + 1);
	write_traces();
	snprintf(path, sizeof(path), "%s/trace.1.et", folder);
	assert_int_equal(truncate(path, 65 << 20), 0);
	refused_as_written("trace.1.et: byte 60: a message of 67108865 B; 64 MiB at most would be right");
	pair(10);
	files[1].used = 8;
	memset(files[1].at + 8, 0xff, 20);
	files[1].used = 28;
	refused("trace.1.et: byte 8: the file ends within a message");
}

static void
a_node_does_not_wait_for_itself(void **state)
{
	pair(10);
	compute(0, 5, 1, DEPS(5));
	refused("node 5 at byte 60 waits for itself");
}

static void
names_of_groups_are_checked(void **state)
{
	struct bytes message, attribute = { .used = 0 };
	char name[CHAKRA_MAX_NAME + 1];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	begin(2);
	collective(0, 0, 0, 100, name, NULL, 0);
	refused("names have less than 64 bytes");
	begin(2);
	message = node(1, COLL, NULL, 0);
	put_block(&attribute, 1, "pg_name", 7);
	put_block(&attribute, 4, NULL, 0); /* a list of numbers */
	put_block(&message, 10, attribute.at, attribute.used);
	end_node(0, &message);
	refused("has a pg_name that is neither a text nor a number");
	begin(2);
	for (uint32_t rank = 0; rank < 2; rank++) {
		message = node(1, COLL, NULL, 0);
		put_attribute(&message, "pg_name", 9, 4);
		put_attribute(&message, "comm_type", 9, 0);
		put_attribute(&message, "comm_size", 9, 8);
		end_node(rank, &message);
	}
	refused("is a collective of group \"4\", whose ranks are neither");
	begin(2);
	message = node(1, COLL, NULL, 0);
	put_attribute(&message, "comm_type", 9, 0);
	end_node(0, &message);
	refused("is a collective without comm_size");
	begin(2);
	message = node(1, COLL, NULL, 0);
	put_attribute(&message, "comm_type", 9, 0);
	put_attribute(&message, "comm_size", 9, 0);
	end_node(0, &message);
	refused("is a collective without comm_size");
}

/* Files of groups, and what a collective of three ranks says to them. */
static void
files_of_groups_are_checked(void **state)
{
	static char many[1 << 21];
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "{", "groups:1: " },
		{ "[]", "{\"GROUP\": [RANK, ...], ...} would be right" },
		{ "{ \"a\": [] }", "group \"a\" has no list of ranks" },
		{ "{ \"a\": 5, \"b\": [0] }", "group \"a\" has no list of ranks" },
		{ "{ \"\": [0] }", "group \"\" of 1 ranks" },
		{ "{ \"a\": [0, 1, 2, 0] }", "group \"a\" of 4 ranks; the trace has 3" },
		{ "{ \"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\": [0] }",
		  "of 1 ranks; the trace has 3" },
		{ "{ \"a\": [0, \"1\"] }", "group \"a\": member 2 is no rank of the trace, 0 to 2" },
		{ "{ \"a\": [0, 3] }", "group \"a\": member 2 is no rank of the trace, 0 to 2" },
		{ "{ \"a\": [-1] }", "member 1 is no rank" },
		{ "{ \"a\": [\"0\"] }", "member 1 is no rank" },
		{ "{ \"a\": [1, 1] }", "group \"a\" has rank 1 twice" },
		{ "{ \"a\": [0, 1] }", "is a collective of group \"a\", of which rank 2 is none" },
		{ many, "more than 65536 groups" },
	};
	size_t used = 1;

	many[0] = '{';
	for (int i = 0; i < CHAKRA_MAX_GROUPS; i++)
		used += (size_t)snprintf(many + used, sizeof(many) - used, "%s\"%d\":[0]", i > 0 ? "," : "", i);
	snprintf(many + used, sizeof(many) - used, "}");
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		const char *path;

		begin(3);
		for (uint32_t rank = 0; rank < 3; rank++)
			collective(rank, 0, 0, 100, "a", NULL, 0);
		path = write_file("groups", cases[i].text, strlen(cases[i].text));
		assert_null(import(path, &err));
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("\"%s\" should say \"%s\"", err.text, cases[i].why);
		unlink(path);
	}
	begin(2);
	assert_null(import("/no/such/groups", &(struct err){ 0 }));
	assert_int_equal(errno, ENOENT);
}

/* Of a group that two traces define the ranks agree; what is no list of groups defines none. */
static void
inputs_define_groups(void **state)
{
	static const struct {
		const char *inputs[2], *why; /* NULL: it is taken */
	} cases[] = {
		{ { "[{\"pg_name\": \"a\", \"ranks\": [0, 1]}]", "[{\"pg_name\": \"a\", \"ranks\": [0, 1]}]" }, NULL },
		{ { "[{\"pg_name\": \"a\", \"ranks\": [0, 1]}]", "[{\"pg_name\": \"a\", \"ranks\": [0]}]" },
		  "group \"a\" has other ranks than it had before" },
		{ { "[{\"pg_name\": \"a\", \"ranks\": [0, 1]}]", "[{\"pg_name\": \"a\", \"ranks\": [1, 0]}]" },
		  "group \"a\" has other ranks" },
		{ { "[{\"pg_name\": \"a\", \"ranks\": [7]}, {\"pg_name\": \"b\", \"ranks\": [8]}]", "" },
		  "group \"a\": member 1 is no rank" },
		{ { "[{\"pg_name\": 5, \"ranks\": [0, 1]}, {\"pg_name\": \"a\"}]", "no list" }, "whose ranks are neither" },
		{ { "[{\"ranks\": [0, 1]}]", "" }, "whose ranks are neither" }, /* of no name */
		{ { "[{ without an end", "[{ broken }]" }, "whose ranks are neither" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		struct coll_schedule *s;

		begin(2);
		for (uint32_t rank = 0; rank < 2; rank++) {
			struct bytes meta = node(9, METADATA, NULL, 0), in_out = { .used = 0 };
			char text[200];

			/* Longer than a length of one byte. */
			snprintf(text, sizeof(text), "%-140s", cases[i].inputs[rank]);
			put_block(&in_out, 1, text, strlen(text));
			put_block(&meta, 8, in_out.at, in_out.used);
			end_node(rank, &meta);
			collective(rank, 1, 0, 100, "a", NULL, 0);
		}
		s = import(NULL, &err);
		if ((s != NULL) != (cases[i].why == NULL) || (s == NULL && strstr(err.text, cases[i].why) == NULL))
			fail_msg("case %zu: %s", i, err.text);
		coll_schedule_destroy(s);
	}
}

/* One attribute's bytes, where it means something. */
static void
an_attribute_has_a_limit(void **state)
{
	static char name[5000];

	memset(name, 'a', sizeof(name) - 1);
	for (int longer = 0; longer < 2; longer++) {
		struct coll_schedule *s;
		struct err err = { 0 };

		name[4000] = longer ? 'a' : '\0';
		begin(2);
		for (uint32_t rank = 0; rank < 2; rank++)
			collective(rank, 1, 0, 100, name, NULL, 0);
		s = import(NULL, &err);
		assert_null(s);
		if (strstr(err.text, longer ? "one of more than 4096 B" : "names have less than 64 bytes") == NULL)
			fail_msg("%s", err.text);
	}
}

static void
put_file(const char *name)
{
	char path[160];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
}

static void
remove_file(const char *name)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(unlink(path), 0);
}

/* Which files of a folder are the trace. */
static void
files_of_a_trace_are_checked(void **state)
{
	static const struct {
		const char *files[4], *path, *why;
	} cases[] = {
		{ { "notes", ".et", "x.et", ".0.et" }, "", "has no NAME.RANK.et" },
		{ { "a.00000000000000000.et", "a.b.et" }, "", "has no NAME.RANK.et" },
		{ { "a.0.et", "b.0.et" }, "", "has traces of " },
		{ { "a.0.et", "bb.0.et" }, "", "select one with PATH/NAME" },
		{ { "a.0.et", "x" }, "", "a.1.et is missing: a trace is of 2 ranks at least" },
		{ { "a.1.et" }, "", "a.0.et is missing" },
		{ { "a.0.et", "a.1.et", "a.3.et", "b.7.et" }, "/a", "there is a.3.et, but no a.2.et" },
		{ { "a.0.et", "a.1.et", "bb.9.et", "a.2" }, "/a", "a.0.et is empty" },
		{ { "a.0.et", "a.1.et" }, "/a.0.et", "is the trace of one rank; PATH/NAME" },
		{ { "a.0.et", "a.1.et" }, "/none/a", "No such file or directory" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct import_options options = { .kind = IMPORT_CHAKRA, .elem_bytes = 1 };
		char path[160];
		struct err err = { 0 };

		snprintf(path, sizeof(path), "%s%s", folder, cases[i].path);
		options.path = path;
		for (size_t f = 0; f < 4 && cases[i].files[f] != NULL; f++)
			put_file(cases[i].files[f]);
		assert_null(import_schedule(&options, &err));
		if (strstr(err.text, cases[i].why) == NULL)
			fail_msg("case %zu: \"%s\" should say \"%s\"", i, err.text, cases[i].why);
		for (size_t f = 0; f < 4 && cases[i].files[f] != NULL; f++)
			remove_file(cases[i].files[f]);
	}
	assert_null(import_schedule(&(struct import_options){ .kind = IMPORT_CHAKRA, .path = "no-such-trace" },
				    &(struct err){ 0 }));
	assert_null(import_schedule(&(struct import_options){ .kind = IMPORT_CHAKRA, .path = "/no-such-trace" },
				    &(struct err){ 0 }));
}

/* The importer's stat(), which a C library may have by either name; both are the same where a long has 64 bits. */
int __wrap_stat(const char *path, struct stat *st);
int __wrap_stat64(const char *path, struct stat *st);

static uint32_t looked; /* from 1: whatever is looked for is there, and counted */

int
__wrap_stat(const char *path, struct stat *st)
{
	if (looked == 0)
		return fstatat(AT_FDCWD, path, st, 0);
	looked++;
	memset(st, 0, sizeof(*st));
	return 0;
}

int
__wrap_stat64(const char *path, struct stat *st)
{
	return __wrap_stat(path, st);
}

/* A folder of so many files would take a second to make. */
static void
ranks_have_a_limit(void **state)
{
	struct import_options options = { .kind = IMPORT_CHAKRA, .path = folder, .elem_bytes = 1 };
	struct err err = { 0 };

	put_file("a.0.et");
	looked = 1;
	assert_null(import_schedule(&options, &err));
	assert_int_equal(looked, 1 + COLL_MAX_RANKS + 1);
	looked = 0;
	assert_non_null(strstr(err.text, "more than 65536 ranks"));
	remove_file("a.0.et");
}

UNIT_TEST(import_chakra_bad)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_messages_cannot_be_is_refused),
		cmocka_unit_test(what_nodes_cannot_be_is_refused),
		cmocka_unit_test(what_collectives_cannot_be_is_refused),
		cmocka_unit_test(what_is_no_field_is_refused),
		cmocka_unit_test(what_means_nothing_is_left_out),
		cmocka_unit_test(ends_of_messages_are_checked),
		cmocka_unit_test(parts_of_a_collective_agree),
		cmocka_unit_test(collectives_have_limits),
		cmocka_unit_test(lengths_of_messages_have_limits),
		cmocka_unit_test(a_node_does_not_wait_for_itself),
		cmocka_unit_test(names_of_groups_are_checked),
		cmocka_unit_test(files_of_groups_are_checked),
		cmocka_unit_test(inputs_define_groups),
		cmocka_unit_test(an_attribute_has_a_limit),
		cmocka_unit_test(files_of_a_trace_are_checked),
		cmocka_unit_test(ranks_have_a_limit),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

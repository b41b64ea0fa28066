/* SPDX-License-Identifier: BSD-3-Clause */
/* What files of SONiC have and a scenario does not, and fabrics that files connect in part. */
#include "collectives/import/sonic.h"
#include "common/array.h"
#include "tests/unit/collectives/sonic_rig.h"
#include "tests/unit/unit.h"

#define ONE                                                                                                                \
	"\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}, \"PORT\": {\"E0\": {\"speed\": 1000}}, "            \
	"\"DEVICE_NEIGHBOR\": {\"E0\": {\"name\": \"a\"}}, "
#define PROFILES                                                                                                           \
	"\"BUFFER_POOL\": {\"i\": {\"type\": \"ingress\", \"mode\": \"dynamic\", \"size\": 9000}, \"e\": {\"type\": "      \
	"\"egress\", \"mode\": \"dynamic\", \"size\": 9000}}, \"BUFFER_PROFILE\": {\"p\": {\"pool\": \"i\"}, \"r\": "      \
	"{\"pool\": \"i\"}, \"q\": {\"pool\": \"e\"}, \"s\": {\"pool\": \"e\"}}, "

static void
a_key_is_ports_and_a_range(void **state)
{
	static const char *const wrong[] = { "E0", "|3", "E0|", "E0|x", "E0|3-", "E0|4-3", "E0|3-4x", "E0|3x", "E0|70000" };
	struct sonic_key key;

	(void)state;
	assert_true(sonic_parse_key("E0,E4|9-12", &key));
	assert_string_equal(key.bar, "|9-12");
	assert_true(key.from == 9 && key.to == 12);
	assert_true(sonic_parse_key("E0|0", &key) && key.from == 0 && key.to == 0);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (sonic_parse_key(wrong[i], &key))
			fail_msg("taken: %s", wrong[i]);
}

/* Each kind has its place, its value and its number of places. */
static void
what_is_left_out_is_noted(void **state)
{
	static const struct {
		const char *text, *first;
		uint32_t count;
	} cases[] = {
		{ "{\"BUFFER_PG\": {\"E0|0\": {\"profile\": \"p\"}, \"E0|3-4\": {\"profile\": \"p\"}}}",
		  "f: BUFFER_PG.E0|0.profile = p", 1 },
		{ "{\"BUFFER_QUEUE\": {\"E0|9-12\": {\"profile\": \"q\"}, \"E1|7-9\": {\"profile\": \"q\"}, \"E0|1-7\": "
		  "{\"profile\": \"q\"}}}",
		  "f: BUFFER_QUEUE.E0|9-12.profile = q", 2 },
		{ "{\"QUEUE\": {\"E0|10\": {\"scheduler\": \"s\"}}}", "f: QUEUE.E0|10.scheduler = s", 1 },
		{ "{\"SCHEDULER\": {\"s\": {\"pir\": \"5000\"}, \"t\": {\"pir\": \"0\"}}}", "f: SCHEDULER.s.pir = 5000",
		  1 },
		{ "{\"PORT_QOS_MAP\": {\"E0\": {\"tc_to_dscp_map\": \"M\"}}}", "f: PORT_QOS_MAP.E0.tc_to_dscp_map = M", 1 },
		{ "{\"BUFFER_PORT_EGRESS_PROFILE_LIST\": {\"E0\": {}, \"E1\": {}}}",
		  "f: BUFFER_PORT_EGRESS_PROFILE_LIST.E0", 2 },
		{ "{\"MAP_PFC_PRIORITY_TO_QUEUE\": {\"M\": {\"3\": \"3\", \"4\": 5, \"5\": {}}}}",
		  "f: MAP_PFC_PRIORITY_TO_QUEUE.M.4 = 5", 1 },
		{ "{\"BUFFER_PROFILE\": {\"p\": {\"packet_discard_action\": \"trim\"}}}",
		  "f: BUFFER_PROFILE.p.packet_discard_action = trim", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sonic_left left[SONIC_KINDS_LEFT] = { { .count = 0 } };
		json_t *doc = json_loads(cases[i].text, 0, NULL);
		uint32_t kinds = 0;

		assert_non_null(doc);
		sonic_note_left(doc, "f", left);
		json_decref(doc);
		for (size_t k = 0; k < ARRAY_LEN(left); k++)
			if (left[k].count != 0) {
				assert_string_equal(left[k].first, cases[i].first);
				assert_int_equal(left[k].count, cases[i].count);
				kinds++;
			}
		assert_int_equal(kinds, 1);
	}
}

/* Two rows that give a port's class two values: SONiC states no order of rows. */
static void
rows_that_contradict_are_refused(void **state)
{
	static const struct {
		const char *rows, *message; /* NULL: taken */
	} cases[] = {
		{ "\"BUFFER_PG\": {\"E0|3-4\": {\"profile\": \"p\"}, \"E0|4\": {\"profile\": \"p\"}}", NULL },
		{ "\"BUFFER_PG\": {\"E0|3-4\": {\"profile\": \"p\"}, \"E0|4\": {\"profile\": \"r\"}}",
		  "BUFFER_PG.E0|4: another row of BUFFER_PG has E0 and 4, too, with another value: one row would be "
		  "right" },
		{ "\"BUFFER_QUEUE\": {\"E0|3-4\": {\"profile\": \"q\"}, \"E0|2-3\": {\"profile\": \"s\"}}",
		  "BUFFER_QUEUE.E0|2-3: another row of BUFFER_QUEUE has E0 and 3, too" },
		{ "\"SCHEDULER\": {\"a\": {\"weight\": 1}, \"b\": {\"type\": \"STRICT\"}}, \"QUEUE\": {\"E0|3\": "
		  "{\"scheduler\": \"a\"}, \"E0|3-4\": {\"scheduler\": \"b\"}}",
		  "QUEUE.E0|3-4: another row of QUEUE has E0 and 3, too" },
		{ "\"SCHEDULER\": {\"a\": {\"weight\": 1}, \"b\": {\"type\": \"STRICT\"}}, \"QUEUE\": {\"E0|3\": "
		  "{\"scheduler\": \"b\"}, \"E0|3-4\": {\"scheduler\": \"a\"}}",
		  "QUEUE.E0|3-4: another row of QUEUE has E0 and 3, too" },
		{ "\"BUFFER_PG\": {\"E0|3-8\": {\"profile\": \"p\"}}",
		  "BUFFER_PG.E0|3-8: ports and priority groups 0 to 7" },
		{ "\"BUFFER_QUEUE\": {\"E0|3-20\": {\"profile\": \"q\"}}",
		  "BUFFER_QUEUE.E0|3-20: ports and queues 0 to 19" },
		{ "\"BUFFER_QUEUE\": {\"|3\": {\"profile\": \"q\"}}", "BUFFER_QUEUE.|3: ports and queues 0 to 19" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char text[2048], *out;
		const char *texts[] = { text };
		struct err err = { 0 };

		snprintf(text, sizeof(text), "{" ONE PROFILES "%s}", cases[i].rows);
		out = run_many(texts, 1, &err);
		if ((out != NULL) != (cases[i].message == NULL))
			fail_msg("%s: %s", cases[i].rows, err.text);
		if (cases[i].message != NULL)
			has(err.text, cases[i].message);
		free(out);
	}
}

/* Data in queue 0 is in class 1 here, with what queue 0 has. */
static void
best_effort_keeps_its_rows(void **state)
{
	const char *texts[] = {
		"{" ONE PROFILES
		"\"DSCP_TO_TC_MAP\": {\"M\": {\"26\": \"0\"}}, \"PORT_QOS_MAP\": {\"E0\": {\"dscp_to_tc_map\": \"M\"}}, "
		"\"BUFFER_PG\": {\"E0|0\": {\"profile\": \"p\"}, \"E0|1\": {\"profile\": \"r\"}}, \"BUFFER_QUEUE\": "
		"{\"E0|0\": "
		"{\"profile\": \"q\"}}, \"WRED_PROFILE\": {\"w\": {\"ecn\": \"ecn_all\", \"green_min_threshold\": 4, "
		"\"green_max_threshold\": 5}}, \"SCHEDULER\": {\"a\": {\"weight\": 7}}, \"QUEUE\": {\"E0|0\": "
		"{\"scheduler\": "
		"\"a\", \"wred_profile\": \"w\"}}}"
	};
	struct err err = { 0 };
	char *text = run_many(texts, 1, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "buffer_pg = ( \"1 p\" );\n    buffer_queue = ( \"1 q\" );");
	has(text, "{ class = 1; kmin = 4L; kmax = 5L;");
	has(text, "weights = [ \"1:7\" ];");
	has(text, "class_map = [ \"24:1\" ];");
	free(text);
}

#define LINKED(name, ports, neighbors)                                                                                     \
	"{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"" name "\"}}, \"PORT\": {" ports                           \
	"}, \"DEVICE_NEIGHBOR\": {" neighbors "}}"
#define TWO_PORTS "\"E0\": {\"speed\": 1000}, \"E1\": {\"speed\": 1000}"

/* Parts that nothing connects are refused; a host of both connects them, and so does a cable that one file has. */
static void
parts_that_nothing_connects_are_refused(void **state)
{
	static const struct {
		const char *texts[3], *message;
	} cases[] = {
		{ { LINKED("l0", TWO_PORTS, "\"E0\": {\"name\": \"a\"}"),
		    LINKED("l1", TWO_PORTS, "\"E0\": {\"name\": \"b\"}") },
		  "no cable or switch connects l0 and l1: the files of the switches between them" },
		{ { LINKED("l0", TWO_PORTS, "\"E0\": {\"name\": \"a\"}"),
		    LINKED("l1", TWO_PORTS, "\"E0\": {\"name\": \"a\"}") },
		  NULL },
		{ { LINKED("l0", TWO_PORTS, "\"E0\": {\"name\": \"a\"}"), LINKED("l1", TWO_PORTS,
										 "\"E0\": {\"name\": \"b\"}, "
										 "\"E1\": {\"name\": \"l0\", "
										 "\"port\": \"E1\"}") },
		  NULL },
		{ { LINKED("l0", TWO_PORTS, "\"E0\": {\"name\": \"l1\", \"port\": \"E0\"}"),
		    LINKED("l1", TWO_PORTS, "\"E0\": {\"name\": \"l0\", \"port\": \"E0\"}"),
		    LINKED("l2", TWO_PORTS, "\"E0\": {\"name\": \"b\"}") },
		  "no cable or switch connects l0 and l2" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		size_t count = cases[i].texts[2] != NULL ? 3 : 2;
		struct err err = { 0 };
		char *text = run_many(cases[i].texts, count, &err);

		if ((text == NULL) != (cases[i].message != NULL))
			fail_msg("case %zu: %s", i, err.text);
		if (cases[i].message != NULL)
			has(err.text, cases[i].message);
		free(text);
	}
}

/* Rows that a lookup file has twice, or not at all. */
static void
a_lookup_file_has_each_row_once(void **state)
{
	static const char config[] = "{" ONE PROFILES "\"X\": {}}";
	static const struct {
		const char *rows, *message; /* NULL: taken */
	} cases[] = {
		{ "# none\n\n", NULL },
		{ "1000 5m 1 2 3 0\n1000 5m 1 2 4 0\n",
		  "many-1.ini:2: 1000 Mbps and 5 m have a row already, of xoff 3; one row would be right" },
		{ "1000 5m 1 2 3 0\n1000 40m 1 2 4 0\n2000 5m 1 2 4 0\n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *const texts[] = { config, cases[i].rows };
		struct err err = { 0 };
		char *text = run_many(texts, 2, &err);

		if ((text == NULL) != (cases[i].message != NULL))
			fail_msg("case %zu: %s", i, err.text);
		if (cases[i].message != NULL)
			has(err.text, cases[i].message);
		free(text);
	}
}

#define LOSSLESS(mode)                                                                                                     \
	"{" ONE "\"BUFFER_POOL\": {\"ingress_lossless_pool\": {\"type\": \"ingress\", \"mode\": \"" mode                   \
	"\", \"size\": \" 9000 \"}}, \"PORT_QOS_MAP\": {\"E0\": {\"pfc_enable\": \"3\"}}}"

/* A port without a row has no headroom, and no PFC; with one it has both. The threshold is what the pool's mode says. */
static void
a_port_without_a_row_has_no_pfc(void **state)
{
	static const struct {
		const char *config, *rows, *part, *message; /* message: NULL, it is taken */
	} cases[] = {
		{ LOSSLESS("dynamic"), "2000 40m 1 2 3 0\n",
		  "pfc = { enabled = false; asymmetric = false; priorities = [ ]", NULL },
		{ LOSSLESS("dynamic"), "# none\n", "pfc = { enabled = false;", NULL },
		{ LOSSLESS("dynamic"), "1000 40m 1 2 3 0\n", "pfc = { enabled = true;", NULL },
		{ LOSSLESS("dynamic"), "1000 40m 1 2 3 -3\n", "xoff = 3L; dynamic_th = -3; mode = \"dynamic\"; }", NULL },
		{ LOSSLESS("static"), "1000 40m 1 2 3 4567\n", "xoff = 3L; mode = \"static\"; static_th = 4567L; }", NULL },
		{ LOSSLESS("dynamic"), "1000 40m 1 2 3 128\n", NULL,
		  "many-0.json: PORT.E0: its row of pg_profile_lookup.ini has threshold 128; of the dynamic "
		  "ingress_lossless_pool a power of 2" },
		{ LOSSLESS("static"), "1000 40m 1 2 3 -1\n", NULL,
		  "has threshold -1; of the static ingress_lossless_pool" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *const texts[] = { cases[i].config, cases[i].rows };
		struct err err = { 0 };
		char *text = run_many(texts, 2, &err);

		if ((text == NULL) != (cases[i].message != NULL))
			fail_msg("case %zu: %s", i, err.text);
		has(text != NULL ? text : err.text, text != NULL ? cases[i].part : cases[i].message);
		free(text);
	}
}

/* A group with a profile of an egress pool, and a queue with one of an ingress pool, have none; other rows keep theirs. */
static void
a_profile_of_the_other_side_is_left_out(void **state)
{
	const char *const texts[] = { "{" ONE PROFILES "\"BUFFER_PG\": {\"E0|1\": {\"profile\": \"q\"}, \"E0|2\": "
				      "{\"profile\": \"p\"}}, \"BUFFER_QUEUE\": {\"E0|1\": {\"profile\": \"p\"}, \"E0|2\": "
				      "{\"profile\": \"s\"}}}" };
	struct err err = { 0 };
	char *text = run_many(texts, 1, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "buffer_pg = ( \"2 p\" );\n    buffer_queue = ( \"2 s\" );");
	free(text);
}

/* A map of all ports is that of ports without their own, whether they have a row of other maps or none. */
static void
the_map_of_all_ports_is_of_those_without_one(void **state)
{
	static const struct {
		const char *rows, *part;
	} cases[] = {
		{ "\"global\": {\"dscp_to_tc_map\": \"M\"}", "class_map = [ \"40:5\" ];" },
		{ "\"global\": {\"dscp_to_tc_map\": \"M\"}, \"E0\": {\"tc_to_queue_map\": \"Q\"}",
		  "class_map = [ \"16:2\" ];" },
		{ "\"global\": {\"dscp_to_tc_map\": \"M\"}, \"E0\": {\"dscp_to_tc_map\": \"N\"}",
		  "class_map = [ \"56:7\" ];" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		char config[1024], *text;
		const char *const texts[] = { config };

		snprintf(config, sizeof(config),
			 "{" ONE "\"DSCP_TO_TC_MAP\": {\"M\": {\"26\": \"5\"}, \"N\": {\"26\": \"7\"}}, "
			 "\"TC_TO_QUEUE_MAP\": {\"Q\": {\"5\": \"2\"}}, \"PORT_QOS_MAP\": {%s}}",
			 cases[i].rows);
		text = run_many(texts, 1, &err);
		if (text == NULL)
			fail_msg("case %zu: %s", i, err.text);
		has(text, cases[i].part);
		free(text);
	}
}

/* The host's namespace gives an ASIC the name that it lacks, and is no switch beside one. */
static void
namespaces_are_bounded(void **state)
{
	struct err err = { 0 };
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	(void)state;
	assert_non_null(file);
	fputs("{\"localhost\": {\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}}", file);
	for (uint32_t n = 0; n <= SONIC_MAX_SWITCHES; n++)
		fprintf(file, ", \"asic%u\": {}", n);
	fputs("}", file);
	assert_int_equal(fclose(file), 0);
	assert_null(run_many((const char *const[]){ text }, 1, &err));
	has(err.text, "many-0.json: more than 1000 files and namespaces");
	free(text);
}

UNIT_TEST(import_sonic_left)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_ports_and_a_range),
		cmocka_unit_test(what_is_left_out_is_noted),
		cmocka_unit_test(rows_that_contradict_are_refused),
		cmocka_unit_test(best_effort_keeps_its_rows),
		cmocka_unit_test(a_lookup_file_has_each_row_once),
		cmocka_unit_test(a_port_without_a_row_has_no_pfc),
		cmocka_unit_test(a_profile_of_the_other_side_is_left_out),
		cmocka_unit_test(the_map_of_all_ports_is_of_those_without_one),
		cmocka_unit_test(namespaces_are_bounded),
		cmocka_unit_test(parts_that_nothing_connects_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

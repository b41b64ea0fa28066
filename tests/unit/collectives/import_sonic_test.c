/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of switches that run SONiC: what the scenario has of them, and what is refused, with its place. */
#include <errno.h>

#include "collectives/import/sonic.h"
#include "common/array.h"
#include "tests/unit/alloc.h"
#include "tests/unit/collectives/sonic_rig.h"
#include "tests/unit/unit.h"

#define PORTS                                                                                                              \
	"\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}, "                                                   \
	"\"PORT\": {\"Ethernet16\": {\"speed\": \"100000\"}, \"Ethernet8\": {\"speed\": 400000, \"admin_status\": "        \
	"\"up\"}, "                                                                                                        \
	"\"Ethernet0\": {\"speed\": \"100000\", \"admin_status\": \"down\"}}, "                                            \
	"\"DEVICE_NEIGHBOR\": {\"Ethernet8\": {\"name\": \"a\"}, \"Ethernet16\": {\"name\": \"b\"}, "                      \
	"\"Ethernet0\": {\"name\": \"c\"}}, "
#define POOLS                                                                                                              \
	"\"BUFFER_POOL\": {\"ingress_lossless_pool\": {\"type\": \"ingress\", \"mode\": \"dynamic\", \"size\": "           \
	"\"1000000\"}, "                                                                                                   \
	"\"e\": {\"type\": \"egress\", \"mode\": \"static\", \"size\": 2000000}}, "                                        \
	"\"BUFFER_PROFILE\": {\"p\": {\"pool\": \"ingress_lossless_pool\", \"size\": \"50000\", \"xon\": 9000, \"xoff\": " \
	"\"40000\", "                                                                                                      \
	"\"dynamic_th\": \"-9\"}, \"q\": {\"pool\": \"[BUFFER_POOL|e]\", \"size\": 0, \"static_th\": \"2000000\"}}, "
#define MAPS                                                                                                               \
	"\"DSCP_TO_TC_MAP\": {\"M\": {\"26\": \"4\", \"10\": \"0\"}}, "                                                    \
	"\"PORT_QOS_MAP\": {\"Ethernet8,Ethernet16\": {\"pfc_enable\": \"3,4\", \"dscp_to_tc_map\": \"M\"}}, "

#define HEAD "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}, "
#define LONG_NAME "a234567890123456789012345678901234567890123456789012345678901234"
#define ONE_PROFILE                                                                                                        \
	"\"BUFFER_POOL\": {\"i\": {\"type\": \"ingress\", \"mode\": \"dynamic\", \"size\": 9}}, \"BUFFER_PROFILE\": "      \
	"{\"p\": {\"pool\": \"i\", \"size\": 0, "

/* @return the scenario of a file, and of rows or another switch (NULL: none); NULL with err set */
static char *
run(const char *text, const char *ini, uint32_t dscp, struct err *err)
{
	char paths[2][256], *out = NULL;
	const char *files[] = { paths[0], paths[1] };
	const struct sonic_files sonic = { .paths = files, .count = ini != NULL ? 2 : 1, .dscp = dscp };
	size_t length;
	FILE *to = open_memstream(&out, &length);
	int rc;

	snprintf(paths[0], sizeof(paths[0]), "%s", write_file("config.json", text, strlen(text)));
	if (ini != NULL)
		snprintf(paths[1], sizeof(paths[1]), "%s",
			 write_file(ini[0] == '{' ? "other.json" : "lookup.ini", ini, strlen(ini)));
	assert_non_null(to);
	rc = sonic_import(&sonic, to, err);
	assert_int_equal(fclose(to), 0);
	unlink(paths[0]);
	if (ini != NULL)
		unlink(paths[1]);
	if (rc == 0)
		return out;
	free(out);
	assert_true(err->text[0] != '\0');
	return NULL;
}

static void
a_switch_is_a_scenario(void **state)
{
	struct err err = { 0 };
	char *text = run("{ " PORTS POOLS MAPS
			 "\"BUFFER_PG\": {\"Ethernet8,Ethernet16|3-4\": {\"profile\": \"[BUFFER_PROFILE|p]\"}}, "
			 "\"BUFFER_QUEUE\": {\"Ethernet16|3\": {\"profile\": \"q\"}}, "
			 "\"CABLE_LENGTH\": {\"AZURE\": {\"Ethernet8\": \"300m\"}} }",
			 NULL, SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	/* Ports in the order of their numbers; one that is down has no cable. */
	has(text, "\"l0 a 400000Mbps 1500000ps\",\n    \"l0 b 100000Mbps 200000ps\"\n");
	assert_null(strstr(text, "\"c\""));
	has(text,
	    "size = 10000L; xon = 9000L; xon_offset = 0L; xoff = 40000L; dynamic_th = -8;"); /* headroom is beside it */
	has(text, "buffer_pg = ( \"3 p\", \"4 p\" );\n    buffer_queue = ( );");
	has(text, "names = [ \"l0:2\" ];\n    buffer_pg = ( \"3 p\", \"4 p\" );\n    buffer_queue = ( \"3 q\" );");
	has(text, "host = { data_prio = 4; };");
	has(text, "class_map = [ \"32:4\" ];");
	assert_null(strstr(text, "cnp_prio"));
	free(text);
	text = run("{ " PORTS "\"PORT_QOS_MAP\": {\"Ethernet8,Ethernet16\": {\"pfc_enable\": \"3,6\"}} }", NULL, SONIC_DSCP,
		   &err);
	assert_non_null(text);
	has(text, "host = { dcqcn = { cnp_prio = 0; }; };");
	free(text);
	/* Another DSCP is in best effort, which class 1 stands for. */
	text = run("{ " PORTS MAPS "\"X\": {} }", NULL, 10, &err);
	assert_non_null(text);
	has(text, "class_map = [ \"24:1\" ];");
	has(text, "pfc = { enabled = true; asymmetric = false; priorities = [ \"3\", \"4\" ]; };");
	assert_null(strstr(text, "buffer_pool"));
	free(text);
}

static void
rows_are_profiles_or_headroom(void **state)
{
	static const char ini[] =
		"# speed cable size xon xoff threshold\n\n400000 40m 9000 8000 70000 0\n100000 40m 9000 8000 "
		"50000 -2 1000\n";
	struct err err = { 0 };
	char *text = run("{ " PORTS POOLS MAPS "\"BUFFER_PG\": {\"Ethernet8|3-4\": {\"profile\": \"NULL\"}} }", ini,
			 SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text,
	    "{ name = \"pg_lossless_100000_40m_profile\"; pool = \"ingress_lossless_pool\"; size = 9000L; xon = 8000L; "
	    "xon_offset = 1000L; xoff = 50000L; dynamic_th = -2; mode = \"dynamic\"; }");
	has(text, "buffer_pg = ( \"3 pg_lossless_400000_40m_profile\", \"4 pg_lossless_400000_40m_profile\" );");
	free(text);
	text = run("{ " PORTS MAPS "\"X\": {} }", ini, SONIC_DSCP, &err);
	assert_non_null(text);
	has(text, "pfc = { headrooms = [\n    \"400000Mbps 40m 70000\",\n    \"100000Mbps 40m 50000\"");
	free(text);
}

static void
a_bad_row_is_refused_with_its_line(void **state)
{
	static const char *const rows[] = {
		"100000 5m 18432 18432 35840",   "100000 5m 18432 18432 35840 0 0 0 0", "100000 5 18432 18432 35840 0",
		"0 5m 18432 18432 35840 0",      "100000 xm 18432 18432 35840 0",       "100000 5m 18432 18432 35840 x",
		"100000 5m 18432 18432 35840 -", "100000 5m 18432 18432 35840 0 x",     "100000 m 18432 18432 35840 0",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = { 0 };
		char text[128];

		snprintf(text, sizeof(text), "# speed cable size xon xoff threshold\n%s\n", rows[i]);
		if (run("{ " PORTS POOLS MAPS "\"X\": {} }", text, SONIC_DSCP, &err) != NULL)
			fail_msg("not refused: %s", rows[i]);
		has(err.text, ":2: \"speed cable size xon xoff threshold [xon_offset]\"");
	}
}

/* Every port that is up leads to a host of its own then. */
static void
without_neighbors_each_port_has_a_host(void **state)
{
	struct err err = { 0 };
	char *text =
		run(HEAD "\"PORT\": {\"E0\": {\"speed\": 1000, \"mtu\": 1500}, \"E4\": {\"speed\": 1000, \"mtu\": 1500}, "
			 "\"E8\": {\"speed\": 1000, \"admin_status\": \"down\"}}}",
		    NULL, SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "\"l0 l0-E0 1000Mbps");
	has(text, "\"l0 l0-E4 1000Mbps");
	assert_null(strstr(text, "l0-E8"));
	has(text, "names = [ \"l0:1\", \"l0:2\" ];\n    mtu = 1500;");
	free(text);
}

/* Tables of a file without a hostname are those of switches that lack their own; ports that they lack do not matter. */
static void
a_common_file_is_of_all_switches(void **state)
{
	struct err err = { 0 };
	char *text =
		run(SWITCH("l0", "1000", "up", "a", "E0", "5m"),
		    "{\"CABLE_LENGTH\": {\"A\": {\"E0\": \"900m\"}}, \"PORT_QOS_MAP\": {\"E0\": {\"pfc_enable\": \"3\"}, "
		    "\"E9\": {\"pfc_enable\": \"4\"}}}",
		    SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "\"l0 a 1000Mbps 25000ps\""); /* its own length */
	has(text, "priorities = [ \"3\" ]");
	free(text);
}

/* A number as such is taken as its text is. */
static void
an_exponent_may_be_a_number(void **state)
{
	struct err err = { 0 };
	char *text = run("{" PORTS ONE_PROFILE "\"dynamic_th\": -3}}}", NULL, SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "dynamic_th = -3;");
	free(text);
}

/* A pool of type "both": queues of it have no limit of their own. */
static void
a_pool_for_both_sides_bounds_groups(void **state)
{
	struct err err = { 0 };
	char *text = run("{ " PORTS MAPS
			 "\"BUFFER_POOL\": {\"b\": {\"type\": \"both\", \"mode\": \"dynamic\", \"size\": 9000000}}, "
			 "\"BUFFER_PROFILE\": {\"p\": {\"pool\": \"b\", \"xoff\": 90000}}, \"BUFFER_PG\": "
			 "{\"Ethernet8,Ethernet16|3-4\": "
			 "{\"profile\": \"p\"}}, \"BUFFER_QUEUE\": {\"Ethernet8|3\": {\"profile\": \"p\"}} }",
			 NULL, SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "{ name = \"b\"; type = \"ingress\";");
	has(text, "buffer_queue = ( );");
	free(text);
}

#define POOL_OF(name, type, size, more)                                                                                    \
	"\"" name "\": {\"type\": \"" type "\", \"mode\": \"dynamic\", \"size\": \"" size "\"" more "}"

/* Ports without a cable are of a pool of 0 B, as NVIDIA's files have it; the other pools stay. */
static void
a_pool_of_0_bytes_is_left_out(void **state)
{
	struct err err = { 0 };
	char *text = run(
		"{ " PORTS MAPS "\"BUFFER_POOL\": {\"zero\": {\"type\": \"ingress\", \"mode\": \"static\", "
		"\"size\": \"0\"}, " POOL_OF(
			"i", "ingress", "9000000",
			"") "}, \"BUFFER_PROFILE\": {\"none\": "
			    "{\"pool\": \"zero\", \"size\": \"0\", \"static_th\": \"0\"}, \"p\": {\"pool\": \"i\", "
			    "\"xoff\": "
			    "90000}}, \"BUFFER_PG\": {\"Ethernet8,Ethernet16|3-4\": {\"profile\": \"p\"}, \"Ethernet0|3\": "
			    "{\"profile\": \"none\"}, \"Ethernet16|5\": {\"profile\": \"none\"}} }",
		NULL, SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "buffer_pool = (\n      { name = \"i\";");
	has(text, "buffer_profile = (\n      { name = \"p\";");
	assert_null(strstr(text, "zero"));
	assert_null(strstr(text, "none\""));
	free(text);
}

/* The mode is that of the threshold that a profile has (SAI), and its pool's where it has none. */
static void
a_threshold_has_its_own_mode(void **state)
{
	struct err err = { 0 };
	char *text = run(
		"{ " PORTS MAPS "\"BUFFER_POOL\": {" POOL_OF(
			"i", "ingress", "9000000",
			"") "}, \"BUFFER_PROFILE\": "
			    "{\"p\": {\"pool\": \"i\", \"xoff\": 90000, \"dynamic_th\": \"0\"}, \"s\": {\"pool\": \"i\", "
			    "\"static_th\": \"7000\"}, \"n\": {\"pool\": \"i\"}}, \"BUFFER_PG\": "
			    "{\"Ethernet8,Ethernet16|3-4\": "
			    "{\"profile\": \"p\"}, \"Ethernet8|5\": {\"profile\": \"s\"}} }",
		NULL, SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "xoff = 90000L; dynamic_th = 0; mode = \"dynamic\"; }");
	has(text, "name = \"s\"; pool = \"i\"; size = 0L; xon = 0L; xon_offset = 0L; xoff = 0L; mode = \"static\"; "
		  "static_th = 7000L; }");
	has(text, "name = \"n\"; pool = \"i\"; size = 0L; xon = 0L; xon_offset = 0L; xoff = 0L; dynamic_th = 0;");
	free(text);
}

/* A pool that is as large as the chip includes its headroom and reserves; one beside which they fit does not. */
static void
headroom_is_taken_off_a_pool_that_has_it(void **state)
{
	static const struct {
		const char *egress, *size, *buffer;
	} chips[] = { { "9000000", "size = 6980000L; xoff = 2000000L;", "buffer = 9000000L;" },
		      { "12000000", "size = 9000000L; xoff = 2000000L;", "buffer = 12000000L;" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(chips); i++) {
		struct err err = { 0 };
		char file[2048], *text;

		snprintf(
			file, sizeof(file),
			"{ " PORTS MAPS
			"\"BUFFER_POOL\": {" POOL_OF("i", "ingress", "9000000", ", \"xoff\": 2000000") ", " POOL_OF(
				"e", "egress", "%s", "") "}, \"BUFFER_PROFILE\": {\"p\": {\"pool\": \"i\", \"size\": 5000, "
							 "\"xoff\": 90000}}, \"BUFFER_PG\": {\"Ethernet8,Ethernet16|3-4\": "
							 "{\"profile\": \"p\"}} }",
			chips[i].egress);
		text = run(file, NULL, SONIC_DSCP, &err);
		if (text == NULL)
			fail_msg("%s", err.text);
		has(text, chips[i].size);
		has(text, chips[i].buffer);
		free(text);
	}
}

/* Priority groups have numbers of their own: a class has the profile of the group that its traffic class is in. */
static void
a_class_has_the_profile_of_its_group(void **state)
{
	struct err err = { 0 };
	char *text =
		run("{ " PORTS "\"DSCP_TO_TC_MAP\": {\"M\": {\"26\": \"4\"}}, \"TC_TO_PRIORITY_GROUP_MAP\": {\"G\": "
		    "{\"0\": \"0\", \"1\": \"0\", \"4\": \"1\", \"5\": \"2\"}}, \"PORT_QOS_MAP\": "
		    "{\"Ethernet8,Ethernet16\": {\"pfc_enable\": \"4,5\", \"dscp_to_tc_map\": \"M\", \"tc_to_pg_map\": "
		    "\"G\"}}, \"BUFFER_POOL\": {" POOL_OF(
			    "i", "ingress", "9000000",
			    "") "}, \"BUFFER_PROFILE\": {\"p\": "
				"{\"pool\": \"i\", \"xoff\": 90000}, \"l\": {\"pool\": \"i\"}}, \"BUFFER_PG\": "
				"{\"Ethernet8,Ethernet16|1-2\": {\"profile\": \"p\"}, \"Ethernet8,Ethernet16|0\": "
				"{\"profile\": "
				"\"l\"}} }",
		    NULL, SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "buffer_pg = ( \"1 l\", \"2 p\", \"4 p\", \"5 p\" );");
	free(text);
}

/* A pool without a size: buffers are left to switch.profile. */
static void
the_dynamic_model_leaves_pools_out(void **state)
{
	struct err err = { 0 };
	char *text = run("{ " PORTS MAPS
			 "\"BUFFER_POOL\": {\"i\": {\"type\": \"ingress\", \"mode\": \"dynamic\"}}, \"BUFFER_PROFILE\": "
			 "{\"p\": {\"pool\": \"i\"}}, \"BUFFER_PG\": {\"Ethernet8|3\": {\"profile\": \"p\"}} }",
			 NULL, SONIC_DSCP, &err);

	(void)state;
	assert_non_null(text);
	assert_null(strstr(text, "buffer_p"));
	free(text);
}

/* Each a file, and part of what is said of it. */
static const struct {
	const char *text, *message;
} wrong[] = {
	{ "", "config.json:1: " },
	{ "[1]", "no JSON object" },
	{ "{}\n{}", "config.json:2: end of file expected near '{': one document a file would be right" },
	{ "{\"localhost\": {}, \"asic0\": []}", "config.json: asic0: beside namespaces, \"localhost\" or \"asic0\" with" },
	{ "{\"localhost\": {}, \"asic\": {}}", "config.json: asic: beside namespaces, " },
	{ "{\"asic0\": {}, \"asic1\": {}}", "config.json: asic0: DEVICE_METADATA.localhost.hostname is missing" },
	{ "{}", "no file has DEVICE_METADATA.localhost.hostname" },
	{ "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"a b\"}}}", "1 to 31 letters" },
	{ "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}}", "no table PORT" },
	{ "{" PORTS "\"CABLE_LENGTH\": {\"A\": {\"Ethernet8\": \"40\"}}}",
	  "CABLE_LENGTH.A.Ethernet8: a length as \"40m\", up to 200000m, would be right" },
	{ "{" PORTS "\"CABLE_LENGTH\": {\"A\": 5}}", "CABLE_LENGTH.A: an object of fields would be right" },
	{ "{" PORTS "\"BUFFER_POOL\": {\"p\": {\"type\": \"up\"}}}",
	  "BUFFER_POOL.p.type: found \"up\"; \"ingress\" or \"egress\" would be right" },
	{ "{" PORTS "\"BUFFER_POOL\": {\"p\": {\"type\": \"egress\", \"mode\": \"x\"}}}",
	  "BUFFER_POOL.p.mode: found \"x\"" },
	{ "{" PORTS "\"BUFFER_POOL\": {\"p\": {\"type\": \"egress\", \"mode\": \"static\", \"size\": -1}}}",
	  "BUFFER_POOL.p.size: a number, 0 to 1000000000000, would be right" },
	{ "{" PORTS "\"BUFFER_POOL\": {\"p\": {\"type\": 7}}}", "BUFFER_POOL.p.type: a string would be right" },
	{ "{" PORTS "\"BUFFER_PROFILE\": {\"p\": {\"pool\": \"x\"}}}",
	  "BUFFER_PROFILE.p.pool: found \"x\"; the name of a BUFFER_POOL would be right" },
	{ "{" PORTS POOLS "\"BUFFER_PG\": {\"Ethernet9|3\": {\"profile\": \"p\"}}}",
	  "BUFFER_PG.Ethernet9|3: no such port in PORT" },
	{ "{" PORTS POOLS "\"BUFFER_PG\": {\"Ethernet8|4-3\": {\"profile\": \"p\"}}}",
	  "ports and priority groups 0 to 7, as" },
	{ "{" PORTS POOLS "\"BUFFER_QUEUE\": {\"Ethernet8\": {\"profile\": \"q\"}}}", "ports and queues 0 to 19, as" },
	{ "{" PORTS "\"BUFFER_PROFILE\": {\"bad\\u0022name\": {}}}",
	  "a name of 1 to 63 printable characters without quotes" },
	{ "{" PORTS "\"WRED_PROFILE\": {\"w\": {\"ecn\": \"ecn_all\", \"green_min_threshold\": 5, "
	  "\"green_max_threshold\": 4}}}",
	  "WRED_PROFILE.w.green_min_threshold: found 5; at most green_max_threshold, 4, would be right" },
	{ "{" PORTS "\"QUEUE\": {\"Ethernet8|3\": {\"scheduler\": \"s\"}}}",
	  "found \"s\"; the name of a SCHEDULER would be right" },
	{ "{" PORTS "\"PORT_QOS_MAP\": {\"Ethernet8\": {\"pfc_enable\": \"9\"}}}",
	  "classes 0 to 7, as \"3,4\", would be right" },
	{ "{" PORTS "\"PORT_QOS_MAP\": {\"Ethernet8\": {\"dscp_to_tc_map\": \"x\"}}}",
	  "found \"x\"; the name of a DSCP_TO_TC_MAP would be right" },
	{ "{" PORTS "\"PFC_WD\": {\"Ethernet8\": {\"action\": \"x\"}}}",
	  "found \"x\"; \"drop\", \"forward\" or \"alert\"" },
	{ "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}, \"PORT\": {\"E\": {}}}",
	  "PORT.E.speed: is missing or 0" },
	{ "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}, \"PORT\": {\"E\": {\"speed\": 1}}, "
	  "\"DEVICE_NEIGHBOR\": "
	  "{\"E\": {\"name\": \"l0\", \"port\": \"E\"}}}",
	  "a port that leads to itself" },
	{ "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}, \"PORT\": {\"E\": {\"speed\": 1}}, "
	  "\"DEVICE_NEIGHBOR\": "
	  "{\"E\": {\"name\": \"l0\", \"port\": \"F\"}}}",
	  "found \"F\"; a PORT of" },
	{ "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}, \"PORT\": {\"E\": {\"speed\": 1}}, "
	  "\"DEVICE_NEIGHBOR\": "
	  "{\"E\": {\"name\": \"a b\"}}}",
	  "DEVICE_NEIGHBOR.E.name: found \"a b\"" },
	{ "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}, \"PORT\": {\"E\": {\"speed\": \"fast\"}}}",
	  "found \"fast\"; 0 to " },
	{ "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"l0\"}}, \"PORT\": {\"E\": {\"speed\": 1}}, "
	  "\"DEVICE_NEIGHBOR\": {\"F\": {\"name\": \"a\"}}}",
	  "DEVICE_NEIGHBOR.F: no such port in PORT" },
	{ "{" PORTS POOLS "\"BUFFER_PG\": {\"Ethernet8|3\": {\"profile\": \"none\"}}}",
	  "found \"none\"; the name of a BUFFER_PROFILE would be right" },
	{ "{" PORTS "\"BUFFER_POOL\": {\"i\": {\"type\": \"ingress\", \"mode\": \"dynamic\", \"size\": 9}}, "
	  "\"BUFFER_PROFILE\": {\"p\": {\"pool\": \"i\", \"size\": 0, \"dynamic_th\": \"x\"}}}",
	  "a power of 2, \"-8\" to \"8\", would be right" },
	{ "{" PORTS "\"TC_TO_QUEUE_MAP\": {\"Q\": {\"3\": \"9\"}}, \"DSCP_TO_TC_MAP\": {\"M\": {\"26\": \"3\"}}, "
	  "\"PORT_QOS_MAP\": {\"Ethernet8\": {\"dscp_to_tc_map\": \"M\", \"tc_to_queue_map\": \"Q\"}}}",
	  "is in queue 9; 0 to 7 would be right" },
	{ "{" PORTS "\"WRED_PROFILE\": {\"w\": {\"ecn\": \"a\\\"b\"}}}", "printable characters without quotes" },
	{ "{" PORTS "\"WRED_PROFILE\": {\"w\": {\"ecn\": \"ecn_purple\"}}}", "WRED_PROFILE.w.ecn: found \"ecn_purple\"" },
	{ "{" PORTS "\"QUEUE\": {\"Ethernet8|3\": {\"wred_profile\": \"w\"}}}",
	  "QUEUE.Ethernet8|3.wred_profile: found \"w\"; the name of a WRED_PROFILE would be right" },
	{ "{" PORTS "\"SCHEDULER\": {\"s\": {\"type\": \"LIFO\"}}, \"QUEUE\": {\"Ethernet8|3\": {\"scheduler\": \"s\"}}}",
	  "SCHEDULER.s.type: found \"LIFO\"" },
	{ "{" PORTS "\"SCHEDULER\": {\"s\": {\"weight\": 0}}, \"QUEUE\": {\"Ethernet8|3\": {\"scheduler\": \"s\"}}}",
	  "SCHEDULER.s.weight: found 0; 1 to 255 would be right" },
	{ "{" PORTS ONE_PROFILE "\"static_th\": 5, \"dynamic_th\": 1}}}",
	  "BUFFER_PROFILE.p.static_th: found 5 beside dynamic_th; one threshold would be right" },
	{ "{" PORTS "\"DSCP_TO_TC_MAP\": {\"M\": {\"64\": \"1\"}}}", "DSCP_TO_TC_MAP.M.64: 0 to 63 would be right" },
	{ "{" PORTS "\"DSCP_TO_TC_MAP\": {\"M\": {\"af41\": \"3\"}}}", "DSCP_TO_TC_MAP.M.af41: 0 to 63" },
	{ "{" PORTS "\"DSCP_TO_TC_MAP\": {\"M\": [\"3\"]}}", "DSCP_TO_TC_MAP.M: an object of fields" },
	{ "{" PORTS "\"TC_TO_QUEUE_MAP\": {\"M\": {\"3\": \"x\"}}}", "TC_TO_QUEUE_MAP.M.3: found \"x\"; 0 to 15" },
	{ "{" PORTS "\"TC_TO_PRIORITY_GROUP_MAP\": {\"M\": {\"16\": \"3\"}}}", "TC_TO_PRIORITY_GROUP_MAP.M.16: 0 to 15" },
	{ "{" PORTS "\"PFC_WD\": {\"Ethernet9\": {\"action\": \"drop\"}}}", "PFC_WD.Ethernet9: no such port in PORT" },
	{ "{" PORTS "\"PORT_QOS_MAP\": {\"Ethernet9\": {\"pfc_enable\": \"3\"}}}", "PORT_QOS_MAP.Ethernet9: no such port" },
	{ HEAD "\"PORT\": {\"E\": {\"speed\": 1, \"admin_status\": \"sideways\"}}}",
	  "PORT.E.admin_status: found \"sideways\"; \"down\" or \"up\" would be right" },
	{ HEAD "\"PORT\": {\"E\": {\"speed\": 1, \"pfc_asym\": \"maybe\"}}}",
	  "PORT.E.pfc_asym: found \"maybe\"; \"off\" or \"on\" would be right" },
	{ "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": 5}}, \"PORT\": {\"E\": {\"speed\": 1}}}",
	  "PORT is of one switch: its DEVICE_METADATA.localhost.hostname" },
	{ "{" PORTS "\"PFC_WD\": {\"Ethernet8\": {\"detection_time\": \"x\"}}}", "detection_time: found \"x\"; 0 to" },
	{ "{" PORTS "\"PFC_WD\": {\"Ethernet8\": {\"detection_time\": \"0\"}}}",
	  "PFC_WD.Ethernet8.detection_time: found 0; milliseconds from 1 on would be right" },
	{ "{" PORTS "\"WRED_PROFILE\": {\"w\": {\"ecn\": \"ecn_all\", \"green_min_threshold\": \"x\"}}}",
	  "green_min_threshold: found \"x\"; 0 to" },
	{ "{" PORTS "\"SCHEDULER\": {\"s\": {\"weight\": 256}}, \"QUEUE\": {\"Ethernet8|3\": {\"scheduler\": \"s\"}}}",
	  "SCHEDULER.s.weight" },
	{ "{" PORTS ONE_PROFILE "\"dynamic_th\": -9223372036854775808}}}",
	  "a power of 2, \"-8\" to \"8\", would be right" },
	{ "{" PORTS ONE_PROFILE "\"dynamic_th\": 128}}}", "a power of 2, \"-8\" to \"8\", would be right" },
	{ "{" PORTS ONE_PROFILE "\"xon\": \"x\"}}}", "BUFFER_PROFILE.p.xon: found \"x\"" },
	{ "{" PORTS ONE_PROFILE "\"xon_offset\": true}}}", "BUFFER_PROFILE.p.xon_offset: a number, 0 to" },
	{ "{" PORTS ONE_PROFILE "\"xoff\": -1}}}", "BUFFER_PROFILE.p.xoff: a number, 0 to" },
	{ "{" PORTS ONE_PROFILE "\"static_th\": \"x\"}}}", "BUFFER_PROFILE.p.static_th: found \"x\"" },
	{ "{" PORTS "\"CABLE_LENGTH\": {\"A\": {\"Ethernet8\": \"m\"}}}", "Ethernet8: a length as \"40m\"" },
	{ "{" PORTS "\"CABLE_LENGTH\": {\"A\": {\"Ethernet8\": \"40\"}}}", "Ethernet8: a length as \"40m\"" },
	{ "{" PORTS "\"CABLE_LENGTH\": {\"A\": {\"Ethernet8\": \"4x0m\"}}}", "Ethernet8: a length as \"40m\"" },
	{ "{" PORTS "\"CABLE_LENGTH\": {\"A\": {\"Ethernet8\": \"200001m\"}}}", "a length as \"40m\"" },
	{ "{" PORTS "\"CABLE_LENGTH\": {\"A\": {\"Ethernet8\": 40}}}", "Ethernet8: a length as \"40m\"" },
	{ "{" PORTS "\"CABLE_LENGTH\": {\"A\": 40}}", "CABLE_LENGTH.A: an object of fields" },
	{ "{" PORTS POOLS "\"BUFFER_PG\": {\"Ethernet8\": {\"profile\": \"p\"}}}", "ports and priority groups 0 to 7, as" },
	{ "{" PORTS POOLS "\"BUFFER_PG\": {\"Ethernet8|4-3\": {\"profile\": \"p\"}}}",
	  "ports and priority groups 0 to 7, as" },
	{ "{" PORTS POOLS "\"BUFFER_PG\": {\"Ethernet8|x-3\": {\"profile\": \"p\"}}}",
	  "ports and priority groups 0 to 7, as" },
	{ "{" PORTS POOLS "\"BUFFER_PG\": {\"Ethernet8|16\": {\"profile\": \"p\"}}}",
	  "ports and priority groups 0 to 7, as" },
	{ "{" PORTS POOLS "\"BUFFER_PG\": {\"Ethernet9|3\": {\"profile\": \"p\"}}}", "no such port in PORT" },
	{ HEAD "\"PORT\": {\"\": {\"speed\": 1}}}", "a name of 1 to" },
	{ HEAD "\"PORT\": {\"a\\\"b\": {\"speed\": 1}}}", "a name of 1 to" },
	{ HEAD "\"PORT\": {\"E\": {\"speed\": 1, \"admin_status\": 1}}}", "PORT.E.admin_status: a string would be right" },
	{ HEAD "\"PORT\": {\"E\": {\"speed\": 1, \"pfc_asym\": 1}}}", "PORT.E.pfc_asym: a string would be right" },
	{ "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"\"}}}", "1 to 31 letters" },
	{ "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"a2345678901234567890123456789012\"}}}",
	  "1 to 31 letters" },
	{ HEAD "\"PORT\": {\"" LONG_NAME "\": {\"speed\": 1}}}", "a name of 1 to 63 printable characters" },
	{ HEAD "\"PORT\": {\"E\": {\"speed\": \"0\"}}}", "PORT.E.speed: is missing or 0" },
	{ HEAD "\"PORT\": {\"E\": {\"speed\": 1, \"mtu\": \"x\"}}}", "PORT.E.mtu: found \"x\"" },
	{ "{" PORTS "\"WRED_PROFILE\": {\"w\": {\"ecn\": \"a\\u0007b\"}}}", "printable characters without quotes" },
	{ "{" PORTS "\"WRED_PROFILE\": {\"w\": {\"ecn\": \"" LONG_NAME "\"}}}", "at most 63 printable characters" },
	{ "{" PORTS "\"WRED_PROFILE\": {\"w\\\"\": {\"ecn\": \"ecn_all\"}}}", "a name of 1 to 63" },
	{ "{" PORTS "\"BUFFER_POOL\": {\"\": {}}}", "a name of 1 to 63" },
	{ "{" PORTS "\"BUFFER_PROFILE\": {\"p\": {\"pool\": \"[BUFFER_POOL|e\"}}}", "found \"[BUFFER_POOL|e\"" },
	{ "{" PORTS ONE_PROFILE "\"x\": 0}, \"r\": {\"pool\": \"i\", \"size\": \"x\"}}}",
	  "BUFFER_PROFILE.r.size: found \"x\"" },
	{ "{" PORTS POOLS "\"BUFFER_QUEUE\": {\"Ethernet8|3\": {\"profile\": 3}}}", "profile: a string would be right" },
	{ "{" PORTS POOLS "\"BUFFER_PG\": {\"Ethernet8|3x\": {\"profile\": \"p\"}}}",
	  "ports and priority groups 0 to 7, as" },
	{ "{" PORTS "\"SCHEDULER\": {\"s\": {\"type\": 1}}, \"QUEUE\": {\"Ethernet8|3\": {\"scheduler\": \"s\"}}}",
	  "SCHEDULER.s.type: a string would be right" },
	{ "{" PORTS "\"QUEUE\": {\"Ethernet8|3\": {\"wred_profile\": 1}}}", "wred_profile: a string would be right" },
	{ "{" PORTS "\"WRED_PROFILE\": {\"w\": {\"ecn\": \"ecn_all\"}, \"v\": {\"ecn\": \"ecn_all\"}}, "
	  "\"QUEUE\": {\"Ethernet8\": {\"wred_profile\": \"w\"}}}",
	  "QUEUE.Ethernet8: ports and queues 0 to 19, as" },
	{ "{" PORTS "\"PORT_QOS_MAP\": {\"Ethernet8\": {\"pfc_enable\": 3}}}", "pfc_enable: a string would be right" },
	{ "{" PORTS "\"PORT_QOS_MAP\": {\"Ethernet8\": {\"tc_to_queue_map\": 3}}}",
	  "tc_to_queue_map: a string would be right" },
	{ "{" PORTS "\"PORT_QOS_MAP\": {\"Ethernet8\": {\"tc_to_pg_map\": \"G\"}}}",
	  "the name of a TC_TO_PRIORITY_GROUP_MAP would be right" },
	{ "{" PORTS
	  "\"DSCP_TO_TC_MAP\": {\"M\": {\"2\": \"x\"}}, \"PORT_QOS_MAP\": {\"Ethernet8\": {\"pfc_enable\": \"3\", "
	  "\"dscp_to_tc_map\": \"M\"}}}",
	  "DSCP_TO_TC_MAP.M.2: found \"x\"; 0 to 15" },
	{ "{" PORTS "\"PFC_WD\": {\"Ethernet8\": {\"action\": 1}}}", "action: a string would be right" },
	{ HEAD "\"PORT\": {\"E\": {\"speed\": 1}}, \"DEVICE_NEIGHBOR\": {\"E\": {\"name\": 1}}}",
	  "DEVICE_NEIGHBOR.E.name: a string would be right" },
	{ HEAD "\"PORT\": {\"E\": {\"speed\": 1}}, \"DEVICE_NEIGHBOR_METADATA\": {\"a\": {\"type\": 1}}}",
	  "DEVICE_NEIGHBOR_METADATA.a.type: a string would be right" },
};

static void
what_is_wrong_is_refused_with_its_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct err err = { 0 };

		if (run(wrong[i].text, NULL, SONIC_DSCP, &err) != NULL)
			fail_msg("not refused: %s", wrong[i].text);
		has(err.text, wrong[i].message);
	}
}

/* WRED, schedulers, the watchdog and the MTU of a port; a WRED profile without ECN is left out. */
static void
queues_have_their_settings(void **state)
{
	struct err err = { 0 };
	char *text =
		run("{ " PORTS "\"DEVICE_NEIGHBOR_METADATA\": {\"b\": {\"type\": \"LeafRouter\"}}, "
		    "\"WRED_PROFILE\": {\"w\": {\"ecn\": \"ecn_all\", \"green_min_threshold\": \"100\", "
		    "\"green_max_threshold\": 400, \"green_drop_probability\": \"5\"}, \"v\": {\"ecn\": \"ecn_none\"}}, "
		    "\"SCHEDULER\": {\"s\": {\"type\": \"STRICT\"}, \"d\": {\"type\": \"DWRR\", \"weight\": \"14\"}}, "
		    "\"QUEUE\": {\"Ethernet8|3-4\": {\"wred_profile\": \"w\", \"scheduler\": \"d\"}, "
		    "\"Ethernet8|1\": {\"wred_profile\": \"v\"}, "
		    "\"Ethernet8|5\": {\"scheduler\": \"d\"}, \"Ethernet8|6\": {\"scheduler\": \"s\"}}, "
		    "\"PFC_WD\": {\"GLOBAL\": {\"POLL_INTERVAL\": \"200\"}, \"Ethernet8\": {\"action\": \"forward\", "
		    "\"detection_time\": \"400\", \"restoration_time\": 0}}, "
		    "\"PORT_QOS_MAP\": {\"Ethernet8\": {\"pfc_enable\": \"0,3\"}} }",
		    NULL, SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "{ class = 3; kmin = 100L; kmax = 400L; pmax = 0.05; }");
	has(text, "{ class = 4; kmin = 100L; kmax = 400L; pmax = 0.05; }");
	assert_null(strstr(text, "{ class = 1; kmin"));
	has(text, "weights = [ \"3:14\", \"4:14\", \"5:14\" ];");
	has(text, "watchdog = { enabled = true; detection_time = \"400ms\"; restoration_time = \"1ms\"; action = "
		  "\"forward\"; };");
	has(text, "priorities = [ \"3\" ]");
	free(text);
}

/*
 * A cable between two switches with files: both describe it alike, and the longer length counts. It is left out where one
 * end is down.
 */
static void
two_files_describe_a_cable(void **state)
{
	static const struct {
		const char *second, *cable, *message; /* message: NULL, it is taken; cable NULL: there is none */
	} cases[] = {
		{ SWITCH("l1", "1000", "up", "l0", "E0", "300m"), "\"l0 l1 1000Mbps 1500000ps\"", NULL },
		{ SWITCH("l1", "1000", "up", "l0", "E0", "5m"), "\"l0 l1 1000Mbps 25000ps\"", NULL },
		{ SWITCH("l1", "1000", "up", "", "", "5m"), "\"l0 l1 1000Mbps 25000ps\"", NULL },
		{ SWITCH("l1", "1000", "up", "l0", "E1", "5m"), NULL, "the same cable in both would be right" },
		{ SWITCH("l1", "1000", "down", "l0", "E0", "5m"), NULL, "no port is up and has a neighbor" },
		{ SWITCH("l1", "2000", "up", "l0", "E0", "5m"), NULL,
		  "PORT.E0.speed: found 1000; 2000, as its other end has" },
		{ SWITCH("l1", "1000", "up", "l2", "E0", "5m"), NULL, "the same cable in both would be right" },
		{ SWITCH("l0", "1000", "up", "l1", "E0", "5m"), NULL, "l0" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		char *text = run(SWITCH("l0", "1000", "up", "l1", "E0", "5m"), cases[i].second, SONIC_DSCP, &err);

		assert_true((text != NULL) == (cases[i].message == NULL));
		has(text != NULL ? text : err.text, text != NULL ? cases[i].cable : cases[i].message);
		free(text);
	}
}

#define ONE_PORT HEAD "\"PORT\": {\"E\": {\"speed\": 1}}, "

/* One more of each table than a switch can have. */
static void
tables_have_limits(void **state)
{
	static const struct {
		const char *head, *row, *tail; /* row: with # for its number */
		uint32_t count;
		const char *message;
	} cases[] = {
		{ HEAD "\"PORT\": {", "\"E#\": {\"speed\": 1}", "}}", SONIC_PORTS, "a switch has 1024 ports at most" },
		{ ONE_PORT "\"BUFFER_POOL\": {", "\"p#\": {\"type\": \"egress\", \"mode\": \"static\", \"size\": 1}", "}}",
		  SONIC_POOLS, "a switch has 8 pools at most" },
		{ ONE_PORT "\"BUFFER_POOL\": {\"e\": {\"type\": \"egress\", \"mode\": \"static\", \"size\": 9}}, "
			   "\"BUFFER_PROFILE\": {",
		  "\"p#\": {\"pool\": \"e\", \"size\": 0, \"static_th\": 9}", "}}", SONIC_PROFILES,
		  "a switch has 64 profiles at most" },
		{ ONE_PORT "\"WRED_PROFILE\": {", "\"w#\": {\"ecn\": \"ecn_all\"}", "}}", SONIC_WREDS,
		  "a switch has 32 WRED profiles at most" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		char *text = NULL;
		size_t length;
		FILE *file = open_memstream(&text, &length);

		assert_non_null(file);
		fputs(cases[i].head, file);
		for (uint32_t row = 0; row <= cases[i].count; row++) {
			int before = (int)strcspn(cases[i].row, "#");

			fprintf(file, "%s%.*s%u%s", row != 0 ? ", " : "", before, cases[i].row, row,
				cases[i].row + before + 1);
		}
		fputs(cases[i].tail, file);
		assert_int_equal(fclose(file), 0);
		assert_null(run(text, NULL, SONIC_DSCP, &err));
		has(err.text, cases[i].message);
		free(text);
	}
}

static void
rows_have_a_limit(void **state)
{
	struct err err = { 0 };
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	(void)state;
	assert_non_null(file);
	for (uint32_t row = 0; row <= SONIC_ROWS; row++)
		fprintf(file, "%u 5m 18432 18432 35840 0\n", 1000 + row);
	assert_int_equal(fclose(file), 0);
	assert_null(run("{ " PORTS POOLS MAPS "\"X\": {} }", text, SONIC_DSCP, &err));
	has(err.text, ":513: more than 512 rows");
	assert_null(run("{ " PORTS POOLS MAPS "\"X\": {} }", "100000 5m 18432 x 35840 0\n", SONIC_DSCP, &err));
	free(text);
}

/* Many small objects would take a hundred times the file's size in memory. */
static void
a_file_of_many_objects_is_refused(void **state)
{
	size_t count = SONIC_MAX_GROUPS, used = 0;
	char *text = malloc(3 * count + 16);
	struct err err = { 0 };

	(void)state;
	assert_non_null(text);
	used += (size_t)sprintf(text, "{\"a\":[");
	for (size_t i = 0; i < count; i++)
		used += (size_t)sprintf(text + used, "%s{}", i != 0 ? "," : "");
	sprintf(text + used, "]}");
	assert_null(run(text, NULL, SONIC_DSCP, &err));
	has(err.text, "at most 4 MiB and 100000 objects would be right");
	free(text);
}

/* A row that does not fit into the rest leaves the switch whole: other rows, classes beyond 7, ports of nobody. */
static void
rows_of_nothing_here_do_not_matter(void **state)
{
	struct err err = { 0 };
	char *text =
		run("{ " PORTS POOLS "\"CABLE_LENGTH\": {\"A\": {\"Ethernet99\": \"5m\"}}, "
		    "\"BUFFER_PG\": {\"Ethernet8,Ethernet16|3-7\": {\"profile\": \"p\"}}, "
		    "\"TC_TO_PRIORITY_GROUP_MAP\": {\"G\": {\"7\": \"9\"}}, \"TC_TO_QUEUE_MAP\": {\"Q\": {\"9\": \"9\"}}, "
		    "\"DSCP_TO_TC_MAP\": {\"M\": {\"26\": \"4\", \"11\": \"9\"}}, "
		    "\"PORT_QOS_MAP\": {\"global\": {\"scheduler\": \"s\"}, \"Ethernet8,Ethernet16\": {\"pfc_enable\": "
		    "\"3,,5\", "
		    "\"dscp_to_tc_map\": \"M\", \"tc_to_queue_map\": \"Q\", \"tc_to_pg_map\": \"G\"}}, "
		    "\"PFC_WD\": {\"Ethernet8\": {\"action\": \"alert\"}, \"Ethernet0\": {\"action\": \"drop\"}, "
		    "\"Ethernet16\": {\"detection_time\": 300}}, "
		    "\"DEVICE_NEIGHBOR_METADATA\": {\"a\": {\"type\": \"Server\"}} }",
		    NULL, SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "buffer_pg = ( \"3 p\", \"4 p\", \"5 p\", \"6 p\", \"7 p\" );");
	has(text, "priorities = [ \"3\", \"5\" ]");
	has(text, "detection_time = \"200ms\"; restoration_time = \"200ms\"; action = \"alert\";");
	has(text, "detection_time = \"300ms\"; restoration_time = \"200ms\"; action = \"drop\";");
	free(text);
	text = run("{ " PORTS "\"BUFFER_PG\": {\"Ethernet8|3\": {\"profile\": \"p\"}} }", NULL, SONIC_DSCP, &err);
	assert_non_null(text); /* without pools, profiles are none of this file */
	assert_null(strstr(text, "buffer_pg"));
	free(text);
	/* A row of the same rate and another cable is none; without the pool that rows are of, there is no profile. */
	text = run("{ " PORTS POOLS MAPS "\"X\": {} }", "400000 5m 9000 8000 70000 0\n", SONIC_DSCP, &err);
	assert_non_null(text);
	has(text, "pfc = { enabled = false;");
	free(text);
	assert_null(run("{ " PORTS MAPS ONE_PROFILE "\"xoff\": 1}}}", "400000  40m 9000 8000 70000 0\n", SONIC_DSCP, &err));
	has(err.text, "a BUFFER_POOL ingress_lossless_pool would be right");
}

/* A static pool's profile without a threshold is static; reserves as large as a pool are not taken off it. */
static void
a_pool_keeps_what_its_reserves_would_take(void **state)
{
	struct err err = { 0 };
	char *text =
		run("{ " PORTS "\"BUFFER_POOL\": {\"i\": {\"type\": \"ingress\", \"mode\": \"static\", \"size\": 100}}, "
		    "\"BUFFER_PROFILE\": {\"p\": {\"pool\": \"i\", \"size\": 300}}, "
		    "\"BUFFER_PG\": {\"Ethernet8|3\": {\"profile\": \"p\"}} }",
		    NULL, SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "name = \"i\"; type = \"ingress\"; mode = \"static\"; size = 100L;");
	has(text, "size = 300L; xon = 0L; xon_offset = 0L; xoff = 0L; mode = \"static\"; static_th = 0L;");
	free(text);
}

/* Strict queues are everybody's, weights have a limit, and asymmetric PFC is a port's. */
static void
ports_differ_in_their_queues(void **state)
{
	struct err err = { 0 };
	char *text = run(
		HEAD
		"\"PORT\": {\"E0\": {\"speed\": 1, \"pfc_asym\": \"on\", \"mtu\": 1500}, \"E1\": {\"speed\": 1}, "
		"\"E2\": {\"speed\": 1, \"mtu\": 1500}, \"E3\": {\"speed\": 1, \"mtu\": 9000}, \"E4\": {\"speed\": 1}, "
		"\"E5\": {\"speed\": 1, \"mtu\": 1500}}, "
		"\"DEVICE_NEIGHBOR\": {\"E0\": {\"name\": \"a\"}, \"E1\": {\"name\": \"a\"}, \"E2\": {\"name\": \"b\"}, "
		"\"E3\": {\"name\": \"c\"}, \"E5\": {\"name\": \"b\"}}, "
		"\"BUFFER_POOL\": {\"b\": {\"type\": \"both\", \"mode\": \"dynamic\", \"size\": 9}}, "
		"\"BUFFER_PROFILE\": {\"p\": {\"pool\": \"b\"}}, "
		"\"BUFFER_QUEUE\": {\"E0|3\": {\"profile\": \"p\"}, \"E0|4\": {\"profile\": \"p\"}}, "
		"\"WRED_PROFILE\": {\"w\": {\"ecn\": \"ecn_green_yellow\", \"green_max_threshold\": 9}}, "
		"\"SCHEDULER\": {\"s\": {\"type\": \"STRICT\"}, \"d\": {\"weight\": 200}, \"l\": {\"weight\": 1}}, "
		"\"QUEUE\": {\"E0|6\": {\"scheduler\": \"s\"}, \"E1|3\": {\"scheduler\": \"d\"}, "
		"\"E1|4\": {\"scheduler\": \"l\", \"wred_profile\": \"w\"}}}",
		NULL, SONIC_DSCP, &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	assert_null(strstr(text, "E4"));
	has(text, "strict = [ \"6\" ];");
	has(text, "asymmetric = true;");
	has(text, "weights = [ \"3:64\", \"4:1\" ];");
	has(text, "{ class = 4; kmin = 0L; kmax = 9L; pmax = 1.00; }");
	has(text, "names = [ \"l0:1\" ];\n    mtu = 1500;\n  }");
	has(text, "names = [ \"l0:3\", \"l0:5\" ];\n    mtu = 1500;\n    buffer_pg");
	free(text);
}

/* A switch of ports from..to, to a neighbor each; neighbor: printf's format of the port's number, or NULL: none. */
static char *
many_ports(const char *name, uint32_t from, uint32_t to, const char *neighbor)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	fprintf(file, "{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"%s\"}}, \"PORT\": {", name);
	for (uint32_t i = from; i <= to; i++)
		fprintf(file, "%s\"E%u\": {\"speed\": 1}", i != from ? ", " : "", i);
	fprintf(file, "}");
	for (uint32_t i = from; neighbor != NULL && i <= to; i++)
		fprintf(file, "%s\"E%u\": {\"name\": \"%s\", \"port\": \"E%u\"}",
			i != from ? ", " : ", \"DEVICE_NEIGHBOR\": {", i, neighbor, i);
	fprintf(file, "%s}", neighbor != NULL ? "}" : "");
	assert_int_equal(fclose(file), 0);
	return text;
}

/* More ports with cables than a node has: at the end that is read first, and at the other. */
static void
a_switch_with_too_many_cables_is_refused(void **state)
{
	char *texts[] = { many_ports("a", 1, 150, "z"), many_ports("b", 151, 300, "z"), many_ports("z", 1, 300, NULL),
			  many_ports("y", 1, 249, "h") };
	struct err err = { 0 };

	(void)state;
	assert_null(run_many((const char *const *)texts, 3, &err));
	has(err.text, "many-2.json: more than 248 ports with cables");
	err = (struct err){ 0 };
	assert_null(run_many((const char *const *)texts + 3, 1, &err));
	has(err.text, "many-0.json: more than 248 ports with cables");
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
}

static void
too_many_hosts_and_switches_are_refused(void **state)
{
	static const char *one[SONIC_MAX_SWITCHES + 1];
	char *texts[9], name[16];
	struct err err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		snprintf(name, sizeof(name), "s%zu", i);
		texts[i] = many_ports(name, 1, SONIC_PORTS, NULL);
	}
	assert_null(run_many((const char *const *)texts, ARRAY_LEN(texts), &err));
	has(err.text, "more than 8192 neighbors without a file");
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free(texts[i]);
	for (size_t i = 0; i < ARRAY_LEN(one); i++)
		one[i] = SWITCH("l0", "1000", "up", "a", "E0", "5m");
	err = (struct err){ 0 };
	assert_null(run_many(one, ARRAY_LEN(one), &err));
	has(err.text, "1001 switches; at most 1000 would be right");
}

/* The first of two files with the same table counts; what is of all has a limit as a whole, and a file has one. */
static void
what_is_of_all_switches_has_a_limit(void **state)
{
	static char large[SONIC_MAX_BYTES / 2 + 100], too_large[SONIC_MAX_BYTES + 100];
	const char *texts[] = { large, SWITCH("l0", "1000", "up", "a", "E0", "5m"), large };
	static const char first[] = "{\"PORT_QOS_MAP\": {\"E0\": {\"pfc_enable\": \"3\"}}}",
			  second[] = "{\"PORT_QOS_MAP\": {\"E0\": {\"pfc_enable\": \"4\"}}}";
	struct err err = { 0 };
	char *text;

	(void)state;
	memset(large, ' ', sizeof(large) - 1);
	memcpy(large, first, strlen(first));
	assert_null(run_many(texts, ARRAY_LEN(texts), &err));
	has(err.text,
	    "many-2.json: files without DEVICE_METADATA.localhost.hostname have 4194502 B; at most 4 MiB together");
	texts[2] = second;
	err = (struct err){ 0 };
	text = run_many(texts, ARRAY_LEN(texts), &err);
	assert_non_null(text);
	has(text, "priorities = [ \"3\" ]");
	free(text);
	memset(too_large, ' ', sizeof(too_large) - 1);
	err = (struct err){ 0 };
	assert_null(run(too_large, NULL, SONIC_DSCP, &err));
	has(err.text, "at most 4 MiB and 100000 objects would be right");
}

/* One that has no cable is a switch all the same; what a file of all says of ports that it lacks does not matter. */
static void
a_switch_without_cables_has_no_settings(void **state)
{
	const char *texts[] = { SWITCH("l0", "1000", "up", "a", "E0", "5m"), SWITCH("l1", "1000", "down", "b", "E0", "5m"),
				"{" POOLS "\"BUFFER_PG\": {\"E0,E9|3\": {\"profile\": \"p\"}}}" };
	const char *missing = "x";
	const struct sonic_files none = { .paths = &missing, .count = 1, .dscp = SONIC_DSCP };
	struct err err = { 0 };
	char *text = run_many(texts, ARRAY_LEN(texts), &err);

	(void)state;
	if (text == NULL)
		fail_msg("%s", err.text);
	has(text, "// Made by rocelab import sonic: 1 switches, 1 hosts, 1 cables.");
	has(text, "switches = [\n    \"l0\"\n  ]");
	assert_null(strstr(text, "names = [ \"l1\""));
	has(text, "buffer_pg = ( \"3 p\" );");
	free(text);
	err = (struct err){ 0 };
	assert_int_equal(sonic_import(&none, stdout, &err), -ENOENT);
	has(err.text, "x: ");
}

/* A key of many ports is taken up to 16 KiB. */
static void
a_key_of_too_many_ports_is_refused(void **state)
{
	static char text[20000];
	struct err err = { 0 };
	int used = snprintf(text, sizeof(text), "{" PORTS POOLS "\"BUFFER_PG\": {\"");

	(void)state;
	for (int i = 0; i < 1700; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used, "Ethernet8,");
	snprintf(text + used, sizeof(text) - (size_t)used, "Ethernet8|3\": {\"profile\": \"p\"}}}");
	assert_null(run(text, NULL, SONIC_DSCP, &err));
	has(err.text, "ports and priority groups 0 to 7, as");
}

static int
import_sonic(const void *input, FILE *to, struct err *err)
{
	return sonic_import(input, to, err);
}

/* Jansson takes some of its own for a wrong character, or loses one: what it reports is reported. */
static void
refuse_each_of_jansson(const struct sonic_files *files)
{
	FILE *to = fopen("/dev/null", "w");
	uint32_t reported = 0;
	bool was = true;

	assert_non_null(to);
	json_set_alloc_funcs(malloc, free); /* those of this program, which can be refused */
	for (uint64_t nth = 1; was && nth < ALLOC_MAX_TRIES; nth++) {
		struct err err = { 0 };
		int rc;

		alloc_refuse(nth);
		rc = sonic_import(files, to, &err);
		was = alloc_was_refused();
		if (rc != 0 &&
		    (!was || err.text[0] == '\0' || (rc == -ENOMEM && strstr(err.text, "out of memory") == NULL)))
			fail_msg("allocation %u: %d \"%s\"", (unsigned)nth, rc, err.text);
		reported += rc == -ENOMEM;
	}
	assert_true(reported > 50);
	fclose(to);
}

static void
each_refusal_of_memory_is_reported(void **state)
{
	static const char *const texts[] = {
		"{ " PORTS POOLS MAPS "\"BUFFER_PG\": {\"Ethernet8,Ethernet16|3-4\": {\"profile\": \"p\"}} }",
		SWITCH("s", "100000", "up", "a", "E0", "5m"),
		"{\"X\": {}}",
		"100000 5m 18432 18432 35840 0\n",
	};
	static const char *const names[] = { "config.json", "other.json", "common.json", "lookup.ini" };
	char paths[ARRAY_LEN(texts)][256];
	const char *files[] = { paths[0], paths[1], paths[2], paths[3] };
	const struct sonic_files sonic = { .paths = files, .count = ARRAY_LEN(texts), .dscp = SONIC_DSCP };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		snprintf(paths[i], sizeof(paths[i]), "%s", write_file(names[i], texts[i], strlen(texts[i])));
	assert_true(refuse_each_allocation(import_sonic, &sonic) > 5);
	refuse_each_of_jansson(&sonic);
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		unlink(paths[i]);
}

UNIT_TEST(import_sonic)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_is_a_scenario),
		cmocka_unit_test(rows_are_profiles_or_headroom),
		cmocka_unit_test(a_bad_row_is_refused_with_its_line),
		cmocka_unit_test(without_neighbors_each_port_has_a_host),
		cmocka_unit_test(a_common_file_is_of_all_switches),
		cmocka_unit_test(an_exponent_may_be_a_number),
		cmocka_unit_test(the_dynamic_model_leaves_pools_out),
		cmocka_unit_test(a_pool_for_both_sides_bounds_groups),
		cmocka_unit_test(a_pool_of_0_bytes_is_left_out),
		cmocka_unit_test(a_threshold_has_its_own_mode),
		cmocka_unit_test(headroom_is_taken_off_a_pool_that_has_it),
		cmocka_unit_test(a_class_has_the_profile_of_its_group),
		cmocka_unit_test(queues_have_their_settings),
		cmocka_unit_test(two_files_describe_a_cable),
		cmocka_unit_test(tables_have_limits),
		cmocka_unit_test(rows_have_a_limit),
		cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
		cmocka_unit_test(a_file_of_many_objects_is_refused),
		cmocka_unit_test(rows_of_nothing_here_do_not_matter),
		cmocka_unit_test(a_pool_keeps_what_its_reserves_would_take),
		cmocka_unit_test(ports_differ_in_their_queues),
		cmocka_unit_test(a_switch_with_too_many_cables_is_refused),
		cmocka_unit_test(too_many_hosts_and_switches_are_refused),
		cmocka_unit_test(what_is_of_all_switches_has_a_limit),
		cmocka_unit_test(a_switch_without_cables_has_no_settings),
		cmocka_unit_test(a_key_of_too_many_ports_is_refused),
		cmocka_unit_test(each_refusal_of_memory_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

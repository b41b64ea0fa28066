/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of HPCC's simulator: the scenario that they become, and what is refused, with its line. */
#include "tests/unit/collectives/import_rig.h"

#include "collectives/import/hpcc.h"
#include "common/array.h"
#include "tests/unit/unit.h"

static const char topology[] = "4 1 3\n0\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 0.001ms 0\n0 3 25Gbps 0.001ms 0\n";
static const char flow[] = "3\n1 2 3 100 5000 2\n3 2 4 100 7000 2.000001\n1 2 3 101 9000 2.5\n9 9 9 of another\n";
static const char config[] = "CC_MODE 1 {which}\n"
			     "PACKET_PAYLOAD_SIZE 1000\n"
			     "TOPOLOGY_FILE mix/topology.txt\n"
			     "\n"
			     "FLOW_FILE mix/flow.txt\n"
			     "EWMA_GAIN 0.00390625\n"
			     "RATE_AI 50Mb/s\n"
			     "RP_TIMER 900\n"
			     "HAS_WIN 0\n"
			     "SIMULATOR_STOP_TIME 4.00\n"
			     "BUFFER_SIZE 32\n"
			     "KMAX_MAP 2 25000000000 400 100000000000 1600\n"
			     "KMIN_MAP 2 25000000000 100 100000000000 400\n"
			     "PMAX_MAP 2 25000000000 0.2 100000000000 0.2\n"
			     "LINK_DOWN 250 0 3\n"
			     "QLEN_MON_START 2000000000\n";

/* What a run of the import leaves: the scenario, or NULL with err set. */
static char *
run(const char *config_text, const char *topology_text, const char *flow_text, struct err *err)
{
	char config_path[256], topology_path[256], flow_path[256], *text = NULL;
	struct hpcc_files files = { .config = config_text != NULL ? config_path : NULL,
				    .topology = topology_path,
				    .flow = flow_path };
	size_t length;
	FILE *to = open_memstream(&text, &length);
	int rc;

	snprintf(topology_path, sizeof(topology_path), "%s", write_file("topology", topology_text, strlen(topology_text)));
	snprintf(flow_path, sizeof(flow_path), "%s", write_file("flow", flow_text, strlen(flow_text)));
	if (config_text != NULL)
		snprintf(config_path, sizeof(config_path), "%s", write_file("config", config_text, strlen(config_text)));
	assert_non_null(to);
	rc = hpcc_import(&files, to, err);
	assert_int_equal(fclose(to), 0);
	unlink(topology_path);
	unlink(flow_path);
	if (config_text != NULL)
		unlink(config_path);
	if (rc == 0)
		return text;
	free(text);
	return NULL;
}

static void
is_refused(const char *text, const char *what)
{
	if (strstr(text, what) == NULL)
		fail_msg("no %s in\n%s", what, text);
}

static void
a_scenario_has_what_the_files_have(void **state)
{
	struct err err = { 0 };
	char *text = run(config, topology, flow, &err);

	if (text == NULL)
		fail_msg("%s", err.text);
	is_refused(text, "hosts = [ \"1\", \"2\", \"3\" ]");
	is_refused(text, "// Made by rocelab import hpcc. Times count from the first flow, which starts at 2s there");
	is_refused(text, "limits = { virtual_time = \"2s\"; }");
	is_refused(text, "mtu = 1000; data_overhead = 48");
	is_refused(text, "window = \"none\"");
	is_refused(text, "cc = \"dcqcn\"");
	is_refused(text,
		   "g = 0.00390625; alpha_interval = \"55us\"; decrease_interval = \"4us\"; increase_timer = \"900us\"");
	is_refused(text, "ai = \"50Mb/s\"; hai = \"50Mb/s\"; min_rate = \"100Mb/s\"; fast_recovery = 5");
	is_refused(text, "buffer = \"32MiB\"");
	is_refused(text, "priorities = [ \"3\", \"4\" ]");
	is_refused(text, "rate = \"100000000000bps\"; kmin = \"400000B\"; kmax = \"1600000B\"; pmax = 0.2");
	is_refused(text, "src = \"1\"; dst = \"2\"; sport = 10000; dport = 100; bytes = 5000L; start = \"0ps\"; prio = 3");
	is_refused(text, "src = \"3\"; dst = \"2\"; sport = 10000; dport = 100; bytes = 7000L; start = \"1us\"; prio = 4");
	is_refused(text,
		   "src = \"1\"; dst = \"2\"; sport = 10001; dport = 101; bytes = 9000L; start = \"500ms\"; prio = 3");
	is_refused(text, "kind = \"link-down\"; port = \"0:3\"; start = \"250us\"");
	assert_null(strstr(text, "another"));
	free(text);
}

/* Without a config.txt it is the simulator as it is built: DCQCN, no marking. */
static void
flows_alone_have_the_defaults(void **state)
{
	struct err err = { 0 };
	char *text = run(NULL, topology, flow, &err);

	assert_non_null(text);
	is_refused(text, "cc = \"dcqcn\"");
	is_refused(text, "window = \"bdp\"");
	is_refused(text, "ecn = { enabled = false; }");
	assert_null(strstr(text, "faults"));
	free(text);
}

static void
what_cannot_be_is_refused(void **state)
{
	static const struct {
		const char *config, *topology, *flow, *why;
	} cases[] = {
		{ "CC_MODE 8\n", NULL, NULL, "CC_MODE 8 is DCTCP" },
		{ "\nCC_MODE\n", NULL, NULL, "config:2: CC_MODE: found \"\"" },
		{ "CC_MODE 99999999999999999999\n", NULL, NULL, "config:1: CC_MODE: found" },
		{ "COLOUR 3\n", NULL, NULL, "config:1: \"COLOUR\" is no key of the simulator" },
		{ "ERROR_RATE_PER_LINK 0.01\n", NULL, NULL, "config:1: ERROR_RATE_PER_LINK 0.01 asks for loss" },
		{ "L2_BACK_TO_ZERO 1\n", NULL, NULL, "asks for a message from its beginning" },
		{ "MULTI_RATE 1\n", NULL, NULL, "a rate for each hop" },
		{ "PACKET_PAYLOAD_SIZE 0\n", NULL, NULL, "1 to 9000 would be right" },
		{ "RATE_AI fast\n", NULL, NULL, "a rate, as 50Mb/s," },
		{ "EWMA_GAIN nan\n", NULL, NULL, "a number would be right" },
		{ "KMIN_MAP 2 25000000000 100\n", NULL, NULL, "as many pairs" },
		{ "KMIN_MAP 1 100000000000 -5\n", NULL, NULL, "pair 1" },
		{ "KMIN_MAP 2 25 100 100 100\nKMAX_MAP 1 100 400\nPMAX_MAP 1 100 0.2\n", NULL, NULL,
		  "config:1: KMIN_MAP: values that do not go with the rates" },
		{ "LINK_DOWN 5 1 2\n", NULL, NULL, "config:1: LINK_DOWN: there is no link between 1 and 2" },
		{ NULL, "4 1\n", NULL, "topology:2: the file ends where" },
		{ NULL, NULL, "", "flow:1: found \"\"; the number of flows" },
		{ NULL, NULL, "2\n1 2 3 100 5000 2\n", "flow:2: the file ends behind 1 flows of 2" },
		{ NULL, NULL, "1\n1 2 3 100 5000\n", "flow:2: 5 words" },
		{ NULL, NULL, "1\n0 2 3 100 5000 2\n", "node 0 is a switch" },
		{ NULL, NULL, "1\n1 7 3 100 5000 2\n", "flow:2: destination: found \"7\"; 0 to 3" },
		{ NULL, NULL, "1\n1 1 3 100 5000 2\n", "to itself" },
		{ NULL, NULL, "1\n1 2 0 100 5000 2\n", "priority group: found \"0\"" },
		{ NULL, NULL, "1\n1 2 3 100 99999999999 2\n", "bytes: found" },
		{ NULL, NULL, "1\n1 2 3 100 5000 -2\n", "start: found \"-2\"" },
		{ NULL, NULL, "1\n1 2 3 100 5000 1e99\n", "start: found" },
		{ NULL, NULL, "99999999\n", "the number of flows" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		char *text = run(cases[i].config, cases[i].topology != NULL ? cases[i].topology : topology,
				 cases[i].flow != NULL ? cases[i].flow : flow, &err);

		if (text != NULL || strstr(err.text, cases[i].why) == NULL)
			fail_msg("case %zu: \"%s\" should say \"%s\"", i, err.text, cases[i].why);
	}
}

UNIT_TEST(import_hpcc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scenario_has_what_the_files_have),
		cmocka_unit_test(flows_alone_have_the_defaults),
		cmocka_unit_test(what_cannot_be_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

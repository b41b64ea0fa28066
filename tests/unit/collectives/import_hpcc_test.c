/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of HPCC's simulator: the scenario that they become, and what is refused, with its line. */
#include <errno.h>
#include <sys/stat.h>

#include "collectives/import/hpcc.h"
#include "common/array.h"
#include "tests/unit/collectives/import_rig.h"
#include "tests/unit/unit.h"

static const char topology[] = "4 1 3\n0\n0 1 100Gbps 0.001ms 0\n0 2 100Gbps 0.001ms 0\n0 3 25Gbps 0.001ms 0\n";
static const char flow[] =
	"4\n1 2 3 100 5000 2\n3 2 4 100 7000 2.000001\n1 2 3 101 9000 2.5\n1 3 3 9 1 2\n9 9 9 of another\n";
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
	is_refused(text, "src = \"1\"; dst = \"3\"; sport = 10000; dport = 9; bytes = 1L; start = \"0ps\"; prio = 3");
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

static const struct {
	const char *config, *topology, *flow, *why;
} refused[] = {
	{ "CC_MODE 8\n", NULL, NULL, "CC_MODE 8 is DCTCP" },
	{ "CC_MODE 10\n", NULL, NULL, "CC_MODE 10 is HPCC-PINT" },
	{ "CC_MODE 2\n", NULL, NULL, "CC_MODE 2 is no congestion control" },
	{ "FAST_REACT 0\n", NULL, NULL, "FAST_REACT 0 asks for one reaction" },
	{ "ERROR_RATE_PER_LINK -1\n", NULL, NULL, "ERROR_RATE_PER_LINK -1 asks for loss" },
	{ "U_TARGET 0.001\n", NULL, NULL, "0.01 to 1 would be right" },
	{ "U_TARGET 0.5x\n", NULL, NULL, "a number would be right" },
	{ "U_TARGET x\n", NULL, NULL, "a number would be right" },
#define EIGHT " a a a a a a a a"
	{ "U_TARGET x" EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT "\n", NULL, NULL,
	  "found \"x\"; a number would be right" },
	{ "HAS_WIN 0.5\n", NULL, NULL, "a whole number would be right" },
	{ "RATE_AI\n", NULL, NULL, "found \"\"; a rate, as 50Mb/s," },
	{ "RATE_AI 11111111111111111111111111111111111111111111111111111111111111111111111111111111b/s\n", NULL, NULL,
	  "a rate, as 50Mb/s," },
	{ "FLOW_FILE\n", NULL, NULL, "a path would be right" },
	{ "KMIN_MAP\n", NULL, NULL, "as many pairs" },
	{ "KMIN_MAP 17\n", NULL, NULL, "found \"17\"; a number of pairs, 1 to 16" },
	{ "KMIN_MAP 1 0 5\n", NULL, NULL, "pair 1: found \"0 5\"" },
	{ "KMIN_MAP 1 100 x\n", NULL, NULL, "pair 1: found \"100 x\"" },
	{ "PMAX_MAP 1 100 1.5\n", NULL, NULL, "bit/s and 0 to 1 would be right" },
	{ "KMIN_MAP 2 100 100 50 40\nKMAX_MAP 1 100 400\nPMAX_MAP 1 100 0.2\n", NULL, NULL,
	  "config:1: KMIN_MAP: values that do not go with the rates" },
	{ "KMIN_MAP 1 100 100\nKMAX_MAP 1 50 400\nPMAX_MAP 1 100 0.2\n", NULL, NULL,
	  "config:2: KMAX_MAP has other rates than KMIN_MAP" },
	{ "KMIN_MAP 1 100 100\nKMAX_MAP 2 100 400 50 100\nPMAX_MAP 1 100 0.2\n", NULL, NULL,
	  "config:2: KMAX_MAP: values that do not go with the rates" },
	{ "KMIN_MAP 1 100 100\nKMAX_MAP 1 100 400\nPMAX_MAP 2 100 0.2 50 0.3\n", NULL, NULL,
	  "config:3: PMAX_MAP: values that differ between the rates" },
	{ "LINK_DOWN 5 1\n", NULL, NULL, "microseconds and two nodes" },
	{ "BUFFER_SIZE 2000000\n", NULL, NULL, "1 to 1.04858e+06 would be right" },
	{ "COLOUR 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 "
	  "9 0",
	  NULL, NULL, "\"COLOUR\" is no key" },
	{ "LINK_DOWN x 0 1\n", NULL, NULL, "microseconds and two nodes" },
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
	{ NULL, NULL, "1\n1 2 3 100 5000 x\n", "start: found \"x\"" },
	{ NULL, NULL, "1\n1 2 3 100 5000 2s\n", "start: found \"2s\"" },
	{ NULL, NULL, "\n\n \nx\n", "flow:4: found \"x\"; the number of flows" },
	{ NULL, NULL, "99999999\n", "the number of flows" },
};

static void
what_cannot_be_is_refused(void **state)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		struct err err = { 0 };
		char *text = run(refused[i].config, refused[i].topology != NULL ? refused[i].topology : topology,
				 refused[i].flow != NULL ? refused[i].flow : flow, &err);

		if (text != NULL || strstr(err.text, refused[i].why) == NULL)
			fail_msg("case %zu: \"%s\" should say \"%s\"", i, err.text, refused[i].why);
	}
}

/* Each congestion control of the simulator that is here, with its own keys. */
static void
congestion_controls_keep_their_keys(void **state)
{
	static const struct {
		const char *config, *has;
	} cases[] = {
		{ "CC_MODE 0\n", "cc = \"none\"" },
		{ "CC_MODE 3\nU_TARGET 0.9\nMI_THRESH 3\n",
		  "hpcc = { eta = 0.9; max_stage = 3; min_rate = \"100Mb/s\"; }" },
		{ "CC_MODE 7\nRATE_AI 9Mb/s\n", "timely = { delta = \"9Mb/s\"; min_rate = \"100Mb/s\"; }" },
		{ "CLAMP_TARGET_RATE 1\nVAR_WIN 1\n", "clamp_target = true" },
		{ "VAR_WIN 1\n", "window_scales_with_rate = true" },
		{ "ENABLE_QCN 0\nKMIN_MAP 1 100 1\nKMAX_MAP 1 100 4\nPMAX_MAP 1 100 1\n", "ecn = { enabled = false; }" },
		{ "KMIN_MAP 1 100 1\nKMAX_MAP 1 100 4\n", "ecn = { enabled = false; }" },
		{ "KMIN_MAP 1 100 1\nPMAX_MAP 1 100 1\n", "ecn = { enabled = false; }" },
		{ "SIMULATOR_STOP_TIME 1.5\n", "timing = {" },
		{ "LINK_DOWN 3000000 0 1\n", "kind = \"link-down\"; port = \"0:1\"; start = \"3s\"" },
		{ "USE_DYNAMIC_PFC_THRESHOLD 0\nGLOBAL_T 1\nMULTI_RATE 0\n", "timing = {" }, /* the first with a warning */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct err err = { 0 };
		char *text = run(cases[i].config, topology, flow, &err);

		if (text == NULL)
			fail_msg("case %zu: %s", i, err.text);
		is_refused(text, cases[i].has);
		assert_true((strstr(text, "virtual_time") == NULL) == (strstr(cases[i].config, "STOP_TIME") != NULL));
		free(text);
	}
}

static void
put_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fputs(text, file) == EOF || fclose(file) != 0, 0);
}

/* @param why  NULL: all are found */
static void
finds(const struct hpcc_files *files, const char *why)
{
	FILE *to = fopen("/dev/null", "w");
	struct err err = { 0 };
	int rc;

	assert_non_null(to);
	rc = hpcc_import(files, to, &err);
	if ((rc == 0) != (why == NULL) || (why != NULL && strstr(err.text, why) == NULL))
		fail_msg("%d: \"%s\" should say \"%s\"", rc, err.text, why != NULL ? why : "nothing");
	fclose(to);
}

/* A link on which a frame takes less than 1 ns keeps its times whole; a fault before the first flow starts with it. */
static void
times_are_the_simulators(void **state)
{
	struct err err = { 0 };
	char *text = run("LINK_DOWN 1 0 1\n", "3 1 2\n0\n0 1 800Gbps 0.001ms 0\n0 2 25Gbps 0.001ms 0\n",
			 "1\n1 2 3 100 5000 3\n", &err);

	assert_non_null(text);
	is_refused(text, "quantum = \"0ps\"");
	is_refused(text, "start = \"0ps\"; } );");
	free(text);
}

/* A port for each flow of a pair, wherever in the file the pair stands that has more of them than ports. */
static void
pairs_have_ports_enough(void **state)
{
	static char flows[2 << 20];
	const int counts[] = { 55536, 55537 };

	for (size_t i = 0; i < 2; i++) {
		size_t used = (size_t)snprintf(flows, sizeof(flows), "%d\n", counts[i] + 1);
		struct err err = { 0 };
		char *text;

		for (int f = 0; f < counts[i]; f++)
			used += (size_t)snprintf(flows + used, sizeof(flows) - used, "1 2 3 100 5 2\n");
		snprintf(flows + used, sizeof(flows) - used, "2 1 3 100 5 2\n");
		text = run(NULL, topology, flows, &err);
		assert_true((text != NULL) == (i == 0));
		if (i == 0)
			is_refused(text, "sport = 65535;");
		else
			assert_non_null(strstr(err.text, "more flows of one pair than it has ports"));
		free(text);
	}
}

/* Files that config.txt names: as the simulator finds them, from the folder above, or beside it, by name alone too. */
static void
files_are_found(void **state)
{
	static const struct {
		const char *topology, *flow, *why; /* NULL: it is found */
	} cases[] = {
		{ "mix/topology", "mix/flow", NULL },
		{ "topology", "flow", NULL },
		{ "elsewhere/topology", "elsewhere/flow", NULL },
		{ "none", "mix/flow", "TOPOLOGY_FILE \"none\" is neither beside it nor in the folder above" },
		{ "mix/topology", "none", "FLOW_FILE \"none\" is neither beside it" },
		{ NULL, "flow", "names no TOPOLOGY_FILE" },
		{ "topology", NULL, "names no FLOW_FILE" },
		{ "/no/such/topology", "flow", "/no/such/topology: No such file" },
	};
	char base[64], folder[80], path[3][128], long_path[4096];

	snprintf(base, sizeof(base), "/tmp/rocelab-hpcc-%d", (int)getpid());
	snprintf(folder, sizeof(folder), "%s/mix", base);
	assert_int_equal(mkdir(base, 0700) + mkdir(folder, 0700), 0);
	snprintf(path[0], sizeof(path[0]), "%s/config.txt", folder);
	snprintf(path[1], sizeof(path[1]), "%s/topology", folder);
	snprintf(path[2], sizeof(path[2]), "%s/flow", folder);
	put_text(path[1], topology);
	put_text(path[2], flow);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char config_text[256];

		snprintf(config_text, sizeof(config_text), "%s%s\n%s%s\n",
			 cases[i].topology != NULL ? "TOPOLOGY_FILE " : "",
			 cases[i].topology != NULL ? cases[i].topology : "", cases[i].flow != NULL ? "FLOW_FILE " : "",
			 cases[i].flow != NULL ? cases[i].flow : "");
		put_text(path[0], config_text);
		finds(&(struct hpcc_files){ .config = path[0] }, cases[i].why);
		if (i == 0) {
			assert_int_equal(chdir(folder), 0);
			finds(&(struct hpcc_files){ .config = "config.txt" }, NULL);
			assert_int_equal(chdir("/"), 0);
		}
	}
	snprintf(long_path, sizeof(long_path), "%s/mix", base);
	for (size_t used = strlen(long_path); used < 3000; used += 2)
		strcpy(long_path + used, "/.");
	strcat(long_path, "/config.txt");
	put_text(path[0], "TOPOLOGY_FILE topology\nFLOW_FILE flow\n");
	finds(&(struct hpcc_files){ .config = long_path }, "/././.");
	finds(&(struct hpcc_files){ .topology = path[1] }, "without a config.txt both");
	finds(&(struct hpcc_files){ .flow = path[2] }, "without a config.txt both");
	finds(&(struct hpcc_files){ .topology = path[1], .flow = "/no/such" }, "/no/such: No such file");
	finds(&(struct hpcc_files){ .config = "/no/such", .topology = path[1], .flow = path[2] }, "/no/such: No such file");
	for (size_t i = 0; i < 3; i++)
		unlink(path[i]);
	snprintf(path[1], sizeof(path[1]), "%s/a\"b", folder);
	put_text(path[1], topology);
	finds(&(struct hpcc_files){ .topology = path[1], .flow = path[2] }, "without quotes and backslashes");
	unlink(path[1]);
	snprintf(path[1], sizeof(path[1]), "%s/a\033b", folder);
	put_text(path[1], topology);
	finds(&(struct hpcc_files){ .topology = path[1], .flow = path[2] }, "a path of printable characters");
	unlink(path[1]);
	assert_int_equal(rmdir(folder) + rmdir(base), 0);
}

static void
a_full_disk_is_reported(void **state)
{
	char topology_path[256], flow_path[256];
	const struct hpcc_files all = { .topology = topology_path, .flow = flow_path };
	FILE *to = fopen("/dev/full", "w");
	struct err err = { 0 };

	snprintf(topology_path, sizeof(topology_path), "%s", write_file("topology", topology, strlen(topology)));
	snprintf(flow_path, sizeof(flow_path), "%s", write_file("flow", flow, strlen(flow)));
	assert_non_null(to);
	setvbuf(to, NULL, _IONBF, 0);
	assert_int_equal(hpcc_import(&all, to, &err), -EIO);
	assert_string_equal(err.text, "writing the scenario failed");
	fclose(to);
	unlink(topology_path);
	unlink(flow_path);
}

UNIT_TEST(import_hpcc)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scenario_has_what_the_files_have),
		cmocka_unit_test(flows_alone_have_the_defaults),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(congestion_controls_keep_their_keys),
		cmocka_unit_test(times_are_the_simulators),
		cmocka_unit_test(pairs_have_ports_enough),
		cmocka_unit_test(files_are_found),
		cmocka_unit_test(a_full_disk_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

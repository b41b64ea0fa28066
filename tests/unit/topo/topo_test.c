/* SPDX-License-Identifier: BSD-3-Clause */
#include <unistd.h>

#include "common/array.h"
#include "common/units.h"
#include "tests/unit/alloc.h"
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "topo/build.h"
#include "topo/topo.h"

#define SMALL                                                                                                              \
	"topology = {\n kind = \"explicit\"; rate = \"100Gbps\"; delay = \"2us\";\n hosts = [ \"12\", \"13\" ];\n"         \
	" switches = [ \"0\", \"4\" ];\n links = (\n \"12 0\",\n \"13 0 25Gbps 1us\",\n"                                   \
	" { a = \"0\"; b = \"4\"; delay = \"5us\"; },\n \"4 0\" );\n};\n"

static void
test_explicit(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(SMALL, &cfg);
	uint32_t sw = topo_find(topo, "0");
	char buf[40];

	assert_int_equal(topo->nnodes, 4);
	assert_int_equal(topo->nhosts, 2);
	assert_int_equal(topo->nswitches, 2);
	assert_int_equal(topo->nlinks, 4);
	assert_int_equal(topo->nports, 8);
	assert_int_equal(topo->nodes[sw].kind, TOPO_SWITCH);
	assert_int_equal(topo->nodes[sw].nports, 4);
	assert_string_equal(topo->nodes[topo->hosts[1]].name, "13");
	assert_int_equal(topo->nodes[sw].where.line, 1);
	/* Ports number from 1 in the order of links; two links between 0 and 4. */
	assert_string_equal(peer_of(topo, "0:1", buf), "12:1");
	assert_string_equal(peer_of(topo, "0:2", buf), "13:1");
	assert_string_equal(peer_of(topo, "0:3", buf), "4:1");
	assert_string_equal(peer_of(topo, "0:4", buf), "4:2");
	assert_string_equal(peer_of(topo, "13:1", buf), "0:2");
	assert_int_equal(topo->ports[topo_find_port(topo, "0:1")].rate_bps, 100000000000);
	assert_int_equal(topo->ports[topo_find_port(topo, "0:1")].delay_ps, 2 * PS_PER_US);
	assert_int_equal(topo->ports[topo_find_port(topo, "13:1")].rate_bps, 25000000000);
	assert_int_equal(topo->ports[topo_find_port(topo, "0:2")].delay_ps, PS_PER_US);
	assert_int_equal(topo->ports[topo_find_port(topo, "4:1")].delay_ps, 5 * PS_PER_US);
	assert_int_equal(topo->ports[topo_find_port(topo, "4:1")].link, 2);
	assert_int_equal(topo->links[3].port[0], topo_find_port(topo, "4:2"));
	assert_int_equal(topo_find(topo, "5"), TOPO_NONE);
	assert_int_equal(topo_find(topo, ""), TOPO_NONE);
	assert_int_equal(topo_find_port(topo, "0:0"), TOPO_NONE);
	assert_int_equal(topo_find_port(topo, "0:5"), TOPO_NONE);
	assert_int_equal(topo_find_port(topo, "0"), TOPO_NONE);
	assert_int_equal(topo_find_port(topo, "0:1x"), TOPO_NONE);
	assert_int_equal(topo_find_port(topo, "9:1"), TOPO_NONE);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

#define EXPLICIT(body) "topology = { kind = \"explicit\";\n" body "};\n"

static void
test_explicit_errors(void **state)
{
	expect_topo_error(
		"",
		"t.cfg: topology: is missing; a group with kind = one of explicit, dual-tor, fat-tree, leaf-spine, rail, "
		"ns3 would be right");
	expect_topo_error(
		"topology = { kind = \"rial\"; };",
		"t.cfg:1: topology.kind: found \"rial\"; did you mean \"rail\"? Known are explicit, dual-tor, fat-tree, "
		"leaf-spine, rail, ns3");
	expect_topo_error(EXPLICIT("hosts = [ \"a\" ];\n k = 4;"),
			  "t.cfg:3: topology.k: is a key of kind \"fat-tree\", not of \"explicit\"");
	expect_topo_error(EXPLICIT("hosts = [ \"a\", \"b\" ];\n switches = [ \"s\" ];\n links = (\n\"a s\",\n\"b t\" );"),
			  "t.cfg:6: topology.links.[1].b: \"t\" is neither among topology.hosts nor topology.switches");
	expect_topo_error(EXPLICIT("hosts = [ \"a\", \"b\" ];\n switches = [ \"s\" ];\n links = ( \"a s\" );"),
			  "t.cfg:1: topology: host \"b\" has no link; at least one would be right");
	expect_topo_error(
		EXPLICIT("hosts = [ \"a\", \"b\" ];\n switches = [ \"s\", \"t\" ];\n links = ( \"a s\", \"b t\" );"),
		"t.cfg:1: topology: hosts \"a\" and \"b\" are not connected; a path over switches between every two "
		"hosts would be right");
	expect_topo_error(
		EXPLICIT("hosts = [ \"a\", \"b\", \"c\" ];\n switches = [ \"s\", \"t\" ];\n"
			 "links = ( \"a s\", \"a t\", \"b s\", \"c t\" );"),
		"t.cfg:1: topology: hosts \"b\" and \"c\" are not connected; a path over switches between every two "
		"hosts would be right");
	expect_topo_error(EXPLICIT("hosts = [ \"a\", \"a\" ];"),
			  "t.cfg:1: topology: two nodes have the name \"a\"; every host and switch needs a different one");
	expect_topo_error(EXPLICIT("hosts = [ \"a\" ];\n switches = [ \"s\" ];\n links = (\n \"a s\",\n\"s s\" );"),
			  "t.cfg:6: topology.links.[1]: both ends are at \"s\"; a link joins two nodes");
	expect_topo_error(EXPLICIT("hosts = [ \"a:1\" ];"),
			  "t.cfg:2: topology.hosts: \"a:1\" cannot name a node; 1 to 31 letters, digits, '_', '.' and '-' "
			  "would be right");
	expect_topo_error(EXPLICIT("hosts = [ \"a\" ];\n switches = [ \"s\" ];\n links = (\"a s 0Gbps\" );"),
			  "t.cfg:4: topology.links.[0].rate: found \"0Gbps\"; 1Mbps to 10Tbps would be right");
	expect_topo_error(EXPLICIT("hosts = [ \"a\" ];\n switches = [ \"s\" ];\n links = (\"a s 1Gbps 0us\" );"),
			  "t.cfg:4: topology.links.[0].delay: found \"0us\"; 1ps to 1s would be right");
	expect_topo_error(EXPLICIT("hosts = [ ];"), "t.cfg:1: topology: no hosts; at least one would be right");
}

static void
test_too_many_ports(void **state)
{
	char text[8192] = "topology = { kind = \"explicit\"; hosts = [ \"a\" ]; switches = [ \"s\" ];\nlinks = (\n\"a s\"";

	/* 129 cables, one a line from line 3. */
	for (int i = 0; i < TOPO_MAX_NICS; i++)
		strcat(text, ",\n\"a s\"");
	strcat(text, " ); };");
	expect_topo_error(text, "t.cfg:131: topology.links.[128]: host \"a\" has more than 128 ports");
	strcpy(text,
	       "topology = { kind = \"explicit\"; hosts = [ \"a\" ]; switches = [ \"s\", \"t\" ];\nlinks = (\n\"a s\"");
	for (int i = 0; i < TOPO_MAX_PORTS; i++)
		strcat(text, ",\n\"s t\"");
	strcat(text, " ); };");
	expect_topo_error(text, "t.cfg:251: topology.links.[248]: switch \"s\" has more than 248 ports");
}

/* The streams of ports are those of the fabrics that had 128 ports a node at most, and no two ports have one. */
static void
test_port_streams(void **state)
{
	(void)state;
	assert_int_equal(topo_port_stream(7, 5), 7 * 128 + 5);
	assert_int_equal(topo_port_stream(65534, 127), 65534 * 128 + 127);
	assert_int_equal(topo_port_stream(0, 128), 1 << 23);
	assert_int_not_equal(topo_port_stream(7, 128), topo_port_stream(8, 0));
	assert_int_equal(topo_port_stream(7, 247), (1 << 23) + 7 * 128 + 119);
}

/* Al-Fares et al., K = 4: 20 switches, 16 hosts, 48 links. */
static void
test_fat_tree(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo("topology = { kind = \"fat-tree\"; k = 4; host_rate = \"25Gbps\"; };", &cfg);
	char buf[40];

	assert_int_equal(topo->nswitches, 20);
	assert_int_equal(topo->nhosts, 16);
	assert_int_equal(topo->nlinks, 48);
	for (uint32_t i = 0; i < topo->nnodes; i++)
		assert_int_equal(topo->nodes[i].nports, topo->nodes[i].kind == TOPO_HOST ? 1 : 4);
	assert_string_equal(peer_of(topo, "h0:1", buf), "e0:1");
	assert_string_equal(peer_of(topo, "h15:1", buf), "e7:2");
	assert_string_equal(peer_of(topo, "e3:3", buf), "a2:2"); /* pod 1: edges 2, 3; aggregations 2, 3 */
	assert_string_equal(peer_of(topo, "e3:4", buf), "a3:2");
	assert_string_equal(peer_of(topo, "a3:3", buf), "c2:2"); /* the pod's second aggregation: cores 2, 3 */
	assert_string_equal(peer_of(topo, "a6:4", buf), "c1:4");
	assert_int_equal(topo->ports[topo_find_port(topo, "e0:1")].rate_bps, 25000000000);
	assert_int_equal(topo->ports[topo_find_port(topo, "e0:3")].rate_bps, 100000000000);
	topo_destroy(topo);
	cfg_destroy(cfg);
	expect_topo_error("topology = { kind = \"fat-tree\";\n k = 5; };",
			  "t.cfg:2: topology.k: 5 is odd; an even number would be right");
	expect_topo_error("topology = { kind = \"fat-tree\"; k = 250; };",
			  "t.cfg:1: topology.k: found 250; 2 to 248 would be right");
	expect_topo_error("topology = { kind = \"fat-tree\"; k = 128; };",
			  "t.cfg:1: topology.k: 128 makes 524288 hosts; at most 65535 nodes are possible");
	expect_topo_error("topology = { kind = \"fat-tree\"; };",
			  "t.cfg:1: topology: k is missing: Ports of a switch, even: k pods, k^3/4 hosts, 5k^2/4 switches");
}

static void
test_leaf_spine(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo("topology = { kind = \"leaf-spine\"; leaves = 3; spines = 2; hosts_per_leaf = 8;"
				      " parallel = 2; rate = \"100Gbps\"; oversubscription = 2.0; };",
				      &cfg);
	char buf[40];

	assert_int_equal(topo->nhosts, 24);
	assert_int_equal(topo->nswitches, 5);
	assert_int_equal(topo->nlinks, 24 + 3 * 2 * 2);
	assert_string_equal(peer_of(topo, "h8:1", buf), "l1:1");
	assert_string_equal(peer_of(topo, "l1:9", buf), "s0:3"); /* s0: two links a leaf */
	assert_string_equal(peer_of(topo, "l1:10", buf), "s0:4");
	assert_string_equal(peer_of(topo, "l1:11", buf), "s1:3");
	/* 8 x 100 Gbps down, 2 to 1: 400 Gbps up over 4 links. */
	assert_int_equal(topo->ports[topo_find_port(topo, "l0:9")].rate_bps, 100000000000);
	topo_destroy(topo);
	cfg_destroy(cfg);
	expect_topo_error(
		"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 2; hosts_per_leaf = 8;\n"
		" uplink_rate = \"100Gbps\"; oversubscription = 2.0; };",
		"t.cfg:2: topology.oversubscription: 2 does not fit uplink_rate = 100Gbps: 8 hosts over 2 uplinks of "
		"that rate are 4 to 1");
	expect_topo_error(
		"topology = { kind = \"leaf-spine\"; leaves = 125; spines = 2; hosts_per_leaf = 1; parallel = 2; };",
		"t.cfg:1: topology: switch \"s0\" has more than 248 ports");
}

static void
test_rail(void **state)
{
	struct cfg *cfg;
	struct topo *topo =
		make_topo("topology = { kind = \"rail\"; hosts = 4; nics = 2; hosts_per_group = 2; spines = 2; };", &cfg);
	char buf[40];

	assert_int_equal(topo->nhosts, 4);
	assert_int_equal(topo->nswitches, 2 * 2 + 2);
	assert_int_equal(topo->nlinks, 8 + 4 * 2);
	assert_string_equal(peer_of(topo, "h3:1", buf), "g1r0:2");
	assert_string_equal(peer_of(topo, "h3:2", buf), "g1r1:2");
	assert_string_equal(peer_of(topo, "g1r1:4", buf), "s1:4");
	topo_destroy(topo);
	cfg_destroy(cfg);
	expect_topo_error(
		"topology = { kind = \"rail\"; hosts = 4; nics = 2;\n hosts_per_group = 3; };",
		"t.cfg:2: topology.hosts_per_group: 4 hosts do not divide into groups of 3; a divisor would be right");
	expect_topo_error(
		"topology = { kind = \"rail\"; hosts = 4; nics = 2; hosts_per_group = 2; spines = 0; };",
		"t.cfg:1: topology: hosts \"h0\" and \"h2\" are not connected; a path over switches between every two "
		"hosts would be right");
	/* One group: rails apart are fine, because all hosts are on each. */
	topo = make_topo("topology = { kind = \"rail\"; hosts = 2; nics = 2; hosts_per_group = 2; spines = 0; };", &cfg);
	assert_int_equal(topo->nlinks, 4);
	topo_destroy(topo);
	cfg_destroy(cfg);
}

static char *
text_of(const struct topo *topo, void (*show)(const struct topo *topo, FILE *to))
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	show(topo, to);
	fclose(to);
	return text;
}

static void
assert_same_network(const struct topo *a, const struct topo *b)
{
	assert_int_equal(a->nnodes, b->nnodes);
	assert_int_equal(a->nports, b->nports);
	for (uint32_t p = 0; p < a->nports; p++) {
		char name[40], peer_a[40], peer_b[40];
		uint32_t q = topo_find_port(b, topo_port_name(a, p, name));

		assert_int_not_equal(q, TOPO_NONE);
		assert_string_equal(peer_of(a, name, peer_a), peer_of(b, name, peer_b));
		assert_int_equal(a->ports[p].rate_bps, b->ports[q].rate_bps);
		assert_int_equal(a->ports[p].delay_ps, b->ports[q].delay_ps);
		assert_int_equal(a->nodes[a->ports[p].node].kind, b->nodes[b->ports[q].node].kind);
	}
}

/* What is shown as a scenario builds the same network. */
static void
test_show(void **state)
{
	static const char *const texts[] = {
		SMALL,
		"topology = { kind = \"fat-tree\"; k = 4; host_delay = \"100ns\"; };",
		"topology = { kind = \"rail\"; hosts = 4; nics = 2; hosts_per_group = 2; uplink_rate = \"400Gbps\"; };",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct cfg *cfg, *again_cfg;
		struct topo *topo = make_topo(texts[i], &cfg), *again;
		char *text = text_of(topo, topo_show_scenario);

		again = make_topo(text, &again_cfg);
		assert_same_network(topo, again);
		free(text);
		topo_destroy(again);
		cfg_destroy(again_cfg);
		text = text_of(topo, topo_show);
		if (i == 0) {
			assert_non_null(strstr(text, "4 nodes: 2 hosts, 2 switches; 4 links\n"));
			assert_non_null(strstr(text, "13    host        1  13:1  0:2       25Gbps         1us\n"));
		}
		free(text);
		text = text_of(topo, topo_show_dot);
		if (i == 0)
			assert_non_null(strstr(text, "\t\"0\" -- \"4\" [taillabel=\"3\", headlabel=\"1\", "
						     "tooltip=\"100Gbps, 5us\"];\n"));
		free(text);
		topo_destroy(topo);
		cfg_destroy(cfg);
	}
}

/* Writes text to a new file. */
static void
write_temp(char *path, const char *text)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

#define NS3_GOOD                                                                                                           \
	"4 2 4\n1 3\n0 1 100Gbps 0.002ms 0\n1 3 100Gbps 0.002ms 0\n1 3 40Gbps 0.001ms 0\n3 2 100Gbps 0.002ms 0\n\n"        \
	"First line: total node #, switch node #, link #\n"

static void
test_ns3(void **state)
{
	char path[] = "/tmp/topo_test.XXXXXX", text[128], *scenario = NULL, buf[40];
	struct cfg *cfg, *again_cfg;
	struct topo *topo, *again;
	struct err err = { "" };
	size_t size;
	FILE *to = open_memstream(&scenario, &size);

	write_temp(path, NS3_GOOD);
	snprintf(text, sizeof(text), "topology = { kind = \"ns3\"; file = \"%s\"; };", path);
	topo = make_topo(text, &cfg);
	assert_int_equal(topo->nhosts, 2);
	assert_int_equal(topo->nlinks, 4);
	assert_int_equal(topo->nodes[0].kind, TOPO_HOST);
	assert_int_equal(topo->nodes[3].kind, TOPO_SWITCH);
	assert_string_equal(topo->nodes[3].name, "3");
	assert_int_equal(topo->nodes[3].where.line, 2);
	assert_string_equal(peer_of(topo, "1:3", buf), "3:2");
	assert_int_equal(topo->ports[topo_find_port(topo, "3:2")].rate_bps, 40000000000);
	assert_int_equal(topo->ports[topo_find_port(topo, "3:2")].delay_ps, PS_PER_US);
	assert_int_equal(topo_import_ns3(path, to, &err), 0);
	fclose(to);
	again = make_topo(scenario, &again_cfg);
	assert_same_network(topo, again);
	free(scenario);
	topo_destroy(topo);
	topo_destroy(again);
	cfg_destroy(cfg);
	cfg_destroy(again_cfg);
	unlink(path);
}

static void
test_ns3_errors(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "", ":1: the file ends where the number of nodes should stand" },
		{ "4 2", ":1: the file ends where the number of links should stand" },
		{ "4 5 1\n", ":1: found \"5\"; the number of switches, 0 to 4, would be right" },
		{ "99999 2 1\n", ":1: found \"99999\"; the number of nodes, 0 to 65535, would be right" },
		{ "2 1 1\n1\n0 2 1Gbps 1us 0\n", ":3: found \"2\"; a node id, 0 to 1, would be right" },
		{ "2 1 1\n1\n0 1 1Gb 1us 0\n", ":3: found \"1Gb\"; a rate, as 100Gbps, would be right" },
		{ "2 1 1\n1\n0 1 1Gbps 1 0\n", ":3: found \"1\"; a delay, as 0.002ms, would be right" },
		{ "2 1 1\n1\n0 1 1Gbps 1us 0.1\n",
		  ":3: found error rate \"0.1\"; 0 would be right: loss is a fault here, not part of the topology" },
		{ "2 1 1\n1\n0 1 0Gbps 1us 0\n", ":3: the link 0 - 1 has a rate of 0bps; 20Mbps and more would be right" },
		{ "2 1 1\n1\n0 1 1Gbps 0us 0\n", ":3: the link 0 - 1 has delay zero; more than that would be right" },
		{ "2 1 1\n1\n1 1 1Gbps 1us 0\n", ":3: both ends are at \"1\"; a link joins two nodes" },
		{ "2 1 2\n1\n0 1 1Gbps 1us 0\n", ":4: the file ends where a node id should stand" },
		{ "3 2 1\n1 1\n", ":2: switch 1 stands twice in the list of switches" },
		{ "3 2 1\n1 9\n", ":2: found \"9\"; a switch's id, 0 to 2, would be right" },
		{ "0 0 0\n", ":1: a topology without nodes" },
		{ "2 1 1\n1\n0 1 1Gbps 1us x\n",
		  ":3: found error rate \"x\"; 0 would be right: loss is a fault here, not part of the topology" },
		{ "2 1 1\n1\n0 1 1111111111111111111111111111111111111111111111111111111111111111Gbps 1us 0\n",
		  ":3: found \"11111111111111111111111111111111...\"; a rate, as 100Gbps, would be right" },
		{ "3 1 1\n1\n0 1 1Gbps 1us 0\n", ":1: host \"2\" has no link; at least one would be right" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char path[] = "/tmp/topo_test.XXXXXX", message[256];
		struct err err = { "" };

		write_temp(path, cases[i].text);
		snprintf(message, sizeof(message), "%s%s", path, cases[i].message);
		assert_int_equal(topo_import_ns3(path, stdout, &err), -EINVAL);
		assert_string_equal(err.text, message);
		unlink(path);
	}
	expect_topo_error("topology = { kind = \"ns3\";\n file = \"/nonexistent.txt\"; };",
			  "t.cfg:2: topology.file: /nonexistent.txt: No such file or directory");
	expect_topo_error(
		"topology = { kind = \"ns3\"; };",
		"t.cfg:1: topology: file is missing: Path of the file, relative to the scenario: \"nodes switches "
		"links\", the switches' ids, then \"src dst rate delay error_rate\" a link");
	expect_topo_error("topology = { kind = \"ns3\"; file = \"/tmp\"; };",
			  "t.cfg:1: topology.file: /tmp: this is a folder: give a regular file");
	expect_topo_error("topology = { kind = \"ns3\"; file = \"nonexistent.txt\"; };",
			  "t.cfg:1: topology.file: ./nonexistent.txt: No such file or directory");
}

/* Without memory, or room for what is written, an import is an error; what is no topology's size is refused. */
static void
test_ns3_without(void **state)
{
	char path[] = "/tmp/topo_test.XXXXXX";
	FILE *null = fopen("/dev/null", "w"), *full = fopen("/dev/full", "w");
	struct err err = { "" };
	uint32_t refused = 0;

	assert_true(null != NULL && full != NULL);
	setvbuf(full, NULL, _IONBF, 0);
	write_temp(path, NS3_GOOD);
	FOR_EACH_REFUSED(nth)
	{
		int rc = topo_import_ns3(path, null, &err);
		bool was = alloc_was_refused();

		if (was ? rc == 0 || strstr(err.text, "memory") == NULL : rc != 0)
			fail_msg("allocation %u: %d \"%s\"", (unsigned)nth, rc, err.text);
		err.text[0] = '\0';
		if (!was)
			break;
		refused++;
	}
	assert_true(refused > 5);
	assert_int_equal(topo_import_ns3(path, full, &err), -EIO);
	assert_string_equal(err.text, "writing the topology failed");
	err.text[0] = '\0';
	assert_int_equal(truncate(path, (64 << 20) + 1), 0);
	assert_int_equal(topo_import_ns3(path, null, &err), -EINVAL);
	assert_non_null(strstr(err.text, "is no regular file of at most 64 MiB"));
	unlink(path);
	fclose(null);
	fclose(full);
}

/*
 * 100 Gbps over 2 us: round trip 4 us = 50000 B in flight, three frames of 1348 B, a PAUSE of 84 B. A pipeline of 600 ns
 * at both ends adds 1.2 us = 15000 B; a peer that sends at 101 Gbps adds 500 B.
 */
static void
test_headroom(void **state)
{
	struct cfg *cfg;
	struct topo *topo = make_topo(SMALL, &cfg);
	uint32_t port = topo_find_port(topo, "0:1");
	struct cfg_where where = { "t.cfg", 17, NULL };
	struct err err = { "" };

	assert_int_equal(topo_headroom_bytes(&topo->ports[port], 100000000000, 0, 1348, 84), 50000 + 3 * 1348 + 84);
	assert_int_equal(topo_headroom_bytes(&topo->ports[port], 100000000000, 600000, 1348, 84), 65000 + 3 * 1348 + 84);
	assert_int_equal(topo_headroom_bytes(&topo->ports[port], 101000000000, 0, 1348, 84), 50500 + 3 * 1348 + 84);
	assert_int_equal(topo_check_headroom(topo, port, 54128, 54128, &where, &err), 0);
	assert_int_equal(topo_check_headroom(topo, port, 54127, 54128, &where, &err), -EINVAL);
	assert_string_equal(err.text,
			    "t.cfg:17: headroom: 54127B is short by 1 KiB for 0:1 (100Gbps, 2us): needs at least 54128 B");
	topo_destroy(topo);
	cfg_destroy(cfg);
}

UNIT_TEST(topo)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_explicit),
		cmocka_unit_test(test_explicit_errors),
		cmocka_unit_test(test_too_many_ports),
		cmocka_unit_test(test_port_streams),
		cmocka_unit_test(test_fat_tree),
		cmocka_unit_test(test_leaf_spine),
		cmocka_unit_test(test_rail),
		cmocka_unit_test(test_show),
		cmocka_unit_test(test_ns3),
		cmocka_unit_test(test_ns3_errors),
		cmocka_unit_test(test_ns3_without),
		cmocka_unit_test(test_headroom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/cfg/cfg.h"
#include "common/prng.h"

/* libconfig 1.5 leaks the token at hand when a text does not parse; everything else must be freed. */
const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
	return "leak:libconfig.so";
}

struct pfc {
	struct cfg_where where;
	bool enabled;
	int model;
	double alpha;
	uint64_t headroom_bytes;
	uint64_t interval_ps;
	uint64_t rate_bps;
	int64_t ports;
	const char *name;
	struct cfg_strings classes;
};

/* In another order than the values. */
enum model { MODEL_DYNAMIC = 3, MODEL_STATIC = 7 };
static const struct cfg_choice models[] = {
	{ .name = "static", .value = MODEL_STATIC },
	{ .name = "dynamic", .value = MODEL_DYNAMIC },
	{ 0 },
};

#define F(field) offsetof(struct pfc, field)
static const struct cfg_field pfc_fields[] = {
	{ "enabled", CFG_BOOL, F(enabled), "true", 0, 0, NULL, "PFC on or off." },
	{ "model", CFG_ENUM, F(model), "dynamic", 0, 0, models, "Threshold model." },
	{ "alpha", CFG_FLOAT, F(alpha), "0.125", 0.001, 8, NULL, "Share." },
	{ "headroom", CFG_BYTES, F(headroom_bytes), "20KB", 1000, 1e6, NULL, "Room per ingress." },
	{ "interval", CFG_TIME, F(interval_ps), "2us", 1000, 1e12, NULL, "Between two." },
	{ "rate", CFG_RATE, F(rate_bps), "", 1e6, 1e12, NULL, "Of the link." },
	{ "ports", CFG_INT, F(ports), "4", 1, -1, NULL, "How many." },
	{ "name", CFG_STRING, F(name), "", 0, 0, NULL, "Label." },
	{ "classes", CFG_STRINGS, F(classes), "", 0, 0, NULL, "Lossless classes." },
};
#undef F
static const struct cfg_gone pfc_gone[] = { { "on", "enabled" }, { 0 } };
static const struct cfg_table pfc_table = { .path = "switch.pfc",
					    .doc = "Flow control.",
					    .size = sizeof(struct pfc),
					    .fields = pfc_fields,
					    .nfields = ARRAY_LEN(pfc_fields),
					    .gone = pfc_gone };

struct flow_cfg {
	struct cfg_where where;
	const char *src, *dst;
	uint64_t size_bytes;
};

static const struct cfg_field flow_fields[] = {
	{ "src", CFG_STRING, offsetof(struct flow_cfg, src), NULL, 0, 0, NULL, "Sender." },
	{ "dst", CFG_STRING, offsetof(struct flow_cfg, dst), NULL, 0, 0, NULL, "Receiver." },
	{ "bytes", CFG_BYTES, offsetof(struct flow_cfg, size_bytes), "1MB", 0, 0, NULL, "Size." },
};
static const struct cfg_table flow_table = { .path = "flows",
					     .doc = "Background.",
					     .list = true,
					     .size = sizeof(struct flow_cfg),
					     .fields = flow_fields,
					     .nfields = 3,
					     .words = "src dst bytes" };

struct fault_cfg {
	struct cfg_where where;
	const char *port;
	double rate;
};

static const struct cfg_field storm_fields[] = {
	{ "port", CFG_STRING, offsetof(struct fault_cfg, port), NULL, 0, 0, NULL, "Where." },
};
static const struct cfg_field loss_fields[] = {
	{ "port", CFG_STRING, offsetof(struct fault_cfg, port), NULL, 0, 0, NULL, "Where." },
	{ "probability", CFG_FLOAT, offsetof(struct fault_cfg, rate), "0.5", 0, 1, NULL, "How often." },
};
static const struct cfg_table storm_table = { .path = "faults",
					      .doc = "Storm.",
					      .list = true,
					      .size = sizeof(struct fault_cfg),
					      .fields = storm_fields,
					      .nfields = 1 };
static const struct cfg_table loss_table = { .path = "faults",
					     .doc = "Loss.",
					     .list = true,
					     .size = sizeof(struct fault_cfg),
					     .fields = loss_fields,
					     .nfields = 2 };

static const struct cfg_known known[] = {
	{ &pfc_table, NULL },
	{ &flow_table, NULL },
	{ &storm_table, "pfc-storm" },
	{ &loss_table, "loss" },
};
#define NKNOWN ARRAY_LEN(known)

static struct cfg *
load(const char *text)
{
	struct err err = { "" };
	struct cfg *cfg = cfg_load_string(text, "t.cfg", &err);

	if (cfg == NULL)
		fail_msg("%s", err.text);
	return cfg;
}

/* Loads, checks and binds everything, and expects this message. */
static void
expect_error(const char *text, const char *message)
{
	struct err err = { "" };
	struct cfg *cfg = cfg_load_string(text, "t.cfg", &err);
	struct pfc pfc;
	void *items = NULL;
	size_t count;
	int rc = cfg == NULL ? -errno : cfg_check(cfg, known, NKNOWN, &err);

	if (rc == 0)
		rc = cfg_bind(cfg, &pfc_table, &pfc, &err);
	if (rc == 0)
		rc = cfg_bind_list(cfg, &flow_table, NULL, &items, &count, &err);
	free(items);
	cfg_destroy(cfg);
	assert_string_equal(err.text, message);
	assert_int_equal(rc, -EINVAL);
}

static void
test_bind(void **state)
{
	struct cfg *cfg = load("switch = { pfc = {\n enabled = false; model = \"static\"; alpha = 2;\n headroom = 4096;\n"
			       " interval = \"1.5ms\"; rate = \"25 Gb/s\"; ports = 0x10; name = 6;\n"
			       " classes = ( 3, \"4\" ); }; };");
	struct err err = { "" };
	struct pfc pfc;

	assert_int_equal(cfg_check(cfg, known, NKNOWN, &err), 0);
	assert_int_equal(cfg_bind(cfg, &pfc_table, &pfc, &err), 0);
	assert_false(pfc.enabled);
	assert_int_equal(pfc.model, MODEL_STATIC);
	assert_true(pfc.alpha == 2.0);
	assert_int_equal(pfc.headroom_bytes, 4096);
	assert_int_equal(pfc.interval_ps, 1500000000);
	assert_int_equal(pfc.rate_bps, 25000000000);
	assert_int_equal(pfc.ports, 16);
	assert_string_equal(pfc.name, "6");
	assert_int_equal(pfc.classes.count, 2);
	assert_string_equal(pfc.classes.items[0], "3");
	assert_string_equal(pfc.classes.items[1], "4");
	assert_string_equal(pfc.where.file, "t.cfg");
	assert_int_equal(pfc.where.line, 1);
	assert_int_equal(cfg_where_key(cfg, "switch.pfc.headroom").line, 3);
	assert_int_equal(cfg_where_key(cfg, "switch.pfc.absent").line, 1);
	cfg_fail(&pfc.where, "headroom", &err, "is %d short", 7);
	assert_string_equal(err.text, "t.cfg:3: switch.pfc.headroom: is 7 short");
	cfg_destroy(cfg);
}

static void
test_defaults(void **state)
{
	struct cfg *cfg = load("");
	struct err err = { "" };
	struct pfc pfc;

	assert_int_equal(cfg_bind(cfg, &pfc_table, &pfc, &err), 0);
	assert_true(pfc.enabled);
	assert_int_equal(pfc.model, MODEL_DYNAMIC);
	assert_true(pfc.alpha == 0.125);
	assert_int_equal(pfc.headroom_bytes, 20000);
	assert_int_equal(pfc.interval_ps, 2000000);
	assert_int_equal(pfc.rate_bps, 0);
	assert_null(pfc.name);
	assert_int_equal(pfc.classes.count, 0);
	assert_string_equal(pfc.where.file, "t.cfg");
	assert_int_equal(pfc.where.line, 0);
	assert_null(pfc.where.node);
	cfg_destroy(cfg);
}

static void
test_lists(void **state)
{
	struct cfg *cfg =
		load("flows = (\n { src = \"a\"; dst = \"b\"; bytes = \"2MB\"; },\n \"c d\",\n \"e f 3KB\" );\n"
		     "faults = ( { kind = \"loss\"; port = \"6:2\"; },\n { kind = \"pfc-storm\"; port = \"1:1\"; } );");
	struct err err = { "" };
	struct flow_cfg *flows;
	struct fault_cfg *faults;
	void *items;
	size_t count;

	assert_int_equal(cfg_check(cfg, known, NKNOWN, &err), 0);
	assert_int_equal(cfg_bind_list(cfg, &flow_table, NULL, &items, &count, &err), 0);
	flows = items;
	assert_int_equal(count, 3);
	assert_int_equal(flows[0].size_bytes, 2000000);
	assert_string_equal(flows[1].dst, "d");
	assert_int_equal(flows[1].size_bytes, 1000000);
	assert_int_equal(flows[1].where.line, 3);
	assert_string_equal(flows[2].src, "e");
	assert_int_equal(flows[2].size_bytes, 3000);
	cfg_fail(&flows[2].where, "dst", &err, "is no host");
	assert_string_equal(err.text, "t.cfg:4: flows.[2].dst: is no host");
	free(items);
	err.text[0] = '\0';
	assert_int_equal(cfg_bind_list(cfg, &storm_table, "pfc-storm", &items, &count, &err), 0);
	faults = items;
	assert_int_equal(count, 1);
	assert_string_equal(faults[0].port, "1:1");
	assert_int_equal(faults[0].where.line, 6);
	free(items);
	assert_int_equal(cfg_bind_list(cfg, &loss_table, "none", &items, &count, &err), 0);
	assert_int_equal(count, 0);
	free(items);
	cfg_destroy(cfg);
}

static void
test_wrong_values(void **state)
{
	expect_error("switch = { pfc = {\n headroom = \"20XB\"; }; };",
		     "t.cfg:2: switch.pfc.headroom: found \"20XB\"; whole bytes, as 4096, \"360MB\" or \"64KiB\" would be "
		     "right");
	expect_error("switch = { pfc = { headroom = 10; }; };",
		     "t.cfg:1: switch.pfc.headroom: found 10; 1KB to 1MB would be right");
	expect_error(
		"switch = { pfc = { headroom = -4096; }; };",
		"t.cfg:1: switch.pfc.headroom: found -4096; whole bytes, as 4096, \"360MB\" or \"64KiB\" would be right");
	expect_error(
		"switch = { pfc = {\n\n interval = 5; }; };",
		"t.cfg:3: switch.pfc.interval: found 5; a time with its unit in double quotes, as \"2us\" (s, ms, us, ns, "
		"ps) would be right");
	expect_error("switch = { pfc = { interval = \"2s\"; }; };",
		     "t.cfg:1: switch.pfc.interval: found \"2s\"; 1ns to 1s would be right");
	expect_error(
		"switch = { pfc = { rate = \"100Gb\"; }; };",
		"t.cfg:1: switch.pfc.rate: found \"100Gb\"; a rate with its unit in double quotes, as \"100Gbps\" (bps, "
		"Kbps, Mbps, Gbps, Tbps) would be right");
	expect_error("switch = { pfc = { ports = 0; }; };",
		     "t.cfg:1: switch.pfc.ports: found 0; at least 1 would be right");
	expect_error("switch = { pfc = { ports = 1.5; }; };",
		     "t.cfg:1: switch.pfc.ports: found 1.5; an integer would be right");
	expect_error("switch = { pfc = { enabled = 1; }; };",
		     "t.cfg:1: switch.pfc.enabled: found 1; true or false would be right");
	expect_error("switch = { pfc = { model = \"stat\"; }; };",
		     "t.cfg:1: switch.pfc.model: found \"stat\"; one of static|dynamic would be right");
	expect_error("switch = { pfc = { classes = ( { a = 1; } ); }; };",
		     "t.cfg:1: switch.pfc.classes: found a list; a list of strings, as [ \"a\", \"b\" ] would be right");
	expect_error("switch = { pfc = 5; };", "t.cfg:1: switch.pfc: found 5; a group { ... } would be right");
	expect_error("flows = { };", "t.cfg:1: flows: found a group; a list ( { ... }, ... ) would be right");
	expect_error("flows = (\n { src = \"a\"; } );", "t.cfg:2: flows.[0]: dst is missing: Receiver.");
	expect_error("flows = ( \"a b 3KB x\" );",
		     "t.cfg:1: flows.[0]: found \"a b 3KB x\"; at most the words \"src dst bytes\" would be right");
	expect_error("flows = ( 5 );", "t.cfg:1: flows.[0]: found 5; a group { ... } or \"src dst bytes\" would be right");
}

static void
test_unknown(void **state)
{
	expect_error("switch = { pfc = {\n hedroom = 4096; }; };",
		     "t.cfg:2: switch.pfc.hedroom: unknown key; did you mean \"headroom\"?");
	expect_error("\nswitch = { pfg = { }; };", "t.cfg:2: switch.pfg: unknown group; did you mean \"pfc\"?");
	expect_error("switch = { pfc = {\n on = true; }; };", "t.cfg:2: switch.pfc.on: is no key any more; write enabled");
	expect_error("flow = ( );", "t.cfg:1: flow: unknown key; did you mean \"flows\"?");
	expect_error("switch = { pfc = { wwwwwwwwwww = 1; }; };",
		     "t.cfg:1: switch.pfc.wwwwwwwwwww: unknown key; the nearest known here is \"enabled\"");
	expect_error("flows = ( { src = \"a\"; dst = \"b\"; bites_ = 1; } );",
		     "t.cfg:1: flows.[0].bites_: unknown key; did you mean \"bytes\"?");
	expect_error("faults = ( { kind = \"pfc-storm\"; port = \"1:1\"; probability = 0.1; } );",
		     "t.cfg:1: faults.[0].probability: is a key of kind \"loss\", not of \"pfc-storm\"");
	expect_error(
		"faults = ( { kind = \"pfc-strom\"; port = \"1:1\"; } );",
		"t.cfg:1: faults.[0].kind: found \"pfc-strom\"; did you mean \"pfc-storm\"? Known are pfc-storm, loss");
	expect_error("faults = ( { port = \"1:1\"; } );",
		     "t.cfg:1: faults.[0]: kind is missing; one of pfc-storm, loss would be right");
}

static void
test_syntax(void **state)
{
	expect_error(
		"a = 1;\nb = 2us;\n",
		"t.cfg:2: syntax error at or before \"b = 2us;\"; values with a unit need quotes (\"2us\"), and settings "
		"end with ';'");
	expect_error("flows = ( );\nflows = ( );\n",
		     "t.cfg:2: duplicate setting name at or before \"flows = ( );\"; a key may stand once in a group");
	expect_error("switch = { pfc = { # 99999999999\n ports = 5000000000; }; };",
		     "t.cfg:2: 5000000000 does not fit 32 bits; 5000000000L would be right");
	expect_error("a = 99999999999999999999L;", "t.cfg:1: 99999999999999999999 does not fit 64 bits");
	expect_error("\nalpha = 1e999;", "t.cfg:2: a number beyond what a double holds");
	expect_error("\n@include \"/etc/passwd\"\n", "t.cfg:2: @include works in files only");
}

static void
override(struct cfg *cfg, const char *assignment)
{
	struct err err = { "" };

	if (cfg_override(cfg, assignment, &err) != 0)
		fail_msg("%s", err.text);
}

static void
test_override(void **state)
{
	struct cfg *cfg = load("switch = { pfc = { headroom = 4096; }; };\nflows = ( { src = \"a\"; dst = \"b\"; } );");
	struct err err = { "" };
	struct flow_cfg *flows;
	struct pfc pfc;
	void *items;
	size_t count;

	override(cfg, "switch.pfc.headroom=30KB");
	override(cfg, "switch.pfc.interval=3us");
	override(cfg, "switch.pfc.enabled=false");
	override(cfg, "switch.pfc.alpha=0.25");
	override(cfg, "switch.pfc.classes=[\"3\", \"5\"]");
	override(cfg, "switch.pfc.name=a=b");
	override(cfg, "switch.pfc.ports=5000000000");
	override(cfg, "flows.[0].bytes=5MB");
	override(cfg, "flows.[1]={ src = \"x\"; dst = \"y\"; }");
	override(cfg, "faults.[0].kind=loss");
	override(cfg, "faults.[0].port=6:2");
	assert_int_equal(cfg_check(cfg, known, NKNOWN, &err), 0);
	assert_int_equal(cfg_bind(cfg, &pfc_table, &pfc, &err), 0);
	assert_int_equal(pfc.headroom_bytes, 30000);
	assert_int_equal(pfc.interval_ps, 3000000);
	assert_false(pfc.enabled);
	assert_true(pfc.alpha == 0.25);
	assert_string_equal(pfc.classes.items[1], "5");
	assert_string_equal(pfc.name, "a=b");
	assert_int_equal(pfc.ports, 5000000000);
	assert_int_equal(cfg_bind_list(cfg, &flow_table, NULL, &items, &count, &err), 0);
	flows = items;
	assert_int_equal(count, 2);
	assert_int_equal(flows[0].size_bytes, 5000000);
	assert_string_equal(flows[1].src, "x");
	assert_string_equal(flows[1].where.file, "--set");
	assert_int_equal(flows[1].where.line, 9);
	free(items);
	cfg_destroy(cfg);
}

static void
expect_override_error(const char *assignment, const char *message)
{
	struct cfg *cfg = load("switch = { pfc = { headroom = 4096; }; };\nflows = ( { src = \"a\"; dst = \"b\"; } );");
	struct err err = { "" };
	struct pfc pfc;
	int rc = cfg_override(cfg, assignment, &err);

	if (rc == 0)
		rc = cfg_check(cfg, known, NKNOWN, &err);
	if (rc == 0)
		rc = cfg_bind(cfg, &pfc_table, &pfc, &err);
	assert_string_equal(err.text, message);
	assert_int_equal(rc, -EINVAL);
	cfg_destroy(cfg);
}

static void
test_override_errors(void **state)
{
	expect_override_error("switch.pfc.hedroom=20KB",
			      "--set:1: switch.pfc.hedroom: unknown key; did you mean \"headroom\"?");
	expect_override_error("swich.pfc.headroom=20KB", "--set:1: swich: unknown group; did you mean \"switch\"?");
	expect_override_error(
		"switch.pfc.headroom=20XB",
		"--set:1: switch.pfc.headroom: found \"20XB\"; whole bytes, as 4096, \"360MB\" or \"64KiB\" would "
		"be right");
	expect_override_error(
		"flows.[5].bytes=1",
		"--set flows.[5].bytes=1: \"[5]\" leads nowhere in a list: an index counts from 0, one past the "
		"end appends");
	expect_override_error("switch.pfc.headroom.x=1", "--set switch.pfc.headroom.x=1: \"x\" leads nowhere in 4096");
	expect_override_error("switch..x=1", "--set switch..x=1: the path is made of names and [indices] joined by dots");
	expect_override_error("nothing", "--set nothing: write path=value, as in switch.pfc.headroom=80KB");
	expect_override_error("switch.pfc.classes=[1, \"x\"",
			      "--set: \"[1, \"x\"\" is no value: write it as in a file, or as a bare word");
	/* A second setting behind the value stays part of a string. */
	expect_override_error("switch.pfc.alpha=1; seed = 4",
			      "--set:1: switch.pfc.alpha: found \"1; seed = 4\"; a number would be right");
}

static char *
print(const struct cfg *cfg)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_int_equal(cfg_print(cfg, known, NKNOWN, to), 0);
	fclose(to);
	return text;
}

static void
test_print(void **state)
{
	struct cfg *cfg = load("switch = { pfc = { name = \"q\\\"\\\\\"; alpha = 1.0; ports = 5000000000L; }; };\n"
			       "flows = ( \"a b\" );"),
		   *again;
	char *text = print(cfg), *text_again;
	struct err err = { "" };
	struct pfc pfc;

	assert_non_null(strstr(text, "headroom = \"20KB\"; # default\n"));
	assert_non_null(strstr(text, "alpha = 1.0;\n"));
	again = load(text);
	assert_int_equal(cfg_check(again, known, NKNOWN, &err), 0);
	assert_int_equal(cfg_bind(again, &pfc_table, &pfc, &err), 0);
	assert_string_equal(pfc.name, "q\"\\");
	assert_int_equal(pfc.ports, 5000000000);
	assert_int_equal(pfc.headroom_bytes, 20000);
	/* Printing what was printed says the same, but that nothing is a default any more. */
	text_again = print(again);
	assert_null(strstr(text_again, "headroom = \"20KB\"; # default"));
	free(text);
	free(text_again);
	cfg_destroy(cfg);
	cfg_destroy(again);
}

static void
test_reference(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	cfg_print_reference(known, NKNOWN, to);
	fclose(to);
	assert_non_null(strstr(text, "## switch.pfc\n\nFlow control.\n"));
	assert_non_null(strstr(text, "| `headroom` | bytes | `20KB` | 1KB to 1MB | Room per ingress. |\n"));
	assert_non_null(strstr(text, "| `model` | word | `dynamic` | static, dynamic | Threshold model. |\n"));
	assert_non_null(strstr(text, "| `src` | string | required |  | Sender. |\n"));
	assert_non_null(strstr(text, "## faults (list), kind = \"pfc-storm\"\n"));
	free(text);
}

static void
write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void
test_files(void **state)
{
	char dir[] = "/tmp/cfg_test.XXXXXX", main_path[64], part_path[64], expected[200];
	struct err err = { "" };
	struct cfg *cfg;
	struct pfc pfc;

	assert_non_null(mkdtemp(dir));
	snprintf(main_path, sizeof(main_path), "%s/main.cfg", dir);
	snprintf(part_path, sizeof(part_path), "%s/part.cfg", dir);
	write_file(main_path, "switch = {\n@include \"part.cfg\"\n};\n");
	write_file(part_path, "pfc = {\n headroom = 5; };\n");
	cfg = cfg_load(main_path, &err);
	assert_non_null(cfg);
	assert_int_equal(cfg_bind(cfg, &pfc_table, &pfc, &err), -EINVAL);
	snprintf(expected, sizeof(expected), "%s:2: switch.pfc.headroom: found 5; 1KB to 1MB would be right", part_path);
	assert_string_equal(err.text, expected);
	cfg_destroy(cfg);

	/* A directory, a missing file, a file that includes itself. */
	write_file(main_path, "@include \".\"\n");
	err.text[0] = '\0';
	assert_null(cfg_load(main_path, &err));
	assert_non_null(strstr(err.text, "not a regular file"));
	err.text[0] = '\0';
	assert_null(cfg_load("/nonexistent/x.cfg", &err));
	assert_string_equal(err.text, "/nonexistent/x.cfg: No such file or directory");
	write_file(main_path, "@include \"main.cfg\"\n");
	err.text[0] = '\0';
	assert_null(cfg_load(main_path, &err));
	assert_non_null(strstr(err.text, "more than 8 files deep"));
	unlink(main_path);
	unlink(part_path);
	rmdir(dir);
}

/* Texts made of the grammar's own pieces: loading, checking, overriding and printing them must never crash. */
static void
test_random_texts(void **state)
{
	static const char *const pieces[] = { "switch", "pfc", "flows",   "faults", "kind",     "\"loss\"",  "=",
					      "{",      "}",   "(",       ")",      "[",        "]",         ";",
					      ",",      "5",   "\"2us\"", "1.5",    "true",     "headroom",  "\n",
					      " ",      "#",   "/*",      "*/",     "@include", "\"",        "\\",
					      "-",      "0x",  "L",       "\x01",   "\xff",     "flows = (", "= {" };
	struct prng prng;
	int loaded = 0;

	prng_init(&prng, 1, 0);
	for (int i = 0; i < 20000; i++) {
		char text[512] = "";
		uint64_t count = prng_below(&prng, 30);
		struct err err = { "" };
		struct cfg *cfg;

		for (uint64_t k = 0; k < count; k++)
			strcat(text, pieces[prng_below(&prng, ARRAY_LEN(pieces))]);
		cfg = cfg_load_string(text, "random", &err);
		if (cfg == NULL) {
			assert_string_not_equal(err.text, "");
			continue;
		}
		loaded++;
		cfg_override(cfg, text, &err);
		cfg_override(cfg, "flows.[0].src=1", &err);
		cfg_check(cfg, known, NKNOWN, &err);
		FILE *to = fopen("/dev/null", "w");

		cfg_print(cfg, known, NKNOWN, to);
		fclose(to);
		cfg_destroy(cfg);
	}
	assert_true(loaded > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bind),     cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_lists),    cmocka_unit_test(test_wrong_values),
		cmocka_unit_test(test_unknown),  cmocka_unit_test(test_syntax),
		cmocka_unit_test(test_override), cmocka_unit_test(test_override_errors),
		cmocka_unit_test(test_print),    cmocka_unit_test(test_reference),
		cmocka_unit_test(test_files),    cmocka_unit_test(test_random_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

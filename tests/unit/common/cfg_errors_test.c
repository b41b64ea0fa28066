/* SPDX-License-Identifier: BSD-3-Clause */
/* What the error of a wrong configuration states: the place, what was found, what would be right. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cfg/cfg.h"
#include "tests/unit/common/cfg_rig.h"
#include "tests/unit/unit.h"

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
	expect_error(
		"switch = { pfc = { model = \"stat\"; }; };",
		"t.cfg:1: switch.pfc.model: found \"stat\"; did you mean \"static\"? One of static|dynamic would be right");
	expect_error("switch = { pfc = { model = \"lossless\"; }; };",
		     "t.cfg:1: switch.pfc.model: found \"lossless\"; one of static|dynamic would be right");
	expect_error("switch = { pfc = { classes = ( { a = 1; } ); }; };",
		     "t.cfg:1: switch.pfc.classes: found a list; a list of strings, as [ \"a\", \"b\" ] would be right");
	expect_error("switch = { pfc = 5; };", "t.cfg:1: switch.pfc: found 5; a group { ... } would be right");
	expect_error("flows = 5;", "t.cfg:1: flows: found 5; a list ( { ... }, ... ) would be right");
	expect_error("flows = [ 5 ];", "t.cfg:1: flows: found an array; a list ( { ... }, ... ) would be right");
	expect_error("flows = { };", "t.cfg:1: flows: found a group; a list ( { ... }, ... ) would be right");
	expect_error("flows = (\n { src = \"a\"; } );", "t.cfg:2: flows.[0]: dst is missing: Receiver.");
	expect_error("flows = ( \"a b 3KB x\" );",
		     "t.cfg:1: flows.[0]: found \"a b 3KB x\"; at most the words \"src dst bytes\" would be right");
	expect_error("flows = ( 5 );", "t.cfg:1: flows.[0]: found 5; a group { ... } or \"src dst bytes\" would be right");
}

static void
test_unprintable(void **state)
{
	expect_error("flows = (\n { src = \"a\\x1b[31m\"; dst = \"b\"; } );",
		     "t.cfg:2: flows.[0].src: found \"a?[31m\", with U+001B; printable characters of UTF-8 alone would be "
		     "right");
	expect_error(
		"flows = (\n \"a b\xe2\x80\xae 3KB\" );",
		"t.cfg:2: flows.[0].dst: found \"b?\", with U+202E; printable characters of UTF-8 alone would be right");
	expect_error(
		"switch = { pfc = { name = \"a\\nb\"; }; };",
		"t.cfg:1: switch.pfc.name: found \"a?b\", with U+000A; printable characters of UTF-8 alone would be right");
	expect_error(
		"switch = { pfc = { classes = [ \"a\",\n \"b\xe2\x80\xa8\" ]; }; };",
		"t.cfg:2: switch.pfc.classes.[1]: found \"b?\", with U+2028; printable characters of UTF-8 alone would be "
		"right");
	expect_error("switch = { pfc = { name = \"\xe9\"; }; };", "t.cfg:1: switch.pfc.name: found \"?\", with byte 0xe9; "
								  "printable characters of UTF-8 alone would be right");
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
		     "t.cfg:2: duplicate setting name at or before \"flows = ( );\"; a key may occur once in a group");
	expect_error("switch = { pfc = { # 99999999999\n ports = 5000000000; }; };",
		     "t.cfg:2: 5000000000 does not fit 32 bits; 5000000000L would be right");
	expect_error("a = 99999999999999999999L;", "t.cfg:1: 99999999999999999999 does not fit 64 bits");
	expect_error("\nalpha = 1e999;", "t.cfg:2: a number beyond what a double holds");
	expect_error("\n@include \"/etc/passwd\"\n", "t.cfg:2: @include works in files only");
}

UNIT_TEST(cfg_errors)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_values),
		cmocka_unit_test(test_unprintable),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_syntax),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

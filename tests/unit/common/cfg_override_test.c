/* SPDX-License-Identifier: BSD-3-Clause */
/* Assignments from the command line. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/cfg/cfg.h"
#include "tests/unit/common/cfg_rig.h"
#include "tests/unit/unit.h"

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
	override(cfg, "flows.[2-4,5]={ src = \"p\"; dst = \"q\"; }");
	override(cfg, "flows[3,1-2].bytes=7MB"); /* with a dot or without */
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
	assert_int_equal(count, 6);
	assert_int_equal(flows[0].size_bytes, 5000000);
	assert_string_equal(flows[1].src, "x");
	assert_string_equal(flows[5].src, "p");
	for (int i = 1; i < 4; i++)
		assert_int_equal(flows[i].size_bytes, 7000000);
	assert_int_not_equal(flows[4].size_bytes, 7000000);
	assert_string_equal(flows[1].where.file, "--set flows.[1]");
	assert_int_equal(flows[1].where.line, 9);
	free(items);
	cfg_destroy(cfg);
}

/* A copy without some elements of lists: the same places, its own values. */
static void
test_copy(void **state)
{
	struct cfg *cfg = load("switch = { pfc = { headroom = 4096; classes = [ \"3\", \"5\" ]; }; };\n"
			       "flows = ( { src = \"a\"; dst = \"b\"; },\n { src = \"c\"; dst = \"d\"; } );"),
		   *copy;
	struct err err = { "" };
	struct flow_cfg *flows;
	struct pfc pfc;
	void *items;
	size_t count;

	assert_int_equal(cfg_bind_list(cfg, &flow_table, NULL, &items, &count, &err), 0);
	flows = items;
	copy = cfg_copy(cfg, &flows[0].where, 1, &err);
	assert_non_null(copy);
	free(items);
	override(copy, "switch.pfc.headroom=30KB");
	assert_int_equal(cfg_bind(cfg, &pfc_table, &pfc, &err), 0);
	assert_int_equal(pfc.headroom_bytes, 4096);
	cfg_destroy(cfg);
	assert_int_equal(cfg_check(copy, known, NKNOWN, &err), 0);
	assert_int_equal(cfg_bind(copy, &pfc_table, &pfc, &err), 0);
	assert_int_equal(pfc.headroom_bytes, 30000);
	assert_int_equal(pfc.classes.count, 2);
	assert_string_equal(pfc.classes.items[1], "5");
	override(copy, "flows.[1]={ src = \"x\"; dst = \"y\"; }");
	assert_int_equal(cfg_bind_list(copy, &flow_table, NULL, &items, &count, &err), 0);
	flows = items;
	assert_int_equal(count, 2);
	assert_string_equal(flows[0].src, "c");
	assert_string_equal(flows[0].where.file, "t.cfg");
	assert_int_equal(flows[0].where.line, 3);
	assert_string_equal(flows[1].src, "x");
	free(items);
	cfg_destroy(copy);
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
			      "--set switch.pfc.hedroom:1: switch.pfc.hedroom: unknown key; did you mean \"headroom\"?");
	expect_override_error("swich.pfc.headroom=20KB",
			      "--set swich.pfc.headroom:1: swich: unknown group; did you mean \"switch\"?");
	expect_override_error("switch.pfc.headroom=20XB", "--set switch.pfc.headroom:1: switch.pfc.headroom: found "
							  "\"20XB\"; whole bytes, as 4096, \"360MB\" or \"64KiB\" would "
							  "be right");
	expect_override_error(
		"flows.[5].bytes=1",
		"--set flows.[5].bytes=1: \"[5]\" leads nowhere in a list: an index counts from 0, one past the "
		"end appends");
	expect_override_error("flows.[-1].bytes=1",
			      "--set flows.[-1].bytes=1: the path is made of names and [indices] joined by dots");
	for (int i = 0; i < 6; i++) {
		static const char *const wrong[] = { "[0-]", "[0,]", "[,0]", "[1-0]", "[0--1]", "[0-70000]" };
		char path[64], text[128];

		snprintf(path, sizeof(path), "flows.%s.bytes=1", wrong[i]);
		snprintf(text, sizeof(text), "--set %s: the path is made of names and [indices] joined by dots", path);
		expect_override_error(path, text);
	}
	expect_override_error("flows.[0,9].bytes=1", "--set flows.[0,9].bytes=1: \"[9]\" leads nowhere in a list: an index "
						     "counts from 0, one past the end appends");
	/* All of a path together, as each part of it. */
	expect_override_error("x.[0-255].of.[0-256]=1", "--set x.[0-255].of.[0-256]=1: more than 65536 places");
	expect_override_error("x.[0-40000,0-40000]=1", "--set x.[0-40000,0-40000]=1: more than 65536 places");
	expect_override_error("flows.[].bytes=1",
			      "--set flows.[].bytes=1: the path is made of names and [indices] joined by dots");
	expect_override_error("flows.[0x.bytes=1",
			      "--set flows.[0x.bytes=1: the path is made of names and [indices] joined by dots");
	expect_override_error("flows[0.bytes=1",
			      "--set flows[0.bytes=1: the path is made of names and [indices] joined by dots");
	expect_override_error("flows[0]x=1", "--set flows[0]x=1: the path is made of names and [indices] joined by dots");
	expect_override_error("switch.pfc.headroom.x=1", "--set switch.pfc.headroom.x=1: \"x\" leads nowhere in 4096");
	expect_override_error("switch..x=1", "--set switch..x=1: the path is made of names and [indices] joined by dots");
	expect_override_error("nothing", "--set nothing: write path=value, as in switch.pfc.headroom=80KB");
	expect_override_error(
		"switch.pfc.classes=[1, \"x\"",
		"--set switch.pfc.classes: \"[1, \"x\"\" is no value: write it as in a file, or as a bare word");
	/* A second setting behind the value stays part of a string. */
	expect_override_error("switch.pfc.alpha=1; seed = 4",
			      "--set switch.pfc.alpha:1: switch.pfc.alpha: found \"1; seed = 4\"; a number would be right");
}

UNIT_TEST(cfg_override)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_override),
		cmocka_unit_test(test_override_errors),
		cmocka_unit_test(test_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The group "load_balancing" of a scenario: its words, its defaults, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "dpswitch/balance/balance.h"
#include "tests/unit/unit.h"

static int
bind(const char *group, struct balance_params *params, struct err *err)
{
	struct cfg *cfg = cfg_load_string(group, "t.cfg", err);
	int ret;

	assert_non_null(cfg);
	ret = balance_bind(params, cfg, err);
	cfg_destroy(cfg);
	return ret;
}

static void
every_kind_has_its_word(void **state)
{
	for (int kind = 0; kind < BALANCE_COUNT; kind++) {
		struct balance_params params;
		struct err err = { "" };
		char text[128];

		snprintf(text, sizeof(text), "load_balancing = { kind = \"%s\"; };", balance_kinds[kind]->name);
		assert_int_equal(bind(text, &params, &err), 0);
		assert_ptr_equal(params.ops, balance_kinds[kind]);
	}
}

static void
nothing_configured_is_ecmp_over_all_fields(void **state)
{
	struct balance_params params;
	struct err err = { "" };

	assert_int_equal(bind("seed = 1;", &params, &err), 0);
	assert_ptr_equal(params.ops, balance_kinds[BALANCE_ECMP]);
	assert_false(balance_is_on(&params));
	assert_int_equal(params.hashing.function, ROUTE_HASH_CRC32C);
	assert_int_equal(params.hashing.left_out, 0);
	assert_false(params.hashing.alike);
}

static void
hashing_is_configured(void **state)
{
	struct balance_params params;
	struct err err = { "" };

	assert_int_equal(bind("load_balancing = { hash = \"xor\"; fields = [ \"src\", \"dst\" ]; seeds = \"shared\"; };",
			      &params, &err),
			 0);
	assert_int_equal(params.hashing.function, ROUTE_HASH_XOR);
	assert_int_equal(params.hashing.left_out, ROUTE_SPORT | ROUTE_DPORT | ROUTE_LABEL);
	assert_false(params.names_label);
	assert_true(params.hashing.alike);
}

static void
expect_refusal(const char *group, const char *message)
{
	struct balance_params params;
	struct err err = { "" };

	assert_true(bind(group, &params, &err) < 0);
	assert_string_equal(err.text, message);
}

/* Parameters of kinds that are not used are checked as well, and no others are kept. */
static void
kinds_have_groups_of_their_own(void **state)
{
	struct balance_params params;
	struct err err = { "" };

	assert_int_equal(bind("load_balancing = { kind = \"random\"; flowlet = { gap = \"1us\"; }; };", &params, &err), 0);
	assert_memory_equal(params.own, (uint64_t[BALANCE_PARAMS_WORDS]){ 0 }, sizeof(params.own));
	assert_int_equal(bind("load_balancing = { kind = \"flowlet\"; flowlet = { gap = \"1us\"; }; };", &params, &err), 0);
	assert_memory_not_equal(params.own, (uint64_t[BALANCE_PARAMS_WORDS]){ 0 }, sizeof(params.own));
}

static void
errors_name_what_would_be_right(void **state)
{
	expect_refusal("load_balancing = {\n fields = [ \"src\", \"vlan\" ];\n};",
		       "t.cfg:2: load_balancing.fields: \"vlan\" is nothing that is hashed: \"src\", \"dst\", \"sport\", "
		       "\"dport\", \"flow-label\" are");
	expect_refusal(
		"load_balancing = {\n kind = \"spray\";\n};",
		"t.cfg:2: load_balancing.kind: found \"spray\"; one of ecmp|random|round-robin|adaptive|flowlet would be "
		"right");
	expect_refusal("load_balancing = {\n adaptive = { memory = \"2TB\"; }; };",
		       "t.cfg:2: load_balancing.adaptive.memory: found \"2TB\"; 0B to 1GB would be right");
}

UNIT_TEST(balance_cfg)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_has_its_word),
		cmocka_unit_test(nothing_configured_is_ecmp_over_all_fields),
		cmocka_unit_test(hashing_is_configured),
		cmocka_unit_test(kinds_have_groups_of_their_own),
		cmocka_unit_test(errors_name_what_would_be_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

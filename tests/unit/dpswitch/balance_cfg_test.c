/* SPDX-License-Identifier: BSD-3-Clause */
/* The group "load_balancing" of a scenario: its words, its defaults, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "dpswitch/balance/balance.h"

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
nothing_said_is_ecmp_over_all_fields(void **state)
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
hashing_is_said(void **state)
{
	struct balance_params params;
	struct err err = { "" };

	assert_int_equal(bind("load_balancing = { hash = \"xor\"; fields = [ \"src\", \"dst\" ]; seeds = \"shared\"; };",
			      &params, &err),
			 0);
	assert_int_equal(params.hashing.function, ROUTE_HASH_XOR);
	assert_int_equal(params.hashing.left_out, ROUTE_SPORT | ROUTE_DPORT);
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

static void
errors_say_what_would_be_right(void **state)
{
	expect_refusal("load_balancing = {\n fields = [ \"src\", \"vlan\" ];\n};",
		       "t.cfg:2: load_balancing.fields: \"vlan\" is nothing that is hashed: \"src\", \"dst\", \"sport\", "
		       "\"dport\" "
		       "are");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_has_its_word),
		cmocka_unit_test(nothing_said_is_ecmp_over_all_fields),
		cmocka_unit_test(hashing_is_said),
		cmocka_unit_test(errors_say_what_would_be_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

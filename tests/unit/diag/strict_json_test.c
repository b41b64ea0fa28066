/* SPDX-License-Identifier: BSD-3-Clause */
/* What the reports of all other tests pass: it accepts what jansson does, which builds all values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>
#include <cmocka.h>

#include "common/array.h"
#include "tests/unit/diag/strict_json.h"
#include "tests/unit/unit.h"

/* Values, of which each is tried in an array, as a member, cut off at each byte, and with a byte too many. */
static const char *const values[] = {
	"{}",
	"[]",
	"{\"a\":1}",
	"{\"a\":1,\"a\":2}",
	"{\"a\":1,\"b\":{\"a\":2}}",
	"{\"a\":{\"b\":1},\"b\":2}",
	"{a:1}",
	"{\"a\"}",
	"{\"a\":}",
	"{\"a\":1,}",
	"[1,]",
	"[,1]",
	"[1 2]",
	"0",
	"-0",
	"01",
	"-",
	"1.",
	".5",
	"1.5e3",
	"1.5E+30",
	"1e-3",
	"1e",
	"1e999",
	"-1e-999",
	"+1",
	"NaN",
	"Infinity",
	"9223372036854775807",
	"9223372036854775808",
	"true",
	"false",
	"null",
	"nul",
	"True",
	"\"\\u00e9\\n\\\\\\\"\\/\"",
	"\"\\x\"",
	"\"\\u12\"",
	"\"\\u0000\"",
	"\"\\ud800\"",
	"\"a\nb\"",
	"\"\t\"",
	"\"\"",
	"\" < \"",
	"[[[[]]]]",
	" [ 1 , { } ] ",
	"{\"a\" : [ true,\n false ] }",
	"1 // no",
};

static void
assert_alike(const char *text)
{
	const char *where;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	if (strict_json(text, &where) != (root != NULL))
		fail_msg("%s for jansson: %s", root != NULL ? "JSON" : "no JSON", text);
	assert_true(where >= text && where <= text + strlen(text));
	json_decref(root);
}

static void
same_texts_are_json_for_jansson(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(values); i++) {
		char text[128];

		assert_alike(values[i]);
		snprintf(text, sizeof(text), "{\"key\": %s, \"next\": [%s]}", values[i], values[i]);
		assert_alike(text);
		snprintf(text, sizeof(text), "[%s,%s]]", values[i], values[i]);
		assert_alike(text);
		for (size_t end = strlen(text); end-- > 0;) {
			text[end] = '\0';
			assert_alike(text);
		}
	}
}

UNIT_TEST(strict_json)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_texts_are_json_for_jansson),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A configuration read, bound to structs, and printed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/cfg/cfg.h"
#include "common/prng.h"
#include "tests/unit/common/cfg_rig.h"
#include "tests/unit/unit.h"

/* libconfig 1.5 leaks the token at hand when a text does not parse; everything else must be freed. */
const char *__lsan_default_suppressions(void);

const char *
__lsan_default_suppressions(void)
{
	return "leak:libconfig.so";
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

/* What stands in strings and comments is no value, no include and no end of anything. */
static void
test_words_of_the_grammar_in_strings(void **state)
{
	struct cfg *cfg =
		load("switch = { pfc = { name = \"@include; 99999999999999999999 } /* # \\\" //\"; // 5000000000 \"\n"
		     " /* @include \"x\" 1e999 */ ports = 7; # }\n }; };\n"
		     "flows = [ ];");
	struct err err = { "" };
	struct pfc pfc;

	assert_int_equal(cfg_check(cfg, known, NKNOWN, &err), 0);
	assert_int_equal(cfg_bind(cfg, &pfc_table, &pfc, &err), 0);
	assert_string_equal(pfc.name, "@include; 99999999999999999999 } /* # \" //");
	assert_int_equal(pfc.ports, 7);
	cfg_destroy(cfg);
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

/* What a tree has stays; what it lacks is another's, with its place there, and is named where it is printed. */
static void
test_add_missing(void **state)
{
	struct cfg *cfg = load("switch = { pfc = {\n headroom = 4096; }; };");
	struct cfg *from = cfg_load_string("switch = { pfc = { headroom = 5000;\n classes = [ \"3\" ];\n ports = 7; };\n"
					   " more = { alpha = 0.5; }; };",
					   "from.cfg", NULL);
	struct err err = { "" };
	struct pfc pfc;
	char *text;

	assert_non_null(from);
	assert_int_equal(cfg_add_missing(cfg, "", from, "", "profile x", &err), 0);
	cfg_destroy(from);
	assert_int_equal(cfg_bind(cfg, &pfc_table, &pfc, &err), 0);
	assert_int_equal(pfc.headroom_bytes, 4096);
	assert_int_equal(pfc.ports, 7);
	assert_int_equal(pfc.classes.count, 1);
	assert_string_equal(pfc.classes.items[0], "3");
	cfg_fail(&pfc.where, "headroom", &err, "x");
	assert_string_equal(err.text, "t.cfg:2: switch.pfc.headroom: x");
	err.text[0] = '\0';
	cfg_fail(&pfc.where, "ports", &err, "x");
	assert_string_equal(err.text, "from.cfg:3: switch.pfc.ports: x");
	text = print(cfg);
	assert_non_null(strstr(text, "headroom = 4096;\n"));
	assert_non_null(strstr(text, "ports = 7; # profile x\n"));
	assert_non_null(strstr(text, "alpha = 0.5; # profile x\n"));
	assert_non_null(strstr(text, "alpha = 0.125; # default\n"));
	free(text);
	cfg_destroy(cfg);
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

UNIT_TEST(cfg)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bind),         cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_lists),        cmocka_unit_test(test_words_of_the_grammar_in_strings),
		cmocka_unit_test(test_print),        cmocka_unit_test(test_add_missing),
		cmocka_unit_test(test_reference),    cmocka_unit_test(test_files),
		cmocka_unit_test(test_random_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

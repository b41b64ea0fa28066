/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups and lists within the elements of a list. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/cfg/cfg.h"
#include "tests/unit/unit.h"

struct part {
	struct cfg_where where;
	const char *name;
	int64_t size;
};

static const struct cfg_field part_fields[] = {
	CFG_FIELD("name", CFG_STRING, offsetof(struct part, name), .doc = "Its name."),
	CFG_FIELD("size", CFG_INT, offsetof(struct part, size), .def = "3", .min = 1, .max = 9, .doc = "Its size."),
};
static const struct cfg_field size_fields[] = {
	CFG_FIELD("size", CFG_INT, offsetof(struct part, size), .def = "5", .min = 1, .max = 9, .doc = "Its size."),
};

#define TABLE(path_, list_, fields_)                                                                                       \
	{                                                                                                                  \
		.path = path_, .doc = "Doc.", .list = list_, .size = sizeof(struct part), .fields = fields_,               \
		.nfields = ARRAY_LEN(fields_), .words = "name size"                                                        \
	}

static const struct cfg_table whole = TABLE("wholes", true, size_fields);
static const struct cfg_table place = TABLE("wholes.place", false, size_fields);
static const struct cfg_table part = TABLE("wholes.parts", true, part_fields);
static const struct cfg_table deepest = TABLE("wholes.parts.leaves", true, part_fields);
static const struct cfg_known known[] = { { &whole, NULL }, { &place, NULL }, { &part, NULL }, { &deepest, NULL } };

static const char text[] = "wholes = ( { size = 7;\n parts = ( \"a 2\", { name = \"b\";\n leaves = ( \"x\" ); } ); },\n"
			   " { place = { size = 1; }; },\n"
			   " { parts = ( ); } );\n";

static struct cfg *
load(const char *from, struct err *err)
{
	struct cfg *cfg = cfg_load_string(from, "t.cfg", err);

	assert_non_null(cfg);
	if (cfg_check(cfg, known, ARRAY_LEN(known), err) == 0)
		return cfg;
	cfg_destroy(cfg);
	return NULL;
}

static void
elements_have_groups_and_lists_of_their_own(void **state)
{
	struct err err = { "" };
	struct cfg *cfg = load(text, &err);
	struct part *wholes, *parts, *leaves, bound;
	size_t nwholes, nparts, nleaves;
	void *list;

	assert_non_null(cfg);
	assert_int_equal(cfg_bind_list(cfg, &whole, NULL, &list, &nwholes, &err), 0);
	wholes = list;
	assert_int_equal(nwholes, 3);
	assert_int_equal(wholes[0].size, 7);
	assert_true(cfg_has(&wholes[0].where, "parts"));
	assert_false(cfg_has(&wholes[1].where, "parts"));
	assert_int_equal(cfg_bind_list_in(cfg, &wholes[0].where, &part, &list, &nparts, &err), 0);
	parts = list;
	assert_int_equal(nparts, 2);
	assert_string_equal(parts[0].name, "a");
	assert_int_equal(parts[0].size, 2);
	assert_int_equal(parts[1].size, 3);
	assert_int_equal(parts[1].where.line, 2);
	assert_int_equal(cfg_bind_list_in(cfg, &parts[1].where, &deepest, &list, &nleaves, &err), 0);
	leaves = list;
	assert_int_equal(nleaves, 1);
	assert_string_equal(leaves[0].name, "x");
	assert_int_equal(leaves[0].where.line, 3);
	free(leaves);
	free(parts);
	assert_int_equal(cfg_bind_list_in(cfg, &wholes[1].where, &part, &list, &nparts, &err), 0);
	assert_int_equal(nparts, 0);
	assert_int_equal(cfg_bind_list_in(cfg, &wholes[2].where, &part, &list, &nparts, &err), 0);
	assert_int_equal(nparts, 0);
	assert_int_equal(cfg_bind_in(cfg, &wholes[1].where, &place, &bound, &err), 0);
	assert_int_equal(bound.size, 1);
	assert_int_equal(cfg_bind_in(cfg, &wholes[0].where, &place, &bound, &err), 0);
	assert_int_equal(bound.size, 5);
	free(wholes);
	cfg_destroy(cfg);
}

static void
refused(const char *from, const char *message)
{
	struct err err = { "" };

	assert_null(load(from, &err));
	assert_string_equal(err.text, message);
}

static void
mistakes_within_them_are_found(void **state)
{
	struct err err = { "" };
	struct part *wholes, *parts;
	size_t count;
	struct cfg *cfg;

	refused("wholes = ( { parts = ( {\n nmae = \"a\"; } ); } );",
		"t.cfg:2: wholes.[0].parts.[0].nmae: unknown key; did you mean \"name\"?");
	refused("wholes = ( { part = ( ); } );", "t.cfg:1: wholes.[0].part: unknown key; did you mean \"parts\"?");
	refused("wholes = ( { place = 5; } );", "t.cfg:1: wholes.[0].place: found 5; a group { ... } would be right");
	refused("wholes = ( { parts = { }; } );",
		"t.cfg:1: wholes.[0].parts: found a group; a list ( { ... }, ... ) would be right");
	/* A word of letters is no number. */
	cfg = load("wholes = ( { parts = (\n \"a x\" ); } );", &err);
	assert_non_null(cfg);
	assert_int_equal(cfg_bind_list(cfg, &whole, NULL, (void **)&wholes, &count, &err), 0);
	assert_int_equal(cfg_bind_list_in(cfg, &wholes[0].where, &part, (void **)&parts, &count, &err), -EINVAL);
	assert_string_equal(err.text, "t.cfg:2: wholes.[0].parts.[0].size: found \"x\"; an integer would be right");
	free(wholes);
	cfg_destroy(cfg);
}

/* Defaults are filled in at every depth, where groups stand; what was printed means the same. */
static void
defaults_are_printed_within_them(void **state)
{
	struct err err = { "" };
	struct cfg *cfg = load(text, &err), *again;
	char *printed = NULL;
	size_t size, count = 0;
	FILE *to = open_memstream(&printed, &size);

	assert_int_equal(cfg_print(cfg, known, ARRAY_LEN(known), to), 0);
	fclose(to);
	for (const char *at = printed; (at = strstr(at, "size = 3; # default")) != NULL; at++)
		count++;
	assert_int_equal(count, 2); /* of b and of x */
	count = 0;
	for (const char *at = printed; (at = strstr(at, "size = 5; # default")) != NULL; at++)
		count++;
	assert_int_equal(count, 2); /* of the second and third whole */
	assert_null(strstr(strstr(printed, "place") + 5, "place"));
	again = load(printed, &err);
	assert_non_null(again);
	cfg_destroy(again);
	cfg_destroy(cfg);
	free(printed);
}

static int
append_setting(void *ctx, const char *setting)
{
	strcat(ctx, setting);
	strcat(ctx, " ");
	return 0;
}

/* A group's keys at every depth, defaults too, mean the same one by one. */
static void
settings_are_what_an_override_takes(void **state)
{
	struct err err = { "" };
	char settings[1024] = "";
	struct cfg *cfg = load("wholes = ( { parts = ( { name = \"a b\"; size = 7; } ); }, { } );", &err);

	assert_int_equal(cfg_settings(cfg, known, ARRAY_LEN(known), "wholes", append_setting, settings), 0);
	assert_non_null(strstr(settings, "wholes.[0].parts.[0].name=\"a b\" wholes.[0].parts.[0].size=7 "));
	assert_int_equal(cfg_settings(cfg, known, ARRAY_LEN(known), "absent", append_setting, settings), 0);
	assert_int_equal(cfg_override(cfg, "wholes.[0].parts.[0].name=\"a b\"", &err), 0);
	cfg_destroy(cfg);
}

/* Without the list there is nothing to complete: no group in its place. */
static void
a_list_that_is_absent_stays_so(void **state)
{
	struct err err = { "" };
	struct cfg *cfg = load("", &err);
	char *printed = NULL;
	size_t size;
	FILE *to = open_memstream(&printed, &size);

	assert_int_equal(cfg_print(cfg, known, ARRAY_LEN(known), to), 0);
	fclose(to);
	assert_string_equal(printed, "");
	free(printed);
	cfg_destroy(cfg);
}

/* Keys over those of a struct that is bound; an absent key, and an absent group, keep its values, and get no default. */
static void
keys_are_bound_over_others(void **state)
{
	static const struct cfg_table over_place = { .path = "wholes.place",
						     .doc = "Doc.",
						     .size = sizeof(struct part),
						     .fields = part_fields,
						     .nfields = ARRAY_LEN(part_fields),
						     .over = "parts" };
	static const struct cfg_known over_known[] = { { &whole, NULL }, { &over_place, NULL } };
	struct err err = { "" };
	struct cfg *cfg = cfg_load_string("wholes = ( { place = { name = \"n\"; }; }, { } );", "t.cfg", &err);
	struct part base = { .name = "base", .size = 8 }, *wholes;
	char *printed = NULL;
	size_t count, size;
	void *list;
	FILE *to = open_memstream(&printed, &size);

	(void)state;
	assert_int_equal(cfg_bind_list(cfg, &whole, NULL, &list, &count, &err), 0);
	wholes = list;
	assert_int_equal(cfg_bind_over(&wholes[1].where, &over_place, &base, &err), 0);
	assert_string_equal(base.name, "base");
	assert_int_equal(cfg_bind_over(&wholes[0].where, &over_place, &base, &err), 0);
	assert_string_equal(base.name, "n");
	assert_int_equal(base.size, 8);
	assert_int_equal(cfg_print(cfg, over_known, ARRAY_LEN(over_known), to), 0);
	fclose(to);
	assert_null(strstr(strstr(printed, "place"), "size = 3"));
	assert_int_equal(cfg_override(cfg, "wholes.[0].place.size=10", &err), 0);
	assert_true(cfg_bind_over(&wholes[0].where, &over_place, &base, &err) < 0);
	assert_non_null(strstr(err.text, "--set wholes.[0].place.size:1: wholes.[0].place.size: found 10; 1 to 9"));
	free(printed);
	free(list);
	cfg_destroy(cfg);
}

UNIT_TEST(cfg_nested)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elements_have_groups_and_lists_of_their_own),
		cmocka_unit_test(mistakes_within_them_are_found),
		cmocka_unit_test(defaults_are_printed_within_them),
		cmocka_unit_test(settings_are_what_an_override_takes),
		cmocka_unit_test(a_list_that_is_absent_stays_so),
		cmocka_unit_test(keys_are_bound_over_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

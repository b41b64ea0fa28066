/* SPDX-License-Identifier: BSD-3-Clause */
/* Names with ranges, and the ranks that they are. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "workload/jobs/endpoint.h"

#define TOPOLOGY "topology = { kind = \"rail\"; hosts = 4; nics = 2; hosts_per_group = 4; };\n"

static const struct cfg_where nowhere = { .file = "s.cfg", .line = 7 };
static struct err err;

/* The names that a word stands for, with blanks between. @return the error's text where it is refused */
static const char *
expanded(const char *word)
{
	static char text[4096];
	struct cfg_strings words = { &word, 1 };
	struct name_list names;
	int rc;

	err.text[0] = '\0';
	rc = names_expand(&words, &nowhere, "ranks", &names, &err);
	text[0] = '\0';
	for (size_t i = 0; i < names.count && i < 60; i++)
		sprintf(text + strlen(text), "%s%s", i != 0 ? " " : "", names.items[i]);
	names_free(&names);
	return rc == 0 ? text : err.text;
}

static void
ranges_are_written_out(void **state)
{
	assert_string_equal(expanded("h3"), "h3");
	assert_string_equal(expanded("h[0-3]"), "h0 h1 h2 h3");
	assert_string_equal(expanded("h[0-1,7,9-10]"), "h0 h1 h7 h9 h10");
	assert_string_equal(expanded("h[08-10]x"), "h08x h09x h10x");
	assert_string_equal(expanded("h[0-1]:[1-2]"), "h0:1 h0:2 h1:1 h1:2");
	assert_string_equal(expanded("[5-6]"), "5 6");
	assert_string_equal(expanded("h[2-2]"), "h2");
}

static void
bad_ranges_are_refused(void **state)
{
	const struct {
		const char *word, *why;
	} cases[] = {
		{ "", "a name is empty" },
		{ "h[", "a bracket has no partner" },
		{ "h]", "a bracket has no partner" },
		{ "h[0-3", "a bracket has no partner" },
		{ "h[0[1]]", "a bracket has no partner" },
		{ "h[]", "a range in brackets needs numbers" },
		{ "h[a-b]", "a range in brackets needs numbers" },
		{ "h[0-]", "a range in brackets needs numbers" },
		{ "h[0,]", "a range in brackets needs numbers" },
		{ "h[-3]", "a range in brackets needs numbers" },
		{ "h[0-9999999999]", "a range in brackets needs numbers" },
		{ "h[0-3;5]", "between brackets stand ranges and commas alone" },
		{ "h[7-0]", "its range descends" },
		{ "h[0-999999]", "more than 65536 names" },
		{ "a-name-that-is-longer-than-any-node-of-a-topology-may-have-by-far[0-1]", "a name is too long" },
		{ "[1][2][3][4][5][6][7][8][9][0][1][2][3][4][5][6][7][8][9][0][1][2][3][4][5][6][7][8][9][0][1][2]"
		  "[1][2][3][4][5][6][7][8][9][0][1][2][3][4][5][6][7][8][9][0][1][2][3][4][5][6][7][8][9][0][1][2]",
		  "a name is too long" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *text = expanded(cases[i].word);

		if (strstr(text, cases[i].why) == NULL || strstr(text, "s.cfg:7: ranks: ") != text)
			fail_msg("\"%s\": \"%s\" does not say \"%s\"", cases[i].word, text, cases[i].why);
	}
}

struct list {
	struct cfg_where where;
	struct cfg_strings ranks;
};

/* The ranks of a list in brackets, as "h0:1 h1:2 ". @return the error's text where it is refused */
static const char *
ranks_of(const char *list)
{
	static const struct cfg_field field = {
		.name = "ranks", .type = CFG_STRINGS, .offset = offsetof(struct list, ranks), .def = ""
	};
	static const struct cfg_table table = {
		.path = "collectives", .list = true, .size = sizeof(struct list), .fields = &field, .nfields = 1
	};
	static char text[sizeof(err.text)];
	char scenario[512], port[40];
	struct endpoint *ranks;
	struct topo *topo;
	struct cfg *cfg;
	size_t count;
	uint32_t nranks;
	void *groups;
	struct list *group;

	snprintf(scenario, sizeof(scenario), TOPOLOGY "collectives = ( {\n %s } );\n", list);
	err.text[0] = text[0] = '\0';
	cfg = cfg_load_string(scenario, "s.cfg", &err);
	assert_non_null(cfg);
	assert_int_equal(topo_build(cfg, &topo, &err), 0);
	assert_int_equal(cfg_bind_list(cfg, &table, NULL, &groups, &count, &err), 0);
	group = groups;
	if (endpoint_list(topo, &group->ranks, &group->where, "ranks", &ranks, &nranks, &err) != 0) {
		assert_null(ranks);
		snprintf(text, sizeof(text), "%s", err.text);
		nranks = 0;
	}
	for (uint32_t r = 0; r < nranks; r++)
		sprintf(text + strlen(text), "%s ",
			topo_port_name(topo, topo->nodes[ranks[r].node].first_port + ranks[r].nic, port));
	free(ranks);
	free(groups);
	topo_destroy(topo);
	cfg_destroy(cfg);
	return text;
}

static void
ranks_are_hosts_and_nics(void **state)
{
	assert_string_equal(ranks_of(""), "h0:1 h1:1 h2:1 h3:1 ");
	assert_string_equal(ranks_of("ranks = [ \"h2\", \"h[0-1]:2\" ];"), "h2:1 h0:2 h1:2 ");
	assert_string_equal(ranks_of("ranks = [ \"h[0-1]:[1-2]\" ];"), "h0:1 h0:2 h1:1 h1:2 ");
}

static void
bad_ranks_are_refused(void **state)
{
	assert_string_equal(ranks_of("ranks = [ \"h[2-5]\" ];"),
			    "s.cfg:3: collectives.[0].ranks: \"h4\" is neither a host nor host:nic of this topology");
	assert_string_equal(ranks_of("ranks = [ \"h0:3\" ];"),
			    "s.cfg:3: collectives.[0].ranks: \"h0:3\" is neither a host nor host:nic of this topology");
	assert_string_equal(ranks_of("ranks = [ \"g0r0\" ];"),
			    "s.cfg:3: collectives.[0].ranks: \"g0r0\" is a switch; only hosts send and receive");
	assert_string_equal(ranks_of("ranks = [ \"h1\", \"h[0-3]\" ];"),
			    "s.cfg:3: collectives.[0].ranks: ranks 0 and 2 are both at h1 NIC 1");
	assert_string_equal(ranks_of("ranks = [ \"h1:2\", \"h1:[1-2]\" ];"),
			    "s.cfg:3: collectives.[0].ranks: ranks 0 and 2 are both at h1 NIC 2");
}

UNIT_TEST(endpoint)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_written_out),
		cmocka_unit_test(bad_ranges_are_refused),
		cmocka_unit_test(ranks_are_hosts_and_nics),
		cmocka_unit_test(bad_ranks_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Shapes of the evaluation: each has a valid fabric, ranks, and cases of the paper's families on it. */
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
#include "eval/case.h"
#include "eval/place.h"
#include "scenario/scenario.h"
#include "tests/unit/unit.h"

#define CASES 3 /* of each family */
#define SCALE 0.05

static char dir[UNIT_PATH];

static int
make_dir(void **state)
{
	(void)state;
	return unit_dir(dir, "shapes") ? 0 : -1;
}

static int
delete_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

static void
delete_file(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
}

/* The network of a shape; scenario_destroy() it. */
static struct scenario *
load(const struct shape *shape, struct case_source *source)
{
	struct scenario *network;
	struct err err = { 0 };
	char path[96];

	*source = (struct case_source){ .seed = 3, .scale = SCALE, .picks = CASE_PICKS_ALL, .shape = shape };
	snprintf(path, sizeof(path), "%s/fabric.cfg", dir);
	network = case_network(path, source, &err);
	unlink(path);
	if (network == NULL)
		fail_msg("%s: %s", shape->name, err.text);
	source->network = network;
	return network;
}

static void
begin(struct eval_case *c, const struct case_source *source)
{
	assert_int_equal(case_init(c, &family_contention, 0, 0, source), 0);
}

static void
names_are_found(void **state)
{
	(void)state;
	assert_ptr_equal(shape_find("paper"), shapes);
	for (const struct shape *shape = shapes; shape->name != NULL; shape++)
		assert_ptr_equal(shape_find(shape->name), shape);
	assert_null(shape_find("nonsense"));
}

static void
sends_are_the_schedules(void **state)
{
	struct shape_sends sends;

	(void)state;
	assert_int_equal(shape_sends(shape_find("ranks16"), &sends), 0);
	assert_int_equal(sends.steps, 15);
	assert_int_equal(sends.count, 16);
	for (uint32_t i = 0; i < sends.count; i++) {
		assert_int_equal(sends.at[i].from, i);
		assert_int_equal(sends.at[i].to, (i + 1) % 16);
	}
	assert_int_equal(shape_sends(shape_find("halving-doubling"), &sends), 0);
	assert_int_equal(sends.steps, 6);
	assert_int_equal(sends.count, 8 * 3);
	for (uint32_t i = 0; i < sends.count; i++)
		assert_int_equal(sends.at[i].from ^ sends.at[i].to, 4 >> i % 3);
}

static void
assert_ranks(const struct eval_case *c, const uint32_t *hosts)
{
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(c->ranks[i], c->routing.topo->hosts[hosts[i]]);
}

static void
papers_ranks_are_where_they_were(void **state)
{
	static const uint32_t apart[] = { 0, 2, 4, 6, 8, 10, 12, 14 }, beside[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
	static const uint32_t pairs[] = { 0, 1, 4, 5, 8, 9, 12, 13 };
	struct case_source source;
	struct scenario *network = load(shapes, &source);
	struct eval_case c;

	(void)state;
	begin(&c, &source);
	assert_ranks(&c, apart);
	place_beside(&c);
	assert_ranks(&c, beside);
	place_pairs(&c);
	assert_ranks(&c, pairs);
	case_fini(&c);
	scenario_destroy(network);
}

/* Different hosts, so many under each edge switch that has one. */
static void
assert_groups(const struct eval_case *c, uint32_t group)
{
	const struct topo *topo = c->routing.topo;

	for (uint32_t i = 0; i < c->source->shape->ranks; i++) {
		uint32_t beside = 0, edge = topo_port_of(topo, c->ranks[i], 0)->peer;

		assert_int_equal(topo->nodes[c->ranks[i]].kind, TOPO_HOST);
		for (uint32_t j = 0; j < c->source->shape->ranks; j++) {
			assert_true(i == j || c->ranks[i] != c->ranks[j]);
			beside += topo_port_of(topo, c->ranks[j], 0)->peer == edge;
		}
		assert_int_equal(beside, group);
	}
}

static void
ranks_are_grouped_on_every_shape(void **state)
{
	(void)state;
	for (const struct shape *shape = shapes; shape->name != NULL; shape++) {
		struct case_source source;
		struct scenario *network = load(shape, &source);
		struct eval_case c;

		begin(&c, &source);
		assert_groups(&c, 1);
		place_beside(&c);
		assert_groups(&c, 2);
		place_pairs(&c);
		assert_groups(&c, 2);
		case_fini(&c);
		scenario_destroy(network);
	}
}

/* The first attempt that chance has a case for, written and loaded again. */
static void
write_case(struct eval_case *c, const struct family *family, uint32_t index, const struct case_source *source)
{
	struct err err = { 0 };
	int ret = -1;

	for (uint32_t attempt = 0; ret != 0; attempt++) {
		assert_true(attempt < 5);
		assert_int_equal(case_init(c, family, index, attempt, source), 0);
		ret = family->make(c);
		if (ret != 0)
			case_fini(c);
	}
	if (case_write(c, dir, &err) < 0)
		fail_msg("%s on %s: %s", family->name, source->shape->name, err.text);
	delete_file("case.cfg");
	delete_file("case.json");
}

static void
assert_backpressure(const struct eval_case *c)
{
	const json_t *anomaly = json_array_get(c->anomalies, 0), *pauses = json_object_get(anomaly, "pauses");
	const char *root = json_string_value(json_array_get(json_object_get(anomaly, "roots"), 0));

	assert_false(place_is_used(c, topo_find_port(c->routing.topo, root)));
	assert_true(json_array_size(pauses) > 0);
	for (size_t i = 0; i < json_array_size(pauses); i++)
		assert_true(
			place_is_used(c, topo_find_port(c->routing.topo, json_string_value(json_array_get(pauses, i)))));
}

static void
papers_families_have_cases_on_every_shape(void **state)
{
	static const struct family *const papers[] = { &family_contention, &family_incast, &family_storm,
						       &family_backpressure };

	(void)state;
	for (const struct shape *shape = shapes; shape->name != NULL; shape++) {
		struct case_source source;
		struct scenario *network = load(shape, &source);

		for (uint32_t i = 0; i < CASES * 4; i++) {
			struct eval_case c;

			write_case(&c, papers[i % 4], i / 4, &source);
			assert_false(c.family->needs_paper);
			assert_int_equal(json_array_size(c.anomalies), 1);
			if (c.family == &family_backpressure)
				assert_backpressure(&c);
			case_fini(&c);
		}
		scenario_destroy(network);
	}
}

static void
times_keep_pace_with_links(void **state)
{
	static const struct {
		const char *shape;
		double stretch;
	} expected[] = { { "paper", 1 }, { "k6", 1 }, { "leaf-spine", 1 }, { "25g", 4 }, { "400g", 0.25 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		struct case_source source;
		struct scenario *network = load(shape_find(expected[i].shape), &source);
		struct eval_case c;

		assert_true(case_stretch(&source) == expected[i].stretch * SCALE);
		begin(&c, &source);
		assert_int_equal(case_bytes(&c, 1e6, 1e6), 1e6 * SCALE);
		assert_int_equal(case_time_ns(&c, 1e6, 1e6), 1e6 * SCALE * expected[i].stretch);
		case_fini(&c);
		scenario_destroy(network);
	}
}

static void
epochs_that_are_too_short_are_refused(void **state)
{
	struct case_source source = { .seed = 1, .scale = 0.02, .shape = shape_find("400g") };
	struct err err = { 0 };
	char path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/fabric.cfg", dir);
	assert_null(case_network(path, &source, &err));
	unlink(path);
	assert_non_null(strstr(err.text, "--scale 0.02 on shape 400g"));
	assert_non_null(strstr(err.text, "give 0.04 to 1"));
}

static void
imbalanced_ports_have_an_idle_equal(void **state)
{
	struct case_source source;
	struct scenario *network = load(shape_find("halving-doubling"), &source);
	const uint32_t seeds = unit_wide(3, 20, "seeds of imbalanced ports");
	uint32_t found = 0;

	(void)state;
	for (uint32_t seed = 0; seed < seeds; seed++) {
		struct eval_case c;
		json_t *ports;

		begin(&c, &source);
		place_beside(&c);
		c.routing.seed = seed;
		ports = place_imbalanced(&c);
		for (size_t p = 0; p < json_array_size(ports); p++) {
			const struct topo *topo = c.routing.topo;
			uint32_t busy = topo_find_port(topo, json_string_value(json_array_get(ports, p))), idle = 0;
			uint32_t first = topo->nodes[topo->ports[busy].node].first_port;

			/* Uplinks are the last two ports of edge and aggregation switches alike. */
			for (uint32_t up = first + 2; up < first + 4; up++)
				idle += !place_is_used(&c, up);
			assert_true(place_is_used(&c, busy));
			assert_int_equal(idle, 1);
		}
		found += json_array_size(ports) > 0;
		json_decref(ports);
		case_fini(&c);
	}
	scenario_destroy(network);
	assert_true(found > 0);
}

UNIT_TEST(eval_shapes)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found),
		cmocka_unit_test(sends_are_the_schedules),
		cmocka_unit_test(papers_ranks_are_where_they_were),
		cmocka_unit_test(ranks_are_grouped_on_every_shape),
		cmocka_unit_test(papers_families_have_cases_on_every_shape),
		cmocka_unit_test(times_keep_pace_with_links),
		cmocka_unit_test(epochs_that_are_too_short_are_refused),
		cmocka_unit_test(imbalanced_ports_have_an_idle_equal),
	};

	return cmocka_run_group_tests(tests, make_dir, delete_dir);
}

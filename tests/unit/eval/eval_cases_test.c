/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases of the evaluation: the same from the same seed, and what they say of themselves is so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "eval/case.h"
#include "eval/place.h"
#include "scenario/scenario.h"
#include "tests/unit/unit.h"

#define CASES 12 /* of each family */

static char dir[UNIT_PATH];
static struct case_source source = { .seed = 1, .scale = 1, .picks = CASE_PICKS_ALL };
static struct scenario *network;

static int
make_network(void **state)
{
	struct err err = { 0 };
	char path[sizeof(dir) + 16];

	(void)state;
	assert_true(unit_dir(dir, "eval"));
	snprintf(path, sizeof(path), "%s/fabric.cfg", dir);
	source.shape = shape_find("paper");
	network = case_network(path, &source, &err);
	source.network = network;
	unlink(path);
	return network != NULL ? 0 : -1;
}

static int
forget_network(void **state)
{
	(void)state;
	scenario_destroy(network);
	return rmdir(dir);
}

/* The first attempt that chance has a case for. */
static void
make(struct eval_case *c, const struct family *family, uint32_t index, const struct case_source *from)
{
	int ret = -1;

	for (uint32_t attempt = 0; ret != 0; attempt++) {
		assert_true(attempt < 5);
		assert_int_equal(case_init(c, family, index, attempt, from), 0);
		ret = family->make(c);
		if (ret != 0)
			case_fini(c);
	}
}

/* A file of the case, read and deleted. The caller's to free. */
static char *
take(const char *name)
{
	char path[96], *text = calloc(1, 65536);
	FILE *file;

	assert_non_null(text);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, 65535, file) > 0);
	fclose(file);
	unlink(path);
	return text;
}

/* Both files of a case as one text. The caller's to free. */
static char *
written(const struct family *family, uint32_t index, uint64_t seed)
{
	const struct case_source from = {
		.seed = seed, .scale = 0.05, .picks = CASE_PICKS_ALL, .shape = source.shape, .network = network
	};
	struct err err = { 0 };
	struct eval_case c;
	char *text, *meaning;

	make(&c, family, index, &from);
	if (case_write(&c, dir, &err) < 0)
		fail_msg("%s %u: %s", family->name, index, err.text);
	case_fini(&c);
	text = take("case.cfg");
	meaning = take("case.json");
	strncat(text, meaning, 65535 - strlen(text));
	free(meaning);
	return text;
}

static void
one_seed_makes_one_case(void **state)
{
	(void)state;
	for (size_t f = 0; families[f] != NULL; f++) {
		char *first = written(families[f], 3, 7), *again = written(families[f], 3, 7);
		char *other = written(families[f], 3, 8), *next = written(families[f], 4, 7);

		assert_string_equal(first, again);
		assert_string_not_equal(first, other);
		assert_string_not_equal(first, next);
		free(first);
		free(again);
		free(other);
		free(next);
	}
}

static void
scale_multiplies_bytes_and_times(void **state)
{
	struct case_source tenth = source;
	struct eval_case whole, part;

	(void)state;
	tenth.scale = 0.1;
	for (uint32_t i = 0; i < CASES; i++) {
		make(&whole, &family_contention, i, &source);
		make(&part, &family_contention, i, &tenth);
		assert_int_equal(whole.nflows, part.nflows);
		for (uint32_t f = 0; f < whole.nflows; f++) {
			assert_int_equal(whole.flows[f].src, part.flows[f].src);
			assert_in_range(whole.flows[f].bytes, 20000000, 1000000000);
			assert_in_range(whole.flows[f].start_ns, 0, 200000000);
			assert_in_range(part.flows[f].bytes * 10, whole.flows[f].bytes - 10, whole.flows[f].bytes);
			assert_true(part.flows[f].start_ns * 10 <= whole.flows[f].start_ns &&
				    whole.flows[f].start_ns < part.flows[f].start_ns * 10 + 10);
		}
		case_fini(&whole);
		case_fini(&part);
	}
}

static void
flow_path(const struct eval_case *c, uint32_t flow, struct route_path *path)
{
	place_path(c, c->flows[flow].src, c->flows[flow].dst, c->flows[flow].sport, path);
}

static bool
touches_collective(const struct eval_case *c, const struct route_path *path)
{
	for (uint32_t hop = 0; hop < path->hops; hop++)
		if (place_is_used(c, path->ports[hop]))
			return true;
	return false;
}

static const json_t *
anomaly(const struct eval_case *c, uint32_t i, const char *kind)
{
	const json_t *entry = json_array_get(c->anomalies, i);

	assert_non_null(entry);
	assert_string_equal(json_string_value(json_object_get(entry, "kind")), kind);
	return entry;
}

static uint32_t
port(const struct eval_case *c, const json_t *name)
{
	uint32_t found = topo_find_port(c->routing.topo, json_string_value(name));

	assert_int_not_equal(found, TOPO_NONE);
	return found;
}

static void
contention_crosses_the_collective(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CASES; i++) {
		struct eval_case c;
		struct route_path path;
		char name[CASE_NAME];

		make(&c, &family_contention, i, &source);
		assert_in_range(c.nflows, 1, 6);
		assert_int_equal(json_array_size(json_object_get(anomaly(&c, 0, "contention"), "flows")), c.nflows);
		for (uint32_t f = 0; f < c.nflows; f++) {
			flow_path(&c, f, &path);
			assert_true(touches_collective(&c, &path));
		}
		assert_string_equal(
			json_string_value(json_array_get(json_object_get(anomaly(&c, 0, "contention"), "flows"), 0)),
			case_flow_name(&c, &c.flows[0], name));
		case_fini(&c);
	}
}

static void
incast_goes_to_one_rank_at_once(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CASES; i++) {
		struct eval_case c;

		make(&c, &family_incast, i, &source);
		assert_in_range(c.nflows, 3, 8);
		assert_true(place_is_rank(&c, c.flows[0].dst));
		for (uint32_t f = 1; f < c.nflows; f++) {
			assert_int_equal(c.flows[f].dst, c.flows[0].dst);
			assert_int_equal(c.flows[f].start_ns, c.flows[0].start_ns);
			for (uint32_t other = 0; other < f; other++)
				assert_int_not_equal(c.flows[f].src, c.flows[other].src);
		}
		case_fini(&c);
	}
}

static void
storm_pauses_a_port_of_the_collective(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CASES; i++) {
		struct eval_case c;
		uint32_t root;

		make(&c, &family_storm, i, &source);
		root = port(&c, json_object_get(anomaly(&c, 0, "pfc-storm"), "root"));
		assert_int_equal(c.routing.topo->nodes[c.routing.topo->ports[root].node].kind, TOPO_SWITCH);
		assert_true(place_is_used(&c, c.routing.topo->ports[root].peer_port));
		assert_int_equal(c.routing.topo->ports[root].peer_port,
				 port(&c, json_object_get(anomaly(&c, 0, "pfc-storm"), "pauses")));
		case_fini(&c);
	}
}

static void
backpressure_begins_off_the_collective(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CASES; i++) {
		struct eval_case c;
		uint32_t root;

		make(&c, &family_backpressure, i, &source);
		root = port(&c, json_array_get(json_object_get(anomaly(&c, 0, "backpressure"), "roots"), 0));
		assert_false(place_is_used(&c, root));
		assert_true(json_array_size(json_object_get(anomaly(&c, 0, "backpressure"), "pauses")) > 0);
		for (uint32_t f = 0; f < c.nflows; f++) {
			struct route_path path;

			flow_path(&c, f, &path);
			assert_int_equal(path.ports[path.hops - 1], root);
			assert_false(place_is_rank(&c, c.flows[f].src));
		}
		case_fini(&c);
	}
}

/* Without picks, what comes is a case: routes as the first seed has them, and every port where two of its flows meet. */
static void
nothing_is_picked_where_nothing_is_to_be(void **state)
{
	const struct case_source in_order = { .seed = 1, .scale = 1, .shape = source.shape, .network = network };
	uint32_t colliding = 0, several = 0;

	(void)state;
	for (uint32_t i = 0; i < CASES; i++) {
		struct eval_case c;

		assert_int_equal(case_init(&c, &family_clean, i, 0, &in_order), 0);
		colliding += place_collides(&c);
		case_fini(&c);
		make(&c, &family_backpressure, i, &in_order);
		several += json_array_size(json_object_get(anomaly(&c, 0, "backpressure"), "roots")) > 1;
		case_fini(&c);
	}
	assert_true(colliding > 0 && several > 0);
}

/* The ports of a list follow each other: each leads to the next one's node. */
static void
assert_circle(const struct eval_case *c, const json_t *ports)
{
	size_t count = json_array_size(ports);

	for (size_t i = 0; i < count; i++)
		assert_int_equal(c->routing.topo->ports[port(c, json_array_get(ports, i))].peer,
				 c->routing.topo->ports[port(c, json_array_get(ports, (i + 1) % count))].node);
}

static void
loops_and_deadlocks_are_circles(void **state)
{
	uint32_t out_of_loop = 0;

	(void)state;
	for (uint32_t i = 0; i < CASES; i++) {
		struct eval_case c;

		make(&c, &family_loop, i, &source);
		assert_circle(&c, json_object_get(anomaly(&c, 0, "loop"), "ports"));
		assert_true(
			place_is_used(&c, port(&c, json_array_get(json_object_get(anomaly(&c, 0, "loop"), "ports"), 0))));
		case_fini(&c);
		make(&c, &family_deadlock, i, &source);
		assert_circle(&c, json_object_get(anomaly(&c, 0, "deadlock"), "ports"));
		out_of_loop += json_object_get(anomaly(&c, 0, "deadlock"), "root") != NULL;
		case_fini(&c);
	}
	assert_in_range(out_of_loop, 1, CASES - 1);
}

static void
imbalance_leaves_an_equal_port_idle(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CASES; i++) {
		struct eval_case c;
		const json_t *ports;

		make(&c, &family_imbalance, i, &source);
		ports = json_object_get(anomaly(&c, 0, "imbalance"), "ports");
		for (size_t p = 0; p < json_array_size(ports); p++) {
			const struct topo *topo = c.routing.topo;
			uint32_t busy = port(&c, json_array_get(ports, p)), node = topo->ports[busy].node, idle = 0;

			/* Uplinks are the last two ports of edge and aggregation switches alike. */
			for (uint32_t up = topo->nodes[node].first_port + 2; up < topo->nodes[node].first_port + 4; up++)
				idle += !place_is_used(&c, up);
			assert_true(place_is_used(&c, busy));
			assert_int_equal(idle, 1);
		}
		case_fini(&c);
	}
}

static void
clean_shares_nothing(void **state)
{
	uint32_t flows = 0;

	(void)state;
	for (uint32_t i = 0; i < CASES; i++) {
		struct eval_case c;

		make(&c, &family_clean, i, &source);
		assert_int_equal(json_array_size(c.anomalies), 0);
		for (uint32_t f = 0; f < c.nflows; f++) {
			struct route_path path, other;

			flow_path(&c, f, &path);
			assert_false(touches_collective(&c, &path));
			for (uint32_t g = 0; g < f; g++) {
				flow_path(&c, g, &other);
				assert_false(place_shares(&path, &other));
			}
		}
		flows += c.nflows;
		case_fini(&c);
	}
	assert_true(flows > 0);
}

static void
mixed_holds_two_kinds(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < CASES; i++) {
		struct eval_case c;

		make(&c, &family_mixed, i, &source);
		assert_int_equal(json_array_size(c.anomalies), 2);
		assert_string_not_equal(json_string_value(json_object_get(json_array_get(c.anomalies, 0), "kind")),
					json_string_value(json_object_get(json_array_get(c.anomalies, 1), "kind")));
		case_fini(&c);
	}
}

UNIT_TEST(eval_cases)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_seed_makes_one_case),
		cmocka_unit_test(scale_multiplies_bytes_and_times),
		cmocka_unit_test(contention_crosses_the_collective),
		cmocka_unit_test(incast_goes_to_one_rank_at_once),
		cmocka_unit_test(storm_pauses_a_port_of_the_collective),
		cmocka_unit_test(backpressure_begins_off_the_collective),
		cmocka_unit_test(nothing_is_picked_where_nothing_is_to_be),
		cmocka_unit_test(loops_and_deadlocks_are_circles),
		cmocka_unit_test(imbalance_leaves_an_equal_port_idle),
		cmocka_unit_test(clean_shares_nothing),
		cmocka_unit_test(mixed_holds_two_kinds),
	};

	return cmocka_run_group_tests(tests, make_network, forget_network);
}

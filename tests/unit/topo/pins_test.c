/* SPDX-License-Identifier: BSD-3-Clause */
/* Pinned paths: which flows each of them fits, and which are refused. */
#include "tests/unit/alloc.h"
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"
#include "topo/pins.h"

/* h0 is at both leaves, h1 at one; hosts are nodes 0 and 1. */
#define NETWORK                                                                                                            \
	"topology = { kind = \"explicit\"; hosts = [ \"h0\", \"h1\" ]; switches = [ \"a\", \"b\" ]; rate = \"10Gbps\"; "   \
	"delay = \"1us\"; links = ( \"h0 a\", \"h0 b\", \"h1 b\", \"a b\" ); };\n"
#define A_H0 "a:1"
#define A_B "a:2"
#define B_H0 "b:1"
#define B_H1 "b:2"
#define B_A "b:3"

struct pinned {
	struct cfg *cfg;
	struct topo *topo;
	struct route_pins *pins;
};

static int
pin(struct pinned *p, const char *paths, struct err *err)
{
	char text[4096];
	int rc;

	*p = (struct pinned){ 0 };
	snprintf(text, sizeof(text), NETWORK "paths = (\n%s );\n", paths);
	p->cfg = cfg_load_string(text, "t.cfg", err);
	assert_non_null(p->cfg);
	rc = topo_build(p->cfg, &p->topo, err);
	return rc == 0 ? route_pins_create(p->cfg, p->topo, &p->pins, err) : rc;
}

static void
unpin(struct pinned *p)
{
	route_pins_destroy(p->pins);
	topo_destroy(p->topo);
	cfg_destroy(p->cfg);
}

static void
assert_refused(const char *paths, const char *message)
{
	struct err err = { "" };
	struct pinned p;

	assert_int_equal(pin(&p, paths, &err), -EINVAL);
	if (strstr(err.text, message) == NULL)
		fail_msg("\"%s\", not \"%s\"", err.text, message);
	assert_null(p.pins);
	unpin(&p);
}

static void
wrong_pins_are_refused(void **state)
{
	char many[2048] = "{ src = \"h0\"; dst = \"h1\"; data = [ ";

	(void)state;
	for (size_t i = strlen(many), hops = 0; hops < 80; hops++)
		i += (size_t)snprintf(many + i, sizeof(many) - i, "%s\"" A_B "\"", hops != 0 ? ", " : "");
	strcat(many, " ]; }");
	assert_refused(many, "80 hops; at most");
	assert_refused("{ src = \"a\"; dst = \"h1\"; data = [ \"" B_H1 "\" ]; }", "\"a\" is no host");
	assert_refused("{ src = \"h0\"; dst = \"b\"; data = [ \"" B_H1 "\" ]; }", "\"b\" is no host");
	assert_refused("{ src = \"h0\"; dst = \"nobody\"; }", "\"nobody\" is no host");
	assert_refused("{ src = \"h0\"; dst = \"h0\"; }", "is the source as well");
	assert_refused("{ src = \"h0\"; dst = \"h1\"; data = [ \"b:9\" ]; }", "is no switch:port");
	assert_refused("{ src = \"h0\"; dst = \"h1\"; data = [ \"h0:1\" ]; }", "is no switch:port");
	assert_refused("{ src = \"h0\"; dst = \"h1\"; data = [ \"" A_B "\" ]; }",
		       "leads to b; the last port must lead to h1");
	assert_refused("{ src = \"h0\"; dst = \"h1\"; ack = [ \"" B_A "\" ]; }",
		       "leads to a; the last port must lead to h0");
	assert_refused("{ src = \"h0\"; dst = \"h1\"; detour = [ \"" B_A "\" ]; }", "without rehash it is never taken");
	assert_refused("{ src = \"h0\"; dst = \"h1\"; rehash = true; detour = [ \"h0:1\" ]; }", "is no switch:port");
	assert_refused("{ src = \"h0\"; dst = \"h1\"; rehash = true; detour = [ \"b:9\" ]; }", "\"b:9\" is no switch:port");
}

static void
a_second_pin_of_a_flow_is_refused(void **state)
{
	static const struct {
		const char *first, *second;
		bool refused;
	} cases[] = {
		{ "", "", true },
		{ "", "sport = 7;", true },
		{ "sport = 7;", "", false },
		{ "sport = 7;", "sport = 7; dport = 8;", true },
		{ "sport = 7;", "sport = 8;", false },
		{ "dport = 7;", "dport = 8;", false },
		{ "dport = 7;", "dport = 7;", true },
		{ "data = [ \"" A_B "\", \"" B_H1 "\" ];", "data = [ \"" B_H1 "\" ];", false },
		{ "data = [ \"" B_H1 "\" ];", "data = [ \"" B_H1 "\" ];", true },
		{ "data = [ \"" B_H1 "\" ];", "ack = [ \"" B_H0 "\" ];", true },
		{ "ack = [ \"" B_H0 "\" ];", "ack = [ \"" B_A "\", \"" A_H0 "\" ];", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct err err = { "" };
		struct pinned p;
		char paths[512];

		snprintf(paths, sizeof(paths), "{ src = \"h0\"; dst = \"h1\"; %s },\n{ src = \"h0\"; dst = \"h1\"; %s }",
			 cases[i].first, cases[i].second);
		assert_int_equal(pin(&p, paths, &err), cases[i].refused ? -EINVAL : 0);
		assert_int_equal(strstr(err.text, "t.cfg:4: every flow that fits is pinned already at t.cfg:3") != NULL ||
					 strstr(err.text, "is pinned already at t.cfg:") != NULL,
				 cases[i].refused);
		unpin(&p);
	}
}

static bool
never_quiet(const void *of, uint32_t src_node, uint32_t dst_node)
{
	(void)src_node;
	(void)dst_node;
	return of != NULL;
}

/* A pin fits by its ends, ports and NICs: the first that fits counts. */
static void
flows_are_pinned_by_their_ends(void **state)
{
	static const struct flow flow = { .src_node = 0, .dst_node = 1, .sport = 7, .dport = 8, .src_nic = 1 };
	static const struct {
		const char *pin;
		bool fits;
	} cases[] = {
		{ "", true },
		{ "sport = 7; dport = 8;", true },
		{ "sport = 8;", false },
		{ "dport = 7;", false },
		{ "data = [ \"" B_H1 "\" ];", true },
		{ "data = [ \"" A_B "\", \"" B_H1 "\" ];", false },
		{ "ack = [ \"" B_H0 "\" ];", true },
		{ "ack = [ \"" B_A "\", \"" A_H0 "\" ];", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct flow flows[1] = { flow };
		struct flow_table table = { .flows = flows, .count = 1 };
		struct err err = { "" };
		struct pinned p;
		char paths[256];

		snprintf(paths, sizeof(paths), "{ src = \"h0\"; dst = \"h1\"; %s }", cases[i].pin);
		assert_int_equal(pin(&p, paths, &err), 0);
		assert_int_equal(route_pins_attach(p.pins, &table, never_quiet, NULL, &err), cases[i].fits ? 0 : -EINVAL);
		assert_int_equal(strstr(err.text, "no flow of this scenario goes from h0 to h1") != NULL, !cases[i].fits);
		assert_int_equal(route_pins_attach(p.pins, &table, never_quiet, &table, &err), 0); /* it is switched off */
		assert_int_equal(route_pinned_egress(p.pins, topo_find(p.topo, "b"), 0, false) == 1, i == 4);
		assert_int_equal(route_pinned_egress(p.pins, topo_find(p.topo, "b"), 0, true) == 0, i == 6);
		assert_int_equal(route_pinned_egress(p.pins, topo_find(p.topo, "b"), 1, false), -1);
		flows[0].src_node = 1;
		flows[0].dst_node = 0;
		assert_null(route_pins_find(p.pins, &flows[0]));
		unpin(&p);
	}
	assert_null(route_pins_find(NULL, &flow));
	assert_int_equal(route_pinned_egress(NULL, 0, 0, false), -1);
	assert_int_equal(route_pin_egress(NULL, NULL, 0, false), -1);
}

static void
a_detour_is_taken_where_it_is_left(void **state)
{
	const uint8_t all[] = { 0, 1, 2 }, few[] = { 0, 2 };
	struct flow flows[] = { { .src_node = 0, .dst_node = 1 }, { .src_node = 1, .dst_node = 0, .dst_nic = 1 } };
	struct flow_table table = { .flows = flows, .count = 2 };
	const struct route_pin *found;
	struct err err = { "" };
	struct pinned p;

	(void)state;
	assert_int_equal(pin(&p,
			     "{ src = \"h0\"; dst = \"h1\"; rehash = true; detour = [ \"" B_H1 "\", \"" A_H0 "\", \"" B_A
			     "\" ]; }, { src = \"h1\"; dst = \"h0\"; data = [ \"" B_H0 "\" ]; }",
			     &err),
			 0);
	assert_int_equal(route_pins_attach(p.pins, &table, never_quiet, NULL, &err), 0);
	found = route_pin_rehash(p.pins, 0);
	assert_non_null(found);
	assert_null(route_pin_rehash(p.pins, 1));
	assert_null(route_pin_rehash(p.pins, 2));
	assert_null(route_pin_rehash(NULL, 0));
	assert_int_equal(route_pin_detour(found, p.topo, topo_find(p.topo, "b"), all, 3), 1);
	assert_int_equal(route_pin_detour(found, p.topo, topo_find(p.topo, "b"), few, 2), 2);
	assert_int_equal(route_pin_detour(found, p.topo, topo_find(p.topo, "b"), few, 1), -1);
	unpin(&p);
}

/* Of a bonded sender the message says that its own port comes before the pin's path. */
static void
unused_pins_are_refused(void **state)
{
	static const char bonded[] =
		"topology = { kind = \"explicit\"; hosts = [ \"h0\", \"h1\" ]; switches = [ \"a\", \"b\" ]; "
		"bonds = [ \"h0\" ]; rate = \"100Gbps\"; delay = \"1us\";\n"
		"links = ( \"h0 a\", \"h0 b\", \"a b\", \"a b\", \"h1 b\" ); };\n"
		"paths = ( { src = \"h0\"; dst = \"h1\"; data = [ \"b:4\" ]; } );\n";
	static const struct flow_table none;
	struct err err = { "" };
	struct pinned p = { 0 };

	(void)state;
	assert_int_equal(pin(&p, "{ src = \"h0\"; dst = \"h1\"; data = [ \"" B_H1 "\" ]; }", &err), 0);
	assert_int_equal(route_pins_attach(p.pins, &none, never_quiet, NULL, &err), -EINVAL);
	assert_non_null(strstr(err.text, "no flow of this scenario goes from h0 to h1 with these ports"));
	assert_null(strstr(err.text, "bonded"));
	unpin(&p);
	p = (struct pinned){ .cfg = cfg_load_string(bonded, "t.cfg", &err) };
	assert_non_null(p.cfg);
	err.text[0] = '\0';
	if (topo_build(p.cfg, &p.topo, &err) != 0 || route_pins_create(p.cfg, p.topo, &p.pins, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(route_pins_attach(p.pins, &none, never_quiet, NULL, &err), -EINVAL);
	assert_non_null(
		strstr(err.text, "with these ports, by the leaf where the path begins: a bonded sender's own port"));
	unpin(&p);
}

/* A flow of a NIC that its host has not fits no pin. */
static void
a_nic_that_there_is_not_fits_no_pin(void **state)
{
	struct err err = { "" };
	struct pinned p;
	struct flow flow = { 0 };

	(void)state;
	assert_int_equal(pin(&p, "{ src = \"h0\"; dst = \"h1\"; data = [ \"" A_B "\", \"" B_H1 "\" ]; }", &err), 0);
	flow.src_node = topo_find(p.topo, "h0");
	flow.dst_node = topo_find(p.topo, "h1");
	assert_non_null(route_pins_find(p.pins, &flow));
	flow.src_nic = p.topo->nodes[flow.src_node].nports;
	assert_null(route_pins_find(p.pins, &flow));
	unpin(&p);
}

static void
no_memory_is_an_error(void **state)
{
	struct flow flows[1] = { { .src_node = 0, .dst_node = 1 } };
	struct flow_table table = { .flows = flows, .count = 1 };
	struct err err = { "" };
	struct pinned p;
	uint32_t refused = 0;

	(void)state;
	assert_int_equal(pin(&p, "{ src = \"h0\"; dst = \"h1\"; data = [ \"" B_H1 "\" ]; rehash = true; }", &err), 0);
	FOR_EACH_REFUSED(nth)
	{
		struct route_pins *pins = NULL;
		int rc = route_pins_create(p.cfg, p.topo, &pins, &err);

		if (rc == 0)
			rc = route_pins_attach(pins, &table, never_quiet, &table, &err);
		if (!alloc_was_refused()) {
			assert_int_equal(rc, 0);
			route_pins_destroy(pins);
			break;
		}
		assert_int_equal(rc, -ENOMEM);
		route_pins_destroy(pins);
		refused++;
	}
	assert_true(refused >= 5);
	unpin(&p);
}

UNIT_TEST(pins)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_pins_are_refused),
		cmocka_unit_test(a_second_pin_of_a_flow_is_refused),
		cmocka_unit_test(flows_are_pinned_by_their_ends),
		cmocka_unit_test(a_detour_is_taken_where_it_is_left),
		cmocka_unit_test(no_memory_is_an_error),
		cmocka_unit_test(unused_pins_are_refused),
		cmocka_unit_test(a_nic_that_there_is_not_fits_no_pin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

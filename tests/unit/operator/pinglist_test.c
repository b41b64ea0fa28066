/* SPDX-License-Identifier: BSD-3-Clause */
/* Eq. 1 against its other derivations, and whom RNICs probe in networks of several kinds. */
#include <math.h>
#include <string.h>

#include "common/prng.h"
#include "common/wire/probe.h"
#include "operator/controller/pinglist.h"
#include "rxe-hosts/device/verbs/label.h"
#include "tests/unit/topo/topo_rig.h"
#include "tests/unit/unit.h"

/* ---- Eq. 1 ---- */

/* The coupon collector's recurrence: no term is negative, nothing cancels. @return P(some path is left out) */
static double
miss_by_recurrence(uint32_t paths, uint64_t tuples)
{
	double *used = calloc((size_t)paths + 1, sizeof(*used)), miss;

	used[0] = 1;
	for (uint64_t t = 0; t < tuples; t++) {
		for (uint32_t j = paths; j > 0; j--)
			used[j] = used[j] * j / paths + used[j - 1] * (paths - j + 1) / paths;
		used[0] = 0;
	}
	miss = 0;
	for (uint32_t j = 0; j < paths; j++)
		miss += used[j];
	free(used);
	return miss;
}

static void
misses_are_those_of_the_recurrence(void **state)
{
	static const uint32_t paths[] = { 1, 2, 3, 4, 7, 16, 33, 64, 200 };

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		uint32_t n = paths[i];

		for (uint64_t k = n; k < 12 * (uint64_t)n; k += 1 + n / 3) {
			double exact = miss_by_recurrence(n, k), got = coverage_miss(n, k);

			if (fabs(got - exact) > 3e-7 || (exact < 0.1 && fabs(got - exact) > 1e-9 * exact + 1e-15))
				fail_msg("%u paths, %llu tuples: %.12g, by recurrence %.12g", n, (unsigned long long)k, got,
					 exact);
		}
		assert_true(coverage_miss(n, n - 1) == 1);
	}
}

static void
tuples_are_the_fewest_that_cover(void **state)
{
	static const struct {
		uint32_t paths;
		double covered;
		uint64_t tuples;
	} known[] = { { 1, 0.99, 1 }, { 2, 0.99, 8 }, { 2, 0.5, 2 }, { 4, 0.99, 21 } };

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_int_equal(coverage_tuples(known[i].paths, known[i].covered), known[i].tuples);
	for (uint32_t n = 2; n <= 128; n++) {
		uint64_t k = coverage_tuples(n, 0.99);

		assert_true(miss_by_recurrence(n, k) <= 0.01 * (1 + 1e-9));
		assert_true(k == n || miss_by_recurrence(n, k - 1) > 0.01 * (1 - 1e-9));
	}
	/* For many paths e^(-N e^(-k/N)) = P (Erdos, Renyi 1961). */
	for (uint32_t n = 1024; n <= COVERAGE_MAX_PATHS; n *= 4) {
		double limit = n * (log(n) - log(-log(0.99)));

		assert_true(fabs((double)coverage_tuples(n, 0.99) / limit - 1) < 0.001);
	}
}

static void
monte_carlo_covers_as_often_as_promised(void **state)
{
	static const uint32_t paths[] = { 2, 4, 16, 64 };
	enum { TRIALS = 20000 };
	struct prng prng;

	(void)state;
	prng_init(&prng, 1, 1);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		uint64_t k = coverage_tuples(paths[i], 0.99);
		uint32_t missed = 0;
		double expected = coverage_miss(paths[i], k) * TRIALS;

		for (uint32_t trial = 0; trial < TRIALS; trial++) {
			uint64_t used = 0;

			for (uint64_t t = 0; t < k; t++)
				used |= UINT64_C(1) << prng_below(&prng, paths[i]);
			missed += used != (paths[i] == 64 ? UINT64_MAX : (UINT64_C(1) << paths[i]) - 1);
		}
		assert_true(fabs(missed - expected) < 4 * sqrt(expected) + 1);
	}
}

/* ---- pinglists ---- */

struct net {
	struct cfg *cfg;
	struct topo *topo;
	struct route_table *table;
	struct rnic_map map;
	struct pinglists lists;
};

static void
net_init(struct net *net, const char *text)
{
	struct err err = { "" };

	net->topo = make_topo(text, &net->cfg);
	net->table = route_table_create(net->topo, ROUTE_SHORTEST);
	if (rnic_map_init(&net->map, net->topo, net->table, PINGLIST_COVERED, &err) != 0)
		fail_msg("%s", err.text);
	net->lists = (struct pinglists){ .map = &net->map, .times = pingmesh_times(PINGMESH_PPM), .seed = 7 };
}

static void
net_fini(struct net *net)
{
	rnic_map_fini(&net->map);
	route_table_destroy(net->table);
	topo_destroy(net->topo);
	cfg_destroy(net->cfg);
}

#define LEAF_SPINE                                                                                                         \
	"topology = { kind = \"leaf-spine\"; leaves = 3; spines = 4; hosts_per_leaf = 5; rate = \"100Gbps\"; delay = "     \
	"\"1us\"; };\n"
#define FAT_TREE "topology = { kind = \"fat-tree\"; k = 4; rate = \"100Gbps\"; delay = \"1us\"; };\n"
/* Two NICs of a and b at one ToR; c has one there and three at the other, with d. */
#define SEVERAL_NICS                                                                                                       \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"t0\", \"t1\", \"s0\", "     \
	"\"s1\" ]; hosts = [ \"a\", \"b\", \"c\", \"d\" ]; links = ( \"a t0\", \"a t0\", \"b t0\", \"b t0\", \"c t0\", "   \
	"\"c t1\", \"c t1\", \"c t1\", \"d t1\", \"t0 s0\", \"t0 s1\", \"t0 s1\", \"t1 s0\", \"t1 s1\" ); };\n"
#define ONE_HOST_A_TOR                                                                                                     \
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"t0\", \"t1\", \"s0\" ]; "   \
	"hosts = [ \"a\" ]; links = ( \"a t0\", \"a t0\", \"a t1\", \"t0 s0\", \"t1 s0\" ); };\n"

static uint32_t
rnic_of(const struct net *net, const char *host, uint16_t nic)
{
	uint32_t rnic = rnic_map_find(&net->map, topo_nic_ip(topo_find(net->topo, host), nic));

	assert_int_not_equal(rnic, TOPO_NONE);
	return rnic;
}

/* All that holds in any network, at any time. */
static void
check_lists(const struct net *net, uint64_t time_ps)
{
	for (uint32_t r = 0; r < net->map.nrnics; r++) {
		const struct rnic *self = &net->map.rnics[r];
		uint32_t mesh = pinglist_mesh_count(&net->lists, r), expected = 0;
		uint64_t seen[4] = { 0 };

		for (uint32_t o = 0; o < net->map.nrnics; o++)
			expected += net->map.rnics[o].tor == self->tor && net->map.rnics[o].host != self->host;
		assert_int_equal(mesh, expected);
		assert_true(net->map.nrnics <= 256);
		for (uint32_t i = 0; i < pinglist_count(&net->lists, r); i++) {
			struct pinglist_entry entry = pinglist_at(&net->lists, r, i, time_ps);
			const struct rnic *target = &net->map.rnics[entry.target];

			assert_int_equal(entry.kind, i < mesh ? REC_PROBE_TOR_MESH : REC_PROBE_INTER_TOR);
			assert_true(entry.sport >= PINGLIST_FIRST_PORT);
			assert_int_not_equal(target->host, self->host);
			assert_int_equal(target->tor == self->tor, i < mesh);
			if (i >= mesh)
				continue;
			assert_int_equal(entry.interval_ps, mesh * 100 * PS_PER_MS); /* of each; 10 a second of all */
			assert_int_equal(seen[entry.target / 64] >> entry.target % 64 & 1, 0);
			seen[entry.target / 64] |= UINT64_C(1) << entry.target % 64;
		}
	}
}

/* A probe and its ACKs for each entry's interval, and for each probe of service tracing. */
static void
load_is_that_of_all_entries(void **state)
{
	struct net net;

	(void)state;
	net_init(&net, LEAF_SPINE);
	for (uint32_t r = 0; r < net.map.nrnics; r++) {
		double expected_bps = 0, service_bps = 100 * 3 * 142 * 8; /* every 10 ms */

		for (uint32_t i = 0; i < pinglist_count(&net.lists, r); i++)
			expected_bps += 3 * 142 * 8 * 1e12 / (double)pinglist_at(&net.lists, r, i, 0).interval_ps;
		assert_true(fabs(pinglist_load_bps(&net.lists, r, false) - expected_bps) < 1e-6 * expected_bps);
		assert_true(fabs(pinglist_load_bps(&net.lists, r, true) - expected_bps - service_bps) <
			    1e-6 * expected_bps);
	}
	net_fini(&net);
}

/* The same lists, by ports that the first few hundred QPs of soft-RoCE have. */
static void
ports_of_soft_roce_cost_few_qps(void **state)
{
	static bool costs_little[UINT16_MAX + 1];
	struct net net;
	uint32_t drawn = 0;

	(void)state;
	for (uint32_t qpn = 0; qpn < PINGLIST_RXE_FIRST_QPN + PINGLIST_RXE_QPNS; qpn++)
		costs_little[verbs_rxe_sport(qpn)] = true;
	net_init(&net, LEAF_SPINE);
	net.lists.rxe = true;
	check_lists(&net, 0);
	for (uint32_t r = 0; r < net.map.nrnics; r++)
		for (uint32_t i = 0; i < pinglist_count(&net.lists, r); i++, drawn++)
			assert_true(costs_little[pinglist_at(&net.lists, r, i, 0).sport]);
	assert_true(drawn > 0);
	net_fini(&net);
}

static void
every_tor_has_as_many_tuples_as_eq_1(void **state)
{
	struct net net;

	(void)state;
	net_init(&net, LEAF_SPINE);
	assert_int_equal(net.map.ntors, 3);
	for (uint32_t t = 0; t < 3; t++) {
		uint32_t inter = 0;

		assert_int_equal(net.map.tors[t].nreaches, 1);
		assert_int_equal(net.map.tors[t].reaches[0].paths, 4);
		assert_int_equal(net.map.tors[t].reaches[0].count, 2);
		assert_int_equal(net.map.tors[t].tuples, 21);
		for (uint32_t i = 0; i < 5; i++)
			inter += pinglist_count(&net.lists, 5 * t + i) - pinglist_mesh_count(&net.lists, 5 * t + i);
		assert_int_equal(inter, 21);
	}
	check_lists(&net, 0);
	assert_true(net.lists.times.inter_tor_ps < PS_PER_S / 10); /* each covered link: more than 10 a second */
	net_fini(&net);

	net_init(&net, FAT_TREE); /* the other edge of the pod by 2 ways, edges of other pods by 4 */
	for (uint32_t t = 0; t < net.map.ntors; t++) {
		assert_int_equal(net.map.tors[t].nreaches, 2);
		assert_int_equal(net.map.tors[t].reaches[0].paths, 4);
		assert_int_equal(net.map.tors[t].reaches[0].count, 6);
		assert_int_equal(net.map.tors[t].reaches[1].paths, 2);
		assert_int_equal(net.map.tors[t].reaches[1].count, 1);
		assert_int_equal(net.map.tors[t].tuples, 21 + 8);
	}
	check_lists(&net, 0);
	net_fini(&net);
}

/* Tuples as drawn, and paths as the fabric's own ECMP hashes them: all links above ToRs are covered in 99 % of draws. */
static void
links_above_tors_are_covered(void **state)
{
	enum { DRAWS = 300 };
	struct net net;
	uint32_t missed = 0;

	(void)state;
	net_init(&net, LEAF_SPINE);
	for (uint32_t draw = 0; draw < DRAWS; draw++) {
		struct routing routing = { .topo = net.topo, .table = net.table, .seed = 77 };
		uint32_t used[3] = { 0 };

		net.lists.seed = draw;
		for (uint32_t r = 0; r < net.map.nrnics; r++) {
			for (uint32_t i = pinglist_mesh_count(&net.lists, r); i < pinglist_count(&net.lists, r); i++) {
				struct pinglist_entry entry = pinglist_at(&net.lists, r, i, 0);
				const struct rnic *from = &net.map.rnics[r], *to = &net.map.rnics[entry.target];
				struct flow flow = { .src_node = from->host,
						     .dst_node = to->host,
						     .src_ip = from->ip,
						     .dst_ip = to->ip,
						     .sport = entry.sport,
						     .dport = 4791 };
				struct route_choice choice;

				assert_int_equal(route_choose(&routing, from->tor, &flow, false, &choice), 0);
				used[r / 5] |= 1u << choice.port;
			}
		}
		for (uint32_t t = 0; t < 3; t++)
			missed += __builtin_popcount(used[t]) != 4;
	}
	assert_true(missed <= 9 + 4 * 3); /* of 900, 1 % are to be expected: within 4 standard deviations */
	net_fini(&net);
}

static void
a_fifth_of_tuples_is_new_each_hour(void **state)
{
	struct net net;
	uint64_t hour_ps;

	(void)state;
	net_init(&net, FAT_TREE);
	hour_ps = net.lists.times.rotate_ps;
	assert_int_equal(hour_ps, 3600 * PS_PER_S);
	for (uint64_t hour = 0; hour < 11; hour++) {
		uint32_t all = 0, changed = 0, since = 0;

		check_lists(&net, hour * hour_ps);
		for (uint32_t r = 0; r < net.map.nrnics; r++) {
			for (uint32_t i = 0; i < pinglist_count(&net.lists, r); i++) {
				struct pinglist_entry before = pinglist_at(&net.lists, r, i, (hour + 1) * hour_ps - 1);
				struct pinglist_entry after = pinglist_at(&net.lists, r, i, (hour + 1) * hour_ps);
				struct pinglist_entry later = pinglist_at(&net.lists, r, i, (hour + 5) * hour_ps);
				bool mesh = after.kind == REC_PROBE_TOR_MESH;

				all += !mesh;
				changed += before.target != after.target || before.sport != after.sport;
				since += before.sport != later.sport || before.target != later.target;
				assert_true(!mesh || before.sport == after.sport);
			}
		}
		assert_true(changed >= all / 6 && changed <= all / 4);
		assert_int_equal(since, all); /* after five hours all are */
	}
	net_fini(&net);
}

/* Each of a host's RNICs at another ToR: they probe each other, and with two of them other hosts as well. */
static void
rnics_of_a_host_probe_each_other_on_rails(void **state)
{
	struct net net;

	(void)state;
	for (uint32_t nics = 2; nics <= 4; nics++) {
		char text[200];
		uint32_t rails = 0, others = 0;

		snprintf(text, sizeof(text),
			 "topology = { kind = \"rail\"; hosts = 6; nics = %u; hosts_per_group = 3; spines = 4; rate = "
			 "\"100Gbps\"; delay = \"1us\"; };\n",
			 nics);
		net_init(&net, text);
		net.lists.rails = true;
		for (uint32_t r = 0; r < net.map.nrnics; r++) {
			const struct rnic *self = &net.map.rnics[r];
			uint32_t mesh = pinglist_mesh_count(&net.lists, r);

			for (uint32_t i = mesh; i < pinglist_count(&net.lists, r); i++) {
				struct pinglist_entry entry = pinglist_at(&net.lists, r, i, 0);
				const struct rnic *target = &net.map.rnics[entry.target];
				bool rail = entry.kind == REC_PROBE_RAIL;

				assert_int_equal(target->host == self->host, rail);
				assert_int_not_equal(target->tor, self->tor);
				assert_int_equal(entry.interval_ps, net.lists.times.inter_tor_ps);
				rails += rail;
				others += !rail;
			}
		}
		assert_int_equal(rails, 21 * net.map.ntors); /* of Eq. 1, each ToR */
		assert_int_equal(others, nics == 2 ? rails : 0);
		net_fini(&net);
	}
}

static void
rnics_of_one_host_do_not_vouch_for_each_other(void **state)
{
	struct net net;

	(void)state;
	net_init(&net, SEVERAL_NICS);
	assert_int_equal(net.map.nrnics, 9);
	assert_int_equal(net.map.ntors, 2);
	assert_int_equal(net.map.tors[0].reaches[0].paths, 3); /* parallel cables count each */
	assert_int_equal(net.map.tors[1].reaches[0].paths, 3);
	assert_int_equal(pinglist_mesh_count(&net.lists, rnic_of(&net, "a", 0)), 3); /* b's two, and c's */
	assert_int_equal(pinglist_mesh_count(&net.lists, rnic_of(&net, "c", 0)), 4);
	assert_int_equal(pinglist_mesh_count(&net.lists, rnic_of(&net, "c", 2)), 1); /* d's alone */
	assert_int_equal(pinglist_mesh_count(&net.lists, rnic_of(&net, "d", 0)), 3);
	check_lists(&net, 0);
	net_fini(&net);

	net_init(&net, ONE_HOST_A_TOR); /* nobody else is there */
	for (uint32_t r = 0; r < net.map.nrnics; r++) {
		assert_int_equal(pinglist_mesh_count(&net.lists, r), 0);
		for (uint32_t i = 0; i < pinglist_count(&net.lists, r); i++)
			assert_int_equal(pinglist_at(&net.lists, r, i, 0).target, TOPO_NONE);
	}
	net_fini(&net);
}

UNIT_TEST(pinglist)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(misses_are_those_of_the_recurrence),
		cmocka_unit_test(tuples_are_the_fewest_that_cover),
		cmocka_unit_test(monte_carlo_covers_as_often_as_promised),
		cmocka_unit_test(load_is_that_of_all_entries),
		cmocka_unit_test(ports_of_soft_roce_cost_few_qps),
		cmocka_unit_test(every_tor_has_as_many_tuples_as_eq_1),
		cmocka_unit_test(links_above_tors_are_covered),
		cmocka_unit_test(a_fifth_of_tuples_is_new_each_hour),
		cmocka_unit_test(rnics_of_a_host_probe_each_other_on_rails),
		cmocka_unit_test(rnics_of_one_host_do_not_vouch_for_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

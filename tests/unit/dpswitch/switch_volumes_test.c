/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FlowPulse's monitors in a fabric's switches: who monitors what, what is counted and reported, and what routes make of
 * demand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define US PS_PER_US
#define LEAVES 4
#define PACKETS 1000
#define BYTES 1000

/* Leaf i has hosts h(2i) and h(2i+1) on its ports 0 and 1, spine k on port 2 + k; a spine has leaf i on port i. */
static const char clos[] = "topology = { kind = \"leaf-spine\"; leaves = 4; spines = 4; hosts_per_leaf = 2; rate = "
			   "\"100Gbps\"; delay = \"1us\"; };";

struct monitored {
	struct frig rig;
	struct tiers tiers;
	struct volumes_params params;
	struct volumes_setup setup;
	struct volumes_demand demand[FRIG_MAX_FLOWS];
};

/* Every host sends to those of the same place at the next leaf and the one after: two senders a leaf, declared. */
static void
init(struct monitored *m)
{
	*m = (struct monitored){ .params = { .prediction = REC_PREDICTION_ANALYTICAL,
					     .threshold = 0.4,
					     .false_alarms = 1e-4,
					     .tolerance = 0.5,
					     .learn = 1,
					     .senders = 8,
					     .grace_ps = 10 * US,
					     .idle_ps = 1000 * US,
					     .export = VOLUMES_EXPORT_ALARMS } };
	frig_init(&m->rig, clos);
	assert_int_equal(tiers_init(&m->tiers, m->rig.topo), 0);
	m->setup = (struct volumes_setup){ .params = &m->params, .tiers = &m->tiers, .demand = m->demand };
	m->rig.config.volumes = &m->setup;
	m->rig.config.balance.ops = balance_kinds[BALANCE_RANDOM];
	m->rig.setup.all.params.lossy_queue_bytes = 10000000;
	m->rig.setup.all.pfc.headroom_bytes = 100000;
	for (int i = 0; i < 2 * LEAVES; i++)
		for (int next = 2; next <= 4; next += 2) {
			char src[16], dst[16];
			const struct flow *flow;

			snprintf(src, sizeof(src), "h%d", i);
			snprintf(dst, sizeof(dst), "h%d", (i + next) % (2 * LEAVES));
			flow = &m->rig.flows[frig_flow(&m->rig, src, dst, 3)];
			m->demand[m->setup.ndemand++] =
				(struct volumes_demand){ m->rig.topo->nodes[flow->src_node].first_port,
							 m->rig.topo->nodes[flow->dst_node].first_port, PACKETS * BYTES };
		}
}

static void
start(struct monitored *m)
{
	if (frig_start(&m->rig) < 0)
		fail_msg("%s", m->rig.err.text);
}

/* All flows send, as one iteration. @param tag  0: none of them is measured */
static void
send_all(struct monitored *m, uint64_t at_ps, uint8_t tag)
{
	for (uint32_t i = 0; i < m->setup.ndemand; i++) {
		struct pkt p = {
			.flow = i, .tag = tag, .wire_bytes = BYTES, .type = PKT_DATA, .prio = 3, .ttl = PKT_TTL_INIT
		};

		for (uint32_t k = 0; k < PACKETS; k++) {
			p.psn = k;
			frig_send_pkt(&m->rig, at_ps, &p);
		}
	}
}

static void
stop(struct monitored *m)
{
	tiers_fini(&m->tiers);
	frig_stop(&m->rig);
}

static void
end_all(struct monitored *m, uint64_t now_ps)
{
	for (uint32_t i = 0; i < m->rig.topo->nnodes; i++)
		if (m->rig.switches[i] != NULL && m->rig.switches[i]->volumes != NULL)
			switch_volumes_end(m->rig.switches[i], now_ps);
}

static void
leaves_monitor_what_spines_send(void **state)
{
	struct monitored m;
	const struct sw *leaf;

	(void)state;
	init(&m);
	start(&m);
	leaf = frig_switch(&m.rig, "l1");
	assert_null(frig_switch(&m.rig, "s0")->volumes);
	assert_int_equal(leaf->volumes->judge.config.volumes.ports, 4);
	assert_int_equal(leaf->volumes->monitored[1], VOLUMES_NO_PORT);
	assert_int_equal(leaf->volumes->monitored[2], 0);
	assert_int_equal(leaf->volumes->judge.volumes.nsenders, 2);
	assert_int_equal(leaf->volumes->judge.volumes.keys[0], topo_find(m.rig.topo, "l0"));
	assert_int_equal(leaf->volumes->judge.predict.bytes[0], 2 * PACKETS * BYTES / 4);
	stop(&m);
}

static void
every_tagged_packet_is_counted_once(void **state)
{
	struct monitored m;
	uint64_t packets = 0, bytes = 0;
	const struct rec_volume *row;

	(void)state;
	init(&m);
	m.params.export = VOLUMES_EXPORT_COUNTS;
	start(&m);
	send_all(&m, 0, 0);
	send_all(&m, 1000 * US, tag_make(3));
	send_all(&m, 2000 * US, tag_make(4));
	frig_run(&m.rig, 3000 * US);
	end_all(&m, 3000 * US);
	for (uint32_t i = 0; (row = frig_record(&frig_switch(&m.rig, "l2")->node, REC_VOLUME, i)) != NULL; i++) {
		assert_true(row->iteration == 3 || row->iteration == 4);
		assert_int_equal(row->flaws, 0);
		assert_int_equal(row->predicted, 500 * BYTES);
		assert_in_range(row->packets, 400, 600);
		packets += row->packets;
		bytes += row->seen;
	}
	assert_int_equal(packets, 2 * 4 * PACKETS); /* two iterations of four flows */
	assert_int_equal(bytes, packets * BYTES);
	stop(&m);
}

/* Of the port that a record reports: the peer's name. */
static const char *
spine_of(const struct monitored *m, const struct rec_volume_alarm *alarm)
{
	return m->rig.topo->nodes[topo_port_of(m->rig.topo, alarm->hdr.node, alarm->port)->peer].name;
}

static void
a_link_that_loses_is_named(void **state)
{
	static const struct {
		const char *port, *leaf;
		uint16_t place;
	} cases[] = { { "s1:3", "l2", REC_LOSS_LOCAL },
		      { "l1:4", "l2", REC_LOSS_REMOTE },
		      { "l1:4", "l3", REC_LOSS_REMOTE } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct monitored m;
		const struct rec_volume_alarm *alarm;
		const struct rec_monitored *sum;
		const struct node *leaf;

		init(&m);
		start(&m);
		leaf = &frig_switch(&m.rig, cases[i].leaf)->node;
		send_all(&m, 0, tag_make(0));
		send_all(&m, 1000 * US, tag_make(1));
		link_set_loss(frig_link(&m.rig, cases[i].port), 0.6);
		frig_run(&m.rig, 2000 * US);
		alarm = frig_record(leaf, REC_VOLUME_ALARM, 0);
		assert_non_null(alarm);
		assert_null(frig_record(leaf, REC_VOLUME_ALARM, 1)); /* the second iteration is not over */
		assert_string_equal(spine_of(&m, alarm), "s1");
		assert_int_equal(alarm->iteration, 0);
		assert_int_equal(alarm->place, cases[i].place);
		if (cases[i].place == REC_LOSS_REMOTE)
			assert_int_equal(alarm->sender, topo_find(m.rig.topo, "l1"));
		else
			assert_int_equal(alarm->sender, REC_NONE);
		assert_true(alarm->low_ppm < 600000 && alarm->high_ppm > 600000);
		assert_non_null(frig_record(leaf, REC_VOLUME, 7)); /* all ports' of both senders */
		end_all(&m, 2000 * US);
		assert_non_null(frig_record(leaf, REC_VOLUME_ALARM, 1));
		sum = frig_record(leaf, REC_MONITORED, 0);
		assert_int_equal(sum->compared, 2);
		assert_int_equal(sum->alarms, 2);
		sum = frig_record(&frig_switch(&m.rig, "l0")->node, REC_MONITORED, 0);
		assert_int_equal(sum->compared, 2);
		assert_int_equal(sum->alarms, 0);
		stop(&m);
	}
}

/* A spine that routing leaves out towards one leaf: what the others bring is a third. */
static void
routes_split_demand(void **state)
{
	bool withdrawn[64] = { false };
	struct monitored m;
	const struct sw *leaf;

	(void)state;
	init(&m);
	start(&m);
	leaf = frig_switch(&m.rig, "l1");
	withdrawn[m.rig.topo->ports[topo_find_port(m.rig.topo, "l0:3")].link] = true;
	assert_int_equal(route_table_update(m.rig.routes, withdrawn), 0);
	switch_volumes_rerouted(frig_switch(&m.rig, "l1"));
	for (uint16_t port = 0; port < 4; port++) {
		uint64_t of_l3 = leaf->volumes->judge.predict.bytes[volumes_cell(&leaf->volumes->judge.volumes, port, 1)];
		uint64_t of_l0 = leaf->volumes->judge.predict.bytes[volumes_cell(&leaf->volumes->judge.volumes, port, 0)];

		assert_int_equal(of_l3, 2 * PACKETS * BYTES / 4);
		if (port == 0)
			assert_int_equal(of_l0, 0);
		else
			assert_in_range(of_l0, 2 * PACKETS * BYTES / 3, 2 * PACKETS * BYTES / 3 + 2);
	}
	stop(&m);
}

static void
what_does_not_fit_is_refused(void **state)
{
	struct monitored m;

	(void)state;
	init(&m);
	m.params.senders = 1;
	m.params.where = (struct cfg_where){ .file = "t.cfg", .line = 7 };
	assert_true(frig_start(&m.rig) < 0);
	assert_non_null(strstr(m.rig.err.text, "senders: 1 are not enough"));
	stop(&m);
}

/* The ports of one of a leaf's senders as the monitor predicts them. */
static uint64_t
predicted(const struct sw *leaf, uint16_t port, uint16_t sender)
{
	return leaf->volumes->judge.predict.bytes[volumes_cell(&leaf->volumes->judge.volumes, port, sender)];
}

/* Nothing is declared: the first iteration is the demand, which the routes split, and senders are known when they send. */
static void
what_is_measured_first_is_the_prediction(void **state)
{
	const struct rec_monitored *sum;
	const struct rec_volume *row;
	struct monitored m;
	const struct sw *leaf;
	uint32_t learned = 0, flows;

	(void)state;
	init(&m);
	flows = m.setup.ndemand;
	m.setup.ndemand = 0;
	m.params.prediction = REC_PREDICTION_MEASURED;
	m.params.export = VOLUMES_EXPORT_COUNTS;
	start(&m);
	leaf = frig_switch(&m.rig, "l1");
	assert_int_equal(leaf->volumes->judge.volumes.nsenders, 0);
	m.setup.ndemand = flows;
	send_all(&m, 0, tag_make(0));
	send_all(&m, 1000 * US, tag_make(1));
	frig_run(&m.rig, 2000 * US);
	assert_int_equal(leaf->volumes->judge.volumes.nsenders, 2);
	for (uint16_t port = 0; port < 4; port++)
		assert_int_equal(predicted(leaf, port, 0), 2 * PACKETS * BYTES / 4);
	end_all(&m, 2000 * US);
	for (uint32_t i = 0; (row = frig_record(&leaf->node, REC_VOLUME, i)) != NULL; i++) {
		assert_int_equal(row->learned, row->iteration == 0);
		assert_int_equal(row->predicted, row->learned ? 0 : 2 * PACKETS * BYTES / 4);
		learned += row->learned;
	}
	assert_int_equal(learned, 2 * 4);
	sum = frig_record(&leaf->node, REC_MONITORED, 0);
	assert_int_equal(sum->learned, 1);
	assert_int_equal(sum->compared, 1);
	assert_int_equal(sum->senders, 2);
	stop(&m);
}

/* A file's volumes: those of the switch's own monitored ports, until its routes change. */
static void
a_files_prediction_is_of_its_routes(void **state)
{
	struct volumes_predicted rows[5];
	struct monitored m;
	struct sw *leaf;

	(void)state;
	init(&m);
	m.params.prediction = REC_PREDICTION_SIMULATED;
	m.setup.ndemand = 0;
	for (uint32_t i = 0; i < 3; i++)
		rows[i] = (struct volumes_predicted){ .port = topo_find_port(m.rig.topo, "l1:3") + i,
						      .sender = topo_find(m.rig.topo, i == 2 ? "l3" : "l0"),
						      .bytes = 1000 + i };
	rows[3] = (struct volumes_predicted){ topo_find_port(m.rig.topo, "l1:1"), topo_find(m.rig.topo, "l0"), 7 };
	rows[4] = (struct volumes_predicted){ topo_find_port(m.rig.topo, "l2:3"), topo_find(m.rig.topo, "l0"), 9 };
	m.setup.predicted = rows;
	m.setup.npredicted = 5;
	start(&m);
	leaf = frig_switch(&m.rig, "l1");
	assert_int_equal(leaf->volumes->judge.volumes.nsenders, 2);
	assert_int_equal(predicted(leaf, 0, 0), 1000);
	assert_int_equal(predicted(leaf, 1, 0), 1001);
	assert_int_equal(predicted(leaf, 2, 1), 1002);
	assert_int_equal(predicted(leaf, 0, 1) + predicted(leaf, 3, 0) + predicted(leaf, 2, 0), 0);
	leaf->node.ops->routes_changed(&leaf->node);
	assert_int_equal(predicted(leaf, 0, 0) + predicted(leaf, 1, 0) + predicted(leaf, 2, 1), 0);
	stop(&m);
	init(&m);
	m.params.prediction = REC_PREDICTION_SIMULATED;
	m.params.senders = 1;
	m.setup.ndemand = 0;
	for (uint32_t i = 0; i < 5; i++)
		rows[i].port = topo_find_port(m.rig.topo, "l1:3");
	m.setup.predicted = rows;
	m.setup.npredicted = 3;
	assert_true(frig_start(&m.rig) < 0);
	assert_non_null(strstr(m.rig.err.text, "at switch l1 more"));
	stop(&m);
}

/* One sends less than was declared: its volumes are compared with nothing, and a record shows what it had. */
static void
other_demand_is_reported_by_sender(void **state)
{
	const struct rec_volume_flaw *flaw;
	const struct rec_monitored *sum;
	const struct node *leaf;
	struct monitored m;

	(void)state;
	init(&m);
	for (uint32_t i = 0; i < m.setup.ndemand; i++) /* h0's to l1 and l2 */
		m.demand[i].bytes *= i < 2 ? 4 : 1;
	start(&m);
	leaf = &frig_switch(&m.rig, "l1")->node;
	send_all(&m, 0, tag_make(0));
	frig_run(&m.rig, 1000 * US);
	end_all(&m, 1000 * US);
	flaw = frig_record(leaf, REC_VOLUME_FLAW, 0);
	assert_non_null(flaw);
	assert_null(frig_record(leaf, REC_VOLUME_FLAW, 1));
	assert_int_equal(flaw->flaw, REC_FLAW_DEMAND);
	assert_int_equal(flaw->sender, topo_find(m.rig.topo, "l0"));
	assert_int_equal(flaw->predicted, 5 * PACKETS * BYTES);
	assert_int_equal(flaw->seen, 2 * PACKETS * BYTES);
	sum = frig_record(leaf, REC_MONITORED, 0);
	assert_int_equal(sum->compared, 1); /* the other sender */
	stop(&m);
}

static void
send_one(struct monitored *m, uint32_t flow, uint64_t at_ps, uint8_t prio, uint8_t tag, uint32_t packets)
{
	struct pkt p = {
		.flow = flow, .tag = tag, .wire_bytes = BYTES, .type = PKT_DATA, .prio = prio, .ttl = PKT_TTL_INIT
	};

	for (; p.psn < packets; p.psn++)
		frig_send_pkt(&m->rig, at_ps, &p);
}

/*
 * Where ports are taken in turn, others' packets shift measured ones: a leaf counts those of the same class that it sends
 * up after the first measured ones. What stays below it, goes in another class, or no other comes with, counts nothing.
 */
static void
others_in_the_class_are_reported(void **state)
{
	const struct rec_volume_flaw *flaw;
	uint32_t local, shared = 0;
	struct monitored m;

	(void)state;
	init(&m);
	m.rig.config.balance.ops = balance_kinds[BALANCE_ROUND_ROBIN];
	local = frig_flow(&m.rig, "h0", "h1", 3);
	start(&m);
	send_all(&m, 0, tag_make(0));
	send_one(&m, 0, 500 * US, 3, 0, 30);
	send_one(&m, 0, 500 * US, 4, 0, 50);
	send_one(&m, local, 500 * US, 3, 0, 70);
	send_all(&m, 1000 * US, tag_make(1));
	frig_run(&m.rig, 2000 * US);
	end_all(&m, 2000 * US);
	for (uint32_t i = 0; (flaw = frig_record(&frig_switch(&m.rig, "l0")->node, REC_VOLUME_FLAW, i)) != NULL; i++) {
		assert_int_equal(flaw->flaw, REC_FLAW_SHARED);
		assert_int_equal(flaw->sender, REC_NONE);
		assert_int_equal(flaw->iteration, 0);
		assert_int_equal(flaw->seen, 30 * BYTES);
		assert_in_range(flaw->predicted, 4 * PACKETS * BYTES, 8 * PACKETS * BYTES);
		shared++;
	}
	assert_int_equal(shared, 1);
	assert_null(frig_record(&frig_switch(&m.rig, "l1")->node, REC_VOLUME_FLAW, 0));
	stop(&m);
	/* nothing measured comes to l0 */
	init(&m);
	m.rig.config.balance.ops = balance_kinds[BALANCE_ROUND_ROBIN];
	m.setup.ndemand = 0;
	start(&m);
	send_one(&m, 0, 0, 3, tag_make(0), 100);
	send_one(&m, 0, 100 * US, 3, 0, 30);
	frig_run(&m.rig, 500 * US);
	end_all(&m, 500 * US);
	flaw = frig_record(&frig_switch(&m.rig, "l0")->node, REC_VOLUME_FLAW, 0);
	assert_non_null(flaw);
	assert_int_equal(flaw->iteration, REC_NONE);
	assert_int_equal(flaw->predicted, 100 * BYTES);
	assert_int_equal(flaw->seen, 30 * BYTES);
	stop(&m);
}

UNIT_TEST(switch_volumes)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves_monitor_what_spines_send),
		cmocka_unit_test(every_tagged_packet_is_counted_once),
		cmocka_unit_test(a_link_that_loses_is_named),
		cmocka_unit_test(routes_split_demand),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(what_is_measured_first_is_the_prediction),
		cmocka_unit_test(a_files_prediction_is_of_its_routes),
		cmocka_unit_test(other_demand_is_reported_by_sender),
		cmocka_unit_test(others_in_the_class_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

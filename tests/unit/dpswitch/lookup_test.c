/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a switch says of headers when asked, beside what it does to packets: over random networks, hashes, faults and
 * flows.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "dpswitch/pipeline/route.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define US PS_PER_US
#define ROUNDS 60

struct net {
	struct frig rig;
	struct flow_index *index;
	struct prng prng;
	char scenario[512];
};

static uint32_t
below(struct net *net, uint32_t limit)
{
	return (uint32_t)prng_below(&net->prng, limit);
}

/* A network of two or three tiers with flows between random hosts. */
static void
begin(struct net *net, uint64_t seed, enum balance_kind kind)
{
	const struct topo *topo;

	prng_init(&net->prng, seed, 1);
	if (below(net, 3) == 0)
		snprintf(net->scenario, sizeof(net->scenario),
			 "topology = { kind = \"fat-tree\"; k = 4; rate = \"100Gbps\"; delay = \"1us\"; };");
	else
		snprintf(net->scenario, sizeof(net->scenario),
			 "topology = { kind = \"leaf-spine\"; leaves = %u; spines = %u; hosts_per_leaf = 3; rate = "
			 "\"100Gbps\"; "
			 "delay = \"1us\"; };",
			 2 + below(net, 4), 1 + below(net, 8));
	frig_init(&net->rig, net->scenario);
	net->rig.setup.all.pfc.headroom_bytes = 100000;
	net->rig.config.hash_seed = seed;
	net->rig.config.balance = (struct balance_params){
		.ops = balance_kinds[kind],
		.hashing = { .function = (uint8_t)below(net, ROUTE_HASH_FUNCTIONS), .alike = below(net, 2) == 0 },
	};
	topo = net->rig.topo;
	for (int i = 0; i < FRIG_MAX_FLOWS; i++) {
		uint32_t src = below(net, topo->nhosts), dst = below(net, topo->nhosts - 1);

		dst += dst >= src;
		frig_flow(&net->rig, topo->nodes[topo->hosts[src]].name, topo->nodes[topo->hosts[dst]].name, 3);
	}
	if (frig_start(&net->rig) < 0)
		fail_msg("%s", net->rig.err.text);
	net->index = flow_index_create(&net->rig.table);
	assert_non_null(net->index);
}

static void
end(struct net *net)
{
	flow_index_destroy(net->index);
	frig_stop(&net->rig);
}

/* Some cables down, destinations denied or sent elsewhere, a port that pulls: as faults do it. */
static void
break_some(struct net *net)
{
	const struct topo *topo = net->rig.topo;

	for (uint32_t n = below(net, 4); n > 0; n--)
		link_set_down(&net->rig.fabric->links[below(net, topo->nports)], true);
	for (uint32_t i = 0; i < topo->nnodes; i++) {
		struct sw *sw = net->rig.switches[i];
		uint32_t dst = topo->hosts[below(net, topo->nhosts)];

		if (sw == NULL || below(net, 3) != 0)
			continue;
		switch (below(net, 3)) {
		case 0:
			switch_deny(sw, dst, below(net, 2) != 0 ? REC_DROP_BLACKHOLE : REC_DROP_NO_ROUTE);
			break;
		case 1:
			switch_set_override(sw, dst, (uint8_t)below(net, sw->node.nports));
			break;
		default:
			switch_pull(sw, (uint16_t)below(net, sw->node.nports), 0.5);
		}
	}
}

/* One switch and flow: asked first, and then a packet; and asking left no trace. */
static void
compare(struct net *net, struct sw *sw, uint32_t f, bool reverse)
{
	const struct flow *flow = &net->rig.flows[f];
	struct rec_tuple tuple = flow_tuple(flow);
	struct pkt p = { .flow = f, .flags = reverse ? PKT_REVERSE : 0, .ttl = PKT_TTL_INIT, .type = PKT_DATA };
	uint32_t dst = reverse ? flow->src_node : flow->dst_node;
	uint64_t uses = switch_fault_uses(sw, dst);
	enum rec_drop reason = REC_DROP_REASONS;
	struct switch_query query = { .tuple = tuple };
	struct switch_lookup reported;
	uint16_t port = LOOKUP_NO_PORT;
	uint8_t egress;

	if (reverse)
		query.tuple = (struct rec_tuple){ tuple.dst_ip, tuple.src_ip, tuple.dport, tuple.sport, 0 };
	assert_int_equal(switch_lookup_tuple(sw, net->index, &query, &reported), LOOKUP_KNOWN);
	assert_int_equal(switch_fault_uses(sw, dst), uses);
	assert_int_equal(switch_cached(&sw->routes, f, reverse), SWITCH_EGRESS_NONE);
	egress = switch_resolve(sw, &p, &reason, &port);
	assert_int_equal(reported.egress, egress);
	assert_int_equal(switch_fault_uses(sw, dst), uses + reported.is_forced);
	if (egress == SWITCH_EGRESS_DROP) {
		assert_int_equal(reported.reason, reason);
		assert_int_equal(reported.drop_port, port);
		assert_int_equal(reported.nmembers, 0);
	} else if (egress == SWITCH_EGRESS_SPRAY) {
		const struct balance_set *set = spray_set(&sw->spray, f, reverse);

		assert_int_equal(set->count, reported.nmembers);
		assert_memory_equal(set->members, reported.members, reported.nmembers);
	} else {
		assert_non_null(memchr(reported.members, egress, reported.nmembers));
	}
	switch_forget_flow(sw, f);
}

static void
all_that_is_configured_is_done(void **state)
{
	uint32_t drops = 0, sprayed = 0, forced = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		struct net net;

		begin(&net, seed, seed % 3 == 0 ? BALANCE_RANDOM : BALANCE_ECMP);
		break_some(&net);
		for (uint32_t i = 0; i < net.rig.topo->nnodes; i++)
			for (uint32_t f = 0; net.rig.switches[i] != NULL && f < net.rig.table.count; f++) {
				struct switch_lookup reported;

				compare(&net, net.rig.switches[i], f, false);
				compare(&net, net.rig.switches[i], f, true);
				switch_lookup(net.rig.switches[i], f, &net.rig.flows[f], false, &reported);
				drops += reported.egress == SWITCH_EGRESS_DROP;
				sprayed += reported.egress == SWITCH_EGRESS_SPRAY;
				forced += reported.is_forced;
			}
		end(&net);
	}
	assert_true(drops > 100 && sprayed > 100 && forced > 100);
}

/* Whole ways: what switches say one after the other is the way that packets took, by the frames that ports sent. */
static void
packets_go_where_switches_forward(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t expected[1024] = { 0 };
		const struct topo *topo;
		struct net net;

		begin(&net, seed, BALANCE_ECMP);
		topo = net.rig.topo;
		assert_true(topo->nports <= 1024);
		for (uint32_t f = 0; f < net.rig.table.count; f++) {
			const struct flow *flow = &net.rig.flows[f];
			const struct topo_port *port = topo_port_of(topo, flow->src_node, 0);

			while (port->peer != flow->dst_node) {
				struct switch_query query = { flow_tuple(flow), port->peer_index };
				struct switch_lookup reported;

				assert_int_equal(
					switch_lookup_tuple(net.rig.switches[port->peer], net.index, &query, &reported),
					LOOKUP_KNOWN);
				assert_true(reported.egress < SWITCH_EGRESS_SPRAY);
				port = topo_port_of(topo, port->peer, reported.egress);
				expected[topo->nodes[port->node].first_port + port->index] += 10;
			}
			frig_send(&net.rig, f, 1000, 1000, 10);
		}
		frig_run(&net.rig, 1000 * US);
		for (uint32_t p = 0; p < topo->nports; p++)
			if (topo->nodes[topo->ports[p].node].kind == TOPO_SWITCH)
				assert_int_equal(net.rig.fabric->links[p].sent_frames, expected[p]);
		end(&net);
	}
}

static void
strangers_are_routed_by_their_address(void **state)
{
	struct switch_query query = { .tuple = { .sport = 7, .dport = 80 } };
	struct switch_lookup reported;
	struct net net;
	struct sw *sw;
	uint32_t host;

	(void)state;
	begin(&net, 2, BALANCE_ECMP);
	sw = net.rig.switches[net.rig.topo->ports[topo_port_of(net.rig.topo, net.rig.topo->hosts[0], 0)->peer_port].node];
	host = net.rig.topo->hosts[0];
	query.tuple.src_ip = 0x01020304;
	query.tuple.dst_ip = topo_nic_ip(host, 0);
	assert_int_equal(switch_lookup_tuple(sw, net.index, &query, &reported), LOOKUP_KNOWN);
	assert_int_equal(reported.egress, topo_port_of(net.rig.topo, host, 0)->peer_index);
	query.tuple.dst_ip = topo_nic_ip(host, 5);
	assert_int_equal(switch_lookup_tuple(sw, net.index, &query, &reported), LOOKUP_NO_ADDRESS);
	query.tuple.dst_ip = topo_nic_ip(sw->node.id, 0);
	assert_int_equal(switch_lookup_tuple(sw, net.index, &query, &reported), LOOKUP_NO_ADDRESS);
	query.tuple.dst_ip = 0x08080808;
	assert_int_equal(switch_lookup_tuple(sw, net.index, &query, &reported), LOOKUP_NO_ADDRESS);
	query.in_port = sw->node.nports;
	assert_int_equal(switch_lookup_tuple(sw, net.index, &query, &reported), LOOKUP_NO_INGRESS);
	end(&net);
}

/* Leaves have their hosts at ports 1 and 2 and spines at 3 to 5; h1's pin holds only while all of these are left. */
static const char pinned_net[] =
	"topology = { kind = \"leaf-spine\"; leaves = 2; spines = 3; hosts_per_leaf = 2; rate = \"100Gbps\"; "
	"delay = \"1us\"; };\n"
	"paths = ( { src = \"h0\"; dst = \"h2\"; data = [ \"l0:3\", \"s0:2\", \"l1:1\" ]; },\n"
	"{ src = \"h1\"; dst = \"h3\"; data = [ \"l0:3\", \"s0:2\", \"l1:2\" ]; rehash = true; detour = [ \"l0:5\" ]; } );";

enum { PINNED, REHASHED, FREE };

struct pinned {
	struct frig rig;
	struct route_table *healthy;
	bool withdrawn[64];
};

static bool
none_is_quiet(const void *of, uint32_t src_node, uint32_t dst_node)
{
	return of == NULL && src_node == dst_node;
}

static void
begin_pinned(struct pinned *p, enum balance_kind kind)
{
	*p = (struct pinned){ 0 };
	frig_init(&p->rig, pinned_net);
	p->rig.setup.all.pfc.headroom_bytes = 100000;
	frig_flow(&p->rig, "h0", "h2", 3);
	frig_flow(&p->rig, "h1", "h3", 3);
	frig_flow(&p->rig, "h0", "h3", 3);
	p->healthy = route_table_create(p->rig.topo, ROUTE_SHORTEST);
	assert_non_null(p->healthy);
	p->rig.config.healthy_routes = p->healthy;
	p->rig.config.balance.ops = balance_kinds[kind];
	assert_int_equal(route_pins_create(p->rig.cfg, p->rig.topo, &p->rig.pins, &p->rig.err), 0);
	assert_int_equal(route_pins_attach(p->rig.pins, &p->rig.table, none_is_quiet, NULL, &p->rig.err), 0);
	p->rig.config.pins = p->rig.pins;
	if (frig_start(&p->rig) < 0)
		fail_msg("%s", p->rig.err.text);
}

static void
end_pinned(struct pinned *p)
{
	route_table_destroy(p->healthy);
	frig_stop(&p->rig);
}

static struct switch_lookup
look_up(const struct pinned *p, const char *at, uint32_t flow, bool reverse)
{
	struct switch_lookup found;

	switch_lookup(frig_switch(&p->rig, at), flow, &p->rig.flows[flow], reverse, &found);
	return found;
}

/* A cable goes down at one end; routing may take it out of the routes of all. */
static void
cut(struct pinned *p, const char *port, bool withdraws)
{
	link_set_down(frig_link(&p->rig, port), true);
	if (!withdraws)
		return;
	p->withdrawn[p->rig.topo->ports[topo_find_port(p->rig.topo, port)].link] = true;
	assert_int_equal(route_table_update(p->rig.routes, p->withdrawn), 0);
}

static void
a_pinned_flow_leaves_its_path_by_equal_cost_alone(void **state)
{
	struct switch_lookup found;
	struct pinned p;

	(void)state;
	begin_pinned(&p, BALANCE_RANDOM);
	found = look_up(&p, "l0", PINNED, false);
	assert_true(found.is_pinned);
	assert_int_equal(found.egress, 2);
	assert_int_equal(look_up(&p, "l0", FREE, false).egress, SWITCH_EGRESS_SPRAY);
	/* its own cable is down: two of equal cost are left, and it is not sprayed over them */
	cut(&p, "l0:3", false);
	found = look_up(&p, "l0", PINNED, false);
	assert_false(found.is_pinned);
	assert_in_range(found.egress, 3, 4);
	assert_int_equal(found.nmembers, 2);
	/* at a spine there is none of equal cost: routing leads others back to where the pin would send this one here */
	cut(&p, "s0:2", true);
	assert_int_equal(look_up(&p, "s0", FREE, false).egress, 0);
	found = look_up(&p, "s0", PINNED, false);
	assert_int_equal(found.egress, SWITCH_EGRESS_DROP);
	assert_int_equal(found.reason, REC_DROP_LINK_DOWN);
	assert_int_equal(found.drop_port, 1);
	/* ACKs have no pin */
	found = look_up(&p, "l1", PINNED, true);
	assert_int_equal(found.egress, SWITCH_EGRESS_SPRAY);
	assert_int_equal(found.nmembers, 2);
	end_pinned(&p);
}

static void
a_pin_that_rehashes_holds_while_all_are_left(void **state)
{
	struct switch_lookup found;
	struct pinned p;

	(void)state;
	begin_pinned(&p, BALANCE_ECMP);
	assert_true(look_up(&p, "l0", REHASHED, false).is_pinned);
	cut(&p, "l0:4", false);
	found = look_up(&p, "l0", REHASHED, false);
	assert_false(found.is_pinned);
	assert_int_equal(found.egress, 4); /* its detour, though its own port is up */
	assert_int_equal(found.nmembers, 1);
	cut(&p, "l0:5", false);
	found = look_up(&p, "l0", REHASHED, false);
	assert_int_equal(found.egress, 2); /* by hash, of what is left */
	cut(&p, "l0:3", false);
	found = look_up(&p, "l0", REHASHED, false);
	assert_int_equal(found.egress, SWITCH_EGRESS_DROP);
	assert_int_equal(found.reason, REC_DROP_LINK_DOWN);
	cut(&p, "l1:4", false);
	assert_int_equal(look_up(&p, "l1", REHASHED, true).nmembers, 2); /* ACKs have no detour */
	end_pinned(&p);
}

/* No route is left: it counts at a port of the former path, one that is down if there is one. */
static void
lost_routes_count_at_a_former_port(void **state)
{
	struct switch_lookup found;
	struct pinned p;

	(void)state;
	begin_pinned(&p, BALANCE_ECMP);
	for (uint32_t spine = 0; spine < 3; spine++)
		p.withdrawn[p.rig.topo->ports[topo_find_port(p.rig.topo, "l1:3") + spine].link] = true;
	assert_int_equal(route_table_update(p.rig.routes, p.withdrawn), 0);
	found = look_up(&p, "l0", FREE, false);
	assert_int_equal(found.egress, SWITCH_EGRESS_DROP);
	assert_int_equal(found.reason, REC_DROP_NO_ROUTE);
	assert_int_equal(found.drop_port, 2);
	link_set_down(frig_link(&p.rig, "l0:4"), true);
	found = look_up(&p, "l0", FREE, false);
	assert_int_equal(found.reason, REC_DROP_LINK_DOWN);
	assert_int_equal(found.drop_port, 3);
	end_pinned(&p);
}

UNIT_TEST(lookup)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_configured_is_done),
		cmocka_unit_test(packets_go_where_switches_forward),
		cmocka_unit_test(strangers_are_routed_by_their_address),
		cmocka_unit_test(a_pinned_flow_leaves_its_path_by_equal_cost_alone),
		cmocka_unit_test(a_pin_that_rehashes_holds_while_all_are_left),
		cmocka_unit_test(lost_routes_count_at_a_former_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The management socket's messages, of switches and hosts: every request's reply, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "dpswitch/control/switch_answer.h"
#include "tests/unit/dpswitch/fabric_rig.h"
#include "tests/unit/unit.h"

#define FLOWS 5000u

static const char clos[] = "topology = { kind = \"leaf-spine\"; leaves = 2; spines = 4; hosts_per_leaf = 2; rate = "
			   "\"100Gbps\"; delay = \"1us\"; };";

struct desk {
	struct frig rig;
	struct flow_index *index;
	struct answer_device leaf, host;
	_Alignas(8) uint8_t request[sizeof(struct swm_hdr) + SWM_MAX_REQUEST];
	_Alignas(8) uint8_t reply[ANSWER_MAX_BYTES];
	size_t reply_bytes;
};

static uint32_t
flow_count(void *ctx)
{
	(void)ctx;
	return FLOWS;
}

static bool
flow_get(void *ctx, uint32_t i, struct swm_flow *flow)
{
	(void)ctx;
	*flow = (struct swm_flow){
		.src_ip = 1, .dst_ip = 2 + i % 3, .sport = (uint16_t)i, .dport = 4791, .protocol = 17, .job = i % 2
	};
	return i % 5 != 4; /* gone */
}

static int
begin(void **state)
{
	static struct desk desk;
	struct frig *rig = &desk.rig;

	memset(&desk, 0, sizeof(desk));
	frig_init(rig, clos);
	rig->setup.all.pfc.headroom_bytes = 100000;
	frig_flow(rig, "h0", "h2", 3);
	frig_flow(rig, "h1", "h3", 3);
	if (frig_start(rig) < 0)
		fail_msg("%s", rig->err.text);
	desk.index = flow_index_create(&rig->table);
	desk.leaf = (struct answer_device){
		.topo = rig->topo, .node = topo_find(rig->topo, "l0"), .sw = frig_switch(rig, "l0"), .index = desk.index
	};
	desk.host = (struct answer_device){ .topo = rig->topo,
					    .node = topo_find(rig->topo, "h0"),
					    .flows = { .count = flow_count, .get = flow_get } };
	*state = &desk;
	return 0;
}

static int
end(void **state)
{
	struct desk *desk = *state;

	flow_index_destroy(desk->index);
	frig_stop(&desk->rig);
	return 0;
}

/* @return the reply's body; its header is as it must be, and says type */
static const void *
ask(struct desk *desk, const struct answer_device *device, uint16_t type, const void *body, size_t size,
    enum swm_type expected)
{
	struct swm_hdr hdr = { SWM_MAGIC, SWM_VERSION, type, (uint32_t)size, 77 };
	const struct swm_hdr *reply = (const void *)desk->reply;

	memcpy(desk->request, &hdr, sizeof(hdr));
	memcpy(desk->request + sizeof(hdr), body, size);
	desk->reply_bytes = answer_request(device, desk->request, sizeof(hdr) + size, desk->reply);
	assert_int_equal(reply->magic, SWM_MAGIC);
	assert_int_equal(reply->version, SWM_VERSION);
	assert_int_equal(reply->tag, 77);
	assert_int_equal(reply->size + sizeof(*reply), desk->reply_bytes);
	assert_int_equal(reply->type, expected);
	return reply + 1;
}

struct one_query {
	struct swm_list list;
	struct swm_query query[3];
};

static void
egresses_are_the_lookups(void **state)
{
	struct desk *desk = *state;
	const struct flow *flow = &desk->rig.flows[0];
	struct one_query asked = { { 3, 0 },
				   { { flow->src_ip, flow->dst_ip, flow->sport, flow->dport, 17, 0, 0 },
				     { flow->src_ip, 0x08080808, flow->sport, flow->dport, 17, 0, 0 },
				     { flow->src_ip, flow->dst_ip, flow->sport, flow->dport, 17, 0, 99 } } };
	const struct swm_list *list = ask(desk, &desk->leaf, SWM_EGRESS, &asked, sizeof(asked), SWM_EGRESSES);
	const struct swm_egress *rows = (const void *)(list + 1);
	uint64_t uplinks = 0;

	for (uint16_t i = 0; i < desk->leaf.sw->node.nports; i++)
		if (desk->rig.topo->nodes[topo_port_of(desk->rig.topo, desk->leaf.node, i)->peer].kind == TOPO_SWITCH)
			uplinks |= UINT64_C(1) << i;
	assert_int_equal(list->count, 3);
	assert_int_equal(rows[2].result, SWM_NO_INGRESS);
	assert_int_equal(rows[0].result, SWM_FORWARDED);
	assert_int_equal(rows[0].members[0], uplinks);
	assert_int_equal(rows[0].members[1], 0);
	assert_int_equal(rows[0].port, switch_healthy_egress(desk->leaf.sw, 0, false));
	assert_int_equal(rows[1].result, SWM_NO_ADDRESS);
	assert_int_equal(rows[1].port, SWM_NO_PORT);
	for (uint16_t i = 0; i < desk->leaf.sw->node.nports; i++)
		if (uplinks >> i & 1)
			link_set_down(desk->leaf.sw->node.tx[i], true);
	list = ask(desk, &desk->leaf, SWM_EGRESS, &asked, sizeof(asked), SWM_EGRESSES);
	rows = (const void *)(list + 1);
	assert_int_equal(rows[0].result, SWM_DROPPED);
	assert_int_equal(rows[0].reason, REC_DROP_LINK_DOWN);
	assert_int_equal(rows[0].members[0], 0);
}

/* A switch that sprays names no port: the packet's own chance does. */
static void
sprayed_headers_have_no_port(void **state)
{
	static struct frig rig;
	struct flow_index *index;
	struct swm_query query = { .protocol = 17 };
	struct swm_egress rows[SWM_EGRESS_ROWS];

	(void)state;
	frig_init(&rig, clos);
	rig.setup.all.pfc.headroom_bytes = 100000;
	rig.config.balance.ops = balance_kinds[BALANCE_RANDOM];
	frig_flow(&rig, "h0", "h2", 3);
	assert_int_equal(frig_start(&rig), 0);
	index = flow_index_create(&rig.table);
	query.src_ip = rig.flows[0].src_ip;
	query.dst_ip = rig.flows[0].dst_ip;
	query.sport = rig.flows[0].sport;
	query.dport = rig.flows[0].dport;
	assert_int_equal(answer_headers(frig_switch(&rig, "l0"), index, &query, rows), 1);
	assert_int_equal(rows[0].result, SWM_SPRAYED);
	assert_int_equal(rows[0].port, SWM_NO_PORT);
	assert_int_equal(rows[0].more, 0);
	assert_int_equal(__builtin_popcountll(rows[0].members[0]), 4);
	flow_index_destroy(index);
	frig_stop(&rig);
}

/* 200 cables to one switch, of which a row has 128. */
static void
wide_sets_have_two_rows(void **state)
{
	static struct frig rig;
	struct flow_index *index;
	struct swm_query query = { .protocol = 17 };
	struct swm_egress rows[SWM_EGRESS_ROWS];
	char text[4096] = "topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; "
			  "switches = [ \"a\", \"b\" ]; hosts = [ \"x\", \"y\" ]; links = ( \"x a\", \"y b\"";

	(void)state;
	for (uint32_t i = 0; i < 200; i++)
		strcat(text, ", \"a b\"");
	strcat(text, " ); };");
	frig_init(&rig, text);
	rig.setup.all.pfc.headroom_bytes = 30000;
	frig_flow(&rig, "x", "y", 3);
	if (frig_start(&rig) < 0)
		fail_msg("%s", rig.err.text);
	index = flow_index_create(&rig.table);
	query.src_ip = rig.flows[0].src_ip;
	query.dst_ip = rig.flows[0].dst_ip;
	query.sport = rig.flows[0].sport;
	query.dport = rig.flows[0].dport;
	assert_int_equal(answer_headers(frig_switch(&rig, "a"), index, &query, rows), 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(rows[i].result, SWM_FORWARDED);
		assert_int_equal(rows[i].port, switch_healthy_egress(frig_switch(&rig, "a"), 0, false));
		assert_int_equal(rows[i].first, i == 0 ? 1 : 129);
		assert_int_equal(rows[i].more, i == 0);
		assert_int_equal(__builtin_popcountll(rows[i].members[0]), 64);
		assert_int_equal(__builtin_popcountll(rows[i].members[1]), i == 0 ? 64 : 8);
	}
	flow_index_destroy(index);
	frig_stop(&rig);
}

static void
counters_are_what_ports_sent(void **state)
{
	struct desk *desk = *state;
	const struct swm_list *list;
	const struct swm_port *rows;
	uint64_t in = 0, out = 0, in_octets = 0, octets = 0;

	for (uint32_t f = 0; f < 2; f++)
		frig_send(&desk->rig, f, 1000, 1000, 30);
	frig_run(&desk->rig, PS_PER_MS);
	list = ask(desk, &desk->leaf, SWM_COUNTERS, "", 0, SWM_PORTS);
	rows = (const void *)(list + 1);
	assert_int_equal(list->count, desk->leaf.sw->node.nports);
	for (uint32_t i = 0; i < list->count; i++) {
		assert_int_equal(rows[i].port, i);
		assert_int_equal(rows[i].is_up, 1);
		assert_int_equal(rows[i].speed_bps, 100000000000);
		in += rows[i].in_pkts;
		out += rows[i].out_pkts;
		in_octets += rows[i].in_octets;
		octets += rows[i].out_octets;
		if (rows[i].in_pkts != 0)
			assert_int_equal(rows[i].in_octets, 1000 * rows[i].in_pkts);
	}
	assert_int_equal(in, 60);
	assert_int_equal(out, 60);
	assert_int_equal(in_octets, 60000);
	assert_int_equal(octets, 60000);
}

/* In pages, over the end of them too. */
static void
flows_are_sent_in_pages(void **state)
{
	struct desk *desk = *state;
	struct swm_filter filter = { .job = SWM_ANY };
	uint32_t got = 0, pages = 0, last = 0;
	const struct swm_flows *list;

	do {
		filter.from = got;
		list = ask(desk, &desk->host, SWM_FLOWS, &filter, sizeof(filter), SWM_FLOW_LIST);
		for (uint32_t i = 0; i < list->count; i++) {
			const struct swm_flow *flow = (const struct swm_flow *)(list + 1) + i;

			assert_true(got + i == 0 || flow->sport > last);
			last = flow->sport;
		}
		got += list->count;
		pages++;
	} while (list->count != 0);
	assert_int_equal(got, FLOWS / 5 * 4);
	assert_int_equal(list->total, got);
	assert_int_equal(pages, got / SWM_MAX_FLOWS + 1);
	filter = (struct swm_filter){ .job = 1, .dst_ip = 3, .dport = 4791, .protocol = 17 };
	list = ask(desk, &desk->host, SWM_FLOWS, &filter, sizeof(filter), SWM_FLOW_LIST);
	assert_int_equal(list->total, FLOWS / 5 * 4 / 6 + 1);
	filter.protocol = 6;
	list = ask(desk, &desk->host, SWM_FLOWS, &filter, sizeof(filter), SWM_FLOW_LIST);
	assert_int_equal(list->total, 0);
	filter.protocol = 17;
	filter.dport = 22;
	list = ask(desk, &desk->host, SWM_FLOWS, &filter, sizeof(filter), SWM_FLOW_LIST);
	assert_int_equal(list->total, 0);
}

static void
expect_refusal(struct desk *desk, const struct answer_device *device, uint16_t type, const void *body, size_t size,
	       const char *text)
{
	const struct swm_refused *refused = ask(desk, device, type, body, size, SWM_REFUSED);

	assert_string_equal(refused->text, text);
}

static void
what_is_wrong_is_refused(void **state)
{
	struct desk *desk = *state;
	struct one_query asked = { .list = { 4, 0 } };
	struct swm_hdr hdr = { SWM_MAGIC, SWM_VERSION + 1, SWM_COUNTERS, 0, 1 };
	const struct swm_refused *refused = (const void *)(desk->reply + sizeof(hdr));
	char text[64];

	expect_refusal(desk, &desk->leaf, SWM_EGRESS, &asked, sizeof(asked),
		       "EGRESS of 56 B; right would be a list of at most 4000 queries, 16 B each, with its length");
	expect_refusal(desk, &desk->leaf, SWM_EGRESS, &asked, 4,
		       "EGRESS of 4 B; right would be a list of at most 4000 queries, 16 B each, with its length");
	expect_refusal(desk, &desk->host, SWM_EGRESS, &asked, sizeof(asked),
		       "h0 is a host: only switches report the egress of headers");
	expect_refusal(desk, &desk->host, SWM_COUNTERS, "", 0, "h0 is a host: only switches have counters of ports here");
	expect_refusal(desk, &desk->leaf, SWM_COUNTERS, "x", 1, "COUNTERS of 1 B; right would be no body");
	expect_refusal(desk, &desk->leaf, SWM_FLOWS, &asked, 16, "l0 is a switch: only hosts have flows");
	expect_refusal(desk, &desk->host, SWM_FLOWS, &asked, 15, "FLOWS of 15 B; right would be 16 B");
	expect_refusal(desk, &desk->host, 99, "", 0,
		       "type 99; right would be EGRESS (2), COUNTERS (3), FLOWS (4) or SAMPLES (9)");
	expect_refusal(desk, &desk->host, SWM_SAMPLES, &asked, 8, "h0 is a host: only switches sample packets");
	expect_refusal(desk, &desk->leaf, SWM_SAMPLES, &asked, 7, "SAMPLES of 7 B; right would be 8 B");
	expect_refusal(desk, &desk->leaf, SWM_SAMPLES, &asked, 8, "l0 samples no packets: set switch.sampling");
	asked.list.count = SWM_MAX_QUERIES + 1;
	expect_refusal(desk, &desk->leaf, SWM_EGRESS, &asked, sizeof(asked),
		       "EGRESS of 56 B; right would be a list of at most 4000 queries, 16 B each, with its length");
	hdr.magic++;
	answer_request(&desk->leaf, &hdr, sizeof(hdr), desk->reply);
	assert_string_equal(refused->text, "16 B; right would be a header of 16 B with the size of the message");
	hdr.magic = SWM_MAGIC;
	hdr.size = 8;
	answer_request(&desk->leaf, &hdr, sizeof(hdr), desk->reply);
	assert_string_equal(refused->text, "16 B; right would be a header of 16 B with the size of the message");
	hdr.size = 0;
	answer_request(&desk->leaf, &hdr, sizeof(hdr), desk->reply);
	snprintf(text, sizeof(text), "version %d; right would be %d", SWM_VERSION + 1, SWM_VERSION);
	assert_string_equal(refused->text, text);
	answer_request(&desk->leaf, &hdr, 5, desk->reply);
	assert_string_equal(refused->text, "5 B; right would be a header of 16 B with the size of the message");
}

static void
greetings_name_the_switch(void **state)
{
	struct desk *desk = *state;
	const struct swm_hello *hello = (const void *)(desk->reply + sizeof(struct swm_hdr));

	assert_int_equal(answer_hello(&desk->leaf, desk->reply), sizeof(struct swm_hdr) + sizeof(*hello));
	assert_string_equal(hello->name, "l0");
	assert_int_equal(hello->node, desk->leaf.node);
	assert_int_equal(hello->device, SWM_SWITCH);
	assert_int_equal(hello->ports, 6);
	answer_hello(&desk->host, desk->reply);
	assert_string_equal(hello->name, "h0");
	assert_int_equal(hello->device, SWM_HOST);
}

UNIT_TEST(switch_answer)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(egresses_are_the_lookups),
		TEST(counters_are_what_ports_sent),
		TEST(flows_are_sent_in_pages),
		TEST(what_is_wrong_is_refused),
		TEST(greetings_name_the_switch),
		cmocka_unit_test(sprayed_headers_have_no_port),
		cmocka_unit_test(wide_sets_have_two_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

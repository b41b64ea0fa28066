/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of external hosts that cross from one partition of a fabric to another, and what an edge cannot be made of. */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/eth.h"
#include "common/wire/partition.h"
#include "tests/integration/kernel_host_pair.h"
#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

#define ADOPTED 7

/* A fabric whose hosts a and b send in another partition: it gets their frames by their bytes. */
struct adopter {
	struct xrig x;
	struct edge_config config;
	struct edge *edge;
	uint8_t bytes[XRIG_FRAME_BYTES], out[XRIG_FRAME_BYTES];
	size_t size;
};

static int
begin(void **state)
{
	static struct adopter a;
	const struct pkt_message message = { 0 };
	const struct pkt p = {
		.psn = 42, .opcode = ROCE_RC_SEND_ONLY, .flags = PKT_LAST, .type = PKT_DATA, .prio = 3, .ttl = PKT_TTL_INIT
	};
	struct frame f;

	memset(&a, 0, sizeof(a));
	kernel_pair_start(&a.x, "", 1);
	edge_destroy(a.x.edge);
	a.x.edge = NULL;
	a.config = (struct edge_config){
		.topo = a.x.f.topo,
		.flows = &a.x.f.table,
		.switches = a.x.switches,
		.data_prio = 3,
		.lossy_prio = 1,
		.lossless = 1 << 3,
		.adopted = ADOPTED,
		.room_bytes = XRIG_FRAME_BYTES,
	};
	frame_from_pkt(&f, &p, &a.x.f.flows[PAIR_A], &message, false);
	a.size = frame_build(&f, a.bytes, sizeof(a.bytes));
	*state = &a;
	return 0;
}

static int
end(void **state)
{
	struct adopter *a = *state;

	edge_destroy(a->edge);
	xrig_stop(&a->x);
	return 0;
}

static void
open_edge(struct adopter *a)
{
	struct err err = { 0 };

	a->edge = edge_create(&a->config, &err);
	if (a->edge == NULL)
		fail_msg("%s", err.text);
}

static void
release(struct adopter *a, const struct pkt *p)
{
	struct bodies *bodies = edge_bodies(a->edge);

	bodies->ops->release(bodies, p);
}

/* What changed in flight travels beside the bytes, and is in them when they leave. */
static void
a_frame_keeps_its_bytes_and_what_happened_to_it(void **state)
{
	struct adopter *a = *state;
	struct err err = { 0 };
	struct frame f;

	open_edge(a);
	for (uint8_t flags = 0; flags < 4; flags++) {
		struct pkt p = { .time_ps = 77,
				 .ttl = 60,
				 .wire_bytes = 300,
				 .flags = (uint8_t)((flags & 1 ? PKT_CE : 0) | (flags & 2 ? PKT_CORRUPT : 0)) };

		if (edge_adopt(a->edge, &p, a->bytes, a->size, &err) != 0)
			fail_msg("%s", err.text);
		assert_int_equal(p.flow, PAIR_A);
		assert_int_equal(p.type, PKT_DATA);
		assert_int_equal(p.psn, 42);
		assert_int_equal(p.prio, 3);
		assert_int_equal(p.time_ps, 77);
		assert_int_equal(p.ttl, 60);
		assert_int_equal(p.wire_bytes, 300);
		assert_true(p.flags & PKT_BYTES);
		assert_int_equal((p.flags & PKT_CE) != 0, flags & 1);
		assert_int_equal((p.flags & PKT_CORRUPT) != 0, flags >> 1);
		assert_int_equal(edge_bytes(a->edge, &p, a->out, sizeof(a->out)), a->size);
		assert_memory_equal(a->out, a->bytes, a->size);
		assert_int_equal(edge_bytes(a->edge, &p, a->out, a->size - 1), 0);
		assert_int_equal(edge_frame(a->edge, &p, a->out, sizeof(a->out)), a->size);
		assert_int_equal(frame_parse(a->out, a->size, &f), FRAME_OK);
		assert_int_equal(f.ttl, 60);
		assert_int_equal(f.ecn == ECN_CE, flags & 1);
		assert_int_equal(f.corrupt, flags >> 1);
		assert_int_equal(edge_frame(a->edge, &p, a->out, a->size - 1), 0);
		release(a, &p);
	}
}

/* A flow that nobody planned keeps its slot as long as a frame of it is here. */
static void
unplanned_flows_take_slots_and_frames_room(void **state)
{
	struct adopter *a = *state;
	struct pkt held[ADOPTED + 1] = { 0 };
	struct edge_counters sum;
	struct err err = { 0 };

	open_edge(a);
	a->size = kernel_pair_ipv4(&a->x, PAIR_A, PAIR_B, 6, 1000, 22, 100, a->bytes);
	for (uint32_t i = 0; i < ADOPTED; i++)
		assert_int_equal(edge_adopt(a->edge, &held[i], a->bytes, a->size, &err), 0);
	edge_sum(a->edge, &sum);
	assert_int_equal(sum.unplanned_flows, 1);
	assert_int_equal(held[0].flow, PAIR_FLOWS);
	assert_int_equal(held[0].type, PKT_UNKNOWN);
	assert_int_equal(held[0].prio, 1);
	assert_int_equal(edge_adopt(a->edge, &held[ADOPTED], a->bytes, a->size, &err), -ENOBUFS);
	for (uint32_t i = 1; i < ADOPTED; i++)
		release(a, &held[i]);
	a->size = kernel_pair_ipv4(&a->x, PAIR_A, PAIR_B, 6, 1001, 22, 100, a->bytes);
	assert_int_equal(edge_adopt(a->edge, &held[1], a->bytes, a->size, &err), -ENOSPC);
	release(a, &held[0]);
	assert_int_equal(edge_adopt(a->edge, &held[1], a->bytes, a->size, &err), 0);
	edge_sum(a->edge, &sum);
	assert_int_equal(sum.unplanned_recycled, 1);
	release(a, &held[1]);
}

/* Control packets have no bytes: the tuple of their flow, planned or not, crosses beside them. */
static void
control_packets_keep_their_flow(void **state)
{
	struct adopter *a = *state;
	struct partition_tuple tuple = { .sport = 50000, .dport = ROCEV2_UDP_PORT, .protocol = IPV4_PROTOCOL_UDP };
	struct pkt p = { .type = PKT_EXPIRED, .flags = PKT_REVERSE, .arg = 3, .prio = 0, .ttl = 60, .wire_bytes = 90 };
	struct err err = { 0 };

	open_edge(a);
	tuple.src_ip = a->x.f.flows[PAIR_A].src_ip;
	tuple.dst_ip = a->x.f.flows[PAIR_A].dst_ip;
	assert_int_equal(edge_adopt(a->edge, &p, (const uint8_t *)&tuple, sizeof(tuple), &err), 0);
	assert_int_equal(p.flow, PAIR_FLOWS);
	assert_int_equal(a->x.f.table.flows[p.flow].sport, 50000);
	assert_int_equal(p.flags, PKT_REVERSE);
	assert_int_equal(p.arg, 3);
	assert_int_equal(p.wire_bytes, 90);
	assert_int_equal(edge_bytes(a->edge, &p, a->out, sizeof(a->out)), sizeof(tuple));
	assert_memory_equal(a->out, &tuple, sizeof(tuple));
	assert_int_equal(edge_bytes(a->edge, &p, a->out, sizeof(tuple) - 1), 0);
	assert_int_equal(edge_adopt(a->edge, &p, (const uint8_t *)&tuple, sizeof(tuple) - 1, &err), -EPROTO);
	tuple.sport++;
	p.time_ps++;
	assert_int_equal(edge_adopt(a->edge, &p, (const uint8_t *)&tuple, sizeof(tuple), &err), 0); /* the first is idle */
	tuple.dst_ip = tuple.src_ip;
	assert_int_equal(edge_adopt(a->edge, &p, (const uint8_t *)&tuple, sizeof(tuple), &err), -EPROTO);
	p = (struct pkt){ .type = PKT_ACK };
	assert_int_equal(edge_bytes(a->edge, &p, a->out, sizeof(a->out)), 0);
}

static void
refuse(struct adopter *a, size_t size, const char *words)
{
	struct err err = { 0 };
	struct pkt p = { 0 };

	assert_int_equal(edge_adopt(a->edge, &p, a->bytes, size, &err), -EPROTO);
	if (strstr(err.text, words) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void
bytes_that_are_no_hosts_frame_are_refused(void **state)
{
	struct adopter *a = *state;
	const char no_frame[] = "that are no frame between two hosts";

	open_edge(a);
	refuse(a, XRIG_FRAME_BYTES + 1, "1101 B of a frame; right would be 1100 at most");
	refuse(a, 10, no_frame);
	kernel_pair_ipv4(&a->x, PAIR_A, PAIR_A, 6, 1000, 22, 100, a->bytes);
	refuse(a, 134, no_frame);
	kernel_pair_ipv4(&a->x, PAIR_A, PAIR_B, 6, 1000, 22, 100, a->bytes);
	kernel_pair_address(a->bytes, kernel_pair_ip(&a->x, "a"), 0x08080808);
	refuse(a, 134, no_frame);
	kernel_pair_address(a->bytes, 0x08080808, kernel_pair_ip(&a->x, "b"));
	refuse(a, 134, no_frame);
	kernel_pair_address(a->bytes, kernel_pair_ip(&a->x, "a"), 0xe0000001);
	refuse(a, 134, no_frame); /* multicast */
	a->bytes[12] = ETH_TYPE_ARP >> 8;
	a->bytes[13] = ETH_TYPE_ARP & 0xff;
	refuse(a, 134, no_frame);
}

static void
an_edge_without_memory_is_refused(void **state)
{
	struct adopter *a = *state;
	uint32_t refused = 0;

	FOR_EACH_REFUSED(nth)
	{
		struct err err = { 0 };
		bool was;

		a->edge = edge_create(&a->config, &err);
		was = alloc_was_refused();
		if ((a->edge == NULL) != was || (was && strstr(err.text, "memory") == NULL))
			fail_msg("allocation %u: \"%s\"", (unsigned)nth, err.text);
		if (!was)
			break;
		assert_int_equal(errno, ENOMEM);
		refused++;
	}
	assert_true(refused >= 6);
}

static void
hosts_that_cannot_be_made_are_refused(void **state)
{
	struct adopter *a = *state;
	struct kernel_host_nic_config nic = { 0 };
	struct kernel_host_config host = {
		.node = topo_find(a->x.f.topo, "a"),
		.topo = a->x.f.topo,
		.nics = &nic,
		.sertables = &a->x.f.sertables,
		.telemetry = &a->x.f.config.telemetry,
		.mtu_bytes = XRIG_FRAME_BYTES,
	};
	uint64_t *rate_bps = &a->x.f.topo->ports[a->x.f.topo->nodes[host.node].first_port].rate_bps, usual_bps = *rate_bps;
	struct err err = { 0 };
	uint32_t refused = 0;

	open_edge(a);
	host.edge = a->edge;
	*rate_bps = 1000;
	assert_null(kernel_host_create(&host, &err));
	assert_non_null(strstr(err.text, "NIC 1 of a: a rate of 1000 bit/s is too low (at least "));
	*rate_bps = usual_bps;
	FOR_EACH_REFUSED(nth)
	{
		struct node *node;
		bool was;

		err.text[0] = '\0';
		node = kernel_host_create(&host, &err);
		was = alloc_was_refused();
		if ((node == NULL) != was || (was && strstr(err.text, "out of memory for host a") == NULL))
			fail_msg("allocation %u: \"%s\"", (unsigned)nth, err.text);
		if (!was) {
			node_destroy(node);
			break;
		}
		assert_int_equal(errno, ENOMEM);
		refused++;
	}
	assert_true(refused >= 3);
	a->config.flows = &(struct flow_table){ 0 };
	edge_destroy(a->edge);
	err.text[0] = '\0';
	a->edge = edge_create(&a->config, &err);
	assert_null(a->edge);
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(err.text, "external hosts need spare flow slots"));
}

UNIT_TEST(kernel_host_adopt)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(a_frame_keeps_its_bytes_and_what_happened_to_it),
		TEST(unplanned_flows_take_slots_and_frames_room),
		TEST(control_packets_keep_their_flow),
		TEST(bytes_that_are_no_hosts_frame_are_refused),
		TEST(an_edge_without_memory_is_refused),
		TEST(hosts_that_cannot_be_made_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

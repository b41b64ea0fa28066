/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An embedded host, e, and an external one, a, which the test is, frame by frame. For one test program each.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "rxe-hosts/device/embedded/embedded.h"
#include "tests/integration/kernel_host_rig.h"

#define MTU 256
#define REGION 65536
#define MS 1000000ull /* ns */

static const char star[] = "topology = { kind = \"explicit\"; rate = \"10Gbps\"; delay = \"20us\"; switches = [ \"S1\" ]; "
			   "hosts = [ \"a\", \"e\" ]; links = ( \"S1 a\", \"S1 e\" ); };";

static const char *const kernel_host[] = { "a" };

/* The embedded host e, with its program; a is external. */
struct talk {
	struct xrig x;
	uint32_t to_e, to_a; /* flows */
	struct roce_params params;
	struct embedded_shared *shared;
	struct node *e;
	struct device *dev;
	uint8_t region[REGION], got[REGION];
	struct wc wcs[32];
	struct datagram datagram; /* the latest that came in */
	uint32_t nwcs, accepts;
	uint32_t accept_imm;
};

static inline void
completed(void *ctx, const struct wc *wc)
{
	struct talk *t = ctx;

	t->wcs[t->nwcs++] = *wc;
}

static inline void
received(void *ctx, const struct datagram *datagram, uint64_t now_ps)
{
	((struct talk *)ctx)->datagram = *datagram;
}

static inline void
accept_bytes(void *ctx, uint32_t flow, uint32_t imm, uint64_t offset, const void *src, uint32_t bytes)
{
	struct talk *t = ctx;

	assert_true(offset + bytes <= REGION);
	memcpy(t->got + offset, src, bytes);
	t->accepts++;
	t->accept_imm = imm;
}

/* What a composition root does: the memory of a is registered at VA 0x7000 with rkey 5. */
static inline bool
describe(void *ctx, const struct pkt *p, struct pkt_message *message)
{
	const struct talk *t = ctx;

	embedded_describe(t->shared, &t->params, p, message);
	message->va += 0x7000;
	message->rkey = 5;
	message->qkey = 0x11111111;
	return true;
}

static inline void
begin(struct talk *t)
{
	struct roce_cfg cfg = {
		.mtu_bytes = MTU,
		.control_bytes = 84,
		.ack_every = 1,
		.window = "none",
		.data_prio = 3,
		.timeout_ps = 4 * PS_PER_MS,
		.timeout_doublings = 3,
		.retry_count = 7,
		.rnr_delay_ps = 20 * PS_PER_US,
		.rnr_retry = ROCE_RNR_UNLIMITED,
		.nak = true,
	};
	struct device_client client = { .ctx = t, .completed = completed, .received = received, .accept = accept_bytes };
	struct embedded_config config;
	struct prng prng;
	struct err err = { 0 };

	memset(t, 0, sizeof(*t));
	frig_init(&t->x.f, star);
	t->to_e = frig_flow(&t->x.f, "a", "e", 3);
	t->to_a = frig_flow(&t->x.f, "e", "a", 3);
	for (uint32_t i = 0; i < 2; i++) {
		t->x.f.flows[i].src_qpn = 0x100 + i;
		t->x.f.flows[i].dst_qpn = 0x200 + i;
	}
	t->x.source = (struct message_source){ t, describe };
	xrig_start(&t->x, kernel_host, 1, 4);
	assert_int_equal(roce_params_init(&t->params, &cfg, NULL, 0, &err), 0);
	t->params.real_payload = true;
	t->shared = embedded_shared_create(t->x.f.topo, &t->x.f.table, &err);
	assert_non_null(t->shared);
	config = (struct embedded_config){
		.node = topo_find(t->x.f.topo, "e"),
		.topo = t->x.f.topo,
		.flows = &t->x.f.table,
		.shared = t->shared,
		.sertables = &t->x.f.sertables,
		.params = &t->params,
	};
	t->e = embedded_host_create(&config, &err);
	if (t->e == NULL)
		fail_msg("%s", err.text);
	fabric_attach(t->x.f.fabric, t->e);
	t->dev = embedded_device(t->e);
	t->dev->ops->set_client(t->dev, &client);
	prng_init(&prng, 3, 0);
	for (uint32_t i = 0; i < REGION; i++)
		t->region[i] = (uint8_t)prng_next(&prng);
	t->dev->ops->register_region(t->dev, t->region, REGION);
}

static inline void
finish(struct talk *t)
{
	assert_int_equal(xrig_in_use(&t->x), 0);
	assert_true(frig_conserves(&t->x.f));
	node_destroy(t->e);
	xrig_stop(&t->x);
	embedded_shared_destroy(t->shared);
}

/* a sends at at_ns one packet of the flow to e, with an opcode and payload of the test's own. */
static inline void
from_a(struct talk *t, uint64_t at_ns, uint8_t opcode, uint32_t psn, const uint8_t *payload, uint32_t payload_bytes,
       uint64_t va, uint32_t imm)
{
	const struct flow *flow = &t->x.f.flows[t->to_e];
	uint8_t bytes[XRIG_FRAME_BYTES];
	struct frame f = {
		.ttl = 64,
		.src_ip = flow->src_ip,
		.dst_ip = flow->dst_ip,
		.sport = flow->sport,
		.kind = FRAME_ROCE,
		.ecn = ECN_ECT0,
		.dont_fragment = true,
		.opcode = opcode,
		.pkey = BTH_PKEY_DEFAULT,
		.dst_qpn = flow->dst_qpn,
		.psn = psn,
		.va = va,
		.rkey = 9,
		.dma_bytes = 1000,
		.imm = imm,
		.qkey = 7,
		.src_qpn = flow->src_qpn,
		.payload = payload,
		.payload_bytes = payload_bytes,
		.ackreq = true,
	};
	size_t size = frame_build(&f, bytes, sizeof(bytes));

	assert_true(size != 0);
	port_rig_hold(t->x.ports[0], at_ns);
	port_rig_send(t->x.ports[0], bytes, (uint32_t)size);
}

/* a answers the flow from e. */
static inline void
reply_from_a(struct talk *t, uint64_t at_ns, uint32_t psn, uint8_t syndrome)
{
	const struct flow *flow = &t->x.f.flows[t->to_a];
	uint8_t bytes[XRIG_FRAME_BYTES];
	struct frame f = {
		.ttl = 64,
		.src_ip = flow->dst_ip,
		.dst_ip = flow->src_ip,
		.sport = flow->sport,
		.kind = FRAME_ROCE,
		.opcode = ROCE_RC_ACK,
		.pkey = BTH_PKEY_DEFAULT,
		.dst_qpn = flow->src_qpn,
		.psn = psn,
		.syndrome = syndrome,
	};

	port_rig_hold(t->x.ports[0], at_ns);
	port_rig_send(t->x.ports[0], bytes, (uint32_t)frame_build(&f, bytes, sizeof(bytes)));
}

/* The n-th frame that a was given, right in every byte. */
static inline struct frame
at_a(const struct talk *t, uint32_t n)
{
	const struct port_rig_frame *out = &t->x.ports[0]->out[n];
	struct frame f;

	assert_true(n < t->x.ports[0]->nout);
	assert_int_equal(frame_parse(out->data, out->size, &f), FRAME_OK);
	assert_false(f.corrupt);
	assert_int_equal(f.kind, FRAME_ROCE);
	return f;
}

static inline void
expect_reply(const struct talk *t, uint32_t n, uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	struct frame f = at_a(t, n);

	assert_int_equal(f.opcode, ROCE_RC_ACK);
	assert_int_equal(f.syndrome, syndrome);
	assert_int_equal(f.psn, psn);
	assert_int_equal(f.msn, msn);
	assert_int_equal(f.dst_qpn, t->x.f.flows[t->to_e].src_qpn);
	assert_int_equal(f.sport, t->x.f.flows[t->to_e].sport);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/sim/interop_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dpswitch/edge/kernel_host/kernel_host.h"
#include "rxe-hosts/device/embedded/embedded.h"
#include "tests/sim/interop.h"
#include "tests/unit/dpswitch/fabric_rig.h"

#define MTU 1024
#define LARGEST 2000 /* frame on the wire */
#define SPARES 8
#define QPN_FIRST 0x200

static const char star[] = "topology = { kind = \"explicit\"; rate = \"1Gbps\"; delay = \"50us\"; switches = [ \"S\" ]; "
			   "hosts = [ \"g\", \"e\" ]; links = ( \"S g\", \"S e\" ); }; ";

static void
completed(void *ctx, const struct wc *wc)
{
	struct interop *t = ctx;

	if (wc->opcode == WC_ERROR)
		t->state = FAILED;
	else if (wc->opcode == WC_SENT)
		t->sent++;
	else
		t->received++;
}

static void
received(void *ctx, const struct datagram *datagram, uint64_t now_ps)
{
	struct interop *t = ctx;

	t->datagrams += datagram->flow == FLOW_UD_IN;
}

static void
accept_bytes(void *ctx, uint32_t flow, uint32_t imm, uint64_t offset, const void *src, uint32_t bytes)
{
	struct interop *t = ctx;
	const uint8_t *at = src;

	t->wrong += imm != t->received || bytes != interop_bytes(imm) || offset != (uint64_t)imm * INTEROP_ROOM;
	for (uint32_t i = 0; i < bytes; i++)
		t->wrong += at[i] != interop_byte(1, imm, i);
}

static bool
describe(void *ctx, const struct pkt *p, struct pkt_message *message)
{
	const struct interop *t = ctx;

	embedded_describe(t->shared, &t->params, p, message);
	message->va += t->va;
	message->rkey = t->rkey;
	message->qkey = INTEROP_QKEY;
	return true;
}

/* The source port of the kernel's unreliable QPs: nobody can choose it (rxe_qp_init_req() of 6.1). */
static uint16_t
ud_sport(uint32_t qpn)
{
	return (uint16_t)(0xc000 + ((qpn * 0x61c88647u) >> 18 & 0x3fff));
}

static void
make_flows(struct interop *t)
{
	static const uint16_t sports[] = { INTEROP_SPORT_IN, INTEROP_SPORT_OUT, 0, 0xd000 };

	for (uint32_t i = 0; i < 4; i++) {
		frig_flow(&t->f, i % 2 == 0 ? "g" : "e", i % 2 == 0 ? "e" : "g", INTEROP_PRIO);
		t->f.flows[i].sport = sports[i];
		t->f.flows[i].src_qpn = QPN_FIRST + i;
		t->f.flows[i].dst_qpn = QPN_FIRST + 16 + i;
	}
	/* The first QPs of a fresh kernel are 17, 18 and 19. */
	t->f.flows[FLOW_UD_IN].sport = ud_sport(19);
	t->f.table.spares = SPARES;
	for (uint32_t i = 0; i < SPARES; i++)
		t->f.flows[4 + i].kind = FLOW_UNPLANNED;
}

static int
make_embedded(struct interop *t, struct err *err)
{
	const struct roce_cfg cfg = {
		.mtu_bytes = MTU,
		.control_bytes = 84,
		.ack_every = 1,
		.window = "16KB",
		.data_prio = INTEROP_PRIO,
		.timeout_ps = 200 * PS_PER_MS,
		.timeout_doublings = 3,
		.retry_count = 7,
		.rnr_delay_ps = PS_PER_MS,
		.rnr_retry = ROCE_RNR_UNLIMITED,
		.nak = true,
	};
	const struct device_client client = {
		.ctx = t, .completed = completed, .received = received, .accept = accept_bytes
	};
	struct embedded_config config = {
		.node = topo_find(t->f.topo, "e"),
		.topo = t->f.topo,
		.flows = &t->f.table,
		.sertables = &t->f.sertables,
		.params = &t->params,
	};

	if (roce_params_init(&t->params, &cfg, NULL, 0, err) < 0)
		return -EINVAL;
	t->params.real_payload = true;
	t->shared = embedded_shared_create(t->f.topo, &t->f.table, err);
	t->region = malloc(INTEROP_MESSAGES * INTEROP_ROOM);
	if (t->shared == NULL || t->region == NULL)
		return -ENOMEM;
	config.shared = t->shared;
	t->host = embedded_host_create(&config, err);
	if (t->host == NULL)
		return -errno;
	fabric_attach(t->f.fabric, t->host);
	t->dev = embedded_device(t->host);
	t->dev->ops->set_client(t->dev, &client);
	t->dev->ops->register_region(t->dev, t->region, INTEROP_MESSAGES * INTEROP_ROOM);
	for (uint32_t i = 0; i < INTEROP_ROUNDS; i++)
		t->dev->ops->post_receive(t->dev, FLOW_IN, (uint64_t)(2 * i + 1) * INTEROP_ROOM, INTEROP_ROOM);
	for (uint32_t i = 0; i < INTEROP_DATAGRAMS; i++)
		t->dev->ops->post_receive(t->dev, FLOW_UD_IN, 0, INTEROP_ROOM);
	t->host->ops->expect_work(t->host, true);
	return 0;
}

static int
make_kernel_host(struct interop *t, struct err *err)
{
	const struct kernel_host_nic_config nic = { .port = t->port };
	const struct kernel_host_config host = {
		.node = topo_find(t->f.topo, "g"),
		.topo = t->f.topo,
		.nics = &nic,
		.edge = t->edge,
		.sertables = &t->f.sertables,
		.window_ps = t->f.fabric->window_ps,
		.mtu_bytes = LARGEST,
		.min_frame_bytes = t->f.config.min_frame_bytes,
	};

	t->guest = kernel_host_create(&host, err);
	if (t->guest == NULL)
		return -errno;
	fabric_attach(t->f.fabric, t->guest);
	t->guest->ops->expect_work(t->guest, true);
	return 0;
}

int
interop_build(struct interop *t, const char *socket_path, const char *faults, struct err *err)
{
	const struct port_config port = { .name = "g", .mbufs = 1023 };
	struct edge_config edge = {
		.flows = &t->f.table,
		.switches = t->switches,
		.source = { t, describe },
		.idle_ps = PS_PER_S,
		.data_prio = INTEROP_PRIO,
		.lossy_prio = 1,
		.lossless = 1 << INTEROP_PRIO,
	};
	char text[1024];

	snprintf(text, sizeof(text), "%s%s", star, faults);
	frig_init(&t->f, text);
	t->f.setup.all.ecn.enabled = false;
	t->f.config.mtu_bytes = LARGEST;
	make_flows(t);
	edge.topo = t->f.topo;
	t->port = port_vhost_create(&port, socket_path, err);
	if (t->port == NULL)
		return -errno;
	t->edge = edge_create(&edge, err);
	if (t->edge == NULL)
		return -errno;
	t->f.fabric_config.bodies = edge_bodies(t->edge);
	if (frig_start(&t->f) < 0)
		return err_set(err, -EINVAL, "%s", t->f.err.text);
	memcpy(t->switches, t->f.switches, t->f.topo->nnodes * sizeof(*t->switches));
	return make_embedded(t, err) < 0 ? -EINVAL : make_kernel_host(t, err);
}

void
interop_destroy(struct interop *t)
{
	node_destroy(t->guest);
	node_destroy(t->host);
	frig_stop(&t->f);
	edge_destroy(t->edge);
	port_close(t->port);
	embedded_shared_destroy(t->shared);
	free(t->region);
}

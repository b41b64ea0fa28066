/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/integration/kernel_host_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

void
xrig_start(struct xrig *x, const char *const *hosts, uint32_t count, uint32_t spares)
{
	struct err err = { 0 };
	struct edge_config config = {
		.room_bytes = PORT_RIG_ROOM_BYTES,
		.topo = x->f.topo,
		.flows = &x->f.table,
		.switches = x->switches,
		.source = x->source,
		.shared = x->lcores > 1,
		.idle_ps = x->idle_ps,
		.data_prio = 3,
		.lossy_prio = 1,
		.lossless = 1 << 3,
	};

	assert_int_equal(port_rig_eal(), 0);
	assert_true(x->f.table.count + spares <= FRIG_MAX_FLOWS && x->f.topo->nnodes <= XRIG_MAX_NODES);
	x->f.table.spares = spares;
	for (uint32_t i = 0; i < spares; i++)
		x->f.flows[x->f.table.count + i].kind = FLOW_UNPLANNED;
	x->f.config.mtu_bytes = XRIG_FRAME_BYTES;
	x->f.setup.all.ecn.enabled = x->ecn;
	for (uint32_t i = 0; i < count; i++)
		x->ports[i] = x->devices[i] != NULL ? NULL : port_rig_create(hosts[i], x->mbufs != 0 ? x->mbufs : 2047);
	x->edge = edge_create(&config, &err);
	if (x->edge == NULL)
		fail_msg("%s", err.text);
	x->f.fabric_config.bodies = edge_bodies(x->edge);
	x->f.fabric_config.lcores = x->lcores != 0 ? x->lcores : 1;
	if (frig_start(&x->f) < 0)
		fail_msg("%s", x->f.err.text);
	memcpy(x->switches, x->f.switches, x->f.topo->nnodes * sizeof(*x->switches));
	for (uint32_t i = 0; i < count; i++) {
		struct kernel_host_nic_config nic = { .pfc = x->pfc };
		struct kernel_host_config host = {
			.node = topo_find(x->f.topo, hosts[i]),
			.topo = x->f.topo,
			.nics = &nic,
			.edge = x->edge,
			.sertables = &x->f.sertables,
			.telemetry = &x->f.config.telemetry,
			.window_ps = x->f.fabric->window_ps,
			.mtu_bytes = XRIG_FRAME_BYTES,
			.min_frame_bytes = x->f.config.min_frame_bytes,
			.hold_bytes = x->hold_bytes,
		};

		if (x->ports[i] != NULL)
			x->ports[i]->clock_ps = &x->f.fabric->window.start_ps;
		nic.port = x->ports[i] != NULL ? &x->ports[i]->port : x->devices[i];
		x->nodes[i] = kernel_host_create(&host, &err);
		if (x->nodes[i] == NULL)
			fail_msg("%s", err.text);
		x->ids[i] = host.node;
		fabric_attach(x->f.fabric, x->nodes[i]);
	}
	x->count = count;
}

void
xrig_stop(struct xrig *x)
{
	for (uint32_t i = 0; i < x->count; i++)
		node_destroy(x->nodes[i]);
	frig_stop(&x->f);
	edge_destroy(x->edge);
	assert_int_equal(xrig_in_use(x), 0);
	for (uint32_t i = 0; i < x->count; i++)
		if (x->ports[i] != NULL)
			port_rig_destroy(x->ports[i]);
		else
			port_close(x->devices[i]);
}

uint32_t
xrig_in_use(const struct xrig *x)
{
	uint32_t mbufs = 0;

	for (uint32_t i = 0; i < x->count; i++)
		mbufs += x->ports[i] != NULL ? port_rig_in_use(x->ports[i]) : 0;
	return mbufs;
}

static void
settle(void *ctx, const struct window *window)
{
	const struct xrig *x = (const struct xrig *)((const char *)ctx - offsetof(struct xrig, f));

	(void)window;
	edge_settle(x->edge);
}

void
xrig_run(struct xrig *x, uint64_t end_ps)
{
	if (x->lcores > 1)
		x->f.fabric->hooks.arriving = settle;
	for (uint32_t i = 0; i < x->count; i++)
		x->nodes[i]->ops->expect_work(x->nodes[i], true);
	frig_run(&x->f, end_ps);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dpswitch/fabric_rig.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/record_hdr.h"
#include "topo/build.h"

#define SPINS 100 /* of a barrier, until it sleeps */

static uint64_t
next_change(void *ctx, uint64_t now_ps)
{
	return faults_next_ps(&((struct frig *)ctx)->faults, now_ps);
}

static void
change(void *ctx, uint64_t now_ps)
{
	struct frig *rig = ctx;

	faults_apply(&rig->faults, &rig->env, now_ps);
}

void
frig_init(struct frig *rig, const char *scenario)
{
	memset(rig, 0, sizeof(*rig));
	rig->cfg = cfg_load_string(scenario, "test.cfg", &rig->err);
	if (rig->cfg == NULL || topo_build(rig->cfg, &rig->topo, &rig->err) < 0)
		fail_msg("%s", rig->err.text);
	rig->routes = route_table_create(rig->topo, ROUTE_SHORTEST);
	assert_non_null(rig->routes);
	if (switch_setup_load(&rig->setup, rig->cfg, rig->topo, &rig->err) < 0)
		fail_msg("%s", rig->err.text);
	rig->table.flows = rig->flows;
	rig->fabric_config = (struct fabric_config){
		.topo = rig->topo,
		.epoch_ps = PS_PER_MS,
		.limit_ps = FRIG_LIMIT_PS,
		.stall_ps = FRIG_LIMIT_PS,
		.seed = 1,
		.min_frame_bytes = 64,
		.pause_bytes = FRIG_PAUSE_BYTES,
		.lcores = 1,
	};
	rig->config = (struct switch_config){
		.topo = rig->topo,
		.flows = &rig->table,
		.routes = rig->routes,
		.healthy_routes = rig->routes,
		.sertables = &rig->sertables,
		.setup = &rig->setup,
		.telemetry = { .epoch_ps = PS_PER_MS, .kept = 2 },
		.seed = 1,
		.hash_seed = 1,
		.mtu_bytes = 1000,
		.min_frame_bytes = 64,
		.pause_bytes = FRIG_PAUSE_BYTES,
	};
}

uint32_t
frig_flow(struct frig *rig, const char *src, const char *dst, uint8_t prio)
{
	uint32_t from = topo_find(rig->topo, src), to = topo_find(rig->topo, dst), i = rig->table.count++;

	assert_true(from != TOPO_NONE && to != TOPO_NONE && i < FRIG_MAX_FLOWS);
	rig->flows[i] = (struct flow){
		.src_node = from,
		.dst_node = to,
		.src_ip = topo_nic_ip(from, 0),
		.dst_ip = topo_nic_ip(to, 0),
		.sport = (uint16_t)(10000 + i),
		.dport = ROCEV2_UDP_PORT,
		.prio = prio,
	};
	return i;
}

static int
make_node(struct frig *rig, uint32_t id)
{
	if (rig->topo->nodes[id].kind == TOPO_SWITCH) {
		rig->switches[id] = switch_create(&rig->config, id, &rig->err);
		if (rig->switches[id] == NULL)
			return -1;
		fabric_attach(rig->fabric, &rig->switches[id]->node);
		return 0;
	}
	rig->hosts[id] = frig_host_create(rig->topo, &rig->table, id);
	fabric_attach(rig->fabric, &rig->hosts[id]->node);
	return 0;
}

static bool
crosses(void *ctx, uint32_t port)
{
	return ((struct frig *)ctx)->topo->nports > port; /* every flow by every way */
}

static uint64_t
held_ps(void *ctx, uint32_t port)
{
	return ((struct frig *)ctx)->held_ps;
}

int
frig_start(struct frig *rig)
{
	rig->fabric = fabric_create(&rig->fabric_config, &rig->err);
	if (rig->fabric == NULL)
		fail_msg("%s", rig->err.text);
	rig->config.window_ps = rig->fabric->window_ps;
	rig->config.pipeline_ps = rig->fabric_config.pipeline_ps;
	rig->switches = calloc(rig->topo->nnodes, sizeof(*rig->switches));
	rig->hosts = calloc(rig->topo->nnodes, sizeof(*rig->hosts));
	assert_non_null(rig->switches);
	assert_non_null(rig->hosts);
	for (uint32_t i = 0; i < rig->topo->nnodes; i++)
		if (make_node(rig, i) < 0)
			return -1;
	assert_int_equal(fabric_partition(rig->fabric, &rig->err), 0);
	rig->env = (struct fault_env){
		.fabric = rig->fabric,
		.topo = rig->topo,
		.run = rig,
		.crosses = crosses,
		.held_ps = held_ps,
	};
	if (faults_load(&rig->faults, switch_faults, rig->cfg, rig->topo, &rig->err) < 0)
		return -1;
	rig->fabric->hooks = (struct fabric_hooks){ .ctx = rig, .next_change_ps = next_change, .change = change };
	return 0;
}

void
frig_send_pkt(struct frig *rig, uint64_t at_ps, const struct pkt *p)
{
	frig_host_send(rig->hosts[rig->flows[p->flow].src_node], at_ps, p);
}

void
frig_send(struct frig *rig, uint32_t flow, uint64_t at_ps, uint32_t wire_bytes, uint32_t count)
{
	struct pkt p = {
		.flow = flow,
		.wire_bytes = (uint16_t)wire_bytes,
		.type = PKT_DATA,
		.prio = rig->flows[flow].prio,
		.ttl = PKT_TTL_INIT,
	};

	for (p.psn = 0; p.psn < count; p.psn++)
		frig_send_pkt(rig, at_ps, &p);
}

void
frig_pause(struct frig *rig, const char *name, uint64_t at_ps, uint8_t prio_mask, bool xoff)
{
	frig_host_pause(frig_host(rig, name), at_ps, prio_mask, xoff);
}

struct lcore_thread {
	struct fabric *fabric;
	uint32_t lcore;
	pthread_t thread;
};

static void *
lcore_main(void *arg)
{
	struct lcore_thread *lcore = arg;

	fabric_run(lcore->fabric, lcore->lcore);
	return NULL;
}

void
frig_run(struct frig *rig, uint64_t end_ps)
{
	struct lcore_thread others[FABRIC_MAX_LCORES];

	rig->fabric->config.limit_ps = end_ps;
	/* Tests run beside others: a thread that waits leaves its CPU to them soon. */
	rig->fabric->barrier.spins = SPINS;
	for (uint32_t l = 1; l < rig->fabric->config.lcores; l++) {
		others[l] = (struct lcore_thread){ .fabric = rig->fabric, .lcore = l };
		assert_int_equal(pthread_create(&others[l].thread, NULL, lcore_main, &others[l]), 0);
	}
	fabric_run(rig->fabric, 0);
	for (uint32_t l = 1; l < rig->fabric->config.lcores; l++)
		pthread_join(others[l].thread, NULL);
}

void
frig_stop(struct frig *rig)
{
	for (uint32_t i = 0; rig->fabric != NULL && i < rig->topo->nnodes; i++) {
		if (rig->switches[i] != NULL)
			node_destroy(&rig->switches[i]->node);
		frig_host_destroy(rig->hosts[i]);
	}
	free(rig->switches);
	free(rig->hosts);
	fabric_destroy(rig->fabric);
	faults_fini(&rig->faults);
	route_pins_destroy(rig->pins);
	route_table_destroy(rig->routes);
	sertables_fini(&rig->sertables);
	switch_setup_fini(&rig->setup);
	topo_destroy(rig->topo);
	cfg_destroy(rig->cfg);
}

struct frig_host *
frig_host(const struct frig *rig, const char *name)
{
	struct frig_host *host = rig->hosts[topo_find(rig->topo, name)];

	assert_non_null(host);
	return host;
}

struct sw *
frig_switch(const struct frig *rig, const char *name)
{
	struct sw *sw = rig->switches[topo_find(rig->topo, name)];

	assert_non_null(sw);
	return sw;
}

struct link *
frig_link(const struct frig *rig, const char *port)
{
	uint32_t id = topo_find_port(rig->topo, port);

	assert_true(id != TOPO_NONE);
	return &rig->fabric->links[id];
}

bool
frig_conserves(const struct frig *rig)
{
	uint64_t packets_in = 0, bytes_in = 0, packets_out, bytes_out;
	struct fabric_totals totals;

	fabric_sum(rig->fabric, &totals);
	packets_out = totals.in_flight_packets + totals.lost_packets;
	bytes_out = totals.in_flight_bytes + totals.lost_bytes;
	for (uint32_t i = 0; i < rig->topo->nnodes; i++) {
		const struct node *node = rig->fabric->nodes[i];

		packets_in += node->count.born_packets;
		bytes_in += node->count.born_bytes;
		packets_out += node->count.consumed_packets + node->count.dropped_packets;
		bytes_out += node->count.consumed_bytes + node->count.dropped_bytes;
		node->ops->held(node, &packets_out, &bytes_out);
	}
	return packets_in == packets_out && bytes_in == bytes_out;
}

const void *
frig_record(const struct node *node, uint16_t type, uint32_t n)
{
	for (size_t at = 0; at < node->records.used_bytes;) {
		const struct rec_hdr *hdr = (const struct rec_hdr *)(node->records.data + at);

		if (hdr->type == type && n-- == 0)
			return hdr;
		at += hdr->size;
	}
	return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/dpswitch/fabric_rig.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/minmax.h"
#include "common/wire/record_hdr.h"
#include "topo/build.h"

/* Room for one more element of an array; element counts double. */
#define GROW(array, count)                                                                                                 \
	do {                                                                                                               \
		if (((count) & ((count)-1)) == 0) {                                                                        \
			(array) = realloc((array), ((count) != 0 ? 2 * (count) : 1) * sizeof(*(array)));                   \
			assert_non_null(array);                                                                            \
		}                                                                                                          \
	} while (0)

static struct frig_host *
host_of(const struct node *node)
{
	return (struct frig_host *)(uintptr_t)node;
}

static uint32_t
serialize_ps(const struct frig_host *host, uint32_t wire_bytes)
{
	return (uint32_t)units_serialize_ps(wire_bytes, host->node.tx[0]->rate_bps, 0);
}

/* When the next frame of a list starts, TIME_NEVER while it is paused or there is none. */
static uint64_t
frame_ps(const struct frig_host *host, const struct frig_frames *list)
{
	const struct frig_frame *frame = &list->frames[list->next];

	if (list->next == list->count || (host->paused >> frame->p.prio & 1))
		return TIME_NEVER;
	return max_u64(frame->at_ps, max_u64(host->free_ps, host->floor_ps));
}

/* The list whose frame starts first. @param start_ps  set to when */
static struct frig_frames *
next_frames(struct frig_host *host, uint64_t *start_ps)
{
	uint64_t control_ps = frame_ps(host, &host->control), data_ps = frame_ps(host, &host->data);

	*start_ps = control_ps <= data_ps ? control_ps : data_ps;
	return control_ps <= data_ps ? &host->control : &host->data;
}

static void
send_frame(struct frig_host *host, struct frig_frames *list, uint64_t start_ps, const struct window *window)
{
	struct pkt p = list->frames[list->next++].p;

	host->free_ps = start_ps + serialize_ps(host, p.wire_bytes);
	link_send(host->node.tx[0], window->parity, &p, host->free_ps);
	p.time_ps = host->free_ps + host->node.tx[0]->delay_ps;
	GROW(host->sent, host->nsent);
	host->sent[host->nsent++] = p;
	host->node.count.born_packets++;
	host->node.count.born_bytes += p.wire_bytes;
	host->node.count.tx_packets++;
	host->node.count.tx_bytes += p.wire_bytes;
}

static void
take_arrivals(struct frig_host *host, uint64_t end_ps)
{
	struct link *rx = host->node.rx[0];
	struct pkt *pkts;
	uint32_t count = link_arrivals(rx, end_ps, &pkts);

	for (uint32_t i = 0; i < count; i++) {
		GROW(host->got, host->ngot);
		host->got[host->ngot++] = pkts[i];
		host->node.count.rx_packets++;
		host->node.count.rx_bytes += pkts[i].wire_bytes;
		host->node.count.consumed_packets++;
		host->node.count.consumed_bytes += pkts[i].wire_bytes;
		host->node.count.progress += pkts[i].wire_bytes;
		host->node.digest = host->node.digest * 31 + pkts[i].time_ps + pkts[i].flow + pkts[i].flags;
	}
	link_consume(rx, count, 0);
}

static void
host_run(struct node *node, const struct window *window)
{
	struct frig_host *host = host_of(node);
	const struct pause_frame *pauses;
	uint32_t npauses, taken = 0;

	link_receive(node->rx[0], window->parity);
	take_arrivals(host, window->end_ps);
	npauses = link_pauses(node->rx[0], window->end_ps, &pauses);
	for (;;) {
		uint64_t start_ps;
		struct frig_frames *list = next_frames(host, &start_ps);
		uint64_t pause_ps = taken < npauses ? pauses[taken].time_ps : TIME_NEVER;

		if (pause_ps <= start_ps && taken < npauses) {
			const struct pause_frame *frame = &pauses[taken++];

			GROW(host->pauses, host->npauses);
			host->pauses[host->npauses++] = *frame;
			host->paused =
				frame->xoff ? host->paused | frame->prio_mask : host->paused & (uint8_t)~frame->prio_mask;
			host->floor_ps = pause_ps;
			continue;
		}
		if (start_ps >= window->end_ps)
			break;
		send_frame(host, list, start_ps, window);
	}
	link_consume(node->rx[0], 0, npauses);
	for (; host->next_own < host->nown && host->own[host->next_own].at_ps < window->end_ps; host->next_own++) {
		const struct frig_own_pause *own = &host->own[host->next_own];

		host->holding = own->xoff ? host->holding | own->prio_mask : host->holding & (uint8_t)~own->prio_mask;
		link_send_pause(node->tx[0], window->parity, own->prio_mask, own->xoff, own->at_ps + node->tx[0]->pause_ps);
	}
}

static uint64_t
host_next_ps(const struct node *node)
{
	struct frig_host *host = host_of(node);
	uint64_t own_ps = host->next_own < host->nown ? host->own[host->next_own].at_ps : TIME_NEVER;
	uint64_t next_ps;

	next_frames(host, &next_ps);
	return own_ps < next_ps ? own_ps : next_ps;
}

static void
host_held(const struct node *node, uint64_t *packets, uint64_t *bytes)
{
	(void)node;
	(void)packets;
	(void)bytes;
}

static uint8_t
host_pausing(const struct node *node, uint16_t port)
{
	return ((const struct frig_host *)node)->holding;
}

static void
host_link_changed(struct node *node, uint16_t port, uint8_t held, uint64_t now_ps)
{
	((struct frig_host *)node)->paused = held;
}

static const struct node_ops host_ops = {
	.run = host_run,
	.next_ps = host_next_ps,
	.held = host_held,
	.pausing = host_pausing,
	.link_changed = host_link_changed,
};

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
	rig->routes = route_table_create(rig->topo);
	assert_non_null(rig->routes);
	assert_int_equal(cfg_bind(rig->cfg, &switch_cfg, &rig->params, &rig->err), 0);
	assert_int_equal(cfg_bind(rig->cfg, &switch_pfc_cfg, &rig->pfc, &rig->err), 0);
	assert_int_equal(cfg_bind(rig->cfg, &switch_ecn_cfg, &rig->ecn, &rig->err), 0);
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
		.params = &rig->params,
		.pfc = &rig->pfc,
		.ecn = &rig->ecn,
		.telemetry = { .epoch_ps = PS_PER_MS, .kept = 2 },
		.seed = 1,
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
	struct frig_host *host;

	if (rig->topo->nodes[id].kind == TOPO_SWITCH) {
		rig->switches[id] = switch_create(&rig->config, id, &rig->err);
		if (rig->switches[id] == NULL)
			return -1;
		fabric_attach(rig->fabric, &rig->switches[id]->node);
		return 0;
	}
	host = calloc(1, sizeof(*host));
	assert_non_null(host);
	host->node = (struct node){
		.ops = &host_ops,
		.id = id,
		.nports = rig->topo->nodes[id].nports,
		.topo = rig->topo,
		.flows = &rig->table,
		.status = NODE_RUNNING,
	};
	recbuf_init(&host->node.records, id);
	rig->hosts[id] = host;
	fabric_attach(rig->fabric, &host->node);
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
	struct frig_host *host = rig->hosts[rig->flows[p->flow].src_node];
	struct frig_frames *list = p->prio == 0 ? &host->control : &host->data;

	GROW(list->frames, list->count);
	list->frames[list->count++] = (struct frig_frame){ at_ps, *p };
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
	struct frig_host *host = frig_host(rig, name);

	GROW(host->own, host->nown);
	host->own[host->nown++] = (struct frig_own_pause){ at_ps, prio_mask, xoff };
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
	for (uint32_t l = 1; l < rig->fabric->config.lcores; l++) {
		others[l] = (struct lcore_thread){ .fabric = rig->fabric, .lcore = l };
		assert_int_equal(pthread_create(&others[l].thread, NULL, lcore_main, &others[l]), 0);
	}
	fabric_run(rig->fabric, 0);
	for (uint32_t l = 1; l < rig->fabric->config.lcores; l++)
		pthread_join(others[l].thread, NULL);
}

static void
free_host(struct frig_host *host)
{
	if (host == NULL)
		return;
	recbuf_fini(&host->node.records);
	free(host->control.frames);
	free(host->data.frames);
	free(host->own);
	free(host->got);
	free(host->sent);
	free(host->pauses);
	free(host);
}

void
frig_stop(struct frig *rig)
{
	for (uint32_t i = 0; rig->fabric != NULL && i < rig->topo->nnodes; i++) {
		if (rig->switches[i] != NULL)
			node_destroy(&rig->switches[i]->node);
		free_host(rig->hosts[i]);
	}
	free(rig->switches);
	free(rig->hosts);
	fabric_destroy(rig->fabric);
	faults_fini(&rig->faults);
	route_pins_destroy(rig->pins);
	route_table_destroy(rig->routes);
	sertables_fini(&rig->sertables);
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

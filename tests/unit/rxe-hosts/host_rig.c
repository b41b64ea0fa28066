/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/rxe-hosts/host_rig.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void
completed(void *ctx, const struct wc *wc)
{
	struct rig_host *host = ctx;

	assert(host->nwcs < RIG_MAX_EVENTS);
	host->wcs[host->nwcs++] = *wc;
}

static void
accept_bytes(void *ctx, uint32_t flow, uint32_t imm, uint64_t remote_offset, const void *src, uint32_t bytes)
{
	struct rig_host *host = ctx;

	assert(remote_offset + bytes <= RIG_REGION_BYTES);
	memcpy(host->region + remote_offset, src, bytes);
	host->accepts++;
}

static void
rtt(void *ctx, uint32_t flow, uint64_t rtt_ps, uint64_t now_ps)
{
	struct rig_host *host = ctx;

	if (host->nrtts < RIG_MAX_EVENTS)
		host->rtts[host->nrtts++] = rtt_ps;
}

static void
received(void *ctx, const struct datagram *datagram, uint64_t now_ps)
{
	struct rig_host *host = ctx;

	host->datagram = *datagram;
	host->datagram_ps = now_ps;
	host->ndatagrams++;
	if (host->answer_on != 0 && datagram->type == PKT_UD)
		rig_datagram(host->rig, host->answer_on, PKT_UD, datagram->arg + 1);
}

static void
departed(void *ctx, const struct datagram *datagram)
{
	((struct rig_host *)ctx)->departed = *datagram;
}

static void
timer(void *ctx, uint64_t now_ps)
{
	struct rig_host *host = ctx;

	host->timers++;
	host->timer_ps = now_ps;
}

static void
tick(void *ctx, uint64_t now_ps)
{
	((struct rig_host *)ctx)->ticks++;
}

void
rig_defaults(struct rig *rig)
{
	struct roce_cfg cfg = {
		.mtu_bytes = 1024,
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
	struct err err = { "" };

	memset(rig, 0, sizeof(*rig));
	rig->rate_bps = 100000000000ULL;
	rig->nnics = 1;
	int rc = roce_params_init(&rig->params, &cfg, NULL, 0, &err);
	assert(rc == 0);
}

uint32_t
rig_flow(struct rig *rig, uint32_t host, uint16_t nic)
{
	uint32_t i = rig->table.count++;

	assert(i < RIG_MAX_FLOWS);
	rig->flows[i] = (struct flow){
		.src_node = host,
		.dst_node = 1 - host,
		.src_nic = nic,
		.dst_nic = nic,
		.src_ip = topo_nic_ip(host, nic),
		.dst_ip = topo_nic_ip(1 - host, nic),
		.sport = (uint16_t)(10000 + i),
		.dport = ROCEV2_UDP_PORT,
		.src_qpn = 100 + i,
		.dst_qpn = 200 + i,
		.prio = 3,
	};
	return i;
}

static void
make_topology(struct rig *rig)
{
	rig->topo = (struct topo){
		.nodes = rig->nodes, .ports = rig->ports, .nnodes = 2, .nports = 2 * rig->nnics, .nhosts = 2
	};
	for (uint32_t h = 0; h < 2; h++) {
		rig->nodes[h] = (struct topo_node){
			.name = { 'h', (char)('0' + h) },
			.kind = TOPO_HOST,
			.nports = (uint16_t)rig->nnics,
			.first_port = h * rig->nnics,
		};
		for (uint32_t i = 0; i < rig->nnics; i++)
			rig->ports[h * rig->nnics + i] = (struct topo_port){
				.node = h,
				.index = (uint16_t)i,
				.peer = 1 - h,
				.peer_index = (uint16_t)i,
				.peer_port = (1 - h) * rig->nnics + i,
				.rate_bps = rig->rate_bps,
				.delay_ps = RIG_DELAY_PS,
			};
	}
}

static void
make_links(struct rig *rig)
{
	for (uint32_t i = 0; i < 2 * rig->nnics; i++) {
		struct link_config config = {
			.rate_bps = rig->rate_bps,
			.delay_ps = RIG_DELAY_PS,
			.window_ps = RIG_DELAY_PS,
			.quantum_ps = rig->params.quantum_ps,
			.min_frame_bytes = 60,
			.pause_bytes = 84,
			.inband = rig->params.int_bytes != 0,
			.id = i,
		};
		int rc = link_init(&rig->links[i], &config);

		assert(rc == 0);
	}
}

void
rig_start(struct rig *rig)
{
	struct err err = { "" };

	make_topology(rig);
	rig->table.flows = rig->flows;
	rig->sertables.quantum_ps = rig->params.quantum_ps;
	rig->shared = embedded_shared_create(&rig->topo, &rig->table, &err);
	assert(rig->shared != NULL);
	make_links(rig);
	for (uint32_t h = 0; h < 2; h++) {
		struct embedded_config config = {
			.node = h,
			.topo = &rig->topo,
			.flows = &rig->table,
			.shared = rig->shared,
			.sertables = &rig->sertables,
			.params = &rig->params,
			.telemetry = rig->telemetry[h],
			.bdp_bytes = 300000,
			.first_psn = rig->first_psn,
			.strict = rig->strict,
			.ledger = true,
		};
		struct rig_host *host = &rig->hosts[h];
		struct device_client client = {
			.ctx = host,
			.completed = completed,
			.accept = accept_bytes,
			.rtt = rtt,
			.received = received,
			.departed = departed,
			.timer = timer,
			.tick = tick,
		};

		host->rig = rig;
		host->node = embedded_host_create(&config, &err);
		assert(host->node != NULL);
		host->dev = embedded_device(host->node);
		host->dev->ops->set_client(host->dev, &client);
		host->dev->ops->register_region(host->dev, host->region, RIG_REGION_BYTES);
		for (uint32_t i = 0; i < rig->nnics; i++) {
			rig->tx[h][i] = &rig->links[h * rig->nnics + i];
			rig->rx[h][i] = &rig->links[(1 - h) * rig->nnics + i];
		}
		host->node->tx = rig->tx[h];
		host->node->rx = rig->rx[h];
		host->node->ops->attached(host->node);
	}
}

void
rig_stop(struct rig *rig)
{
	for (uint32_t h = 0; h < 2; h++)
		node_destroy(rig->hosts[h].node);
	for (uint32_t i = 0; i < 2 * rig->nnics; i++)
		link_fini(&rig->links[i]);
	embedded_shared_destroy(rig->shared);
	sertables_fini(&rig->sertables);
}

/* What was sent in the window that ends passes the filter. */
static void
pass(struct rig *rig)
{
	for (uint32_t i = 0; i < 2 * rig->nnics; i++) {
		struct link_lane *lane = &rig->links[i].lane[rig->window.parity];
		struct int_header *ints = rig->links[i].lane_ints[rig->window.parity];
		uint32_t kept = 0;

		for (uint32_t k = 0; k < lane->npkts; k++) {
			struct pkt p = lane->pkts[k];

			rig->sent[i / rig->nnics][p.type]++;
			if (rig->filter != NULL && !rig->filter(rig, i / rig->nnics, &p))
				rig->lost_packets++;
			else
				lane->pkts[kept++] = p;
			if (!(p.flags & PKT_INT))
				continue;
			if (rig->stamp != NULL)
				rig->stamp(rig, &p, &ints[k]);
			ints[kept - (kept != 0)] = ints[k];
		}
		lane->npkts = kept;
	}
}

void
rig_run(struct rig *rig, uint64_t end_ps)
{
	while (rig->window.end_ps < end_ps) {
		rig->window.index++;
		rig->window.parity = rig->window.index & 1;
		rig->window.start_ps = rig->window.end_ps;
		rig->window.end_ps = rig->window.start_ps + RIG_DELAY_PS;
		for (uint32_t h = 0; h < 2; h++)
			rig->hosts[h].node->ops->run(rig->hosts[h].node, &rig->window);
		pass(rig);
	}
}

int
rig_send(struct rig *rig, uint32_t flow, uint64_t bytes, uint64_t wr_id)
{
	struct device *dev = rig->hosts[rig->flows[flow].src_node].dev;
	struct send_wr wr = { .wr_id = wr_id, .bytes = bytes, .imm = (uint32_t)wr_id };

	return dev->ops->post_send(dev, flow, &wr);
}

int
rig_datagram(struct rig *rig, uint32_t flow, uint8_t type, uint32_t arg)
{
	const struct datagram datagram = {
		.wr_id = arg, .flow = flow, .id = 5, .arg = arg, .bytes = 64, .type = type, .signaled = true
	};
	struct device *dev = rig->hosts[rig->flows[flow].src_node].dev;

	return dev->ops->post_datagram(dev, &datagram);
}

const struct wc *
rig_wc(const struct rig *rig, uint32_t host, enum wc_opcode opcode, uint32_t n)
{
	for (uint32_t i = 0; i < rig->hosts[host].nwcs; i++)
		if (rig->hosts[host].wcs[i].opcode == opcode && n-- == 0)
			return &rig->hosts[host].wcs[i];
	return NULL;
}

bool
rig_conserves(const struct rig *rig)
{
	uint64_t born = 0, ended = rig->lost_packets, bytes = 0;

	for (uint32_t h = 0; h < 2; h++) {
		const struct node *node = rig->hosts[h].node;

		born += node->count.born_packets;
		ended += node->count.consumed_packets + node->count.dropped_packets;
		node->ops->held(node, &ended, &bytes);
	}
	for (uint32_t i = 0; i < 2 * rig->nnics; i++)
		link_in_flight(&rig->links[i], &ended, &bytes);
	return born == ended;
}

bool
rig_corrupts_second(struct rig *rig, uint32_t from, struct pkt *p)
{
	(void)from;
	if (p->type == PKT_DATA && ++rig->state == 2)
		p->flags |= PKT_CORRUPT;
	return true;
}

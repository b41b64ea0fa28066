/* SPDX-License-Identifier: BSD-3-Clause */
/* An external host as a node: its life, and the order of what it does in a window. */
#include <errno.h>
#include <stdlib.h>

#include <rte_mbuf.h>

#include "common/hash.h"
#include "common/minmax.h"
#include "common/units.h"
#include "dpswitch/edge/kernel_host/state.h"

/* Arrivals of the window go to the port; pauses and what the host sends happen in order of time. */
static void
run_nic(struct kernel_host *host, struct kernel_host_nic *nic, const struct window *window)
{
	struct link *rx = host->node.rx[nic->index];
	const struct pause_frame *pauses = NULL;
	uint32_t npkts = 0, npauses = 0;
	uint64_t now_ps = window->start_ps;
	struct pkt *pkts = NULL;

	port_tend(nic->port);
	nic->up = port_up(nic->port);
	nic->now_ps = nic->limit_ps = window->start_ps; /* what is sent back waits for its turn */
	if (!link_is_idle(rx, window->parity)) {
		link_receive(rx, window->parity);
		npkts = link_arrivals(rx, window->end_ps, &pkts);
		npauses = link_pauses(rx, window->end_ps, &pauses);
	}
	kernel_host_arrived(host, nic, pkts, npkts);
	kernel_host_offer(host, nic, window->start_ps);
	kernel_host_pause_timers(host, nic, window);
	for (uint32_t i = 0; i < npauses; i++) {
		kernel_host_send(host, nic, now_ps, pauses[i].time_ps);
		now_ps = pauses[i].time_ps;
		kernel_host_pause(host, nic, &pauses[i]);
	}
	kernel_host_send(host, nic, now_ps, window->end_ps);
	if (nic->nown != 0)
		kernel_host_offer(host, nic, window->end_ps);
	link_consume(rx, npkts, npauses);
}

static void
run(struct node *node, const struct window *window)
{
	struct kernel_host *host = kernel_host_of(node);

	host->window = *window;
	if (host->has_telemetry && window->start_ps >= host->epoch_end_ps)
		kernel_host_roll(host, window->start_ps);
	for (uint16_t i = 0; i < node->nports; i++)
		run_nic(host, &host->nics[i], window);
	if (node->status != NODE_NO_BUFFER)
		node->status = host->work_expected ? NODE_RUNNING : NODE_PASSIVE;
}

/* Is there a frame staged that no pause holds? */
static bool
may_send(const struct kernel_host_nic *nic)
{
	for (uint8_t c = 0; nic->staged != 0 && c < KERNEL_HOST_CLASSES; c++)
		if (!fifo_empty(&nic->stage[c]) && !(nic->paused >> c & 1))
			return true;
	return false;
}

/* Is there a frame to take in, and room for it? */
static bool
is_expecting(const struct kernel_host_nic *nic)
{
	return nic->staged < KERNEL_HOST_STAGE && (nic->nwaiting != 0 || port_pending(nic->port));
}

static uint64_t
next_ps(const struct node *node)
{
	const struct kernel_host *host = (const struct kernel_host *)node;
	uint64_t first_ps = TIME_NEVER;

	for (uint16_t i = 0; i < node->nports; i++) {
		const struct kernel_host_nic *nic = &host->nics[i];

		if (nic->nown != 0 || !fifo_empty(&nic->hold) || is_expecting(nic))
			return host->window.end_ps;
		if (may_send(nic))
			first_ps = min_u64(first_ps, nic->free_ps);
		first_ps = min_u64(first_ps, kernel_host_pause_next_ps(nic));
	}
	return first_ps;
}

static void
held(const struct node *node, uint64_t *packets, uint64_t *bytes)
{
	const struct kernel_host *host = (const struct kernel_host *)node;

	for (uint16_t i = 0; i < node->nports; i++) {
		*packets += fifo_count(&host->nics[i].hold);
		*bytes += host->nics[i].hold.bytes;
	}
}

static void
attached(struct node *node)
{
	struct kernel_host *host = kernel_host_of(node);

	for (uint16_t i = 0; i < node->nports; i++) {
		struct kernel_host_nic *nic = &host->nics[i];
		struct link *tx = node->tx[i];
		uint64_t hold_bytes = host->config.hold_bytes != 0 ? host->config.hold_bytes : KERNEL_HOST_HOLD_BYTES;
		/* What still comes after a PAUSE is wanted: both ways of the cable, both ends' windows, frames begun. */
		uint64_t late_ps = 2 * tx->delay_ps + 2 * host->config.window_ps;

		nic->tx = tx;
		nic->xoff_bytes = hold_bytes;
		nic->xon_bytes = hold_bytes / 2;
		nic->limit_bytes = hold_bytes + 3 * (uint64_t)host->config.mtu_bytes +
				   (uint64_t)((double)late_ps * (double)tx->rate_bps / 8 / PS_PER_S);
	}
}

static uint64_t
dropped(const struct node *node, uint16_t nic, enum rec_drop reason)
{
	return ((const struct kernel_host *)node)->nics[nic].telem.drops->of[reason].packets;
}

static void
expect_work(struct node *node, bool expected)
{
	kernel_host_of(node)->work_expected = expected;
	if (node->status != NODE_NO_BUFFER)
		node->status = expected ? NODE_RUNNING : NODE_PASSIVE;
}

static void
drop_queue(struct bodies *bodies, struct fifo *queue)
{
	while (!fifo_empty(queue))
		body_release(bodies, fifo_pop(queue));
	fifo_fini(queue);
}

static void
destroy(struct node *node)
{
	struct kernel_host *host = kernel_host_of(node);

	for (uint32_t i = 0; host->nics != NULL && i < node->nports; i++) {
		struct kernel_host_nic *nic = &host->nics[i];

		rte_pktmbuf_free_bulk(nic->ready, nic->nready);
		rte_pktmbuf_free_bulk(nic->own, nic->nown);
		rte_pktmbuf_free_bulk(nic->waiting, nic->nwaiting);
		drop_queue(node->bodies, &nic->hold);
		for (uint32_t c = 0; c < KERNEL_HOST_CLASSES; c++)
			drop_queue(node->bodies, &nic->stage[c]);
		telem_fini(&nic->telem);
		port_flows_fini(&nic->flows);
	}
	recbuf_fini(&node->records);
	telem_reporter_fini(&host->reporter);
	free(host->nics);
	free(host);
}

static const struct node_ops ops = {
	.attached = attached,
	.run = run,
	.next_ps = next_ps,
	.held = held,
	.dropped = dropped,
	.storm = kernel_host_storm,
	.pausing = kernel_host_pausing,
	.link_changed = kernel_host_link_changed,
	.expect_work = expect_work,
	.destroy = destroy,
};

static int
setup_nics(struct kernel_host *host, struct err *err)
{
	for (uint16_t i = 0; i < host->node.nports; i++) {
		const struct topo_port *cable = topo_port_of(host->node.topo, host->node.id, i);
		const struct sertable *table = sertables_get(host->config.sertables, cable->rate_bps);
		struct kernel_host_nic *nic = &host->nics[i];

		if (table == NULL)
			return err_set(err, -errno, "NIC %u of %s: a rate of %llu bit/s is too low (at least %llu)", i + 1u,
				       host->node.topo->nodes[host->node.id].name, (unsigned long long)cable->rate_bps,
				       SERTABLE_MIN_RATE_BPS);
		nic->port = host->config.nics[i].port;
		nic->pfc = host->config.nics[i].pfc;
		nic->ser_ps = table->ps;
		nic->index = i;
		nic->ip = topo_nic_ip(host->node.id, i);
		nic->refresh_ps = nic->pausing_since_ps = TIME_NEVER;
		if (port_flows_init(&nic->flows, host->node.flows) < 0 ||
		    telem_init(&nic->telem, &host->telemetry, &nic->flows, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

struct node *
kernel_host_create(const struct kernel_host_config *config, struct err *err)
{
	struct kernel_host *host = calloc(1, sizeof(*host));
	int ret = -ENOMEM;

	if (host == NULL)
		goto fail;
	host->config = *config;
	host->edge = config->edge;
	host->node = (struct node){
		.ops = &ops,
		.id = config->node,
		.nports = config->topo->nodes[config->node].nports,
		.topo = config->topo,
		.flows = config->edge->config.flows,
		.status = NODE_PASSIVE,
		.digest = DIGEST_INIT,
	};
	recbuf_init(&host->node.records, config->node);
	telem_reporter_init(&host->reporter, config->node, host->node.flows, &host->node.records,
			    &host->node.count.reports);
	host->telemetry = telem_config_of_host(config->telemetry, host->node.nports);
	host->has_telemetry = config->telemetry != NULL;
	host->nics = calloc(host->node.nports, sizeof(*host->nics));
	if (host->nics != NULL)
		ret = setup_nics(host, err);
	if (ret == 0) {
		host->next = config->edge->hosts;
		config->edge->hosts = host;
		return &host->node;
	}
fail:
	err_set(err, ret, "out of memory for host %s", config->topo->nodes[config->node].name);
	node_destroy(host != NULL ? &host->node : NULL);
	errno = -ret;
	return NULL;
}

bool
kernel_host_pending(const struct node *node)
{
	const struct kernel_host *host = (const struct kernel_host *)node;

	for (uint16_t i = 0; i < node->nports; i++) {
		const struct kernel_host_nic *nic = &host->nics[i];

		if (nic->nown != 0 || !fifo_empty(&nic->hold) || may_send(nic) || is_expecting(nic))
			return true;
	}
	return false;
}

void
kernel_host_sum(const struct node *node, struct kernel_host_counters *sum)
{
	const struct kernel_host *host = (const struct kernel_host *)node;

	*sum = (struct kernel_host_counters){ 0 };
	for (uint16_t i = 0; i < node->nports; i++) {
		const struct kernel_host_nic *nic = &host->nics[i];
		const uint64_t *from = (const uint64_t *)&nic->count;
		uint64_t *to = (uint64_t *)sum;

		for (size_t k = 0; k < sizeof(*sum) / sizeof(*to); k++)
			to[k] += from[k];
		sum->held_bytes += nic->hold.bytes;
		if (nic->paused != 0)
			sum->paused_ps += host->window.end_ps - nic->paused_since_ps;
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and unmaking embedded hosts. */
#include "rxe-hosts/device/embedded/embedded.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/units.h"
#include "rxe-hosts/device/embedded/host.h"

static int check_flows(const struct topo *topo, const struct flow_table *flows, struct err *err);
static int allocate(struct host *host);
static int setup_nics(struct host *host, struct err *err);
static int setup_qps(struct host *host, struct err *err);

/* QP structs are aligned to cache lines. count may be 0. */
static void *
alloc_lines(size_t count, size_t size_bytes)
{
	size_t bytes = count != 0 ? count * size_bytes : 64;
	void *p = aligned_alloc(64, bytes);

	return p != NULL ? memset(p, 0, bytes) : NULL;
}

struct embedded_shared *
embedded_shared_create(const struct topo *topo, const struct flow_table *flows, struct err *err)
{
	struct embedded_shared *shared = calloc(1, sizeof(*shared));
	uint32_t *nsend = calloc(topo->nnodes, sizeof(*nsend)), *nrecv = calloc(topo->nnodes, sizeof(*nrecv));
	int rc = -ENOMEM;

	if (shared == NULL || nsend == NULL || nrecv == NULL)
		goto fail;
	shared->slots = calloc(flow_table_slots(flows) + 1, sizeof(*shared->slots));
	shared->senders = calloc(flow_table_slots(flows) + 1, sizeof(*shared->senders));
	shared->nports = topo->nports;
	shared->ud_qps = calloc(topo->nports + 1, sizeof(*shared->ud_qps));
	if (shared->slots == NULL || shared->senders == NULL || shared->ud_qps == NULL)
		goto fail;
	rc = check_flows(topo, flows, err);
	if (rc != 0)
		goto fail;
	for (uint32_t i = 0; i < flows->count; i++) {
		const struct flow *flow = &flows->flows[i];

		shared->slots[i] = (struct flow_slot){
			.src_node = flow->src_node,
			.dst_node = flow->dst_node,
			.send = nsend[flow->src_node]++,
			.recv = nrecv[flow->dst_node]++,
			.src_port = topo->nodes[flow->src_node].first_port + flow->src_nic,
			.dst_port = topo->nodes[flow->dst_node].first_port + flow->dst_nic,
		};
	}
	for (uint32_t i = flows->count; i < flow_table_slots(flows); i++)
		shared->slots[i].src_node = shared->slots[i].dst_node = TOPO_NONE; /* of no embedded host */
	free(nsend);
	free(nrecv);
	return shared;
fail:
	free(nsend);
	free(nrecv);
	embedded_shared_destroy(shared);
	err_set(err, rc, "out of memory for the hosts' directory");
	errno = -rc;
	return NULL;
}

void
embedded_shared_destroy(struct embedded_shared *shared)
{
	if (shared == NULL)
		return;
	for (uint32_t i = 0; shared->ud_qps != NULL && i < shared->nports; i++)
		free(shared->ud_qps[i]);
	free(shared->ud_qps);
	free(shared->slots);
	free(shared->senders);
	free(shared);
}

struct node *
embedded_host_create(const struct embedded_config *config, struct err *err)
{
	struct host *host = calloc(1, sizeof(*host));
	int rc = -ENOMEM;

	if (host == NULL)
		goto fail;
	host->node = (struct node){
		.ops = &embedded_node_ops,
		.id = config->node,
		.nports = config->topo->nodes[config->node].nports,
		.topo = config->topo,
		.flows = config->flows,
		.status = NODE_PASSIVE,
		.digest = DIGEST_INIT,
	};
	host->bonded = config->topo->nodes[config->node].bonded;
	host->dev.ops = &embedded_device_ops;
	host->config = *config;
	host->params = *config->params;
	telem_reporter_init(&host->reporter, config->node, config->flows, &host->node.records, &host->node.count.reports);
	host->telemetry = telem_config_of_host(config->telemetry, host->node.nports);
	host->has_telemetry = config->telemetry != NULL;
	host->timer_ps = host->client_timer_ps = host->rto_ps = host->storm_ps = TIME_NEVER;
	recbuf_init(&host->node.records, config->node);
	rc = allocate(host);
	if (rc == 0)
		rc = setup_nics(host, err);
	if (rc == 0)
		rc = setup_qps(host, err);
	if (rc == 0)
		return &host->node;
fail:
	err_set(err, rc, "out of memory for host %s", config->topo->nodes[config->node].name);
	node_destroy(host != NULL ? &host->node : NULL);
	errno = -rc;
	return NULL;
}

void
embedded_destroy(struct node *node)
{
	struct host *host = host_of(node);

	for (uint32_t i = 0; host->nics != NULL && i < node->nports; i++) {
		struct nic *nic = &host->nics[i];

		free(nic->control.pkts);
		free(nic->control.ints);
		free(nic->datagrams.pkts);
		free(nic->ready);
		free(nic->sent);
		free(nic->qps);
		telem_fini(&nic->telem);
		port_truth_fini(&nic->truth);
		port_flows_fini(&nic->flows);
	}
	for (uint32_t i = 0; host->send != NULL && i < host->nsend; i++)
		rc_send_fini(&host->send[i].rc);
	for (uint32_t i = 0; host->recv != NULL && i < host->nrecv; i++) {
		sel_recv_destroy(host->recv[i].sel);
		free(host->recv[i].gathered);
	}
	recbuf_fini(&node->records);
	telem_reporter_fini(&host->reporter);
	free(host->nics);
	free(host->send);
	free(host->recv);
	free(host->waiting);
	free(host);
}

struct device *
embedded_device(struct node *node)
{
	return &host_of(node)->dev;
}

static int
check_flows(const struct topo *topo, const struct flow_table *flows, struct err *err)
{
	for (uint32_t i = 0; i < flows->count; i++) {
		const struct flow *f = &flows->flows[i];

		bool crosses = f->kind == FLOW_PROBE && f->src_nic != f->dst_nic; /* from one of a host's NICs to another */

		if (f->src_node >= topo->nnodes || f->dst_node >= topo->nnodes || (f->src_node == f->dst_node && !crosses))
			return err_set(err, -EINVAL, "flow %u: from node %u to node %u: needs two different hosts", i,
				       f->src_node, f->dst_node);
		if (f->src_nic >= topo->nodes[f->src_node].nports || f->dst_nic >= topo->nodes[f->dst_node].nports)
			return err_set(err, -EINVAL, "flow %u: %s has %u NICs and %s has %u, not NIC %u and NIC %u", i,
				       topo->nodes[f->src_node].name, topo->nodes[f->src_node].nports,
				       topo->nodes[f->dst_node].name, topo->nodes[f->dst_node].nports, f->src_nic + 1u,
				       f->dst_nic + 1u);
	}
	return 0;
}

static int
allocate(struct host *host)
{
	const struct flow_table *flows = host->config.flows;

	for (uint32_t i = 0; i < flows->count; i++) {
		host->nsend += flows->flows[i].src_node == host->node.id;
		host->nrecv += flows->flows[i].dst_node == host->node.id;
	}
	host->nics = alloc_lines(host->node.nports, sizeof(*host->nics));
	host->send = alloc_lines(host->nsend, sizeof(*host->send));
	host->recv = alloc_lines(host->nrecv, sizeof(*host->recv));
	host->waiting = calloc(host->nsend + 1, sizeof(*host->waiting));
	if (host->nics == NULL || host->send == NULL || host->recv == NULL || host->waiting == NULL)
		return -ENOMEM;
	return 0;
}

static int
setup_nics(struct host *host, struct err *err)
{
	for (uint16_t i = 0; i < host->node.nports; i++) {
		const struct topo_port *port = topo_port_of(host->config.topo, host->node.id, i);
		const struct sertable *table = sertables_get(host->config.sertables, port->rate_bps);
		struct nic *nic = &host->nics[i];
		uint32_t words = host->nsend / 64 + 1;

		if (table == NULL)
			return err_set(err, -errno, "NIC %u of %s: a rate of %llu bit/s is too low (at least %llu)", i + 1u,
				       host->config.topo->nodes[host->node.id].name, (unsigned long long)port->rate_bps,
				       SERTABLE_MIN_RATE_BPS);
		nic->index = i;
		nic->ser_ps = table->ps;
		nic->tx_ps = nic->storm_ps = TIME_NEVER;
		nic->control.cap = NIC_CONTROL_SLOTS;
		nic->datagrams.cap = NIC_DATAGRAM_SLOTS;
		nic->control.pkts = malloc(NIC_CONTROL_SLOTS * sizeof(struct pkt));
		if (host->params.int_bytes != 0)
			nic->control.ints = malloc(NIC_CONTROL_SLOTS * sizeof(*nic->control.ints));
		nic->datagrams.pkts = malloc(NIC_DATAGRAM_SLOTS * sizeof(struct pkt));
		nic->ready = calloc(words, sizeof(*nic->ready));
		nic->sent = calloc(words, sizeof(*nic->sent));
		nic->qps = calloc(host->nsend + 1, sizeof(*nic->qps));
		if (nic->control.pkts == NULL || nic->datagrams.pkts == NULL || nic->ready == NULL || nic->sent == NULL ||
		    nic->qps == NULL || (host->params.int_bytes != 0 && nic->control.ints == NULL))
			return -ENOMEM;
		port_truth_init(&nic->truth, &nic->flows);
		if (port_flows_init(&nic->flows, host->config.flows) < 0 ||
		    telem_init(&nic->telem, &host->telemetry, &nic->flows, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Payload that a flow's QP may have under way; 0: any. Notifications and probes pass beside the QP. */
static uint64_t
window_of(const struct host *host, const struct flow *flow)
{
	const struct roce_params *params = &host->params;
	uint64_t bytes = params->window_is_bdp ? host->config.bdp_bytes : params->window_bytes;

	if (flow->kind == FLOW_CONTROL || flow->kind == FLOW_PROBE)
		return params->mtu_bytes;
	assert(!params->window_is_bdp || (bytes != 0 && bytes <= ROCE_MAX_WINDOW_BYTES));
	return bytes;
}

static int
setup_receiver(struct host *host, const struct flow *flow, struct recv_qp *qp)
{
	rc_recv_init(&qp->rc, host->config.first_psn);
	if (!host->params.any_order)
		return 0;
	qp->sel = sel_recv_create(rc_send_slots(&host->params, window_of(host, flow)));
	return qp->sel != NULL ? 0 : -ENOMEM;
}

static int
setup_qps(struct host *host, struct err *err)
{
	const struct flow_table *flows = host->config.flows;

	for (uint32_t i = 0; i < flows->count; i++) {
		const struct flow *flow = &flows->flows[i];
		const struct flow_slot *slot = host_slot(host, i);

		if (flow->dst_node == host->node.id) {
			host->recv[slot->recv].nic = flow->dst_nic;
			if (setup_receiver(host, flow, &host->recv[slot->recv]) != 0)
				return -ENOMEM;
		}
		if (flow->src_node != host->node.id)
			continue;

		struct send_qp *qp = &host->send[slot->send];
		struct nic *nic = &host->nics[flow->src_nic];
		struct rc_send_config config = {
			.flow = i,
			.prio = flow->prio,
			.line_bps = topo_port_of(host->config.topo, host->node.id, flow->src_nic)->rate_bps,
			.first_psn = host->config.first_psn,
			.window_bytes = window_of(host, flow),
		};

		host->config.shared->senders[i] = &qp->rc;
		qp->nic = flow->src_nic;
		qp->bit = (uint16_t)nic->nqps;
		qp->flow = i;
		nic->qps[nic->nqps++] = qp;
		if (rc_send_init(&qp->rc, &host->params, &config) != 0)
			return -ENOMEM;
	}
	return 0;
}

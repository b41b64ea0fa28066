/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and unmaking embedded hosts. */
#include "rxe-hosts/device/embedded/embedded.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/record_rows.h"
#include "common/wire/roce.h"
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

/* A flow between two NICs of one host is listed once. */
static int
list_flows(struct embedded_shared *shared, const struct topo *topo, const struct flow_table *flows)
{
	uint32_t *first;

	shared->first_of = first = calloc(topo->nnodes + (size_t)2, sizeof(*first));
	shared->flows_of = malloc((2 * (size_t)flows->count + 1) * sizeof(*shared->flows_of));
	if (first == NULL || shared->flows_of == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < flows->count; i++) {
		first[flows->flows[i].src_node + 2]++;
		first[flows->flows[i].dst_node + 2] += flows->flows[i].src_node != flows->flows[i].dst_node;
	}
	for (uint32_t node = 0; node < topo->nnodes; node++)
		first[node + 2] += first[node + 1];
	for (uint32_t i = 0; i < flows->count; i++) {
		shared->flows_of[first[flows->flows[i].src_node + 1]++] = i;
		if (flows->flows[i].src_node != flows->flows[i].dst_node)
			shared->flows_of[first[flows->flows[i].dst_node + 1]++] = i;
	}
	return 0;
}

/* QPs at one end of flows that have a number. */
struct qp_numbers {
	uint32_t *next;    /* [nodes] of a host */
	uint32_t *control; /* [ports] the QP of a NIC's notifications + 1; 0: none yet */
};

static bool
qp_numbers_init(struct qp_numbers *numbers, const struct topo *topo)
{
	numbers->next = calloc(topo->nnodes, sizeof(*numbers->next));
	numbers->control = calloc(topo->nports + 1, sizeof(*numbers->control));
	return numbers->next != NULL && numbers->control != NULL;
}

static void
qp_numbers_fini(struct qp_numbers *numbers)
{
	free(numbers->next);
	free(numbers->control);
}

/*
 * Notifications bypass QPs, which are for their NIC alone: those of one NIC have one between them. A bonded host's have a
 * member each.
 */
static uint32_t
qp_number(struct qp_numbers *numbers, const struct topo *topo, const struct flow *flow, uint32_t node, uint32_t port)
{
	if (flow->kind != FLOW_CONTROL || topo->nodes[node].bonded)
		return numbers->next[node]++;
	if (numbers->control[port] == 0)
		numbers->control[port] = ++numbers->next[node];
	return numbers->control[port] - 1;
}

static uint32_t
host_ports(const struct topo *topo)
{
	uint32_t count = 0;

	for (uint32_t n = 0; n < topo->nnodes; n++)
		count += topo->nodes[n].kind == TOPO_HOST ? topo->nodes[n].nports : 0;
	return count;
}

struct embedded_shared *
embedded_shared_create(const struct topo *topo, const struct flow_table *flows, struct err *err)
{
	struct embedded_shared *shared = calloc(1, sizeof(*shared));
	struct qp_numbers send = { 0 }, recv = { 0 };
	int rc = -ENOMEM;

	if (shared == NULL || !qp_numbers_init(&send, topo) || !qp_numbers_init(&recv, topo))
		goto fail;
	shared->slots = calloc(flow_table_slots(flows) + 1, sizeof(*shared->slots));
	shared->senders = calloc(flow_table_slots(flows) + 1, sizeof(*shared->senders));
	shared->nports = topo->nports;
	shared->ud_slots = ud_slots_of(host_ports(topo));
	shared->ud_qps = calloc(topo->nports + 1, sizeof(*shared->ud_qps));
	if (shared->slots == NULL || shared->senders == NULL || shared->ud_qps == NULL)
		goto fail;
	rc = check_flows(topo, flows, err);
	if (rc != 0)
		goto fail;
	for (uint32_t i = 0; i < flows->count; i++) {
		const struct flow *flow = &flows->flows[i];
		uint32_t src_port = topo->nodes[flow->src_node].first_port + flow->src_nic;
		uint32_t dst_port = topo->nodes[flow->dst_node].first_port + flow->dst_nic;

		shared->slots[i] = (struct flow_slot){
			.src_node = flow->src_node,
			.dst_node = flow->dst_node,
			.send = qp_number(&send, topo, flow, flow->src_node, src_port),
			.recv = qp_number(&recv, topo, flow, flow->dst_node, dst_port),
			.src_port = src_port,
			.dst_port = dst_port,
		};
	}
	rc = list_flows(shared, topo, flows);
	if (rc != 0)
		goto fail;
	for (uint32_t i = flows->count; i < flow_table_slots(flows); i++)
		shared->slots[i].src_node = shared->slots[i].dst_node = TOPO_NONE; /* of no embedded host */
	qp_numbers_fini(&send);
	qp_numbers_fini(&recv);
	return shared;
fail:
	qp_numbers_fini(&send);
	qp_numbers_fini(&recv);
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
		ud_qp_destroy(shared->ud_qps[i]);
	free(shared->ud_qps);
	free(shared->slots);
	free(shared->first_of);
	free(shared->flows_of);
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
		free(nic->posted);
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
		recv_ring_fini(&host->recv[i].rc.receives);
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

		bool crosses = f->src_nic != f->dst_nic; /* from one of a host's NICs to another */

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
	const uint32_t *first = &host->config.shared->first_of[host->node.id];

	for (uint32_t k = first[0]; k < first[1]; k++) {
		const struct flow_slot *slot = host_slot(host, host->config.shared->flows_of[k]);

		if (slot->src_node == host->node.id)
			host->nsend = max_u32(host->nsend, slot->send + 1);
		if (slot->dst_node == host->node.id)
			host->nrecv = max_u32(host->nrecv, slot->recv + 1);
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
		nic->control.most = NIC_CONTROL_SLOTS;
		nic->control.inband = host->params.int_bytes != 0;
		nic->datagrams.most = NIC_DATAGRAM_SLOTS;
		nic->ready = calloc(words, sizeof(*nic->ready));
		nic->sent = calloc(words, sizeof(*nic->sent));
		nic->qps = calloc(host->nsend + 1, sizeof(*nic->qps));
		if (nic->ready == NULL || nic->sent == NULL || nic->qps == NULL)
			return -ENOMEM;
		port_truth_init(&nic->truth, &nic->flows);
		port_flows_init(&nic->flows, host->config.flows);
		if (telem_init(&nic->telem, &host->telemetry, &nic->flows, i) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Maximum payload in flight of a flow's QP; 0: unlimited. Notifications and probes bypass the QP. */
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
	const struct embedded_shared *shared = host->config.shared;
	uint32_t nsend = 0, nrecv = 0; /* set up: the number of a QP is below where it is another flow's, too */

	for (uint32_t k = shared->first_of[host->node.id]; k < shared->first_of[host->node.id + 1]; k++) {
		uint32_t i = shared->flows_of[k];
		const struct flow *flow = &host->config.flows->flows[i];
		const struct flow_slot *slot = host_slot(host, i);

		if (flow->dst_node == host->node.id && slot->recv == nrecv) {
			host->recv[nrecv].nic = flow->dst_nic;
			if (setup_receiver(host, flow, &host->recv[nrecv++]) != 0)
				return -ENOMEM;
		}
		if (flow->src_node != host->node.id || slot->send != nsend)
			continue;
		nsend++;

		struct send_qp *qp = &host->send[slot->send];
		struct nic *nic = &host->nics[flow->src_nic];
		struct rc_send_config config = {
			.flow = i,
			.prio = flow->prio,
			.line_bps = topo_port_of(host->config.topo, host->node.id, flow->src_nic)->rate_bps,
			.first_psn = host->config.first_psn,
			.window_bytes = window_of(host, flow),
			.ledger = host->config.ledger,
		};

		host->config.shared->senders[i] = &qp->rc;
		qp->nic = flow->src_nic;
		qp->bit = nic->nqps;
		qp->flow = i;
		nic->qps[nic->nqps++] = qp;
		if (rc_send_init(&qp->rc, &host->params, &config) != 0)
			return -ENOMEM;
	}
	return 0;
}

/* The device interface of an embedded host. */

static struct send_qp *
sending_qp(const struct host *host, uint32_t flow)
{
	const struct flow_slot *slot = host_slot(host, flow);

	assert(slot->src_node == host->node.id);
	return &host->send[slot->send];
}

static void
set_client(struct device *dev, const struct device_client *client)
{
	host_of_device(dev)->client = *client;
}

static void
register_region(struct device *dev, void *base, uint64_t bytes)
{
	struct host *host = host_of_device(dev);

	host->region = base;
	host->region_bytes = bytes;
	for (uint32_t i = 0; i < host->nsend; i++)
		host->send[i].rc.region = host->params.real_payload ? base : NULL;
}

static int
post_send(struct device *dev, uint32_t flow, const struct send_wr *wr)
{
	struct host *host = host_of_device(dev);
	struct send_qp *qp = sending_qp(host, flow);
	struct rc_work work = {
		.wr_id = wr->wr_id,
		.bytes = wr->bytes,
		.local_offset = wr->local_offset,
		.remote_offset = wr->remote_offset,
		.imm = wr->imm,
		.tag = wr->tag,
		.send = wr->send,
	};
	int rc;

	if (qp->rc.region != NULL &&
	    (wr->local_offset > host->region_bytes || wr->bytes > host->region_bytes - wr->local_offset))
		return -EINVAL;
	if (qp->rc.ledger.on && rc_send_waits(&qp->rc) == RC_SEND_ACKS)
		rc_send_account_idle(&qp->rc, &host->params, &qp->rc.ledger, host->now_ps);
	rc = rc_send_post(&qp->rc, &host->params, &work);
	if (rc != 0)
		return rc;
	if (qp->rc.ledger.on && qp->rc.tail - qp->rc.head == 1)
		ledger_begin(&qp->rc.ledger, wr->there_ps, wr->back_ps, host->nics[qp->nic].nic_faults.slow_ps,
			     host->now_ps);
	host->open++;
	qp_look(host, qp, false);
	return 0;
}

static int
post_receive(struct device *dev, uint32_t flow, uint64_t local_offset, uint64_t bytes)
{
	struct host *host = host_of_device(dev);
	const struct flow_slot *slot = host_slot(host, flow);

	assert(slot->dst_node == host->node.id);
	return recv_ring_push(&host->recv[slot->recv].rc.receives, local_offset, bytes) ? 0 : -ENOSPC;
}

static void
reset_qp(struct device *dev, uint32_t flow)
{
	struct host *host = host_of_device(dev);
	struct send_qp *qp = sending_qp(host, flow);

	assert(!rc_send_outstanding(&qp->rc) && !rc_send_ready(&qp->rc));
	rc_send_reset(&qp->rc, &host->params);
}

/* A copy of a QP's ledger, with the time up to now. */
static struct ledger
ledger_now(const struct host *host, const struct send_qp *qp)
{
	const struct nic *nic = &host->nics[qp->nic];
	struct ledger ledger = qp->rc.ledger;
	uint8_t prio = qp->rc.frame.prio;
	uint64_t since_ps = nic->paused >> prio & 1 ? max_u64(qp->ready_ps, nic->pauses_held[prio].since_ps) : host->now_ps;

	if (!ledger.on || qp->rc.error)
		return ledger;
	if (!rc_send_ready(&qp->rc)) {
		rc_send_account_idle(&qp->rc, &host->params, &ledger, host->now_ps);
		return ledger;
	}
	nic_account(nic, qp, &ledger, min_u64(since_ps, host->now_ps));
	ledger_charge(&ledger, LEDGER_PAUSED, host->now_ps);
	return ledger;
}

static void
query_qp(const struct device *dev, uint32_t flow, struct qp_state *state)
{
	const struct host *host = host_of_device(dev);
	const struct send_qp *qp = sending_qp(host, flow);
	const struct rc_send *rc = &qp->rc;

	*state = (struct qp_state){
		.outstanding_bytes = rc_send_outstanding_bytes(rc, &host->params),
		.acked_bytes = rc_send_acked_bytes(rc, &host->params),
		.oldest_unacked_ps = rc->sent_ps[rc->una & rc->sent_mask],
		.last_rtt_ps = rc->last_rtt_ps,
		.throttled = host->params.cc.ops->quiet && rc->cc.rate_bps < rc->line_bps,
		.retransmits = rc->head != rc->tail ? rc_messages_at(rc, rc->head)->retransmits : 0,
	};
}

static void
query_times(const struct device *dev, uint32_t flow, struct send_times *times)
{
	const struct host *host = host_of_device(dev);
	const struct send_qp *qp = sending_qp(host, flow);
	const struct ledger ledger = ledger_now(host, qp);

	*times = rc_send_times(&qp->rc, &host->params, &ledger, host->now_ps);
}

/* A flow's QPs are those of the flow table. */
static int64_t
ud_qpn(struct device *dev)
{
	return 0;
}

static void
set_timer(struct device *dev, uint64_t when_ps)
{
	struct host *host = host_of_device(dev);

	host->client_timer_ps = when_ps > host->now_ps ? when_ps : host->now_ps;
	host_set_timers(host);
}

static uint64_t
now(const struct device *dev)
{
	return host_of_device(dev)->now_ps;
}

static struct recbuf *
records(struct device *dev)
{
	return &host_of_device(dev)->node.records;
}

const struct device_ops embedded_device_ops = {
	.set_client = set_client,
	.register_region = register_region,
	.post_send = post_send,
	.post_receive = post_receive,
	.reset_qp = reset_qp,
	.query_qp = query_qp,
	.query_times = query_times,
	.post_datagram = host_post_datagram,
	.ud_qpn = ud_qpn,
	.ud_open = host_ud_open,
	.ud_receive = host_ud_receive,
	.report_nic = host_report_nic,
	.set_timer = set_timer,
	.now = now,
	.records = records,
};

void
embedded_expect_work(struct node *node, bool expected)
{
	struct host *host = host_of(node);

	host->work_expected = expected;
	if (node->status != NODE_QP_ERROR)
		node->status = host->open != 0 || expected ? NODE_RUNNING : NODE_PASSIVE;
}

void
embedded_storm(struct node *node, uint16_t nic_index, uint8_t prio, bool on, uint64_t now_ps, uint64_t interval_ps)
{
	struct host *host = host_of(node);
	struct nic *nic = &host->nics[nic_index];
	uint8_t bit = (uint8_t)(1u << prio);

	assert(!on || interval_ps != 0);
	if (((nic->storm_mask & bit) != 0) == on)
		return;
	if (on) {
		if (nic->storm_mask == 0 || interval_ps < nic->storm_interval_ps)
			nic->storm_interval_ps = interval_ps;
		nic->pausing_since_ps[prio] = now_ps;
		nic->storm_mask |= bit;
		nic->storm_ended &= (uint8_t)~bit;
	} else {
		nic->storm_mask &= (uint8_t)~bit;
		nic->storm_ended |= bit;
	}
	nic->storm_ps = now_ps;
	if (nic->storm_ps < host->storm_ps) {
		host->storm_ps = nic->storm_ps;
		host_set_timers(host);
	}
}

uint8_t
embedded_pausing(const struct node *node, uint16_t nic)
{
	return ((const struct host *)node)->nics[nic].storm_mask;
}

void
embedded_link_changed(struct node *node, uint16_t nic, uint8_t held, uint64_t now_ps)
{
	struct host *host = host_of(node);

	host->now_ps = now_ps;
	nic_hold(host, &host->nics[nic], held);
	if (host->bonded)
		host_rebond(host);
}

uint64_t
embedded_dropped(const struct node *node, uint16_t nic, enum rec_drop reason)
{
	return ((const struct host *)node)->nics[nic].telem.drops->of[reason].packets;
}

struct embedded_flow
embedded_flow_of(struct node *node, uint32_t flow)
{
	struct host *host = host_of(node);
	const struct send_qp *qp = &host->send[host_slot(host, flow)->send];

	return (struct embedded_flow){ .messages = qp->rc.tail, .nic = qp->nic };
}

void
embedded_sum(const struct node *node, struct embedded_counters *sum)
{
	const struct host *host = (const struct host *)node;

	*sum = (struct embedded_counters){
		.cnps_sent = host->cnps_sent,
		.acks_withheld = host->acks_withheld,
		.pauses_received = host->pauses_received,
		.misdelivered = host->misdelivered,
	};
	for (uint16_t i = 0; i < host->node.nports; i++)
		sum->datagrams_unposted += host->nics[i].datagram_drops[EMBEDDED_DATAGRAM_UNPOSTED];
	for (uint32_t i = 0; i < host->nsend; i++) {
		const struct rc_send *rc = &host->send[i].rc;

		sum->retransmits += rc->retransmits;
		sum->timeouts += rc->timeouts;
		sum->naks_received += rc->naks;
		sum->rnr_received += rc->rnr_naks;
		sum->cnps_handled += rc->marks;
	}
	for (uint32_t i = 0; i < host->nrecv; i++) {
		const struct rc_recv *rc = &host->recv[i].rc;

		sum->naks_sent += rc->naks;
		sum->duplicates += rc->duplicates;
		sum->out_of_sequence += rc->out_of_sequence;
		sum->stale += rc->stale;
		sum->early += host->recv[i].sel != NULL ? host->recv[i].sel->early : 0;
		sum->datagrams_unposted += host->recv[i].ud.unposted;
	}
}

struct embedded_requester
embedded_requester_of(const struct node *node, uint32_t flow)
{
	const struct host *host = (const struct host *)node;
	const struct rc_send *rc = &host->send[host_slot(host, flow)->send].rc;

	return (struct embedded_requester){ rc->retransmits, rc->timeouts, rc->naks, rc->rnr_naks, rc->marks };
}

struct embedded_responder
embedded_responder_of(const struct node *node, uint32_t flow)
{
	const struct host *host = (const struct host *)node;
	const struct rc_recv *rc = &host->recv[host_slot(host, flow)->recv].rc;

	return (struct embedded_responder){ rc->duplicates, rc->out_of_sequence, rc->marked, rc->cnps };
}

struct embedded_nic
embedded_nic_at(const struct node *node, uint16_t nic)
{
	const struct nic *of = &((const struct host *)node)->nics[nic];

	return (struct embedded_nic){ of->pauses_held, of->paused, &of->telem, of->datagram_drops };
}

/* RETH and payload of packets, for which descriptors have no room: kept by the sender of the message. */

const struct rc_post *
host_message_of(const struct embedded_shared *shared, const struct pkt *p)
{
	const struct rc_send *sender = shared->senders[p->flow];

	return sender != NULL ? rc_send_message(sender, p) : NULL;
}

void
embedded_describe(const struct embedded_shared *shared, const struct roce_params *params, const struct pkt *p,
		  struct pkt_message *m)
{
	const struct rc_post *post = p->type == PKT_DATA ? host_message_of(shared, p) : NULL;
	const struct ud_contents *ud = p->type == PKT_UD ? ud_contents_of(shared, p, UD_BETWEEN_WINDOWS)
				       : p->type == PKT_EXPIRED && p->syndrome == 0
					       ? ud_expired_contents_of(shared, p, UD_BETWEEN_WINDOWS)
					       : NULL;
	uint64_t offset;

	*m = (struct pkt_message){ 0 };
	if (ud != NULL)
		*m = (struct pkt_message){ .dst_qpn = ud->dst_qpn, .src_qpn = ud->src_qpn, .payload = ud->contents };
	if (post == NULL)
		return;
	m->va = post->remote_offset;
	m->dma_bytes = post->bytes < UINT32_MAX ? (uint32_t)post->bytes : UINT32_MAX;
	offset = (uint64_t)((p->psn - post->first) & PSN_MASK) * params->mtu_bytes;
	if (params->any_order) {
		m->va += offset;
		m->dma_bytes = p->payload_bytes;
	}
	if (post->payload != NULL)
		m->payload = post->payload + offset;
}

/*
 * Packets from kernel hosts, and from other partitions: RETH and payload are in their bytes. A message that is reduced
 * at its receiver needs its immediate, which arrives last: its payload is gathered until then.
 */

#define FIRST_GATHERED 65536

static void
misdelivered(struct host *host, struct nic *nic, const struct pkt *p)
{
	host->misdelivered++;
	host_drop(host, nic, p, REC_DROP_NO_ROUTE);
}

static bool
is_reply(const struct pkt *p)
{
	return p->type == PKT_ACK || p->type == PKT_NAK || p->type == PKT_CNP;
}

/* @return whether a packet is for one of this host's QPs. Its addresses are; packets of a destroyed QP may still arrive. */
static bool
is_ours(const struct host *host, const struct pkt *p, const struct body *body)
{
	const struct flow *flow = &host->config.flows->flows[p->flow];
	bool reverse = p->flags & PKT_REVERSE;

	return is_reply(p) == reverse && (is_reply(p) || p->type == PKT_DATA || p->type == PKT_UD) &&
	       body->dst_qpn == (reverse ? flow->src_qpn : flow->dst_qpn);
}

/* @return room for this number of bytes; ends the program when out of memory */
static uint8_t *
room_for(struct recv_qp *qp, uint64_t bytes)
{
	uint64_t cap = qp->gathered_cap != 0 ? qp->gathered_cap : FIRST_GATHERED;

	if (bytes <= qp->gathered_cap)
		return qp->gathered;
	while (cap < bytes)
		cap *= 2;
	qp->gathered = realloc(qp->gathered, cap);
	if (qp->gathered == NULL)
		log_fatal("out of memory for a message of %llu B", (unsigned long long)bytes);
	qp->gathered_cap = cap;
	return qp->gathered;
}

/* Does the receiver have memory for a flow's payload? It discards payload of any length that is not a collective's. */
static bool
is_placed(const struct host *host, const struct pkt *p)
{
	return host->params.real_payload && host->config.flows->flows[p->flow].kind == FLOW_COLLECTIVE;
}

/*
 * A segment of a kernel host's message: keeps its payload until the immediate arrives, and hands the whole to the
 * client.
 */
static void
gather(struct host *host, struct recv_qp *qp, const struct pkt *p, const struct body *body, uint32_t what)
{
	const struct rc_recv *rc = &qp->rc;

	memcpy(room_for(qp, rc->done_bytes) + rc->done_bytes - p->payload_bytes, body->payload, p->payload_bytes);
	if (what & RC_COMPLETE)
		host->client.accept(host->client.ctx, p->flow, rc->imm, rc->place, qp->gathered, (uint32_t)rc->done_bytes);
}

/*
 * A segment has been accepted. One from an embedded host of another partition carries its immediate, and is placed at
 * once. Other segments of a sprayed message may have arrived by a path within this partition, without bytes.
 */
static void
keep(struct host *host, struct recv_qp *qp, const struct pkt *p, const struct body *body, uint32_t what)
{
	host->node.count.progress += p->payload_bytes;
	if (!is_placed(host, p) || host->client.accept == NULL)
		return;
	if (!body->labelled) {
		gather(host, qp, p, body, what);
		return;
	}
	qp->payload = NULL; /* the owner of the next segment without bytes is looked up anew */
	host->client.accept(host->client.ctx, p->flow, p->arg, qp->rc.place + qp->rc.done_bytes - p->payload_bytes,
			    body->payload, p->payload_bytes);
}

static void
data_in(struct host *host, struct nic *nic, const struct pkt *p, const struct body *body)
{
	struct recv_qp *qp = &host->recv[host_slot(host, p->flow)->recv];
	struct rc_reth reth = { .place = body->va, .room_bytes = 1ULL << 31 }; /* IBTA 9.7.7: the longest message */
	uint32_t what;

	if (is_placed(host, p))
		reth.room_bytes = body->va < host->region_bytes ? host->region_bytes - body->va : 0;
	what = rc_recv_checked(&qp->rc, &host->params, p, &reth, host->now_ps);
	if ((what & RC_ACCEPTED) && body->labelled)
		qp->rc.imm = p->arg;
	if (what & RC_ACCEPTED)
		keep(host, qp, p, body, what);
	host_received(host, nic, &qp->rc, p, what);
}

void
host_arrive_bytes(struct host *host, struct nic *nic, const struct pkt *p)
{
	struct pkt plain = *p;
	struct body body;

	if (!host->node.bodies->ops->read(host->node.bodies, p->arg, &body) || !is_ours(host, p, &body)) {
		misdelivered(host, nic, p);
		return;
	}
	if (body.corrupt) {
		host_drop(host, nic, p, REC_DROP_CORRUPT);
		return;
	}
	host->node.count.consumed_packets++;
	host->node.count.consumed_bytes += p->wire_bytes;
	plain.flags = (uint8_t)((p->flags & ~PKT_BYTES) | (body.labelled ? 0 : PKT_RETRANSMIT));
	plain.arg = body.imm;
	if (p->type == PKT_DATA && host->params.any_order)
		host_arrive_any_order(host, nic, &plain, &body);
	else if (p->type == PKT_DATA)
		data_in(host, nic, &plain, &body);
	else
		host_take_in(host, nic, &plain);
	body_release(host->node.bodies, p);
}

/*
 * Observers of a NIC port: its telemetry, and the run's truth. The packets that a QP sent are gathered and reported
 * once a window: no further back than the window's start, and windows end at epochs. A QP makes a packet when it can
 * leave. The queue depth of a packet is the number of other QPs' packets that left between the time it could have left
 * and the time it did.
 */

/* Another window began: counts the pairs of flows that shared the queue in the last one. */
static void
turn_window(const struct window *window, struct nic *nic)
{
	if (nic->contention.index == window->index)
		return;
	if (nic->truth.contended)
		port_truth_count(&nic->truth, &nic->contention);
	nic->contention = (struct truth_window){ window->index, window->start_ps, window->end_ps - window->start_ps, 0 };
}

static void
report_state(const struct host *host, struct nic *nic, struct send_qp *qp)
{
	struct telem_batch *batch = &qp->batch;

	batch->slot = port_flows_slot(&nic->flows, qp->flow);
	batch->in_port = REC_NO_PORT;
	turn_window(&host->window, nic);
	if (qp->held_ps != 0)
		port_truth_hold(&nic->truth, batch->slot, qp->held_ps, host->window.end_ps);
	telem_add(&nic->telem, batch);
	port_truth_reserve(&nic->truth, batch->slot + 1);
	port_truth_enqueue(&nic->truth, batch->slot, nic->contention.index, batch->depth_sum != 0);
	if (batch->depth_max > nic->contention.depth)
		nic->contention.depth = batch->depth_max;
	*batch = (struct telem_batch){ 0 };
	qp->held_ps = 0;
}

void
nic_flush(struct host *host, struct nic *nic)
{
	if (!host->has_telemetry)
		return;
	for (uint32_t base = 0; base < nic->nqps; base += 64) {
		uint64_t bits = nic->sent[base / 64];

		nic->sent[base / 64] = 0;
		for (; bits != 0; bits &= bits - 1)
			report_state(host, nic, nic->qps[base + (uint32_t)__builtin_ctzll(bits)]);
	}
}

void
nic_observe_ahead(struct nic *nic, uint32_t waiting, uint32_t left)
{
	uint32_t of = port_flows_slot(&nic->flows, waiting), by = port_flows_slot(&nic->flows, left);

	epochs_ahead(&nic->telem.epochs, of, by);
}

void
nic_observe_pause(struct host *host, struct nic *nic, uint8_t was)
{
	uint8_t newly_paused = nic->paused & (uint8_t)~was, resumed = was & (uint8_t)~nic->paused;

	if (!host->has_telemetry)
		return;
	nic_flush(host, nic);
	telem_pause(&nic->telem, newly_paused, TELEM_XOFF_RECEIVED, host->now_ps);
	telem_pause(&nic->telem, newly_paused, TELEM_PAUSED, host->now_ps);
	telem_pause(&nic->telem, resumed, TELEM_RESUMED, host->now_ps);
	if ((was != 0) != (nic->paused != 0))
		port_truth_pause(&nic->truth, nic->paused != 0, host->now_ps);
}

void
nic_observe_epoch(struct host *host, uint64_t now_ps)
{
	uint64_t epoch_ps = host->telemetry.epoch_ps;

	for (uint16_t i = 0; i < host->node.nports; i++)
		if (!telem_roll(&host->nics[i].telem, now_ps, &host->node.digest))
			host->node.count.row_errors++;
	host->epoch_end_ps = (now_ps / epoch_ps + 1) * epoch_ps;
	for (uint16_t i = 0; i < host->node.nports; i++)
		telem_late(&host->nics[i].telem, &host->reporter, now_ps, false);
}

const struct port_truth *
embedded_truth(const struct node *node, uint16_t nic)
{
	return &((const struct host *)node)->nics[nic].truth;
}

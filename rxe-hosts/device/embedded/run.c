/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One window of a host: arrivals, pauses, timers and transmissions of all its ports in the order (time, kind, port),
 * pauses before packets, arrivals before timers, timers before transmissions.
 */
#include <assert.h>
#include <stdio.h>

#include "common/minmax.h"
#include "common/units.h"
#include "rxe-hosts/device/embedded/host.h"

enum event_kind { EVENT_PAUSE, EVENT_ARRIVAL, EVENT_TIMER, EVENT_TRANSMIT };

struct event {
	uint64_t time_ps;
	enum event_kind kind;
	struct nic *nic;
};

static void host_timers(struct host *host);

static inline void
earlier(struct event *best, uint64_t time_ps, enum event_kind kind, struct nic *nic)
{
	if (time_ps < best->time_ps || (time_ps == best->time_ps && kind < best->kind))
		*best = (struct event){ time_ps, kind, nic };
}

static inline struct event
next_event(const struct host *host)
{
	struct event best = { host->timer_ps, EVENT_TIMER, NULL };

	for (uint32_t i = 0; i < host->node.nports; i++) {
		struct nic *nic = &host->nics[i];

		if (nic->pauses != nic->pauses_end)
			earlier(&best, nic->pauses->time_ps, EVENT_PAUSE, nic);
		if (nic->arrivals != nic->arrivals_end)
			earlier(&best, nic->arrivals->time_ps, EVENT_ARRIVAL, nic);
		earlier(&best, nic->tx_ps, EVENT_TRANSMIT, nic);
	}
	return best;
}

/* run_events() for hosts with one port, as most have: it needs no search among ports. */
static void
run_events_of_one(struct host *host, uint64_t end_ps)
{
	struct nic *nic = host->nics;

	for (;;) {
		uint64_t arrival_ps = nic->arrivals != nic->arrivals_end ? nic->arrivals->time_ps : TIME_NEVER;
		uint64_t next_ps = min_u64(arrival_ps, min_u64(host->timer_ps, nic->tx_ps));
		bool pauses = __builtin_expect(nic->pauses != nic->pauses_end, 0) && nic->pauses->time_ps <= next_ps;

		if (pauses)
			next_ps = nic->pauses->time_ps;
		if (next_ps >= end_ps)
			return;
		assert(next_ps >= host->now_ps); /* no event is due earlier */
		host->now_ps = next_ps;
		if (pauses)
			nic_pause(host, nic, nic->pauses++);
		else if (next_ps == arrival_ps)
			host_arrive(host, nic, nic->arrivals++);
		else if (next_ps == host->timer_ps)
			host_timers(host);
		else
			nic_transmit(host, nic);
	}
}

/* Every event moves its queue on, the port's free_ps, or a timer: the loop ends with the window. */
static void
run_events(struct host *host, uint64_t end_ps)
{
	for (;;) {
		struct event event = next_event(host);

		if (event.time_ps >= end_ps)
			return;
		assert(event.time_ps >= host->now_ps); /* no event is due earlier */
		host->now_ps = event.time_ps;
		switch (event.kind) {
		case EVENT_PAUSE:
			nic_pause(host, event.nic, event.nic->pauses++);
			break;
		case EVENT_ARRIVAL:
			host_arrive(host, event.nic, event.nic->arrivals++);
			break;
		case EVENT_TIMER:
			host_timers(host);
			break;
		case EVENT_TRANSMIT:
			nic_transmit(host, event.nic);
			break;
		}
	}
}

static void
take_in(struct host *host, const struct window *window)
{
	for (uint16_t i = 0; i < host->node.nports; i++) {
		struct link *rx = host->node.rx[i];
		struct nic *nic = &host->nics[i];

		if (link_is_idle(rx, window->parity))
			continue; /* the last window's are all handled */
		link_receive(rx, window->parity);
		nic->narrived = link_arrivals(rx, window->end_ps, &nic->arrivals);
		nic->npauses = link_pauses(rx, window->end_ps, &nic->pauses);
		nic->arrivals_end = nic->arrivals + nic->narrived;
		nic->pauses_end = nic->pauses + nic->npauses;
		if (__builtin_expect(nic->ailing, 0))
			nic->narrived = nic_receive_faulty(host, nic);
	}
}

/* All that arrived in the window is handled. */
static void
consume(struct host *host)
{
	for (uint16_t i = 0; i < host->node.nports; i++) {
		struct nic *nic = &host->nics[i];

		if ((nic->narrived | nic->npauses) == 0)
			continue;
		link_consume(host->node.rx[i], nic->narrived, nic->npauses);
		nic->narrived = nic->npauses = 0;
	}
}

/* NICs obey PAUSE even if their host is frozen. */
static void
stand_still(struct host *host)
{
	for (uint16_t i = 0; i < host->node.nports; i++) {
		struct nic *nic = &host->nics[i];

		for (; nic->pauses != nic->pauses_end; nic->pauses++) {
			host->now_ps = nic->pauses->time_ps;
			nic_pause(host, nic, nic->pauses);
		}
	}
}

static void
close_window(struct host *host, const struct window *window)
{
	host->now_ps = window->end_ps;
	if (host->open != 0 && host->client.tick != NULL)
		host->client.tick(host->client.ctx, window->end_ps);
	for (uint16_t i = 0; i < host->node.nports; i++)
		nic_flush(host, &host->nics[i]);
	if (host->node.status != NODE_QP_ERROR)
		host->node.status = host->open != 0 || host->work_expected ? NODE_RUNNING : NODE_PASSIVE;
}

/* A client that posts, or sets its timer, between two windows is served from the next one's start. */
static void
open_window(struct host *host, const struct window *window)
{
	host->window = *window;
	host->now_ps = window->start_ps;
	host->timer_ps = max_u64(host->timer_ps, host->now_ps);
	for (uint16_t i = 0; i < host->node.nports; i++)
		host->nics[i].tx_ps = max_u64(host->nics[i].tx_ps, host->now_ps);
}

static void
run(struct node *node, const struct window *window)
{
	struct host *host = host_of(node);

	open_window(host, window);
	if (host->has_telemetry && window->start_ps >= host->epoch_end_ps)
		nic_observe_epoch(host, window->start_ps);
	take_in(host, window);
	if (__builtin_expect(host->frozen, 0)) {
		stand_still(host);
		consume(host);
		host->now_ps = window->end_ps; /* up to which its steps are reported */
		return;
	}
	if (host->node.nports == 1)
		run_events_of_one(host, window->end_ps);
	else
		run_events(host, window->end_ps);
	consume(host);
	close_window(host, window);
}

static uint64_t
next_ps(const struct node *node)
{
	const struct host *host = (const struct host *)node;
	uint64_t first_ps = host->timer_ps;

	if (__builtin_expect(host->frozen, 0))
		return TIME_NEVER;
	if (host->open != 0 && host->client.tick != NULL)
		return host->now_ps; /* the client checks its flows once a window */
	for (uint16_t i = 0; i < node->nports; i++)
		first_ps = host->nics[i].tx_ps < first_ps ? host->nics[i].tx_ps : first_ps;
	return first_ps;
}

static void
held(const struct node *node, uint64_t *packets, uint64_t *bytes)
{
	const struct host *host = (const struct host *)node;

	for (uint16_t i = 0; i < node->nports; i++) {
		const struct pkt_queue *queues[] = { &host->nics[i].control, &host->nics[i].datagrams };

		for (uint32_t k = 0; k < 2; k++)
			for (uint32_t at = queues[k]->head; at != queues[k]->tail; at++, (*packets)++)
				*bytes += queues[k]->pkts[at].wire_bytes;
	}
}

static void
attached(struct node *node)
{
	for (uint16_t i = 0; i < node->nports; i++)
		host_of(node)->nics[i].tx = node->tx[i];
}

const struct node_ops embedded_node_ops = {
	.attached = attached,
	.run = run,
	.next_ps = next_ps,
	.held = held,
	.dropped = embedded_dropped,
	.truth = embedded_truth,
	.storm = embedded_storm,
	.pausing = embedded_pausing,
	.link_changed = embedded_link_changed,
	.expect_work = embedded_expect_work,
	.set_rate = embedded_set_rate,
	.fail_nic = embedded_fail_nic,
	.slow_nic = embedded_slow_nic,
	.freeze = embedded_freeze,
	.nic_faulty = embedded_nic_faulty,
	.destroy = embedded_destroy,
};

/*
 * A host's timers: the client's one, retransmission timeouts, storms. No packet sets a timer: a QP's deadline is
 * computed when the earliest possible one is reached, about once per timeout.
 */

static void check_timeouts(struct host *host);
static void run_storms(struct host *host);

void
host_set_timers(struct host *host)
{
	host->timer_ps = min_u64(host->client_timer_ps, min_u64(host->rto_ps, host->storm_ps));
}

void
host_watch(struct host *host, const struct send_qp *qp)
{
	/* A timeout that has become shorter may have passed. */
	uint64_t deadline_ps = max_u64(rc_send_deadline(&qp->rc, &host->params), host->now_ps);

	if (deadline_ps < host->rto_ps) {
		host->rto_ps = deadline_ps;
		host_set_timers(host);
	}
}

/* Handles the timers that are due at host->now_ps. */
static void
host_timers(struct host *host)
{
	if (host->storm_ps <= host->now_ps)
		run_storms(host);
	if (host->rto_ps <= host->now_ps)
		check_timeouts(host);
	if (host->client_timer_ps <= host->now_ps) {
		host->client_timer_ps = TIME_NEVER;
		if (host->client.timer != NULL)
			host->client.timer(host->client.ctx, host->now_ps);
	}
	host_set_timers(host);
}

void
host_fail_qp(struct host *host, struct send_qp *qp, const char *why)
{
	const struct flow *flow = &host->config.flows->flows[qp->flow];
	const struct topo_node *nodes = host->node.topo->nodes;
	struct send_times times;
	struct rc_post post;
	uint64_t acked_bytes;

	rc_send_fail(&qp->rc);
	if (host->node.status != NODE_QP_ERROR) {
		host->node.status = NODE_QP_ERROR;
		snprintf(host->node.error, sizeof(host->node.error),
			 "QP %u of flow %s->%s/%u>%u: retries exhausted, %s; %llu B of its message acknowledged",
			 flow->src_qpn, nodes[flow->src_node].name, nodes[flow->dst_node].name, flow->sport, flow->dport,
			 why, (unsigned long long)rc_send_acked_bytes(&qp->rc, &host->params));
	}
	while (rc_send_flush(&qp->rc, &host->params, host->now_ps, &post, &times, &acked_bytes)) {
		struct wc wc = {
			.time_ps = host->now_ps,
			.wr_id = post.wr_id,
			.bytes = acked_bytes,
			.flow = qp->flow,
			.retransmits = post.retransmits,
			.opcode = WC_ERROR,
			.times = times,
		};

		host->open--;
		if (host->client.completed != NULL)
			host->client.completed(host->client.ctx, &wc);
	}
}

static void
check_timeouts(struct host *host)
{
	host->rto_ps = TIME_NEVER;
	for (uint32_t i = 0; i < host->nsend; i++) {
		struct send_qp *qp = &host->send[i];
		const struct nic *nic = &host->nics[qp->nic];

		if (rc_send_deadline(&qp->rc, &host->params) <= host->now_ps) {
			/* While our own port is paused, no retransmission is possible: the wait is no retry. */
			if (nic->paused >> qp->rc.frame.prio & 1)
				rc_send_hold(&qp->rc, host->now_ps);
			else if (!rc_send_timeout(&qp->rc, &host->params, host->now_ps))
				host_fail_qp(host, qp, "no acknowledgement");
			qp_look(host, qp, true);
		}
		host->rto_ps = min_u64(host->rto_ps, rc_send_deadline(&qp->rc, &host->params));
	}
}

static void
run_storms(struct host *host)
{
	host->storm_ps = TIME_NEVER;
	for (uint32_t i = 0; i < host->node.nports; i++) {
		struct nic *nic = &host->nics[i];

		while (nic->storm_ps <= host->now_ps)
			nic_storm(host, nic);
		host->storm_ps = min_u64(host->storm_ps, nic->storm_ps);
	}
}

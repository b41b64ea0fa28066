/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host's timers: the client's one, retransmission timeouts, storms. No packet sets a timer: a QP's deadline is
 * computed when the earliest possible one has come, which happens about once a timeout.
 */
#include <stdio.h>

#include "common/minmax.h"
#include "common/units.h"
#include "rxe-hosts/device/embedded/host.h"

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

void
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
	struct rc_post post;
	uint64_t acked_bytes;

	rc_send_fail(&qp->rc);
	if (host->node.status != NODE_QP_ERROR) {
		host->node.status = NODE_QP_ERROR;
		snprintf(host->node.error, sizeof(host->node.error),
			 "QP %u of flow %u->%u/%u>%u: retries exhausted, %s; %llu B of its message acknowledged",
			 flow->src_qpn, flow->src_node, flow->dst_node, flow->sport, flow->dport, why,
			 (unsigned long long)rc_send_acked_bytes(&qp->rc, &host->params));
	}
	while (rc_send_flush(&qp->rc, &host->params, &post, &acked_bytes)) {
		struct wc wc = {
			.time_ps = host->now_ps,
			.wr_id = post.wr_id,
			.bytes = acked_bytes,
			.flow = qp->flow,
			.retransmits = post.retransmits,
			.opcode = WC_ERROR,
			.times = post.times,
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
			/* While our own port is told to wait, nothing could be repeated: the wait is no retry. */
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

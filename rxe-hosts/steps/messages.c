/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/messages.h"

#include <errno.h>
#include <stdlib.h>

#include "common/units.h"
#include "rxe-hosts/monitor/monitor.h"

_Static_assert(BACKGROUND_MAX_DEPTH <= DEVICE_MAX_POSTED, "a queue pair takes as many messages");

static void judged_started(const struct judge *judge, const struct plan_judged *flow, uint64_t now_ps);
static void judged_complete(const struct judge *judge, const struct plan_judged *flow, struct device *device,
			    uint64_t start_ps, const struct wc *wc);
static void judged_failed(const struct judge *judge);
static void judged_open(const struct judge *judge, const struct plan_judged *flow, struct device *device, uint64_t start_ps,
			const struct wc *until, uint64_t now_ps);
static struct wc so_far(struct device *device, uint32_t flow, uint64_t now_ps);

int
messages_init(struct messages *m, const struct plan *plan, uint32_t node)
{
	*m = (struct messages){ .plan = plan };
	if (plan->nmessages == 0)
		return 0;
	m->first = plan->first_message[node];
	m->count = m->left = plan->first_message[node + 1] - m->first;
	for (uint32_t i = 0; i < m->count; i++) {
		uint32_t slot = plan->of[plan->messages[m->first + i].flow].slot;

		m->nconnections = slot + 1 > m->nconnections ? slot + 1 : m->nconnections;
	}
	m->states = calloc(m->count + 1u, sizeof(*m->states));
	m->connections = calloc(m->nconnections + 1u, sizeof(*m->connections));
	if (m->states == NULL || m->connections == NULL)
		return -ENOMEM;
	for (uint32_t i = m->count; i-- > 0;)
		m->connections[plan->of[plan->messages[m->first + i].flow].slot].at = m->first + i;
	return 0;
}

void
messages_fini(struct messages *m)
{
	free(m->states);
	free(m->connections);
}

uint64_t
messages_next_ps(const struct messages *m)
{
	return m->due < m->count ? m->plan->messages[m->first + m->due].start_ps : TIME_NEVER;
}

void
messages_watch(struct messages *m, struct agent *agent, struct ledger_audit *audit, uint32_t first_slot)
{
	m->audit = audit;
	m->agent = agent;
	m->first_slot = first_slot;
}

static struct connection *
connection_of(const struct messages *m, uint32_t flow)
{
	return &m->connections[m->plan->of[flow].slot];
}

/* Gives up the messages of a connection that will not be complete. */
static void
give_up(struct messages *m, struct connection *connection)
{
	connection->failed = true;
	for (uint32_t i = connection->at; i != PLAN_NONE; i = m->plan->messages[i].next)
		m->left--;
}

static struct judge
judge_of(const struct messages *m, uint32_t flow)
{
	return (struct judge){ m->plan, m->agent, m->audit, m->first_slot + m->plan->of[flow].slot };
}

/* A message for the device, with the idle times of its path. */
static struct send_wr
work_of(const struct plan *plan, uint32_t flow, uint64_t bytes)
{
	const struct plan_flow *of = &plan->of[flow];

	return (struct send_wr){ .bytes = bytes, .there_ps = of->there_ps, .back_ps = of->base_rtt_ps - of->there_ps };
}

static void
post(struct messages *m, struct connection *connection, struct device *device, uint64_t now_ps)
{
	const struct plan_message *message = &m->plan->messages[connection->at];
	struct send_wr wr = work_of(m->plan, message->flow, message->bytes);
	struct plan_judged judged;
	struct judge judge;

	device->ops->reset_qp(device, message->flow);
	if (device->ops->post_send(device, message->flow, &wr) != 0) {
		give_up(m, connection);
		return;
	}
	connection->sending = true;
	m->sending++;
	m->states[connection->at - m->first] = (struct message){ .begin_ps = now_ps, .begun = true };
	judged = plan_judged_message(m->plan, connection->at);
	judge = judge_of(m, message->flow);
	judged_started(&judge, &judged, now_ps);
}

void
messages_wake(struct messages *m, struct device *device, uint64_t now_ps)
{
	for (; messages_next_ps(m) <= now_ps; m->due++) {
		struct connection *connection = connection_of(m, m->plan->messages[m->first + m->due].flow);

		if (!connection->sending && !connection->failed)
			post(m, connection, device, now_ps);
	}
}

void
messages_sent(struct messages *m, struct device *device, const struct wc *wc)
{
	struct connection *connection = connection_of(m, wc->flow);
	struct message *state = &m->states[connection->at - m->first];
	const struct plan_judged judged = plan_judged_message(m->plan, connection->at);
	const struct judge judge = judge_of(m, wc->flow);

	state->end_ps = wc->time_ps;
	state->retransmits = wc->retransmits;
	judged_complete(&judge, &judged, device, state->begin_ps, wc);
	connection->sending = false;
	m->sending--;
	m->left--;
	connection->at = m->plan->messages[connection->at].next;
	if (connection->at != PLAN_NONE && connection->at < m->first + m->due)
		post(m, connection, device, wc->time_ps);
}

void
messages_failed(struct messages *m, const struct wc *wc)
{
	struct connection *connection = connection_of(m, wc->flow);
	const struct judge judge = judge_of(m, wc->flow);

	connection->sending = false;
	connection->acked_bytes = wc->bytes;
	connection->failure = *wc;
	m->states[connection->at - m->first].retransmits = wc->retransmits;
	m->sending--;
	judged_failed(&judge);
	give_up(m, connection);
}

void
messages_rtt(struct messages *m, uint32_t flow, uint64_t rtt_ps, uint64_t now_ps)
{
	const struct judge judge = judge_of(m, flow);

	judged_rtt(&judge, rtt_ps, now_ps);
}

void
messages_close(struct messages *m, struct device *device, uint64_t now_ps)
{
	for (uint32_t i = 0; i < m->due; i++) {
		const struct plan_message *message = &m->plan->messages[m->first + i];
		const struct plan_judged judged = plan_judged_message(m->plan, m->first + i);
		const struct judge judge = judge_of(m, message->flow);
		struct connection *connection = connection_of(m, message->flow);
		struct wc open = { .time_ps = now_ps };

		if (m->states[i].end_ps != 0)
			continue;
		if (connection->at == m->first + i && connection->failed) {
			open = connection->failure;
		} else if (connection->at == m->first + i && connection->sending) {
			open = so_far(device, message->flow, now_ps);
			connection->acked_bytes = open.bytes;
		}
		judged_open(&judge, &judged, device, m->states[i].begun ? m->states[i].begin_ps : TIME_NEVER, &open,
			    now_ps);
	}
}

/* Background flows. */

void
background_init(struct background *background, const struct plan_background *plan)
{
	*background = (struct background){ .plan = plan, .wake_ps = plan->start_ps };
}

static void
background_post(struct background *background, struct device *device)
{
	struct send_wr wr = { .bytes = background->plan->bytes };

	if (background->judge.agent != NULL)
		wr = work_of(background->judge.plan, background->plan->flow, background->plan->bytes);
	if (device->ops->post_send(device, background->plan->flow, &wr) != 0)
		background->failed = true;
	else
		background->posted++;
}

void
background_wake(struct background *background, struct device *device, uint64_t now_ps)
{
	background->wake_ps = TIME_NEVER;
	while (!background->failed && background->posted < background->plan->depth)
		background_post(background, device);
	if (background->posted == 0)
		return;
	if (background->judge.agent != NULL) {
		struct plan_judged judged = plan_judged_background(background->judge.plan, background->plan);

		judged_started(&background->judge, &judged, now_ps);
	}
	background->start_ps = now_ps;
	background->started = true;
}

void
background_sent(struct background *background, struct device *device, const struct wc *wc)
{
	background->messages++;
	background->end_ps = wc->time_ps;
	background->retransmits += wc->retransmits;
	if (background->judge.agent != NULL) {
		struct plan_judged judged = plan_judged_background(background->judge.plan, background->plan);

		judged_complete(&background->judge, &judged, device, background->start_ps, wc);
	}
	if (background->plan->repeat && !background->failed && wc->time_ps < background->plan->until_ps)
		background_post(background, device);
}

void
background_failed(struct background *background, const struct wc *wc)
{
	if (!background->failed)
		background->failure = *wc;
	background->failed = true;
	background->acked_bytes += wc->bytes;
	background->retransmits += wc->retransmits;
	judged_failed(&background->judge);
}

void
background_close(struct background *background, struct device *device, uint64_t now_ps)
{
	struct wc open = background->failure;

	if (background_sending(background)) {
		open = so_far(device, background->plan->flow, now_ps);
		background->acked_bytes = open.bytes;
	}
	if (background->judge.agent != NULL && background->messages == 0 && background->plan->start_ps <= now_ps) {
		struct plan_judged judged = plan_judged_background(background->judge.plan, background->plan);

		judged_open(&background->judge, &judged, device, background->started ? background->start_ps : TIME_NEVER,
			    &open, now_ps);
	}
}

bool
background_open(const struct background *background)
{
	return !background->failed && (background_sending(background) || background->wake_ps != TIME_NEVER);
}

/* Flows that are judged. */

/* Notes that a judged message was posted. */
static void
judged_started(const struct judge *judge, const struct plan_judged *flow, uint64_t now_ps)
{
	const struct plan *plan = judge->plan;
	const struct agent_step step = {
		.flow = flow->flow,
		.tuple = plan_tuple(plan, flow->flow),
		.collective = flow->collective,
		.rank = plan->rank_of[plan->flows.flows[flow->flow].src_node],
		.step = flow->step,
		.serial = flow->step,
		.bytes = flow->bytes,
		.base_rtt_ps = plan->of[flow->flow].base_rtt_ps,
		.least_rtt_ps = plan->least_rtt_ps,
		.most_rtt_ps = plan->most_rtt_ps,
		.ack_wait_ps = plan->of[flow->flow].ack_wait_ps,
		.expect_ps = flow->ideal_ps,
		.start_ps = now_ps,
		.notify_flow = AGENT_NONE,
		.waiter = REC_NONE,
	};

	if (judge->agent != NULL)
		agent_step_started(judge->agent, judge->slot, &step);
}

static struct step_result
result_of(const struct judge *judge, const struct plan_judged *flow, uint64_t start_ps)
{
	return (struct step_result){
		.collective = flow->collective,
		.rank = judge->plan->rank_of[judge->plan->flows.flows[flow->flow].src_node],
		.step = flow->step,
		.flow = flow->flow,
		.waited_for = { .collective = REC_NONE, .rank = REC_NONE },
		.bytes = flow->bytes,
		.start_ps = start_ps,
	};
}

/* Notes that a judged message is complete, by its completion. */
static void
judged_complete(const struct judge *judge, const struct plan_judged *flow, struct device *device, uint64_t start_ps,
		const struct wc *wc)
{
	struct step_result result = result_of(judge, flow, start_ps);

	if (judge->agent == NULL)
		return;
	agent_step_completed(judge->agent, judge->slot, wc->retransmits, wc->time_ps);
	result.acked_bytes = flow->bytes;
	result.end_ps = wc->time_ps;
	result.retransmits = wc->retransmits;
	monitor_audit(judge->audit, &result, &wc->times, wc->time_ps);
	monitor_report(device->ops->records(device), &result, &wc->times, wc->time_ps);
}

/* Notes that a judged message's queue pair is in error. */
static void
judged_failed(const struct judge *judge)
{
	if (judge->agent != NULL)
		agent_step_failed(judge->agent, judge->slot);
}

/* The message that a queue pair has now, as if it ended. */
static struct wc
so_far(struct device *device, uint32_t flow, uint64_t now_ps)
{
	struct wc wc = { .time_ps = now_ps, .flow = flow };
	struct qp_state qp;

	device->ops->query_qp(device, flow, &qp);
	device->ops->query_times(device, flow, &wc.times);
	wc.bytes = qp.acked_bytes;
	wc.retransmits = qp.retransmits;
	return wc;
}

/*
 * The run ends, and it is open.
 * @param start_ps  TIME_NEVER: it has not begun
 * @param until     of its message, up to its time or its failure; zero where it has not begun
 */
static void
judged_open(const struct judge *judge, const struct plan_judged *flow, struct device *device, uint64_t start_ps,
	    const struct wc *until, uint64_t now_ps)
{
	bool begun = start_ps != TIME_NEVER;
	struct step_result result = result_of(judge, flow, begun ? start_ps : 0);

	if (judge->agent == NULL)
		return;
	result.acked_bytes = until->bytes;
	result.retransmits = until->retransmits;
	result.state = begun ? REC_STEP_OPEN : REC_STEP_WAITS;
	monitor_audit(judge->audit, &result, &until->times, until->time_ps);
	monitor_report(device->ops->records(device), &result, &until->times, now_ps);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/agent/agent.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/pkt.h"
#include "common/record/buffer.h"
#include "common/wire/record.h"
#include "rxe-hosts/agent/policy.h"

#define AT(field) offsetof(struct detection_config, field)

#define CHOICE(id, value_, name_, symbol, meaning) { .name = name_, .value = id, .doc = meaning },
static const struct cfg_choice policies[] = { REC_POLICIES(CHOICE){ 0 } };

static const struct cfg_field detection_fields[] = {
	CFG_FIELD("policy", CFG_ENUM, AT(policy), .def = "vedrfolnir", .choices = policies, .doc = "When hosts poll."),
	CFG_FIELD("detections", CFG_INT, AT(detections), .def = "2", .min = 1, .max = 255,
		  .doc = "Most detections per step (policy vedrfolnir)."),
	CFG_FIELD("rtt_percent", CFG_INT, AT(rtt_percent), .def = "120", .min = 101, .max = 100000,
		  .doc = "Threshold in percent of the base RTT of the step's path; of Hawkeye, of the smallest or largest "
			 "of all paths."),
	CFG_FIELD("rtt_fixed", CFG_TIME, AT(rtt_fixed_ps), .def = "0ns",
		  .doc = "One threshold for all steps, whatever their paths, instead of rtt_percent; 0: none."),
	CFG_FIELD("transfer", CFG_BOOL, AT(transfer), .def = "true",
		  .doc = "A finished step passes its unused detections to the host that waits for it (policy vedrfolnir)."),
	CFG_FIELD("spacing", CFG_TIME, AT(spacing_ps), .def = "0ns",
		  .doc = "Minimum time between two detections of a step, and from its start to the first unless it is "
			 "paused; 0: its expected time divided by detections."),
	CFG_FIELD("lag_percent", CFG_INT, AT(lag_percent), .def = "1", .max = 1000,
		  .doc = "A detection is spent on a step that has lost more than this share of its expected time (policy "
			 "vedrfolnir). 0: on any whose RTT is above the threshold, as in the paper."),
	CFG_FIELD("retain", CFG_TIME, AT(retain_ps), .def = "50us",
		  .doc = "Keep only the first report of a port in this time. 0: keep all."),
	CFG_FIELD("probe_interval", CFG_TIME, AT(probe_interval_ps), .def = "1ms", .min = 1e7,
		  .doc = "Kernel hosts: time between two RTT probes of the step in flight."),
	CFG_FIELD("probes", CFG_INT, AT(probes), .def = "64", .min = 8, .max = 256,
		  .doc = "Kernel hosts: probes of each flow before the run, for base RTT and noise of the idle path."),
	CFG_FIELD("jitter", CFG_TIME, AT(jitter_ps), .def = "0s",
		  .doc = "Scheduling tolerance: a host may be late, and a step longer than expected, by this time without "
			 "being slow. 0: none if all hosts are embedded, else 50 ms."),
	CFG_FIELD("noise", CFG_TIME, AT(noise_ps), .def = "500us",
		  .doc = "Kernel hosts: minimum distance of the threshold above the base RTT; at least that of the 95th "
			 "percentile of the idle path's probes above their median."),
};

const struct cfg_table detection_table = {
	.path = "detection",
	.doc = "How hosts detect a slow step.",
	.size = sizeof(struct detection_config),
	.fields = detection_fields,
	.nfields = ARRAY_LEN(detection_fields),
};

#define POLICY(id, value, name, symbol, ...) [id] = &policy_##symbol,
const struct detection_policy *const agent_policies[AGENT_POLICIES] = { REC_POLICIES(POLICY) };

/* A step with less than this share of its expected progress has fallen behind. */
#define AGENT_BEHIND_PERCENT 99

static void set_running(struct agent *agent, uint32_t slot, bool running);
static uint32_t next_running(const struct agent *agent, uint32_t slot);
static void check_age(struct agent *agent, struct agent_slot *slot, uint64_t now_ps);
static void check_lag(struct agent *agent, struct agent_slot *slot, uint64_t now_ps);
static void check_nic(struct agent *agent, struct agent_slot *slot, uint64_t acked_bytes, uint64_t now_ps);

int
agent_init(struct agent *agent, struct device *device, const struct detection_config *config, uint32_t node,
	   uint32_t nslots)
{
	*agent = (struct agent){
		.device = device,
		.config = config,
		.policy = agent_policies[config->policy],
		.nslots = nslots,
		.node = node,
	};
	agent->slots = calloc(nslots + 1u, sizeof(*agent->slots));
	agent->running = calloc(nslots / 64 + 1, sizeof(*agent->running));
	if (agent->slots == NULL || agent->running == NULL) {
		agent_fini(agent);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nslots; i++)
		agent->slots[i].arm_ps = UINT64_MAX;
	return 0;
}

void
agent_fini(struct agent *agent)
{
	free(agent->slots);
	free(agent->running);
	agent->slots = NULL;
	agent->running = NULL;
}

uint64_t
agent_threshold_ps(const struct agent *agent, const struct agent_step *step, uint64_t base_rtt_ps)
{
	const struct detection_config *config = agent->config;
	uint64_t share_ps = config->rtt_fixed_ps;

	if (share_ps == 0)
		share_ps = base_rtt_ps * (uint64_t)config->rtt_percent / 100;
	return share_ps > base_rtt_ps + step->noise_ps ? share_ps : base_rtt_ps + step->noise_ps;
}

void
agent_step_started(struct agent *agent, uint32_t slot_index, const struct agent_step *step)
{
	struct agent_slot *slot = &agent->slots[slot_index];
	const struct detection_config *config = agent->config;

	assert(slot_index < agent->nslots && !slot->running);
	slot->step = *step;
	set_running(agent, slot_index, true);
	slot->arm_ps = UINT64_MAX;
	slot->threshold_ps = agent_threshold_ps(agent, step, step->base_rtt_ps);
	slot->spacing_ps = config->spacing_ps != 0 ? config->spacing_ps : step->expect_ps / (uint64_t)config->detections;
	slot->next_ps = step->start_ps;
	slot->wait_ps = slot->spacing_ps;
	slot->missed_ps = 0;
	slot->seen_bytes = UINT64_MAX;
	slot->moved_ps = step->start_ps;
	slot->acked_bytes = 0;
	slot->resent = 0;
	slot->nic_next_ps = step->start_ps + slot->spacing_ps;
	if (agent->policy->started != NULL)
		agent->policy->started(agent, slot);
}

void
agent_step_completed(struct agent *agent, uint32_t slot_index, uint32_t retransmits, uint64_t now_ps)
{
	struct agent_slot *slot = &agent->slots[slot_index];

	assert(slot->running);
	slot->arm_ps = UINT64_MAX;
	slot->retransmits = retransmits;
	set_running(agent, slot_index, false);
	if (agent->policy->watches_nic)
		check_nic(agent, slot, slot->step.bytes, now_ps);
	if (agent->policy->completed != NULL)
		agent->policy->completed(agent, slot, now_ps);
}

void
agent_step_failed(struct agent *agent, uint32_t slot_index)
{
	agent->slots[slot_index].arm_ps = UINT64_MAX;
	set_running(agent, slot_index, false);
}

void
agent_notified(struct agent *agent, uint32_t slot_index, uint32_t serial, uint32_t detections, uint64_t now_ps)
{
	assert(slot_index < agent->nslots);
	if (agent->policy->notified != NULL)
		agent->policy->notified(agent, &agent->slots[slot_index], serial, detections, now_ps);
}

void
agent_tick(struct agent *agent, uint64_t now_ps)
{
	if (agent->policy->tick == NULL && !agent->policy->ages && !agent->policy->watches_nic)
		return;
	for (uint32_t i = next_running(agent, 0); i < agent->nslots; i = next_running(agent, i + 1)) {
		struct agent_slot *slot = &agent->slots[i];

		if (agent->policy->tick != NULL)
			agent->policy->tick(agent, slot, now_ps);
		if (agent->policy->ages)
			check_age(agent, slot, now_ps);
		if (agent->policy->asks_lag)
			check_lag(agent, slot, now_ps);
		if (agent->policy->watches_nic && now_ps >= slot->nic_next_ps) {
			struct qp_state qp;

			agent->device->ops->query_qp(agent->device, slot->step.flow, &qp);
			check_nic(agent, slot, qp.acked_bytes, now_ps);
			slot->nic_next_ps = now_ps + slot->spacing_ps;
		}
	}
}

bool
agent_listens(const struct agent *agent)
{
	return agent->policy->exceeded != NULL;
}

void
agent_sample(struct agent *agent, uint32_t slot_index, uint64_t rtt_ps, uint64_t now_ps)
{
	agent->policy->exceeded(agent, &agent->slots[slot_index], REC_TRIGGER_RTT, rtt_ps, now_ps);
}

/* A packet that finds no room is lost, as it may be on the path: the agent continues. */
static void
post_control(struct agent *agent, uint8_t type, uint32_t flow, uint32_t id, uint32_t arg)
{
	const struct datagram datagram = { .flow = flow, .id = id, .arg = arg, .type = type };

	agent->device->ops->post_datagram(agent->device, &datagram);
}

/* Packets of the slot's step that were sent again. */
static uint32_t
retransmits_of(const struct agent *agent, const struct agent_slot *slot)
{
	struct qp_state qp;

	if (!slot->running)
		return slot->retransmits;
	agent->device->ops->query_qp(agent->device, slot->step.flow, &qp);
	return qp.retransmits;
}

/* After retransmissions in a step, ACKs may have been lost as well: the reverse path is polled too. */
static uint32_t
poll_flags(struct agent *agent, struct agent_slot *slot)
{
	slot->resent = agent->policy->asks_acks ? retransmits_of(agent, slot) : 0;
	return slot->resent != 0 ? POLL_VICTIM | POLL_ACKS : POLL_VICTIM;
}

bool
agent_detect(struct agent *agent, struct agent_slot *slot, enum rec_trigger_cause cause, uint64_t rtt_ps, uint64_t now_ps)
{
	const struct agent_step *step = &slot->step;
	struct rec_trigger rec = {
		.flow = step->tuple,
		.collective = step->collective,
		.iteration = step->iteration,
		.step = step->step,
		.cause = cause,
		.rtt_ps = rtt_ps,
		.threshold_ps = slot->threshold_ps,
		.remaining = slot->remaining,
		.rank = step->rank,
	};

	if (agent->policy->floods && (now_ps < agent->named_ps || agent->events == AGENT_FIRST_FLOOD - 1)) {
		uint32_t n = AGENT_FIRST_FLOOD + (uint32_t)(agent->flooded++ % (AGENT_MAX_EVENTS - AGENT_FIRST_FLOOD + 1));

		post_control(agent, PKT_POLL, step->flow, agent_event(agent->node, n), POLL_VICTIM | POLL_QUIET);
		return false;
	}
	if (agent->events == AGENT_MAX_EVENTS) {
		agent->refused++;
		return false;
	}
	agent->named_ps = now_ps + agent->config->retain_ps;
	rec.hdr.event = agent_event(agent->node, ++agent->events);
	recbuf_put(agent->device->ops->records(agent->device), &rec, REC_TRIGGER, sizeof(rec), now_ps);
	post_control(agent, PKT_POLL, step->flow, rec.hdr.event, poll_flags(agent, slot));
	return true;
}

int
agent_ask(struct agent *agent, uint32_t flow)
{
	if (agent->nasked == AGENT_MAX_ASKED)
		return -EAGAIN;
	if (agent->events == (agent->policy->floods ? AGENT_FIRST_FLOOD - 1 : AGENT_MAX_EVENTS))
		return -ENOSPC;
	agent->asked[agent->nasked++] = (struct agent_asked){ flow, agent_event(agent->node, ++agent->events) };
	return 0;
}

void
agent_send_asked(struct agent *agent)
{
	for (uint32_t i = 0; i < agent->nasked; i++)
		post_control(agent, PKT_POLL, agent->asked[i].flow, agent->asked[i].event, POLL_VICTIM);
	agent->nasked = 0;
}

/* Time that a step has lost, times its bytes: nothing is acknowledged in the first RTT, then at an even rate. */
static __int128
lost_byte_ps(const struct agent_step *step, uint64_t acked_bytes, uint64_t now_ps)
{
	__int128 expect_ps = step->expect_ps, rtt_ps = step->base_rtt_ps;

	return ((__int128)(now_ps - step->start_ps) - rtt_ps) * step->bytes - (expect_ps - rtt_ps) * acked_bytes;
}

bool
agent_lags(const struct agent *agent, const struct agent_slot *slot, uint64_t acked_bytes, uint64_t now_ps)
{
	const struct agent_step *step = &slot->step;

	return lost_byte_ps(step, acked_bytes, now_ps) * 100 >
	       (__int128)step->expect_ps * agent->config->lag_percent * step->bytes;
}

bool
agent_is_slow(const struct agent *agent, const struct agent_slot *slot, uint64_t acked_bytes, uint64_t now_ps)
{
	const struct agent_step *step = &slot->step;
	uint64_t least_ps = step->jitter_ps + step->expect_ps / 100 * (uint64_t)agent->config->lag_percent;

	return step->jitter_ps != 0 && lost_byte_ps(step, acked_bytes, now_ps) > (__int128)least_ps * step->bytes;
}

/* Sends a notification packet to the host that waits for the step, if any, and reports it. */
static void
agent_hand_over(struct agent *agent, struct agent_slot *slot, uint32_t detections, uint64_t now_ps)
{
	const struct agent_step *step = &slot->step;
	struct rec_notify rec = {
		.to = step->waiter,
		.collective = step->collective,
		.iteration = step->iteration,
		.step = step->step,
		.detections = detections,
		.rank = step->rank,
	};

	if (step->notify_flow == AGENT_NONE)
		return;
	recbuf_put(agent->device->ops->records(agent->device), &rec, REC_NOTIFY, sizeof(rec), now_ps);
	post_control(agent, PKT_NOTIFY, step->notify_flow, step->serial, detections);
}

/*
 * The larger of last sample and age, without the time that its receiver waits for further packets. A flow that is paused in
 * its own NIC has nothing in flight: its oldest unacknowledged packet is one that could not be sent, as old as the flow's
 * last progress. Where the congestion control keeps queues empty neither grows; there, throttling counts while the step is
 * late. Retransmissions count likewise, as each may have cost little time.
 */
static void
check_age(struct agent *agent, struct agent_slot *slot, uint64_t now_ps)
{
	struct qp_state qp;
	uint64_t since_ps, age_ps, rtt_ps;

	if (slot->arm_ps == UINT64_MAX || now_ps < slot->next_ps)
		return;
	agent->device->ops->query_qp(agent->device, slot->step.flow, &qp);
	if (qp.acked_bytes != slot->acked_bytes) {
		slot->acked_bytes = qp.acked_bytes;
		slot->moved_ps = now_ps;
	}
	since_ps = qp.outstanding_bytes != 0 ? qp.oldest_unacked_ps : slot->moved_ps;
	age_ps = now_ps > since_ps + slot->step.ack_wait_ps ? now_ps - since_ps - slot->step.ack_wait_ps : 0;
	rtt_ps = age_ps > qp.last_rtt_ps ? age_ps : qp.last_rtt_ps;
	if (rtt_ps > slot->arm_ps)
		agent->policy->exceeded(agent, slot, age_ps > qp.last_rtt_ps ? REC_TRIGGER_STALL : REC_TRIGGER_RTT, rtt_ps,
					now_ps);
	else if (qp.throttled && agent_lags(agent, slot, qp.acked_bytes, now_ps))
		agent->policy->exceeded(agent, slot, REC_TRIGGER_THROTTLE, rtt_ps, now_ps);
	else if (agent->policy->asks_acks && qp.retransmits > slot->resent &&
		 agent_lags(agent, slot, qp.acked_bytes, now_ps))
		agent->policy->exceeded(agent, slot, REC_TRIGGER_RESENT, rtt_ps, now_ps);
}

/* Once in a spacing, for as long as the step is slow. */
static void
check_lag(struct agent *agent, struct agent_slot *slot, uint64_t now_ps)
{
	struct qp_state qp;

	if (slot->step.jitter_ps == 0 || now_ps < slot->next_ps || now_ps < slot->step.start_ps + slot->spacing_ps)
		return;
	agent->device->ops->query_qp(agent->device, slot->step.flow, &qp);
	if (agent_is_slow(agent, slot, qp.acked_bytes, now_ps))
		agent->policy->exceeded(agent, slot, REC_TRIGGER_LAG, qp.last_rtt_ps, now_ps);
}

/*
 * Flows that share a NIC slow each other down, but their RTTs do not show it: a packet's RTT begins when it leaves. So
 * once in every spacing, and at its end, a step that is behind its expected progress checks its own NIC. This costs no
 * polling packet and no detection. It costs no bytes unless flows did wait for each other there.
 */
static void
check_nic(struct agent *agent, struct agent_slot *slot, uint64_t acked_bytes, uint64_t now_ps)
{
	const struct agent_step *step = &slot->step;
	unsigned __int128 is = (unsigned __int128)acked_bytes * step->expect_ps * 100;
	unsigned __int128 should_be = (unsigned __int128)step->bytes * (now_ps - step->start_ps) * AGENT_BEHIND_PERCENT;

	if (is < should_be && agent->device->ops->report_nic != NULL)
		agent->device->ops->report_nic(agent->device, step->flow);
}

static void
set_running(struct agent *agent, uint32_t slot, bool running)
{
	uint64_t bit = 1ull << slot % 64;

	agent->slots[slot].running = running;
	agent->running[slot / 64] = (agent->running[slot / 64] & ~bit) | (running ? bit : 0);
}

/* @return the first slot from one on that has a step in flight; nslots or more: none */
static uint32_t
next_running(const struct agent *agent, uint32_t slot)
{
	uint64_t word;

	for (; slot < agent->nslots; slot = (slot / 64 + 1) * 64) {
		word = agent->running[slot / 64] >> slot % 64;
		if (word != 0)
			return slot + (uint32_t)__builtin_ctzll(word);
	}
	return slot;
}

/* The detections that a step has left. */

void
allowance_begin(const struct agent *agent, struct agent_slot *slot)
{
	slot->remaining = (uint32_t)agent->config->detections + slot->pending;
	slot->pending = 0;
	allowance_arm(slot);
}

void
allowance_arm(struct agent_slot *slot)
{
	slot->arm_ps = slot->remaining != 0 ? slot->threshold_ps : UINT64_MAX;
}

uint64_t
allowance_spend(struct agent_slot *slot, uint64_t now_ps)
{
	slot->remaining--;
	return now_ps + slot->spacing_ps;
}

void
allowance_pass_on(struct agent *agent, struct agent_slot *slot, uint64_t now_ps)
{
	uint32_t unused = slot->remaining;

	slot->remaining = 0;
	if (unused != 0 && agent->config->transfer)
		agent_hand_over(agent, slot, unused, now_ps);
}

void
allowance_add(struct agent *agent, struct agent_slot *slot, uint32_t serial, uint32_t detections, uint64_t now_ps)
{
	if (!slot->running) {
		slot->pending += detections;
		return;
	}
	slot->remaining += detections;
	allowance_arm(slot);
}

/*
 * The variant of the poster: a finished step marks the host that needs its data as waited for. A marked host that is
 * still at an earlier step, so that it cannot pass the marking on, detects once in that step, when its RTT is above the
 * threshold. A host that was itself waiting for the finished step is not to blame. It uses samples and switches only:
 * the poster specifies no more.
 */

static void
arm(struct agent_slot *slot)
{
	bool waited = slot->step.serial < slot->waited_serial;

	slot->arm_ps = waited && slot->remaining != 0 ? slot->threshold_ps : UINT64_MAX;
}

static void
started(struct agent *agent, struct agent_slot *slot)
{
	slot->remaining = 1;
	arm(slot);
}

static void
exceeded(struct agent *agent, struct agent_slot *slot, enum rec_trigger_cause cause, uint64_t rtt_ps, uint64_t now_ps)
{
	slot->remaining = 0;
	arm(slot);
	agent_detect(agent, slot, cause, rtt_ps, now_ps);
}

static void
completed(struct agent *agent, struct agent_slot *slot, uint64_t now_ps)
{
	agent_hand_over(agent, slot, 0, now_ps);
}

static void
notified(struct agent *agent, struct agent_slot *slot, uint32_t serial, uint32_t detections, uint64_t now_ps)
{
	if (serial > slot->waited_serial)
		slot->waited_serial = serial;
	if (slot->running)
		arm(slot);
}

const struct detection_policy policy_poster = {
	.started = started,
	.exceeded = exceeded,
	.completed = completed,
	.notified = notified,
};

/* Never detects. */
const struct detection_policy policy_off = { 0 };

/*
 * Full polling (VEDRFOLNIR IV-A): all switches report all their ports once an epoch, unpolled. Hosts trigger nothing;
 * they report the queues of their own NICs as under our own policy.
 */
const struct detection_policy policy_full_polling = {
	.every_epoch = true,
	.watches_nic = true,
};

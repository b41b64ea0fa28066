/* SPDX-License-Identifier: BSD-3-Clause */
/* An agent that probes: what it sends, and how its probes end. */
#include <errno.h>

#include "rxe-hosts/probe/inside.h"

static void
probe(struct probe_agent *agent, uint32_t nic, uint8_t kind, const struct probe_target *target, uint64_t now_ps)
{
	struct probe_nic *of = &agent->nics[nic];
	struct probe_open *open = &of->open[of->seq % PROBE_OPEN];
	const struct probe_completion what = {
		.seq = of->seq, .qpn = of->qpn, .part = kind == REC_PROBE_RAIL ? PROBE_ONE_WAY : PROBE_PROBE, .kind = kind
	};
	const struct datagram how = {
		.wr_id = probe_wr_id(nic, false, of->seq), .flow = target->flow, .qpn = target->qpn, .signaled = true
	};

	if (open->is_open || probe_post(agent, &how, &what) != 0) {
		agent->counts.dropped++;
		return;
	}
	*open = (struct probe_open){
		.is_open = true,
		.kind = kind,
		.seq = of->seq++,
		.flow = target->flow,
		.qpn = target->qpn,
		.posted_ps = now_ps,
	};
	agent->counts.sent++;
}

uint64_t
probe_timer_ps(const struct probe_agent *agent, const struct probe_nic *nic)
{
	return nic->timed != nic->seq ? nic->open[nic->timed % PROBE_OPEN].posted_ps + agent->timeout_ps : TIME_NEVER;
}

/* A timer that runs out is one more thing to handle, behind all that came before it: who is late himself blames nobody. */
static void
watch(struct probe_agent *agent, struct probe_nic *nic, uint64_t now_ps)
{
	for (; probe_timer_ps(agent, nic) <= now_ps; nic->timed++)
		if (nic->open[nic->timed % PROBE_OPEN].is_open && nic->open[nic->timed % PROBE_OPEN].seq == nic->timed)
			probe_queue_push(agent, &nic->prober,
					 (struct probe_completion){ .stamp_ps = probe_timer_ps(agent, nic),
								    .seq = nic->timed,
								    .event = PROBE_TIMED });
}

void
probe_send_due(struct probe_agent *agent, uint32_t nic, uint64_t now_ps)
{
	struct probe_nic *of = &agent->nics[nic];

	watch(agent, of, now_ps);
	for (uint8_t kind = 0; kind < PROBE_LISTS; kind++) {
		struct probe_list *list = &of->lists[kind];
		const struct probe_target *target;

		if (list->next_ps > now_ps)
			continue;
		if (now_ps - list->next_ps >= list->gap_ps)
			list->next_ps = now_ps; /* the host stood still: turns that are over are not made up for */
		target = probe_list_turn(agent, list, kind == REC_PROBE_SERVICE);
		if (target != NULL)
			probe(agent, nic, kind, target, now_ps);
	}
	probe_trace_due(agent, nic, now_ps);
}

int
probe_agent_ask(struct probe_agent *agent, uint32_t node)
{
	const struct flow *flows = agent->config.flows->flows;

	if (agent->nextra == PROBE_MAX_EXTRA)
		return -EAGAIN;
	for (uint32_t nic = 0; nic < agent->nnics && !agent->is_down; nic++)
		for (uint8_t kind = 0; kind < PROBE_LISTS; kind++)
			for (uint32_t i = 0; i < agent->nics[nic].lists[kind].count; i++) {
				const struct probe_target *target = &agent->nics[nic].lists[kind].targets[i];

				if (target->qpn == 0 || flows[target->flow].dst_node != node)
					continue;
				agent->extra[agent->nextra++] = (struct probe_extra){ nic, kind, *target };
				return 0;
			}
	return -ENOENT;
}

void
probe_send_extra(struct probe_agent *agent, uint64_t now_ps)
{
	for (uint32_t i = 0; i < agent->nextra; i++)
		probe(agent, agent->extra[i].nic, agent->extra[i].kind, &agent->extra[i].target, now_ps);
	agent->nextra = 0;
}

static void
end(struct probe_agent *agent, uint32_t nic, struct probe_open *open)
{
	uint32_t result = open->has_left && open->has_ack && open->has_second ? REC_PROBE_OK
			  : open->has_left && open->has_ack                   ? REC_PROBE_SECOND_LOST
			  : open->has_second                                  ? REC_PROBE_FIRST_LOST
									      : REC_PROBE_TIMEOUT;

	if (!open->is_open) /* all of it is there after all */
		result = REC_PROBE_LATE;
	open->is_missed = open->is_open && result != REC_PROBE_OK && open->kind != REC_PROBE_RAIL;
	open->is_open = false;
	if (open->kind == REC_PROBE_RAIL && open->has_ack && !open->has_left)
		agent->counts.dropped++; /* it came, but there was no room for when it had left */
	else
		probe_result(agent, nic, open, result);
}

void
probe_prober_handle(struct probe_agent *agent, uint32_t nic, const struct probe_completion *c)
{
	struct probe_open *open = &agent->nics[nic].open[c->seq % PROBE_OPEN];

	if (c->event == PROBE_TIMED && c->ready_ps - c->stamp_ps > agent->late_ps)
		agent->late_ps = c->ready_ps - c->stamp_ps;
	if (c->event == PROBE_ACKED && c->part == PROBE_TRACED) {
		probe_trace_arrived(agent, nic, c->seq);
		return;
	}
	if ((!open->is_open && !open->is_missed) || open->seq != c->seq)
		return; /* it had ended */
	if (c->event == PROBE_LEFT) {
		open->has_left = true;
		open->left_ps = c->stamp_ps;
	} else if (c->event == PROBE_CROSSED) {
		open->has_ack = open->has_second = true;
		open->ack_ps = c->stamp_ps;
	} else if (c->event == PROBE_ACKED && c->part == PROBE_ACK) {
		open->has_ack = true;
		open->ack_ps = c->stamp_ps;
		open->taken_ps = c->ready_ps;
	} else if (c->event == PROBE_ACKED) {
		open->has_second = true;
		open->responder_ps = c->responder_ps;
	}
	if (c->event == PROBE_TIMED || (open->has_left && open->has_ack && open->has_second))
		end(agent, nic, open);
}

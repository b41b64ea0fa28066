/* SPDX-License-Identifier: BSD-3-Clause */
/* An agent that is probed: an ACK, and when it is known when that left, a second one that tells of its own delay. */
#include "rxe-hosts/probe/inside.h"

static void
acknowledge(struct probe_agent *agent, uint32_t nic, const struct probe_completion *c)
{
	struct probe_nic *of = &agent->nics[nic];
	struct probe_answer *answer = &of->answer[of->answers % PROBE_ANSWERS];
	const struct probe_completion what = { .seq = c->seq, .qpn = of->qpn, .part = PROBE_ACK, .kind = c->kind };
	const struct datagram how = { .wr_id = probe_wr_id(nic, true, of->answers),
				      .flow = c->flow,
				      .qpn = c->qpn,
				      .signaled = true,
				      .reply = true };

	*answer = (struct probe_answer){
		.flow = c->flow, .qpn = c->qpn, .seq = c->seq, .kind = c->kind, .received_ps = c->stamp_ps
	};
	if (probe_post(agent, &how, &what) != 0) {
		agent->counts.dropped++;
		return;
	}
	of->answers++;
	agent->counts.answered++;
	probe_trace_back(agent, of, c);
}

/* The end of a way that is traced. */
static void
answer_trace(struct probe_agent *agent, uint32_t nic, const struct probe_completion *c)
{
	const struct probe_completion what = { .seq = c->seq, .qpn = agent->nics[nic].qpn, .part = PROBE_TRACED };
	const struct datagram how = { .flow = c->flow, .qpn = c->qpn, .reply = !c->reply };

	if (probe_post(agent, &how, &what) != 0)
		agent->counts.dropped++;
}

static void
report_probe(struct probe_agent *agent, uint32_t nic, const struct probe_completion *c)
{
	const struct probe_answer *answer = &agent->nics[nic].answer[c->seq % PROBE_ANSWERS];
	const struct probe_completion what = { .seq = answer->seq,
					       .qpn = agent->nics[nic].qpn,
					       .part = PROBE_SECOND_ACK,
					       .kind = answer->kind,
					       .responder_ps = c->stamp_ps > answer->received_ps
								       ? c->stamp_ps - answer->received_ps
								       : 0 };
	const struct datagram how = { .flow = answer->flow, .qpn = answer->qpn, .reply = true };

	if (agent->nics[nic].answers - c->seq > PROBE_ANSWERS || probe_post(agent, &how, &what) != 0)
		agent->counts.dropped++;
}

void
probe_responder_handle(struct probe_agent *agent, uint32_t nic, const struct probe_completion *c)
{
	if (c->event == PROBE_ASKED && c->part == PROBE_TRACE)
		answer_trace(agent, nic, c);
	else if (c->event == PROBE_ASKED)
		acknowledge(agent, nic, c);
	else
		report_probe(agent, nic, c);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An agent that dies and starts again: whatever it had not uploaded is lost, its RNICs get QPs with other numbers, and probes that
 * still have the old ones are dropped until pinglists have been pulled (R-Pingmesh 4.1, 4.3.1). The host's connections go on.
 */
#include "rxe-hosts/probe/inside.h"

static void
forget_nic(struct probe_nic *nic)
{
	nic->prober.head = nic->prober.tail;
	nic->responder.head = nic->responder.tail;
	nic->prober.last_ready_ps = nic->responder.last_ready_ps = 0;
	for (uint32_t i = 0; i < PROBE_OPEN; i++)
		nic->open[i].is_open = nic->open[i].is_missed = false;
	nic->timed = nic->seq; /* numbers of probes go on: completions of the old QP may still come */
	nic->nbacks = 0;
	probe_paths_forget(nic);
	nic->trace = (struct probe_trace){ .next_ps = TIME_NEVER };
	for (uint32_t kind = 0; kind < PROBE_LISTS; kind++) {
		struct probe_list *list = &nic->lists[kind];

		list->next_ps = TIME_NEVER;
		list->at = 0;
		if (kind != REC_PROBE_SERVICE)
			list->count = 0;
		for (uint32_t i = 0; i < list->count; i++)
			list->targets[i].qpn = 0;
	}
}

void
probe_agent_stop(struct probe_agent *agent)
{
	if (agent->is_down)
		return;
	agent->is_down = true;
	agent->counts.deaths++;
	agent->wants = agent->asked = 0;
	agent->nextra = 0;
	agent->is_taken = false;
	agent->reply_ps = agent->next_upload_ps = agent->next_pull_ps = TIME_NEVER;
	agent->service_ps = agent->pinglist_ps = 0;
	agent->nresults = agent->nended = agent->ntimeouts = agent->nhops = 0;
	agent->reported_dropped = agent->counts.dropped;
	agent->late_ps = 0;
	for (uint32_t i = 0; i < agent->nnics; i++)
		forget_nic(&agent->nics[i]);
}

bool
probe_restart_missed(struct probe_list *list, uint32_t flow, uint32_t collective, bool open)
{
	for (uint32_t i = 0; i < list->count; i++) {
		struct probe_target *target = &list->targets[i];

		if (target->flow != flow)
			continue;
		if (open)
			target->gone = false;
		else if (target->unreported)
			*target = list->targets[--list->count];
		else
			target->gone = true;
		return true;
	}
	return !open ||
	       probe_list_add(list, (struct probe_target){ .flow = flow, .collective = collective, .unreported = true }) ==
		       0;
}

/* Of the host's connections that there are now, and of those that went meanwhile. */
static void
report_connections(struct probe_agent *agent, uint32_t nic, uint64_t now_ps)
{
	struct probe_list *list = &agent->nics[nic].lists[REC_PROBE_SERVICE];

	for (uint32_t i = list->count; i-- > 0;) {
		struct probe_target *target = &list->targets[i];
		bool gone = target->gone;

		if (target->unreported || gone)
			probe_report_connection(agent, target->flow, target->collective, !gone, now_ps);
		target->unreported = false;
		if (gone)
			*target = list->targets[--list->count];
	}
}

int
probe_agent_restart(struct probe_agent *agent, uint64_t now_ps)
{
	int rc = probe_open_qps(agent);

	agent->is_down = false;
	for (uint32_t i = 0; i < agent->nnics; i++)
		report_connections(agent, i, now_ps);
	agent->wants |= PROBE_WANTS_REGISTRATION | PROBE_WANTS_TARGETS;
	probe_ask(agent, now_ps);
	return rc;
}

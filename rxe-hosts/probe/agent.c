/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/probe/agent.h"

#include <errno.h>
#include <stdlib.h>

#include "rxe-hosts/probe/inside.h"

#define PHASE_STREAM 0x7068617365ULL /* "phase" */
#define CLOCK_STREAM 0x636c6f636bULL /* "clock" */

static int
allocate(struct probe_agent *agent)
{
	agent->nics = calloc(agent->nnics, sizeof(*agent->nics));
	agent->results = calloc(PROBE_RESULTS, sizeof(*agent->results));
	agent->hops = calloc(PROBE_HOP_RESULTS, sizeof(*agent->hops));
	if (agent->nics == NULL || agent->results == NULL || agent->hops == NULL || probe_paths_init(agent) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < agent->nnics; i++) {
		struct probe_nic *nic = &agent->nics[i];

		nic->prober.ring = calloc(PROBE_COMPLETIONS, sizeof(*nic->prober.ring));
		nic->responder.ring = calloc(PROBE_COMPLETIONS, sizeof(*nic->responder.ring));
		if (nic->prober.ring == NULL || nic->responder.ring == NULL)
			return -ENOMEM;
		for (uint32_t kind = 0; kind < PROBE_LISTS; kind++)
			nic->lists[kind].next_ps = TIME_NEVER;
		nic->trace.next_ps = TIME_NEVER;
	}
	return 0;
}

static void
set_clocks(struct probe_agent *agent)
{
	struct prng prng;

	prng_init(&prng, agent->config.seed ^ CLOCK_STREAM, agent->config.node);
	for (uint32_t i = 0; i < agent->nnics; i++)
		agent->nics[i].clock_ps = prng_below(&prng, agent->config.clock_ps + 1);
}

struct probe_agent *
probe_agent_create(const struct probe_agent_config *config)
{
	struct probe_agent *agent = calloc(1, sizeof(*agent));

	if (agent == NULL)
		return NULL;
	agent->config = *config;
	agent->nnics = config->topo->nodes[config->node].nports;
	agent->next_upload_ps = agent->next_pull_ps = agent->reply_ps = TIME_NEVER;
	probe_cpu_init(&agent->cpu, config->cpu_ps, config->seed, config->node);
	prng_init(&agent->prng, config->seed ^ PHASE_STREAM, config->node);
	if (allocate(agent) == 0) {
		set_clocks(agent);
		return agent;
	}
	probe_agent_destroy(agent);
	errno = ENOMEM;
	return NULL;
}

void
probe_agent_destroy(struct probe_agent *agent)
{
	if (agent == NULL)
		return;
	for (uint32_t i = 0; agent->nics != NULL && i < agent->nnics; i++) {
		free(agent->nics[i].prober.ring);
		free(agent->nics[i].responder.ring);
		free(agent->nics[i].backs);
		probe_paths_forget(&agent->nics[i]);
		free(agent->nics[i].received);
		for (uint32_t kind = 0; kind < PROBE_LISTS; kind++)
			free(agent->nics[i].lists[kind].targets);
	}
	free(agent->nics);
	free(agent->results);
	free(agent->hops);
	free(agent->paths);
	free(agent->request);
	free(agent->reply);
	free(agent);
}

int
probe_open_qps(struct probe_agent *agent)
{
	struct device *dev = agent->config.device;

	for (uint16_t i = 0; i < agent->nnics; i++) {
		int64_t qpn = dev->ops->ud_open(dev, i, PROBE_RECEIVES);

		if (qpn < 0)
			return (int)qpn;
		agent->nics[i].qpn = (uint32_t)qpn;
	}
	return 0;
}

int
probe_agent_start(struct probe_agent *agent)
{
	int rc = probe_open_qps(agent);

	if (rc != 0)
		return rc;
	agent->wants |= PROBE_WANTS_REGISTRATION;
	probe_ask(agent, agent->config.device->ops->now(agent->config.device));
	return 0;
}

uint64_t
probe_agent_next_ps(const struct probe_agent *agent)
{
	uint64_t next_ps = probe_earlier(agent->reply_ps, probe_earlier(agent->next_upload_ps, agent->next_pull_ps));

	if (agent->nextra != 0)
		return 0;
	for (uint32_t i = 0; i < agent->nnics; i++) {
		const struct probe_nic *nic = &agent->nics[i];

		next_ps = probe_earlier(next_ps, probe_queue_next_ps(&nic->prober));
		next_ps = probe_earlier(next_ps, probe_queue_next_ps(&nic->responder));
		next_ps = probe_earlier(next_ps, probe_timer_ps(agent, nic));
		next_ps = probe_earlier(next_ps, nic->trace.next_ps);
		for (uint32_t kind = 0; kind < PROBE_LISTS; kind++)
			next_ps = probe_earlier(next_ps, nic->lists[kind].next_ps);
	}
	return next_ps;
}

/* Asks again: of the lists, and of all targets of service tracing (R-Pingmesh 5). */
static void
pull(struct probe_agent *agent, uint64_t now_ps)
{
	agent->wants |= PROBE_WANTS_LISTS | PROBE_WANTS_TARGETS;
	agent->next_pull_ps = agent->pinglist_ps != 0 ? now_ps + agent->pinglist_ps : TIME_NEVER;
}

/* A datagram that was received has been read. */
static void
handle_responder(struct probe_agent *agent, uint32_t nic, const struct probe_completion *c)
{
	if (c->event == PROBE_ASKED)
		agent->config.device->ops->ud_receive(agent->config.device, (uint16_t)nic);
	probe_responder_handle(agent, nic, c);
}

static void
handle_prober(struct probe_agent *agent, uint32_t nic, const struct probe_completion *c)
{
	if (c->event == PROBE_ACKED)
		agent->config.device->ops->ud_receive(agent->config.device, (uint16_t)nic);
	if (c->event == PROBE_CROSSED)
		agent->config.device->ops->ud_receive(agent->config.device, agent->config.flows->flows[c->flow].dst_nic);
	probe_prober_handle(agent, nic, c);
}

void
probe_agent_wake(struct probe_agent *agent, uint64_t now_ps)
{
	if (agent->reply_ps <= now_ps)
		probe_take_reply(agent, now_ps);
	if (agent->next_pull_ps <= now_ps)
		pull(agent, now_ps);
	for (uint32_t i = 0; i < agent->nnics; i++) {
		const struct probe_completion *c;

		while ((c = probe_queue_pop(&agent->nics[i].prober, now_ps)) != NULL)
			handle_prober(agent, i, c);
		while ((c = probe_queue_pop(&agent->nics[i].responder, now_ps)) != NULL)
			handle_responder(agent, i, c);
		probe_send_due(agent, i, now_ps);
	}
	probe_send_extra(agent, now_ps);
	if (agent->next_upload_ps <= now_ps)
		probe_upload(agent, now_ps);
	probe_ask(agent, now_ps);
}

/* Whose thread handles what came: that of a probe of one way looks at the completions of both RNICs, whose host is the same. */
static struct probe_queue *
queue_of(struct probe_agent *agent, uint16_t at, const struct probe_completion *c)
{
	if (c->event == PROBE_CROSSED)
		return &agent->nics[agent->config.flows->flows[c->flow].src_nic].prober;
	return c->event == PROBE_ASKED ? &agent->nics[at].responder : &agent->nics[at].prober;
}

void
probe_agent_received(struct probe_agent *agent, const struct datagram *datagram, uint64_t now_ps)
{
	const struct flow *flow = &agent->config.flows->flows[datagram->flow];
	uint16_t at = datagram->reply ? flow->src_nic : flow->dst_nic;
	struct probe_completion c;

	if (agent->is_down)
		return;
	if (datagram->type == PKT_EXPIRED) {
		at = datagram->reply ? flow->dst_nic : flow->src_nic;
		if (probe_read(datagram, &c) && c.part == PROBE_TRACE)
			probe_trace_ended(agent, at, c.seq, datagram->arg);
		return;
	}
	if (!probe_read(datagram, &c) || (c.event == PROBE_CROSSED && flow->src_node != agent->config.node)) {
		agent->counts.strange++;
		agent->config.device->ops->ud_receive(agent->config.device, at);
		return;
	}
	c.stamp_ps = now_ps;
	if (!probe_queue_push(agent, queue_of(agent, at, &c), c))
		agent->config.device->ops->ud_receive(agent->config.device, at);
	else if (datagram->int_header != NULL)
		probe_paths_receive(agent, &agent->nics[at], datagram, now_ps);
}

void
probe_agent_departed(struct probe_agent *agent, const struct datagram *datagram)
{
	const struct flow *flow = &agent->config.flows->flows[datagram->flow];
	uint16_t at = datagram->reply ? flow->dst_nic : flow->src_nic;
	struct probe_queue *queue = datagram->reply ? &agent->nics[at].responder : &agent->nics[at].prober;

	if (agent->is_down)
		return;
	probe_queue_push(agent, queue,
			 (struct probe_completion){ .stamp_ps = datagram->left_ps,
						    .seq = (uint32_t)datagram->wr_id,
						    .event = datagram->reply ? PROBE_ANSWERED : PROBE_LEFT });
}

void
probe_agent_retime(struct probe_agent *agent, struct probe_nic *nic, uint64_t now_ps)
{
	struct probe_list *list = &nic->lists[REC_PROBE_SERVICE];

	if (agent->service_ps != 0)
		probe_list_set(agent, list, agent->service_ps * list->count, now_ps);
}

void
probe_report_connection(struct probe_agent *agent, uint32_t flow, uint32_t collective, bool open, uint64_t now_ps)
{
	const struct flow *of = &agent->config.flows->flows[flow];
	struct rec_connection rec = { .nic = of->src_nic, .open = open, .collective = collective, .tuple = flow_tuple(of) };

	recbuf_put(agent->config.device->ops->records(agent->config.device), &rec, REC_CONNECTION, sizeof(rec), now_ps);
}

void
probe_agent_connection(struct probe_agent *agent, uint32_t flow, uint32_t collective, bool open, uint64_t now_ps)
{
	const struct flow *of = &agent->config.flows->flows[flow];
	struct probe_list *list = &agent->nics[of->src_nic].lists[REC_PROBE_SERVICE];

	if (!agent->config.service)
		return;
	if (agent->is_down) {
		agent->counts.dropped += !probe_restart_missed(list, flow, collective, open);
		return;
	}
	probe_report_connection(agent, flow, collective, open, now_ps);
	if (open) {
		if (probe_list_add(list, (struct probe_target){ .flow = flow, .collective = collective }) != 0)
			agent->counts.dropped++;
		agent->wants |= PROBE_WANTS_TARGETS;
	} else {
		for (uint32_t i = 0; i < list->count; i++)
			if (list->targets[i].flow == flow) {
				list->targets[i] = list->targets[--list->count];
				break;
			}
	}
	probe_agent_retime(agent, &agent->nics[of->src_nic], now_ps);
	probe_ask(agent, now_ps);
}

void
probe_agent_load(struct probe_agent *agent, uint64_t load_ps)
{
	agent->cpu.load_ps = load_ps;
}

struct probe_agent_counts
probe_agent_counts(const struct probe_agent *agent)
{
	struct probe_agent_counts counts = agent->counts;

	counts.overloaded = agent->cpu.overloaded;
	return counts;
}

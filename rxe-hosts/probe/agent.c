/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/probe/agent.h"

#include <errno.h>
#include <stdlib.h>

#include "rxe-hosts/probe/inside.h"
#include "workload/traffic/exponential.h"

#define PHASE_STREAM 0x7068617365ULL /* "phase" */
#define CLOCK_STREAM 0x636c6f636bULL /* "clock" */

static bool probe_restart_missed(struct probe_list *list, uint32_t flow, uint32_t collective, bool open);
static int probe_paths_init(struct probe_agent *agent);
static const struct probe_completion *probe_queue_pop(struct probe_queue *queue, uint64_t now_ps);

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

/* New QPs on all RNICs. @return 0 or a negative errno */
static int
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

/*
 * The thread that handles a completion. That of a one-way probe handles the completions of both RNICs, which are of the
 * same host.
 */
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

/* A record of a connection. */
static void
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

/*
 * An agent that dies and starts again: data that it had not uploaded is lost, its RNICs get QPs with other numbers, and
 * probes with the old numbers are dropped until pinglists have been pulled (R-Pingmesh 4.1, 4.3.1). The host's
 * connections continue.
 */

static void
forget_nic(struct probe_nic *nic)
{
	nic->prober.head = nic->prober.tail;
	nic->responder.head = nic->responder.tail;
	nic->prober.last_ready_ps = nic->responder.last_ready_ps = 0;
	for (uint32_t i = 0; i < PROBE_OPEN; i++)
		nic->open[i].is_open = nic->open[i].is_missed = false;
	nic->timed = nic->seq; /* numbers of probes continue: completions of the old QP may still arrive */
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

/* A connection opened or closed while the agent was down. @return false: out of memory, it remains unknown */
static bool
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

/* Whom an RNIC probes, in turn, and by which flow. */

static int
by_tuple(const void *a, const void *b)
{
	const struct probe_path_key *x = a, *y = b;

	if (x->nic != y->nic)
		return x->nic < y->nic ? -1 : 1;
	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	return x->sport < y->sport ? -1 : x->sport > y->sport;
}

static int
probe_paths_init(struct probe_agent *agent)
{
	const struct flow_table *flows = agent->config.flows;
	uint32_t count = 0;

	for (uint32_t i = 0; i < flows->count; i++)
		count += flows->flows[i].src_node == agent->config.node;
	agent->paths = calloc(count + 1u, sizeof(*agent->paths));
	if (agent->paths == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < flows->count; i++) {
		const struct flow *flow = &flows->flows[i];

		if (flow->src_node == agent->config.node && flow->dport == ROCEV2_UDP_PORT)
			agent->paths[agent->npaths++] =
				(struct probe_path_key){ flow->src_nic, flow->dst_ip, flow->sport, i };
	}
	qsort(agent->paths, agent->npaths, sizeof(*agent->paths), by_tuple);
	return 0;
}

uint32_t
probe_path_key_of(const struct probe_agent *agent, uint32_t nic, uint32_t ip, uint16_t sport)
{
	const struct probe_path_key key = { nic, ip, sport, 0 };
	const struct probe_path_key *found = bsearch(&key, agent->paths, agent->npaths, sizeof(key), by_tuple);

	return found != NULL ? found->flow : PROBE_NO_FLOW;
}

int
probe_list_add(struct probe_list *list, struct probe_target target)
{
	if (list->count == list->cap) {
		uint32_t cap = list->cap == 0 ? 16 : 2 * list->cap;
		struct probe_target *targets = realloc(list->targets, cap * sizeof(*targets));

		if (targets == NULL)
			return -ENOMEM;
		list->targets = targets;
		list->cap = cap;
	}
	list->targets[list->count++] = target;
	return 0;
}

void
probe_list_set(struct probe_agent *agent, struct probe_list *list, uint64_t interval_ps, uint64_t now_ps)
{
	if (list->count == 0) {
		list->next_ps = TIME_NEVER;
		return;
	}
	list->gap_ps = interval_ps / list->count + (interval_ps < list->count);
	if (list->at >= list->count)
		list->at = 0;
	if (list->next_ps == TIME_NEVER)
		list->next_ps = now_ps + prng_below(&agent->prng, list->gap_ps);
}

/* Fisher and Yates's. */
static void
shuffle(struct prng *prng, struct probe_list *list)
{
	for (uint32_t i = list->count; i > 1; i--) {
		uint32_t k = (uint32_t)prng_below(prng, i);
		struct probe_target last = list->targets[i - 1];

		list->targets[i - 1] = list->targets[k];
		list->targets[k] = last;
	}
}

const struct probe_target *
probe_list_turn(struct probe_agent *agent, struct probe_list *list, bool shuffled)
{
	list->next_ps += list->gap_ps;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct probe_target *target;

		if (list->at == 0 && shuffled)
			shuffle(&agent->prng, list);
		target = &list->targets[list->at];
		list->at = list->at + 1 == list->count ? 0 : list->at + 1;
		if (target->qpn != 0)
			return target;
	}
	return NULL;
}

/* What the RNIC completed. */

bool
probe_queue_push(struct probe_agent *agent, struct probe_queue *queue, struct probe_completion completion)
{
	uint64_t ready_ps = completion.stamp_ps + probe_cpu_draw(&agent->cpu);

	if (queue->tail - queue->head == PROBE_COMPLETIONS) {
		agent->counts.dropped++;
		return false;
	}
	completion.ready_ps = ready_ps > queue->last_ready_ps ? ready_ps : queue->last_ready_ps;
	queue->last_ready_ps = completion.ready_ps;
	queue->ring[queue->tail++ % PROBE_COMPLETIONS] = completion;
	return true;
}

uint64_t
probe_queue_timer_ps(const struct probe_queue *queue)
{
	for (uint32_t i = queue->head; i != queue->tail; i++)
		if (queue->ring[i % PROBE_COMPLETIONS].event == PROBE_TIMED)
			return queue->ring[i % PROBE_COMPLETIONS].stamp_ps;
	return TIME_NEVER;
}

/* @return the oldest if it is ready, which is taken; NULL. Valid until the next is put in */
static const struct probe_completion *
probe_queue_pop(struct probe_queue *queue, uint64_t now_ps)
{
	struct probe_completion *oldest = &queue->ring[queue->head % PROBE_COMPLETIONS];

	if (probe_queue_next_ps(queue) > now_ps)
		return NULL;
	oldest->ready_ps = now_ps;
	queue->head++;
	return oldest;
}

/* How late completions are handled. */

#define CPU_STREAM 0x70726f6265637075ULL /* "probecpu" */
#define MEAN_A_MEDIAN 1512775ULL         /* 1 / ln 2, in 2^-EXPONENTIAL_MEAN_BITS: an exponential's mean over its median */

void
probe_cpu_init(struct probe_cpu *cpu, uint64_t median_ps, uint64_t seed, uint32_t node)
{
	*cpu = (struct probe_cpu){ .median_ps = median_ps };
	prng_init(&cpu->prng, seed ^ CPU_STREAM, node);
}

static uint64_t
draw(struct probe_cpu *cpu, uint64_t median_ps)
{
	return median_ps / 2 + exponential_ps(&cpu->prng, (median_ps - median_ps / 2) * MEAN_A_MEDIAN);
}

uint64_t
probe_cpu_draw(struct probe_cpu *cpu)
{
	uint64_t delay_ps = draw(cpu, cpu->median_ps);

	if (cpu->load_ps == 0)
		return delay_ps;
	cpu->overloaded++;
	return delay_ps + draw(cpu, cpu->load_ps);
}

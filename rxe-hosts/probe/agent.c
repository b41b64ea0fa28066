/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/probe/agent.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/minmax.h"
#include "common/wire/pingmesh_manage.h"
#include "rxe-hosts/probe/prober.h"

#define AGAIN_PS PS_PER_S             /* after a refusal, or a reply that lacks RNICs */
#define PROBE_REPLY_PS (5 * PS_PER_S) /* until a request to a silent controller is repeated, in real time */

/* A flow to probe by, with its key in pinglists. */
struct probe_path_key {
	uint32_t nic, ip, sport, flow;
};

/* Data that it requires from the controller. */
enum probe_want { PROBE_WANTS_REGISTRATION = 1, PROBE_WANTS_LISTS = 2, PROBE_WANTS_TARGETS = 4 };

struct probe_agent {
	struct prober prober;
	struct probe_path_key *paths; /* [npaths] sorted */
	uint32_t npaths;
	uint64_t service_ps; /* from the controller, as the prober's times */
	uint64_t next_upload_ps, next_pull_ps;
	/* the controller */
	uint8_t wants, asked; /* enum probe_want: not requested yet; in progress */
	bool is_down;         /* between its death and its start */
	bool is_taken;        /* the request, by its carrier */
	uint8_t *request;     /* [request_cap] */
	size_t request_size, request_cap;
	uint64_t asked_ps, reply_ps; /* reply_ps: when it has the reply; TIME_NEVER: no request is in progress */
	uint8_t *reply;
	size_t reply_size, reply_cap;
};

static bool probe_restart_missed(struct probe_list *list, uint32_t flow, uint32_t collective, bool open);
static int probe_paths_init(struct probe_agent *agent);
static void probe_ask(struct probe_agent *agent, uint64_t now_ps);
static void probe_take_reply(struct probe_agent *agent, uint64_t now_ps);

struct probe_agent *
probe_agent_create(const struct probe_agent_config *config)
{
	struct probe_agent *agent = calloc(1, sizeof(*agent));

	if (agent == NULL)
		return NULL;
	agent->next_upload_ps = agent->next_pull_ps = agent->reply_ps = TIME_NEVER;
	if (prober_init(&agent->prober, config) == 0 && probe_paths_init(agent) == 0)
		return agent;
	probe_agent_destroy(agent);
	errno = ENOMEM;
	return NULL;
}

void
probe_agent_destroy(struct probe_agent *agent)
{
	if (agent == NULL)
		return;
	prober_fini(&agent->prober);
	free(agent->paths);
	free(agent->request);
	free(agent->reply);
	free(agent);
}

/* New QPs on all RNICs. @return 0 or a negative errno */
static int
probe_open_qps(struct probe_agent *agent)
{
	struct device *dev = agent->prober.config.device;

	for (uint16_t i = 0; i < agent->prober.nnics; i++) {
		int64_t qpn = dev->ops->ud_open(dev, i, PROBE_RECEIVES);

		if (qpn < 0)
			return (int)qpn;
		agent->prober.nics[i].qpn = (uint32_t)qpn;
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
	probe_ask(agent, agent->prober.config.device->ops->now(agent->prober.config.device));
	return 0;
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t
probe_agent_next_ps(const struct probe_agent *agent)
{
	return earlier(prober_next_ps(&agent->prober),
		       earlier(agent->reply_ps, earlier(agent->next_upload_ps, agent->next_pull_ps)));
}

/* Asks again: of the lists, and of all targets of service tracing (R-Pingmesh 5). */
static void
pull(struct probe_agent *agent, uint64_t now_ps)
{
	agent->wants |= PROBE_WANTS_LISTS | PROBE_WANTS_TARGETS;
	agent->next_pull_ps = agent->prober.pinglist_ps != 0 ? now_ps + agent->prober.pinglist_ps : TIME_NEVER;
}

/* A datagram that was received has been read. */
static void
handle_responder(struct probe_agent *agent, uint32_t nic, const struct probe_completion *c)
{
	if (c->event == PROBE_ASKED)
		agent->prober.config.device->ops->ud_receive(agent->prober.config.device, (uint16_t)nic);
	prober_respond(&agent->prober, nic, c);
}

static void
handle_prober(struct probe_agent *agent, uint32_t nic, const struct probe_completion *c)
{
	if (c->event == PROBE_ACKED)
		agent->prober.config.device->ops->ud_receive(agent->prober.config.device, (uint16_t)nic);
	if (c->event == PROBE_CROSSED)
		agent->prober.config.device->ops->ud_receive(agent->prober.config.device,
							     agent->prober.config.flows->flows[c->flow].dst_nic);
	prober_handle(&agent->prober, nic, c);
}

static void
upload(struct probe_agent *agent, uint64_t now_ps)
{
	prober_upload(&agent->prober, now_ps);
	agent->next_upload_ps = now_ps + agent->prober.upload_ps;
}

void
probe_agent_wake(struct probe_agent *agent, uint64_t now_ps)
{
	if (agent->reply_ps <= now_ps)
		probe_take_reply(agent, now_ps);
	if (agent->next_pull_ps <= now_ps)
		pull(agent, now_ps);
	for (uint32_t i = 0; i < agent->prober.nnics; i++) {
		const struct probe_completion *c;

		while ((c = probe_queue_take(&agent->prober.nics[i].prober, now_ps)) != NULL)
			handle_prober(agent, i, c);
		while ((c = probe_queue_take(&agent->prober.nics[i].responder, now_ps)) != NULL)
			handle_responder(agent, i, c);
		prober_send_due(&agent->prober, i, now_ps);
	}
	prober_send_extra(&agent->prober, now_ps);
	if (agent->next_upload_ps <= now_ps)
		upload(agent, now_ps);
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
		return &agent->prober.nics[agent->prober.config.flows->flows[c->flow].src_nic].prober;
	return c->event == PROBE_ASKED ? &agent->prober.nics[at].responder : &agent->prober.nics[at].prober;
}

void
probe_agent_received(struct probe_agent *agent, const struct datagram *datagram, uint64_t now_ps)
{
	const struct flow *flow = &agent->prober.config.flows->flows[datagram->flow];
	uint16_t at = datagram->reply ? flow->src_nic : flow->dst_nic;
	struct probe_completion c;

	if (agent->is_down)
		return;
	if (datagram->type == PKT_EXPIRED) {
		at = datagram->reply ? flow->dst_nic : flow->src_nic;
		if (probe_read(datagram, &c) && c.part == PROBE_TRACE)
			prober_trace_ended(&agent->prober, at, c.seq, datagram->arg);
		return;
	}
	if (!probe_read(datagram, &c) || (c.event == PROBE_CROSSED && flow->src_node != agent->prober.config.node)) {
		agent->prober.counts.strange++;
		agent->prober.config.device->ops->ud_receive(agent->prober.config.device, at);
		return;
	}
	c.stamp_ps = now_ps;
	if (!prober_queue(&agent->prober, queue_of(agent, at, &c), c))
		agent->prober.config.device->ops->ud_receive(agent->prober.config.device, at);
	else if (datagram->int_header != NULL)
		prober_paths_receive(&agent->prober, &agent->prober.nics[at], datagram, now_ps);
}

void
probe_agent_departed(struct probe_agent *agent, const struct datagram *datagram)
{
	const struct flow *flow = &agent->prober.config.flows->flows[datagram->flow];
	uint16_t at = datagram->reply ? flow->dst_nic : flow->src_nic;
	struct probe_queue *queue = datagram->reply ? &agent->prober.nics[at].responder : &agent->prober.nics[at].prober;

	if (agent->is_down)
		return;
	prober_queue(&agent->prober, queue,
		     (struct probe_completion){ .stamp_ps = datagram->left_ps,
						.seq = (uint32_t)datagram->wr_id,
						.event = datagram->reply ? PROBE_ANSWERED : PROBE_LEFT });
}

/* Service tracing of an RNIC has other targets, or another interval. */
static void
retime(struct probe_agent *agent, struct probe_nic *nic, uint64_t now_ps)
{
	struct probe_list *list = &nic->lists[REC_PROBE_SERVICE];

	if (agent->service_ps != 0)
		probe_list_set(&agent->prober, list, agent->service_ps * list->count, now_ps);
}

/* A record of a connection. */
static void
probe_report_connection(struct probe_agent *agent, uint32_t flow, uint32_t collective, bool open, uint64_t now_ps)
{
	const struct flow *of = &agent->prober.config.flows->flows[flow];
	struct rec_connection rec = { .nic = of->src_nic, .open = open, .collective = collective, .tuple = flow_tuple(of) };

	recbuf_put(agent->prober.config.device->ops->records(agent->prober.config.device), &rec, REC_CONNECTION,
		   sizeof(rec), now_ps);
}

void
probe_agent_connection(struct probe_agent *agent, uint32_t flow, uint32_t collective, bool open, uint64_t now_ps)
{
	const struct flow *of = &agent->prober.config.flows->flows[flow];
	struct probe_list *list = &agent->prober.nics[of->src_nic].lists[REC_PROBE_SERVICE];

	if (!agent->prober.config.service)
		return;
	if (agent->is_down) {
		agent->prober.counts.dropped += !probe_restart_missed(list, flow, collective, open);
		return;
	}
	probe_report_connection(agent, flow, collective, open, now_ps);
	if (open) {
		if (probe_list_add(list, (struct probe_target){ .flow = flow, .collective = collective }) != 0)
			agent->prober.counts.dropped++;
		agent->wants |= PROBE_WANTS_TARGETS;
	} else {
		for (uint32_t i = 0; i < list->count; i++)
			if (list->targets[i].flow == flow) {
				list->targets[i] = list->targets[--list->count];
				break;
			}
	}
	retime(agent, &agent->prober.nics[of->src_nic], now_ps);
	probe_ask(agent, now_ps);
}

int
probe_agent_ask(struct probe_agent *agent, uint32_t node)
{
	return agent->is_down ? -ENOENT : prober_ask(&agent->prober, node);
}

void
probe_agent_load(struct probe_agent *agent, uint64_t load_ps)
{
	agent->prober.cpu.load_ps = load_ps;
}

struct probe_agent_counts
probe_agent_counts(const struct probe_agent *agent)
{
	struct probe_agent_counts counts = agent->prober.counts;

	counts.overloaded = agent->prober.cpu.overloaded;
	return counts;
}

/*
 * An agent that dies and starts again: data that it had not uploaded is lost, its RNICs get QPs with other numbers, and
 * probes with the old numbers are dropped until pinglists have been pulled (R-Pingmesh 4.1, 4.3.1). The host's
 * connections continue.
 */

void
probe_agent_stop(struct probe_agent *agent)
{
	if (agent->is_down)
		return;
	agent->is_down = true;
	agent->prober.counts.deaths++;
	agent->wants = agent->asked = 0;
	agent->is_taken = false;
	agent->reply_ps = agent->next_upload_ps = agent->next_pull_ps = TIME_NEVER;
	agent->service_ps = 0;
	prober_forget(&agent->prober);
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

/* Reports the host's present connections, and those that closed meanwhile. */
static void
report_connections(struct probe_agent *agent, uint32_t nic, uint64_t now_ps)
{
	struct probe_list *list = &agent->prober.nics[nic].lists[REC_PROBE_SERVICE];

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
	for (uint32_t i = 0; i < agent->prober.nnics; i++)
		report_connections(agent, i, now_ps);
	agent->wants |= PROBE_WANTS_REGISTRATION | PROBE_WANTS_TARGETS;
	probe_ask(agent, now_ps);
	return rc;
}

/* Selection of the flow by which an RNIC probes. */

static int
by_tuple(const void *a, const void *b)
{
	const struct probe_path_key *x = a, *y = b;

	if (x->nic != y->nic)
		return x->nic < y->nic ? -1 : 1;
	if (x->ip != y->ip)
		return x->ip < y->ip ? -1 : 1;
	return ORDER(x->sport, y->sport);
}

static int
probe_paths_init(struct probe_agent *agent)
{
	const struct flow_table *flows = agent->prober.config.flows;
	uint32_t count = 0;

	for (uint32_t i = 0; i < flows->count; i++)
		count += flows->flows[i].src_node == agent->prober.config.node;
	agent->paths = calloc(count + 1u, sizeof(*agent->paths));
	if (agent->paths == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < flows->count; i++) {
		const struct flow *flow = &flows->flows[i];

		if (flow->src_node == agent->prober.config.node && flow->dport == ROCEV2_UDP_PORT)
			agent->paths[agent->npaths++] =
				(struct probe_path_key){ flow->src_nic, flow->dst_ip, flow->sport, i };
	}
	qsort(agent->paths, agent->npaths, sizeof(*agent->paths), by_tuple);
	return 0;
}

/* The flow of a pinglist's entry. @return PROBE_NO_FLOW: none was planned */
static uint32_t
probe_path_key_of(const struct probe_agent *agent, uint32_t nic, uint32_t ip, uint16_t sport)
{
	const struct probe_path_key key = { nic, ip, sport, 0 };
	const struct probe_path_key *found = bsearch(&key, agent->paths, agent->npaths, sizeof(key), by_tuple);

	return found != NULL ? found->flow : PROBE_NO_FLOW;
}

/* Requests to the controller, one at a time (common/wire/pingmesh_manage.h). */

/* Room for the largest request: every RNIC, or every target. @return false: out of memory */
static bool
reserve(uint8_t **bytes, size_t *cap, size_t size)
{
	uint8_t *grown;

	if (size <= *cap)
		return true;
	grown = realloc(*bytes, size);
	if (grown == NULL)
		return false;
	*bytes = grown;
	*cap = size;
	return true;
}

/* @return where its body begins; NULL: out of memory, the request is repeated */
static void *
begin(struct probe_agent *agent, uint16_t type, size_t body)
{
	const struct pingmesh_hdr hdr = {
		.magic = PINGMESH_MAGIC, .version = PINGMESH_MANAGE_VERSION, .type = type, .size = (uint32_t)body
	};

	if (!reserve(&agent->request, &agent->request_cap, sizeof(hdr) + body))
		return NULL;
	agent->request_size = sizeof(hdr) + body;
	memcpy(agent->request, &hdr, sizeof(hdr));
	memset(agent->request + sizeof(hdr), 0, body);
	return agent->request + sizeof(hdr);
}

/* RoCEv2 over IPv4: the address mapped into IPv6 (IBTA A17.4.5.2, RFC 4291 2.5.5.2). */
static void
gid_of(uint32_t ip, uint8_t gid[16])
{
	const uint32_t net = htobe32(ip);

	gid[10] = gid[11] = 0xff;
	memcpy(gid + 12, &net, sizeof(net));
}

static bool
ask_registration(struct probe_agent *agent)
{
	const struct topo *topo = agent->prober.config.topo;
	struct pingmesh_host host = { .host = agent->prober.config.node, .count = agent->prober.nnics };
	uint8_t *body = begin(agent, PINGMESH_REGISTER, sizeof(host) + agent->prober.nnics * sizeof(struct pingmesh_rnic));

	if (body == NULL)
		return false;
	memcpy(body, &host, sizeof(host));
	for (uint16_t i = 0; i < agent->prober.nnics; i++) {
		struct pingmesh_rnic rnic = { .ip = topo_nic_ip(agent->prober.config.node, i),
					      .qpn = agent->prober.nics[i].qpn,
					      .tor = topo_port_of(topo, agent->prober.config.node, i)->peer,
					      .nic = i };

		gid_of(rnic.ip, rnic.gid);
		memcpy(body + sizeof(host) + i * sizeof(rnic), &rnic, sizeof(rnic));
	}
	return true;
}

static bool
ask_lists(struct probe_agent *agent)
{
	const struct pingmesh_host host = { .host = agent->prober.config.node };
	void *body = begin(agent, PINGMESH_PINGLISTS, sizeof(host));

	if (body != NULL)
		memcpy(body, &host, sizeof(host));
	return body != NULL;
}

/* Targets of service tracing in the order of NICs and lists: up to a limit, the others with the next request. */
static uint32_t
put_targets(const struct probe_agent *agent, uint8_t *to)
{
	uint32_t count = 0;

	for (uint32_t n = 0; n < agent->prober.nnics; n++) {
		const struct probe_list *list = &agent->prober.nics[n].lists[REC_PROBE_SERVICE];

		for (uint32_t i = 0; i < list->count && count < PINGMESH_MAX_RESOLVED; i++, count++) {
			const uint32_t ip = agent->prober.config.flows->flows[list->targets[i].flow].dst_ip;

			if (to != NULL)
				memcpy(to + count * sizeof(ip), &ip, sizeof(ip));
		}
	}
	return count;
}

static bool
ask_targets(struct probe_agent *agent)
{
	struct pingmesh_list list = { .count = put_targets(agent, NULL) };
	uint8_t *body =
		list.count != 0 ? begin(agent, PINGMESH_RESOLVE, sizeof(list) + list.count * sizeof(uint32_t)) : NULL;

	if (body == NULL)
		return false;
	memcpy(body, &list, sizeof(list));
	put_targets(agent, body + sizeof(list));
	return true;
}

/* Sends the next request, if none is in progress. */
static void
probe_ask(struct probe_agent *agent, uint64_t now_ps)
{
	static const struct {
		uint8_t want;
		bool (*ask)(struct probe_agent *agent);
	} asks[] = {
		{ PROBE_WANTS_REGISTRATION, ask_registration },
		{ PROBE_WANTS_LISTS, ask_lists },
		{ PROBE_WANTS_TARGETS, ask_targets },
	};

	for (size_t i = 0; agent->asked == 0 && i < sizeof(asks) / sizeof(*asks); i++) {
		if ((agent->wants & asks[i].want) == 0)
			continue;
		agent->wants &= (uint8_t)~asks[i].want;
		if (!asks[i].ask(agent))
			continue;
		agent->asked = asks[i].want;
		agent->is_taken = false;
		agent->reply_size = 0;
		agent->asked_ps = now_ps;
		agent->reply_ps = now_ps + (agent->prober.config.management_ps != 0 ? 2 * agent->prober.config.management_ps
										    : PROBE_REPLY_PS);
	}
}

bool
probe_agent_asks(struct probe_agent *agent, struct probe_request *request)
{
	if (agent->asked == 0 || agent->is_taken)
		return false;
	agent->is_taken = true;
	*request = (struct probe_request){ agent->request, agent->request_size,
					   agent->asked_ps + agent->prober.config.management_ps };
	return true;
}

int
probe_agent_reply(struct probe_agent *agent, const void *bytes, size_t size)
{
	if (!reserve(&agent->reply, &agent->reply_cap, size))
		return -ENOMEM;
	memcpy(agent->reply, bytes, size);
	agent->reply_size = size;
	if (agent->prober.config.management_ps == 0 && agent->asked != 0)
		agent->reply_ps = agent->asked_ps;
	return 0;
}

/* The controller's data on the RNICs from now on: records carry it too. */
static void
registered(struct probe_agent *agent, const uint8_t *body, size_t size, uint64_t now_ps)
{
	struct recbuf *records = agent->prober.config.device->ops->records(agent->prober.config.device);

	(void)body;
	(void)size;
	for (uint16_t i = 0; i < agent->prober.nnics; i++) {
		struct rec_rnic rec = {
			.nic = i,
			.ip = topo_nic_ip(agent->prober.config.node, i),
			.qpn = agent->prober.nics[i].qpn,
			.tor = topo_port_of(agent->prober.config.topo, agent->prober.config.node, i)->peer
		};

		recbuf_put(records, &rec, REC_RNIC, sizeof(rec), now_ps);
	}
	agent->wants |= PROBE_WANTS_LISTS;
}

static void
take_entry(struct probe_agent *agent, const struct pingmesh_entry *entry, uint64_t interval_ps[][PROBE_LISTS])
{
	uint32_t flow;

	if (entry->nic >= agent->prober.nnics || entry->kind == REC_PROBE_SERVICE || entry->kind >= PROBE_LISTS) {
		agent->prober.counts.unplanned++;
		return;
	}
	flow = probe_path_key_of(agent, entry->nic, entry->ip, entry->sport);
	if (flow == PROBE_NO_FLOW ||
	    probe_list_add(&agent->prober.nics[entry->nic].lists[entry->kind],
			   (struct probe_target){ .flow = flow, .qpn = entry->qpn, .collective = REC_NONE }) != 0)
		agent->prober.counts.unplanned++;
	else
		interval_ps[entry->nic][entry->kind] = entry->interval_ps;
}

static void
listed(struct probe_agent *agent, const uint8_t *body, size_t size, uint64_t now_ps)
{
	uint64_t interval_ps[PINGMESH_MAX_RNICS][PROBE_LISTS] = { { 0 } };
	struct pingmesh_entries head;
	struct pingmesh_entry entry;

	if (size < sizeof(head))
		return;
	memcpy(&head, body, sizeof(head));
	if (size - sizeof(head) != head.count * sizeof(entry) || head.timeout_ps == 0 || head.upload_ps == 0) {
		agent->prober.counts.refused++;
		return;
	}
	for (uint32_t n = 0; n < agent->prober.nnics; n++)
		for (uint32_t kind = 0; kind < PROBE_LISTS; kind++)
			if (kind != REC_PROBE_SERVICE)
				agent->prober.nics[n].lists[kind].count = 0;
	for (uint32_t i = 0; i < head.count; i++) {
		memcpy(&entry, body + sizeof(head) + i * sizeof(entry), sizeof(entry));
		take_entry(agent, &entry, interval_ps);
	}
	agent->service_ps = head.service_ps;
	agent->prober.timeout_ps = head.timeout_ps;
	agent->prober.upload_ps = head.upload_ps;
	agent->prober.pinglist_ps = head.pinglist_ps;
	for (uint32_t n = 0; n < agent->prober.nnics; n++) {
		for (uint32_t kind = 0; kind < PROBE_LISTS; kind++)
			if (kind != REC_PROBE_SERVICE)
				probe_list_set(&agent->prober, &agent->prober.nics[n].lists[kind], interval_ps[n][kind],
					       now_ps);
		retime(agent, &agent->prober.nics[n], now_ps);
		if (agent->prober.config.traces && agent->prober.nics[n].trace.next_ps == TIME_NEVER)
			agent->prober.nics[n].trace.next_ps =
				now_ps + prng_below(&agent->prober.prng, agent->prober.upload_ps / PROBE_TRACES + 1);
	}
	if (agent->next_upload_ps == TIME_NEVER)
		agent->next_upload_ps = now_ps + 1 + prng_below(&agent->prober.prng, agent->prober.upload_ps);
	agent->next_pull_ps = now_ps + (head.left_out == 0 ? head.pinglist_ps : min_u64(head.pinglist_ps, AGAIN_PS));
}

/* Takes the resolved targets, in the order of requests. A list may have changed meanwhile: targets are found by address. */
static void
resolved(struct probe_agent *agent, const uint8_t *body, size_t size, uint64_t now_ps)
{
	struct pingmesh_list head;
	struct pingmesh_rnic rnic;

	if (size < sizeof(head))
		return;
	memcpy(&head, body, sizeof(head));
	if (size - sizeof(head) != head.count * sizeof(rnic)) {
		agent->prober.counts.refused++;
		return;
	}
	for (uint32_t k = 0; k < head.count; k++) {
		memcpy(&rnic, body + sizeof(head) + k * sizeof(rnic), sizeof(rnic));
		if (rnic.qpn == 0)
			agent->next_pull_ps = earlier(agent->next_pull_ps, now_ps + AGAIN_PS);
		for (uint32_t n = 0; n < agent->prober.nnics; n++) {
			struct probe_list *list = &agent->prober.nics[n].lists[REC_PROBE_SERVICE];

			for (uint32_t i = 0; i < list->count; i++)
				if (agent->prober.config.flows->flows[list->targets[i].flow].dst_ip == rnic.ip)
					list->targets[i].qpn = rnic.qpn;
		}
	}
}

/* The reply is there. */
static void
probe_take_reply(struct probe_agent *agent, uint64_t now_ps)
{
	static const struct {
		uint8_t want;
		uint16_t type;
		void (*take)(struct probe_agent *agent, const uint8_t *body, size_t size, uint64_t now_ps);
	} replies[] = {
		{ PROBE_WANTS_REGISTRATION, PINGMESH_REGISTERED, registered },
		{ PROBE_WANTS_LISTS, PINGMESH_ENTRIES, listed },
		{ PROBE_WANTS_TARGETS, PINGMESH_RESOLVED, resolved },
	};
	uint8_t asked = agent->asked;
	struct pingmesh_hdr hdr = { 0 };
	bool is_taken = false;

	agent->asked = 0;
	agent->reply_ps = TIME_NEVER;
	if (agent->reply_size >= sizeof(hdr))
		memcpy(&hdr, agent->reply, sizeof(hdr));
	for (size_t i = 0; i < sizeof(replies) / sizeof(*replies); i++)
		if (asked == replies[i].want && hdr.magic == PINGMESH_MAGIC && hdr.type == replies[i].type &&
		    hdr.size == agent->reply_size - sizeof(hdr)) {
			replies[i].take(agent, agent->reply + sizeof(hdr), hdr.size, now_ps);
			is_taken = true;
		}
	if (!is_taken) { /* refused, or no controller */
		agent->prober.counts.refused++;
		agent->next_pull_ps = now_ps + AGAIN_PS;
		agent->wants |= asked == PROBE_WANTS_REGISTRATION ? asked : 0;
	}
}

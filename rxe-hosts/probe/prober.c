/* SPDX-License-Identifier: BSD-3-Clause */
/* An agent that probes: its packets, and the ends of its probes. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/wire/roce.h"
#include "rxe-hosts/probe/inside.h"

static uint64_t probe_wr_id(uint32_t nic, bool responder, uint32_t seq);
static int probe_post(struct probe_agent *agent, const struct datagram *how, const struct probe_completion *what);
static void probe_trace_due(struct probe_agent *agent, uint32_t nic, uint64_t now_ps);
static void probe_trace_back(struct probe_agent *agent, struct probe_nic *nic, const struct probe_completion *c);
static void probe_trace_arrived(struct probe_agent *agent, uint32_t nic, uint32_t seq);

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

/* An expired timer is one more event to handle, behind all earlier ones: a late agent does not blame others. */
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
		agent->counts.dropped++; /* the ACK arrived, but there was no room for the departure time */
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

/*
 * An agent that is probed: it sends an ACK and, once the departure time of that is known, a second ACK with its own
 * delay.
 */

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

/* Replies to a traceroute at its destination. */
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

/* What probes and ACKs hold: 50 bytes (common/wire/probe.h). */

#define NIC_SHIFT 33
#define RESPONDER_BIT (1ULL << 32)

/* wr_id of datagrams whose departure is awaited. */
static uint64_t
probe_wr_id(uint32_t nic, bool responder, uint32_t seq)
{
	return (uint64_t)nic << NIC_SHIFT | (responder ? RESPONDER_BIT : 0) | seq;
}

/* What probes and ACKs hold. */
/* The fields that a part has not are 0. */
static int
probe_post(struct probe_agent *agent, const struct datagram *how, const struct probe_completion *what)
{
	const struct wire_probe wire = {
		.magic = htobe32(PROBE_MAGIC),
		.version = PROBE_VERSION,
		.part = what->part,
		.kind = what->kind,
		.seq = htobe32(what->seq),
		.src_qpn = htobe32(what->qpn),
		.responder_ps_high = htobe32((uint32_t)(what->responder_ps >> 32)),
		.responder_ps_low = htobe32((uint32_t)what->responder_ps),
	};
	struct datagram datagram = *how;

	datagram.type = PKT_UD;
	datagram.contents = &wire;
	datagram.bytes = sizeof(wire);
	return agent->config.device->ops->post_datagram(agent->config.device, &datagram);
}

bool
probe_read(const struct datagram *datagram, struct probe_completion *completion)
{
	struct wire_probe wire;

	if (datagram->contents == NULL || datagram->bytes != sizeof(wire))
		return false;
	memcpy(&wire, datagram->contents, sizeof(wire));
	if (be32toh(wire.magic) != PROBE_MAGIC || wire.version != PROBE_VERSION || wire.reserved != 0 ||
	    be32toh(wire.src_qpn) > ROCE_24BIT_MASK || wire.kind >= PROBE_LISTS || wire.part < PROBE_PROBE ||
	    wire.part > PROBE_ONE_WAY || ((wire.part == PROBE_PROBE || wire.part == PROBE_ONE_WAY) && datagram->reply) ||
	    ((wire.part == PROBE_ACK || wire.part == PROBE_SECOND_ACK) && !datagram->reply))
		return false;
	*completion = (struct probe_completion){
		.responder_ps = (uint64_t)be32toh(wire.responder_ps_high) << 32 | be32toh(wire.responder_ps_low),
		.seq = be32toh(wire.seq),
		.flow = datagram->flow,
		.qpn = be32toh(wire.src_qpn), /* not that of the QP that sent it: soft-RoCE has one for each port */
		.event = wire.part == PROBE_ONE_WAY                             ? PROBE_CROSSED
			 : wire.part == PROBE_PROBE || wire.part == PROBE_TRACE ? PROBE_ASKED
										: PROBE_ACKED,
		.reply = datagram->reply,
		.part = wire.part,
		.kind = wire.kind,
	};
	return true;
}

/*
 * Path tracing (4.2.3): an RNIC traces all tuples by which it probes, and the reverse path of all by which it is
 * probed, round robin, with a packet every upload_ps / PROBE_TRACES. The next upload records the hops of a traceroute.
 */

static const struct probe_target *
target_at(const struct probe_nic *nic, uint32_t turn)
{
	for (uint32_t kind = 0; kind < PROBE_LISTS; kind++) {
		if (turn < nic->lists[kind].count)
			return &nic->lists[kind].targets[turn];
		turn -= nic->lists[kind].count;
	}
	return NULL;
}

/* @return false: there is nothing to trace */
static bool
begin(struct probe_nic *nic)
{
	struct probe_trace *trace = &nic->trace;
	uint32_t forth = 0;
	const struct probe_target *target;

	for (uint32_t kind = 0; kind < PROBE_LISTS; kind++)
		forth += nic->lists[kind].count;
	if (forth + nic->nbacks == 0)
		return false;
	trace->turn = trace->turn + 1 < forth + nic->nbacks ? trace->turn + 1 : 0;
	target = target_at(nic, trace->turn);
	trace->back = target == NULL;
	trace->flow = trace->back ? nic->backs[trace->turn - forth].flow : target->flow;
	trace->qpn = trace->back ? nic->backs[trace->turn - forth].qpn : target->qpn;
	trace->number++;
	trace->hop = 1;
	trace->nhops = 0;
	trace->is_on = true;
	trace->is_waiting = false;
	return true;
}

static void
end_trace(struct probe_agent *agent, struct probe_trace *trace)
{
	trace->is_on = false;
	for (uint32_t i = 0; i < trace->nhops; i++) {
		if (agent->nhops == PROBE_HOP_RESULTS)
			agent->counts.dropped++;
		else
			agent->hops[agent->nhops++] = trace->hops[i];
	}
}

static void
send(struct probe_agent *agent, uint32_t nic, uint64_t now_ps)
{
	struct probe_nic *of = &agent->nics[nic];
	struct probe_trace *trace = &of->trace;
	const struct probe_completion what = { .seq = trace->number << PROBE_TTL_BITS | trace->hop,
					       .qpn = of->qpn,
					       .part = PROBE_TRACE };
	const struct datagram how = {
		.flow = trace->flow, .qpn = trace->qpn, .ttl = (uint8_t)trace->hop, .reply = trace->back
	};

	trace->is_waiting = true;
	trace->waiting_ps = now_ps;
	if (trace->hop == 1)
		trace->began_ps = now_ps;
	if (probe_post(agent, &how, &what) != 0)
		agent->counts.dropped++;
}

/* The next packet of an RNIC's traceroutes, if it is due. */
/* A silent switch had no token, or the packet is lost: the next hop is probed. */
static void
probe_trace_due(struct probe_agent *agent, uint32_t nic, uint64_t now_ps)
{
	struct probe_trace *trace = &agent->nics[nic].trace;

	if (trace->next_ps > now_ps)
		return;
	trace->next_ps = now_ps + agent->upload_ps / PROBE_TRACES;
	if (trace->is_on && trace->is_waiting) {
		if (now_ps - trace->waiting_ps < agent->timeout_ps)
			return;
		trace->is_waiting = false;
		trace->hop++;
	}
	if (trace->is_on && trace->hop > trace->nhops + 2)
		end_trace(agent, trace); /* two in a row */
	if (!trace->is_on && !begin(&agent->nics[nic]))
		return;
	send(agent, nic, now_ps);
}

/* @return NULL: there is no room, which is counted */
static struct probe_back *
back_of(struct probe_agent *agent, struct probe_nic *nic, uint32_t flow)
{
	for (uint32_t i = 0; i < nic->nbacks; i++)
		if (nic->backs[i].flow == flow)
			return &nic->backs[i];
	if (nic->nbacks == nic->backs_cap) {
		uint32_t cap = nic->backs_cap == 0 ? 16 : 2 * nic->backs_cap;
		struct probe_back *backs = realloc(nic->backs, cap * sizeof(*backs));

		if (backs == NULL) {
			agent->counts.dropped++;
			return NULL;
		}
		nic->backs = backs;
		nic->backs_cap = cap;
	}
	nic->backs[nic->nbacks] = (struct probe_back){ .flow = flow };
	return &nic->backs[nic->nbacks++];
}

/* An RNIC was probed by a flow: its reverse path is to be traced. */
static void
probe_trace_back(struct probe_agent *agent, struct probe_nic *nic, const struct probe_completion *c)
{
	struct probe_back *back = back_of(agent, nic, c->flow);

	if (back == NULL)
		return;
	if (back->qpn != c->qpn) /* an agent that has restarted, with its own numbers */
		*back = (struct probe_back){ .flow = c->flow, .qpn = c->qpn };
	if (back->count++ == 0)
		back->first_seq = c->seq;
	back->last_seq = c->seq;
	back->received_ps = c->ready_ps;
}

static bool
is_awaited(const struct probe_trace *trace, uint32_t seq)
{
	return trace->is_on && trace->is_waiting && seq == (trace->number << PROBE_TTL_BITS | trace->hop);
}

void
probe_trace_ended(struct probe_agent *agent, uint32_t nic, uint32_t seq, uint32_t arg)
{
	struct probe_trace *trace = &agent->nics[nic].trace;

	if (!is_awaited(trace, seq))
		return;
	trace->hops[trace->nhops++] = (struct rec_probe_hop){
		.tuple = flow_tuple(&agent->config.flows->flows[trace->flow]),
		.hop = trace->hop,
		.back = trace->back,
		.at = arg >> EXPIRED_NODE_SHIFT,
		.port = (uint16_t)(arg & EXPIRED_PORT_MASK),
		.trace = trace->number,
		.sent_ps = trace->began_ps,
	};
	trace->is_waiting = false;
	trace->hop++;
	if (trace->nhops == PROBE_HOPS)
		end_trace(agent, trace);
}

/* A packet arrived at its destination. */
static void
probe_trace_arrived(struct probe_agent *agent, uint32_t nic, uint32_t seq)
{
	struct probe_trace *trace = &agent->nics[nic].trace;

	if (!is_awaited(trace, seq))
		return;
	if (trace->nhops != 0 && trace->hops[trace->nhops - 1].hop + 1 == trace->hop)
		trace->hops[trace->nhops - 1].last = 1;
	end_trace(agent, trace);
}

/*
 * Paths of probes and ACKs as switches write them into the packets (INT, R-Pingmesh 7.4): the receiver of a packet
 * knows its path. Each upload reports the paths of a tuple's packets and the number of packets on each. A single path
 * that has been seen too often to be random is not reported again until another path appears.
 */

#define ALONE 8 /* uploads in a row */

static struct probe_paths *
paths_of(struct probe_nic *nic, uint32_t flow, bool back)
{
	struct probe_paths *of = NULL;

	for (uint32_t i = 0; i < nic->nreceived && of == NULL; i++)
		if (nic->received[i].flow == flow && nic->received[i].back == back)
			of = &nic->received[i];
	if (of != NULL)
		return of;
	if (nic->nreceived == nic->received_cap) {
		uint32_t cap = nic->received_cap == 0 ? 16 : 2 * nic->received_cap;
		struct probe_paths *more = realloc(nic->received, cap * sizeof(*more));

		if (more == NULL)
			return NULL;
		nic->received = more;
		nic->received_cap = cap;
	}
	nic->received[nic->nreceived] = (struct probe_paths){ .flow = flow, .back = back, .last = PROBE_NO_FLOW };
	return &nic->received[nic->nreceived++];
}

static struct probe_path *
path_of(struct probe_paths *of, const struct int_header *header)
{
	for (uint32_t i = 0; i < of->npaths; i++)
		if (of->paths[i].nhops == header->count &&
		    memcmp(of->paths[i].hops, header->hops, header->count * sizeof(header->hops[0])) == 0)
			return &of->paths[i];
	if (of->npaths == of->cap) {
		uint32_t cap = of->cap == 0 ? 1 : 2 * of->cap;
		struct probe_path *more = realloc(of->paths, cap * sizeof(*more));

		if (more == NULL)
			return NULL;
		of->paths = more;
		of->cap = cap;
	}
	of->paths[of->npaths] = (struct probe_path){ .nhops = header->count };
	memcpy(of->paths[of->npaths].hops, header->hops, header->count * sizeof(header->hops[0]));
	return &of->paths[of->npaths++];
}

void
probe_paths_receive(struct probe_agent *agent, struct probe_nic *nic, const struct datagram *datagram, uint64_t now_ps)
{
	struct probe_paths *of = paths_of(nic, datagram->flow, datagram->reply);
	struct probe_path *path = of != NULL ? path_of(of, datagram->int_header) : NULL;

	if (path == NULL) {
		agent->counts.dropped++;
		return;
	}
	path->count++;
	path->last_ps = now_ps;
}

static void
report_path(struct probe_agent *agent, struct probe_nic *nic, const struct probe_paths *of, const struct probe_path *path,
	    uint64_t now_ps)
{
	struct recbuf *records = agent->config.device->ops->records(agent->config.device);

	nic->npaths++;
	for (uint32_t i = 0; i < path->nhops; i++) {
		struct rec_probe_hop rec = { .tuple = flow_tuple(&agent->config.flows->flows[of->flow]),
					     .hop = (uint16_t)(i + 1),
					     .back = of->back,
					     .at = int_hop_node(path->hops[i]),
					     .port = int_hop_in_port(path->hops[i]),
					     .last = i + 1 == path->nhops,
					     .trace = nic->npaths,
					     .sent_ps = path->last_ps,
					     .count = path->count };

		recbuf_put(records, &rec, REC_PROBE_HOP, sizeof(rec), now_ps);
	}
}

void
probe_paths_report(struct probe_agent *agent, struct probe_nic *nic, uint64_t now_ps)
{
	for (uint32_t i = 0; i < nic->nreceived; i++) {
		struct probe_paths *of = &nic->received[i];
		uint32_t last = PROBE_NO_FLOW, several = 0;

		for (uint32_t w = 0; w < of->npaths; w++)
			if (of->paths[w].count != 0) {
				last = w;
				several++;
			}
		if (several != 0)
			of->alone = several == 1 && last == of->last ? of->alone + 1 : 0;
		of->last = last != PROBE_NO_FLOW ? last : of->last;
		for (uint32_t w = 0; w < of->npaths; w++) {
			if (of->paths[w].count != 0 && of->alone < ALONE)
				report_path(agent, nic, of, &of->paths[w], now_ps);
			of->paths[w].count = 0;
		}
	}
}

void
probe_paths_forget(struct probe_nic *nic)
{
	for (uint32_t i = 0; i < nic->nreceived; i++)
		free(nic->received[i].paths);
	nic->nreceived = 0;
}

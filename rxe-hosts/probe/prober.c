/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/probe/prober.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/prng.h"
#include "common/wire/probe.h"
#include "common/wire/roce.h"

#define PHASE_STREAM 0x7068617365ULL /* "phase" */
#define CLOCK_STREAM 0x636c6f636bULL /* "clock" */

static uint64_t probe_wr_id(uint32_t nic, bool responder, uint32_t seq);
static int probe_post(struct prober *prober, const struct datagram *how, const struct probe_completion *what);
static void probe_trace_due(struct prober *prober, uint32_t nic, uint64_t now_ps);
static void probe_trace_back(struct prober *prober, struct probe_nic *nic, const struct probe_completion *c);
static void probe_trace_arrived(struct prober *prober, uint32_t nic, uint32_t seq);

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

/* Completions of the RNIC. */

static uint64_t
queue_next_ps(const struct probe_queue *queue)
{
	return queue->head != queue->tail ? queue->ring[queue->head % PROBE_COMPLETIONS].ready_ps : TIME_NEVER;
}

bool
prober_queue(struct prober *prober, struct probe_queue *queue, struct probe_completion completion)
{
	uint64_t ready_ps = completion.stamp_ps + probe_cpu_draw(&prober->cpu);

	if (queue->tail - queue->head == PROBE_COMPLETIONS) {
		prober->counts.dropped++;
		return false;
	}
	completion.ready_ps = ready_ps > queue->last_ready_ps ? ready_ps : queue->last_ready_ps;
	queue->last_ready_ps = completion.ready_ps;
	queue->ring[queue->tail++ % PROBE_COMPLETIONS] = completion;
	return true;
}

const struct probe_completion *
probe_queue_take(struct probe_queue *queue, uint64_t now_ps)
{
	struct probe_completion *oldest = &queue->ring[queue->head % PROBE_COMPLETIONS];

	if (queue_next_ps(queue) > now_ps)
		return NULL;
	oldest->ready_ps = now_ps;
	queue->head++;
	return oldest;
}

/* @return since when the oldest timer that has run out waits to be handled; TIME_NEVER: none does */
static uint64_t
probe_queue_timer_ps(const struct probe_queue *queue)
{
	for (uint32_t i = queue->head; i != queue->tail; i++)
		if (queue->ring[i % PROBE_COMPLETIONS].event == PROBE_TIMED)
			return queue->ring[i % PROBE_COMPLETIONS].stamp_ps;
	return TIME_NEVER;
}

/* Whom an RNIC probes, in turn. */

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
probe_list_set(struct prober *prober, struct probe_list *list, uint64_t interval_ps, uint64_t now_ps)
{
	if (list->count == 0) {
		list->next_ps = TIME_NEVER;
		return;
	}
	list->gap_ps = interval_ps / list->count + (interval_ps < list->count);
	if (list->at >= list->count)
		list->at = 0;
	if (list->next_ps == TIME_NEVER)
		list->next_ps = now_ps + prng_below(&prober->prng, list->gap_ps);
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

static const struct probe_target *
probe_list_turn(struct prober *prober, struct probe_list *list, bool shuffled)
{
	list->next_ps += list->gap_ps;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct probe_target *target;

		if (list->at == 0 && shuffled)
			shuffle(&prober->prng, list);
		target = &list->targets[list->at];
		list->at = list->at + 1 == list->count ? 0 : list->at + 1;
		if (target->qpn != 0)
			return target;
	}
	return NULL;
}

static void
forget_paths(struct probe_nic *nic)
{
	for (uint32_t i = 0; i < nic->nreceived; i++)
		free(nic->received[i].paths);
	nic->nreceived = 0;
}

/* When the oldest timer of an RNIC runs out; TIME_NEVER. */
static uint64_t
timer_ps(const struct prober *prober, const struct probe_nic *nic)
{
	return nic->timed != nic->seq ? nic->open[nic->timed % PROBE_OPEN].posted_ps + prober->timeout_ps : TIME_NEVER;
}

int
prober_init(struct prober *prober, const struct probe_agent_config *config)
{
	struct prng clocks;

	prober->config = *config;
	prober->nnics = config->topo->nodes[config->node].nports;
	probe_cpu_init(&prober->cpu, config->cpu_ps, config->seed, config->node);
	prng_init(&prober->prng, config->seed ^ PHASE_STREAM, config->node);
	prng_init(&clocks, config->seed ^ CLOCK_STREAM, config->node);
	prober->nics = calloc(prober->nnics, sizeof(*prober->nics));
	prober->results = calloc(PROBE_RESULTS, sizeof(*prober->results));
	prober->hops = calloc(PROBE_HOP_RESULTS, sizeof(*prober->hops));
	if (prober->nics == NULL || prober->results == NULL || prober->hops == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < prober->nnics; i++) {
		struct probe_nic *nic = &prober->nics[i];

		nic->prober.ring = calloc(PROBE_COMPLETIONS, sizeof(*nic->prober.ring));
		nic->responder.ring = calloc(PROBE_COMPLETIONS, sizeof(*nic->responder.ring));
		if (nic->prober.ring == NULL || nic->responder.ring == NULL)
			return -ENOMEM;
		for (uint32_t kind = 0; kind < PROBE_LISTS; kind++)
			nic->lists[kind].next_ps = TIME_NEVER;
		nic->trace.next_ps = TIME_NEVER;
		nic->clock_ps = prng_below(&clocks, config->clock_ps + 1);
	}
	return 0;
}

void
prober_fini(struct prober *prober)
{
	for (uint32_t i = 0; prober->nics != NULL && i < prober->nnics; i++) {
		free(prober->nics[i].prober.ring);
		free(prober->nics[i].responder.ring);
		free(prober->nics[i].backs);
		forget_paths(&prober->nics[i]);
		free(prober->nics[i].received);
		for (uint32_t kind = 0; kind < PROBE_LISTS; kind++)
			free(prober->nics[i].lists[kind].targets);
	}
	free(prober->nics);
	free(prober->results);
	free(prober->hops);
}

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
	forget_paths(nic);
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
prober_forget(struct prober *prober)
{
	prober->nextra = 0;
	prober->pinglist_ps = 0;
	prober->nresults = prober->nended = prober->ntimeouts = prober->nhops = 0;
	prober->reported_dropped = prober->counts.dropped;
	prober->late_ps = prober->turn_ps = prober->turn_ready_ps = 0;
	for (uint32_t i = 0; i < prober->nnics; i++)
		forget_nic(&prober->nics[i]);
}

static uint64_t
earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t
prober_next_ps(const struct prober *prober)
{
	uint64_t next_ps = TIME_NEVER;

	if (prober->nextra != 0)
		return 0;
	for (uint32_t i = 0; i < prober->nnics; i++) {
		const struct probe_nic *nic = &prober->nics[i];

		next_ps = earlier(next_ps, queue_next_ps(&nic->prober));
		next_ps = earlier(next_ps, queue_next_ps(&nic->responder));
		next_ps = earlier(next_ps, timer_ps(prober, nic));
		next_ps = earlier(next_ps, nic->trace.next_ps);
		for (uint32_t kind = 0; kind < PROBE_LISTS; kind++)
			next_ps = earlier(next_ps, nic->lists[kind].next_ps);
	}
	return next_ps;
}

static void
probe(struct prober *prober, uint32_t nic, uint8_t kind, const struct probe_target *target, uint64_t now_ps)
{
	struct probe_nic *of = &prober->nics[nic];
	struct probe_open *open = &of->open[of->seq % PROBE_OPEN];
	const struct probe_completion what = {
		.seq = of->seq, .qpn = of->qpn, .part = kind == REC_PROBE_RAIL ? PROBE_ONE_WAY : PROBE_PROBE, .kind = kind
	};
	const struct datagram how = {
		.wr_id = probe_wr_id(nic, false, of->seq), .flow = target->flow, .qpn = target->qpn, .signaled = true
	};

	if (open->is_open || probe_post(prober, &how, &what) != 0) {
		prober->counts.dropped++;
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
	prober->counts.sent++;
}

/* An expired timer is one more event to handle, behind all earlier ones: a late agent does not blame others. */
static void
watch(struct prober *prober, struct probe_nic *nic, uint64_t now_ps)
{
	for (; timer_ps(prober, nic) <= now_ps; nic->timed++)
		if (nic->open[nic->timed % PROBE_OPEN].is_open && nic->open[nic->timed % PROBE_OPEN].seq == nic->timed)
			prober_queue(prober, &nic->prober,
				     (struct probe_completion){
					     .stamp_ps = timer_ps(prober, nic), .seq = nic->timed, .event = PROBE_TIMED });
}

/* The timer of a turn that the thread has not reached yet is late all the same, as far as it is. */
static void
note_turn_late(struct prober *prober, uint64_t now_ps)
{
	uint64_t handled_ps = prober->turn_ready_ps < now_ps ? prober->turn_ready_ps : now_ps;

	if (handled_ps > prober->turn_ps && handled_ps - prober->turn_ps > prober->late_ps)
		prober->late_ps = handled_ps - prober->turn_ps;
	if (prober->turn_ready_ps <= now_ps)
		prober->turn_ps = prober->turn_ready_ps; /* handled */
}

/*
 * A turn is a timer of the agent as well: its thread reaches it behind all completions that wait for the processor. One
 * such timer at a time is watched.
 */
static void
watch_turn(struct prober *prober, const struct probe_queue *queue, uint64_t now_ps)
{
	if (prober->turn_ready_ps > now_ps)
		return;
	note_turn_late(prober, now_ps);
	prober->turn_ps = now_ps;
	prober->turn_ready_ps = queue->last_ready_ps;
}

void
prober_send_due(struct prober *prober, uint32_t nic, uint64_t now_ps)
{
	struct probe_nic *of = &prober->nics[nic];

	watch(prober, of, now_ps);
	for (uint8_t kind = 0; kind < PROBE_LISTS; kind++) {
		struct probe_list *list = &of->lists[kind];
		const struct probe_target *target;

		if (list->next_ps > now_ps)
			continue;
		watch_turn(prober, &of->prober, now_ps);
		if (now_ps - list->next_ps >= list->gap_ps)
			list->next_ps = now_ps; /* the host stood still: turns that are over are not made up for */
		target = probe_list_turn(prober, list, kind == REC_PROBE_SERVICE);
		if (target != NULL)
			probe(prober, nic, kind, target, now_ps);
	}
	probe_trace_due(prober, nic, now_ps);
}

int
prober_ask(struct prober *prober, uint32_t node)
{
	const struct flow *flows = prober->config.flows->flows;

	if (prober->nextra == PROBE_MAX_EXTRA)
		return -EAGAIN;
	for (uint32_t nic = 0; nic < prober->nnics; nic++)
		for (uint8_t kind = 0; kind < PROBE_LISTS; kind++)
			for (uint32_t i = 0; i < prober->nics[nic].lists[kind].count; i++) {
				const struct probe_target *target = &prober->nics[nic].lists[kind].targets[i];

				if (target->qpn == 0 || flows[target->flow].dst_node != node)
					continue;
				prober->extra[prober->nextra++] = (struct probe_extra){ nic, kind, *target };
				return 0;
			}
	return -ENOENT;
}

void
prober_send_extra(struct prober *prober, uint64_t now_ps)
{
	for (uint32_t i = 0; i < prober->nextra; i++)
		probe(prober, prober->extra[i].nic, prober->extra[i].kind, &prober->extra[i].target, now_ps);
	prober->nextra = 0;
}

/* How probes ended is kept until the next upload, which is the agent's heartbeat too. */

static void
report_round_trip(const struct probe_open *probe, struct rec_probe *rec)
{
	if (probe->has_second)
		rec->responder_ps = probe->responder_ps;
	if (probe->has_left && probe->has_ack && probe->taken_ps - probe->posted_ps > probe->ack_ps - probe->left_ps)
		rec->prober_ps = probe->taken_ps - probe->posted_ps - (probe->ack_ps - probe->left_ps);
	if ((rec->result == REC_PROBE_OK || rec->result == REC_PROBE_LATE) &&
	    probe->ack_ps > probe->left_ps + probe->responder_ps)
		rec->rtt_ps = probe->ack_ps - probe->left_ps - probe->responder_ps;
}

static void
report_one_way(const struct prober *prober, uint32_t nic, const struct probe_open *probe, struct rec_probe *rec)
{
	const struct flow *flow = &prober->config.flows->flows[probe->flow];

	if (rec->result != REC_PROBE_OK)
		return;
	rec->prober_ps = probe->left_ps + prober->nics[nic].clock_ps;
	rec->responder_ps = probe->ack_ps + prober->nics[flow->dst_nic].clock_ps;
}

static void
report_result(struct prober *prober, uint32_t nic, const struct probe_open *probe, uint32_t result)
{
	struct rec_probe rec = {
		.nic = (uint16_t)nic,
		.kind = probe->kind,
		.result = (uint16_t)result,
		.tuple = flow_tuple(&prober->config.flows->flows[probe->flow]),
		.target_qpn = probe->qpn,
		.seq = probe->seq,
		.sent_ps = probe->posted_ps,
	};

	if (probe->kind == REC_PROBE_RAIL)
		report_one_way(prober, nic, probe, &rec);
	else
		report_round_trip(probe, &rec);
	if (result != REC_PROBE_LATE) { /* it has ended before */
		prober->counts.results++;
		prober->counts.timeouts += result != REC_PROBE_OK;
		prober->nended++;
		prober->ntimeouts += result != REC_PROBE_OK;
	}
	if (prober->nresults == PROBE_RESULTS)
		prober->counts.dropped++;
	else
		prober->results[prober->nresults++] = rec;
}

static void
end(struct prober *prober, uint32_t nic, struct probe_open *open)
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
		prober->counts.dropped++; /* the ACK arrived, but there was no room for the departure time */
	else
		report_result(prober, nic, open, result);
}

void
prober_handle(struct prober *prober, uint32_t nic, const struct probe_completion *c)
{
	struct probe_open *open = &prober->nics[nic].open[c->seq % PROBE_OPEN];

	if (c->event == PROBE_TIMED && c->ready_ps - c->stamp_ps > prober->late_ps)
		prober->late_ps = c->ready_ps - c->stamp_ps;
	if (c->event == PROBE_ACKED && c->part == PROBE_TRACED) {
		probe_trace_arrived(prober, nic, c->seq);
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
		end(prober, nic, open);
}

/*
 * An agent that is probed: it sends an ACK and, once the departure time of that is known, a second ACK with its own
 * delay.
 */

static void
acknowledge(struct prober *prober, uint32_t nic, const struct probe_completion *c)
{
	struct probe_nic *of = &prober->nics[nic];
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
	if (probe_post(prober, &how, &what) != 0) {
		prober->counts.dropped++;
		return;
	}
	of->answers++;
	prober->counts.answered++;
	probe_trace_back(prober, of, c);
}

/* Replies to a traceroute at its destination. */
static void
answer_trace(struct prober *prober, uint32_t nic, const struct probe_completion *c)
{
	const struct probe_completion what = { .seq = c->seq, .qpn = prober->nics[nic].qpn, .part = PROBE_TRACED };
	const struct datagram how = { .flow = c->flow, .qpn = c->qpn, .reply = !c->reply };

	if (probe_post(prober, &how, &what) != 0)
		prober->counts.dropped++;
}

static void
report_probe(struct prober *prober, uint32_t nic, const struct probe_completion *c)
{
	const struct probe_answer *answer = &prober->nics[nic].answer[c->seq % PROBE_ANSWERS];
	const struct probe_completion what = { .seq = answer->seq,
					       .qpn = prober->nics[nic].qpn,
					       .part = PROBE_SECOND_ACK,
					       .kind = answer->kind,
					       .responder_ps = c->stamp_ps > answer->received_ps
								       ? c->stamp_ps - answer->received_ps
								       : 0 };
	const struct datagram how = { .flow = answer->flow, .qpn = answer->qpn, .reply = true };

	if (prober->nics[nic].answers - c->seq > PROBE_ANSWERS || probe_post(prober, &how, &what) != 0)
		prober->counts.dropped++;
}

void
prober_respond(struct prober *prober, uint32_t nic, const struct probe_completion *c)
{
	if (c->event == PROBE_ASKED && c->part == PROBE_TRACE)
		answer_trace(prober, nic, c);
	else if (c->event == PROBE_ASKED)
		acknowledge(prober, nic, c);
	else
		report_probe(prober, nic, c);
}

/* The 50 bytes of probes and ACKs (common/wire/probe.h). */

#define NIC_SHIFT 33
#define RESPONDER_BIT (1ULL << 32)

/* wr_id of datagrams whose departure is awaited. */
static uint64_t
probe_wr_id(uint32_t nic, bool responder, uint32_t seq)
{
	return (uint64_t)nic << NIC_SHIFT | (responder ? RESPONDER_BIT : 0) | seq;
}

/* The fields that a part has not are 0. */
static int
probe_post(struct prober *prober, const struct datagram *how, const struct probe_completion *what)
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
	return prober->config.device->ops->post_datagram(prober->config.device, &datagram);
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
end_trace(struct prober *prober, struct probe_trace *trace)
{
	trace->is_on = false;
	for (uint32_t i = 0; i < trace->nhops; i++) {
		if (prober->nhops == PROBE_HOP_RESULTS)
			prober->counts.dropped++;
		else
			prober->hops[prober->nhops++] = trace->hops[i];
	}
}

static void
send(struct prober *prober, uint32_t nic, uint64_t now_ps)
{
	struct probe_nic *of = &prober->nics[nic];
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
	if (probe_post(prober, &how, &what) != 0)
		prober->counts.dropped++;
}

/*
 * Sends the next packet of an RNIC's traceroutes, if one is due. If the last probe had no reply, because the switch had
 * no token or the packet was lost, the next hop is probed.
 */
static void
probe_trace_due(struct prober *prober, uint32_t nic, uint64_t now_ps)
{
	struct probe_trace *trace = &prober->nics[nic].trace;

	if (trace->next_ps > now_ps)
		return;
	trace->next_ps = now_ps + prober->upload_ps / PROBE_TRACES;
	if (trace->is_on && trace->is_waiting) {
		if (now_ps - trace->waiting_ps < prober->timeout_ps)
			return;
		trace->is_waiting = false;
		trace->hop++;
	}
	if (trace->is_on && trace->hop > trace->nhops + 2)
		end_trace(prober, trace); /* two in a row */
	if (!trace->is_on && !begin(&prober->nics[nic]))
		return;
	send(prober, nic, now_ps);
}

/* @return NULL: there is no room, which is counted */
static struct probe_back *
back_of(struct prober *prober, struct probe_nic *nic, uint32_t flow)
{
	for (uint32_t i = 0; i < nic->nbacks; i++)
		if (nic->backs[i].flow == flow)
			return &nic->backs[i];
	if (nic->nbacks == nic->backs_cap) {
		uint32_t cap = nic->backs_cap == 0 ? 16 : 2 * nic->backs_cap;
		struct probe_back *backs = realloc(nic->backs, cap * sizeof(*backs));

		if (backs == NULL) {
			prober->counts.dropped++;
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
probe_trace_back(struct prober *prober, struct probe_nic *nic, const struct probe_completion *c)
{
	struct probe_back *back = back_of(prober, nic, c->flow);

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
prober_trace_ended(struct prober *prober, uint32_t nic, uint32_t seq, uint32_t arg)
{
	struct probe_trace *trace = &prober->nics[nic].trace;

	if (!is_awaited(trace, seq))
		return;
	trace->hops[trace->nhops++] = (struct rec_probe_hop){
		.tuple = flow_tuple(&prober->config.flows->flows[trace->flow]),
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
		end_trace(prober, trace);
}

/* A packet arrived at its destination. */
static void
probe_trace_arrived(struct prober *prober, uint32_t nic, uint32_t seq)
{
	struct probe_trace *trace = &prober->nics[nic].trace;

	if (!is_awaited(trace, seq))
		return;
	if (trace->nhops != 0 && trace->hops[trace->nhops - 1].hop + 1 == trace->hop)
		trace->hops[trace->nhops - 1].last = 1;
	end_trace(prober, trace);
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
prober_paths_receive(struct prober *prober, struct probe_nic *nic, const struct datagram *datagram, uint64_t now_ps)
{
	struct probe_paths *of = paths_of(nic, datagram->flow, datagram->reply);
	struct probe_path *path = of != NULL ? path_of(of, datagram->int_header) : NULL;

	if (path == NULL) {
		prober->counts.dropped++;
		return;
	}
	path->count++;
	path->last_ps = now_ps;
}

static void
report_path(struct prober *prober, struct probe_nic *nic, const struct probe_paths *of, const struct probe_path *path,
	    uint64_t now_ps)
{
	struct recbuf *records = prober->config.device->ops->records(prober->config.device);

	nic->npaths++;
	for (uint32_t i = 0; i < path->nhops; i++) {
		struct rec_probe_hop rec = { .tuple = flow_tuple(&prober->config.flows->flows[of->flow]),
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

static void
report_paths(struct prober *prober, struct probe_nic *nic, uint64_t now_ps)
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
				report_path(prober, nic, of, &of->paths[w], now_ps);
			of->paths[w].count = 0;
		}
	}
}

/* Reports recent probers of this RNIC: also that their probes ceased. */
static void
report_received(struct prober *prober, uint32_t nic, struct probe_back *back, uint64_t now_ps)
{
	struct rec_responder rec = { .tuple = flow_tuple(&prober->config.flows->flows[back->flow]),
				     .nic = (uint16_t)nic,
				     .chained = back->chained,
				     .first_seq = back->first_seq,
				     .last_seq = back->last_seq,
				     .after_seq = back->after_seq,
				     .count = back->count,
				     .qpn = back->qpn };

	if (back->count == 0 && now_ps - back->received_ps > prober->pinglist_ps)
		return; /* its prober has others to probe by now */
	recbuf_put(prober->config.device->ops->records(prober->config.device), &rec, REC_RESPONDER, sizeof(rec), now_ps);
	if (back->count == 0)
		return;
	back->after_seq = back->last_seq;
	back->chained = true;
	back->count = back->first_seq = back->last_seq = 0;
}

/*
 * @return by how much timers were late at most, us. Only timers count: the agent's own clock measures them, independent
 *         of faults elsewhere.
 */
static uint32_t
late_us(struct prober *prober, uint64_t now_ps)
{
	uint64_t late_ps;

	note_turn_late(prober, now_ps);
	late_ps = prober->late_ps;
	for (uint32_t nic = 0; nic < prober->nnics; nic++) {
		uint64_t since_ps = probe_queue_timer_ps(&prober->nics[nic].prober);

		if (since_ps < now_ps && now_ps - since_ps > late_ps)
			late_ps = now_ps - since_ps;
	}
	prober->late_ps = 0;
	return late_ps / PS_PER_US < UINT32_MAX ? (uint32_t)(late_ps / PS_PER_US) : UINT32_MAX;
}

void
prober_upload(struct prober *prober, uint64_t now_ps)
{
	struct recbuf *records = prober->config.device->ops->records(prober->config.device);
	struct rec_upload upload = { .probes = prober->nended,
				     .timeouts = prober->ntimeouts,
				     .dropped = (uint32_t)(prober->counts.dropped - prober->reported_dropped),
				     .late_us = late_us(prober, now_ps) };

	for (uint32_t i = 0; i < prober->nresults; i++)
		recbuf_put(records, &prober->results[i], REC_PROBE, sizeof(prober->results[i]), now_ps);
	for (uint32_t i = 0; i < prober->nhops; i++)
		recbuf_put(records, &prober->hops[i], REC_PROBE_HOP, sizeof(prober->hops[i]), now_ps);
	for (uint32_t nic = 0; nic < prober->nnics; nic++)
		for (uint32_t i = 0; i < prober->nics[nic].nbacks; i++)
			report_received(prober, nic, &prober->nics[nic].backs[i], now_ps);
	for (uint32_t nic = 0; nic < prober->nnics; nic++)
		report_paths(prober, &prober->nics[nic], now_ps);
	prober->nhops = 0;
	recbuf_put(records, &upload, REC_UPLOAD, sizeof(upload), now_ps);
	prober->nresults = prober->nended = prober->ntimeouts = 0;
	prober->reported_dropped = prober->counts.dropped;
}

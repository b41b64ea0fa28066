/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A NIC port's transmitter. Control packets leave first and are never paused; then datagrams; then the QPs, those whose
 * window and pacing allow it and whose class is not paused: of strict classes first, of a higher one before a lower,
 * then all others; of one strict class, and of those others, round robin. Data packets are made at the moment they
 * leave.
 */
#include <string.h>

#include "common/hash.h"
#include "common/log.h"
#include "common/minmax.h"
#include "common/units.h"
#include "rxe-hosts/device/embedded/host.h"
#include "topo/route.h"

static struct send_qp *pick(const struct host *host, struct nic *nic);
static void send_control(struct host *host, struct nic *nic);
static void count_waiting(struct host *host, struct nic *nic, const struct send_qp *sender);
static void send_data(struct host *host, struct nic *nic, struct send_qp *qp, bool ledger_on);
static void send_datagram(struct host *host, struct nic *nic);

static bool nic_send_faulty(struct host *host, struct nic *nic, const struct pkt *p, uint64_t *done_ps);

static inline bool
queue_empty(const struct pkt_queue *q)
{
	return q->head == q->tail;
}

/* A pointer to the packet taken out; it stays until the next one is put in. */
static inline struct pkt *
queue_pop(struct pkt_queue *q)
{
	struct pkt *p = &q->pkts[q->head++];

	if (q->head == q->tail)
		q->head = q->tail = 0;
	return p;
}

/*
 * A packet with PKT_INT: an ACK returns the telemetry that its queue keeps beside it; data and probes start with none.
 */
static __attribute__((noinline)) void
put_on_wire_int(const struct host *host, const struct nic *nic, const struct pkt *p, uint64_t done_ps)
{
	static const struct int_header none_yet;

	link_send_int(nic->tx, host->window.parity, p,
		      p->type == PKT_DATA || p->type == PKT_UD ? &none_yet : &nic->control.ints[p - nic->control.pkts],
		      done_ps);
}

static inline void
put_on_wire(struct host *host, struct nic *nic, const struct pkt *p)
{
	uint64_t done_ps = host->now_ps + nic->ser_ps[p->wire_bytes];

	if (__builtin_expect(nic->ailing, 0) && !nic_send_faulty(host, nic, p, &done_ps)) {
		nic->free_ps = done_ps;
		return;
	}
	if (__builtin_expect((p->flags & PKT_INT) != 0, 0))
		put_on_wire_int(host, nic, p, done_ps);
	else
		link_send(nic->tx, host->window.parity, p, done_ps);
	nic->free_ps = done_ps;
	host->node.count.tx_packets++;
	host->node.count.tx_bytes += p->wire_bytes;
}

static inline bool
held_by_pause(const struct nic *nic, uint8_t prio)
{
	return nic->paused >> prio & 1;
}

void
nic_schedule(const struct host *host, struct nic *nic)
{
	uint64_t floor_ps = max_u64(nic->free_ps, host->now_ps), next_ps = TIME_NEVER;

	nic->tx_ps = floor_ps;
	if (!queue_empty(&nic->control))
		return;
	if (!queue_empty(&nic->datagrams) && !held_by_pause(nic, nic->datagrams.pkts[nic->datagrams.head].prio))
		return;
	for (uint32_t base = 0; base < nic->nqps; base += 64) {
		for (uint64_t bits = nic->ready[base / 64]; bits != 0; bits &= bits - 1) {
			const struct rc_send *rc = &nic->qps[base + (uint32_t)__builtin_ctzll(bits)]->rc;

			if (held_by_pause(nic, rc->frame.prio))
				continue;
			if (rc->next_ps <= floor_ps)
				return;
			next_ps = min_u64(next_ps, rc_send_wake_ps(rc, &host->params, floor_ps));
		}
	}
	nic->tx_ps = next_ps;
}

void
nic_transmit(struct host *host, struct nic *nic)
{
	struct send_qp *qp;

	if (!queue_empty(&nic->control)) {
		send_control(host, nic);
	} else if (!queue_empty(&nic->datagrams) && !held_by_pause(nic, nic->datagrams.pkts[nic->datagrams.head].prio)) {
		send_datagram(host, nic);
	} else {
		qp = pick(host, nic);
		if (qp != NULL && qp->rc.ledger.on)
			send_data(host, nic, qp, true);
		else if (qp != NULL)
			send_data(host, nic, qp, false);
	}
	nic_schedule(host, nic);
}

#define QUEUE_FIRST 16u /* packets that a queue has room for at first */

/* @return true: there is room now */
static bool
queue_widen(struct pkt_queue *q)
{
	uint32_t cap = q->cap != 0 ? min_u32(q->cap * 2, q->most) : min_u32(QUEUE_FIRST, q->most),
		 count = q->tail - q->head;
	struct pkt *pkts = malloc(cap * sizeof(*pkts));
	struct int_header *ints = q->inband ? malloc(cap * sizeof(*ints)) : NULL;

	if (pkts == NULL || (q->inband && ints == NULL))
		log_fatal("out of memory for %u packets that wait at a NIC", cap);
	if (count != 0)
		memcpy(pkts, q->pkts + q->head, count * sizeof(*pkts));
	if (q->inband && count != 0)
		memcpy(ints, q->ints + q->head, count * sizeof(*ints));
	free(q->pkts);
	free(q->ints);
	*q = (struct pkt_queue){
		.pkts = pkts, .ints = ints, .tail = count, .cap = cap, .most = q->most, .inband = q->inband
	};
	return true;
}

bool
queue_compact(struct pkt_queue *q)
{
	if (q->cap < q->most && q->tail - q->head >= q->cap / 2)
		return queue_widen(q);
	if (q->head == 0)
		return false;
	memmove(q->pkts, q->pkts + q->head, (q->tail - q->head) * sizeof(*q->pkts));
	if (q->ints != NULL)
		memmove(q->ints, q->ints + q->head, (q->tail - q->head) * sizeof(*q->ints));
	q->tail -= q->head;
	q->head = 0;
	return true;
}

bool
nic_control(struct host *host, struct nic *nic, const struct pkt *p)
{
	struct pkt *slot = queue_slot(&nic->control);

	if (slot == NULL) {
		host->node.count.born_packets++;
		host->node.count.born_bytes += p->wire_bytes;
		host_drop(host, nic, p, REC_DROP_QUEUE_FULL);
		return false;
	}
	*slot = *p;
	nic_control_send(host, nic);
	return true;
}

void
nic_pause(struct host *host, struct nic *nic, const struct pause_frame *frame)
{
	uint8_t mask = frame->prio_mask;

	host->node.digest = digest_u64(host->node.digest, frame->time_ps);
	host->node.digest = digest_u64(host->node.digest, (uint64_t)nic->index << 16 | mask << 8 | frame->xoff);
	host->pauses_received += frame->xoff;
	nic_hold(host, nic, frame->xoff ? nic->paused | mask : nic->paused & (uint8_t)~mask);
}

void
nic_hold(struct host *host, struct nic *nic, uint8_t held)
{
	uint8_t was = nic->paused, resumed;

	nic->paused = held & 0xfe; /* class 0 is never paused */
	pause_counts_change(nic->pauses_held, was, nic->paused, host->now_ps);
	resumed = was & (uint8_t)~nic->paused;
	for (uint32_t i = 0; resumed != 0 && i < nic->nqps; i++) {
		struct send_qp *qp = nic->qps[i];

		if (!rc_send_ready(&qp->rc) || !(resumed >> qp->rc.frame.prio & 1))
			continue;
		uint64_t since_ps = max_u64(qp->ready_ps, nic->pauses_held[qp->rc.frame.prio].since_ps);

		qp->saw_pause = true;
		qp->held_ps += host->now_ps - since_ps;
		if (qp->rc.ledger.on) {
			nic_account(nic, qp, &qp->rc.ledger, since_ps);
			ledger_charge(&qp->rc.ledger, LEDGER_PACED, min_u64(qp->rc.next_ps, host->now_ps));
			ledger_charge(&qp->rc.ledger, LEDGER_PAUSED, host->now_ps);
		}
	}
	if (was != nic->paused)
		nic_observe_pause(host, nic, was);
	nic_schedule(host, nic);
}

void
nic_storm(struct host *host, struct nic *nic)
{
	uint8_t mask = nic->storm_ended != 0 ? nic->storm_ended : nic->storm_mask;
	bool xoff = nic->storm_ended == 0;
	uint64_t done_ps = max_u64(nic->free_ps, host->now_ps) + nic->tx->pause_ps;

	link_send_pause(nic->tx, host->window.parity, mask, xoff, done_ps);
	nic->free_ps = done_ps;
	host->node.digest = digest_u64(host->node.digest, done_ps);
	host->node.digest = digest_u64(host->node.digest, 1ULL << 32 | (uint64_t)mask << 8 | xoff);
	nic->storm_ended = 0;
	nic->storm_ps = nic->storm_mask == 0 ? TIME_NEVER
			: xoff               ? max_u64(host->now_ps + nic->storm_interval_ps, done_ps)
					     : host->now_ps;
	nic_schedule(host, nic);
}

/*
 * The first QP of these classes behind the last sender that may send now. A rate that fell meanwhile may have shut its
 * window.
 */
static inline struct send_qp *
pick_of(const struct host *host, struct nic *nic, uint8_t classes, uint32_t last)
{
	uint32_t words = (nic->nqps + 63) / 64, first = last + 1 < nic->nqps ? last + 1 : 0;
	uint8_t held = nic->paused | (uint8_t)~classes;
	uint64_t from = ~0ULL << (first % 64);

	for (uint32_t k = 0; k <= words; k++) {
		uint32_t at = first / 64 + k, word = at < words ? at : at - words;
		uint64_t bits = nic->ready[word] & (k == 0 ? from : k == words ? ~from : ~0ULL);

		for (; bits != 0; bits &= bits - 1) {
			struct send_qp *qp = nic->qps[word * 64 + (uint32_t)__builtin_ctzll(bits)];

			if ((qp->rc.next_ps > host->now_ps && !host->params.rate_at_once) ||
			    (held >> qp->rc.frame.prio & 1))
				continue;
			rc_send_advance(&qp->rc, &host->params, host->now_ps);
			if (qp->rc.next_ps > host->now_ps)
				continue;
			if (rc_send_ready(&qp->rc))
				return qp;
			nic->ready[word] &= ~(bits & -bits);
			nic->nready--;
		}
	}
	return NULL;
}

static struct send_qp *
pick(const struct host *host, struct nic *nic)
{
	uint8_t strict = host->config.strict;

	for (uint32_t left = strict; __builtin_expect(left != 0, 0);) {
		uint32_t prio = 31 - (uint32_t)__builtin_clz(left);
		struct send_qp *qp = pick_of(host, nic, (uint8_t)(1U << prio), nic->last[1]);

		if (qp != NULL)
			return qp;
		left &= ~(1U << prio);
	}
	return pick_of(host, nic, (uint8_t)~strict, nic->last[0]);
}

/* Could a QP of these classes send now? */
static bool
data_waits(const struct host *host, const struct nic *nic, uint8_t classes)
{
	uint8_t held = nic->paused | (uint8_t)~classes;

	for (uint32_t base = 0; base < nic->nqps; base += 64) {
		for (uint64_t bits = nic->ready[base / 64]; bits != 0; bits &= bits - 1) {
			const struct rc_send *rc = &nic->qps[base + (uint32_t)__builtin_ctzll(bits)]->rc;

			if (rc->next_ps <= host->now_ps && !(held >> rc->frame.prio & 1))
				return true;
		}
	}
	return false;
}

static inline void
send_control(struct host *host, struct nic *nic)
{
	const struct pkt *p = queue_pop(&nic->control);

	if (nic->nready != 0 && host->has_telemetry && data_waits(host, nic, 0xff)) {
		telem_overtake(&nic->telem, p, nic->nready);
		overtakings_add(&nic->truth.overtakings, p->flow, (p->flags & PKT_REVERSE) != 0, p->wire_bytes,
				host->now_ps);
	}
	put_on_wire(host, nic, p);
}

/* A packet of a strict class overtakes data of lower classes that could have left. */
static void
note_overtaker(struct host *host, struct nic *nic, const struct pkt *p)
{
	uint8_t behind = (uint8_t) ~(host->config.strict & 0xffU << p->prio);

	if (!data_waits(host, nic, behind))
		return;
	telem_overtake(&nic->telem, p, nic->nready - 1);
	overtakings_add(&nic->truth.overtakings, p->flow, false, p->wire_bytes, host->now_ps);
}

/* A queue pair that could have sent now waits behind the sender. */
static void
count_waiting(struct host *host, struct nic *nic, const struct send_qp *sender)
{
	for (uint32_t base = 0; base < nic->nqps; base += 64) {
		for (uint64_t bits = nic->ready[base / 64]; bits != 0; bits &= bits - 1) {
			struct send_qp *qp = nic->qps[base + (uint32_t)__builtin_ctzll(bits)];

			if (qp == sender || qp->rc.next_ps > host->now_ps || held_by_pause(nic, qp->rc.frame.prio))
				continue;
			qp->ahead++;
			if (host->telemetry.exact)
				nic_observe_ahead(nic, qp->flow, sender->flow);
		}
	}
}

static inline void
count_sent(struct nic *nic, struct send_qp *qp, uint32_t wire_bytes)
{
	struct telem_batch *batch = &qp->batch;

	batch->packets++;
	batch->bytes += wire_bytes;
	nic->sent[qp->bit / 64] |= 1ULL << (qp->bit % 64);
	if (__builtin_expect(qp->ahead != 0, 0)) {
		batch->depth_sum += qp->ahead;
		batch->depth_max = qp->ahead > batch->depth_max ? qp->ahead : batch->depth_max;
		qp->ahead = 0;
	}
	if (__builtin_expect(qp->saw_pause, 0)) {
		batch->paused_packets++;
		qp->saw_pause = false;
	}
}

__attribute__((noinline)) void
nic_account(const struct nic *nic, const struct send_qp *qp, struct ledger *ledger, uint64_t to_ps)
{
	uint64_t slow_ps = nic->nic_faults.slow_ps - ledger->slow_seen_ps;

	rc_send_account(&qp->rc, ledger, qp->ready_ps, to_ps);
	ledger->slow_seen_ps = nic->nic_faults.slow_ps;
	ledger_charge(ledger, LEDGER_NIC, min_u64(to_ps, ledger->until_ps + slow_ps));
	ledger_charge(ledger, LEDGER_BEHIND, to_ps);
}

/* A frame of a QP is about to leave. Mostly it follows the last one, or others' frames went first. */
static inline void
account_wait(const struct host *host, const struct nic *nic, struct send_qp *qp, uint64_t slow_ps)
{
	struct ledger *ledger = &qp->rc.ledger;
	uint64_t until_ps = ledger->until_ps;

	if (until_ps == host->now_ps)
		return;
	if (qp->rc.next_ps <= until_ps && qp->ready_ps <= until_ps && slow_ps == ledger->slow_seen_ps &&
	    until_ps < host->now_ps)
		ledger->ps[LEDGER_BEHIND] += host->now_ps - until_ps;
	else
		nic_account(nic, qp, ledger, host->now_ps);
}

/*
 * A frame of a QP leaves until nic->free_ps. A cable at a lower rate than its line's has it longer on the wire, beyond what
 * follows from its length. @param slow_ps  of the NIC, before it left
 */
static inline void
account_sent(const struct nic *nic, struct ledger *ledger, uint64_t slow_ps)
{
	ledger->until_ps = nic->free_ps;
	if (__builtin_expect(nic->ailing, 0)) {
		ledger->ps[LEDGER_NIC] += nic->nic_faults.slow_ps - slow_ps;
		ledger->ps[LEDGER_WIRE] += nic->nic_faults.cable_ps;
		ledger->slow_seen_ps = nic->nic_faults.slow_ps;
	}
}

/* @param ledger_on  a constant: qp->rc.ledger.on */
static inline __attribute__((always_inline)) void
send_data(struct host *host, struct nic *nic, struct send_qp *qp, bool ledger_on)
{
	bool fresh = !rc_send_outstanding(&qp->rc), strict = host->config.strict >> qp->rc.frame.prio & 1;
	struct ledger *ledger = &qp->rc.ledger;
	uint64_t slow_ps = 0;
	struct pkt p;

	if (ledger_on) {
		slow_ps = nic->nic_faults.slow_ps;
		account_wait(host, nic, qp, slow_ps);
	}
	rc_send_next(&qp->rc, &host->params, host->now_ps, &p);
	put_on_wire(host, nic, &p);
	if (ledger_on)
		account_sent(nic, ledger, slow_ps);
	nic->last[strict] = qp->bit;
	host->node.count.born_packets++;
	host->node.count.born_bytes += p.wire_bytes;
	if (host->has_telemetry) {
		if (nic->nready > 1)
			count_waiting(host, nic, qp);
		if (__builtin_expect(strict, 0) && nic->nready > 1)
			note_overtaker(host, nic, &p);
		count_sent(nic, qp, p.wire_bytes);
	}
	if (!rc_send_ready(&qp->rc)) {
		nic->ready[qp->bit / 64] &= ~(1ULL << (qp->bit % 64));
		nic->nready--;
	}
	if (fresh)
		host_watch(host, qp);
}

static void
send_datagram(struct host *host, struct nic *nic)
{
	struct pkt *p = queue_pop(&nic->datagrams);
	struct send_qp *qp = &host->send[host_slot(host, p->flow)->send];

	put_on_wire(host, nic, p);
	/* A reply's flow starts elsewhere: its tuple is of no QP here. */
	if (host->has_telemetry && !(p->flags & PKT_REVERSE)) {
		count_waiting(host, nic, qp);
		count_sent(nic, qp, p->wire_bytes);
	}
	host_datagram_left(host, nic);
}

/*
 * NICs that faults make fail, or slow. Where DMA does not keep up with the line, arrived frames stay in the NIC's
 * buffer, which is the cable's queue of arrivals, and the NIC pauses its peer (R-Pingmesh 7.1: "intra-host bandwidth
 * degradation causes RNICs to send PFC pause frames"). Its headroom behind XOFF always suffices.
 */

#define DEAF (NIC_HANGS | NIC_NO_GID | NIC_FROZEN)
#define REFRESH_PS (100 * PS_PER_US) /* of PAUSE, well below 65,535 quanta of 512 bits at 100 Gbps */

/* Drops a packet silently: no counter of the device has it, only the run's truth. */
static void
lose(struct host *host, struct nic *nic, const struct pkt *p)
{
	nic->nic_faults.faulty_packets++;
	host->node.count.lost_packets++;
	host->node.count.dropped_packets++;
	host->node.count.dropped_bytes += p->wire_bytes;
	body_release(host->node.bodies, p);
}

/* @param sending  of what leaves; else of what arrives */
static struct nic_dma
dma_of(const struct nic *nic, bool sending)
{
	struct nic_dma all = { 0 };

	for (uint32_t i = 0; i < NIC_DMA_CAUSES; i++) {
		const struct nic_dma *dma = &nic->nic_faults.dma[i];

		if (sending && i == NIC_DMA_DRAIN)
			continue;
		if (dma->rate_bps != 0 && (all.rate_bps == 0 || dma->rate_bps < all.rate_bps))
			all.rate_bps = dma->rate_bps;
		if (dma->xoff_bytes != 0 && (all.xoff_bytes == 0 || dma->xoff_bytes < all.xoff_bytes))
			all.xoff_bytes = dma->xoff_bytes;
		all.delay_ps += dma->delay_ps;
	}
	return all;
}

/* How long DMA takes for a packet. What the NIC makes and reads itself, as ACKs, needs none. */
static uint64_t
dma_ps(const struct nic_dma *dma, const struct pkt *p)
{
	if (dma->rate_bps == 0 || (p->type != PKT_DATA && p->type != PKT_UD))
		return 0;
	return (uint64_t)((unsigned __int128)p->wire_bytes * 8 * PS_PER_S / dma->rate_bps);
}

/* Pauses or resumes the peer, by the number of bytes that wait for DMA. */
static void
pause_peer(struct host *host, struct nic *nic, const struct nic_dma *dma, const struct pkt *waiting, uint32_t count)
{
	uint64_t bytes = 0;
	uint8_t classes = 0, change;

	for (uint32_t i = 0; i < count; i++) {
		bytes += waiting[i].wire_bytes;
		classes |= (uint8_t)(1u << waiting[i].prio);
	}
	classes &= 0xfe; /* class 0 is never paused */
	if (dma->xoff_bytes != 0 && bytes >= dma->xoff_bytes)
		change = classes & (uint8_t) ~(nic->nic_faults.pausing | nic->storm_mask);
	else
		change = bytes <= dma->xoff_bytes / 2 ? nic->nic_faults.pausing : 0;
	nic->nic_faults.pausing ^= change;
	for (uint8_t prio = 1; prio < 8; prio++)
		if (change >> prio & 1)
			embedded_storm(&host->node, nic->index, prio, nic->nic_faults.pausing >> prio & 1, host->now_ps,
				       REFRESH_PS);
}

/* Updates whether any fault slows or breaks the NIC, or its effects still last. */
static void
look(struct nic *nic, bool drained)
{
	const struct nic_dma dma = dma_of(nic, false);

	nic->ailing = nic->nic_faults.failures != 0 || dma.rate_bps != 0 || dma.delay_ps != 0 || !drained ||
		      nic->nic_faults.line_ser_ps != NULL;
}

static uint32_t
take_in_slow(struct host *host, struct nic *nic)
{
	const struct nic_dma dma = dma_of(nic, false);
	uint32_t count = (uint32_t)(nic->arrivals_end - nic->arrivals), taken = 0;

	for (; taken < count; taken++) {
		struct pkt *p = &nic->arrivals[taken];
		uint64_t free_ps = max_u64(nic->nic_faults.dma_free_ps, p->time_ps) + dma_ps(&dma, p);
		uint64_t handed_ps = max_u64(max_u64(free_ps + dma.delay_ps, nic->nic_faults.handed_ps), host->now_ps);

		if (handed_ps >= host->window.end_ps)
			break;
		nic->nic_faults.faulty_packets += handed_ps != p->time_ps;
		nic->nic_faults.dma_free_ps = free_ps;
		nic->nic_faults.handed_ps = p->time_ps = handed_ps;
	}
	nic->arrivals_end = nic->arrivals + taken;
	pause_peer(host, nic, &dma, nic->arrivals_end, count - taken);
	look(nic, taken == count);
	return taken;
}

uint32_t
nic_receive_faulty(struct host *host, struct nic *nic)
{
	uint32_t count = (uint32_t)(nic->arrivals_end - nic->arrivals);

	if ((nic->nic_faults.failures & DEAF) == 0)
		return take_in_slow(host, nic);
	for (; nic->arrivals != nic->arrivals_end; nic->arrivals++) {
		host->node.count.rx_packets++;
		host->node.count.rx_bytes += nic->arrivals->wire_bytes;
		lose(host, nic, nic->arrivals);
	}
	return count;
}

/*
 * A frame is to leave.
 * @param done_ps  when its last bit has left; later, if DMA is slow
 * @return false: it does not leave, and is dropped
 */
static bool
nic_send_faulty(struct host *host, struct nic *nic, const struct pkt *p, uint64_t *done_ps)
{
	const struct nic_dma dma = dma_of(nic, true);
	uint64_t sent_ps;

	nic->nic_faults.cable_ps = nic->nic_faults.line_ser_ps != NULL
					   ? nic->ser_ps[p->wire_bytes] - nic->nic_faults.line_ser_ps[p->wire_bytes]
					   : 0;
	if (nic->nic_faults.failures & DEAF) {
		lose(host, nic, p);
		return false;
	}
	if (nic->nic_faults.failures & NIC_NO_ROUTES) {
		nic->nic_faults.faulty_packets++;
		host_drop(host, nic, p, REC_DROP_NO_ROUTE);
		return false;
	}
	sent_ps = host->now_ps + dma_ps(&dma, p);
	if (sent_ps > *done_ps) {
		nic->nic_faults.faulty_packets++;
		nic->nic_faults.slow_ps += sent_ps - *done_ps;
		*done_ps = sent_ps;
	}
	return true;
}

void
embedded_fail_nic(struct node *node, uint16_t index, uint8_t failure, bool on)
{
	struct nic *nic = &host_of(node)->nics[index];

	nic->nic_faults.failures = on ? nic->nic_faults.failures | failure : nic->nic_faults.failures & (uint8_t)~failure;
	nic->ailing = true; /* until a check finds nothing left */
}

void
embedded_set_rate(struct node *node, uint16_t index, uint64_t rate_bps, uint64_t now_ps)
{
	struct sertables *sertables = host_of(node)->config.sertables;
	uint64_t line_bps = topo_port_of(host_of(node)->config.topo, node->id, index)->rate_bps;
	const struct sertable *table = sertables_get(sertables, rate_bps), *line = sertables_get(sertables, line_bps);
	struct nic *nic = &host_of(node)->nics[index];

	(void)now_ps;
	if (table == NULL || line == NULL)
		log_fatal("out of memory for a rate of a NIC of %s", node->topo->nodes[node->id].name);
	nic->ser_ps = table->ps;
	nic->nic_faults.line_ser_ps = rate_bps < line_bps ? line->ps : NULL;
	nic->ailing = true; /* until a check finds nothing left */
}

void
embedded_slow_nic(struct node *node, uint16_t index, enum nic_dma_cause cause, const struct nic_dma *dma)
{
	struct nic *nic = &host_of(node)->nics[index];

	nic->nic_faults.dma[cause] = *dma;
	nic->ailing = true;
}

void
embedded_freeze(struct node *node, bool on, uint64_t now_ps)
{
	struct host *host = host_of(node);

	for (uint16_t i = 0; i < node->nports; i++)
		embedded_fail_nic(node, i, NIC_FROZEN, on);
	host->frozen = on;
	host->now_ps = now_ps;
	if (on)
		return;
	for (uint32_t i = 0; i < host->nsend; i++)
		if (host->send[i].rc.ledger.on)
			ledger_charge(&host->send[i].rc.ledger, LEDGER_NIC, now_ps);
	/* Timers that expired meanwhile are due now. */
	host->client_timer_ps = max_u64(host->client_timer_ps, now_ps);
	host->rto_ps = max_u64(host->rto_ps, now_ps);
	host->storm_ps = max_u64(host->storm_ps, now_ps);
	host_set_timers(host);
	for (uint16_t i = 0; i < node->nports; i++)
		nic_schedule(host, &host->nics[i]);
}

uint64_t
embedded_nic_faulty(const struct node *node, uint16_t nic)
{
	return ((const struct host *)node)->nics[nic].nic_faults.faulty_packets;
}

/* A bonded host whose members' links change: selects the port of each QP (topo/route.h). */

static void
set_bit(uint64_t *words, uint32_t bit, bool on)
{
	uint64_t mask = 1ULL << (bit % 64);

	words[bit / 64] = on ? words[bit / 64] | mask : words[bit / 64] & ~mask;
}

static bool
has_bit(const uint64_t *words, uint32_t bit)
{
	return words[bit / 64] >> (bit % 64) & 1;
}

/* Takes a QP off its NIC, whose last one gets its place. The packets that it sent are already reported. */
static void
detach(struct nic *nic, const struct send_qp *qp)
{
	uint32_t last = --nic->nqps, bit = qp->bit;

	nic->nready -= has_bit(nic->ready, bit);
	set_bit(nic->ready, bit, has_bit(nic->ready, last));
	set_bit(nic->ready, last, false);
	nic->qps[bit] = nic->qps[last];
	nic->qps[bit]->bit = bit;
	for (uint32_t i = 0; i < 2; i++)
		nic->last[i] = nic->last[i] < nic->nqps ? nic->last[i] : 0;
}

static void
attach(struct host *host, uint16_t to, struct send_qp *qp)
{
	struct nic *nic = &host->nics[to];

	qp->nic = to;
	qp->bit = nic->nqps;
	nic->qps[nic->nqps++] = qp;
	qp_look(host, qp, true);
}

static void
move(struct host *host, uint16_t to, struct send_qp *qp)
{
	struct nic *from = &host->nics[qp->nic];

	nic_flush(host, from);
	detach(from, qp);
	nic_schedule(host, from);
	attach(host, to, qp);
}

/* @return the member that a flow takes: the one with all members up, or else a choice among those that are up */
static uint16_t
member_of(const struct host *host, const struct flow *flow, bool back, const bool *is_down)
{
	uint16_t placed = back ? flow->dst_nic : flow->src_nic;

	if (!is_down[placed])
		return placed;
	return bond_member(host->config.topo, host->config.bond_seed, host->node.id, flow, back, is_down);
}

void
host_rebond(struct host *host)
{
	bool is_down[TOPO_MAX_PORTS];

	for (uint16_t i = 0; i < host->node.nports; i++)
		is_down[i] = host->nics[i].tx->down;
	for (uint32_t k = host->config.shared->first_of[host->node.id];
	     k < host->config.shared->first_of[host->node.id + 1]; k++) {
		uint32_t f = host->config.shared->flows_of[k];
		const struct flow *flow = &host->config.flows->flows[f];
		const struct flow_slot *slot = host_slot(host, f);

		if (flow->src_node == host->node.id) {
			struct send_qp *qp = &host->send[slot->send];
			uint16_t to = member_of(host, flow, false, is_down);

			if (to != qp->nic)
				move(host, to, qp);
		}
		if (flow->dst_node == host->node.id)
			host->recv[slot->recv].nic = member_of(host, flow, true, is_down);
	}
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/roce/rc_send.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/roce.h"
#include "rxe-hosts/roce/selective.h"

#define FIRST_SENT 16u /* packets in flight that a QP has room for at first */
#define FIRST_POSTS 8u /* messages, of which half may be open */

static void go_back(struct rc_send *s, uint64_t now_ps);
static void apply_rate(struct rc_send *s, const struct roce_params *params, uint64_t now_ps);

static void rc_messages_load(struct rc_send *s);
static void close_ledger(struct rc_send *s, const struct roce_params *params, uint64_t now_ps);
static uint64_t frame_ps(const struct rc_send *s, const struct roce_params *params, uint32_t frame_bytes);
static uint64_t rc_messages_byte(const struct rc_send *s, const struct roce_params *params, uint32_t seq);

uint32_t
rc_send_slots(const struct roce_params *params, uint64_t window_bytes)
{
	uint32_t inflight = ROCE_MAX_INFLIGHT, slots = params->any_order ? SEL_WORD_PACKETS : 16;

	if (window_bytes != 0 && window_bytes / params->mtu_bytes + 2 < inflight)
		inflight = params->transport->span(params, (uint32_t)(window_bytes / params->mtu_bytes) + 2);
	while (slots < inflight && slots < ROCE_MAX_INFLIGHT)
		slots *= 2;
	return slots;
}

int
rc_send_init(struct rc_send *s, const struct roce_params *params, const struct rc_send_config *config)
{
	uint32_t slots = rc_send_slots(params, config->window_bytes);

	*s = (struct rc_send){
		.una = config->first_psn,
		.nxt = config->first_psn,
		.msg_first = config->first_psn,
		.msg_end = config->first_psn,
		.ack_end = config->first_psn,
		.max = config->first_psn,
		.sample_from = config->first_psn,
		.frame = {
			.flow = config->flow,
			.wire_bytes = params->middle_bytes,
			.payload_bytes = (uint16_t)params->mtu_bytes,
			.type = PKT_DATA,
			.prio = config->prio,
			.flags = params->int_bytes != 0 ? PKT_INT : 0,
			.ttl = PKT_TTL_INIT,
		},
		.sent_mask = (params->any_order ? slots : min_u32(slots, FIRST_SENT)) - 1,
		.sent_most = slots - 1,
		.line_bps = config->line_bps,
		.window_line_bytes = config->window_bytes,
		.ledger.on = config->ledger,
	};
	s->sent_ps = calloc(s->sent_mask + (size_t)1, sizeof(*s->sent_ps));
	if (s->sent_ps == NULL)
		return -ENOMEM;
	rc_send_reset(s, params);
	return params->transport->init != NULL ? params->transport->init(s, params) : 0;
}

void
rc_send_fini(struct rc_send *s)
{
	if (s->sel != NULL)
		sel_send_fini(s);
	free(s->sent_ps);
	s->sent_ps = NULL;
	for (struct rc_posts *posts = atomic_load_explicit(&s->posts, memory_order_relaxed), *narrower; posts != NULL;
	     posts = narrower) {
		narrower = posts->narrower;
		free(posts);
	}
	atomic_store_explicit(&s->posts, NULL, memory_order_relaxed);
}

void
rc_send_widen(struct rc_send *s)
{
	size_t slots = (s->sent_mask + (size_t)1) * 2;
	uint64_t *sent_ps = calloc(slots, sizeof(*sent_ps));

	if (sent_ps == NULL)
		log_fatal("out of memory for %zu packets in flight of a QP", slots);
	for (uint32_t seq = s->una; seq != s->max; seq++)
		sent_ps[seq & (slots - 1)] = s->sent_ps[seq & s->sent_mask];
	free(s->sent_ps);
	s->sent_ps = sent_ps;
	s->sent_mask = (uint32_t)(slots - 1);
}

void
rc_send_reset(struct rc_send *s, const struct roce_params *params)
{
	cc_reset(&s->cc, &params->cc, s->line_bps);
	s->next_ps = 0;
	s->last_rtt_ps = 0;
	s->cc_byte = s->nxt_byte;
	apply_rate(s, params, 0);
}

/* The bytes that were sent since the last count. Going back takes none back. */
static uint32_t
count_bytes(struct rc_send *s)
{
	int32_t bytes = (int32_t)(s->nxt_byte - s->cc_byte);

	s->cc_byte = s->nxt_byte;
	return bytes > 0 ? (uint32_t)bytes : 0;
}

void
rc_send_new_rate(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	uint64_t rate_bps = s->cc.rate_bps, due_ps = s->cc.due_ps;

	/* Bytes first: timers that were due before the packet left were seen when it left. */
	if (params->cc.ops->sent != NULL)
		params->cc.ops->sent(&s->cc, &params->cc, count_bytes(s));
	cc_advance(&s->cc, &params->cc, now_ps);
	if (s->cc.rate_bps != rate_bps || s->cc.due_ps != due_ps)
		apply_rate(s, params, now_ps);
}

void
rc_send_congested(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	s->marks++;
	cc_marked(&s->cc, &params->cc, now_ps);
	apply_rate(s, params, now_ps);
}

void
rc_send_received(struct rc_send *s, const struct roce_params *params, const struct cc_ack *ack)
{
	params->cc.ops->acked(&s->cc, &params->cc, ack);
	apply_rate(s, params, ack->now_ps);
}

void
rc_send_lost(struct rc_send *s, const struct roce_params *params, enum cc_loss loss, uint64_t now_ps)
{
	if (params->cc.ops->lost == NULL)
		return;
	params->cc.ops->lost(&s->cc, &params->cc, loss, now_ps);
	apply_rate(s, params, now_ps);
}

void
rc_send_edge(struct rc_send *s, const struct roce_params *params, uint64_t now_ps, struct pkt *p)
{
	struct rc_post *post = rc_messages_at(s, s->cursor);
	uint32_t seq = s->nxt;
	uint64_t gap_ps = s->gap_ps;

	p->opcode = rc_messages_opcode(s, post, seq == s->msg_first, seq + 1 == s->msg_end);
	if (seq == s->msg_first)
		p->wire_bytes = post->first_frame_bytes;
	if (seq + 1 == s->msg_end) {
		p->wire_bytes = post->last_frame_bytes;
		p->payload_bytes = (uint16_t)post->last_payload_bytes;
		p->flags |= PKT_LAST | PKT_ACKREQ;
	}
	if (p->wire_bytes != params->middle_bytes)
		gap_ps = units_serialize_ps(p->wire_bytes, s->cc.rate_bps, params->quantum_ps);
	s->next_ps = now_ps + gap_ps;
	s->nxt_byte += p->payload_bytes;
	s->nxt = seq + 1;
	if (seq == s->max) {
		s->max = seq + 1;
	} else {
		/* The first packet of a repetition requests an ACK: it may be the only one that the receiver lacks. */
		p->flags |= PKT_RETRANSMIT | (seq == s->una ? PKT_ACKREQ : 0);
		post->retransmits++;
		s->retransmits++;
		ledger_sent_again(&s->ledger, units_serialize_ps(p->wire_bytes, s->line_bps, params->quantum_ps));
	}
	if (seq + 1 == s->msg_end && s->cursor + 1 != s->tail) {
		s->cursor++;
		rc_messages_load(s);
	}
	if (s->sel != NULL && (p->flags & PKT_RETRANSMIT))
		sel_send_repeated(s, params, seq, p);
}

void
rc_send_ack_far(struct rc_send *s, const struct roce_params *params, uint32_t una)
{
	s->una_byte += (uint32_t)(rc_messages_byte(s, params, una) - rc_messages_byte(s, params, s->una));
	s->una = una;
	if ((int32_t)(una - s->nxt) > 0) {
		/* The packets that were about to be sent again have arrived after all. */
		s->nxt = una;
		s->nxt_byte = s->una_byte;
		rc_messages_seek(s);
	}
}

bool
rc_send_nak(struct rc_send *s, const struct roce_params *params, uint32_t psn, uint64_t now_ps)
{
	int32_t acked = psn_diff(psn, s->una);
	enum rc_send_wait wait = rc_send_waits(s);
	uint64_t rtt_ps;
	bool advanced;

	if (acked < 0 || (uint32_t)acked >= s->max - s->una)
		return false; /* stale: repaired since, or of no packet we sent */
	s->naks++;
	advanced = rc_send_ack(s, params, psn - 1, now_ps, &rtt_ps);
	rc_send_account_loss(s, wait, LEDGER_NAK, now_ps);
	go_back(s, now_ps);
	rc_messages_at(s, s->cursor)->naks++; /* the one with the missing packet */
	rc_send_lost(s, params, CC_LOSS_NAK, now_ps);
	return advanced;
}

bool
rc_send_rnr(struct rc_send *s, const struct roce_params *params, uint32_t psn, uint64_t now_ps)
{
	int32_t acked = psn_diff(psn, s->una);
	enum rc_send_wait wait = rc_send_waits(s);
	uint64_t rtt_ps;

	if (acked < 0 || (uint32_t)acked >= s->max - s->una)
		return true;
	s->rnr_naks++;
	rc_send_ack(s, params, psn - 1, now_ps, &rtt_ps);
	if (params->rnr_retry != ROCE_RNR_UNLIMITED && s->rnr_retries++ >= params->rnr_retry)
		return false;
	rc_send_account_loss(s, wait, LEDGER_PEER, now_ps);
	ledger_charge_again(&s->ledger, now_ps + params->rnr_delay_ps);
	go_back(s, now_ps + params->rnr_delay_ps);
	s->next_ps = s->rnr_until_ps = now_ps + params->rnr_delay_ps;
	return true;
}

uint64_t
rc_send_deadline(const struct rc_send *s, const struct roce_params *params)
{
	return s->error || !rc_send_outstanding(s) ? TIME_NEVER : params->transport->deadline(s, params);
}

bool
rc_send_timeout(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	return params->transport->timeout(s, params, now_ps);
}

void
rc_send_hold(struct rc_send *s, uint64_t now_ps)
{
	s->rto_base_ps = now_ps;
	if (s->sel != NULL)
		s->sel->held_ps = now_ps;
}

void
rc_send_fail(struct rc_send *s)
{
	s->error = true;
	s->msg_end = s->nxt;
}

/* Everything unacknowledged is to be sent again (IBTA 9.7.5.1.1: requests are retried in order). */
static void
go_back(struct rc_send *s, uint64_t now_ps)
{
	s->nxt = s->una;
	s->nxt_byte = s->una_byte;
	s->sample_from = s->max;
	s->rto_base_ps = now_ps;
	rc_messages_seek(s);
}

/*
 * The bytes that are still to be paid for behind the last packet are paid for at the new rate.
 * @param gap_ps  of a full packet at the rate before
 */
static void
rescale_wait(struct rc_send *s, uint64_t gap_ps, uint64_t now_ps)
{
	uint64_t left_ps = s->next_ps - now_ps;
	uint64_t new_ps = (uint64_t)((unsigned __int128)left_ps * s->gap_ps / gap_ps);

	s->next_ps = now_ps + new_ps;
}

/*
 * Gap and window at the present rate. In-flight bytes stay below window x rate / line rate, and the control's own
 * window.
 */
static void
apply_rate(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	uint64_t window = s->window_line_bytes, gap_ps = s->gap_ps;

	s->cc_due_ps = params->cc.ops->sent != NULL && s->cc.rate_bps != s->line_bps ? 0 : s->cc.due_ps;
	s->gap_ps = units_serialize_ps(params->middle_bytes, s->cc.rate_bps, params->quantum_ps);
	if (params->rate_at_once && s->next_ps > now_ps && s->next_ps != s->rnr_until_ps && gap_ps != s->gap_ps)
		rescale_wait(s, gap_ps, now_ps);
	if (window == 0)
		window = UINT32_MAX / 2;
	else if (params->window_scales_with_rate && s->cc.rate_bps != s->line_bps)
		window = (uint64_t)((unsigned __int128)window * s->cc.rate_bps / s->line_bps);
	window = s->cc.window_bytes < window ? s->cc.window_bytes : window;
	s->window_bytes = window != 0 ? (uint32_t)window : 1;
}

static uint32_t
span(const struct roce_params *params, uint32_t window_packets)
{
	(void)params;
	return window_packets;
}

static uint64_t
deadline(const struct rc_send *s, const struct roce_params *params)
{
	uint32_t doublings = s->retries < params->timeout_doublings ? s->retries : params->timeout_doublings;

	return params->timeout_ps == 0 ? TIME_NEVER : s->rto_base_ps + (params->timeout_ps << doublings);
}

static bool
timeout(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	s->timeouts++;
	rc_send_stalled(s, now_ps);
	rc_send_waited(s, now_ps - s->rto_base_ps);
	if (s->retries++ >= params->retry_count)
		return false;
	go_back(s, now_ps);
	rc_send_lost(s, params, CC_LOSS_TIMEOUT, now_ps);
	return true;
}

const struct transport_ops transport_go_back_n = {
	.name = "go-back-n",
	.kernels = true,
	.span = span,
	.deadline = deadline,
	.timeout = timeout,
};

/* Messages that a sender has open: posting, finding, and giving them back. */

static void forget_message(struct rc_send *s);

/*
 * Makes room for one more message. Half of the ring at least is of messages that are over: late copies of their packets
 * find them. A receiver on another lcore may read the ring in this window: it stays, and its messages are in both.
 */
static void
widen_posts(struct rc_send *s)
{
	struct rc_posts *old = atomic_load_explicit(&s->posts, memory_order_relaxed), *posts;
	uint32_t count = old != NULL ? old->mask + 1 : 0, room = count != 0 ? 2 * count : FIRST_POSTS;

	if (count == MSG_SLOTS || 2 * (s->tail - s->head) < count)
		return;
	posts = calloc(1, sizeof(*posts) + room * sizeof(posts->at[0]));
	if (posts == NULL)
		log_fatal("out of memory for %u messages of a QP", room);
	posts->narrower = old;
	posts->mask = room - 1;
	for (uint32_t i = s->tail - min_u32(s->tail, count); i != s->tail; i++)
		posts->at[i & posts->mask] = old->at[i & old->mask];
	atomic_store_explicit(&s->posts, posts, memory_order_release);
}

int
rc_send_post(struct rc_send *s, const struct roce_params *params, const struct rc_work *work)
{
	uint32_t mtu = params->mtu_bytes;
	uint64_t packets = (work->bytes + mtu - 1) / mtu;

	if (s->error)
		return -EBUSY;
	if (s->tail - s->head == MSG_SLOTS)
		return -ENOSPC;
	if (work->bytes == 0 || packets >= 1u << 31)
		return -EINVAL;
	if (work->send && params->any_order)
		return -ENOTSUP;

	widen_posts(s);

	uint32_t first = s->tail == s->head ? s->una : rc_messages_at(s, s->tail - 1)->end;
	uint32_t last_bytes = (uint32_t)(work->bytes - (packets - 1) * mtu);

	*rc_messages_at(s, s->tail) = (struct rc_post){
		.wr_id = work->wr_id,
		.bytes = work->bytes,
		.payload = s->region != NULL ? s->region + work->local_offset : NULL,
		.remote_offset = work->remote_offset,
		.imm = work->imm,
		.tag = work->tag,
		.write = !work->send,
		.first = first,
		.end = first + (uint32_t)packets,
		.last_payload_bytes = last_bytes,
		.first_frame_bytes = roce_data_bytes(params, packets == 1 ? last_bytes : mtu, !work->send, packets == 1),
		.last_frame_bytes = roce_data_bytes(params, last_bytes, packets == 1 && !work->send, true),
	};
	if (s->tail == s->head) {
		s->ack_end = first + (uint32_t)packets;
		forget_message(s);
	}
	s->tail++;
	if (s->nxt == s->msg_end)
		rc_messages_load(s);
	return 0;
}

static void
take_oldest(struct rc_send *s, const struct roce_params *params, uint64_t now_ps, struct rc_post *post,
	    struct send_times *times)
{
	*times = rc_send_times(s, params, &s->ledger, now_ps);
	*post = *rc_messages_at(s, s->head++);
	forget_message(s);
}

bool
rc_send_pop(struct rc_send *s, const struct roce_params *params, struct rc_post *post, struct send_times *times)
{
	if (s->head == s->tail || (int32_t)(s->una - s->ack_end) < 0)
		return false;
	if (s->ledger.on)
		close_ledger(s, params, s->rto_base_ps);
	take_oldest(s, params, s->rto_base_ps, post, times);
	if ((int32_t)(s->una - s->sample_from) > 0)
		s->sample_from = s->una; /* never falls 2^31 behind */
	if (s->head != s->tail)
		s->ack_end = rc_messages_at(s, s->head)->end;
	return true;
}

bool
rc_send_flush(struct rc_send *s, const struct roce_params *params, uint64_t now_ps, struct rc_post *post,
	      struct send_times *times, uint64_t *acked_bytes)
{
	if (s->head == s->tail)
		return false;
	if (s->ledger.on)
		rc_send_account_idle(s, params, &s->ledger, now_ps);
	*acked_bytes = rc_send_acked_bytes(s, params);
	take_oldest(s, params, now_ps, post, times);
	return true;
}

const struct rc_post *
rc_send_message(const struct rc_send *s, const struct pkt *p)
{
	const struct rc_posts *posts = atomic_load_explicit(&s->posts, memory_order_acquire);
	const struct rc_post *post;
	uint32_t ahead;

	if (posts == NULL)
		return NULL;
	post = &posts->at[p->message & posts->mask];
	ahead = (p->psn - post->first) & PSN_MASK;
	return ahead < post->end - post->first ? post : NULL; /* nothing was posted: both are 0 */
}

uint64_t
rc_send_acked_bytes(const struct rc_send *s, const struct roce_params *params)
{
	const struct rc_post *post;

	if (s->head == s->tail)
		return 0;
	post = rc_messages_at(s, s->head);
	if ((int32_t)(s->una - post->first) <= 0)
		return 0;
	if ((int32_t)(s->una - post->end) >= 0)
		return post->bytes;
	return (uint64_t)(s->una - post->first) * params->mtu_bytes;
}

uint64_t
rc_send_outstanding_bytes(const struct rc_send *s, const struct roce_params *params)
{
	if (s->sel != NULL)
		return s->nxt_byte - s->una_byte + s->sel->lost_bytes;
	return rc_messages_byte(s, params, s->max) - rc_messages_byte(s, params, s->una);
}

/* The message that holds nxt becomes the one that is sent; without any, the cursor stays on the last one sent. */
static void
rc_messages_load(struct rc_send *s)
{
	const struct rc_post *post;

	while (s->cursor + 1 != s->tail && (int32_t)(s->nxt - rc_messages_at(s, s->cursor)->end) >= 0)
		s->cursor++;
	post = rc_messages_at(s, s->cursor);
	s->msg_first = post->first;
	s->msg_end = post->end;
	s->frame.arg = post->imm;
	s->frame.tag = post->tag;
	s->frame.opcode = rc_messages_opcode(s, post, false, false);
	s->frame.message = (uint8_t)s->cursor;
}

void
rc_messages_seek(struct rc_send *s)
{
	if (s->head == s->tail)
		return;
	s->cursor = s->head;
	rc_messages_load(s);
}

/* @return payload bytes from the start of the oldest open message to seq */
static uint64_t
rc_messages_byte(const struct rc_send *s, const struct roce_params *params, uint32_t seq)
{
	uint64_t bytes = 0;

	for (uint32_t i = s->head; i != s->tail; i++) {
		const struct rc_post *post = rc_messages_at(s, i);

		if ((int32_t)(seq - post->end) < 0)
			return bytes + (uint64_t)(seq - post->first) * params->mtu_bytes;
		bytes += post->bytes;
	}
	return bytes;
}

uint32_t
rc_messages_payload(const struct rc_send *s, const struct roce_params *params, uint32_t seq)
{
	for (uint32_t i = s->head; i != s->tail; i++)
		if (seq + 1 == rc_messages_at(s, i)->end)
			return rc_messages_at(s, i)->last_payload_bytes;
	return params->mtu_bytes;
}

/* Another message becomes the oldest. */
static void
forget_message(struct rc_send *s)
{
	s->last_rtt_ps = 0;
	s->rtt = (struct rtt_sum){ 0 };
	s->waited_ps = 0;
	if (s->ledger.on)
		ledger_next(&s->ledger);
}

/* The ledger of the oldest message. */

static uint64_t
frame_ps(const struct rc_send *s, const struct roce_params *params, uint32_t frame_bytes)
{
	return units_serialize_ps(frame_bytes, s->line_bps, params->quantum_ps);
}

/* @return how long the frames of a message that were sent at least once took on the wire of its NIC, each once */
static uint64_t
wire_ps(const struct rc_send *s, const struct roce_params *params, const struct rc_post *post)
{
	uint32_t end = (int32_t)(s->max - post->end) < 0 ? s->max : post->end, sent = end - post->first;
	uint64_t ps;

	if ((int32_t)sent <= 0)
		return 0;
	ps = frame_ps(s, params, post->first_frame_bytes);
	if (post->end - post->first > 1 && end == post->end)
		ps += frame_ps(s, params, post->last_frame_bytes) + (sent - 2) * frame_ps(s, params, params->middle_bytes);
	else
		ps += (sent - 1) * frame_ps(s, params, params->middle_bytes);
	return ps;
}

struct send_times
rc_send_times(const struct rc_send *s, const struct roce_params *params, const struct ledger *ledger, uint64_t now_ps)
{
	const struct rc_post *post = s->head != s->tail ? rc_messages_at(s, s->head) : NULL;
	struct send_times times = { .rtt = s->rtt, .waited_ps = s->waited_ps, .naks = post != NULL ? post->naks : 0 };

	if (!ledger->on || post == NULL)
		return times;
	memcpy(times.ledger_ps, ledger->ps, sizeof(times.ledger_ps));
	times.ledger_ps[LEDGER_WIRE] += wire_ps(s, params, post);
	/* a frame that has not left yet, or a wait for the receiver that has not ended */
	if (ledger->until_ps > now_ps)
		ledger_give_back(times.ledger_ps, s->rnr_until_ps > now_ps ? LEDGER_PEER : LEDGER_WIRE,
				 ledger->until_ps - now_ps);
	return times;
}

/* Does the congestion control make the window smaller than configured? */
static bool
cc_cuts_window(const struct rc_send *s)
{
	return s->window_bytes < (s->window_line_bytes != 0 ? s->window_line_bytes : UINT32_MAX / 2);
}

static void
charge_closed(const struct rc_send *s, struct ledger *ledger, uint64_t to_ps)
{
	if (cc_cuts_window(s))
		ledger_charge(ledger, LEDGER_PACED, to_ps);
	else
		ledger_closed(ledger, s->last_rtt_ps, to_ps);
}

void
rc_send_account(const struct rc_send *s, struct ledger *ledger, uint64_t ready_ps, uint64_t now_ps)
{
	ledger_charge(ledger, LEDGER_PACED, min_u64(s->next_ps, now_ps));
	charge_closed(s, ledger, min_u64(ready_ps, now_ps));
}

void
rc_send_account_idle(const struct rc_send *s, const struct roce_params *params, struct ledger *ledger, uint64_t now_ps)
{
	if (s->head == s->tail)
		return;
	if (rc_send_waits(s) == RC_SEND_ACKS)
		ledger_tail(ledger, frame_ps(s, params, rc_messages_at(s, s->head)->last_frame_bytes), now_ps);
	else
		rc_send_account(s, ledger, now_ps, now_ps);
}

void
rc_send_account_loss(struct rc_send *s, enum rc_send_wait wait, enum ledger_entry reason, uint64_t now_ps)
{
	if (wait == RC_SEND_ROOM)
		charge_closed(s, &s->ledger, now_ps);
	ledger_lost(&s->ledger, reason, true);
	if (wait == RC_SEND_ACKS)
		ledger_charge_again(&s->ledger, now_ps);
}

/* The message is acknowledged. A frame that still leaves was sent again for nothing, and is the port's time alone. */
static void
close_ledger(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	const struct rc_post *post = rc_messages_at(s, s->head);
	struct ledger *l = &s->ledger;

	ledger_tail(l, frame_ps(s, params, post->last_frame_bytes), now_ps);
	if (l->until_ps > now_ps)
		ledger_give_back(l->ps, (enum ledger_entry)l->leaving, l->until_ps - now_ps);
	l->until_ps = now_ps;
}

void
rc_send_stalled(struct rc_send *s, uint64_t now_ps)
{
	enum rc_send_wait wait = rc_send_waits(s);
	struct ledger *l = &s->ledger;

	if (wait == RC_SEND_ROOM)
		charge_closed(s, l, min_u64(s->rto_base_ps, now_ps));
	l->full = wait == RC_SEND_ROOM;
	if (s->retries == 0)
		l->first_ps = s->rto_base_ps;
	/*
	 * After further timeouts an ACK may be a later copy's, but not within an idle round trip of the first. Where the
	 * timer was too short before, ACKs of what was sent again then are still to arrive.
	 */
	if (s->retries == 0 ? l->again != LEDGER_TIMEOUT || !l->early
			    : !l->once || now_ps - l->first_ps >= l->there_ps + l->back_ps)
		ledger_lost(l, LEDGER_TIMEOUT, s->retries == 0);
	if (wait != RC_SEND_PORT)
		ledger_charge_again(l, now_ps);
}

void
rc_send_ack_again(struct rc_send *s, const struct roce_params *params, uint32_t seq, uint64_t now_ps)
{
	uint64_t base_ps = s->ledger.there_ps + s->ledger.back_ps;
	bool again = (int32_t)(seq - s->nxt) < 0, full = seq + 1 != s->ack_end;
	uint32_t resent = (int32_t)(s->nxt - s->sample_from) < 0 ? s->nxt : s->sample_from; /* the first that was not yet */
	double share = again ? (double)(seq + 1 - s->una) / (double)(resent - s->una) : 1;
	struct ledger *l = &s->ledger;

	if (!l->once || (again && (!full || now_ps - s->sent_ps[seq & s->sent_mask] >= base_ps)))
		return;
	if (l->again == LEDGER_NAK)
		ledger_overtaken(l);
	if (l->again != LEDGER_TIMEOUT || l->trial_ps + l->stood_ps == 0)
		return;
	/* others behind may be lost: a duplicate made the receiver acknowledge what it had gathered for one ACK */
	ledger_spurious(l, LEDGER_EARLY, (uint64_t)(share * (double)l->trial_ps));
	if (seq + 1 == s->sample_from)
		ledger_waited(l, frame_ps(s, params, rc_messages_at(s, s->head)->last_frame_bytes));
}

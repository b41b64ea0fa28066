/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/roce/rc_send.h"

#include <errno.h>
#include <stdlib.h>

#include "common/units.h"
#include "common/wire/roce.h"
#include "rxe-hosts/roce/selective.h"

static void go_back(struct rc_send *s, uint64_t now_ps);
static void apply_rate(struct rc_send *s, const struct roce_params *params);

static void rc_messages_load(struct rc_send *s);
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
		.sent_mask = slots - 1,
		.line_bps = config->line_bps,
		.paced = { units_serialize_ps(params->middle_bytes, config->line_bps, params->quantum_ps), 0,
			   config->first_psn },
		.window_line_bytes = config->window_bytes,
	};
	s->sent_ps = calloc(slots, sizeof(*s->sent_ps));
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
}

void
rc_send_reset(struct rc_send *s, const struct roce_params *params)
{
	cc_reset(&s->cc, &params->cc, s->line_bps);
	s->next_ps = 0;
	s->last_rtt_ps = 0;
	apply_rate(s, params);
}

void
rc_send_new_rate(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	cc_advance(&s->cc, &params->cc, now_ps);
	apply_rate(s, params);
}

void
rc_send_congested(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	cc_marked(&s->cc, &params->cc, now_ps);
	apply_rate(s, params);
}

void
rc_send_received(struct rc_send *s, const struct roce_params *params, const struct cc_ack *ack)
{
	params->cc.ops->acked(&s->cc, &params->cc, ack);
	apply_rate(s, params);
}

void
rc_send_lost(struct rc_send *s, const struct roce_params *params, enum cc_loss loss, uint64_t now_ps)
{
	if (params->cc.ops->lost == NULL)
		return;
	params->cc.ops->lost(&s->cc, &params->cc, loss, now_ps);
	apply_rate(s, params);
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
		/* What was about to be sent again has arrived after all. */
		paced_sum_up(&s->paced, s->nxt, s->gap_ps, una);
		s->nxt = una;
		s->nxt_byte = s->una_byte;
		rc_messages_seek(s);
	}
}

bool
rc_send_nak(struct rc_send *s, const struct roce_params *params, uint32_t psn, uint64_t now_ps)
{
	int32_t acked = psn_diff(psn, s->una);
	uint64_t rtt_ps;
	bool advanced;

	if (acked < 0 || (uint32_t)acked >= s->max - s->una)
		return false; /* stale: repaired since, or of no packet we sent */
	s->naks++;
	advanced = rc_send_ack(s, params, psn - 1, now_ps, &rtt_ps);
	go_back(s, now_ps);
	rc_messages_at(s, s->cursor)->naks++; /* the one with the missing packet */
	rc_send_lost(s, params, CC_LOSS_NAK, now_ps);
	return advanced;
}

bool
rc_send_rnr(struct rc_send *s, const struct roce_params *params, uint32_t psn, uint64_t now_ps)
{
	int32_t acked = psn_diff(psn, s->una);
	uint64_t rtt_ps;

	if (acked < 0 || (uint32_t)acked >= s->max - s->una)
		return true;
	s->rnr_naks++;
	rc_send_ack(s, params, psn - 1, now_ps, &rtt_ps);
	if (params->rnr_retry != ROCE_RNR_UNLIMITED && s->rnr_retries++ >= params->rnr_retry)
		return false;
	s->stalled_ps += params->rnr_delay_ps;
	go_back(s, now_ps + params->rnr_delay_ps);
	s->next_ps = now_ps + params->rnr_delay_ps;
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
	paced_sum_up(&s->paced, s->nxt, s->gap_ps, s->una);
	s->nxt = s->una;
	s->nxt_byte = s->una_byte;
	s->sample_from = s->max;
	s->rto_base_ps = now_ps;
	rc_messages_seek(s);
}

/*
 * Gap and window at the present rate. In-flight bytes stay below window x rate / line rate, and the control's own
 * window.
 */
static void
apply_rate(struct rc_send *s, const struct roce_params *params)
{
	uint64_t window = s->window_line_bytes;

	paced_sum_up(&s->paced, s->nxt, s->gap_ps, s->nxt);
	s->cc_due_ps = s->cc.due_ps;
	s->gap_ps = units_serialize_ps(params->middle_bytes, s->cc.rate_bps, params->quantum_ps);
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
	s->stalled_ps += now_ps - s->rto_base_ps;
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

int
rc_send_post(struct rc_send *s, const struct roce_params *params, const struct rc_work *work)
{
	uint32_t mtu = params->mtu_bytes, slot = s->tail % MSG_SLOTS;
	uint64_t packets = (work->bytes + mtu - 1) / mtu;

	if (s->error)
		return -EBUSY;
	if (s->tail - s->head == MSG_SLOTS)
		return -ENOSPC;
	if (work->bytes == 0 || packets >= 1u << 31)
		return -EINVAL;
	if (work->send && params->any_order)
		return -ENOTSUP;

	uint32_t first = s->tail == s->head ? s->una : rc_messages_at(s, s->tail - 1)->end;
	uint32_t last_bytes = (uint32_t)(work->bytes - (packets - 1) * mtu);

	s->posts[slot] = (struct rc_post){
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
take_oldest(struct rc_send *s, struct rc_post *post)
{
	*post = *rc_messages_at(s, s->head++);
	post->times = rc_send_times(s);
	post->times.naks = post->naks;
	forget_message(s);
}

bool
rc_send_pop(struct rc_send *s, struct rc_post *post)
{
	if (s->head == s->tail || (int32_t)(s->una - s->ack_end) < 0)
		return false;
	take_oldest(s, post);
	if ((int32_t)(s->una - s->sample_from) > 0)
		s->sample_from = s->una; /* never falls 2^31 behind */
	if (s->head != s->tail)
		s->ack_end = rc_messages_at(s, s->head)->end;
	return true;
}

bool
rc_send_flush(struct rc_send *s, const struct roce_params *params, struct rc_post *post, uint64_t *acked_bytes)
{
	if (s->head == s->tail)
		return false;
	*acked_bytes = rc_send_acked_bytes(s, params);
	take_oldest(s, post);
	return true;
}

const struct rc_post *
rc_send_message(const struct rc_send *s, const struct pkt *p)
{
	const struct rc_post *post = &s->posts[p->message % MSG_SLOTS];
	uint32_t ahead = (p->psn - post->first) & PSN_MASK;

	return ahead < post->end - post->first ? post : NULL; /* nothing was posted: both are 0 */
}

uint64_t
rc_send_acked_bytes(const struct rc_send *s, const struct roce_params *params)
{
	const struct rc_post *post = &s->posts[s->head % MSG_SLOTS];

	if (s->head == s->tail || (int32_t)(s->una - post->first) <= 0)
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
		const struct rc_post *post = &s->posts[i % MSG_SLOTS];

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
		if (seq + 1 == s->posts[i % MSG_SLOTS].end)
			return s->posts[i % MSG_SLOTS].last_payload_bytes;
	return params->mtu_bytes;
}

/* Another message becomes the oldest. */
static void
forget_message(struct rc_send *s)
{
	s->last_rtt_ps = 0;
	s->rtt = (struct rtt_sum){ 0 };
	s->paced.sum_ps = 0;
	s->paced.next = s->nxt;
	s->stalled_ps = s->waited_ps = 0;
}

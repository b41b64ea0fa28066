/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that a sender has open: posting, finding, and giving them back. */
#include "rxe-hosts/roce/rc_messages.h"

#include <errno.h>

#include "rxe-hosts/roce/sel_send.h"

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

void
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

uint64_t
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

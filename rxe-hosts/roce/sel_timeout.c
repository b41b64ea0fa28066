/* SPDX-License-Identifier: BSD-3-Clause */
/* Selective repeat: when nothing comes, and the transport's row. */
#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/units.h"
#include "rxe-hosts/roce/sel_inside.h"

#define MAX_DOUBLINGS 16

static uint32_t
span(const struct roce_params *params, uint32_t window_packets)
{
	uint64_t packets = (uint64_t)window_packets * (uint64_t)params->selective.windows;

	return packets < ROCE_MAX_INFLIGHT ? (uint32_t)packets : ROCE_MAX_INFLIGHT;
}

static int
init(struct rc_send *s, const struct roce_params *params)
{
	uint64_t after_ps = params->selective.repeat_after_ps, base_ps = params->cc.base_rtt_ps;
	struct sel_send *sel = calloc(1, sizeof(*sel));

	s->sel = sel;
	if (sel == NULL)
		return -ENOMEM;
	sel->fresh = s->una;
	sel->judge_ps = after_ps;
	sel->timeout_ps = base_ps <= after_ps / 2 ? after_ps : base_ps + after_ps;
	while (sel->doublings < MAX_DOUBLINGS &&
	       (params->timeout_ps == 0 || sel->timeout_ps << sel->doublings < params->timeout_ps))
		sel->doublings++;
	sel->words = calloc((s->sent_mask + 1) / SEL_WORD_PACKETS, sizeof(*sel->words));
	return sel->words != NULL ? 0 : -ENOMEM;
}

/* How long nothing may come: doubled each time up to host.timeout; from there on as in go-back-N. */
static uint64_t
wait_ps(const struct rc_send *s, const struct roce_params *params)
{
	const struct sel_send *sel = s->sel;
	uint32_t more;

	if (s->retries < sel->doublings || params->timeout_ps == 0)
		return sel->timeout_ps << (s->retries < sel->doublings ? s->retries : sel->doublings);
	more = s->retries - sel->doublings;
	return max_u64(params->timeout_ps, sel->timeout_ps)
	       << (more < params->timeout_doublings ? more : params->timeout_doublings);
}

/* When the oldest packet in flight was sent. @return TIME_NEVER: there is none */
static uint64_t
oldest_sent_ps(const struct rc_send *s)
{
	uint64_t oldest_ps = TIME_NEVER;

	for (uint32_t seq = s->una; seq != s->max; seq = next_word(seq, s->max)) {
		const struct sel_word *word = word_of(s, seq);

		for (uint64_t bits = bits_from(seq, s->max) & ~(word->acked | word->lost); bits != 0; bits &= bits - 1) {
			uint32_t at = seq_of(seq, bits);

			oldest_ps = min_u64(oldest_ps, s->sent_ps[at & s->sent_mask]);
			if ((int32_t)(at - s->sel->fresh) >= 0)
				return oldest_ps;
		}
	}
	return oldest_ps;
}

static uint64_t
deadline(const struct rc_send *s, const struct roce_params *params)
{
	uint64_t from_ps = s->rto_base_ps;

	if (s->nxt_byte == s->una_byte)
		return from_ps + wait_ps(s, params); /* nothing is in flight: timeout() sees to it */
	if (params->selective.timer == SEL_FIXED)
		from_ps = max_u64(oldest_sent_ps(s), s->sel->held_ps);
	else
		from_ps = max_u64(from_ps, max_u64(s->sent_ps[(s->max - 1) & s->sent_mask], s->sel->repeated_ps));
	return from_ps + wait_ps(s, params);
}

/* adaptive: the oldest packet is to be sent again; so many behind it are taken for lost as keep it from it by the window. */
static void
probe(struct rc_send *s, const struct roce_params *params)
{
	for (uint32_t seq = s->una; seq != s->max; seq++) {
		const struct sel_word *word = word_of(s, seq);

		if (seq != s->una && s->nxt_byte - s->una_byte < s->window_bytes)
			return;
		if ((word->acked | word->lost) & bit_of(seq))
			continue;
		sel_lose(s, params, seq);
		if ((int32_t)(seq - s->sel->fresh) >= 0)
			s->sel->fresh = seq + 1;
	}
}

/* Nothing has come for the timeout. @return false if retries are spent */
static bool
retry(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	s->stalled_ps += now_ps - s->rto_base_ps;
	s->rto_base_ps = now_ps;
	if (params->timeout_ps != 0 && s->retries >= s->sel->doublings + params->retry_count)
		return false;
	s->retries += s->retries != UINT16_MAX;
	if (params->selective.timer == SEL_FIXED)
		sel_lose_until(s, params, now_ps - s->sel->timeout_ps);
	else
		probe(s, params);
	return true;
}

static bool
timeout(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	uint64_t waited_ps = wait_ps(s, params);
	bool alive = true;

	if (s->nxt_byte == s->una_byte) {
		s->rto_base_ps = now_ps; /* what is lost still waits for the port: nothing could come */
		return true;
	}
	s->timeouts++;
	if (now_ps - s->rto_base_ps >= waited_ps)
		alive = retry(s, params, now_ps);
	else
		sel_lose_until(s, params, now_ps - waited_ps); /* fixed: others were acknowledged */
	if (!alive)
		return false;
	sel_aim(s);
	sel_note_waited(s, now_ps);
	rc_send_lost(s, params, CC_LOSS_TIMEOUT, now_ps);
	return true;
}

const struct transport_ops transport_selective = {
	.name = "selective",
	.any_order = true,
	.span = span,
	.init = init,
	.deadline = deadline,
	.timeout = timeout,
};

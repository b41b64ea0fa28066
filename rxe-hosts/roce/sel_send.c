/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/roce/sel_send.h"

#include <stdlib.h>

#include "common/minmax.h"
#include "common/units.h"
#include "rxe-hosts/roce/rc_messages.h"
#include "rxe-hosts/roce/sel_inside.h"

static inline uint32_t
payload_of(const struct rc_send *s, const struct roce_params *params, uint32_t seq)
{
	if (__builtin_expect((int32_t)(seq + 1 - s->ack_end) < 0, 1))
		return params->mtu_bytes;
	return rc_messages_payload(s, params, seq);
}

void
sel_aim(struct rc_send *s)
{
	uint32_t seq = s->una;

	while (s->sel->nlost != 0 && seq != s->max) {
		uint64_t lost = word_of(s, seq)->lost & bits_from(seq, s->max);

		if (lost != 0) {
			seq = seq_of(seq, lost);
			break;
		}
		seq = next_word(seq, s->max);
	}
	if (s->sel->nlost == 0)
		seq = s->max;
	if (seq == s->nxt)
		return;
	paced_sum_up(&s->paced, s->nxt, s->gap_ps, seq);
	s->nxt = seq;
	rc_messages_seek(s);
}

/* A packet is there, acknowledged or to be sent again: it is no longer taken for lost. */
static inline void
forget_loss(struct rc_send *s, uint32_t bytes)
{
	s->sel->nlost--;
	s->sel->lost_bytes -= bytes;
}

/* A packet that was not acknowledged is. */
static inline void
leave_flight(struct rc_send *s, const struct roce_params *params, uint32_t seq, const struct sel_word *word)
{
	uint32_t bytes = payload_of(s, params, seq);

	if (__builtin_expect((word->lost & bit_of(seq)) != 0, 0))
		forget_loss(s, bytes);
	else
		s->una_byte += bytes;
}

/* All before una is acknowledged. @return of it, how much was not before */
static uint32_t
advance(struct rc_send *s, const struct roce_params *params, uint32_t una)
{
	uint32_t count = 0;

	while (s->una != una) {
		struct sel_word *word = word_of(s, s->una);
		uint64_t range = bits_from(s->una, una), here = range & word->acked;

		for (uint64_t bits = range & ~word->acked; bits != 0; bits &= bits - 1, count++)
			leave_flight(s, params, seq_of(s->una, bits), word);
		s->sel->nacked -= (uint32_t)__builtin_popcountll(here);
		word->acked &= ~range;
		word->lost &= ~range;
		s->una = next_word(s->una, una);
	}
	if ((int32_t)(una - s->sel->fresh) > 0)
		s->sel->fresh = una;
	return count;
}

/*
 * Packets come so much later than others that were sent later. RACK widens its window by a quarter of the round trip time for
 * each round trip in which something came twice (RFC 8985, 6.2 step 4); where it is known by how much it was too short, it
 * is made as long at once, and a quarter longer.
 */
static void
widen(struct rc_send *s, const struct roce_params *params, uint64_t late_ps)
{
	uint64_t least_ps = params->selective.repeat_after_ps;

	s->sel->persist = SEL_PERSIST;
	if (late_ps > least_ps)
		s->sel->wider_ps = max_u64(s->sel->wider_ps, late_ps - least_ps + params->cc.base_rtt_ps / 4);
}

/* Packet seq, behind una, is acknowledged by itself. */
static void
take(struct rc_send *s, const struct roce_params *params, uint32_t seq)
{
	struct sel_word *word = word_of(s, seq);
	uint64_t sent_ps = s->sent_ps[seq & s->sent_mask];

	leave_flight(s, params, seq, word);
	if (__builtin_expect((word->lost & bit_of(seq)) != 0, 0) && s->sel->newest_ps > sent_ps)
		widen(s, params, s->sel->newest_ps - sent_ps); /* before it was sent again */
	word->lost &= ~bit_of(seq);
	word->acked |= bit_of(seq);
	s->sel->nacked++;
}

/*
 * What the ACK of a packet says of time, before it is taken. Of one that was sent again nobody knows which time is
 * acknowledged (Karn), but for an answer sooner than any can be.
 */
static inline void
sample(struct rc_send *s, const struct roce_params *params, uint32_t seq, uint64_t now_ps, uint64_t *rtt_ps)
{
	uint64_t sent_ps = s->sent_ps[seq & s->sent_mask];

	if ((int32_t)(seq - s->sel->fresh) >= 0) {
		*rtt_ps = s->last_rtt_ps = now_ps - sent_ps;
		s->sel->smooth_ps =
			s->sel->smooth_ps == 0 ? *rtt_ps : s->sel->smooth_ps - s->sel->smooth_ps / 8 + *rtt_ps / 8;
		if ((int32_t)(seq - s->ack_end) < 0)
			rtt_sum_add(&s->rtt, *rtt_ps);
	} else if (now_ps - sent_ps < params->cc.base_rtt_ps) {
		return;
	}
	s->sel->newest_ps = max_u64(s->sel->newest_ps, sent_ps);
}

void
sel_lose(struct rc_send *s, const struct roce_params *params, uint32_t seq)
{
	uint32_t bytes = payload_of(s, params, seq);

	word_of(s, seq)->lost |= bit_of(seq);
	s->sel->lost_sent_ps = max_u64(s->sel->lost_sent_ps, s->sent_ps[seq & s->sent_mask] + 1);
	s->sel->again[seq % SEL_AGAIN] = (struct sel_again){ .sent_ps = s->sent_ps[seq & s->sent_mask], .seq = seq };
	s->sel->nlost++;
	s->sel->lost_bytes += bytes;
	s->una_byte += bytes;
}

void
sel_note_waited(struct rc_send *s, uint64_t now_ps)
{
	if (s->sel->lost_sent_ps != 0)
		rc_send_waited(s, now_ps + 1 - s->sel->lost_sent_ps);
	s->sel->lost_sent_ps = 0;
}

/* Of the packets in flight from seq on but before end, those sent at horizon_ps or before. @param oldest_ps  of the others */
static void
lose_repeated(struct rc_send *s, const struct roce_params *params, uint64_t horizon_ps, uint64_t *oldest_ps)
{
	for (uint32_t seq = s->una; seq != s->sel->fresh; seq = next_word(seq, s->sel->fresh)) {
		const struct sel_word *word = word_of(s, seq);

		for (uint64_t bits = bits_from(seq, s->sel->fresh) & ~(word->acked | word->lost); bits != 0;
		     bits &= bits - 1) {
			uint32_t at = seq_of(seq, bits);
			uint64_t sent_ps = s->sent_ps[at & s->sent_mask];

			if (sent_ps <= horizon_ps)
				sel_lose(s, params, at);
			else
				*oldest_ps = min_u64(*oldest_ps, sent_ps);
		}
	}
}

/* Moves fresh on to the next packet in flight. @return false: there is none */
static bool
find_fresh(struct rc_send *s)
{
	while (s->sel->fresh != s->max) {
		uint64_t open = bits_from(s->sel->fresh, s->max) & ~word_of(s, s->sel->fresh)->acked;

		if (open != 0) {
			s->sel->fresh = seq_of(s->sel->fresh, open);
			return true;
		}
		s->sel->fresh = next_word(s->sel->fresh, s->max);
	}
	return false;
}

uint64_t
sel_lose_until(struct rc_send *s, const struct roce_params *params, uint64_t horizon_ps)
{
	uint64_t oldest_ps = TIME_NEVER;

	lose_repeated(s, params, horizon_ps, &oldest_ps);
	while (find_fresh(s)) {
		uint64_t sent_ps = s->sent_ps[s->sel->fresh & s->sent_mask];

		if (sent_ps > horizon_ps)
			return min_u64(oldest_ps, sent_ps);
		sel_lose(s, params, s->sel->fresh++);
	}
	return oldest_ps;
}

/* An ACK of a packet by itself: the second one says that it was sent again in vain. */
static void
note_again(struct rc_send *s, const struct roce_params *params, uint32_t seq)
{
	struct sel_again *again = &s->sel->again[seq % SEL_AGAIN];

	if (again->sent_ps == 0 || again->seq != seq)
		return;
	if (again->acks++ == 0) {
		again->late_ps = s->sel->newest_ps > again->sent_ps ? s->sel->newest_ps - again->sent_ps : 0;
		return;
	}
	again->sent_ps = 0;
	widen(s, params, again->late_ps);
}

/* All that was sent when a packet was taken for lost has come. */
static void
recover(struct rc_send *s)
{
	s->sel->recovering = false;
	if (s->sel->persist != 0 && --s->sel->persist == 0)
		s->sel->wider_ps = 0;
}

/* adaptive: packets sent so much later than others are acknowledged. */
static void
judge(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	uint64_t least_ps = params->selective.repeat_after_ps, oldest_ps;
	uint64_t after_ps = max_u64(least_ps, min_u64(least_ps + s->sel->wider_ps, s->sel->smooth_ps));
	uint32_t nlost = s->sel->nlost;

	oldest_ps = sel_lose_until(s, params, s->sel->newest_ps - after_ps);
	s->sel->judge_ps = min_u64(oldest_ps, now_ps) + after_ps;
	if (s->sel->nlost == nlost)
		return;
	if (!s->sel->recovering) {
		s->sel->recovering = true;
		s->sel->recovery = s->max;
	}
	sel_note_waited(s, now_ps);
	rc_send_lost(s, params, CC_LOSS_NAK, now_ps);
}

/* Those before packet seq that have come, of which no ACK told, or of which it was lost. @return how many */
static uint32_t
take_before(struct rc_send *s, const struct roce_params *params, uint32_t seq, uint8_t syndrome)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < AETH_ACK_BEFORE; i++) {
		uint32_t at = seq - AETH_ACK_BEFORE + i;

		if (!(syndrome >> i & 1) || (int32_t)(at - s->una) < 0 || (word_of(s, at)->acked & bit_of(at)))
			continue;
		take(s, params, at);
		count++;
	}
	return count;
}

/* @return packets newly acknowledged */
static inline uint32_t
note_ack(struct rc_send *s, const struct roce_params *params, const struct pkt *p, uint64_t now_ps, uint64_t *rtt_ps)
{
	uint32_t ahead = (uint32_t)psn_diff(p->psn, s->una), seq = s->una + ahead, sent = s->max - s->una;
	uint32_t advanced = (uint32_t)psn_diff(p->arg, s->una), count = 0;
	bool open = ahead < sent && !(word_of(s, seq)->acked & bit_of(seq));

	if (open)
		sample(s, params, seq, now_ps, rtt_ps);
	if (advanced - 1 < sent)
		count = advance(s, params, s->una + advanced);
	if (ahead >= sent || (int32_t)(seq - s->una) < 0)
		return count;
	if (open) {
		take(s, params, seq);
		count++;
	}
	return count + take_before(s, params, seq, p->syndrome);
}

uint32_t
sel_send_ack(struct rc_send *s, const struct roce_params *params, const struct pkt *p, uint64_t now_ps, uint64_t *rtt_ps)
{
	uint32_t count;

	*rtt_ps = 0;
	if (__builtin_expect(s->sel->repeated_ps != 0, 0))
		note_again(s, params, s->una + (uint32_t)psn_diff(p->psn, s->una));
	count = note_ack(s, params, p, now_ps, rtt_ps);
	if (count == 0)
		return 0;
	s->rto_base_ps = now_ps;
	s->retries = 0;
	if (__builtin_expect(s->sel->recovering && (int32_t)(s->una - s->sel->recovery) >= 0, 0))
		recover(s);
	if (__builtin_expect(params->selective.timer == SEL_ADAPTIVE && s->sel->newest_ps >= s->sel->judge_ps, 0))
		judge(s, params, now_ps);
	if (__builtin_expect(s->nxt != s->max || s->sel->nlost != 0, 0))
		sel_aim(s);
	return count;
}

void
sel_send_repeated(struct rc_send *s, const struct roce_params *params, uint32_t seq, struct pkt *p)
{
	struct sel_word *word = word_of(s, seq);

	word->lost &= ~bit_of(seq);
	forget_loss(s, payload_of(s, params, seq));
	s->sel->repeated_ps = s->sent_ps[seq & s->sent_mask];
	p->flags |= PKT_ACKREQ;
	sel_aim(s);
}

uint32_t
sel_send_waiting(const struct rc_send *s)
{
	return s->max - s->una - s->sel->nacked;
}

void
sel_send_fini(struct rc_send *s)
{
	free(s->sel->words);
	free(s->sel);
	s->sel = NULL;
}

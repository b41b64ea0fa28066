/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/roce/selective.h"

#include <errno.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/roce.h"
#include "rxe-hosts/roce/rc_send.h"

/* The bitmap words of a selective sender, and its lost packets. */

static inline struct sel_word *
word_of(const struct rc_send *s, uint32_t seq)
{
	return &s->sel->words[(seq & s->sent_mask) / SEL_WORD_PACKETS];
}

static inline uint64_t
bit_of(uint32_t seq)
{
	return 1ULL << (seq % SEL_WORD_PACKETS);
}

/* @return bits of seq's word from seq on, but not from end on */
static inline uint64_t
bits_from(uint32_t seq, uint32_t end)
{
	uint32_t at = seq % SEL_WORD_PACKETS, count = end - seq;

	return (count < SEL_WORD_PACKETS - at ? (1ULL << count) - 1 : ~0ULL >> at) << at;
}

/* @return where the word behind seq's begins, or end */
static inline uint32_t
next_word(uint32_t seq, uint32_t end)
{
	uint32_t next = (seq | (SEL_WORD_PACKETS - 1)) + 1;

	return next - seq < end - seq ? next : end;
}

/* The sequence number of a bit in seq's word. */
static inline uint32_t
seq_of(uint32_t seq, uint64_t bits)
{
	return (seq & ~(uint32_t)(SEL_WORD_PACKETS - 1)) + (uint32_t)__builtin_ctzll(bits);
}

static inline uint32_t
payload_of(const struct rc_send *s, const struct roce_params *params, uint32_t seq)
{
	if (__builtin_expect((int32_t)(seq + 1 - s->ack_end) < 0, 1))
		return params->mtu_bytes;
	return rc_messages_payload(s, params, seq);
}

/* nxt becomes the first packet to be sent again, or the first that was never sent. */
static void
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

/* All packets before una are acknowledged. @return number of them that were not acknowledged yet */
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
 * Packets arrive this much later than others that were sent later. RACK widens its window by a quarter of the round
 * trip time for each round trip with a duplicate (RFC 8985, 6.2 step 4). Where the shortfall is known, the window grows
 * by it at once, and by a quarter more.
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
 * Timing information of a packet's ACK, before the ACK is taken. After a retransmission it is ambiguous which copy is
 * acknowledged (Karn), except for a response earlier than any can be.
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

/* A packet in flight is taken for lost. */
static void
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

/* How long the last of the packets waited that were marked as lost since the last call. */
static void
sel_note_waited(struct rc_send *s, uint64_t now_ps)
{
	if (s->sel->lost_sent_ps != 0)
		rc_send_waited(s, now_ps + 1 - s->sel->lost_sent_ps);
	s->sel->lost_sent_ps = 0;
}

/* Packets in flight from seq to before end that were sent at horizon_ps or earlier. @param oldest_ps  of the others */
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

/*
 * Marks packets in flight that were sent at horizon_ps or earlier as lost. Packets that were sent once left in the
 * order of their numbers.
 * @return when the oldest of the others was sent; TIME_NEVER: there are none
 */
static uint64_t
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

/* An ACK of a packet by itself: a second ACK shows that the retransmission was spurious. */
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
	ledger_spurious(&s->ledger, s->ledger.again == LEDGER_TIMEOUT ? LEDGER_EARLY : LEDGER_REORDERED, s->gap_ps);
	if (s->ledger.again == LEDGER_NAK && s->ledger.trial_ps == 0)
		ledger_overtaken(&s->ledger);
	widen(s, params, again->late_ps);
}

/* All packets sent before a packet was marked as lost have arrived. */
static void
recover(struct rc_send *s)
{
	s->sel->recovering = false;
	if (s->sel->persist != 0 && --s->sel->persist == 0)
		s->sel->wider_ps = 0;
}

/* adaptive: packets sent this much later than others are acknowledged. */
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
	rc_send_account_loss(s, rc_send_waits(s), LEDGER_NAK, now_ps);
	if (!s->sel->recovering) {
		s->sel->recovering = true;
		s->sel->recovery = s->max;
	}
	sel_note_waited(s, now_ps);
	rc_send_lost(s, params, CC_LOSS_NAK, now_ps);
}

/* Packets before seq that have arrived without an ACK, or whose ACK was lost. @return their number */
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

/* Selective repeat: the timeout without ACKs, and the transport's row. */

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

/* The timeout without ACKs: doubled each time up to host.timeout; from there on as in go-back-N. */
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

/* adaptive: the oldest packet is sent again; packets behind it are marked as lost until the window has room for it. */
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

/* No ACK arrived for the timeout. @return false if retries are spent */
static bool
retry(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	rc_send_stalled(s, now_ps);
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

static void
lose_late(struct rc_send *s, const struct roce_params *params, uint64_t waited_ps, uint64_t now_ps)
{
	rc_send_account_loss(s, rc_send_waits(s), LEDGER_TIMEOUT, now_ps);
	sel_lose_until(s, params, now_ps - waited_ps);
}

static bool
timeout(struct rc_send *s, const struct roce_params *params, uint64_t now_ps)
{
	uint64_t waited_ps = wait_ps(s, params);
	bool alive = true;

	if (s->nxt_byte == s->una_byte) {
		s->rto_base_ps = now_ps; /* lost packets still wait for the port: no ACK is possible */
		return true;
	}
	s->timeouts++;
	if (now_ps - s->rto_base_ps >= waited_ps)
		alive = retry(s, params, now_ps);
	else
		lose_late(s, params, waited_ps, now_ps); /* fixed: others were acknowledged */
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

/* The receiver. */

#define WORD_PACKETS 64
#define BEFORE_BITS ((1 << AETH_ACK_BEFORE) - 1)

struct sel_recv *
sel_recv_create(uint32_t span)
{
	struct sel_recv *sel = calloc(1, sizeof(*sel));

	if (sel == NULL)
		return NULL;
	sel->mask = span - 1;
	sel->received = calloc(span / WORD_PACKETS, sizeof(*sel->received));
	if (sel->received != NULL)
		return sel;
	free(sel);
	return NULL;
}

void
sel_recv_destroy(struct sel_recv *sel)
{
	if (sel != NULL)
		free(sel->received);
	free(sel);
}

/* The expected packet is here, with all packets that arrived early and follow it in order. */
static void
advance_receiver(struct rc_recv *r, struct sel_recv *sel)
{
	r->expected = (r->expected + 1) & PSN_MASK;
	sel->count++;
	while (sel->ahead != 0) {
		uint64_t *word = &sel->received[(r->expected & sel->mask) / WORD_PACKETS];
		uint32_t at = r->expected % WORD_PACKETS, run;
		uint64_t missing = ~(*word >> at);

		run = missing != 0 ? (uint32_t)__builtin_ctzll(missing) : WORD_PACKETS;
		if (run == 0)
			return;
		*word &= ~((run < WORD_PACKETS ? (1ULL << run) - 1 : ~0ULL) << at);
		sel->ahead -= run;
		sel->count += run;
		r->expected = (r->expected + run) & PSN_MASK;
	}
}

static void
note_last(struct sel_recv *sel, const struct pkt *p, uint32_t ahead)
{
	sel->lasts[p->message % SEL_MESSAGES] = (struct sel_last){
		.end = sel->count + ahead + 1,
		.imm = p->arg,
		.payload_bytes = p->payload_bytes,
		.received = true,
	};
}

/* A sender sends every number for the first time in order; so must they arrive where the network keeps order. */
static inline uint32_t
note_order(struct rc_recv *r, const struct pkt *p)
{
	if (p->flags & PKT_RETRANSMIT)
		return 0;
	if (psn_diff(p->psn, r->seen) < 0)
		return RC_REORDERED;
	r->seen = (p->psn + 1) & PSN_MASK;
	return 0;
}

/* Keeps a packet behind the expected one. @return false: a duplicate, or invalid; *reply has the response */
static bool
keep(struct rc_recv *r, struct sel_recv *sel, const struct pkt *p, uint32_t ahead, uint32_t *reply)
{
	uint64_t *word = &sel->received[(p->psn & sel->mask) / WORD_PACKETS], bit = 1ULL << p->psn % WORD_PACKETS;

	if (ahead > sel->mask) {
		r->stale++;
		*reply &= ~(uint32_t)RC_ACK;
		return false;
	}
	if (*word & bit) {
		r->duplicates++;
		return false;
	}
	*word |= bit;
	sel->ahead++;
	sel->early++;
	return true;
}

static bool
is_complete(const struct rc_recv *r, const struct sel_recv *sel)
{
	const struct sel_last *last = &sel->lasts[r->msn % SEL_MESSAGES];

	return last->received && sel->count >= last->end;
}

uint32_t
sel_recv_data(struct rc_recv *r, struct sel_recv *sel, const struct roce_params *params, const struct pkt *p,
	      uint64_t now_ps)
{
	int32_t ahead = psn_diff(p->psn, r->expected);
	uint32_t reply = RC_ACK | note_order(r, p);
	bool missing = sel->ahead != 0;

	if (__builtin_expect((p->flags & PKT_CE) != 0, 0))
		reply |= rc_recv_marked(r, params, now_ps);
	if (ahead < 0) {
		r->duplicates++;
		return reply;
	}
	if (ahead > 0 && !keep(r, sel, p, (uint32_t)ahead, &reply))
		return reply;
	if (p->flags & PKT_LAST)
		note_last(sel, p, (uint32_t)ahead);
	if (ahead == 0)
		advance_receiver(r, sel);
	if (!missing && ahead == 0 && ++r->unacked < params->ack_every && !(p->flags & PKT_ACKREQ))
		reply &= ~(uint32_t)RC_ACK; /* all arrived packets precede the expected one: the next ACK has them */
	return reply | RC_ACCEPTED | (is_complete(r, sel) ? RC_COMPLETE : 0);
}

uint8_t
sel_recv_syndrome(const struct rc_recv *r, const struct sel_recv *sel, uint32_t psn)
{
	int32_t ahead = psn_diff(psn, r->expected);
	uint32_t at = psn % WORD_PACKETS, word = (psn & sel->mask) / WORD_PACKETS;
	uint32_t words = sel->mask / WORD_PACKETS; /* less one */
	uint64_t before;

	if (ahead <= 0)
		return AETH_ACK_SELECTIVE | BEFORE_BITS;
	if (at >= AETH_ACK_BEFORE)
		before = sel->received[word] >> (at - AETH_ACK_BEFORE);
	else
		before = sel->received[word] << (AETH_ACK_BEFORE - at) |
			 sel->received[(word - 1) & words] >> (WORD_PACKETS - (AETH_ACK_BEFORE - at));
	if (ahead < AETH_ACK_BEFORE)
		before |= (1ULL << (AETH_ACK_BEFORE - ahead)) - 1;
	return AETH_ACK_SELECTIVE | (uint8_t)(before & BEFORE_BITS);
}

bool
sel_recv_pop(struct rc_recv *r, struct sel_recv *sel, const struct roce_params *params)
{
	struct sel_last *last = &sel->lasts[r->msn % SEL_MESSAGES];

	if (!is_complete(r, sel))
		return false;
	r->imm = last->imm;
	r->done_bytes = (last->end - sel->first - 1) * params->mtu_bytes + last->payload_bytes;
	last->received = false;
	sel->first = last->end;
	r->msn = (r->msn + 1) & PSN_MASK;
	return true;
}

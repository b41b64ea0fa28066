/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sender's ledger of a QP (common/wire/ledger.h): every moment from a message's start to its last ACK has one entry.
 * Time is accounted up to until_ps, and each charge begins there, so that entries are disjoint. Between its frames a QP
 * waits for its own pacing first, then for its window, then for its NIC. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/wire/ledger.h"

struct ledger {
	uint64_t until_ps;           /* accounted up to then; a frame that is leaving: up to its end */
	uint64_t there_ps, back_ps;  /* of an idle path: to the receiver, a full frame; its ACK; 0: not known */
	uint64_t trial_ps, stood_ps; /* charged to again since the last loss: frames sent again, and the wait before */
	uint64_t slow_seen_ps;       /* slow_ps of its NIC, up to which it is accounted */
	uint64_t ps[LEDGER_ENTRIES]; /* of LEDGER_WIRE, what does not follow from the frames at the line's rate */
	uint64_t first_ps;           /* without an ACK since then, at the first of several timeouts */
	uint8_t again;               /* enum ledger_entry of frames sent again */
	uint8_t leaving;             /* the one that has the last of these: it may still leave */
	bool once;                   /* what is sent again was sent once: an early ACK is the first copy's */
	bool early;                  /* some of what was sent again since had arrived */
	bool full;                   /* the wait stood_ps was for room in the window: not all had been sent */
	bool on;
};

/* A message begins on an idle QP. */
static inline void
ledger_begin(struct ledger *l, uint64_t there_ps, uint64_t back_ps, uint64_t slow_ps, uint64_t now_ps)
{
	*l = (struct ledger){ .until_ps = now_ps,
			      .there_ps = there_ps,
			      .back_ps = back_ps,
			      .slow_seen_ps = slow_ps,
			      .again = LEDGER_NAK,
			      .leaving = LEDGER_NAK,
			      .on = l->on };
}

/* Another message becomes the oldest: the time from now on is its own. */
static inline void
ledger_next(struct ledger *l)
{
	memset(l->ps, 0, sizeof(l->ps));
	l->trial_ps = l->stood_ps = 0;
}

/* The time up to to_ps that has no entry yet. */
static inline void
ledger_charge(struct ledger *l, enum ledger_entry entry, uint64_t to_ps)
{
	if (to_ps <= l->until_ps)
		return;
	l->ps[entry] += to_ps - l->until_ps;
	l->until_ps = to_ps;
}

/*
 * ledger_charge() for time with a full window: up to the round trip of an idle path to LEDGER_WINDOW, the rest to
 * LEDGER_LATE. @param rtt_ps  of the last ACK; 0: not known
 */
static inline void
ledger_closed(struct ledger *l, uint64_t rtt_ps, uint64_t to_ps)
{
	uint64_t base_ps = l->there_ps + l->back_ps, closed_ps = to_ps > l->until_ps ? to_ps - l->until_ps : 0;
	uint64_t late_ps = base_ps != 0 && rtt_ps > base_ps ? min_u64(closed_ps, rtt_ps - base_ps) : 0;

	ledger_charge(l, LEDGER_WINDOW, to_ps - min_u64(late_ps, to_ps));
	ledger_charge(l, LEDGER_LATE, to_ps);
}

/*
 * ledger_charge() for the time after the message's last frame, which took frame_ps on the wire. The idle path is
 * charged once.
 */
static inline void
ledger_tail(struct ledger *l, uint64_t frame_ps, uint64_t to_ps)
{
	uint64_t there_ps = l->there_ps - min_u64(l->there_ps, frame_ps + l->ps[LEDGER_THERE]);
	uint64_t back_ps = l->back_ps - min_u64(l->back_ps, l->ps[LEDGER_BACK]);

	ledger_charge(l, LEDGER_THERE, min_u64(to_ps, l->until_ps + there_ps));
	ledger_charge(l, LEDGER_BACK, min_u64(to_ps, l->until_ps + back_ps));
	ledger_charge(l, LEDGER_LATE, to_ps);
}

/* Frames are sent again, for this reason. @param once  they were sent once */
static inline void
ledger_lost(struct ledger *l, enum ledger_entry reason, bool once)
{
	l->again = (uint8_t)reason;
	l->once = once;
	l->early = false;
	l->trial_ps = l->stood_ps = 0;
}

/* The time up to to_ps, or ps of a frame on the wire, is a cost of what was lost. */
static inline void
ledger_charge_again(struct ledger *l, uint64_t to_ps)
{
	l->stood_ps += to_ps > l->until_ps ? to_ps - l->until_ps : 0;
	ledger_charge(l, (enum ledger_entry)l->again, to_ps);
}

static inline void
ledger_sent_again(struct ledger *l, uint64_t ps)
{
	l->trial_ps += ps;
	l->ps[l->again] += ps;
	l->leaving = l->again;
}

/*
 * Moves time of frames that were sent again after a timeout or ACKs to another entry: the first copies had arrived, so
 * that the time was wasted.
 */
static inline void
ledger_spurious(struct ledger *l, enum ledger_entry entry, uint64_t ps)
{
	uint64_t moved_ps = min_u64(ps, l->trial_ps);

	l->ps[l->again] -= moved_ps;
	l->ps[entry] += moved_ps;
	l->trial_ps -= moved_ps;
	if (moved_ps != 0 && l->trial_ps == 0 && l->leaving == l->again)
		l->leaving = (uint8_t)entry;
	l->early = true;
}

/*
 * So much was charged beyond now: to a frame that leaves or a wait that lasts, first of all, wherever it counts by now
 * (other losses may have been seen since it began), and to a cable or a NIC that is slower than the line.
 */
static inline void
ledger_give_back(uint64_t entries_ps[LEDGER_ENTRIES], enum ledger_entry first, uint64_t ps)
{
	const enum ledger_entry from[] = { first,      LEDGER_WIRE,    LEDGER_NIC, LEDGER_EARLY, LEDGER_REORDERED,
					   LEDGER_NAK, LEDGER_TIMEOUT, LEDGER_PEER };

	for (size_t i = 0; i < ARRAY_LEN(from); i++) {
		uint64_t back_ps = min_u64(entries_ps[from[i]], ps);

		entries_ps[from[i]] -= back_ps;
		ps -= back_ps;
	}
}

/* A gap was no loss, but an overtaking: so was the wait before, and all that is sent again since. */
static inline void
ledger_overtaken(struct ledger *l)
{
	ledger_spurious(l, LEDGER_REORDERED, l->trial_ps);
	l->ps[l->again] -= l->stood_ps;
	l->ps[LEDGER_REORDERED] += l->stood_ps;
	l->stood_ps = 0;
	l->again = LEDGER_REORDERED;
}

/*
 * Moves the time before a timeout that lost nothing: the sender waited for a late ACK, as it would have without the
 * timer.
 * @param frame_ps  of the message's last frame
 */
static inline void
ledger_waited(struct ledger *l, uint64_t frame_ps)
{
	uint64_t until_ps = l->until_ps, stood_ps = l->stood_ps;

	l->ps[l->again] -= stood_ps;
	l->until_ps = 0;
	if (l->full) {
		ledger_charge(l, LEDGER_WINDOW, min_u64(stood_ps, l->there_ps + l->back_ps));
		ledger_charge(l, LEDGER_LATE, stood_ps);
	} else {
		ledger_tail(l, frame_ps, stood_ps);
	}
	l->until_ps = until_ps;
	l->stood_ps = 0;
}

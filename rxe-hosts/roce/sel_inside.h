/* SPDX-License-Identifier: BSD-3-Clause */
/* The inside of a selective sender, shared by sel_send.c and sel_timeout.c: its words of bits, and what is lost. */
#pragma once

#include "rxe-hosts/roce/sel_send.h"

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

/* nxt becomes the first packet to be sent again, or the first that was never sent. */
void sel_aim(struct rc_send *s);

/* A packet in flight is taken for lost. */
void sel_lose(struct rc_send *s, const struct roce_params *params, uint32_t seq);
/* How long the last of the packets waited that were taken for lost since this was asked. */
void sel_note_waited(struct rc_send *s, uint64_t now_ps);

/*
 * Takes the packets in flight that were sent at horizon_ps or before for lost. Packets that were sent once went out in the
 * order of their numbers.
 * @return when the oldest of the others was sent; TIME_NEVER: there are none
 */
uint64_t sel_lose_until(struct rc_send *s, const struct roce_params *params, uint64_t horizon_ps);

/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the bits of packets stand in a selective sender's words, for sel_send.c. */
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

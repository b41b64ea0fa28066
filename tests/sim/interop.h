/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two ends of the interop test agree on: messages by number, and their contents. */
#pragma once

#include <stdint.h>

#define INTEROP_ROUNDS 10                     /* a WRITE and a SEND each, in both directions */
#define INTEROP_MESSAGES (2 * INTEROP_ROUNDS) /* even: WRITE, odd: SEND */
#define INTEROP_ROOM 20000
#define INTEROP_DATAGRAMS 20
#define INTEROP_DATAGRAM_BYTES 600
#define INTEROP_QKEY 0x11111111
#define INTEROP_SPORT_IN 0xc123  /* UDP source port of what the guest sends, .. */
#define INTEROP_SPORT_OUT 0xc321 /* .. of what it receives */
#define INTEROP_PRIO 3

static inline uint32_t
interop_bytes(uint32_t message)
{
	return message % 2 == 0 ? INTEROP_ROOM - message : 5000 + message;
}

/* Byte i of a message. @param from_guest  1 or 0 */
static inline uint8_t
interop_byte(uint32_t from_guest, uint32_t message, uint32_t i)
{
	return (uint8_t)(from_guest * 97 + message * 31 + i * 7 + (i >> 8));
}

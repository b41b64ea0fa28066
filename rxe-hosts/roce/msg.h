/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages as receivers see them: what RETH and ImmDt say, and where the sender's bytes are. A packet carries a handle
 * (index, generation) instead of a pointer.
 *
 * Who may touch an entry, and when. The sender's node writes it when a message is posted, in some window w; the first
 * packet arrives in w+1 or later, so the barrier orders the write before every read. A receiver reads an entry only for
 * a packet that it accepts in order. It acknowledges afterwards, the ACK arrives a window later at the earliest, and
 * only then (the last ACK in) may the sender write the entry or the payload again: every read lies at least one barrier
 * before. Whatever is still in flight of the message by then are duplicates: PSNs run on over messages and over
 * reset_qp, so the receiver knows them by number alone and never reads their entry or their payload.
 * The one exception is a QP that gave up: its packets may still arrive in order. Its entries are never written again,
 * save for dead_window, which names the first window in which they no longer count: not the present one, so that a
 * reader in the same window decides alike whether it sees the old value or the new.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum msg_opcode { MSG_WRITE_IMM, MSG_SEND_IMM };

#define MSG_SLOTS 64 /* a QP's messages: DEVICE_MAX_POSTED */
#define MSG_ALIVE UINT64_MAX

struct msg {
	_Alignas(64) const uint8_t *base; /* the sender's region; NULL: synthetic payload */
	uint64_t bytes;
	uint64_t local_offset;  /* in the sender's region */
	uint64_t remote_offset; /* RETH: in the receiver's region */
	uint64_t dead_window;   /* atomic, relaxed; MSG_ALIVE while its QP works */
	uint32_t first_psn;
	uint32_t imm;
	uint16_t gen;
	uint8_t opcode; /* enum msg_opcode */
};

_Static_assert(sizeof(struct msg) == 64, "a message is a cache line");

/* One host's messages: MSG_SLOTS for each sending QP. Owned and written by that host alone. */
struct msg_slab {
	struct msg *msgs;
	uint32_t count;
};

/* Every host's slab by node id, for receivers. Filled before the run. */
struct msg_directory {
	const struct msg_slab **slabs;
	uint32_t nodes;
};

/* @return the message, or NULL if the handle is stale: another generation, or its QP gave up before this window */
static inline const struct msg *
msg_find(const struct msg_slab *slab, uint32_t handle, uint16_t gen, uint64_t window)
{
	const struct msg *msg;

	if (handle >= slab->count)
		return NULL;
	msg = &slab->msgs[handle];
	if (msg->gen != gen)
		return NULL;
	return window < __atomic_load_n(&msg->dead_window, __ATOMIC_RELAXED) ? msg : NULL;
}

static inline void
msg_kill(struct msg *msg, uint64_t window)
{
	__atomic_store_n(&msg->dead_window, window + 1, __ATOMIC_RELAXED);
}

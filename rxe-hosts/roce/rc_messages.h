/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of a sender, for the files of this folder: which one a sequence number belongs to. */
#pragma once

#include "common/wire/roce.h"
#include "rxe-hosts/roce/rc_send.h"

static inline struct rc_post *
rc_messages_at(struct rc_send *s, uint32_t count)
{
	return &s->posts[count % MSG_SLOTS];
}

/* The message that holds nxt becomes the one that is sent; without any, the cursor stays on the last one sent. */
void rc_messages_load(struct rc_send *s);

/* The same from the oldest open message on: nxt has gone back, or far ahead. */
void rc_messages_seek(struct rc_send *s);

/* @return payload bytes from the start of the oldest open message to seq */
uint64_t rc_messages_byte(const struct rc_send *s, const struct roce_params *params, uint32_t seq);

/* @return payload bytes of a packet of an open message */
uint32_t rc_messages_payload(const struct rc_send *s, const struct roce_params *params, uint32_t seq);

/* The opcode of a packet of this message by its place. Packets that may come in any order are each a WRITE by itself. */
static inline uint8_t
rc_messages_opcode(const struct rc_send *s, const struct rc_post *post, bool first, bool last)
{
	return s->sel != NULL ? roce_data_opcode(true, true, true, last) : roce_data_opcode(post->write, first, last, true);
}

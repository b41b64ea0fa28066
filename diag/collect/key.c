/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/collect/key.h"

#include <stddef.h>

#include "common/record/limits.h"
#include "common/wire/record.h"

#define NODE_BITS 16
#define TUPLE_BITS 96 /* its reserved part is 0 */
#define MAX_PARTS 8

_Static_assert(RECORD_MAX_NODES <= 1 << NODE_BITS, "a node has so many bits in a key");

/* A member of a key. */
struct part {
	uint16_t at, bits;
};

/* Behind what the key has already: so many lower bits of the value. */
static inline void
append(struct rec_key *key, uint32_t *used, uint64_t value, uint32_t bits)
{
	uint32_t word = *used / 64, end = *used % 64 + bits;

	if (end <= 64) {
		key->word[word] |= value << (64 - end);
	} else {
		key->word[word] |= value >> (end - 64);
		key->word[word + 1] |= value << (128 - end);
	}
	*used += bits;
}

static inline void
append_tuple(struct rec_key *key, uint32_t *used, const struct rec_tuple *tuple)
{
	append(key, used, tuple->src_ip, 32);
	append(key, used, tuple->dst_ip, 32);
	append(key, used, tuple->sport, 16);
	append(key, used, tuple->dport, 16);
}

/* Inlined where parts are known, so that of all this shifts remain. */
static inline __attribute__((always_inline)) struct rec_key
make(const void *rec, const struct part *parts, uint32_t nparts)
{
	struct rec_key key = { { 0 } };
	uint32_t used = 0;

#pragma GCC unroll 8
	for (uint32_t i = 0; i < nparts; i++) {
		const uint8_t *at = (const uint8_t *)rec + parts[i].at;

		if (parts[i].bits == TUPLE_BITS)
			append_tuple(&key, &used, (const struct rec_tuple *)(const void *)at);
		else if (parts[i].bits == 32)
			append(&key, &used, *(const uint32_t *)(const void *)at, 32);
		else
			append(&key, &used, *(const uint16_t *)(const void *)at, 16);
	}
	return key;
}

/* Little-endian: the lower half of a node's number begins where the whole does. */
#define AT(type, member) offsetof(struct type, member)
#define BITS(type, member)                                                                                                 \
	(AT(type, member) == offsetof(struct rec_hdr, node)               ? NODE_BITS                                      \
	 : sizeof(((struct type *)0)->member) == sizeof(struct rec_tuple) ? TUPLE_BITS                                     \
									  : 8 * sizeof(((struct type *)0)->member))
#define PART(type, member) { AT(type, member), BITS(type, member) },
#define COUNT_PART(type, member) +1
#define COUNT_BITS(type, member) +BITS(type, member)

#define KEY(number, KIND, kind, ...)                                                                                       \
	_Static_assert((0 REC_##KIND##_KEY(COUNT_PART, rec_##kind)) <= MAX_PARTS &&                                        \
			       (0 REC_##KIND##_KEY(COUNT_BITS, rec_##kind)) <= 64 * KEY_WORDS,                             \
		       "a key of " #KIND);                                                                                 \
	static struct rec_key key_##kind(const void *rec)                                                                  \
	{                                                                                                                  \
		static const struct part parts[MAX_PARTS] = { REC_##KIND##_KEY(PART, rec_##kind) };                        \
                                                                                                                           \
		return make(rec, parts, 0 REC_##KIND##_KEY(COUNT_PART, rec_##kind));                                       \
	}
REC_KINDS(KEY)

/* Types whose later records replace earlier ones of the same key. */
#define KEY_OF(number, KIND, kind, ...) [number] = (0 REC_##KIND##_KEY(COUNT_PART, rec_##kind)) != 0 ? key_##kind : NULL,
static key_fn *const keys[RECORD_KINDS] = { REC_KINDS(KEY_OF) };

key_fn *
key_of(uint16_t type)
{
	return keys[type];
}

static inline uint64_t
at_port(const struct rec_hdr *hdr, uint16_t port, uint32_t low)
{
	return (uint64_t)hdr->node << 48 | (uint64_t)port << 32 | low;
}

struct rec_key
key_state(const void *rec)
{
	const struct rec_port_row *r = rec;

	return (struct rec_key){ { at_port(&r->hdr, r->port, 0), r->hdr.time_ps, r->hdr.seq } };
}

struct rec_key
key_flow_state(const void *rec)
{
	const struct rec_flow_row *r = rec;

	return (struct rec_key){ { at_port(&r->hdr, r->port, r->epoch_first), r->hdr.time_ps } };
}

struct rec_key
key_time(const void *rec)
{
	const struct rec_hdr *hdr = rec;

	return (struct rec_key){ { hdr->time_ps, (uint64_t)hdr->node << 32 | hdr->seq } };
}

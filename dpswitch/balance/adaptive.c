/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adaptive spraying: a packet takes the least loaded member of its set. Load is time, so that members of unlike rates compare:
 *
 *   load(i) = floor((wait(i) + lead(i)) / quantum)
 *   lead(i) = min(max(sent(i) - last, -memory), memory) + memory
 *
 * wait(i): what is left of the frame on member i's wire, and the bytes that would go before the packet; as it comes.
 * sent(i): bytes of the packet's class that this set has sent by i. last: those of the member that was chosen last, before
 * that packet. So a member that got less than the others is behind, by the memory at most: with nothing queued all get the
 * same, to a packet; one that was avoided for long, because its queue was long, is not flooded afterwards.
 * Quantum and memory are bytes at the rate of the fastest member. Among the least the packet draws.
 */
#include <endian.h>
#include <string.h>

#include "common/array.h"
#include "dpswitch/balance/balance.h"

struct adaptive {
	struct cfg_where where;
	uint64_t quantum_bytes, memory_bytes;
};

#define S struct adaptive
static const struct cfg_field fields[] = {
	{ "quantum", CFG_BYTES, offsetof(S, quantum_bytes), "256", 0, 1e9, NULL,
	  "Loads that lie in the same multiple of this are equal, and a packet draws among them; 0: exact" },
	{ "memory", CFG_BYTES, offsetof(S, memory_bytes), "64KiB", 0, 1e9, NULL,
	  "How far the bytes that a port was sent count besides what waits there: one that got less than others by this "
	  "and "
	  "more is preferred by as much; 0: what waits alone" },
};

static const struct cfg_table table = {
	.path = "load_balancing.adaptive",
	.doc = "kind = \"adaptive\". A port's load is what would go before the packet, and what the port was sent more "
	       "than "
	       "others (docs/engine.md).",
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

/* A class's words: sent by the member that was chosen last, then sent(i), all in ps at each member's rate. */
static size_t
set_words(uint32_t count)
{
	return (size_t)BALANCE_CLASSES * (count + 1u);
}

static int64_t
clamp(int64_t value, int64_t most)
{
	value = value < -most ? -most : value;
	return value > most ? most : value;
}

/* Members, a byte each that says whether it is among those of least load, in words of eight, the first in the lowest byte. */
#define WORD_MEMBERS 8
#define EVERY_BYTE 0x0101010101010101ULL

struct least {
	uint8_t is[(TOPO_MAX_PORTS + WORD_MEMBERS - 1) / WORD_MEMBERS * WORD_MEMBERS];
};

/* @return byte k: how many of a word's members up to the k-th are among them; the highest: all of its */
static uint64_t
counted(const struct least *least, uint32_t first)
{
	uint64_t word;

	memcpy(&word, &least->is[first], sizeof(word));
	return le64toh(word) * EVERY_BYTE;
}

/* @return the n-th of them, from 0; there must be as many */
static uint32_t
nth_of(const struct least *least, uint32_t n)
{
	uint32_t first = 0;

	for (;; first += WORD_MEMBERS) {
		uint64_t counts = counted(least, first);

		if (n < counts >> 56) /* up to the first member with more than n the sum does not reach bit 7 of its byte */
			return first + (uint32_t)__builtin_ctzll((counts + (127 - n) * EVERY_BYTE) & 0x80 * EVERY_BYTE) / 8;
		n -= (uint32_t)(counts >> 56);
	}
}

/* @return how many have a load below the limit */
static uint32_t
find_least(struct least *least, const int64_t *loads_ps, uint32_t count, int64_t limit_ps)
{
	uint32_t ties = 0;

	memset(&least->is[(count - 1) / WORD_MEMBERS * WORD_MEMBERS], 0, WORD_MEMBERS);
	for (uint32_t i = 0; i < count; i++)
		least->is[i] = loads_ps[i] < limit_ps;
	for (uint32_t first = 0; first < count; first += WORD_MEMBERS)
		ties += (uint32_t)(counted(least, first) >> 56);
	return ties;
}

/* Loops without a branch: the compiler makes vectors of them. */
static uint32_t
choose(const struct balance *balance, struct balance_set *set, const struct balance_ask *ask)
{
	const struct adaptive *params = (const struct adaptive *)balance->params->own;
	int64_t *last = (int64_t *)set->words + (size_t)ask->p->prio * (set->count + 1u), *sent = last + 1;
	int64_t memory_ps = (int64_t)(params->memory_bytes * set->fastest_ps), last_ps = *last;
	int64_t quantum_ps = (int64_t)(params->quantum_bytes * set->fastest_ps), least_ps = INT64_MAX, limit_ps;
	int64_t loads_ps[TOPO_MAX_PORTS];
	uint32_t count = set->count, ties, index;
	struct least least;

	for (uint32_t i = 0; i < count; i++) {
		loads_ps[i] = ask->waits_ps[i] + clamp(sent[i] - last_ps, memory_ps) + memory_ps;
		least_ps = loads_ps[i] < least_ps ? loads_ps[i] : least_ps;
	}
	limit_ps = quantum_ps != 0 ? least_ps - least_ps % quantum_ps + quantum_ps : least_ps + 1;
	ties = find_least(&least, loads_ps, count, limit_ps);
	index = nth_of(&least, ties > 1 ? balance_draw(balance, ask->p, ties) : 0);
	*last = last_ps + clamp(sent[index] - last_ps, memory_ps);
	sent[index] = *last + (int64_t)ask->p->wire_bytes * set->byte_ps[index];
	return index;
}

const struct balance_ops balance_adaptive = {
	.name = "adaptive",
	.reorders = true,
	.in_order = true,
	.sees_waits = true,
	.table = &table,
	.set_words = set_words,
	.choose = choose,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adaptive spraying: a packet takes the least loaded member of its set. Load is time, so that members of unlike rates
 * compare:
 *
 *   load(i) = floor((wait(i) + lead(i)) / quantum)
 *   lead(i) = min(max(sent(i) - last, -memory), memory) + memory
 *
 * wait(i): the rest of the frame on member i's wire, and the bytes that would leave before the packet; on its arrival.
 * sent(i): bytes of the packet's class that this set has sent by i. last: those of the member that was chosen last,
 * before that packet. So a member that got less than the others is behind, by the memory at most: with nothing queued
 * all get the same, to a packet; one that was avoided for long, because its queue was long, is not flooded afterwards.
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
	CFG_FIELD("quantum", CFG_BYTES, offsetof(S, quantum_bytes), .def = "256", .max = 1e9,
		  .doc = "Loads in the same multiple of this count as equal, and a packet chooses among them at random; 0: "
			 "exact"),
	CFG_FIELD("memory", CFG_BYTES, offsetof(S, memory_bytes), .def = "64KiB", .max = 1e9,
		  .doc = "Limit up to which bytes sent to a port count in addition to its queue: a port that got less than "
			 "others by this or more is preferred by this much; 0: only the queue counts"),
};

static const struct cfg_table table = {
	.path = "load_balancing.adaptive",
	.doc = "kind = \"adaptive\". The load of a port is its queue ahead of the packet, and the bytes that it was sent "
	       "in excess of other ports (docs/engine.md).",
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

/* Constants of a set, in its first words. */
struct adaptive_set {
	int64_t quantum_ps, memory_ps;
	uint64_t inverse; /* 2^64 / quantum_ps, rounded up: divisions by quantum_ps multiply by it */
};

/*
 * State of a set for a class: its words from class_of() on. Times are at each member's own rate. Beside sent(i) is its
 * excess over base, in half of the bits: so twice as many of them are compared at once.
 */
struct adaptive_class {
	int64_t last_ps;         /* sent by the member that was chosen last */
	int64_t low_ps, high_ps; /* all of sent(i) are from low to high */
	int64_t base_ps;
	int64_t sent_ps[]; /* by member; then near_ps, by member and in whole blocks: right while the class is_near() */
};

#define NEAR_PS (INT32_MAX / 4)
#define NO_MEMBER_PS (INT32_MAX / 2) /* the near_ps of no member: larger than any sum of two below NEAR_PS */

_Static_assert(sizeof(struct adaptive_set) % sizeof(uint64_t) == 0 && sizeof(struct adaptive_class) % sizeof(uint64_t) == 0,
	       "both are words");
#define SET_WORDS (sizeof(struct adaptive_set) / sizeof(uint64_t))
#define CLASS_WORDS (sizeof(struct adaptive_class) / sizeof(uint64_t))

static size_t
class_words(uint32_t count)
{
	return CLASS_WORDS + count + balance_blocks(count) * BALANCE_BLOCK / 2;
}

static size_t
set_words(uint32_t count)
{
	return SET_WORDS + BALANCE_CLASSES * class_words(count);
}

static struct adaptive_class *
class_of(const struct balance_set *set, uint8_t prio)
{
	return (struct adaptive_class *)(set->words + SET_WORDS + prio * class_words(set->count));
}

static int32_t *
near_of(struct adaptive_class *class, uint32_t count)
{
	return (int32_t *)&class->sent_ps[count];
}

static void
set_begin(const struct balance_params *params, struct balance_set *set)
{
	const struct adaptive *adaptive = (const struct adaptive *)params->own;
	struct adaptive_set *own = (struct adaptive_set *)set->words;

	own->quantum_ps = (int64_t)(adaptive->quantum_bytes * set->fastest_ps);
	own->memory_ps = (int64_t)(adaptive->memory_bytes * set->fastest_ps);
	own->inverse = own->quantum_ps > 1 ? UINT64_MAX / (uint64_t)own->quantum_ps + 1 : 0;
	for (uint8_t prio = 0; prio < BALANCE_CLASSES; prio++)
		for (uint32_t i = set->count; i < balance_blocks(set->count) * BALANCE_BLOCK; i++)
			near_of(class_of(set, prio), set->count)[i] = NO_MEMBER_PS;
}

static int64_t
clamp(int64_t value, int64_t most)
{
	value = value < -most ? -most : value;
	return value > most ? most : value;
}

/* Members, a byte each that is set for those of least load, in words of eight, the first in the lowest byte. */
#define EVERY_BYTE 0x0101010101010101ULL

struct least {
	uint8_t is[TOPO_MAX_PORTS];
};

/* @return byte k: how many of a word's members up to the k-th are among them; the highest: all of its */
static uint64_t
counted(const struct least *least, uint32_t first)
{
	uint64_t word;

	memcpy(&word, &least->is[first], sizeof(word));
	return le64toh(word) * EVERY_BYTE;
}

/* @return the n-th of them, from 0; n must be below their number */
static uint32_t
nth_of(const struct least *least, uint32_t n)
{
	uint32_t first = 0;

	for (;; first += BALANCE_BLOCK) {
		uint64_t counts = counted(least, first);

		if (n < counts >> 56) /* up to the first member with more than n the sum does not reach bit 7 of its byte */
			return first + (uint32_t)__builtin_ctzll((counts + (127 - n) * EVERY_BYTE) & 0x80 * EVERY_BYTE) / 8;
		n -= (uint32_t)(counts >> 56);
	}
}

/* @return how many are among them */
static uint32_t
count_least(const struct least *least, uint32_t blocks)
{
	uint32_t ties = 0;

	for (uint32_t first = 0; first < blocks * BALANCE_BLOCK; first += BALANCE_BLOCK)
		ties += (uint32_t)(counted(least, first) >> 56);
	return ties;
}

/* @return the least load that is more than this one by its quantum */
static int64_t
next_quantum_ps(const struct adaptive_set *own, int64_t load_ps)
{
	if (own->inverse == 0) /* quantum 0 or 1 ps: exact */
		return load_ps + 1;
	if (((uint64_t)load_ps | (uint64_t)own->quantum_ps) > UINT32_MAX)
		return load_ps - load_ps % own->quantum_ps + own->quantum_ps;
	/* Exact up to 32 bits (Lemire, Kaser and Kurz 2019, theorem 1). */
	return (int64_t)((unsigned __int128)own->inverse * (uint64_t)load_ps >> 64) * own->quantum_ps + own->quantum_ps;
}

/*
 * Is no member further from the last than the memory, and all in reach of near_ps? So it is but for one packet in
 * hundreds.
 */
static bool
is_near(const struct adaptive_set *own, const struct adaptive_class *class)
{
	return class->last_ps - class->low_ps <= own->memory_ps && class->high_ps - class->last_ps <= own->memory_ps &&
	       class->high_ps - class->base_ps < NEAR_PS && class->base_ps - class->low_ps < NEAR_PS;
}

/*
 * Finds the least loaded members of a class for which is_near() holds. Its loops go over whole blocks without a branch,
 * so that the compiler vectorizes them.
 * @return false: a packet would wait longer than near_ps can hold
 */
static bool
find_near(const struct adaptive_set *own, struct adaptive_class *class, const int64_t *waits_ps, uint32_t count,
	  struct least *least)
{
	const int32_t *near_ps = near_of(class, count);
	int64_t from_ps = class->last_ps - own->memory_ps - class->base_ps, limit_ps;
	int32_t loads_ps[TOPO_MAX_PORTS], least_ps = INT32_MAX, end_ps;
	uint32_t end = balance_blocks(count) * BALANCE_BLOCK;
	uint64_t bits = 0;

	for (uint32_t i = 0; i < end; i++) {
		bits |= (uint64_t)waits_ps[i];
		loads_ps[i] = (int32_t)((uint32_t)near_ps[i] + (uint32_t)waits_ps[i]); /* may wrap: bits detects it */
		least_ps = loads_ps[i] < least_ps ? loads_ps[i] : least_ps;
	}
	if (bits >= NEAR_PS)
		return false;
	limit_ps = from_ps + next_quantum_ps(own, least_ps - from_ps);
	end_ps = limit_ps < NO_MEMBER_PS ? (int32_t)limit_ps : NO_MEMBER_PS;
	for (uint32_t i = 0; i < end; i++)
		least->is[i] = loads_ps[i] < end_ps;
	return true;
}

/* Finds them however far the members are apart, and computes near_ps again. */
static void
find_far(const struct adaptive_set *own, struct adaptive_class *class, const int64_t *waits_ps, uint32_t count,
	 struct least *least)
{
	int64_t loads_ps[TOPO_MAX_PORTS], least_ps = INT64_MAX, limit_ps;
	int32_t *near_ps = near_of(class, count);

	class->low_ps = INT64_MAX;
	class->high_ps = INT64_MIN;
	class->base_ps = class->last_ps;
	for (uint32_t i = 0; i < count; i++) {
		int64_t sent_ps = class->sent_ps[i];

		loads_ps[i] = waits_ps[i] + clamp(sent_ps - class->last_ps, own->memory_ps) + own->memory_ps;
		least_ps = loads_ps[i] < least_ps ? loads_ps[i] : least_ps;
		class->low_ps = sent_ps < class->low_ps ? sent_ps : class->low_ps;
		class->high_ps = sent_ps > class->high_ps ? sent_ps : class->high_ps;
		near_ps[i] = (int32_t)clamp(sent_ps - class->base_ps, NEAR_PS);
	}
	limit_ps = next_quantum_ps(own, least_ps);
	memset(least->is, 0, balance_blocks(count) * BALANCE_BLOCK);
	for (uint32_t i = 0; i < count; i++)
		least->is[i] = loads_ps[i] < limit_ps;
}

/* Records that a packet leaves by a member. */
static void
remember(const struct adaptive_set *own, struct adaptive_class *class, uint32_t count, uint32_t index, int64_t packet_ps)
{
	int64_t sent_ps;

	class->last_ps += clamp(class->sent_ps[index] - class->last_ps, own->memory_ps);
	sent_ps = class->last_ps + packet_ps;
	class->sent_ps[index] = sent_ps;
	near_of(class, count)[index] = (int32_t)clamp(sent_ps - class->base_ps, NEAR_PS);
	class->low_ps = sent_ps < class->low_ps ? sent_ps : class->low_ps;
	class->high_ps = sent_ps > class->high_ps ? sent_ps : class->high_ps;
}

static uint32_t
choose(const struct balance *balance, struct balance_set *set, const struct balance_ask *ask)
{
	const struct adaptive_set *own = (const struct adaptive_set *)set->words;
	struct adaptive_class *class = class_of(set, ask->p->prio);
	uint32_t count = set->count, ties, index;
	struct least least;

	if (!is_near(own, class) || !find_near(own, class, ask->waits_ps, count, &least))
		find_far(own, class, ask->waits_ps, count, &least);
	ties = count_least(&least, balance_blocks(count));
	index = nth_of(&least, ties > 1 ? balance_draw(balance, ask->p, ties) : 0);
	remember(own, class, count, index, (int64_t)ask->p->wire_bytes * set->byte_ps[index]);
	return index;
}

const struct balance_ops balance_adaptive = {
	.name = "adaptive",
	.reorders = true,
	.in_order = true,
	.sees_waits = true,
	.table = &table,
	.set_words = set_words,
	.set_begin = set_begin,
	.choose = choose,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Adaptive spraying chooses as its formula says, packet by packet. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/array.h"
#include "common/prng.h"
#include "dpswitch/balance/balance.h"
#include "tests/unit/unit.h"

#define PRIO 3
#define BYTE_PS 80
#define PACKETS 3000

/* Of a scenario: what stands in struct balance_params. */
struct how {
	uint64_t quantum_bytes, memory_bytes;
	int64_t longest_ps; /* of what waits */
};

static struct balance_params
params_of(const struct how *how)
{
	struct balance_params params;
	struct err err = { "" };
	struct cfg *cfg;
	char text[256];

	snprintf(text, sizeof(text),
		 "load_balancing = { kind = \"adaptive\"; adaptive = { quantum = %" PRIu64 "; memory = %" PRIu64 "; }; };",
		 how->quantum_bytes, how->memory_bytes);
	cfg = cfg_load_string(text, "t.cfg", &err);
	assert_non_null(cfg);
	assert_int_equal(balance_bind(&params, cfg, &err), 0);
	cfg_destroy(cfg);
	return params;
}

static void
set_up(struct balance_set *set, const struct balance_params *params, uint32_t count)
{
	*set = (struct balance_set){ .count = count, .fastest_ps = BYTE_PS };
	set->words = calloc(balance_adaptive.set_words(count), sizeof(*set->words));
	assert_non_null(set->words);
	for (uint32_t i = 0; i < count; i++)
		set->byte_ps[i] = BYTE_PS * (1 + i % 3); /* members of unlike rates */
	balance_adaptive.set_begin(params, set);
}

/*
 * Sets of all sizes, loads in one pattern after another: the port is one of those least loaded, and each of them is
 * drawn.
 */
static void
draws_among_the_least(void **state)
{
	const struct balance_params params = params_of(&(struct how){ 0 }); /* exact, by what waits alone */
	const struct balance balance = { .params = &params, .stream = 7 };

	for (uint32_t count = 2; count <= TOPO_MAX_PORTS; count += count < 20 ? 1 : 9) {
		int64_t waits_ps[TOPO_MAX_PORTS] = { 0 };
		bool drawn[TOPO_MAX_PORTS] = { false };
		uint32_t period = 1 + count % 11;
		struct balance_set set;

		set_up(&set, &params, count);
		for (uint32_t i = 0; i < count; i++)
			waits_ps[i] = (i + 1) % period == 0 ? 1000 : 1001 + i;
		for (uint32_t psn = 0; psn < 20 * TOPO_MAX_PORTS; psn++) {
			struct pkt p = { .psn = psn, .type = PKT_DATA, .ttl = 60, .prio = PRIO };
			uint32_t i = balance_adaptive.choose(&balance, &set, &(struct balance_ask){ &p, waits_ps });

			assert_in_range(i, 0, count - 1);
			drawn[i] = true;
		}
		for (uint32_t i = 0; i < count; i++)
			assert_int_equal(drawn[i], period > count ? i == 0 : waits_ps[i] == 1000);
		free(set.words);
	}
}

/* docs/engine.md, word by word. */
struct reference {
	int64_t sent_ps[TOPO_MAX_PORTS], last_ps;
};

static int64_t
within(int64_t value, int64_t most)
{
	return value < -most ? -most : value > most ? most : value;
}

static uint32_t
reference_choice(struct reference *ref, const struct how *how, const struct balance *balance, const struct balance_set *set,
		 const struct balance_ask *ask)
{
	int64_t memory_ps = (int64_t)how->memory_bytes * BYTE_PS, quantum_ps = (int64_t)how->quantum_bytes * BYTE_PS;
	int64_t loads[TOPO_MAX_PORTS], least = INT64_MAX;
	uint32_t ties = 0, wanted, chosen = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		loads[i] = (ask->waits_ps[i] + within(ref->sent_ps[i] - ref->last_ps, memory_ps) + memory_ps) /
			   (quantum_ps != 0 ? quantum_ps : 1);
		least = loads[i] < least ? loads[i] : least;
	}
	for (uint32_t i = 0; i < set->count; i++)
		ties += loads[i] == least;
	wanted = ties > 1 ? balance_draw(balance, ask->p, ties) : 0;
	while (loads[chosen] != least || wanted-- != 0)
		chosen++;
	ref->last_ps += within(ref->sent_ps[chosen] - ref->last_ps, memory_ps);
	ref->sent_ps[chosen] = ref->last_ps + (int64_t)ask->p->wire_bytes * set->byte_ps[chosen];
	return chosen;
}

/* Members wait for nothing, for a little or for long; one is avoided for a time, and is behind by more than 2^32 ps. */
static void
chooses_by_its_formula(void **state)
{
	static const struct how hows[] = {
		{ 256, 65536, 200000 },     { 0, 65536, 200000 },          { 256, 0, 200000 },
		{ 256, 65536, 4000000000 }, { 1000000000, 65536, 200000 }, { 7, 1000000000, 900000000 },
		{ 64, 1500, 20000 },
	};
	static const uint32_t counts[] = { 2, 3, 4, 8, 9, 16, 31, TOPO_MAX_PORTS };
	struct prng prng;

	prng_init(&prng, 1, 0);
	for (size_t h = 0; h < ARRAY_LEN(hows); h++) {
		const struct balance_params params = params_of(&hows[h]);
		const struct balance balance = { .params = &params, .stream = 7 };

		for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
			struct reference ref = { .last_ps = 0 };
			struct balance_set set;

			set_up(&set, &params, counts[c]);
			for (uint32_t psn = 0; psn < PACKETS; psn++) {
				struct pkt p = { .psn = psn,
						 .type = PKT_DATA,
						 .ttl = 60,
						 .prio = PRIO,
						 .wire_bytes = (uint16_t)(84 + prng_below(&prng, 4000)) };
				int64_t waits_ps[TOPO_MAX_PORTS] = { 0 };
				const struct balance_ask ask = { &p, waits_ps };

				for (uint32_t i = 0; i < counts[c]; i++)
					if (prng_below(&prng, 4) == 0)
						waits_ps[i] = (int64_t)prng_below(&prng, (uint64_t)hows[h].longest_ps);
				if (psn > PACKETS / 3 && psn < PACKETS / 2)
					waits_ps[1] += INT64_C(1) << 40;
				assert_int_equal(balance_adaptive.choose(&balance, &set, &ask),
						 reference_choice(&ref, &hows[h], &balance, &set, &ask));
			}
			free(set.words);
		}
	}
}

UNIT_TEST(adaptive)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(draws_among_the_least),
		cmocka_unit_test(chooses_by_its_formula),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round robin: every set has a pointer for each class, which goes one member on with each packet, from one drawn at
 * first.
 */
#include "dpswitch/balance/balance.h"

static size_t
set_words(uint32_t count)
{
	(void)count;
	return BALANCE_CLASSES;
}

static uint32_t
choose(const struct balance *balance, struct balance_set *set, const struct balance_ask *ask)
{
	uint64_t *next = &set->words[ask->p->prio]; /* 1 and more; 0: none was chosen yet */
	uint32_t index = *next != 0 ? (uint32_t)*next - 1 : balance_draw(balance, ask->p, set->count);

	*next = index + 1 == set->count ? 1 : index + 2;
	return index;
}

const struct balance_ops balance_round_robin = {
	.name = "round-robin",
	.reorders = true,
	.in_order = true,
	.set_words = set_words,
	.choose = choose,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* The known word nearest to an unknown one: the word that was probably meant. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NEAREST_MAX_WORD 64

struct nearest {
	const char *word;            /* the unknown word; the rest begins at zero */
	char best[NEAREST_MAX_WORD]; /* the nearest of the words offered, "": none yet */
	size_t distance;
};

/* Offers a known word: the first length characters of candidate, if it has more. */
void nearest_offer(struct nearest *nearest, const char *candidate, size_t length);

/* @return whether the best is near enough to ask "did you mean ...?" */
bool nearest_is_near(const struct nearest *nearest);

/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/nearest.h"

#include <stdio.h>
#include <string.h>

/* Levenshtein distance of words of up to NEAREST_MAX_WORD characters; longer ones are far from everything. */
static size_t
distance(const char *a, const char *b)
{
	size_t row[NEAREST_MAX_WORD + 1], la = strlen(a), lb = strlen(b);

	if (la > NEAREST_MAX_WORD || lb > NEAREST_MAX_WORD)
		return NEAREST_MAX_WORD;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			best = best < row[j] + 1 ? best : row[j] + 1;
			row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
		}
	}
	return row[lb];
}

/* "storm" is one of the words of "pfc-storm". */
static bool
is_one_of_words(const char *word, const char *of)
{
	size_t length = strlen(word);

	for (; length != 0 && of != NULL; of = strchr(of, '-')) {
		of += *of == '-';
		if (strncmp(of, word, length) == 0 && (of[length] == '\0' || of[length] == '-'))
			return true;
	}
	return false;
}

void
nearest_offer(struct nearest *nearest, const char *candidate, size_t length)
{
	char text[NEAREST_MAX_WORD];
	size_t d;

	snprintf(text, sizeof(text), "%.*s", (int)(length < NEAREST_MAX_WORD ? length : NEAREST_MAX_WORD - 1), candidate);
	d = is_one_of_words(nearest->word, text) ? 1 : distance(nearest->word, text);
	if (nearest->best[0] == '\0' || d < nearest->distance) {
		nearest->distance = d;
		memcpy(nearest->best, text, sizeof(text));
	}
}

bool
nearest_is_near(const struct nearest *nearest)
{
	size_t length = strlen(nearest->word);

	return nearest->best[0] != '\0' && nearest->distance <= (length / 3 > 2 ? length / 3 : 2);
}

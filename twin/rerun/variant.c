/* SPDX-License-Identifier: BSD-3-Clause */
#include "twin/rerun/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int
variant_sets(const char *name, struct variant_sets *sets, struct err *err)
{
	char copy[VARIANT_NAME], *save = NULL;

	*sets = (struct variant_sets){ .count = 0 };
	if (snprintf(copy, sizeof(copy), "%s", name) >= (int)sizeof(copy))
		return err_set(err, -EINVAL, "policy \"%s\": at most %d characters", name, VARIANT_NAME - 1);
	for (char *word = strtok_r(copy, "+", &save); word != NULL; word = strtok_r(NULL, "+", &save)) {
		char *text = sets->text[sets->count];
		const char *equals = strchr(word, '=');
		int used;

		if (sets->count == VARIANT_MAX_SETS)
			return err_set(err, -EINVAL, "policy \"%s\": at most %d keys", name, VARIANT_MAX_SETS - 1);
		if (sets->count != 0 && equals == NULL)
			return err_set(err, -EINVAL, "policy \"%s\": \"%s\" is no KEY=VALUE, as in vedrfolnir+detections=1",
				       name, word);
		if (sets->count == 0)
			used = snprintf(text, VARIANT_NAME, "detection.policy=%s", word);
		else
			used = snprintf(text, VARIANT_NAME, "%s%s",
					memchr(word, '.', (size_t)(equals - word)) == NULL ? "detection." : "", word);
		if (used >= VARIANT_NAME)
			return err_set(err, -EINVAL, "policy \"%s\": \"%s\" is too long", name, word);
		sets->count++;
	}
	return sets->count != 0 ? 0 : err_set(err, -EINVAL, "policy \"%s\": name one", name);
}

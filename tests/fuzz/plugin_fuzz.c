/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer target: whatever a program from outside says is taken, or refused with a reason; a finding that is taken is
 * the same once it has been to JSON and back. The input is lines.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/account.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_finding(const struct plugin_finding *finding)
{
	struct plugin_finding again = { .type = "" };
	json_t *first = plugin_finding_json(finding), *second;
	struct err err = { "" };

	if (first == NULL || plugin_finding_read(first, &again, &err) != 0)
		abort();
	second = plugin_finding_json(&again);
	if (!json_equal(first, second))
		abort();
	json_decref(first);
	json_decref(second);
	plugin_finding_fini(&again);
}

static void
check_line(const uint8_t *line, size_t size)
{
	char *exact = malloc(size + 1); /* as large as it is: what is read beyond is seen */
	struct plugin_answer answer;
	struct err err = { "" };
	int rc;

	if (exact == NULL)
		abort();
	memcpy(exact, line, size);
	rc = plugin_answer_read(exact, size, &answer, &err);
	if (rc != 0 && err.text[0] == '\0')
		abort();
	if (rc == 0 && answer.kind == PLUGIN_FINDING)
		check_finding(&answer.finding);
	plugin_answer_fini(&answer);
	free(exact);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	while (size > 0) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t bytes = end != NULL ? (size_t)(end - data) : size;

		check_line(data, bytes);
		data += bytes + (end != NULL);
		size -= bytes + (end != NULL);
	}
	return 0;
}

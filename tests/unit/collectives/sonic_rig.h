/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of switches that run SONiC, and the scenario of them. */
#pragma once

#include "collectives/import/sonic.h"
#include "tests/unit/collectives/import_rig.h"

#define SWITCH(name, speed, status, peer, port, length)                                                                    \
	"{\"DEVICE_METADATA\": {\"localhost\": {\"hostname\": \"" name "\"}}, "                                            \
	"\"PORT\": {\"E0\": {\"speed\": " speed ", \"admin_status\": \"" status "\"}}, "                                   \
	"\"DEVICE_NEIGHBOR\": {\"E0\": {\"name\": \"" peer "\", \"port\": \"" port "\"}}, "                                \
	"\"CABLE_LENGTH\": {\"AZURE\": {\"E0\": \"" length "\"}}}"

static inline void
has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("no %s in\n%s", part, text);
}

/* Files of many switches, and lookup files of profiles. @return the scenario; NULL with err set */
static inline char *
run_many(const char *const *texts, size_t count, struct err *err)
{
	char(*paths)[256] = calloc(count, sizeof(*paths)), *out = NULL, name[32];
	const char **files = calloc(count, sizeof(*files));
	const struct sonic_files sonic = { .paths = files, .count = count, .dscp = SONIC_DSCP };
	size_t length;
	FILE *to = open_memstream(&out, &length);
	int rc;

	assert_true(paths != NULL && files != NULL && to != NULL);
	for (size_t i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "many-%zu.%s", i, texts[i][0] == '{' ? "json" : "ini");
		snprintf(paths[i], sizeof(paths[i]), "%s", write_file(name, texts[i], strlen(texts[i])));
		files[i] = paths[i];
	}
	rc = sonic_import(&sonic, to, err);
	assert_int_equal(fclose(to), 0);
	for (size_t i = 0; i < count; i++)
		unlink(paths[i]);
	free(paths);
	free(files);
	if (rc == 0)
		return out;
	free(out);
	return NULL;
}

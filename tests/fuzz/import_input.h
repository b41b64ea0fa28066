/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a fuzz target's input becomes: readers open them by name. */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cfg/cfg.h"

static char input_paths[8][64], input_made[] = "/tmp/rocelab-fuzz-XXXXXX";
static size_t input_count;

static inline void
input_remove(void)
{
	for (size_t i = 0; i < input_count; i++)
		unlink(input_paths[i]);
	rmdir(input_made);
}

/* A folder of this process, which goes with it. */
static inline const char *
input_folder(void)
{
	static const char *folder;

	if (folder == NULL) {
		folder = mkdtemp(input_made);
		assert(folder != NULL && atexit(input_remove) == 0);
	}
	return folder;
}

/* Writes a file of the folder, one of eight. @return its path, in buf of 64 bytes */
static inline char *
input_file(const char *name, const uint8_t *data, size_t size, char buf[64])
{
	size_t known = 0;
	FILE *file;

	snprintf(buf, 64, "%s/%s", input_folder(), name);
	while (known < input_count && strcmp(input_paths[known], buf) != 0)
		known++;
	if (known == input_count) {
		assert(input_count < 8);
		strcpy(input_paths[input_count++], buf);
	}
	file = fopen(buf, "wb");
	assert(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
	return buf;
}

/*
 * What an importer writes of files is a scenario that loads, or it has a message.
 * @param import  as hpcc_import(), of files that it knows the type of
 */
static inline void
input_import(int (*import)(const void *files, FILE *to, struct err *err), const void *files)
{
	char *text = NULL;
	size_t length = 0;
	FILE *to = open_memstream(&text, &length);
	struct err err = { 0 };
	struct cfg *cfg;

	assert(to != NULL);
	if (import(files, to, &err) != 0) {
		assert(err.text[0] != '\0' && fclose(to) == 0);
	} else {
		assert(fclose(to) == 0);
		cfg = cfg_load_string(text, "imported", &err);
		if (cfg == NULL)
			fprintf(stderr, "%s\n%s\n", err.text, text);
		assert(cfg != NULL);
		cfg_destroy(cfg);
	}
	free(text);
}

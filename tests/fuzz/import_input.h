/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that a fuzz target's input becomes: readers open them by name. */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A folder of this process, made at the first call. */
static inline const char *
input_folder(void)
{
	static char folder[] = "/tmp/rocelab-fuzz-XXXXXX";
	static const char *made;

	if (made == NULL)
		made = mkdtemp(folder);
	assert(made != NULL);
	return made;
}

/* Writes a file of the folder. @return its path, in buf of 64 bytes */
static inline char *
input_file(const char *name, const uint8_t *data, size_t size, char buf[64])
{
	FILE *file;

	snprintf(buf, 64, "%s/%s", input_folder(), name);
	file = fopen(buf, "wb");
	assert(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
	return buf;
}

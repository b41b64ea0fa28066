/* SPDX-License-Identifier: BSD-3-Clause */
#include "eval/case_file.h"

#include <errno.h>
#include <stdio.h>

#include "common/hash.h"

uint64_t
case_file_digest(const char *path)
{
	FILE *file = fopen(path, "r");
	uint64_t digest = DIGEST_INIT;
	int byte;

	if (file == NULL)
		return 0;
	while ((byte = getc(file)) != EOF)
		digest = digest_u64(digest, (uint64_t)byte);
	fclose(file);
	return digest;
}

int
case_file_check(const char *path, uint64_t before, struct err *err)
{
	if (before == 0 || before == case_file_digest(path))
		return 0;
	return err_set(err, -EINVAL,
		       "%s was another case, made by another version; remove it with its results, or give another --out",
		       path);
}

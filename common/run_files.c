/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/run_files.h"

#include <stddef.h>

#include "common/outfile.h"

/* Results before the recording that they are of: no moment has a verdict beside the recording of another run. */
static const char *const names[] = {
	RUN_VERDICT, RUN_TEXT, RUN_PAGE, RUN_WAITING, RUN_PROVENANCE, RUN_SUMMARY,
	RUN_TRUTH, RUN_STEPS, RUN_CAPTURE, RUN_CONFIG, RUN_RECORDING,
};

#define NAMES (sizeof(names) / sizeof(names[0]))

int
run_files_remove(const char *dir, struct err *err)
{
	int ret = 0;

	for (size_t i = 0; i < NAMES && ret == 0; i++)
		ret = outfile_remove(dir, names[i], err);
	return ret;
}

void
run_files_tidy(const char *dir)
{
	for (size_t i = 0; i < NAMES; i++)
		outfile_tidy(dir, names[i]);
}

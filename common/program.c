/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/program.h"

#include <argp.h>

#include "common/exit_code.h"
#include "common/log.h"
#include "common/stdio_guard.h"

int
program_begin(void)
{
	stdio_guard();
	argp_err_exit_status = EXIT_USAGE;
	return log_open() < 0 ? EXIT_USAGE : EXIT_DONE;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* How every program ends. */
#pragma once

enum exit_code {
	EXIT_DONE = 0,
	EXIT_FAILED = 1, /* a check or an invariant failed, or a finding where asked for */
	EXIT_USAGE = 2,  /* usage or bad input */
	EXIT_NOT_BEGUN =
		3, /* of dpswitch: no run began, though the input is good: hosts or the analyzer are missing, no file could be made */
	EXIT_SKIPPED = 77,
	EXIT_INTERRUPTED = 130, /* by a signal, in good order: what is done is kept */
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What of a configuration cannot work as it is written, found before the run: each with the numbers on both sides and
 * what to set. A check is a function and a row in preflight.c. The findings are of the configuration; whether a run
 * has the traffic for them is another matter.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "emulation/emulation.h"

struct preflight_finding {
	const char *check; /* "ecn-behind-pfc" */
	bool inert;        /* something that is configured cannot act in this run: its start warns of it */
	char text[640];
	char remedy[256]; /* options of the command line; "": none */
};

#define PREFLIGHT_FINDINGS 32 /* of one configuration; a check groups ports, and makes a few at the most */

/*
 * Runs all checks.
 * @param findings  [PREFLIGHT_FINDINGS]
 * @return their number, or -ENOMEM
 */
int preflight(const struct emulation *emulation, struct preflight_finding *findings);

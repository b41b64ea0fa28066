/* SPDX-License-Identifier: BSD-3-Clause */
/* What rocelab doctor looks at, a row each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"

struct checkup {
	const char *name;  /* as a scenario spells it */
	const char *guest; /* a kind of host: as the launcher has it; NULL: part of dpswitch, always there */
	const char *port;  /* a kind of port: opened so, % being a folder; NULL: none */
	bool hugepages;
	unsigned timeout_ms;
	const char *what;
	bool chosen, works;
	uint64_t took_ms;
	struct err err; /* what is missing, and what to do */
};

/* A kind of port is tried: dpswitch opens one, and closes it. @param dir  an empty folder of the doctor's own */
void doctor_try_port(struct checkup *checkup, const char *dir);
/* Whether any are free for frames to lie in. */
void doctor_count_hugepages(struct checkup *checkup);

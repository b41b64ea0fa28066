/* SPDX-License-Identifier: BSD-3-Clause */
/* Telemetry bytes that the exporter's budget kept back, over time. */
#pragma once

#include "diag/collect/evidence.h"

struct losses {
	struct loss *spread; /* [nspread] sorted by time: from there on so much a picosecond */
	uint32_t nspread;
	struct ev_sent *points; /* [npoints] sorted by time: lost at one moment; bytes of it and those before */
	uint32_t npoints;
};

/* @return 0 or -ENOMEM with err; losses_fini() in any case */
int losses_init(struct losses *losses, const struct evidence *ev, struct err *err);
void losses_fini(struct losses *losses);

/* Bytes lost in [from, to], each gap's spread evenly over its time; less than half a byte is none. In logarithmic time. */
double losses_within(const struct losses *losses, uint64_t from_ps, uint64_t to_ps);

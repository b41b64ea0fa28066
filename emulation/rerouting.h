/* SPDX-License-Identifier: BSD-3-Clause */
/* Cables that faults cut and mend become known to the switches that are not at their ends. */
#pragma once

#include "emulation/emulation.h"

/*
 * Before switches are made. Where no fault cuts a cable there is nothing to become known.
 * @return 0, or -ENOMEM with err set
 */
int rerouting_init(struct emulation *emulation, struct err *err);
void rerouting_fini(struct emulation *emulation);

/* When routes change next, at or after now_ps; TIME_NEVER: not as cables are now. */
uint64_t rerouting_next_ps(const struct emulation *emulation, uint64_t now_ps);
/* Between windows, after the faults of now_ps. */
void rerouting_apply(struct emulation *emulation, uint64_t now_ps);

/* SPDX-License-Identifier: BSD-3-Clause */
/* One line on stderr while a run goes on, when that is a terminal. */
#pragma once

#include "emulation/emulation.h"

/* Shows virtual time, hops a second and what is left, a few times a second. */
void progress_show(struct emulation *emulation, uint64_t now_ps);
void progress_clear(const struct emulation *emulation);

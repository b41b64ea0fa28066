/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How late the machine ran a fabric in real time: what its packet threads and its hosts with their own kernel waited for a
 * processor, and how far its windows were behind the clock. A thread of its own reads /proc, so that no packet thread waits
 * for that; between windows the first lcore takes what it has read, as LATENESS records.
 */
#pragma once

#include "common/err.h"
#include "emulation/emulation.h"

/*
 * Attaches it, and starts to measure; just before the first window.
 * @return 0 or negative errno with err set
 */
int lateness_attach(struct emulation *emulation, struct err *err);

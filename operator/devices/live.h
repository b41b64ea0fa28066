/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Management sockets of a run in real time: DIR/management. They are served between its windows, by the machine's clock: a fabric
 * that is behind answers as one that is not, but for the time that one of its windows takes.
 */
#pragma once

#include "emulation/emulation.h"

struct live;

/* @param dir  of the run. @return NULL with err and errno set */
struct live *live_create(struct emulation *emulation, const char *dir, struct err *err);
/* Before and after the fabric runs; live may be NULL. */
void live_begin(struct live *live, struct emulation *emulation);
void live_end(struct live *live);
void live_destroy(struct live *live); /* also of NULL */

/* SPDX-License-Identifier: BSD-3-Clause */
/* What an emulation does between the windows of its fabric. */
#pragma once

#include "emulation/emulation.h"

/* For the fabric of this phase. */
struct fabric_hooks emulation_hooks(struct emulation *emulation);
/* struct pacer.pending. @param ctx  the emulation */
bool emulation_pending(void *ctx);
/* Tells nodes whether their programs have work to come; a host that went away, or failed, ends the run. */
void emulation_watch_hosts(struct emulation *emulation);
/* What programs reported over channels of their own goes into their nodes' records. */
void emulation_take_reports(struct emulation *emulation);

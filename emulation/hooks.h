/* SPDX-License-Identifier: BSD-3-Clause */
/* What an emulation does between the windows of its fabric. */
#pragma once

#include "emulation/emulation.h"

/* For the fabric of this phase. */
struct fabric_hooks emulation_hooks(struct emulation *emulation);
/* struct pacer.pending. @param ctx  the emulation */
bool emulation_pending(void *ctx);
/* Operators that ask devices, and DPDK's telemetry: nothing of it concerns the fabric. @param now_ps  end of the last window */
void emulation_answer(const struct emulation *emulation, uint64_t now_ps);
/* Tells nodes whether their programs have work to come; a host that went away, or failed, ends the run. */
void emulation_watch_hosts(struct emulation *emulation);
/* First phase: whether all hosts that are here are connected, and nothing has moved for a while. */
bool emulation_ready(const struct emulation *emulation);
/* Before every window: what no node may do within one. */
void emulation_settle(const struct emulation *emulation);
/* What programs reported over channels of their own goes into their nodes' records. */
void emulation_take_reports(struct emulation *emulation);

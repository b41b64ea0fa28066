/* SPDX-License-Identifier: BSD-3-Clause */
/* The run is over: what it leaves, and what it was worth. */
#pragma once

#include "emulation/kernel_host/attach.h"
#include "emulation/run/run.h"

/* @param attach  NULL: every host is embedded. @return exit code */
int conclude(const struct run_options *options, const struct emulation *emulation, const struct attach *attach);

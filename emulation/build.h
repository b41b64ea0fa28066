/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric of an emulation, with its switches and hosts. */
#pragma once

#include "emulation/emulation.h"

/*
 * Fills what emulation_create() made empty: fabric, switches, hosts, programs, what faults may touch.
 * @return 0 or negative errno with err set: emulation_unbuild() cleans up
 */
int emulation_build(struct emulation *emulation, const struct emulation_options *options, struct err *err);
void emulation_unbuild(struct emulation *emulation);

/* SPDX-License-Identifier: BSD-3-Clause */
/* A run's recording, to the grid of what its leaves counted. */
#pragma once

#include "eval/flowpulse/grid.h"

/*
 * @param path    of the recording
 * @param fabric  that it is of
 * @return the grid, without iterations where monitors told no counts; NULL with err set: it cannot be read, or has no monitors
 */
struct fp_grid *fp_counts_read(const char *path, const struct fp_fabric *fabric, struct err *err);

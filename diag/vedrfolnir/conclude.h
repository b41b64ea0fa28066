/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "diag/run/run.h"
#include "diag/section.h"

/* What findings, telemetry and evidence together say about the network. @param section  VEDRFOLNIR's, but for its claim */
struct claim conclude(const struct run *run, const struct section *section);

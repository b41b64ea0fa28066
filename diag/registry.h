/* SPDX-License-Identifier: BSD-3-Clause */
/* Every diagnoser there is. */
#pragma once

#include "diag/diagnoser.h"
#include "diag/verdict.h"

extern const struct diagnoser diagnosers[];
extern const uint32_t ndiagnosers;

/* verdict_build() by all of them, with defaults. */
int registry_diagnose(struct evidence *evidence, struct verdict **out, struct err *err);

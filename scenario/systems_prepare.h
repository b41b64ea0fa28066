/* SPDX-License-Identifier: BSD-3-Clause */
/* What a system needs of a scenario beside its own key: struct system_row's prepare(). Of systems.c. */
#pragma once

#include "scenario/systems.h"

/* Adds a key. @return 0, or -E2BIG with err */
int system_set(struct system_sets *sets, struct err *err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Switches and NICs keep rows. */
int system_prepare_policy(const struct scenario *scenario, struct system_sets *sets, struct err *err);
/* A collective is measured, and there is something to predict its volumes by. */
int system_prepare_flowpulse(const struct scenario *scenario, struct system_sets *sets, struct err *err);
/* Agents have time for some periods of analysis. */
int system_prepare_pingmesh(const struct scenario *scenario, struct system_sets *sets, struct err *err);

/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "diag/run/run.h"
#include "diag/section.h"

#define CONCLUDE_LIKELY 0.5 /* a finding that blames the network is borne out by more: else it is as likely wrong */

/*
 * Takes from the confidence of findings what the steps say that nobody reported, and drops those about hosts that sum up to
 * nothing. @param section  VEDRFOLNIR's
 */
void conclude_findings(const struct run *run, struct section *section);

/* What findings, telemetry and evidence together say about the network. @param section  VEDRFOLNIR's, but for its claim */
struct claim conclude(const struct run *run, const struct section *section);

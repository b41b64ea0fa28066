/* SPDX-License-Identifier: BSD-3-Clause */
/* The loss rates of faulty links. */
#pragma once

#include <stdbool.h>

#include "common/err.h"
#include "diag/flowpulse/section.h"
#include "diag/run/run.h"

/* Packets that the alarms of a fault expected and got, and the variance of the expected ones. */
struct flowpulse_lost {
	double expected, got, dispersion;
	bool is_unbounded; /* of an alarm at least, hosts did not report their retransmissions */
};

/*
 * Estimates each fault's drop rate and its interval at 95 %: the alarms of all switches and iterations are samples of
 * one rate. The first and last iteration of a fault may have had it for a part of their time: alarms of these that lack
 * less than those between them are left out, and none lost more than hosts sent again (resent.h).
 * @param fault_of  [own->nalarms] fault of each alarm that is judged
 * @return [own->nfaults] the counts of the rates, to free(); NULL: no memory
 */
struct flowpulse_lost *flowpulse_rates(struct flowpulse *own, const struct run *run, const uint32_t *fault_of,
				       struct err *err);

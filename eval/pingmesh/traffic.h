/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows that a problem needs to show (traffic.c). */
#pragma once

#include "eval/pingmesh/case.h"

/*
 * Adds flows from as many NICs to other hosts that leave by a port from the problem's start to the end.
 * @param least  so many, or none: four at most
 * @param could  also those that leave by another port of equal cost
 * @return false: chance found too few
 */
bool pm_traffic(struct pm_case *c, const struct pm_problem *problem, uint32_t port, uint32_t least, bool could);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which partition of a fabric runs which node. Every partition computes it for itself, from the same scenario, with
 * the same result: the partitions compare a digest of it in the handshake.
 */
#pragma once

#include <stdint.h>

#include "common/err.h"
#include "scenario/scenario.h"

/*
 * Switches by the scenario's partitions groups, or, where there are none, by METIS: work (a switch's ports, twice those of
 * its hosts) evenly, with few boundary cables. A host is where the switch of its first port is, unless a group names
 * it.
 * @param partitions  2 to PARTITION_MAX
 * @param partition   set, [topo->nnodes]
 * @return 0, or negative errno with err set
 */
int division_make(const struct scenario *scenario, uint32_t partitions, uint32_t *partition, struct err *err);

/* "partition 1 (b, h2 and 1 more)", for people. @param buf  of DIVISION_NAME bytes. @return buf */
#define DIVISION_NAME 160
char *division_name(const struct topo *topo, const uint32_t *partition, uint32_t which, char *buf);

/* SPDX-License-Identifier: BSD-3-Clause */
/* From a scenario, or an ns-3 file, to a topology. */
#pragma once

#include <stdio.h>

#include "common/cfg/cfg.h"
#include "topo/topo.h"

/*
 * Builds the scenario's group "topology" by its kind, and checks it with topo_check(). The tree must outlive the
 * topology: nodes remember their places in the file.
 * @return 0, -EINVAL with file:line, value and what would be right, or -ENOMEM
 */
int topo_build(const struct cfg *cfg, struct topo **topo, struct err *err);

/* Tables of "topology" and "paths", for cfg_check(). Fills up to cap. @return how many there are */
size_t topo_tables(struct cfg_known *known, size_t cap);

/*
 * Converts an HPCC ns-3 topology file ("nodes switches links", switch ids, "src dst rate delay error_rate" lines) to a
 * scenario's group "topology" that gives the same network, node names and port numbers.
 * @return 0, -EINVAL (file:line, value and what would be right), -EIO or -ENOMEM
 */
int topo_import_ns3(const char *path, FILE *to, struct err *err);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The latest communication info of every RNIC (R-Pingmesh 4.1), in SQLite: in a file it survives the controller. One
 * controller at a time has the file.
 */
#pragma once

#include <stdint.h>

#include "common/err.h"
#include "common/wire/pingmesh_manage.h"

#define REGISTRY_IN_MEMORY ":memory:"

struct registry;

/*
 * @param path  a file, made if absent; REGISTRY_IN_MEMORY: none
 * @return 0; -ENOMEM, or -EIO with err naming the file: no registry, of another version, held by another controller, not to
 *         be written
 */
int registry_open(const char *path, struct registry **out, struct err *err);
void registry_close(struct registry *registry); /* also of NULL */

/*
 * Enters a host's RNICs, all or none, in place of the earlier entries of the same addresses.
 * @return 0 or -EIO with err
 */
int registry_put(struct registry *registry, uint32_t host, const struct pingmesh_rnic *rnics, uint32_t count,
		 struct err *err);

/*
 * @param rnic  set to the entry of an address; without an entry, to the address alone, with QPN 0
 * @return 0 or -EIO with err
 */
int registry_find(struct registry *registry, uint32_t ip, struct pingmesh_rnic *rnic, struct err *err);

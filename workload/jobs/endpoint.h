/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a rank is: a host's NIC. */
#pragma once

#include "common/cfg/cfg.h"
#include "topo/topo.h"

struct endpoint {
	uint32_t node;
	uint16_t nic; /* from 0 */
};

/*
 * "h3" or "h3:2" -> host node and NIC; without a number the first NIC.
 * @param where, key  of which the name is, for messages
 * @return 0, or -EINVAL with err set: unknown, a switch, a host without NIC
 */
int endpoint_find(const struct topo *topo, const char *name, const struct cfg_where *where, const char *key,
		  struct endpoint *endpoint, struct err *err);

/*
 * The ranks that a list names (names.h); every host of the topology at its first NIC if it is empty.
 * @param ranks  out: malloc'd, the caller's to free
 * @return 0, -ENOMEM, or -EINVAL with err set: unknown or repeated names, bad ranges
 */
int endpoint_list(const struct topo *topo, const struct cfg_strings *words, const struct cfg_where *where, const char *key,
		  struct endpoint **ranks, uint32_t *count, struct err *err);

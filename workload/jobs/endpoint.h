/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints: the NICs of hosts that ranks use. */
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
 * The ranks that a list names; every host of the topology at its first NIC if it is empty.
 * @param ranks  out: malloc'd, the caller's to free
 * @return 0, -ENOMEM, or -EINVAL with err set: unknown or repeated names, bad ranges
 */
int endpoint_list(const struct topo *topo, const struct cfg_strings *words, const struct cfg_where *where, const char *key,
		  struct endpoint **ranks, uint32_t *count, struct err *err);

/* Lists of names with ranges, as Slurm's hostlists have them: "h[0-3,8]" is h0, h1, h2, h3, h8. */

#define NAMES_MAX 65536 /* names that one list may stand for */
#define NAME_MAX_CHARS 64

struct name_list {
	char (*items)[NAME_MAX_CHARS];
	size_t count;
};

/*
 * Expands every range in order; of several ranges in one word the last varies fastest ("h[0-1]:[1-2]" is h0:1, h0:2,
 * h1:1, h1:2). Numbers keep the zeros in front that a range's first one has ("h[08-10]" is h08, h09, h10).
 * @param where, key  origin of the words, for messages
 * @param names       out; names_free() frees it, also after an error
 * @return 0, -ENOMEM, or -EINVAL with err set: a bracket without its partner, an empty or descending range, no number,
 *         too many or too long names
 */
int names_expand(const struct cfg_strings *words, const struct cfg_where *where, const char *key, struct name_list *names,
		 struct err *err);
void names_free(struct name_list *names);

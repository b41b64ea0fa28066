/* SPDX-License-Identifier: BSD-3-Clause */
/* Fault "slow-host": a host starts steps later than it could, as one that computes or is preempted does. */
#pragma once

#include "common/cfg/cfg.h"
#include "topo/topo.h"

#define SLOW_HOST_KIND "slow-host"

struct slow_host {
	struct cfg_where where;
	const char *host;
	int64_t collective, step; /* collective -1: all; step 0: every step */
	uint64_t delay_ps;
	uint32_t node; /* set by slow_host_resolve() */
};

extern const struct cfg_table slow_host_table;

/* Finds the host. @return 0 or -EINVAL with err set (file:line) */
int slow_host_resolve(struct slow_host *fault, const struct topo *topo, struct err *err);

struct slow_host_list {
	const struct slow_host *faults;
	size_t count;
};

/*
 * The step engine's start hook (steps/engine.h).
 * @param list  a struct slow_host_list
 * @return how much later this step of a rank at node starts: the sum over the faults that concern it
 */
uint64_t slow_host_delay_ps(const void *list, uint32_t node, uint32_t collective, uint32_t step);

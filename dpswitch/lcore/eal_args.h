/* SPDX-License-Identifier: BSD-3-Clause */
/* The arguments of DPDK's EAL: ours, and those that a user adds (--eal), which leave out what of ours they replace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "dpswitch/lcore/launch.h"

#define EAL_ARGS_MAX 64
#define EAL_TEXT_MAX 1024
#define EAL_NO_HUGEPAGES "ROCELAB_NO_HUGEPAGES" /* in the environment: they are left alone, however many are free */

struct eal_args {
	char *argv[EAL_ARGS_MAX + 1]; /* [argc], and NULL; into text */
	int argc;
	uint32_t memory_mb;
	bool huge;        /* in hugepages, of which so many are free */
	bool shares;      /* asked for by the user: others find it (--telemetry), where EAL makes its sockets */
	const char *user; /* what the user added; NULL: nothing */
	char text[EAL_TEXT_MAX];
	uint32_t used;
};

/*
 * @param map  of --lcores
 * @return 0, or -EINVAL with err set: too many words
 */
int eal_args_make(struct eal_args *args, const struct lcore_config *config, const char *map, struct err *err);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffer pools and profiles of a switch, as SONiC has them in config_db.json: BUFFER_POOL, BUFFER_PROFILE, BUFFER_PG and
 * BUFFER_QUEUE. A scenario without pools has the one pool of switch.buffer and switch.pfc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "common/err.h"

#define BUFFER_POOLS 8
#define BUFFER_PROFILES 64
#define BUFFER_MODE_INHERIT (-1)
#define BUFFER_CLASSES 7 /* 1 to 7: class 0 carries control, and has switch.control_queue */

struct buffer_pool_params {
	struct cfg_where where;
	const char *name;
	bool egress;
	int mode;                   /* enum pfc_model */
	uint64_t size_bytes;        /* shared: reserves and headroom are beside it */
	uint64_t shared_xoff_bytes; /* headroom that its groups share; 0: each has its own */
};

struct buffer_profile_params {
	struct cfg_where where;
	const char *name, *pool_name;
	uint64_t size_bytes; /* guaranteed, headroom not included */
	uint64_t xon_bytes, xon_offset_bytes;
	uint64_t xoff_bytes;      /* headroom of a group */
	int mode;                 /* enum pfc_model, or BUFFER_MODE_INHERIT: its pool's */
	int64_t dynamic_th;       /* alpha is 2 to the power of it */
	uint64_t static_th_bytes; /* 0: no limit but the pool */
	uint32_t pool;            /* index of its pool */
};

/* The profile of a class's groups (BUFFER_PG) or queues (BUFFER_QUEUE). */
struct buffer_row_params {
	struct cfg_where where;
	int64_t class;
	const char *profile_name;
	uint32_t profile; /* index: buffer_rows_resolve() */
};

struct buffer_rows {
	struct buffer_row_params rows[BUFFER_CLASSES]; /* [count] a class has one at most */
	size_t count;
};

/* Pools and profiles of a switch, which its ports share. */
struct switch_buffers {
	struct buffer_pool_params pools[BUFFER_POOLS];
	size_t npools;
	struct buffer_profile_params profiles[BUFFER_PROFILES];
	size_t nprofiles;
};

extern const struct cfg_table switch_pool_cfg, switch_profiles_cfg, switch_pg_cfg, switch_queue_cfg;
/* Tables of the same lists in the elements of "switches" and "ports". */
extern const struct cfg_table switches_pool_cfg, switches_profiles_cfg, switches_pg_cfg, switches_queue_cfg;
extern const struct cfg_table ports_pg_cfg, ports_queue_cfg;

/*
 * Binds lists of pools and profiles over those that there are: one of the same name replaces it.
 * @param group  the list's element; NULL: the lists of all switches
 * @param any    set if there is one in the lists
 * @return 0, -EINVAL or -ENOMEM with err set: a name that is there twice, a profile of a pool that is not there
 */
int buffers_bind(struct switch_buffers *buffers, const struct cfg *cfg, const struct cfg_where *group, bool *any,
		 struct err *err);
/*
 * Binds rows over those that there are: one of the same class replaces it.
 * @param table  of groups or queues, of all switches, one switch or a port
 * @return 0, -EINVAL or -ENOMEM with err set
 */
int buffer_rows_bind(struct buffer_rows *rows, const struct cfg *cfg, const struct cfg_where *group,
		     const struct cfg_table *table, struct err *err);
/*
 * Finds the profiles that rows name.
 * @param buffers  NULL: there is none, so a row is an error
 * @return 0, or -EINVAL with err set: a name that is none, a group in an egress pool, a queue in an ingress pool
 */
int buffer_rows_resolve(const struct switch_buffers *buffers, struct buffer_rows *groups, struct buffer_rows *queues,
			struct err *err);

/* @return the row of a class; NULL: there is none */
const struct buffer_row_params *buffer_row_of(const struct buffer_rows *rows, uint8_t class);

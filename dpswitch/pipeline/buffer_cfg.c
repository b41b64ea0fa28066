/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/pipeline/buffer_cfg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "dpswitch/queue/ingress.h"

static const struct cfg_choice sides[] = {
	{ .name = "ingress", .value = 0 },
	{ .name = "egress", .value = 1 },
	{ 0 },
};
static const struct cfg_choice modes[] = {
	{ .name = "dynamic", .value = PFC_DYNAMIC },
	{ .name = "static", .value = PFC_STATIC },
	{ 0 },
};
static const struct cfg_choice profile_modes[] = {
	{ .name = "inherit", .value = BUFFER_MODE_INHERIT },
	{ .name = "dynamic", .value = PFC_DYNAMIC },
	{ .name = "static", .value = PFC_STATIC },
	{ 0 },
};

/* A pool as it is bound: enumerations are int. */
struct pool_group {
	struct cfg_where where;
	const char *name;
	int side, mode;
	uint64_t size_bytes, xoff_bytes;
};

#define S struct pool_group
static const struct cfg_field pool_fields[] = {
	CFG_FIELD("name", CFG_STRING, offsetof(S, name), .doc = "Name, to which profiles refer"),
	CFG_FIELD("type", CFG_ENUM, offsetof(S, side), .choices = sides,
		  .doc = "ingress: of priority groups, for PFC; egress: of queues"),
	CFG_FIELD("size", CFG_BYTES, offsetof(S, size_bytes), .min = 1, .max = 1e12,
		  .doc = "Shared buffer; reserves and headroom are beside it"),
	CFG_FIELD("mode", CFG_ENUM, offsetof(S, mode), .def = "dynamic", .choices = modes,
		  .doc = "Mode of profiles that inherit it. dynamic: a profile's limit is alpha x free pool (dynamic_th); "
			 "static: it is "
			 "in bytes (static_th)"),
	CFG_FIELD("xoff", CFG_BYTES, offsetof(S, xoff_bytes), .def = "0", .max = 1e12,
		  .doc = "ingress: shared headroom pool, from which all its groups take the xoff of their profiles; it may "
			 "be "
			 "less than their sum. 0: each group has its own"),
};
#undef S

#define S struct buffer_profile_params
static const struct cfg_field profile_fields[] = {
	CFG_FIELD("name", CFG_STRING, offsetof(S, name), .doc = "Name, to which buffer_pg and buffer_queue refer"),
	CFG_FIELD("pool", CFG_STRING, offsetof(S, pool_name), .doc = "Name of its pool"),
	CFG_FIELD("size", CFG_BYTES, offsetof(S, size_bytes), .def = "0", .max = 1e9,
		  .doc = "Guaranteed to a group or queue, headroom not included"),
	CFG_FIELD("xon", CFG_BYTES, offsetof(S, xon_bytes), .def = "0", .max = 1e9,
		  .doc = "RESUME when a group holds no more than this, whatever the threshold is"),
	CFG_FIELD("xon_offset", CFG_BYTES, offsetof(S, xon_offset_bytes), .def = "0", .max = 1e9,
		  .doc = "RESUME this far below the threshold"),
	CFG_FIELD("xoff", CFG_BYTES, offsetof(S, xoff_bytes), .def = "0", .max = 1e9,
		  .doc = "Headroom of a group of a lossless class: what still arrives when its peer has been paused"),
	CFG_FIELD("mode", CFG_ENUM, offsetof(S, mode), .def = "inherit", .choices = profile_modes,
		  .doc = "Mode of its threshold, which overrides the pool's (SAI_BUFFER_PROFILE_ATTR_THRESHOLD_MODE)"),
	CFG_FIELD("dynamic_th", CFG_INT, offsetof(S, dynamic_th), .def = "0", .min = -8, .max = 8,
		  .doc = "Mode dynamic: alpha is 2 to the power of this"),
	CFG_FIELD("static_th", CFG_BYTES, offsetof(S, static_th_bytes), .def = "0", .max = 1e12,
		  .doc = "Mode static: limit above the guaranteed bytes; 0: the pool alone limits it"),
};
#undef S

#define S struct buffer_row_params
static const struct cfg_field row_fields[] = {
	CFG_FIELD("class", CFG_INT, offsetof(S, class), .min = 1, .max = 7, .doc = "Data class"),
	CFG_FIELD("profile", CFG_STRING, offsetof(S, profile_name), .doc = "Name of its profile"),
};
#undef S

#define TABLE(name, path_, of, fields_, words_, doc_)                                                                      \
	const struct cfg_table name = { .path = (path_),                                                                   \
					.doc = (doc_),                                                                     \
					.list = true,                                                                      \
					.size = sizeof(struct of),                                                         \
					.fields = (fields_),                                                               \
					.nfields = ARRAY_LEN(fields_),                                                     \
					.words = (words_) };

#define ROW_WORDS "class profile"

TABLE(switch_pool_cfg, "switch.buffer_pool", pool_group, pool_fields, NULL,
      "Buffer pools, as SONiC's BUFFER_POOL; absent: one pool, by `switch.buffer` and `switch.pfc`.")
TABLE(switch_profiles_cfg, "switch.buffer_profile", buffer_profile_params, profile_fields, NULL,
      "How a priority group or a queue uses its pool, as SONiC's BUFFER_PROFILE.")
TABLE(switch_pg_cfg, "switch.buffer_pg", buffer_row_params, row_fields, ROW_WORDS,
      "Profiles of priority groups, as SONiC's BUFFER_PG. With pools, every class with PFC needs one; a class without PFC "
      "that has one drops at its ingress what does not fit (no_buffer).")
TABLE(switch_queue_cfg, "switch.buffer_queue", buffer_row_params, row_fields, ROW_WORDS,
      "Profiles of egress queues, as SONiC's BUFFER_QUEUE. What exceeds the limit is dropped (queue_full); a class without "
      "one keeps `switch.lossy_queue`, or with PFC no limit.")
TABLE(switches_pool_cfg, "switches.buffer_pool", pool_group, pool_fields, NULL,
      "Buffer pools of these switches: one of the same name is replaced.")
TABLE(switches_profiles_cfg, "switches.buffer_profile", buffer_profile_params, profile_fields, NULL,
      "Buffer profiles of these switches: one of the same name is replaced.")
TABLE(switches_pg_cfg, "switches.buffer_pg", buffer_row_params, row_fields, ROW_WORDS,
      "Profiles of priority groups of these switches.")
TABLE(switches_queue_cfg, "switches.buffer_queue", buffer_row_params, row_fields, ROW_WORDS,
      "Profiles of egress queues of these switches.")
TABLE(ports_pg_cfg, "ports.buffer_pg", buffer_row_params, row_fields, ROW_WORDS,
      "Profiles of priority groups at these ports.")
TABLE(ports_queue_cfg, "ports.buffer_queue", buffer_row_params, row_fields, ROW_WORDS,
      "Profiles of egress queues at these ports.")

static int
bind_rows(const struct cfg *cfg, const struct cfg_where *group, const struct cfg_table *table, void **rows, size_t *count,
	  struct err *err)
{
	*rows = NULL;
	*count = 0;
	return group != NULL ? cfg_bind_list_in(cfg, group, table, rows, count, err)
			     : cfg_bind_list(cfg, table, NULL, rows, count, err);
}

static int
put_pools(struct switch_buffers *buffers, const struct pool_group *rows, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = 0;

		for (size_t j = 0; j < i; j++)
			if (strcmp(rows[j].name, rows[i].name) == 0)
				return cfg_fail(&rows[i].where, "name", err, "\"%s\" is an earlier pool: one name a pool",
						rows[i].name);
		while (at < buffers->npools && strcmp(buffers->pools[at].name, rows[i].name) != 0)
			at++;
		if (at == BUFFER_POOLS)
			return cfg_fail(&rows[i].where, "name", err, "\"%s\": a switch has %d pools at most", rows[i].name,
					BUFFER_POOLS);
		if (rows[i].xoff_bytes != 0 && rows[i].side != 0)
			return cfg_fail(&rows[i].where, "xoff", err,
					"headroom is of ingress: leave it out of an egress pool");
		buffers->pools[at] = (struct buffer_pool_params){ .where = rows[i].where,
								  .name = rows[i].name,
								  .egress = rows[i].side != 0,
								  .mode = rows[i].mode,
								  .size_bytes = rows[i].size_bytes,
								  .shared_xoff_bytes = rows[i].xoff_bytes };
		buffers->npools += at == buffers->npools;
	}
	return 0;
}

static int
put_profiles(struct switch_buffers *buffers, const struct buffer_profile_params *rows, size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = 0;

		for (size_t j = 0; j < i; j++)
			if (strcmp(rows[j].name, rows[i].name) == 0)
				return cfg_fail(&rows[i].where, "name", err,
						"\"%s\" is an earlier profile: one name a profile", rows[i].name);
		while (at < buffers->nprofiles && strcmp(buffers->profiles[at].name, rows[i].name) != 0)
			at++;
		if (at == BUFFER_PROFILES)
			return cfg_fail(&rows[i].where, "name", err, "\"%s\": a switch has %d profiles at most",
					rows[i].name, BUFFER_PROFILES);
		buffers->profiles[at] = rows[i];
		buffers->nprofiles += at == buffers->nprofiles;
	}
	return 0;
}

/* A RESUME above the bytes at which the group pauses would follow each PAUSE at once. */
static int
check_xon(const struct buffer_profile_params *profile, int mode, struct err *err)
{
	uint64_t xoff = profile->size_bytes + profile->static_th_bytes;

	if (mode != PFC_STATIC || profile->static_th_bytes == 0)
		return 0;
	if (profile->xon_bytes > xoff)
		return cfg_fail(
			&profile->where, "xon", err,
			"found %llu B, and the group pauses at size + static_th, %llu B: at most that would be right",
			(unsigned long long)profile->xon_bytes, (unsigned long long)xoff);
	if (profile->xon_offset_bytes > xoff)
		return cfg_fail(
			&profile->where, "xon_offset", err,
			"found %llu B, and the group pauses at size + static_th, %llu B: at most that would be right",
			(unsigned long long)profile->xon_offset_bytes, (unsigned long long)xoff);
	return 0;
}

/* Refuses keys of a profile that have no effect in its pool. @return 0 or -EINVAL with err set */
static int
check_profile(const struct buffer_profile_params *profile, const struct buffer_pool_params *pool, struct err *err)
{
	const char *of_groups = profile->xoff_bytes != 0         ? "xoff"
				: profile->xon_bytes != 0        ? "xon"
				: profile->xon_offset_bytes != 0 ? "xon_offset"
								 : NULL;
	int mode = profile->mode != BUFFER_MODE_INHERIT ? profile->mode : pool->mode;
	const char *of = profile->mode != BUFFER_MODE_INHERIT ? "the profile" : "its pool";

	if (pool->egress && of_groups != NULL)
		return cfg_fail(&profile->where, of_groups, err,
				"PFC is of ingress, and pool \"%s\" is of egress: leave it out", profile->pool_name);
	if (mode == PFC_STATIC && profile->dynamic_th != 0)
		return cfg_fail(
			&profile->where, "dynamic_th", err,
			"found %lld, and %s has mode = \"static\": static_th, or mode = \"dynamic\", would be right",
			(long long)profile->dynamic_th, of);
	if (mode == PFC_DYNAMIC && profile->static_th_bytes != 0)
		return cfg_fail(
			&profile->where, "static_th", err,
			"found %llu B, and %s has mode = \"dynamic\": dynamic_th, or mode = \"static\", would be right",
			(unsigned long long)profile->static_th_bytes, of);
	return check_xon(profile, mode, err);
}

static int
find_pools(struct switch_buffers *buffers, struct err *err)
{
	for (size_t i = 0; i < buffers->nprofiles; i++) {
		struct buffer_profile_params *profile = &buffers->profiles[i];
		uint32_t at = 0;

		while (at < buffers->npools && strcmp(buffers->pools[at].name, profile->pool_name) != 0)
			at++;
		if (at == buffers->npools)
			return cfg_fail(&profile->where, "pool", err, "\"%s\" is no buffer_pool of this switch",
					profile->pool_name);
		profile->pool = at;
		if (check_profile(profile, &buffers->pools[at], err) < 0)
			return -EINVAL;
	}
	return 0;
}

int
buffers_bind(struct switch_buffers *buffers, const struct cfg *cfg, const struct cfg_where *group, bool *any,
	     struct err *err)
{
	size_t npools, nprofiles = 0;
	void *pools, *profiles = NULL;
	int ret = bind_rows(cfg, group, group != NULL ? &switches_pool_cfg : &switch_pool_cfg, &pools, &npools, err);

	ret = ret == 0 ? bind_rows(cfg, group, group != NULL ? &switches_profiles_cfg : &switch_profiles_cfg, &profiles,
				   &nprofiles, err)
		       : ret;
	ret = ret == 0 ? put_pools(buffers, pools, npools, err) : ret;
	ret = ret == 0 ? put_profiles(buffers, profiles, nprofiles, err) : ret;
	ret = ret == 0 ? find_pools(buffers, err) : ret;
	*any = npools + nprofiles != 0;
	free(pools);
	free(profiles);
	return ret;
}

int
buffer_rows_bind(struct buffer_rows *rows, const struct cfg *cfg, const struct cfg_where *group,
		 const struct cfg_table *table, struct err *err)
{
	const struct buffer_row_params *given;
	size_t count;
	void *bound;
	int ret = bind_rows(cfg, group, table, &bound, &count, err);

	given = bound;
	for (size_t i = 0; ret == 0 && i < count; i++) {
		size_t at = 0;

		for (size_t j = 0; ret == 0 && j < i; j++)
			if (given[j].class == given[i].class)
				ret = cfg_fail(&given[i].where, "class", err, "%d is in an earlier row: one row a class",
					       (int)given[i].class);
		while (at < rows->count && rows->rows[at].class != given[i].class)
			at++;
		if (ret == 0) {
			rows->rows[at] = given[i];
			rows->count += at == rows->count;
		}
	}
	free(bound);
	return ret;
}

static int
resolve_rows(const struct switch_buffers *buffers, struct buffer_rows *rows, bool egress, struct err *err)
{
	for (size_t i = 0; i < rows->count; i++) {
		struct buffer_row_params *row = &rows->rows[i];
		size_t at = 0, count = buffers != NULL ? buffers->nprofiles : 0;

		while (at < count && strcmp(buffers->profiles[at].name, row->profile_name) != 0)
			at++;
		if (at == count)
			return cfg_fail(&row->where, "profile", err, "\"%s\" is no buffer_profile of this switch",
					row->profile_name);
		if (buffers->pools[buffers->profiles[at].pool].egress != egress)
			return cfg_fail(&row->where, "profile", err,
					"\"%s\" is of pool \"%s\", of type %s: a profile of an %s pool would be right",
					row->profile_name, buffers->profiles[at].pool_name, egress ? "ingress" : "egress",
					egress ? "egress" : "ingress");
		row->profile = (uint32_t)at;
	}
	return 0;
}

int
buffer_rows_resolve(const struct switch_buffers *buffers, struct buffer_rows *groups, struct buffer_rows *queues,
		    struct err *err)
{
	int ret = resolve_rows(buffers, groups, false, err);

	return ret == 0 ? resolve_rows(buffers, queues, true, err) : ret;
}

const struct buffer_row_params *
buffer_row_of(const struct buffer_rows *rows, uint8_t class)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].class == class)
			return &rows->rows[i];
	return NULL;
}

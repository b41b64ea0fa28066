/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives whose schedule is in a file: the group "schedule" of a collective. */
#pragma once

#include "collectives/data.h"
#include "collectives/schedule.h"
#include "common/cfg/cfg.h"
#include "workload/config.h"

/* Tables of its kinds, for cfg_check(). Fills up to cap. @return how many there are */
size_t plan_file_tables(struct cfg_known *known, size_t cap);

/* @return whether the collective has one */
bool plan_has_file(const struct collective_config *config);

/*
 * What the group says of it by itself, and keys of the collective that a file leaves no room for.
 * @return 0 or -EINVAL with err set: file:line, the value, what would be right
 */
int plan_file_check(const struct collective_config *config, struct err *err);

/*
 * Reads the file that the group names.
 * @param cfg    that the collective is of
 * @param ranks  it has to be of so many
 * @param type   out: elements are bytes where the file counts in those; else left as it is
 * @return NULL with err set
 */
struct coll_schedule *plan_file_read(const struct cfg *cfg, const struct collective_config *config, uint32_t ranks,
				     enum coll_type *type, struct err *err);

/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of kinds of which more is to be said than of each field: the rows of cross.c's table that stand in other files. */
#pragma once

#include "common/record/kinds.h"
#include "common/record/known.h"

/* @return 0, or -EINVAL with err */
typedef int record_cross_fn(struct record_check *check, const void *rec, struct err *err);

record_cross_fn record_check_probe, record_check_hop, record_check_rnic, record_check_upload, record_check_connection,
	record_check_heard, record_check_traced, record_check_traced_hop, record_check_round;

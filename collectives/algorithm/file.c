/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules that files hold (collectives/import/): none is made here. */
#include "collectives/algorithm/algorithm.h"

const struct coll_algorithm_ops coll_file = { 0 };

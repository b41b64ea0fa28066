/* SPDX-License-Identifier: BSD-3-Clause */
/* How the steps of one run differ from those of another of the same packets, by their steps.csv. */
#pragma once

#include <stdint.h>

#include "common/err.h"

struct systems_steps {
	uint64_t steps, changed; /* that both have; that took another time */
	double sum_ns;           /* of all changes: the longer they take, the more */
	double most_ns;          /* the largest change, whatever its sign */
};

/* @return 0, or -EINVAL with err: one cannot be read, or is of other steps */
int systems_steps(const char *dir, const char *quiet_dir, struct systems_steps *steps, struct err *err);

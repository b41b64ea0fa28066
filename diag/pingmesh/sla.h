/* SPDX-License-Identifier: BSD-3-Clause */
/* SLAs of both networks: by period, of the whole run, and of each server that services use (R-Pingmesh 5, 7.4). */
#pragma once

#include "diag/pingmesh/judge.h"

/* After all periods are judged. Sets them in j->own. @return 0 or -ENOMEM with j->err */
int sla_measure(struct judging *j);

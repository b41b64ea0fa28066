/* SPDX-License-Identifier: BSD-3-Clause */
/* Throughput between hosts, as their steps report it: Fig. 3(a) of the paper. */
#pragma once

#include "diag/flowtracer/section.h"

/* Sets own->pairs, of flows whose ways were traced. @return 0 or -ENOMEM with err */
int flowtracer_pairs(struct flowtracer *own, const struct run *run, struct err *err);

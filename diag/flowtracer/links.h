/* SPDX-License-Identifier: BSD-3-Clause */
/* How many flows each link carries, in layers, and how far that is from even: III-C of the paper. */
#pragma once

#include "diag/flowtracer/section.h"

/* Of the round that is shown: sets layers, links, and the metric over all. @return 0 or -ENOMEM with err */
int flowtracer_links(struct flowtracer *own, const struct run *run, struct err *err);

/* SPDX-License-Identifier: BSD-3-Clause */
/* What the way of flows cost jobs: links on which they met while others of equal cost had room. */
#pragma once

#include "diag/flowtracer/section.h"

/* Sets own->collisions, by their links, and cost_ps. @return 0 or -ENOMEM with err */
int flowtracer_collisions(struct flowtracer *own, const struct run *run, struct err *err);

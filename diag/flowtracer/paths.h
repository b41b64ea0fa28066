/* SPDX-License-Identifier: BSD-3-Clause */
/* The ways of flows, put together of what was told of their hops. */
#pragma once

#include "diag/collect/evidence.h"
#include "diag/flowtracer/section.h"

/* Sets own->paths, hops, rounds and shown. @return 0 or -ENOMEM with err */
int flowtracer_paths(struct flowtracer *own, const struct evidence *ev, const struct run *run, struct err *err);

/* @return the way of a flow as it was known last before a time, else as it was first; NULL: it was never traced */
const struct flowtracer_path *flowtracer_path_of(const struct flowtracer *own, uint32_t flow, uint64_t time_ps);

/* SPDX-License-Identifier: BSD-3-Clause */
/* Between the files that compose the verdict only: each fills its part, in this order. @return 0 or negative errno */
#pragma once

#include "diag/collect/evidence.h"
#include "diag/verdict.h"

/* Run, nodes, ports with activity, flows, hops, drops. */
int verdict_fill_fabric(struct verdict *v, const struct evidence *ev, struct err *err);
/* Collectives, steps, waiting graphs. */
int verdict_fill_steps(struct verdict *v, const struct evidence *ev, struct err *err);
/* Detections, polls, notifications, gaps. */
int verdict_fill_events(struct verdict *v, const struct evidence *ev, struct err *err);
/* Provenance graphs, scores, findings, contributors. */
int verdict_explain(struct verdict *v, const struct evidence *ev, const struct verdict_options *options, struct err *err);
/* Overhead, completeness, and what they and the findings say about the network. */
int verdict_account(struct verdict *v, const struct evidence *ev, struct err *err);
void verdict_conclude(struct verdict *v, const struct evidence *ev);

/* calloc() of at least one element, with the error told. */
void *verdict_alloc(size_t count, size_t size_bytes, struct err *err);

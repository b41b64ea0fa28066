/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the parts of the symbolic check: check.c goes through the steps, races.c orders accesses, values.c moves data. */
#pragma once

#include "collectives/proof/cells.h"
#include "collectives/proof/graph.h"

/* Of each step by itself: peers, chunks, dependencies that exist. @return 0 or -EINVAL with err naming rank and step */
int coll_schedule_check_form(const struct coll_schedule *schedule, struct err *err);

/* Every access to every cell, ordered by vector clocks. */
struct races;

struct races *races_create(const struct graph *graph, const struct cells *cells);
void races_destroy(struct races *races);
/* To be called for each step in the graph's order. @return 0, -ENOMEM, -EINVAL with err set */
int races_step(struct races *races, uint32_t step, struct err *err);

/* Whose contribution to which element is in which cell. */
struct values;

struct values *values_create(const struct graph *graph, const struct cells *cells);
void values_destroy(struct values *values);
/* Executes one step. @return 0 or -EINVAL with err set */
int values_step(struct values *values, uint32_t step, struct err *err);
/* After the last step: does every rank have what the operation promises? @return 0 or -EINVAL with err set */
int values_complete(const struct values *values, struct err *err);

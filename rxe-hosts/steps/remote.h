/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The step engine of a host that runs elsewhere: holds the reports of its program, so that results read the same
 * (step_engine_rows(), step_engines_result()). It has no device and is never started.
 */
#pragma once

#include "common/wire/manage.h"
#include "rxe-hosts/steps/engine.h"

/* @return NULL with err set and errno ENOMEM */
struct step_engine *step_engine_create_remote(const struct plan *plan, uint32_t node, struct err *err);

/* A finished or open step, or a background flow (struct manage_step). @return false: not of this host's plan */
bool step_engine_put_step(struct step_engine *engine, const struct manage_step *step);
/* What became of an iteration of one of its ranks. @return false: not of this host's plan */
bool step_engine_put_iteration(struct step_engine *engine, const struct manage_iteration *iteration);
/* When a flow that no collective sends began and ended (step_engine_flow()). @return false: this host has no such flow */
bool step_engine_put_flow(struct step_engine *engine, size_t index, const struct flow_row *row);
void step_engine_put_unexpected(struct step_engine *engine, uint64_t messages);

/* The same of an engine that ran here, to be sent. @param index  below step_engine_rows() */
struct manage_step step_engine_get_step(const struct step_engine *engine, size_t index);
/* Iterations of all ranks of this host. */
size_t step_engine_iterations(const struct step_engine *engine);
struct manage_iteration step_engine_get_iteration(const struct step_engine *engine, size_t index);

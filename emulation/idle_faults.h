/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Faults that changed nothing in a run: whoever looks for them in its verdict should know. The diagnosis does not; it sees
 * no faults at all.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "emulation/emulation.h"

/* For struct fault_env. @param ctx  a struct emulation  @param port  global id */
bool idle_faults_crosses(void *ctx, uint32_t port);
uint64_t idle_faults_held_ps(void *ctx, uint32_t port);
uint64_t idle_faults_steps_begun(void *ctx, uint32_t node, int64_t collective, int64_t step);

/* "FILE:LINE: loss at a0:1 never acted: no frame was lost", one a fault, for run.json. After emulation_end() */
json_t *idle_faults_json(const struct emulation *emulation);

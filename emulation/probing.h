/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh in a run: an agent a host, one controller, and the network of management between them. */
#pragma once

#include "emulation/emulation.h"

/* The controller. @return 0; -ENOMEM or -EIO with err */
int probing_create(struct emulation *emulation, struct err *err);
void probing_destroy(struct emulation *emulation);
/* A host's agent, started over its device. @return NULL with errno ENOMEM; with errno 0: R-Pingmesh is off */
struct probe_agent *probing_agent(struct emulation *emulation, uint32_t node);
/* Between windows: what agents asked gets its answer, in the order of time and hosts. */
void probing_exchange(struct emulation *emulation);
/* struct fault_env.load_cpu, .cpu_overloaded */
void probing_load(void *run, uint32_t node, uint64_t load_ps);
uint64_t probing_overloaded(void *run, uint32_t node);
/* struct fault_env.stop_agent, .agent_deaths */
void probing_stop(void *run, uint32_t node, bool stop, uint64_t now_ps);
uint64_t probing_deaths(void *run, uint32_t node);

/* SPDX-License-Identifier: BSD-3-Clause */
/* R-Pingmesh in a run: an agent a host, one controller, and the network of management between them. */
#pragma once

#include "emulation/service.h"
#include "operator/controller/controller.h"

struct preflight;
struct probe_agent;

extern const struct run_service service_pingmesh;

/*
 * Starts the agent of an embedded host over its device.
 * @param agent  set to it; NULL: R-Pingmesh is off
 * @return 0, or -ENOMEM with err set
 */
int probing_start_agent(struct emulation *emulation, uint32_t node, struct probe_agent **agent, struct err *err);
/* NULL: R-Pingmesh is off, or the node is no embedded host. */
struct probe_agent *probing_agent(const struct emulation *emulation, uint32_t node);
/*
 * A request of the agent of a kernel host here, which arrived over its management channel.
 * @param request  [size] aligned to 8 bytes
 * @return the controller's reply, valid until the next request; size 0: R-Pingmesh is off
 */
struct controller_reply probing_answer(struct emulation *emulation, uint32_t node, const void *request, size_t size,
				       uint64_t now_ps);

/* A check of preflight: probes that take much of a link. */
int probing_preflight(struct preflight *c);

/* struct fault_env.load_cpu, .cpu_overloaded */
void probing_load(void *run, uint32_t node, uint64_t load_ps);
uint64_t probing_overloaded(void *run, uint32_t node);
/* struct fault_env.stop_agent, .agent_deaths */
void probing_stop(void *run, uint32_t node, bool stop, uint64_t now_ps);
uint64_t probing_deaths(void *run, uint32_t node);

/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps of loading a scenario, and the tables of its own groups; used by the files of this folder. */
#pragma once

#include "common/cfg/cfg.h"
#include "scenario/scenario.h"

struct plan_probe;

extern const struct cfg_table scenario_root_cfg, timing_cfg, routing_cfg, limits_cfg, telemetry_cfg, counters_cfg, host_cfg,
	source_ports_cfg, management_cfg, partition_cfg;

/* Refuses features that equate a host's port with its address, where hosts have bonds. @return 0 or -EINVAL */
int scenario_check_bonds(const struct scenario *sc, struct err *err);

/* Gives flows the source ports of the list "source_ports", once the plan is known. @return 0, -EINVAL, -ENOMEM */
int scenario_move_ports(struct scenario *sc, struct err *err);

/* The scenario of a tree, which it takes over. @return NULL with err and errno set */
struct scenario *scenario_of(struct cfg *cfg, struct err *err);
/* Is the information present by which the tracer is configured to identify flows? @return 0 or -EINVAL */
int scenario_check_tracer(const struct scenario *sc, struct err *err);
/* The key "diagnosers": names of scenario/systems.h, each once. @return 0 or -EINVAL */
int scenario_check_systems(const struct scenario *sc, struct err *err);
/*
 * Faults, and routes without the cables that are known to be down, once the topology is known.
 * @return 0, -EINVAL, -ENOMEM
 */
int scenario_load_faults(struct scenario *sc, struct err *err);
/* Refuses faults that cannot act, once the plan is known. @return 0, -EINVAL, -ENOMEM */
int scenario_check_faults(const struct scenario *sc, struct err *err);
/* Who runs each host, once the topology is known: fills sc->hosts and decides the clock. @return 0, -EINVAL, -ENOMEM */
int scenario_resolve_hosts(struct scenario *sc, struct err *err);
/* Frees the result of scenario_resolve_hosts(). */
void scenario_forget_hosts(struct scenario *sc);
/*
 * Does the run stay within limits.memory? Of what has its size by now: of the steps alone, before the plan is made, and of
 * all, once it is. @return 0 or -EINVAL
 */
int scenario_check_steps(const struct scenario *sc, struct err *err);
int scenario_check_memory(const struct scenario *sc, struct err *err);
/*
 * Sets the fields that switches hash, by the hosts' IP version. Before the network is made. @return 0, or -EINVAL with
 * err set
 */
int scenario_resolve_ip(struct scenario *sc, struct err *err);
/* Can packets carry telemetry of their path, where host.cc needs it? Once the plan is known. @return 0 or -EINVAL */
int scenario_prepare_inband(struct scenario *sc, struct err *err);
/* Whom agents of R-Pingmesh will ever probe, once hosts are known. @param probes  out: owned; NULL: there are no agents */
int scenario_plan_probes(struct scenario *sc, struct plan_probe **probes, uint32_t *nprobes, struct err *err);
/* Whether hosts and switches support measured collectives, once the plan is known. @return 0 or -EINVAL */
int scenario_check_measured(const struct scenario *sc, struct err *err);
/* Refuses features that kernel hosts lack, once the plan is known. @return 0 or -EINVAL */
int scenario_check_hosts(const struct scenario *sc, struct err *err);

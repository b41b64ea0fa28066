/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults of hosts and their programs (dpswitch/faults/fault.h). */
#pragma once

#include "dpswitch/faults/fault.h"

/* All kinds of faults at hosts, NULL-terminated. */
extern const struct fault_ops *const host_faults[];

/* Functions shared by faults at a host's NIC: their struct begins with struct fault_at_port. */

#define FAULT_AT_NIC_FIELD FAULT_AT_PORT_FIELD("The NIC, \"host:port\", of an embedded host")

/* The keys of a fault that is at a NIC and no more: [FAULT_AT_NIC_FIELDS] */
#define FAULT_AT_NIC_FIELDS 6
extern const struct cfg_field fault_at_nic_fields[FAULT_AT_NIC_FIELDS];
#define FAULT_AT_NIC_TABLE(meaning)                                                                                        \
	{                                                                                                                  \
		.path = "faults", .doc = meaning, .list = true, .size = sizeof(struct fault_at_port),                      \
		.fields = fault_at_nic_fields, .nfields = FAULT_AT_NIC_FIELDS                                              \
	}

/* struct fault_ops.resolve, .check, .met of such a fault */
int fault_at_nic_resolve(void *params, const struct topo *topo, struct err *err);
int fault_at_nic_check(const void *params, const struct fault_work *work, struct err *err);
uint64_t fault_at_nic_affected(const void *params, const struct fault_env *env);
/* A NIC begins or stops to fail so. */
void fault_at_nic_fail(const struct fault_at_port *fault, const struct fault_env *env, enum nic_failure failure, bool on);
void fault_at_nic_slow(const struct fault_at_port *fault, const struct fault_env *env, enum nic_dma_cause cause,
		       const struct nic_dma *dma);

/* Refuses a host with a kernel of its own, whose NIC the emulation cannot break. @return 0 or -EINVAL */
int fault_of_embedded(const struct fault_common *common, const struct fault_work *work, uint32_t node, const char *key,
		      const char *name, struct err *err);

/* SPDX-License-Identifier: BSD-3-Clause */
/* What faults have in common that are at a switch and concern all packets for one host: struct fault_at_route. */
#pragma once

#include "dpswitch/faults/fault.h"

struct fault_at_route {
	struct fault_common common;
	const char *sw, *dst;
	uint32_t sw_id, dst_id; /* set by fault_at_route_resolve() */
};

/* The keys of such a fault: [FAULT_AT_ROUTE_FIELDS] */
#define FAULT_AT_ROUTE_FIELDS 7
extern const struct cfg_field fault_at_route_fields[FAULT_AT_ROUTE_FIELDS];
#define FAULT_AT_ROUTE_TABLE(meaning)                                                                                      \
	{                                                                                                                  \
		.path = "faults", .doc = meaning, .list = true, .size = sizeof(struct fault_at_route),                     \
		.fields = fault_at_route_fields, .nfields = FAULT_AT_ROUTE_FIELDS                                          \
	}

/* struct fault_ops.resolve, .target, .met of such a fault */
int fault_at_route_resolve(void *params, const struct topo *topo, struct err *err);
void fault_at_route_target(const void *params, const struct topo *topo, char *buf);
uint64_t fault_at_route_affected(const void *params, const struct fault_env *env);
/* The switch drops packets for the host, or does so no longer. */
void fault_at_route_deny(const struct fault_at_route *fault, const struct fault_env *env, enum rec_drop reason, bool on);

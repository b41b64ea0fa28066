/* SPDX-License-Identifier: BSD-3-Clause */
/* The UDP source ports by which a host is to send datagrams: those of the flows that start here, and of replies to those that end here. */
#pragma once

#include <stdint.h>

#include "common/flow.h"

#define VERBS_NO_PORT UINT32_MAX
/* Of so many numbers that follow each other each port has at least one, when a port is a hash of the number (label.h). */
#define VERBS_PORTS_WALK 32768u

struct verbs_ports {
	uint16_t *sports; /* [count] rising */
	uint32_t count;
};

/* @return 0 or -ENOMEM */
int verbs_ports_init(struct verbs_ports *ports, const struct flow_table *flows, uint32_t node);
void verbs_ports_fini(struct verbs_ports *ports);
/* @return its index; VERBS_NO_PORT: it is none of them */
uint32_t verbs_ports_find(const struct verbs_ports *ports, uint16_t sport);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows that no collective sends: the scenario's generators draw them from their distributions. Open loop: the arrival
 * of a flow does not depend on the progress of earlier ones. Every (generator, sending host) has random numbers of its
 * own, seeded by their names. Removing one changes no other's times and sizes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/cfg/cfg.h"
#include "topo/topo.h"

#define TRAFFIC_MAX_FLOWS 1000000u
#define TRAFFIC_MAX_GENERATORS 32

struct generator;
struct generator_ops;

/* One message from one host to another, once. */
struct traffic_flow {
	uint64_t start_ps, bytes;
	uint32_t src_node, dst_node;
	uint16_t src_nic, dst_nic;
	uint32_t generator; /* index into traffic.generators */
};

struct traffic {
	const struct topo *topo;
	const struct generator_ops *ops[TRAFFIC_MAX_GENERATORS];
	struct generator *generators[TRAFFIC_MAX_GENERATORS];
	uint32_t ngenerators;
	struct traffic_flow *flows; /* generator by generator, and sender by sender in order of time */
	size_t nflows, cap;
	uint64_t seed; /* the run's */
	void **blocks; /* results of cfg_bind_list(), by kind */
};

/*
 * Reads the list "generators", and makes its flows.
 * @param seed  the run's
 * @return traffic, perhaps without any; NULL with err (file:line, value, the remedy) and errno
 */
struct traffic *traffic_load(const struct cfg *cfg, const struct topo *topo, uint64_t seed, struct err *err);
void traffic_destroy(struct traffic *traffic);

/*
 * Would a generator that is switched off send from one host to another? @param traffic  a struct traffic: a
 * route_quiet_check
 */
bool traffic_is_quiet(const void *traffic, uint32_t src_node, uint32_t dst_node);

/* A table each kind of generator, for the reference. @return count */
size_t traffic_tables(struct cfg_known *known, size_t cap);

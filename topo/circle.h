/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Circles of buffer dependency: ports that wait for each other where every switch pauses the one before it. A port
 * depends on the next port of a path: if the latter is paused, the buffer between them fills, and the former is paused
 * (Dally and Seitz 1987; Hu et al., "Deadlocks in Datacenter Networks", HotNets 2016). Routes that go up and then down
 * have none.
 */
#pragma once

#include <stdint.h>

#include "topo/route.h"
#include "topo/topo.h"

struct dependencies;

/* @return NULL with errno ENOMEM. topo must outlive it */
struct dependencies *dependencies_create(const struct topo *topo);
void dependencies_destroy(struct dependencies *dependencies);

/* Adds the dependencies of all packets between hosts, by every port of equal cost. @return 0 or -ENOMEM */
int dependencies_add_routes(struct dependencies *dependencies, const struct route_table *routes);
/* Adds the dependencies of one path, which a pin may lead off the routes. */
void dependencies_add_path(struct dependencies *dependencies, const struct route_path *path);
/* Removes the dependencies of an egress port that the switch behind it never pauses. Called after all were added. */
void dependencies_remove(struct dependencies *dependencies, uint32_t port);

/*
 * Finds a circle.
 * @param ports  [cap] out: global ids of its egress ports in order, as many as fit
 * @return how many ports it has; 0: there is none; -ENOMEM
 */
int dependencies_circle(const struct dependencies *dependencies, uint32_t *ports, uint32_t cap);

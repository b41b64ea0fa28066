/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes after a link went down or up. The switches at its ends see it at once and do not need this; all others know it
 * a while later: once a cable between two switches, or of a bond, has stayed as it is for that long, the routes of all
 * switches change at the same instant. A pure function of when cables change.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "topo/route.h"

struct convergence;

/*
 * @param rule      of the routes
 * @param after_ps   from a change to the routes that know it; 0: at once
 * @param withdrawn  [nlinks] cables that are down, and that the routes know; NULL: none
 * @return NULL with errno ENOMEM. topo must outlive it
 */
struct convergence *convergence_create(const struct topo *topo, enum route_rule rule, uint64_t after_ps,
				       const bool *withdrawn);
void convergence_destroy(struct convergence *convergence);

/*
 * The routes that switches follow: those of the network without withdrawn cables at first. The same table at all times.
 */
const struct route_table *convergence_routes(const struct convergence *convergence);

/*
 * Tells the state of a cable. One that leads to a host is no matter of other switches, which go on sending to its
 * switch, unless it is of a bond: once its leaf has no other member left, they send to the bond's other leaves.
 * @param link  cable id
 */
void convergence_link_changed(struct convergence *convergence, uint32_t link, bool down, uint64_t now_ps);

/* When routes change next, at or after now_ps; UINT64_MAX if nothing has to become known. */
uint64_t convergence_next_ps(const struct convergence *convergence, uint64_t now_ps);

/* Changes the routes that are due at now_ps. @return 1 if the routes changed, 0 if not, or -ENOMEM */
int convergence_apply(struct convergence *convergence, uint64_t now_ps);

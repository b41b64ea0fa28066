/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fabric that stands still: its control plane as it is at one time of a scenario, with the management sockets of all
 * devices, served by a process of its own.
 */
#pragma once

#include "dpswitch/control/switch_sockets.h"
#include "scenario/scenario.h"

struct standing_config {
	struct scenario *scenario; /* hosts with their own kernel are embedded ones here */
	const char *dir;           /* for the sockets */
	uint64_t at_ps;            /* TIME_NEVER: before all faults */
	uint64_t rtt_ns;
	uint32_t greeting_rtts;
	const struct host_flows *flows; /* [topo->nnodes] hosts have these instead of the scenario's; NULL */
};

struct standing;

/* Builds everything and opens the sockets, but does not serve yet. @return NULL with err and errno set */
struct standing *standing_open(const struct standing_config *config, struct err *err);
/* Ends the process and removes the sockets; also of NULL. */
void standing_close(struct standing *standing);

/*
 * Starts the process that serves, until standing_close() or until this process dies. @return 0 or negative errno with
 * err
 */
int standing_start(struct standing *standing, struct err *err);
/* Serves in this process, until an interrupt ends it (common/interrupt.h). @param for_ns  at most */
void standing_serve(struct standing *standing, uint64_t for_ns);
/* What the sockets did so far. */
struct switch_sockets_counts standing_counts(const struct standing *standing);

/* SPDX-License-Identifier: BSD-3-Clause */
/* Alarms of several switches and iterations that point to one link are one fault. */
#pragma once

#include "common/err.h"
#include "diag/flowpulse/section.h"

/*
 * The path of the packets that a monitor misses. With two tiers of switches it is two links, and the alarm's place
 * names them. With three tiers, an edge's alarm covers a path: from the sender's edge to an aggregation and a core,
 * down to the aggregation that the alarm's port leads to, and to the edge. The monitor of that last aggregation sees
 * each of its links to cores by itself, and with it the link from the sender's pod to the core: it misses first what is
 * lost there, and more of it. So its alarm of the same iteration accounts for the edge's; and if it compared the
 * iteration and misses nothing, nothing was lost above it.
 */

struct paths {
	const struct flowpulse *own;
	const struct run *run;
	uint8_t *tier;      /* [nnodes] distance from the nearest host; 0: a host */
	bool has_cores;     /* three tiers, or more */
	uint32_t *pod;      /* [nnodes] one for all that are connected below the third tier; RUN_NONE: above */
	uint32_t *mark;     /* [nnodes] the last that looked at it */
	uint32_t *alarms;   /* [nnodes] the first of a switch, RUN_NONE: none */
	uint32_t *further;  /* [nalarms] the next of the same switch */
	uint32_t *flaws;    /* [nnodes] the same of flaws */
	uint32_t *flawed;   /* [nflaws] */
	bool *is_all_there; /* [nnodes] it monitors, and every iteration in which it had an alarm is among the alarms */
};

/* @return 0 or -ENOMEM with err; to be freed by paths_fini() in any case */
int paths_init(struct paths *paths, const struct flowpulse *own, const struct run *run, struct err *err);
void paths_fini(struct paths *paths);

/* Does the monitor of a switch count senders by pods? Else by leaves. */
bool paths_is_of_pods(const struct paths *paths, uint32_t node);

/*
 * The links from an alarm's sender to the peer of its port, as few as the aggregation there leaves: one, or with port
 * RUN_NONE the path between two switches.
 */
struct flowpulse_link paths_remote(const struct paths *paths, const struct rec_volume_alarm *alarm);
/* @return the alarm of the switch above that accounts for one of an edge: index; RUN_NONE: none */
uint32_t paths_above(const struct paths *paths, const struct rec_volume_alarm *alarm);

/*
 * Sets own->faults, of alarms that are judged.
 * @param fault_of  [own->nalarms] set to the fault that each alarm is part of, RUN_NONE: of none
 * @return 0 or -ENOMEM with err
 */
int flowpulse_join(struct flowpulse *own, const struct paths *paths, uint32_t *fault_of, struct err *err);

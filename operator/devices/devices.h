/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All switches and hosts of an emulation as devices that operators query (dpswitch/control/switch_answer.h): during a
 * run, between windows; or of a fabric that does not run.
 */
#pragma once

#include "dpswitch/control/switch_answer.h"
#include "dpswitch/control/switch_sockets.h"
#include "emulation/emulation.h"

struct scenario;

struct devices {
	struct answer_device *devices; /* [count] by topology node, without those of other partitions */
	uint32_t count;
	struct flow_index *index;
	struct host_list *lists; /* [nnodes] of a host's flows */
	uint32_t *flows;         /* ids by source host */
};

/* @param emulation  in use until devices_fini(). @return 0 or -ENOMEM with err */
int devices_init(struct devices *devices, const struct emulation *emulation, struct err *err);
void devices_fini(struct devices *devices); /* also of one that is zero */

/* Services that change a fabric without traffic: those of its emulation. */
extern const struct run_service *const devices_services[];

/*
 * Brings the control plane of an emulation that has not run to a time: applies the faults of the scenario until then in
 * order, with the reactions of the switches. No packet moves. The emulation has devices_services.
 * @param at_ps  TIME_NEVER: no fault at all, as before the run
 * @return 0, or -E2BIG with err: intermittent faults toggle too often until then
 */
int devices_set_time(struct emulation *emulation, uint64_t at_ps, struct err *err);

/*
 * Management sockets of a run in real time, of the devices that are here: partitions of a machine share a folder. They
 * are served between its windows, by the machine's clock: a fabric that is behind answers as one that is not, but for the
 * time that one of its windows takes.
 */

struct live;

/* @param dir  for the sockets; made where it is not there. @return NULL with err and errno set */
struct live *live_create(struct emulation *emulation, const char *dir, struct err *err);
/* Before and after the fabric runs; live may be NULL. */
void live_begin(struct live *live, struct emulation *emulation);
void live_end(struct live *live);
void live_destroy(struct live *live); /* also of NULL */

/*
 * A fabric that stands still: its control plane as it is at one time of a scenario, with the management sockets of all
 * devices, served by a process of its own.
 */

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
/* @return counters of the sockets so far */
struct switch_sockets_counts standing_counts(const struct standing *standing);

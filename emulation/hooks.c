/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/hooks.h"

#include <stdio.h>

#include "common/interrupt.h"
#include "common/minmax.h"
#include "common/units.h"
#include "emulation/flow_tracing.h"
#include "emulation/lateness.h"
#include "emulation/outsiders.h"
#include "emulation/probing.h"
#include "emulation/progress.h"
#include "emulation/rerouting.h"

static bool
hook_interrupted(void *ctx)
{
	(void)ctx;
	return interrupt_asked();
}

void
emulation_settle(const struct emulation *emulation)
{
	for (uint32_t i = 0; i < emulation->ndrivers; i++)
		if (emulation->drivers[i].ops->settle != NULL)
			emulation->drivers[i].ops->settle(emulation->drivers[i].ctx);
}

void
emulation_answer(const struct emulation *emulation, uint64_t now_ps)
{
	if (emulation->serve != NULL)
		emulation->serve(emulation->serve_ctx);
	if (emulation->counters != NULL)
		counters_serve(emulation->counters, now_ps);
}

static uint64_t
hook_pace(void *ctx, uint64_t earliest_ps, uint64_t start_ps)
{
	struct emulation *emulation = ctx;

	emulation_settle(emulation);
	emulation_answer(emulation, earliest_ps); /* here, too: of a fabric that is behind no window waits */
	return pacer_wait(&emulation->pacer, earliest_ps, start_ps);
}

static uint64_t
hook_next_change(void *ctx, uint64_t now_ps)
{
	const struct emulation *emulation = ctx;
	uint64_t fault_ps = faults_next_ps(emulation->faults, now_ps), route_ps = rerouting_next_ps(emulation, now_ps);

	return min_u64(min_u64(min_u64(fault_ps, route_ps), flow_tracing_next_ps(emulation->tracing)),
		       outsiders_next_ps(emulation->outsiders));
}

static void
hook_change(void *ctx, uint64_t now_ps)
{
	struct emulation *emulation = ctx;

	faults_apply(emulation->faults, &emulation->fault_env, now_ps);
	rerouting_apply(emulation, now_ps);
	flow_tracing_run(emulation, now_ps);
	outsiders_run(emulation, now_ps);
}

bool
emulation_ready(const struct emulation *emulation)
{
	for (uint32_t i = 0; i < emulation->ndrivers; i++) {
		const struct host_driver *driver = &emulation->drivers[i];

		if (driver->ops->ready != NULL && !driver->ops->ready(driver->ctx))
			return false;
	}
	return true;
}

/* Whether the program of a host keeps the run going: a rank has steps to do, or a background flow is not done. */
static bool
host_works(const struct emulation *emulation, uint32_t node)
{
	const struct host_driver *driver = emulation->driver_of[node];

	return emulation->collected_ps < emulation->scenario->limits.hold_ps || flow_tracing_busy(emulation->tracing) ||
	       driver->ops->working(driver->ctx, node);
}

/*
 * Bytes on their way should move. Where there are none, somebody waits for a time to come: that of a collective, an
 * iteration, a delayed step, a flow or the end of a hold, and whoever depends on it waits for that too. Where nobody does, something is wrong.
 */
static bool
hook_due(void *ctx, uint64_t now_ps)
{
	const struct emulation *emulation = ctx;
	bool timed = flow_tracing_busy(emulation->tracing) || now_ps < emulation->scenario->limits.hold_ps;

	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];
		uint64_t next_ps;

		if (driver == NULL)
			continue;
		if (driver->ops->sending(driver->ctx, i, &next_ps))
			return true;
		timed |= next_ps > now_ps && next_ps != TIME_NEVER;
	}
	return !timed;
}

static uint64_t
hook_lived(void *ctx)
{
	return pacer_lived_ps(&((struct emulation *)ctx)->pacer);
}

static void
watch_failure(struct emulation *emulation, const struct host_driver *driver)
{
	uint32_t id;
	bool lost;
	const char *why = driver->ops->failure != NULL ? driver->ops->failure(driver->ctx, &id, &lost) : NULL;

	if (why == NULL)
		return;
	emulation->hosts[id]->status = lost ? NODE_LOST : NODE_QP_ERROR;
	snprintf(emulation->hosts[id]->error, sizeof(emulation->hosts[id]->error), "%s", why);
}

void
emulation_watch_hosts(struct emulation *emulation)
{
	const struct host_driver *others = emulation->part != NULL ? &emulation->part->hosts : NULL;
	bool preparing = emulation->phase == EMULATION_PREPARE, unready = preparing && !emulation_ready(emulation);

	if (preparing && others != NULL)
		unready |= !others->ops->ready(others->ctx);
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		struct node *host = emulation->hosts[i];

		if (host != NULL)
			host->ops->expect_work(host, preparing ? unready : host_works(emulation, i));
	}
	for (uint32_t i = 0; i < emulation->ndrivers; i++)
		watch_failure(emulation, &emulation->drivers[i]);
}

void
emulation_take_reports(struct emulation *emulation)
{
	for (uint32_t i = 0; emulation->phase == EMULATION_RUN && i < emulation->scenario->topo->nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];

		if (driver != NULL && driver->ops->records != NULL)
			driver->ops->records(driver->ctx, i, emulation->records[i], emulation->collected_ps);
	}
}

bool
emulation_pending(void *ctx)
{
	const struct emulation *emulation = ctx;
	bool any = false;

	emulation_answer(emulation, emulation->fabric->window.end_ps);
	for (uint32_t i = 0; i < emulation->ndrivers; i++) {
		const struct host_driver *driver = &emulation->drivers[i];

		any |= driver->ops->pending != NULL && driver->ops->pending(driver->ctx);
	}
	return any;
}

static void
hook_collect(void *ctx, uint64_t now_ps)
{
	struct emulation *emulation = ctx;
	uint64_t complete_ps = now_ps; /* nothing that happened before will be reported any more */

	for (uint32_t i = 0; i < emulation->ndrivers; i++)
		if (emulation->drivers[i].ops->service != NULL)
			emulation->drivers[i].ops->service(emulation->drivers[i].ctx);
	emulation_answer(emulation, now_ps);
	emulation_take_reports(emulation);
	if (emulation->lateness != NULL)
		lateness_collect(emulation->lateness, now_ps);
	probing_exchange(emulation);
	emulation->collected_ps = now_ps;
	emulation_watch_hosts(emulation);
	if (emulation->part != NULL)
		complete_ps = emulation->part->ops->collect(emulation->part->ctx, now_ps);
	if (emulation->exporter == NULL) {
		for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++)
			emulation->records[i]->used_bytes = 0;
		return;
	}
	exporter_collect(emulation->exporter, emulation->records, emulation->scenario->topo->nnodes);
	exporter_advance(emulation->exporter, complete_ps);
	progress_show(emulation, now_ps);
}

struct fabric_hooks
emulation_hooks(struct emulation *emulation)
{
	bool preparing = emulation->phase == EMULATION_PREPARE, real = emulation->scenario->timing.clock == CLOCK_REAL;

	struct fabric_hooks hooks = {
		.ctx = emulation,
		.pace = real ? hook_pace : NULL,
		.lived_ps = real ? hook_lived : NULL,
		.due = preparing ? NULL : hook_due,
		.next_change_ps = preparing ? NULL : hook_next_change,
		.change = preparing ? NULL : hook_change,
		.collect = hook_collect,
		.interrupted = hook_interrupted,
	};

	part_hooks(emulation, &hooks);
	return hooks;
}

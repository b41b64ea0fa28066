/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/emulation.h"

#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/minmax.h"
#include "common/units.h"
#include "emulation/build.h"
#include "emulation/flow_tracing.h"
#include "emulation/hooks.h"
#include "emulation/lateness.h"
#include "emulation/progress.h"

struct emulation *
emulation_create(struct scenario *scenario, const struct emulation_options *options, struct err *err)
{
	struct emulation *emulation = calloc(1, sizeof(*emulation));
	int ret = -ENOMEM;

	if (emulation != NULL) {
		emulation->scenario = scenario;
		emulation->faults = &scenario->faults;
		emulation->sertables.quantum_ps = scenario->timing.quantum_ps;
		emulation->phase = options->phase;
		emulation->lcores = options->lcores;
		emulation->foretold = options->foretold;
		emulation->part = options->part;
		ret = emulation_build(emulation, options, err);
	}
	if (ret == 0)
		return emulation;
	emulation_destroy(emulation);
	errno = -ret;
	return NULL;
}

void
emulation_destroy(struct emulation *emulation)
{
	if (emulation == NULL)
		return;
	capture_destroy(emulation->capture);
	emulation_unbuild(emulation);
	sertables_fini(&emulation->sertables);
	free(emulation);
}

void
emulation_begin(struct emulation *emulation, struct exporter *exporter, uint64_t zero_ns)
{
	emulation->exporter = exporter;
	pacer_init(&emulation->pacer, zero_ns, emulation->fabric->window_ps, emulation->scenario->timing.idle == IDLE_BUSY);
	for (uint32_t i = 0; i < emulation->ndrivers; i++)
		if (emulation->drivers[i].ops->pending != NULL)
			emulation->pacer.pending = emulation_pending;
	if (emulation->serve != NULL || emulation->counters != NULL)
		emulation->pacer.pending = emulation_pending;
	if (emulation->scenario->timing.clock == CLOCK_REAL && emulation->scenario->timing.idle == IDLE_BUSY)
		emulation->fabric->barrier.spins = UINT32_MAX;
	emulation->pacer.ctx = emulation;
	for (uint32_t i = 0; emulation->phase == EMULATION_RUN && i < emulation->scenario->topo->nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];

		if (driver != NULL && driver->ops->start != NULL)
			driver->ops->start(driver->ctx, i);
	}
	emulation_watch_hosts(emulation);
	emulation->start_wall_ns = clock_now_ns();
	emulation->cpu_ns = clock_cpu_ns();
}

uint64_t
emulation_clock_error_ns(const struct emulation *emulation)
{
	uint64_t worst_ns = 0;

	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];

		if (driver != NULL && driver->ops->clock_error_ns != NULL)
			worst_ns = max_u64(worst_ns, driver->ops->clock_error_ns(driver->ctx));
	}
	return worst_ns;
}

static uint64_t
clock_error_ps(const struct emulation *emulation)
{
	uint64_t worst_ns = emulation_clock_error_ns(emulation);

	if (emulation->part != NULL)
		worst_ns = max_u64(worst_ns, emulation->part->ops->clock_error_ns(emulation->part->ctx));
	return worst_ns * PS_PER_NS;
}

static void
finish_stream(struct emulation *emulation)
{
	const struct fabric *fabric = emulation->fabric;
	struct rec_end end = {
		.hdr.node = REC_NONE,
		.reason = fabric->end_reason,
		.at_node = fabric->end_node,
		.end_ps = fabric->window.end_ps,
		.clock_error_ps = clock_error_ps(emulation),
	};

	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		const struct node *node = fabric->nodes[i];

		end.polling_packets += node->count.control[PKT_POLL].packets;
		end.polling_bytes += node->count.control[PKT_POLL].bytes;
		end.notification_packets += node->count.control[PKT_NOTIFY].packets;
		end.notification_bytes += node->count.control[PKT_NOTIFY].bytes;
		end.detections += node->count.detections;
		end.collected_reports += node->count.reports.unkept_reports;
		end.collected_bytes += node->count.reports.unkept_bytes;
		if (node->status != NODE_RUNNING && node->status != NODE_PASSIVE)
			emulation->error_text = node->error;
	}
	if (emulation->part != NULL && emulation->part->ops->why(emulation->part->ctx) != NULL)
		emulation->error_text = emulation->part->ops->why(emulation->part->ctx);
	exporter_collect(emulation->exporter, emulation->records, emulation->scenario->topo->nnodes);
	exporter_finish(emulation->exporter, &end);
	exporter_stats(emulation->exporter, &emulation->export);
	emulation->end = end;
}

void
emulation_end(struct emulation *emulation)
{
	emulation->wall_ns = clock_now_ns() - emulation->start_wall_ns;
	emulation->cpu_ns = clock_cpu_ns() - emulation->cpu_ns;
	progress_clear(emulation);
	emulation_take_reports(emulation); /* the last ones came after the last window */
	if (emulation->lateness != NULL)
		lateness_finish(emulation->lateness, emulation->fabric->window.end_ps);
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++) {
		const struct host_driver *driver = emulation->driver_of[i];

		if (driver != NULL && driver->ops->close != NULL)
			driver->ops->close(driver->ctx, i, emulation->fabric->window.end_ps);
	}
	if (emulation->capture != NULL)
		emulation->capture_errno = -capture_close(emulation->capture, emulation->fabric->window.end_ps);
	faults_close(emulation->faults, &emulation->fault_env);
	for (uint32_t i = 0; i < emulation->scenario->topo->nnodes; i++)
		if (emulation->switches[i] != NULL && emulation->switches[i]->volumes != NULL &&
		    !part_is_foreign(emulation, i))
			switch_volumes_end(emulation->switches[i], emulation->fabric->window.end_ps);
	flow_tracing_end(emulation, emulation->fabric->window.end_ps);
	if (emulation->part != NULL)
		emulation->part->ops->finish(emulation->part->ctx);
	finish_stream(emulation);
}

uint64_t
emulation_dropped(const struct emulation *emulation, uint32_t node, uint16_t port, enum rec_drop reason)
{
	const struct node *of = emulation->fabric->nodes[node];

	return of->ops->dropped(of, port, reason);
}

const struct port_truth *
emulation_truth_of(const struct emulation *emulation, uint32_t node, uint16_t port)
{
	const struct node *of = emulation->fabric->nodes[node];

	return of->ops->truth != NULL ? of->ops->truth(of, port) : NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What is known of a run: detections, polls and notifications in order of time, and all parts put together. */
#include "diag/run/run.h"

#include <errno.h>
#include <stdlib.h>

#include "common/wire/detection.h"
#include "common/wire/ending.h"
#include "diag/run/fill.h"

uint32_t
run_find_step(const struct run *run, const struct run_collective *collective, uint32_t rank, uint32_t number)
{
	uint32_t lo = collective->first_step, hi = collective->first_step + collective->nsteps;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct run_step *step = &run->steps[mid];

		if (step->rank == rank && step->step == number)
			return mid;
		if (step->rank < rank || (step->rank == rank && step->step < number))
			lo = mid + 1;
		else
			hi = mid;
	}
	return RUN_NONE;
}

static uint32_t
step_of(const struct run *run, const struct evidence *ev, const struct rec_trigger *rec)
{
	uint32_t collective = evidence_collective(ev, rec->collective, rec->iteration);

	return collective != EV_NONE ? run_find_step(run, &run->collectives[collective], rec->rank, rec->step) : RUN_NONE;
}

static void
fill_detections(struct run *run, const struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->triggers.count; i++) {
		const struct rec_trigger *rec = EV_AT(ev->triggers, struct rec_trigger, i);
		uint32_t step = step_of(run, ev, rec);

		run->detections[i] = (struct run_detection){
			.event = rec->hdr.event,
			.step = step,
			.host = rec->hdr.node,
			.cause = rec->cause,
			.time_ps = rec->hdr.time_ps,
			.rtt_ps = rec->rtt_ps,
			.threshold_ps = rec->threshold_ps,
			.remaining = rec->remaining,
		};
		if (step == RUN_NONE)
			continue;
		run->steps[step].detections++;
		run->steps[step].held_back |= rec->cause == REC_TRIGGER_THROTTLE;
	}
}

static void
fill_polls(struct run *run, const struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->polls.count; i++) {
		const struct rec_poll *rec = EV_AT(ev->polls, struct rec_poll, i);

		run->polls[i] = (struct run_poll){
			.event = rec->hdr.event,
			.node = rec->hdr.node,
			.flow = evidence_flow(ev, &rec->victim),
			.time_ps = rec->hdr.time_ps,
			.out_port = evidence_port(ev, rec->hdr.node, rec->out_port),
			.out_paused = rec->out_paused != 0,
		};
	}
}

static int
fill_events(struct run *run, const struct evidence *ev, struct err *err)
{
	run->detections = run_alloc(ev->triggers.count, sizeof(*run->detections), err);
	run->polls = run_alloc(ev->polls.count, sizeof(*run->polls), err);
	run->notifications = run_alloc(ev->notifies.count, sizeof(*run->notifications), err);
	if (run->detections == NULL || run->polls == NULL || run->notifications == NULL)
		return -ENOMEM;
	run->ndetections = ev->triggers.count;
	run->npolls = ev->polls.count;
	run->nnotifications = ev->notifies.count;
	fill_detections(run, ev);
	fill_polls(run, ev);
	for (uint32_t i = 0; i < ev->notifies.count; i++) {
		const struct rec_notify *rec = EV_AT(ev->notifies, struct rec_notify, i);

		run->notifications[i] = (struct run_notification){
			.from = rec->hdr.node,
			.to = rec->to < ev->nnodes ? rec->to : RUN_NONE,
			.time_ps = rec->hdr.time_ps,
			.collective = rec->collective,
			.step = rec->step,
			.detections = rec->detections,
		};
	}
	return 0;
}

int
run_build(struct run *run, const struct evidence *evidence, struct err *err)
{
	int rc = run_fill_fabric(run, evidence, err);

	if (rc == 0)
		rc = run_fill_steps(run, evidence, err);
	if (rc == 0)
		rc = run_fill_lateness(run, evidence, err);
	if (rc == 0)
		rc = fill_events(run, evidence, err);
	if (rc == 0)
		rc = run_account(run, evidence, err);
	return rc;
}

void
run_fini(struct run *run)
{
	free(run->nodes);
	free(run->ports);
	free(run->flows);
	free(run->hops);
	free(run->known);
	free(run->jobs);
	free(run->iterations);
	free(run->collectives);
	free(run->ranks);
	free(run->after);
	free(run->steps);
	free(run->depends);
	free(run->detections);
	free(run->polls);
	free(run->notifications);
	free(run->late_records);
	free(run->lateness);
	free(run->overhead.kinds);
}

bool
run_complete(const struct run *run)
{
	return !run->truncated && run->overhead.left_out == 0 && run->overhead.astray == 0 && run->overhead.dropped == 0 &&
	       run->missing.steps == 0 && run->missing.unscheduled == 0;
}

bool
run_finished(const struct run *run)
{
	return !run->truncated && run->end_reason == REC_END_COMPLETE;
}

void *
run_alloc(size_t count, size_t size_bytes, struct err *err)
{
	void *p = calloc(count != 0 ? count : 1, size_bytes);

	if (p == NULL)
		err_set(err, -ENOMEM, "out of memory for %zu x %zu B of the verdict", count, size_bytes);
	return p;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict's detections, polls, notifications and gaps, in order of time. */
#include <errno.h>

#include "diag/verdict_internal.h"

/* A full table is rank major: of each rank only the step asked for is looked at. */
static uint32_t
step_in(const struct verdict *v, const struct verdict_collective *coll, const struct rec_trigger *rec, uint32_t flow)
{
	bool full = coll->nsteps == (uint64_t)coll->ranks * coll->steps_per_rank;
	uint32_t stride = full ? coll->steps_per_rank : 1;
	uint32_t skip = full ? rec->step - 1 : 0;

	for (uint64_t i = (uint64_t)coll->first_step + skip; i < coll->first_step + coll->nsteps; i += stride) {
		if (v->steps[i].flow == flow && v->steps[i].step == rec->step)
			return (uint32_t)i;
	}
	return VERDICT_NONE;
}

static uint32_t
step_of(const struct verdict *v, const struct rec_trigger *rec, uint32_t flow)
{
	for (uint32_t c = 0; c < v->ncollectives; c++) {
		const struct verdict_collective *coll = &v->collectives[c];

		if (coll->id == rec->collective && coll->iteration == rec->iteration && coll->nsteps != 0)
			return step_in(v, coll, rec, flow);
	}
	return VERDICT_NONE;
}

static void
fill_detections(struct verdict *v, const struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->triggers.count; i++) {
		const struct rec_trigger *rec = EV_AT(ev->triggers, struct rec_trigger, i);
		uint32_t step = step_of(v, rec, evidence_flow(ev, &rec->flow));

		v->detections[i] = (struct verdict_detection){
			.event = rec->hdr.event,
			.step = step,
			.host = rec->hdr.node,
			.cause = rec->cause,
			.time_ps = rec->hdr.time_ps,
			.rtt_ps = rec->rtt_ps,
			.threshold_ps = rec->threshold_ps,
			.remaining = rec->remaining,
		};
		if (step != VERDICT_NONE)
			v->steps[step].detections++;
	}
}

static void
fill_polls(struct verdict *v, const struct evidence *ev)
{
	for (uint32_t i = 0; i < ev->polls.count; i++) {
		const struct rec_poll *rec = EV_AT(ev->polls, struct rec_poll, i);

		v->polls[i] = (struct verdict_poll){
			.event = rec->hdr.event,
			.node = rec->hdr.node,
			.flow = evidence_flow(ev, &rec->victim),
			.time_ps = rec->hdr.time_ps,
			.in_port = evidence_port(ev, rec->hdr.node, rec->in_port),
			.out_port = evidence_port(ev, rec->hdr.node, rec->out_port),
			.flags = rec->flags,
			.ttl = rec->ttl,
			.out_paused = rec->out_paused != 0,
			.repeated = rec->repeated != 0,
		};
	}
}

int
verdict_fill_events(struct verdict *v, const struct evidence *ev, struct err *err)
{
	v->detections = verdict_alloc(ev->triggers.count, sizeof(*v->detections), err);
	v->polls = verdict_alloc(ev->polls.count, sizeof(*v->polls), err);
	v->notifications = verdict_alloc(ev->notifies.count, sizeof(*v->notifications), err);
	v->gaps = verdict_alloc(ev->gaps.count, sizeof(*v->gaps), err);
	if (v->detections == NULL || v->polls == NULL || v->notifications == NULL || v->gaps == NULL)
		return -ENOMEM;
	v->ndetections = ev->triggers.count;
	v->npolls = ev->polls.count;
	v->nnotifications = ev->notifies.count;
	v->ngaps = ev->gaps.count;
	fill_detections(v, ev);
	fill_polls(v, ev);
	for (uint32_t i = 0; i < ev->notifies.count; i++) {
		const struct rec_notify *rec = EV_AT(ev->notifies, struct rec_notify, i);

		v->notifications[i] = (struct verdict_notification){
			.from = rec->hdr.node,
			.to = rec->to < ev->nnodes ? rec->to : VERDICT_NONE,
			.time_ps = rec->hdr.time_ps,
			.collective = rec->collective,
			.step = rec->step,
			.detections = rec->detections,
		};
	}
	for (uint32_t i = 0; i < ev->gaps.count; i++) {
		const struct rec_gap *rec = EV_AT(ev->gaps, struct rec_gap, i);

		v->gaps[i] = (struct verdict_gap){ rec->kind, rec->dropped, rec->dropped_bytes, rec->from_ps, rec->to_ps };
	}
	return 0;
}

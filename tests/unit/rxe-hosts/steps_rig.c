/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/rxe-hosts/steps_rig.h"

#include <assert.h>
#include <stdlib.h>

#include "common/units.h"
#include "workload/workload.h"

#define MAX_EVENTS 100000

void
steps_rig_init(struct steps_rig *rig, uint32_t hosts, enum rec_policy policy, const char *scenario,
	       uint64_t (*delay_ps)(const void *ctx, uint32_t node, uint32_t collective, uint32_t step),
	       const void *delay_ctx)
{
	struct plan_options options = { .data_prio = 3, .notify = policy != REC_POLICY_OFF };
	struct err err = { .text = "" };
	void *flows;
	size_t nflows;

	*rig = (struct steps_rig){ .hosts = hosts, .cfg = cfg_load_string(scenario, "rig.cfg", &err) };
	assert(rig->cfg != NULL && hosts <= STAR_MAX_HOSTS);
	rig->detection =
		(struct detection_config){ .policy = (int)policy, .detections = 3, .rtt_percent = 120, .transfer = true };
	star_init(&rig->star, hosts);
	rig->workload = workload_create(rig->cfg, &rig->star.topo, 1, &err);
	assert(rig->workload != NULL);
	assert(cfg_bind_list(rig->cfg, &background_table, NULL, &flows, &nflows, &err) == 0);
	rig->plan = plan_create(&rig->star.topo, &options, rig->workload, flows, nflows, &err);
	assert(rig->plan != NULL && rig->plan->flows.count <= SCRIPTED_FLOWS);
	free(flows);
	for (uint32_t f = 0; f < rig->plan->flows.count; f++)
		rig->plan->of[f].base_rtt_ps = 10 * PS_PER_US;
	for (uint32_t c = 0; c < rig->plan->ncollectives; c++) {
		struct plan_collective *collective = &rig->plan->collectives[c];

		for (uint32_t i = 0; i < coll_all_steps(collective->schedule); i++)
			collective->steps[i].expect_ps = 30 * PS_PER_MS;
	}
	for (uint32_t h = 0; h < hosts; h++) {
		struct step_engine_config config = {
			.plan = rig->plan,
			.node = h,
			.device = &rig->dev[h].device,
			.detection = &rig->detection,
			.start_delay_ps = delay_ps,
			.start_ctx = delay_ctx,
		};

		scripted_init(&rig->dev[h], h);
		rig->engine[h] = step_engine_create(&config, &err);
		assert(rig->engine[h] != NULL);
		step_engine_start(rig->engine[h]);
	}
}

void
steps_rig_fini(struct steps_rig *rig)
{
	for (uint32_t h = 0; h < rig->hosts; h++) {
		step_engine_destroy(rig->engine[h]);
		scripted_fini(&rig->dev[h]);
	}
	plan_destroy(rig->plan);
	workload_destroy(rig->workload);
	cfg_destroy(rig->cfg);
}

void
steps_rig_timers(struct steps_rig *rig, uint64_t now_ps)
{
	for (uint32_t h = 0; h < rig->hosts; h++)
		scripted_timer(&rig->dev[h], now_ps);
}

static struct scripted_device *
receiver(struct steps_rig *rig, uint32_t flow)
{
	return &rig->dev[rig->plan->flows.flows[flow].dst_node];
}

void
steps_rig_deliver(struct steps_rig *rig, uint32_t host, uint64_t now_ps)
{
	struct scripted_device *dev = &rig->dev[host];

	assert(dev->nposts > 0);
	scripted_deliver(dev, dev->nposts - 1, receiver(rig, dev->posts[dev->nposts - 1].flow), now_ps);
}

void
steps_rig_ack(struct steps_rig *rig, uint32_t host, uint64_t now_ps)
{
	assert(rig->dev[host].nposts > 0);
	scripted_ack(&rig->dev[host], rig->dev[host].nposts - 1, now_ps);
}

void
steps_rig_notify(struct steps_rig *rig, uint32_t host, uint64_t now_ps)
{
	struct scripted_device *dev = &rig->dev[host];
	const struct scripted_notice *notice = &dev->notices[dev->nnotices - 1];

	assert(dev->nnotices > 0);
	scripted_notify(receiver(rig, notice->flow), notice->flow, notice->step, notice->detections, now_ps);
}

enum event_kind { EVENT_NONE, EVENT_TIMER, EVENT_ARRIVAL, EVENT_ACK };

struct event {
	enum event_kind kind;
	uint64_t time_ps;
	uint32_t host, post;
};

static void
earlier(struct event *next, enum event_kind kind, uint64_t time_ps, uint32_t host, uint32_t post)
{
	if (next->kind == EVENT_NONE || time_ps < next->time_ps)
		*next = (struct event){ kind, time_ps, host, post };
}

static struct event
next_event(const struct steps_rig *rig, steps_rig_time takes_ps)
{
	struct event next = { .kind = EVENT_NONE };

	for (uint32_t h = 0; h < rig->hosts; h++) {
		const struct scripted_device *dev = &rig->dev[h];

		if (dev->timer_ps != TIME_NEVER)
			earlier(&next, EVENT_TIMER, dev->timer_ps, h, 0);
		for (uint32_t i = 0; i < dev->nposts; i++) {
			const struct scripted_post *p = &dev->posts[i];
			uint64_t arrival_ps = p->time_ps + takes_ps(h, p->flow, p->wr.imm, p->wr.bytes);

			if (!p->delivered)
				earlier(&next, EVENT_ARRIVAL, arrival_ps, h, i);
			else if (!p->acked)
				earlier(&next, EVENT_ACK, arrival_ps + STEPS_RIG_ACK_PS, h, i);
		}
	}
	return next;
}

uint64_t
steps_rig_run(struct steps_rig *rig, steps_rig_time takes_ps)
{
	uint64_t last_ps = 0;

	for (uint32_t n = 0; n < MAX_EVENTS; n++) {
		struct event e = next_event(rig, takes_ps);
		struct scripted_device *dev = &rig->dev[e.host];

		if (e.kind == EVENT_NONE)
			return last_ps;
		last_ps = e.time_ps;
		if (e.kind == EVENT_TIMER)
			scripted_timer(dev, e.time_ps);
		else if (e.kind == EVENT_ARRIVAL)
			scripted_deliver(dev, e.post, receiver(rig, dev->posts[e.post].flow), e.time_ps);
		else
			scripted_ack(dev, e.post, e.time_ps);
	}
	assert(!"the run does not end");
	return 0;
}

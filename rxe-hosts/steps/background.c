/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/steps/background.h"

#include "common/units.h"

void
background_init(struct background *background, const struct plan_background *plan)
{
	*background = (struct background){ .plan = plan, .wake_ps = plan->start_ps };
}

void
background_wake(struct background *background, struct device *device, uint64_t now_ps)
{
	struct send_wr wr = { .bytes = background->plan->bytes };

	background->wake_ps = TIME_NEVER;
	if (device->ops->post_send(device, background->plan->flow, &wr) != 0) {
		background->failed = true;
		return;
	}
	background->sending = true;
	if (background->judge.agent != NULL) {
		struct plan_judged judged = plan_judged_background(background->judge.plan, background->plan);

		judged_started(&background->judge, &judged, now_ps);
	}
	if (!background->started)
		background->start_ps = now_ps;
	background->started = true;
}

void
background_sent(struct background *background, struct device *device, const struct wc *wc)
{
	background->sending = false;
	background->messages++;
	background->end_ps = wc->time_ps;
	background->retransmits += wc->retransmits;
	if (background->judge.agent != NULL) {
		struct plan_judged judged = plan_judged_background(background->judge.plan, background->plan);

		judged_complete(&background->judge, &judged, device, background->start_ps, wc);
	}
	if (background->plan->repeat && wc->time_ps < background->plan->until_ps)
		background_wake(background, device, wc->time_ps);
}

void
background_failed(struct background *background, const struct wc *wc)
{
	background->sending = false;
	background->failed = true;
	background->acked_bytes = wc->bytes;
	judged_failed(&background->judge);
}

void
background_close(struct background *background, struct device *device, uint64_t now_ps)
{
	struct qp_state qp = { .acked_bytes = background->acked_bytes };

	if (background->sending) {
		device->ops->query_qp(device, background->plan->flow, &qp);
		background->acked_bytes = qp.acked_bytes;
	}
	if (background->judge.agent != NULL && background->messages == 0 && background->plan->start_ps <= now_ps) {
		struct plan_judged judged = plan_judged_background(background->judge.plan, background->plan);

		judged_open(&background->judge, &judged, device, background->start_ps, &qp, now_ps);
	}
}

bool
background_open(const struct background *background)
{
	return !background->failed && (background->sending || background->wake_ps != TIME_NEVER);
}

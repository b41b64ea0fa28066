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
	if (background->plan->repeat && wc->time_ps < background->plan->until_ps)
		background_wake(background, device, wc->time_ps);
}

void
background_failed(struct background *background, const struct wc *wc)
{
	background->sending = false;
	background->failed = true;
	background->acked_bytes = wc->bytes;
}

void
background_close(struct background *background, const struct device *device)
{
	struct qp_state qp;

	if (!background->sending)
		return;
	device->ops->query_qp(device, background->plan->flow, &qp);
	background->acked_bytes = qp.acked_bytes;
}

bool
background_open(const struct background *background)
{
	return !background->failed && (background->sending || background->wake_ps != TIME_NEVER);
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/device/verbs/rtt.h"

#include <assert.h>
#include <stdlib.h>

#include "common/units.h"

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void
rtt_idle(struct rtt_filter *filter, uint64_t *samples_ps, uint32_t count)
{
	assert(count >= 1 && count <= RTT_MAX_PROBES);
	qsort(samples_ps, count, sizeof(*samples_ps), compare);
	filter->base_ps = samples_ps[count / 2];
	filter->noise_ps = samples_ps[count * RTT_NOISE_PERCENTILE / 100] - filter->base_ps;
}

uint64_t
rtt_window_bytes(const struct rtt_filter *filter, uint64_t rate_bps)
{
	uint64_t rtt_ps = filter->base_ps + filter->noise_ps / 2;

	return (uint64_t)((unsigned __int128)rtt_ps * rate_bps * 2 / 8 / PS_PER_S);
}

void
rtt_forget(struct rtt_filter *filter)
{
	filter->last_ps = filter->previous_ps = 0;
}

uint64_t
rtt_sample(struct rtt_filter *filter, uint64_t now_ns)
{
	assert(filter->in_flight);
	filter->in_flight = false;
	filter->previous_ps = filter->last_ps;
	filter->last_ps = (now_ns > filter->sent_ns ? now_ns - filter->sent_ns : 1) * PS_PER_NS;
	if (filter->previous_ps != 0)
		rtt_sum_add(&filter->confirmed, rtt_confirmed_ps(filter));
	return rtt_confirmed_ps(filter);
}

uint64_t
rtt_confirmed_ps(const struct rtt_filter *filter)
{
	return filter->last_ps < filter->previous_ps ? filter->last_ps : filter->previous_ps;
}

uint64_t
rtt_age_ps(const struct rtt_filter *filter, uint64_t now_ns)
{
	uint64_t age_ps, confirmed_ps;

	if (!filter->in_flight || now_ns <= filter->sent_ns)
		return 0;
	age_ps = (now_ns - filter->sent_ns) * PS_PER_NS;
	confirmed_ps = age_ps < filter->last_ps ? age_ps : filter->last_ps;
	return confirmed_ps > age_ps / 2 ? confirmed_ps : age_ps / 2;
}

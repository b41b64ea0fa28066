/* SPDX-License-Identifier: BSD-3-Clause */
#include "dpswitch/fabric/pacer.h"

#include "common/clock.h"
#include "common/minmax.h"

/* A run with more late windows than one in this number did not keep up. */
#define LATE_SHARE 20

void
pacer_init(struct pacer *pacer, uint64_t zero_ns, uint64_t window_ps, bool busy)
{
	*pacer = (struct pacer){
		.clock = { clock_now_ns, clock_sleep_until_ns },
		.zero_ns = zero_ns,
		.window_ps = window_ps,
		.busy = busy,
		.opened_ns = zero_ns,
	};
}

/* The run's time; 0 before it has begun. */
static uint64_t
run_ps(const struct pacer *pacer, uint64_t now_ns)
{
	return now_ns > pacer->zero_ns ? (now_ns - pacer->zero_ns) * PS_PER_NS : 0;
}

/* Adds up the time that windows took which were opened late. */
static void
account(struct pacer *pacer, uint64_t now_ns, uint64_t end_ps)
{
	if (!pacer->opened_late)
		return;
	pacer->late_work_ns += now_ns - pacer->opened_ns;
	pacer->late_covered_ps += end_ps - pacer->opened_ps;
}

static void
opened(struct pacer *pacer, uint64_t now_ns, uint64_t start_ps)
{
	uint64_t now_ps = run_ps(pacer, now_ns), due_ps = start_ps + pacer->window_ps;
	uint64_t before_ns = pacer->opened_ns, due_ns = pacer->zero_ns + due_ps / PS_PER_NS;

	pacer->windows++;
	pacer->opened_ns = now_ns;
	pacer->opened_ps = start_ps;
	pacer->opened_late = now_ps > due_ps;
	if (!pacer->opened_late)
		return;
	pacer->late_windows++;
	pacer->behind_ns += now_ns - max_u64(due_ns, before_ns);
	pacer->latest_ps = max_u64(pacer->latest_ps, now_ps - due_ps);
	pacer->worst_late_ps = max_u64(pacer->worst_late_ps, pacer->latest_ps);
}

uint64_t
pacer_wait(void *ctx, uint64_t earliest_ps, uint64_t start_ps)
{
	struct pacer *pacer = ctx;
	uint64_t now_ns = pacer->clock.now_ns(), until_ns = pacer->zero_ns + start_ps / PS_PER_NS, nap_ns;

	account(pacer, now_ns, earliest_ps);
	stall_timer_look(&pacer->lived, now_ns);
	while (now_ns < until_ns) {
		if (run_ps(pacer, now_ns) >= earliest_ps && now_ns >= pacer->zero_ns && pacer->pending != NULL &&
		    pacer->pending(pacer->ctx)) {
			start_ps = run_ps(pacer, now_ns);
			break;
		}
		nap_ns = now_ns + PACER_NAP_NS < until_ns ? now_ns + PACER_NAP_NS : until_ns;
		if (!pacer->busy) {
			pacer->clock.sleep_until_ns(nap_ns);
			pacer->slept_ns -= now_ns;
		}
		now_ns = pacer->clock.now_ns();
		if (!pacer->busy)
			pacer->slept_ns += now_ns;
		stall_timer_look(&pacer->lived, now_ns);
	}
	opened(pacer, now_ns, start_ps);
	return start_ps;
}

uint64_t
pacer_lived_ps(void *ctx)
{
	return ((const struct pacer *)ctx)->lived.waited_ns * PS_PER_NS;
}

double
pacer_scale(const struct pacer *pacer)
{
	double covered_ns = (double)pacer->late_covered_ps / PS_PER_NS;

	if (pacer->late_windows * LATE_SHARE <= pacer->windows || (double)pacer->late_work_ns <= covered_ns)
		return 1;
	return covered_ns / (double)pacer->late_work_ns;
}

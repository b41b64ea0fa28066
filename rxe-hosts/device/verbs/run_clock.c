/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/device/verbs/run_clock.h"

#include "common/units.h"

void
run_clock_exchange(struct run_clock *clock, uint64_t sent_ns, uint64_t fabric_ns, uint64_t received_ns)
{
	uint64_t round_trip_ns = received_ns > sent_ns ? received_ns - sent_ns : 0;
	uint32_t slot = clock->exchanges++ % RUN_CLOCK_EXCHANGES, best = 0;
	uint32_t count = clock->exchanges < RUN_CLOCK_EXCHANGES ? clock->exchanges : RUN_CLOCK_EXCHANGES;

	clock->exchange[slot].offset_ns = (int64_t)(fabric_ns - sent_ns - round_trip_ns / 2);
	clock->exchange[slot].round_trip_ns = round_trip_ns;
	for (uint32_t i = 1; i < count; i++)
		if (clock->exchange[i].round_trip_ns < clock->exchange[best].round_trip_ns)
			best = i;
	clock->offset_ns = clock->exchange[best].offset_ns;
	clock->error_ns = clock->exchange[best].round_trip_ns / 2;
}

void
run_clock_start(struct run_clock *clock, uint64_t zero_ns)
{
	clock->zero_ns = zero_ns;
	clock->started = true;
}

uint64_t
run_clock_at_ps(const struct run_clock *clock, uint64_t host_ns)
{
	int64_t since_ns = (int64_t)(host_ns + (uint64_t)clock->offset_ns - clock->zero_ns);

	return clock->started && since_ns > 0 ? (uint64_t)since_ns * PS_PER_NS : 0;
}

uint64_t
run_clock_ps(struct run_clock *clock, uint64_t host_ns)
{
	uint64_t now_ps = run_clock_at_ps(clock, host_ns);

	if (now_ps > clock->last_ps)
		clock->last_ps = now_ps;
	return clock->last_ps;
}

uint64_t
run_clock_host_ns(const struct run_clock *clock, uint64_t time_ps)
{
	if (!clock->started || time_ps == TIME_NEVER)
		return UINT64_MAX;
	return clock->zero_ns - (uint64_t)clock->offset_ns + (time_ps + PS_PER_NS - 1) / PS_PER_NS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/device/verbs/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/units.h"

#define LOOP_EVENTS 16
#define NS_PER_S 1000000000ULL

int
loop_init(struct loop *loop)
{
	loop->fd = epoll_create1(EPOLL_CLOEXEC);
	return loop->fd < 0 ? -errno : 0;
}

void
loop_fini(struct loop *loop)
{
	if (loop->fd >= 0)
		close(loop->fd);
	loop->fd = -1;
}

static int
control(struct loop *loop, int op, struct loop_watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };

	return epoll_ctl(loop->fd, op, watch->fd, &event) < 0 ? -errno : 0;
}

int
loop_watch(struct loop *loop, struct loop_watch *watch, uint32_t events)
{
	return control(loop, EPOLL_CTL_ADD, watch, events);
}

int
loop_change(struct loop *loop, struct loop_watch *watch, uint32_t events)
{
	return control(loop, EPOLL_CTL_MOD, watch, events);
}

int
loop_wait(struct loop *loop, uint64_t until_ns)
{
	struct epoll_event events[LOOP_EVENTS];
	uint64_t now_ns = clock_now_ns();
	uint64_t wait_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	struct timespec wait = { .tv_sec = (time_t)(wait_ns / NS_PER_S), .tv_nsec = (long)(wait_ns % NS_PER_S) };
	int ready = epoll_pwait2(loop->fd, events, LOOP_EVENTS, until_ns == UINT64_MAX ? NULL : &wait, NULL);

	if (ready < 0)
		return -errno;
	for (int i = 0; i < ready; i++) {
		struct loop_watch *watch = events[i].data.ptr;

		watch->ready(watch->ctx, events[i].events);
	}
	return 0;
}

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

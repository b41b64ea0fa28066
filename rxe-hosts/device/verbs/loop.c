/* SPDX-License-Identifier: BSD-3-Clause */
#include "rxe-hosts/device/verbs/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"

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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits for descriptors and a time, in one thread: nothing of a host spins, for a guest has one processor and no
 * preemption, and its kernel needs it to answer others.
 */
#pragma once

#include <stdint.h>

struct loop {
	int fd;
};

struct loop_watch {
	int fd;
	void (*ready)(void *ctx, uint32_t events); /* EPOLLIN, ...; may stop its own watch but no other */
	void *ctx;
};

/* @return 0 or negative errno of epoll_create1(2) */
int loop_init(struct loop *loop);
void loop_fini(struct loop *loop);
/* @param watch  must stay where it is. @return 0 or negative errno of epoll_ctl(2) */
int loop_watch(struct loop *loop, struct loop_watch *watch, uint32_t events);
int loop_change(struct loop *loop, struct loop_watch *watch, uint32_t events);
/*
 * Waits until a descriptor is ready or the timeout expires, and calls the handlers of ready descriptors.
 * @param until_ns  of clock_now_ns(); UINT64_MAX: for ever
 * @return 0, or negative errno: -EINTR after a signal
 */
int loop_wait(struct loop *loop, uint64_t until_ns);

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits for descriptors and a time, in one thread: nothing of a host spins, for a guest has one processor and no
 * preemption, and its kernel needs it to answer others.
 */
#pragma once

#include <stdbool.h>
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

/*
 * The clock of the run on a host of its own: the host's monotonic clock, the fabric's learned from exchanges, and the
 * time zero of the run. An exchange gives the fabric's time within half of its round trip (RFC 5905, section 8); of the
 * last few the one with the shortest round trip counts (section 10, the clock filter), so that a message that had to
 * wait does no harm. Pure: times are passed in.
 */

#define RUN_CLOCK_EXCHANGES 16

struct run_clock {
	struct {
		int64_t offset_ns; /* fabric - host */
		uint64_t round_trip_ns;
	} exchange[RUN_CLOCK_EXCHANGES]; /* the last ones, in turn */
	uint32_t exchanges;              /* so far */
	int64_t offset_ns;               /* the best one's */
	uint64_t error_ns;               /* half of its round trip */
	uint64_t zero_ns;                /* of the run, on the fabric's clock; valid if started */
	bool started;
	uint64_t last_ps; /* the last time returned: time never decreases */
};

/*
 * @param sent_ns, received_ns  host's clock
 * @param fabric_ns             when the fabric answered, its clock
 */
void run_clock_exchange(struct run_clock *clock, uint64_t sent_ns, uint64_t fabric_ns, uint64_t received_ns);
void run_clock_start(struct run_clock *clock, uint64_t zero_ns);
/* @return time of the run; 0 before its start */
uint64_t run_clock_ps(struct run_clock *clock, uint64_t host_ns);
/* Converts a point in time, which may be past, by the present estimate. @return time of the run; 0 before its start */
uint64_t run_clock_at_ps(const struct run_clock *clock, uint64_t host_ns);
/* @return when the host's clock will show a time of the run; UINT64_MAX while it has not started */
uint64_t run_clock_host_ns(const struct run_clock *clock, uint64_t time_ps);

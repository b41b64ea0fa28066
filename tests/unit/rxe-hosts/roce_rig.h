/* SPDX-License-Identifier: BSD-3-Clause */
/* One requester and one responder, without a network between them. For one test program each. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rxe-hosts/roce/rc_recv.h"
#include "rxe-hosts/roce/rc_send.h"

#define PLACE 5000

enum message_kind { MESSAGE_WRITE, MESSAGE_SEND };

static inline struct roce_cfg
plain_cfg(void)
{
	return (struct roce_cfg){
		.where = { .file = "case.cfg", .line = 7 },
		.mtu_bytes = 1024,
		.control_bytes = 84,
		.ack_every = 1,
		.window = "none",
		.data_prio = 3,
		.timeout_ps = 4 * PS_PER_MS,
		.timeout_doublings = 1,
		.retry_count = 2,
		.rnr_delay_ps = 20 * PS_PER_US,
		.rnr_retry = 1,
		.nak = true,
	};
}

static struct roce_params params;
static struct rc_send s;
static struct rc_recv r;
static struct send_times sent_times; /* of the message that pop() gave last */

static inline void
start(const char *window, uint32_t first_psn)
{
	struct roce_cfg cfg = plain_cfg();
	struct err err = { "" };

	cfg.window = window;
	assert_int_equal(roce_params_init(&params, &cfg, NULL, 0, &err), 0);
	struct rc_send_config config = {
		.flow = 5,
		.prio = 3,
		.line_bps = 100000000000ULL,
		.first_psn = first_psn,
		.window_bytes = params.window_bytes,
		.ledger = true,
	};

	assert_int_equal(rc_send_init(&s, &params, &config), 0);
	rc_recv_init(&r, first_psn);
}

static inline int
teardown(void **state)
{
	rc_send_fini(&s);
	recv_ring_fini(&r.receives);
	return 0;
}

static inline void
post(uint64_t bytes, enum message_kind kind)
{
	struct rc_work work = {
		.wr_id = bytes, .bytes = bytes, .remote_offset = PLACE, .imm = 77, .send = kind == MESSAGE_SEND
	};

	assert_int_equal(rc_send_post(&s, &params, &work), 0);
}

static inline struct pkt
next(uint64_t now_ps)
{
	struct pkt p;

	rc_send_advance(&s, &params, now_ps);
	assert_true(rc_send_ready(&s));
	rc_send_next(&s, &params, now_ps, &p);
	return p;
}

static inline bool
pop(struct rc_post *done)
{
	return rc_send_pop(&s, &params, done, &sent_times);
}

static inline uint32_t
deliver(const struct pkt *p, uint64_t now_ps)
{
	const struct rc_reth reth = { .place = PLACE, .room_bytes = UINT64_MAX };

	return rc_recv_data(&r, &params, p, &reth, now_ps);
}

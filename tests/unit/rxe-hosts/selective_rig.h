/* SPDX-License-Identifier: BSD-3-Clause */
/* A selective sender and its receiver, without a network between them. For one test program each. */
#pragma once

#include "common/units.h"
#include "common/wire/roce.h"
#include "rxe-hosts/roce/selective.h"
#include "tests/unit/rxe-hosts/roce_rig.h"

#define US PS_PER_US
#define BASE_RTT_PS (8 * US)

static struct sel_recv *sel;

static inline void
begin_with(struct roce_cfg *cfg, uint32_t first_psn)
{
	struct err err = { "" };
	struct rc_send_config config = { .flow = 5, .prio = 3, .line_bps = 100000000000ULL, .first_psn = first_psn };

	cfg->transport = TRANSPORT_SELECTIVE;
	assert_int_equal(roce_params_init(&params, cfg, NULL, 0, &err), 0);
	params.cc.base_rtt_ps = BASE_RTT_PS;
	config.window_bytes = params.window_bytes;
	assert_int_equal(rc_send_init(&s, &params, &config), 0);
	rc_recv_init(&r, first_psn);
	sel = sel_recv_create(rc_send_slots(&params, params.window_bytes));
	assert_non_null(sel);
}

static inline void
begin(const char *window, int timer, uint32_t first_psn)
{
	struct roce_cfg cfg = plain_cfg();

	cfg.window = window;
	cfg.selective = (struct sel_cfg){ .repeat_after_ps = 5 * US, .timer = timer, .windows = 4 };
	begin_with(&cfg, first_psn);
}

static inline int
end(void **state)
{
	(void)state;
	rc_send_fini(&s);
	sel_recv_destroy(sel);
	sel = NULL;
	return 0;
}

static inline void
post_numbered(uint64_t bytes, uint32_t number)
{
	struct rc_work work = { .wr_id = number, .bytes = bytes, .remote_offset = PLACE, .imm = number };

	assert_int_equal(rc_send_post(&s, &params, &work), 0);
}

static inline uint32_t
receive(const struct pkt *p)
{
	return sel_recv_data(&r, sel, &params, p, 0);
}

/* An ACK as of a receiver that reports nothing before the packet. */
static inline uint32_t
ack(uint32_t psn, uint32_t expected, uint64_t now_ps)
{
	struct pkt p = { .psn = psn & PSN_MASK, .arg = expected & PSN_MASK, .syndrome = AETH_ACK_SELECTIVE };
	uint64_t rtt_ps;

	return sel_send_ack(&s, &params, &p, now_ps, &rtt_ps);
}

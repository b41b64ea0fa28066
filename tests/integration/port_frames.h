/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of port_guest.h as a port gives them. For one test program each. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <rte_mbuf.h>

#include "common/clock.h"
#include "tests/integration/port_guest.h"

static inline void
pause_us(uint64_t us)
{
	clock_sleep_until_ns(clock_now_ns() + us * 1000);
}

static inline void
expect_frame(const struct rte_mbuf *m, uint32_t n)
{
	uint8_t want[GUEST_MAX_BYTES];
	uint32_t size = guest_frame(n, want);

	assert_int_equal(m->nb_segs, 1);
	assert_int_equal(rte_pktmbuf_pkt_len(m), size);
	assert_memory_equal(rte_pktmbuf_mtod(m, uint8_t *), want, size);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Polling packets through a chain a - S1 - S2 - b with c at S1 and d at S2. Port numbers in records count from 0. For one
 * test program each.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "tests/unit/dpswitch/fabric_rig.h"

#define US PS_PER_US
#define CLASS_3 (1 << 3)

static const char chain[] =
	"topology = { kind = \"explicit\"; rate = \"100Gbps\"; delay = \"1us\"; switches = [ \"S1\", \"S2\" ]; "
	"hosts = [ \"a\", \"b\", \"c\", \"d\" ]; "
	"links = ( \"a S1\", \"S1 S2\", \"c S1\", \"b S2\", \"d S2\" ); };";

/* Ports of S1: 0 to a, 1 to S2, 2 to c. Of S2: 0 to S1, 1 to b, 2 to d. */
enum { S1_A, S1_S2, S1_C };
enum { S2_S1, S2_B, S2_D };

static inline void
start(struct frig *rig)
{
	if (frig_start(rig) < 0)
		fail_msg("%s", rig->err.text);
}

static inline void
send_poll(struct frig *rig, uint32_t victim, uint64_t at_ps, uint32_t event, uint8_t flags)
{
	const struct pkt poll = {
		.flow = victim,
		.id = event,
		.arg = flags,
		.wire_bytes = 84,
		.type = PKT_POLL,
		.ttl = PKT_TTL_INIT,
	};

	frig_send_pkt(rig, at_ps, &poll);
}

/* The victim's destination sends polling packet id back, on the way of the ACKs. */
static inline void
send_back(struct frig *rig, uint32_t victim, uint64_t at_ps, uint32_t id)
{
	const struct pkt back = {
		.flow = victim,
		.id = id,
		.arg = POLL_VICTIM | POLL_BACK,
		.wire_bytes = 84,
		.type = PKT_POLL,
		.flags = PKT_REVERSE,
		.ttl = PKT_TTL_INIT,
	};

	frig_host_send(frig_host(rig, "b"), at_ps, &back);
}

/* Polls that arrived at a host. */
static inline uint32_t
polls_at(const struct frig_host *host)
{
	uint32_t polls = 0;

	for (size_t i = 0; i < host->ngot; i++)
		polls += host->got[i].type == PKT_POLL;
	return polls;
}

static inline const struct rec_poll *
poll_of(const struct sw *sw, uint32_t n)
{
	return frig_record(&sw->node, REC_POLL, n);
}

static inline void
expect_poll(const struct sw *sw, uint32_t n, uint16_t in, uint16_t out, uint16_t flags, bool paused, bool repeated)
{
	const struct rec_poll *poll = poll_of(sw, n);

	assert_non_null(poll);
	assert_int_equal(poll->in_port, in);
	assert_int_equal(poll->out_port, out);
	assert_int_equal(poll->flags, flags);
	assert_int_equal(poll->out_paused, paused);
	assert_int_equal(poll->repeated, repeated);
}

/* What a port answered to an event about its open epoch: the last of its rows. */
static inline const struct rec_port_row *
row_of(const struct sw *sw, uint32_t event, uint16_t port)
{
	const struct rec_port_row *row, *last = NULL;

	for (uint32_t n = 0; (row = frig_record(&sw->node, REC_PORT_ROW, n)) != NULL; n++)
		if (row->hdr.event == event && row->port == port)
			last = row;
	return last;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of two hosts behind one switch, and what becomes of them. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/wire/record.h"
#include "diag/collect/stream.h"
#include "tests/unit/diag/records.h"

/* Two hosts behind one switch. @param nics  of the first host */
static inline void
fabric(struct records *r, uint32_t nics)
{
	struct rec_port second = { .port = 1, .peer = REC_NONE, .ip = records_ip(9), .rate_bps = RECORDS_RATE_BPS };

	records_init(r);
	records_run(r);
	records_node(r, 0, "s", false, 2);
	records_node(r, 1, "a", true, nics);
	records_node(r, 2, "b", true, 1);
	records_link(r, 0, 0, false, 1, 0, true);
	records_link(r, 0, 1, false, 2, 0, true);
	if (nics == 2)
		RECORDS_PUT(r, second, REC_PORT, 1, 0);
}

/* Two steps each way. */
static inline void
schedule(struct records *r)
{
	records_collective(r, 2, 2);
	records_schedule(r, 0, 1, 1, 2, REC_NONE, 10 * PS_PER_MS);
	records_schedule(r, 0, 2, 1, 2, 1, 10 * PS_PER_MS);
	records_schedule(r, 1, 1, 2, 1, REC_NONE, 10 * PS_PER_MS);
	records_schedule(r, 1, 2, 2, 1, 0, 10 * PS_PER_MS);
}

static inline void
two_hosts(struct records *r)
{
	fabric(r, 1);
	schedule(r);
}

static inline int
decode(const struct records *r, size_t portion_bytes, struct evidence *ev, struct err *err)
{
	struct stream stream;
	int rc = 0;

	memset(err, 0, sizeof(*err));
	evidence_init(ev);
	stream_init(&stream, ev);
	for (size_t at = 0; rc == 0 && at < r->used_bytes; at += portion_bytes) {
		size_t left = r->used_bytes - at;

		rc = stream_feed(&stream, r->data + at, left < portion_bytes ? left : portion_bytes, err);
	}
	if (rc == 0)
		rc = stream_finish(&stream, err);
	stream_fini(&stream);
	return rc;
}

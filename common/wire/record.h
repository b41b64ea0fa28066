/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record stream: all that the analyzer ever learns. Little-endian, fixed sizes, multiples of 8.
 * A stream is one struct rec_stream, then records, the header records first, REC_END last.
 * Records carry only what real switches and hosts can report, and (header records) what an operator configured.
 */
#pragma once

#include <stdint.h>

#include "common/wire/record_fabric.h"
#include "common/wire/record_rows.h"
#include "common/wire/record_run.h"
#include "common/wire/record_steps.h"

#define REC_MAGIC 0x3142414c45434f52ULL /* "ROCELAB1" */
#define REC_VERSION 1

struct rec_stream {
	uint64_t magic;
	uint32_t version;
	uint32_t size; /* sizeof(struct rec_stream) */
};

enum rec_type {
	/* header records: what is configured */
	REC_RUN = 1,
	REC_NODE = 2,
	REC_PORT = 3,
	REC_COLLECTIVE = 4,
	REC_SCHEDULE = 5,
	REC_ROUTE = 6,
	REC_ECMP = 7,
	/* reported by hosts */
	REC_STEP = 16,
	REC_TRIGGER = 17,
	REC_NOTIFY = 18,
	/* reported by switches, and by hosts for their NICs */
	REC_POLL = 32,
	REC_PORT_ROW = 33,
	REC_FLOW_ROW = 34,
	REC_METER_ROW = 35,
	REC_MATRIX_ROW = 36,
	REC_DROP_ROW = 37,
	/* reported by the exporter */
	REC_GAP = 48,
	REC_END = 49,
};

_Static_assert(sizeof(struct rec_stream) == 16, "layout");

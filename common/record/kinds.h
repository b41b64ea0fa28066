/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kind of record with every one of its fields, and what a field may hold: the rules of common/record/check.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/wire/record.h"
#include "common/wire/record_hdr.h"

enum record_rule {
	RECORD_ANY,
	RECORD_RANGE,        /* min to max */
	RECORD_HOST_OR_NONE, /* described, a host; or REC_NONE */
	RECORD_NODE_OR_NONE,
	RECORD_SWITCH, /* described */
	RECORD_SWITCH_OR_NONE,
	RECORD_PORT,         /* of hdr.node */
	RECORD_PORT_OR_NONE, /* or REC_NO_PORT */
	RECORD_TIME,         /* at most RECORD_MAX_PS */
	RECORD_PAST,         /* at most RECORD_AHEAD_PS after the record's own time */
	RECORD_UNTIL,        /* the same, and not before the time that the 8 bytes before it hold */
	RECORD_LAST_EPOCH,   /* not before the epoch that the 4 bytes before it hold, nor after that of the report */
	RECORD_COUNT,        /* at most RECORD_MAX_COUNT, all of the kind at most RECORD_MAX_SUM; from 0 in each record */
	RECORD_TOTAL,        /* the same limits; near the value of the record before */
	RECORD_STEP,         /* from 1, of the collective and iteration that the 8 bytes before it hold, described */
	RECORD_REPORT_KIND,  /* enum rec_type of what hosts or switches report */
	RECORD_TUPLE,        /* reserved is 0 */
	RECORD_NAME,         /* char[REC_NAME_LEN]: letters, digits, '_', '.', '-'; not empty */
	RECORD_TEXT,         /* char[]: printable, of any alphabet */
};

struct record_field {
	const char *name;
	uint16_t at, size; /* bytes */
	uint32_t rule;     /* enum record_rule */
	uint64_t min, max; /* of RECORD_RANGE */
};

/* The reporter that hdr.node names. */
enum record_reporter {
	RECORD_OF_NONE, /* REC_NONE: the run */
	RECORD_OF_NEW,  /* the node that it describes, the next one */
	RECORD_OF_ANY,
	RECORD_OF_HOST,
};

struct record_kind {
	const char *name;   /* "PORT_ROW"; NULL: no such kind */
	const char *title;  /* "port row" */
	uint32_t size;      /* bytes */
	uint32_t class;     /* enum rec_class */
	uint32_t reporter;  /* enum record_reporter */
	uint32_t relevance; /* of reports: 0 is the last to be given up under a budget */
	const struct record_field *fields;
	uint32_t nfields;
};

extern const struct record_kind record_kinds[RECORD_KINDS];

/* @return the size of a record of this type, 0 for an unknown type */
static inline size_t
record_size(uint16_t type)
{
	return type < RECORD_KINDS ? record_kinds[type].size : 0;
}

/* @param type  a known one */
static inline bool
record_is(uint32_t type, enum rec_class class)
{
	return record_kinds[type].class == class;
}

/* @return whether the type describes the run itself (topology, plan): no other record can be understood without these */
static inline bool
record_is_header(uint16_t type)
{
	return record_is(type, REC_TOPOLOGY) || record_is(type, REC_PLAN);
}

/* @return whether hosts and switches report the type, so that a budget applies to it. @param type  any */
static inline bool
record_is_report(uint32_t type)
{
	return type < RECORD_KINDS && record_size((uint16_t)type) != 0 &&
	       (record_is(type, REC_HOST) || record_is(type, REC_TELEMETRY) || record_is(type, REC_MANAGEMENT));
}

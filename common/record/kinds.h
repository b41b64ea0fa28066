/* SPDX-License-Identifier: BSD-3-Clause */
/* Every kind of record with every one of its fields, and what a field may hold: the rules of common/record/check.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/record/limits.h"
#include "common/wire/record.h"

enum record_rule {
	RECORD_ANY,
	RECORD_RANGE,        /* min to max */
	RECORD_NODE,         /* described */
	RECORD_HOST_OR_NONE, /* described, a host; or REC_NONE */
	RECORD_NODE_OR_NONE,
	RECORD_PORT,         /* of hdr.node */
	RECORD_PORT_OR_NONE, /* or REC_NO_PORT */
	RECORD_TIME,         /* at most RECORD_MAX_PS */
	RECORD_PAST,         /* at most RECORD_AHEAD_PS after the record's own time */
	RECORD_COUNT,        /* at most RECORD_MAX_COUNT, all of the kind at most RECORD_MAX_SUM */
	RECORD_TUPLE,        /* reserved is 0 */
	RECORD_NAME,         /* char[REC_NAME_LEN]: letters, digits, '_', '.', '-'; not empty */
	RECORD_TEXT,         /* char[REC_NAME_LEN]: printable, of any alphabet */
};

struct record_field {
	const char *name;
	uint16_t at, size; /* bytes */
	uint32_t rule;     /* enum record_rule */
	uint64_t min, max; /* of RECORD_RANGE */
};

/* Whom hdr.node names. */
enum record_reporter {
	RECORD_OF_NONE, /* REC_NONE: the run */
	RECORD_OF_NEW,  /* the node that it describes, the next one */
	RECORD_OF_ANY,
	RECORD_OF_HOST,
};

struct record_kind {
	const char *name;  /* "PORT_ROW"; NULL: no such kind */
	uint32_t size;     /* bytes */
	uint32_t reporter; /* enum record_reporter */
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

/* What is configured: records that describe the run itself, without which no other can be understood. */
static inline int
record_is_header(uint16_t type)
{
	return type <= REC_ECMP;
}

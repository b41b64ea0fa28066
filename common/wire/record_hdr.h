/* SPDX-License-Identifier: BSD-3-Clause */
/* The headers of the stream of records, of every record, and of every frame of records. */
#pragma once

#include <stdint.h>

#include "common/wire/layout.h"

#define REC_MAGIC 0x3142414c45434f52ULL /* "ROCELAB1" */
#define REC_VERSION 23

struct rec_stream {
	uint64_t magic;
	uint32_t version;
	uint32_t size; /* sizeof(struct rec_stream) */
};

WIRE_AT(rec_stream, 0, magic)
WIRE_AT(rec_stream, 8, version)
WIRE_AT(rec_stream, 12, size)
WIRE_SIZE(rec_stream, 16)

struct rec_hdr {
	uint16_t type;    /* enum rec_type */
	uint16_t size;    /* whole record */
	uint32_t node;    /* reporter: topology node id; REC_NONE for header records of the run */
	uint64_t time_ps; /* when it was reported */
	uint32_t seq;     /* per node, from 0: records merge by (time, node, seq) */
	uint32_t event;   /* polling event id that caused it, 0 for none */
};

WIRE_AT(rec_hdr, 0, type)
WIRE_AT(rec_hdr, 2, size)
WIRE_AT(rec_hdr, 4, node)
WIRE_AT(rec_hdr, 8, time_ps)
WIRE_AT(rec_hdr, 16, seq)
WIRE_AT(rec_hdr, 20, event)
WIRE_SIZE(rec_hdr, 24)

/*
 * In the place of a record: reports of one node, packed (common/record/frame.h). Its header's time_ps is when it was sent,
 * seq and event are those of its first record.
 */
#define REC_FRAME 64             /* beside the numbers of enum rec_type */
#define REC_FRAME_MAX_BYTES 1472 /* with IPv4's and UDP's headers an Ethernet MTU of 1500 */

/* Largest values in records: larger ones are refused at the border (common/record/check.h). */

#define RECORD_KINDS 64                                  /* types are below it */
#define RECORD_MAX_FIELDS 32                             /* of a kind, behind the header */
#define RECORD_MAX_PS (1ULL << 60)                       /* 13 days: sixteen of them add up */
#define RECORD_MAX_COUNT (1ULL << 52)                    /* of packets or bytes; exact as a double too */
#define RECORD_MAX_SUM ((1ULL << 62) - RECORD_MAX_COUNT) /* of one field over all records of a kind: two add up */
#define RECORD_MAX_NODES 65536
#define RECORD_MAX_PORTS_A_NODE 1024
#define RECORD_MAX_PORTS (1u << 20) /* of all nodes */
#define RECORD_MAX_HOPS 255
#define RECORD_MAX_ROUND (UINT32_MAX - 1) /* of traces: the number of rounds fits 32 bits, too */
#define RECORD_AHEAD_PS 1000000000000ULL  /* how far ahead of its report a time of a host's clock may be */

/* SPDX-License-Identifier: BSD-3-Clause */
/* How large what records say may be: what is larger is refused at the border (common/record/check.h). */
#pragma once

#define RECORD_KINDS 64               /* types are below it */
#define RECORD_MAX_FIELDS 28          /* of a kind, behind the header */
#define RECORD_MAX_PS (1ULL << 62)    /* 53 days: two of them add up */
#define RECORD_MAX_COUNT (1ULL << 52) /* of packets or bytes; exact as a double too */
#define RECORD_MAX_SUM (1ULL << 63)   /* of one field over all records of a kind */
#define RECORD_MAX_NODES 65536
#define RECORD_MAX_PORTS_A_NODE 1024
#define RECORD_MAX_PORTS (1u << 20) /* of all nodes */
#define RECORD_MAX_HOPS 255
#define RECORD_AHEAD_PS 1000000000000ULL /* so far ahead of its report a host's clock may tell of a time */

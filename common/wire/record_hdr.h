/* SPDX-License-Identifier: BSD-3-Clause */
/* What every record begins with. */
#pragma once

#include <stdint.h>

#include "common/wire/ids.h"

struct rec_hdr {
	uint16_t type;    /* enum rec_type */
	uint16_t size;    /* whole record */
	uint32_t node;    /* reporter: topology node id; REC_NONE for header records of the run */
	uint64_t time_ps; /* when it was reported */
	uint32_t seq;     /* per node, from 0: records merge by (time, node, seq) */
	uint32_t event;   /* polling event id that caused it, 0 for none */
};

_Static_assert(sizeof(struct rec_hdr) == 24, "layout");

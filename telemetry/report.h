/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node's ports replied that was not kept: nobody gets it, but a switch had the work. */
#pragma once

#include <stdint.h>

/* A reply of one port to one polling packet is a report; bytes are those of the frames (common/record/frame.h) that it takes. */
struct report_count {
	uint64_t unkept_reports, unkept_bytes;
};

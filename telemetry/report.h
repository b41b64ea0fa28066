/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies of a node's ports that were not kept: no program receives them, but the switch had the work. */
#pragma once

#include <stdint.h>

/*
 * A reply of one port to one polling packet is a report; bytes are those of the frames (common/record/frame.h) that it
 * takes.
 */
struct report_count {
	uint64_t unkept_reports, unkept_bytes;
};

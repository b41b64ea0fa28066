/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a schedule's file: it is read and has the form that a schedule must have, or is refused with a message.
 * FUZZ_KIND says of which format (enum import_kind).
 */
#include <string.h>

#include "collectives/import/import.h"
#include "tests/fuzz/import_input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two ranks: the first byte says where the second's begins. */
static const char *
two_traces(const uint8_t *data, size_t size, char buf[64])
{
	size_t first = size != 0 ? (size - 1) * data[0] / 255 : 0;

	input_file("t.0.et", data + (size != 0), first, buf);
	input_file("t.1.et", data + (size != 0) + first, size - (size != 0) - first, buf);
	*strrchr(buf, '/') = '\0';
	return buf;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	struct err err = { 0 };
	struct import_options options = {
		.kind = FUZZ_KIND,
		.path = FUZZ_KIND == IMPORT_CHAKRA ? two_traces(data, size, path) : input_file("f", data, size, path),
		.count_elems = import_format(FUZZ_KIND)->sized ? 5040 : 0,
		.elem_bytes = import_format(FUZZ_KIND)->sized ? IMPORT_ELEM_BYTES : 1,
		.local_bps = 1000000000,
		.max_channels = IMPORT_CHANNELS,
	};
	struct coll_schedule *schedule = import_schedule(&options, &err);

	if (schedule == NULL) {
		assert(err.text[0] != '\0');
		return 0;
	}
	for (uint32_t rank = 0; rank < schedule->ranks; rank++)
		for (uint32_t step = 1; step <= coll_steps(schedule, rank); step++)
			assert(coll_step_get(schedule, rank, step).peer < schedule->ranks);
	coll_schedule_destroy(schedule);
	return 0;
}

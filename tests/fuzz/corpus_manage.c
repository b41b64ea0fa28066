/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/fuzz/corpus.h"

#include <stdint.h>
#include <string.h>

#include "common/array.h"
#include "common/wire/manage.h"
#include "common/wire/record.h"

/* One of each message, behind the byte that says in what portions it comes. */
bool
manage_seeds(const char *folder)
{
	static const uint32_t sizes[] = {
		[MANAGE_HELLO] = sizeof(struct manage_hello),
		[MANAGE_TIME] = sizeof(struct manage_time),
		[MANAGE_CONNECT] = 0,
		[MANAGE_CONNECTED] = sizeof(struct manage_connected),
		[MANAGE_START] = sizeof(struct manage_start),
		[MANAGE_RECORDS] = 2 * sizeof(struct rec_step),
		[MANAGE_PROGRESS] = sizeof(struct manage_progress),
		[MANAGE_STOP] = sizeof(struct manage_stop),
		[MANAGE_STEP] = sizeof(struct manage_step),
		[MANAGE_ITERATION] = sizeof(struct manage_iteration),
		[MANAGE_RESULT] = sizeof(struct manage_result),
		[MANAGE_FAILED] = sizeof(struct manage_failed),
		[MANAGE_QP_ERROR] = sizeof(struct manage_failed),
		[MANAGE_QP] = sizeof(struct manage_qp),
		[MANAGE_PINGMESH] = 20,
		[MANAGE_COUNTER] = sizeof(struct manage_counter),
	};
	struct rec_step steps[2] = { { .hdr = { .type = REC_STEP, .size = sizeof(steps[0]) },
				       .step = 1,
				       .waited_collective = REC_NONE,
				       .waited_rank = REC_NONE } };
	uint8_t bytes[4096] = { 0 };
	size_t used = 1;

	steps[1] = steps[0];
	for (uint16_t type = MANAGE_HELLO; type < ARRAY_LEN(sizes); type++) {
		struct manage_hdr hdr = { .magic = MANAGE_MAGIC, .type = type, .size = sizes[type] };

		memcpy(bytes + used, &hdr, sizeof(hdr));
		if (type == MANAGE_RECORDS)
			memcpy(bytes + used + sizeof(hdr), steps, sizeof(steps));
		used += sizeof(hdr) + sizes[type];
	}
	if (!write_seed(folder, "bytewise", bytes, used))
		return false;
	bytes[0] = 0xff;
	return write_seed(folder, "at_once", bytes, used);
}

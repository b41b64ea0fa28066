/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/jobs/pipeline.h"

struct pipeline_turn
pipeline_turn(enum pipeline_schedule schedule, uint32_t stages, uint32_t stage, uint32_t micro_batches, uint32_t i)
{
	uint32_t ahead = stages - stage - 1 < micro_batches ? stages - stage - 1 : micro_batches;
	uint32_t steady = 2 * (micro_batches - ahead); /* turns of the alternating part */

	if (schedule == PIPELINE_GPIPE)
		return (struct pipeline_turn){ i % micro_batches, i >= micro_batches };
	if (i < ahead)
		return (struct pipeline_turn){ i, false };
	if (i < ahead + steady)
		return (struct pipeline_turn){ (i - ahead) % 2 == 0 ? ahead + (i - ahead) / 2 : (i - ahead) / 2,
					       (i - ahead) % 2 != 0 };
	return (struct pipeline_turn){ i - micro_batches, true };
}

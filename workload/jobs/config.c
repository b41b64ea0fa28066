/* SPDX-License-Identifier: BSD-3-Clause */
#include "workload/jobs/config.h"

#include <stddef.h>

#include "common/array.h"

#define AT(field) offsetof(struct work_job_config, field)
static const struct cfg_field job_fields[] = {
	CFG_FIELD("name", CFG_STRING, AT(name),
		  .doc = "Its name in reports: letters, digits, '_', '.' and '-', at most 31."),
	CFG_FIELD("ranks", CFG_STRINGS, AT(ranks), .def = "",
		  .doc = "Rank 0, 1, ... as host or host:nic, nic from 1, with ranges as h[0-3,8]; absent: the hosts that "
			 "placement assigns; without placement, every host of the topology at its first NIC. Jobs may "
			 "share hosts that are named here."),
	CFG_FIELD("iterations", CFG_INT, AT(iterations), .def = "1", .min = 1, .max = 1000000,
		  .doc = "Number of iterations; each runs all its collectives."),
	CFG_FIELD("start", CFG_TIME, AT(start_ps), .def = "0ns", .doc = "When the first iteration starts."),
	CFG_FIELD("gap", CFG_TIME, AT(gap_ps), .def = "0ns", .doc = "Pause of a rank between its iterations."),
	CFG_FIELD("compute", CFG_TIME, AT(compute_ps), .def = "0ns",
		  .doc = "Compute time of every rank at the start of an iteration, before its collectives."),
	CFG_FIELD("enabled", CFG_BOOL, AT(enabled), .def = "true",
		  .doc = "false: it keeps its number, hosts and ports, but does not start; the rest runs as if it were "
			 "absent."),
	CFG_FIELD("measured", CFG_BOOL, AT(measured), .def = "false",
		  .doc = "As measured of all its collectives, and of its pipeline's messages."),
};
#undef AT

const struct cfg_table job_table = {
	.path = "jobs",
	.doc = "Jobs: ranks on hosts that run several collectives, in order or in parallel, iteration by iteration. A rank "
	       "starts its next iteration when it has completed all its collectives of the current one.",
	.list = true,
	.size = sizeof(struct work_job_config),
	.fields = job_fields,
	.nfields = ARRAY_LEN(job_fields),
};

static const struct cfg_choice schedules[] = {
	{ "1f1b", PIPELINE_1F1B,
	  "as many micro-batches in flight as there are later stages, then one backward per forward (PipeDream-flush; "
	  "Narayanan et al., SC 2021, section 2.2)" },
	{ "gpipe", PIPELINE_GPIPE, "all forward, then all backward (Huang et al., NeurIPS 2019)" },
	{ 0 },
};

#define AT(field) offsetof(struct pipeline_config, field)
static const struct cfg_field pipeline_fields[] = {
	CFG_FIELD("dim", CFG_STRING, AT(dim), .def = "pipeline",
		  .doc = "The dimension of the job whose places are the stages."),
	CFG_FIELD("micro_batches", CFG_INT, AT(micro_batches), .min = 1, .max = 1024,
		  .doc = "Micro-batches of an iteration."),
	CFG_FIELD("order", CFG_ENUM, AT(order), .def = "1f1b", .choices = schedules, .doc = "Schedule of a stage."),
	CFG_FIELD("bytes", CFG_BYTES, AT(bytes), .min = 4, .max = 2147483648.0,
		  .doc = "Size of the activations that a rank sends to the next stage, and of the gradients to the "
			 "previous one, per micro-batch."),
};
#undef AT

const struct cfg_table pipeline_table = {
	.path = "jobs.pipeline",
	.doc = "Pipeline parallelism. Every stage runs the job's collectives of phase forward, then sends activations to "
	       "the "
	       "next stage; those of phase backward, then sends gradients to the stage before; so for every micro-batch, "
	       "and "
	       "those without a phase afterwards.",
	.size = sizeof(struct pipeline_config),
	.fields = pipeline_fields,
	.nfields = ARRAY_LEN(pipeline_fields),
};

/* The turns of a pipeline. */

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

/* SPDX-License-Identifier: BSD-3-Clause */
/* A host that starts steps later than it could, as one that computes or is preempted does. */
#include "common/array.h"
#include "dpswitch/faults/fault.h"

struct slow_host {
	struct fault_at_host at;  /* common.duration_ps: how much later; it is there during the whole run */
	int64_t collective, step; /* collective -1: all; step 0: every step */
};

#define S struct slow_host
static const struct cfg_field fields[] = {
	FAULT_ENABLED_FIELD,
	FAULT_AT_HOST_FIELD("The slow host."),
	CFG_FIELD("collective", CFG_INT, offsetof(S, collective), .def = "-1", .min = -1, .max = 16383,
		  .doc = "Which collective, from 0; -1: all."),
	CFG_FIELD("step", CFG_INT, offsetof(S, step), .def = "0", .max = 4194303,
		  .doc = "Which step, from 1; 0: every step."),
	CFG_FIELD("delay", CFG_TIME, offsetof(S, at.common.duration_ps), .doc = "How much later the step starts."),
};

static const struct cfg_table table = {
	.path = "faults",
	.doc = "A host starts steps later than it could.",
	.list = true,
	.size = sizeof(S),
	.fields = fields,
	.nfields = ARRAY_LEN(fields),
};
#undef S

/* A step that does not exist cannot be late. */
static int
check(const void *params, const struct fault_work *work, struct err *err)
{
	const struct slow_host *fault = params;
	uint32_t steps = 0;

	if (fault->collective >= (int64_t)work->ncollectives)
		return cfg_fail(&fault->at.common.where, "collective", err, "%lld: the last is %lld",
				(long long)fault->collective, (long long)work->ncollectives - 1);
	for (uint32_t c = 0; c < work->ncollectives; c++)
		if ((fault->collective < 0 || fault->collective == c) && work->steps[c] > steps)
			steps = work->steps[c];
	if (fault->step > (int64_t)steps)
		return cfg_fail(&fault->at.common.where, "step", err, "%lld: a rank has steps 1 to %u",
				(long long)fault->step, steps);
	return 0;
}

static uint64_t
start_delay_ps(const void *params, uint32_t node, uint32_t collective, uint32_t step)
{
	const struct slow_host *fault = params;
	bool concerned = fault->at.node == node && (fault->collective < 0 || fault->collective == (int64_t)collective) &&
			 (fault->step == 0 || fault->step == (int64_t)step);

	return concerned ? fault->at.common.duration_ps : 0;
}

static uint64_t
affected(const void *params, const struct fault_env *env)
{
	const struct slow_host *fault = params;

	return env->steps_begun(env->run, fault->at.node, fault->collective, fault->step);
}

static const char *
powerless(const void *params)
{
	return ((const struct slow_host *)params)->at.common.duration_ps == 0 ? "its delay is 0" : NULL;
}

static const char *const truth_keys[] = { "step", "collective", NULL };

const struct fault_ops fault_slow_host = {
	.kind = "slow-host",
	.symptoms = (const char *const[]){ "slow-host", NULL },
	.example = "kind = \"slow-host\"; host = \"h0\"; delay = \"100us\";",
	.table = &table,
	.resolve = fault_at_host_resolve,
	.check = check,
	.start_delay_ps = start_delay_ps,
	.target = fault_at_host_target,
	.affected = affected,
	.idle = "the host did not get to the step",
	.powerless = powerless,
	.truth_keys = truth_keys,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Slow host: a step started late although its own previous step and the data that it needs were there. */
#include "common/array.h"
#include "diag/vedrfolnir/cause/cause.h"

static void
look(struct cause_set *set, uint32_t step)
{
	const struct run_step *s = &set->in->steps[step];
	struct cause_finding *finding;

	if (s->late_ps == 0)
		return;
	finding = cause_add(set, EV_NONE, set->in->ev->nodes[s->host].name, s->host, step);
	if (finding == NULL)
		return;
	cause_time(finding, s->start_ps - s->late_ps, s->start_ps);
	cause_explains(finding, EV_NONE, (double)s->late_ps);
	if (cause_score(finding, cause_lost_frames(set->in, step, (double)s->late_ps)))
		finding->out.evidence =
			(struct finding_evidence){ .nclauses = 1, .step = step, .flow = s->flow, .ps = (double)s->late_ps };
}

static const char *const clauses[] = {
	"{flow} step {number} started {ms} ms after everything it depends on was there ({expected} ms expected for the "
	"whole "
	"step)",
};

const struct cause cause_slow_host = {
	.type = { .key = "slow-host",
		  .title = "slow host",
		  .preposition = "",
		  .badge = "host",
		  .traits = FINDING_OF_HOST,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};

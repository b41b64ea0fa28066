/* SPDX-License-Identifier: BSD-3-Clause */
/* Slow host: a step started late although its own previous step and the data that it needs were there. */
#include <stdio.h>

#include "diag/vedrfolnir/cause/cause.h"

void
cause_slow_host(struct cause_set *set, uint32_t step)
{
	const struct run_step *s = &set->in->steps[step];
	struct cause_finding *finding;
	char flow[96];

	if (s->late_ps == 0)
		return;
	finding = cause_add(set, FINDING_SLOW_HOST, EV_NONE, set->in->ev->nodes[s->host].name, s->host, step);
	if (finding == NULL)
		return;
	cause_time(finding, s->start_ps - s->late_ps, s->start_ps);
	cause_explains(finding, EV_NONE, (double)s->late_ps);
	if (cause_score(finding, cause_lost_frames(set->in, step, (double)s->late_ps)))
		snprintf(finding->out.evidence, sizeof(finding->out.evidence),
			 "%s step %u started %.3f ms after everything it depends on was there (%.3f ms expected for "
			 "the whole step)",
			 evidence_flow_name(set->in->ev, s->flow, flow), s->step, (double)s->late_ps / 1e9,
			 (double)s->expect_ps / 1e9);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Slow host: a step started late although all that it depends on was there, or computed for longer than configured. */
#include "common/array.h"
#include "diag/vedrfolnir/cause/cause.h"

enum clause { STARTED_LATE, COMPUTED_LATE, COMPUTED_LONG, STARVED };

static void
look(struct cause_set *set, uint32_t step)
{
	const struct run_step *s = &set->in->steps[step];
	uint64_t host_ps = cause_host_ps(set->in, step), starved_ps = run_starved_of(set->in->run, s).starved_ps;
	struct cause_finding *finding;

	if (host_ps == 0 || s->starved)
		return;
	finding = cause_add(set, EV_NONE, set->in->ev->nodes[s->host].name, s->host, step);
	if (finding == NULL)
		return;
	cause_time(finding, s->start_ps - s->late_ps, s->long_ps != 0 ? s->end_ps : s->start_ps);
	cause_explains(finding, EV_NONE, (double)host_ps);
	if (!cause_score(finding, cause_lost_frames(set->in, step, (double)host_ps)))
		return;
	finding->out.evidence = (struct finding_evidence){
		.nclauses = 1, .step = step, .node = s->host, .flow = s->flow, .ps = (double)s->late_ps
	};
	if (run_is_local(s))
		finding->out.evidence.clauses[0] = s->long_ps > s->late_ps ? COMPUTED_LONG : COMPUTED_LATE;
	if (finding->out.evidence.clauses[0] == COMPUTED_LONG)
		finding->out.evidence.ps = (double)s->long_ps;
	if (starved_ps == 0)
		return;
	finding->out.evidence.clauses[finding->out.evidence.nclauses++] = STARVED;
	finding->out.evidence.of_ps = (double)starved_ps;
}

static const char *const clauses[] = {
	[STARTED_LATE] = "{flow} step {number} started {ms} ms after everything it depends on was there ({expected} ms "
			 "expected for the whole step)",
	[COMPUTED_LATE] = "{node} began to compute, in step {number}, {ms} ms after everything it depends on was there "
			  "({expected} ms configured)",
	[COMPUTED_LONG] = "{node} computed, in step {number}, for {ms} ms longer than the {expected} ms configured",
	[STARVED] = "; the machine kept it waiting for a processor for {of ms} ms of that at most",
};

const struct cause cause_slow_host = {
	.type = { .key = "slow-host",
		  .title = "slow host",
		  .preposition = "",
		  .badge = "host",
		  .traits = FINDING_OF_HOST | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};

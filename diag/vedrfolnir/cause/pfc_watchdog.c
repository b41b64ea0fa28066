/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PFC watchdog: a switch found a queue on the slow step's path paused for too long, and dropped what was for it. The
 * pause has a cause of its own (pfc_storm.c, pfc_deadlock.c); the loss is the watchdog's.
 */
#include "common/array.h"
#include "common/wire/record_rows.h"
#include "diag/vedrfolnir/cause/drops.h"

static void
look(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	double excess_ps = cause_excess_ps(set->in, step);

	for (uint32_t i = 0; s->slow && i < ev->watchdogs.count; i++) {
		const struct rec_watchdog *event = EV_AT(ev->watchdogs, struct rec_watchdog, i);
		struct cause_finding *finding;
		uint32_t port;

		if (!drops_by_watchdog(ev, s, i))
			continue;
		port = evidence_port(ev, event->hdr.node, event->port);
		finding = cause_add(set, port, NULL, event->prio, step);
		if (finding == NULL)
			continue;
		cause_port(set, finding, port);
		cause_time(finding, event->since_ps, event->hdr.time_ps);
		cause_explains(finding, port, excess_ps);
		if (cause_score(finding, cause_lost_frames(set->in, step, excess_ps)))
			finding->out.evidence =
				(struct finding_evidence){ .clauses = { event->event == REC_WATCHDOG_RESTORED },
							   .nclauses = 1,
							   .step = step,
							   .port = port,
							   .other_port = ev->ports[port].peer,
							   .count = event->packets };
	}
}

static const char *const clauses[] = {
	"{step}: {other} paused {port} without a break, and the PFC watchdog of {port} dropped {count} packets that "
	"waited, "
	"and those that followed; {again}",
	"{step}: the PFC watchdog of {port} had dropped {count} packets when {other} paused it no more; {again}",
};

const struct cause cause_pfc_watchdog = {
	.type = { .key = "pfc-watchdog",
		  .title = "PFC watchdog",
		  .preposition = "at ",
		  .badge = "lost",
		  .traits = FINDING_OF_LOSS | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};

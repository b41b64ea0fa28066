/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A retransmission timer without room for a few round trips: the sender took packets for lost, sent them again, and then
 * received the ACKs of the first copies. Nothing was lost. A timer below the round trip of an idle path ends before any ACK
 * can arrive: of several copies no ACK shows which it is for, and all that the sender waited and sent again is the timer's.
 * Copies that are sent behind all data hold none of it back: where the first timer ended later, it cost nothing. Where all
 * retries are spent before an ACK can arrive, the message fails of it. Where none arrives for longer, ACKs are lost, too.
 */
#include "common/array.h"
#include "common/wire/roce.h"
#include "diag/vedrfolnir/cause/drops.h"

enum { CLAUSE_LATER, CLAUSE_NEVER, CLAUSE_SPENT };
static const char *const clauses[] = {
	[CLAUSE_LATER] =
		("{step}: its timer ended after {of ms} ms, and ACKs of what it had sent arrived later: sending it "
		 "again took {ms} ms; --set host.timeout={timer} leaves time for its round trips"),
	[CLAUSE_NEVER] = ("{step}: its timer ended after {of ms} ms, before an ACK can arrive on an idle path: waiting and "
			  "sending again took {ms} ms; --set host.timeout={timer} leaves time for its round trips"),
	[CLAUSE_SPENT] = ("{step}: its timer ends after {of ms} ms, and all its retries were spent before an ACK can "
			  "arrive on an idle path; --set host.timeout={timer} leaves time for its round trips"),
};

/* Was the timer shorter than a round trip on an idle path, and no loss reported? */
static bool
is_below_rtt(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];

	bool silent = s->open && s->acked_bytes == 0 && s->end_ps - s->start_ps > ROCE_TIMER_ROUND_TRIPS * s->base_rtt_ps;

	return s->waited_ns != 0 && run_waited_ps(s) < s->base_rtt_ps && s->naks == 0 && !silent &&
	       evidence_ledger_ps(in->ev, step, LEDGER_NAK) == 0;
}

/*
 * Had all data been sent once before the first timer ended? It starts with the first frame or later. In the entries that
 * count here the sender sent data, or was not allowed to; copies stand in others.
 */
static bool
had_sent_all(const struct cause_input *in, uint32_t step)
{
	static const enum ledger_entry sending[] = { LEDGER_WIRE,   LEDGER_PACED, LEDGER_WINDOW,
						     LEDGER_PAUSED, LEDGER_NIC,   LEDGER_BEHIND };
	uint64_t sent_ps = 0;

	for (size_t i = 0; i < ARRAY_LEN(sending); i++)
		sent_ps += evidence_ledger_ps(in->ev, step, sending[i]);
	return sent_ps <= run_waited_ps(&in->steps[step]);
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct run_step *s = &set->in->steps[step];
	bool below = is_below_rtt(set->in, step), spent = s->slow && drops_gave_up_early(set->in, step);
	double ps =
		cause_ledger_ps(set->in, step, LEDGER_EARLY) + (below ? cause_ledger_ps(set->in, step, LEDGER_TIMEOUT) : 0);
	struct cause_finding *finding;

	/* a timer with room for round trips on an idle path is long enough: what made these longer is the cause */
	if (run_waited_ps(s) > ROCE_TIMER_ROUND_TRIPS * s->base_rtt_ps || (!spent && had_sent_all(set->in, step)))
		return;
	ps = spent ? cause_excess_ps(set->in, step) : ps;
	finding = cause_of_sender(set, step, ps, EV_NONE, set->in->ev->nodes[s->host].name);
	if (finding != NULL && below && finding->out.evidence.step == step)
		finding->out.evidence.clauses[0] = spent ? CLAUSE_SPENT : CLAUSE_NEVER;
}

const struct cause cause_timer_too_short = {
	.type = { .key = "timer-too-short",
		  .title = "retransmission timer too short",
		  .preposition = "of ",
		  .badge = "host",
		  .traits = FINDING_OF_HOST | FINDING_OF_SENDER,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};

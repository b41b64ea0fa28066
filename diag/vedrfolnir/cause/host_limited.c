/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Host-limited: a NIC is slower than its line (DMA or PCIe slower than the link, a host that drains too little). Of what it
 * sends its sender's ledger has the time, in which window, pacing, pauses and other queue pairs let it send. Of what it
 * receives its switch has: the NIC pauses it whenever its buffer is full, and takes data in between, unlike a storm.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/cause.h"
#include "diag/vedrfolnir/cause/delays.h"
#include "diag/vedrfolnir/cause/pfc_root.h"

enum { CLAUSE_SENDS, CLAUSE_RECEIVES, CLAUSE_BOTH };
static const char *const clauses[] = {
	[CLAUSE_SENDS] = ("{step}: its NIC {port} took {ms} ms longer than its line to send what window, pacing and pauses "
			  "let it send"),
	[CLAUSE_RECEIVES] =
		("{step}: {port} paused {other} for {ms} ms of the time reported, at least {count} times in the "
		 "run, and took data in between: it receives less than its line brings"),
	[CLAUSE_BOTH] = ("{step}: {port} took in the ACKs of what it sent late, {ms} ms in sum that no queue on their path "
			 "accounts for, and paused {other} meanwhile: it receives less than its line brings"),
};

static void
add_receiver(struct cause_set *set, uint32_t step, const struct pfc_root *root)
{
	const struct cause_input *in = set->in;
	const struct prov_port *last = &in->graphs[step]->ports[root->index];
	struct cause_finding *finding;

	if (root->kind != PFC_ROOT_SLOW_NIC)
		return;
	finding = cause_add(set, root->port, NULL, EV_NONE, step);
	if (finding == NULL)
		return;
	pfc_root_claim(set, step, root, finding);
	/* Before its buffer was full, and behind the last pause, packets waited in it: no port reports that queue. */
	finding->late_ps = cause_ledger_ps(in, step, LEDGER_LATE);
	if (cause_score(finding, root->weight * cause_lost_frames(in, step, last->pause_ps)))
		finding->out.evidence = (struct finding_evidence){
			.clauses = { CLAUSE_RECEIVES },
			.nclauses = 1,
			.step = step,
			.port = root->port,
			.other_port = last->port,
			.ps = last->pause_ps,
			.count = pfc_root_pauses(in->ev, last->port, in->graphs[step]->prio),
		};
}

/* Did this port's peer pause it in a step's time? */
static bool
was_paused(const struct evidence *ev, uint32_t port, const struct run_step *s)
{
	struct ev_range epochs = evidence_epochs(ev, port, s->start_ps, s->end_ps);
	bool paused = false;

	for (uint32_t e = epochs.first; e < epochs.end && !paused; e++) {
		const struct rec_port_row *row = evidence_port_row(ev, &ev->epochs[e], ev->flows[s->flow].prio);

		paused = row != NULL && row->pause_ps != 0;
	}
	return paused;
}

/* May this cable have made the step's round trips longer? */
static bool
may_delay(const struct delays *delays, uint32_t step, uint32_t port, uint32_t peer)
{
	const struct delay_place *place = delays->place[step] != EV_NONE ? &delays->places[delays->place[step]] : NULL;

	for (uint32_t i = 0; place != NULL && i < place->count; i++)
		if (delays->ports[place->first + i] == port || delays->ports[place->first + i] == peer)
			return true;
	return false;
}

/*
 * ACKs are in no class that pauses: where those to a NIC are late, and it pauses its switch as well, whatever it takes in
 * waits. A storm holds up its class alone, by one pause: beside it, something else delays the ACKs.
 */
static void
add_both(struct cause_set *set, uint32_t step, uint32_t nic)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	uint32_t peer = ev->ports[nic].peer;
	double ps = delay_cost_ps(set->in, step, set->delays->extra_ps[step]);
	struct cause_finding *finding = NULL;

	if (peer != EV_NONE && s->slow && may_delay(set->delays, step, nic, peer) && was_paused(ev, peer, s) &&
	    !pfc_root_is_one_pause(ev, peer, ev->flows[s->flow].prio))
		finding = cause_of_sender(set, step, ps, nic, NULL);
	if (finding == NULL)
		return;
	cause_port(set, finding, nic);
	if (finding->out.evidence.ps == ps) {
		finding->out.evidence.clauses[0] = CLAUSE_BOTH;
		finding->out.evidence.other_port = peer;
	}
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	uint32_t nic = run_is_local(&set->in->steps[step]) ? EV_NONE : ev->flows[set->in->steps[step].flow].src_port;
	struct cause_finding *finding =
		nic == EV_NONE ? NULL : cause_of_sender(set, step, cause_ledger_ps(set->in, step, LEDGER_NIC), nic, NULL);

	if (finding != NULL)
		cause_port(set, finding, nic);
	else if (nic != EV_NONE)
		add_both(set, step, nic);
	if (set->in->graphs[step] != NULL && set->in->steps[step].slow)
		pfc_root_each_reached(set, step, add_receiver);
}

const struct cause cause_host_limited = {
	.type = { .key = "host-limited",
		  .title = "NIC below its line rate",
		  .preposition = "at ",
		  .badge = "host",
		  .traits = FINDING_OF_HOST | FINDING_OF_SENDER | FINDING_OF_FAULT,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};

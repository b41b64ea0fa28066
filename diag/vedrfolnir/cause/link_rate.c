/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Link rate: a switch reports that a cable on the slow step's path, or on one of those that its packets spread over, runs
 * at a lower rate than the topology gives it. What the step sends by it takes longer on the wire by the difference.
 */
#include <math.h>

#include "common/array.h"
#include "common/minmax.h"
#include "common/units.h"
#include "common/wire/record_rows.h"
#include "diag/vedrfolnir/cause/cause.h"

/* A port's rates in a time. */
struct rates {
	uint64_t lowest_bps; /* 0: no record reports that it was not its usual one */
	double longer_ps;    /* what it sent at lower rates would have taken that much less at its usual one, at most */
};

static void
add_rate(struct rates *rates, uint64_t usual_bps, uint64_t rate_bps, uint64_t from_ps, uint64_t to_ps)
{
	if (rate_bps >= usual_bps || from_ps >= to_ps)
		return;
	rates->lowest_bps = rates->lowest_bps == 0 ? rate_bps : min_u64(rates->lowest_bps, rate_bps);
	rates->longer_ps += (double)(to_ps - from_ps) * (1 - (double)rate_bps / (double)usual_bps);
}

static struct rates
rates_in(const struct evidence *ev, uint32_t port, uint64_t from_ps, uint64_t to_ps)
{
	uint64_t usual_bps = ev->ports[port].rate_bps, rate_bps = usual_bps, since_ps = from_ps;
	struct rates rates = { 0, 0 };

	for (uint32_t i = 0; i < ev->link_rates.count; i++) { /* in order of time */
		const struct rec_link_rate *rec = EV_AT(ev->link_rates, struct rec_link_rate, i);

		if (evidence_port(ev, rec->hdr.node, rec->port) != port || rec->hdr.time_ps > to_ps)
			continue;
		add_rate(&rates, usual_bps, rate_bps, since_ps, rec->hdr.time_ps);
		since_ps = max_u64(from_ps, rec->hdr.time_ps);
		rate_bps = rec->rate_bps;
	}
	add_rate(&rates, usual_bps, rate_bps, since_ps, to_ps);
	return rates;
}

/*
 * @param share  of the step's data that crosses the cable. A sender that takes packets for lost by time alone has waited
 *               for the late ones of that cable: all its data is as late as these.
 */
static void
add(struct cause_set *set, uint32_t step, uint32_t port, const struct rates *rates, double share)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	double longer = (double)ev->ports[port].rate_bps / (double)rates->lowest_bps;
	double slower = longer * (s->waited_ns != 0 ? 1 : share) - 1;
	double claimed_ps = fmin(fmin(cause_excess_ps(set->in, step), (double)s->ideal_ps * slower), rates->longer_ps);
	struct cause_finding *finding = slower > 0 ? cause_add(set, port, NULL, 0, step) : NULL;

	if (finding == NULL)
		return;
	cause_port(set, finding, port);
	if (ev->ports[port].peer != EV_NONE)
		cause_port(set, finding, ev->ports[port].peer);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, port, claimed_ps);
	if (cause_score(finding, cause_lost_frames(set->in, step, claimed_ps)))
		finding->out.evidence = (struct finding_evidence){ .clauses = { 0 },
								   .nclauses = 1,
								   .step = step,
								   .port = port,
								   .other_port = ev->ports[port].peer,
								   .percent = 100 / longer };
}

/* One cable is one cause, whichever way steps cross it. */
static void
add_cable(struct cause_set *set, uint32_t step, uint32_t port, double share)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	uint32_t peer = ev->ports[port].peer;
	const uint32_t ends[2] = { min_u32(port, peer), peer != EV_NONE ? max_u32(port, peer) : EV_NONE };

	for (uint32_t e = 0; e < ARRAY_LEN(ends) && ends[e] != EV_NONE; e++) {
		const struct rates rates = rates_in(ev, ends[e], s->start_ps, s->end_ps);

		if (rates.lowest_bps == 0)
			continue;
		add(set, step, ends[e], &rates, share);
		return;
	}
}

double
cause_own_cable_ps(const struct cause_input *in, uint32_t step, const struct cause_finding *finding, double packets)
{
	const struct evidence *ev = in->ev;
	const struct ev_flow *flow = in->steps[step].flow != RUN_NONE ? &ev->flows[in->steps[step].flow] : NULL;
	double usual_ps;
	uint32_t port;

	if (finding->out.type != &cause_link_rate.type || flow == NULL || flow->nhops == 0)
		return 0;
	port = ev->hops[flow->first_hop];
	if (finding->out.root_port != port && finding->out.root_port != ev->ports[port].peer)
		return 0;
	usual_ps = packets * ev->run.frame_bytes * 8e12 / (double)ev->ports[port].rate_bps;
	return fmax(0, fmin(finding->claimed_ps, (double)evidence_ledger_ps(ev, step, LEDGER_WIRE) - usual_ps));
}

/* ---- sprayed flows ---- */

static bool
are_linked(const struct evidence *ev, uint32_t node, uint32_t other)
{
	for (uint32_t p = ev->nodes[node].first_port; p < ev->nodes[node].first_port + ev->nodes[node].nports; p++)
		if (ev->ports[p].peer_node == other)
			return true;
	return false;
}

static bool
has_hosts(const struct evidence *ev, uint32_t node)
{
	for (uint32_t p = ev->nodes[node].first_port; p < ev->nodes[node].first_port + ev->nodes[node].nports; p++)
		if (ev->ports[p].peer_node != EV_NONE && ev->nodes[ev->ports[p].peer_node].host)
			return true;
	return false;
}

/*
 * The paths of a folded Clos that a sprayed flow's packets spread over where they may leave by a port: between the edges
 * of source and destination and the switches next to these, or, of six links, in their middle. @return 0: they cannot
 */
static uint32_t
paths_at(const struct evidence *ev, uint32_t flow, uint32_t port)
{
	const struct ev_flow *of = &ev->flows[flow];
	uint32_t from = ev->ports[port].node, to = ev->ports[port].peer_node, first, last;

	if (of->nhops < 4 || to == EV_NONE || ev->nodes[from].host || ev->nodes[to].host)
		return 0;
	first = ev->ports[ev->hops[of->first_hop + 1]].node;
	last = ev->ports[ev->hops[of->first_hop + of->nhops - 1]].node;
	if (from == first || to == last)
		return evidence_paths(ev, flow, 2);
	if (of->nhops < 6 || has_hosts(ev, from) || has_hosts(ev, to))
		return 0;
	return are_linked(ev, first, from) || are_linked(ev, last, to) ? evidence_paths(ev, flow, 3) : 0;
}

/* Has an earlier record reported this cable? */
static bool
is_repeated(const struct evidence *ev, uint32_t index, uint32_t port)
{
	for (uint32_t i = 0; i < index; i++) {
		const struct rec_link_rate *rec = EV_AT(ev->link_rates, struct rec_link_rate, i);
		uint32_t other = evidence_port(ev, rec->hdr.node, rec->port);

		if (other == port || other == ev->ports[port].peer)
			return true;
	}
	return false;
}

static void
look_sprayed(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	uint32_t flow = set->in->steps[step].flow;

	for (uint32_t i = 0; i < ev->link_rates.count; i++) {
		const struct rec_link_rate *rec = EV_AT(ev->link_rates, struct rec_link_rate, i);
		uint32_t port = evidence_port(ev, rec->hdr.node, rec->port), paths;

		if (is_repeated(ev, i, port))
			continue;
		paths = paths_at(ev, flow, port);
		if (paths == 0 && ev->ports[port].peer != EV_NONE)
			paths = paths_at(ev, flow, ev->ports[port].peer);
		if (paths != 0)
			add_cable(set, step, port, 1.0 / paths);
	}
}

static void
look(struct cause_set *set, uint32_t step)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	const struct ev_flow *flow = s->flow != RUN_NONE ? &ev->flows[s->flow] : NULL;

	if (!s->slow || flow == NULL || ev->link_rates.count == 0)
		return;
	for (uint32_t h = 0; h < flow->nhops; h++) {
		uint32_t port = ev->hops[flow->first_hop + h];

		/* Of these, a sprayed flow's packets leave by one of many: below. */
		if (evidence_paths(ev, s->flow, flow->nhops) == 1 || paths_at(ev, s->flow, port) == 0)
			add_cable(set, step, port, 1);
	}
	if (evidence_paths(ev, s->flow, flow->nhops) > 1)
		look_sprayed(set, step);
}

static const char *const clauses[] = {
	"{step}: {port} reports that its link to {other} runs at {percent} % of its rate",
};

const struct cause cause_link_rate = {
	.type = { .key = "link-rate",
		  .title = "link at a lower rate",
		  .preposition = "at ",
		  .badge = "lost",
		  .traits = FINDING_OF_FAULT | FINDING_OF_STATE,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};

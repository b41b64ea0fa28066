/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/cause.h"

#include <math.h>

#include "diag/vedrfolnir/cause/delays.h"
#include "diag/vedrfolnir/cause/drops.h"
#include "diag/vedrfolnir/cause/merge.h"

double
confidence_seen(uint64_t times)
{
	return ((double)times + 1) / ((double)times + 2);
}

double
confidence_inferred(double measured, uint64_t times)
{
	return (1 - measured) * confidence_seen(times);
}

double
confidence_undisputed(double claim_ps, double others_ps, double lost_ps)
{
	double disputed_ps = fmin(fmax(0, claim_ps + others_ps - lost_ps), fmin(claim_ps, others_ps));

	if (claim_ps <= 0 || disputed_ps <= 0)
		return 1;
	return (claim_ps - disputed_ps + disputed_ps * claim_ps / (claim_ps + others_ps)) / claim_ps;
}

static double
exec_ps(const struct run_step *step)
{
	return step->end_ps > step->start_ps ? (double)(step->end_ps - step->start_ps) : 1;
}

static const struct prov_port *
find_port(const struct prov_graph *graph, uint32_t port)
{
	for (uint32_t p = 0; graph != NULL && p < graph->nports; p++) {
		if (graph->ports[p].port == port)
			return &graph->ports[p];
	}
	return NULL;
}

/* The share of the step's packets that the port of the queue reported. */
static double
packets_seen(const struct cause_set *set, uint32_t step, const struct prov_port *port)
{
	const struct run_step *s = &set->in->steps[step];
	double payload = set->in->ev->run.payload_bytes != 0 ? set->in->ev->run.payload_bytes : 1;
	double packets = ceil((double)(s->open ? s->acked_bytes : s->bytes) / payload);

	return port != NULL && packets > 0 ? fmin(1, port->cf_packets / packets) : 0;
}

/* The share of the step's time that a port reported. */
static double
time_seen(const struct cause_set *set, uint32_t step, const struct prov_port *port)
{
	return port != NULL ? fmin(1, port->covered_ps / exec_ps(&set->in->steps[step])) : 0;
}

/*
 * Pauses are measured where a port was paused, and their reason at the end of their path: the least reported part
 * decides. A pause with a report of its own end alone, since when it lasts, is measured as far as it is claimed.
 */
static double
pauses_seen(const struct cause_set *set, uint32_t step, const struct finding *out)
{
	const struct prov_graph *graph = set->in->graphs[step];
	const struct prov_port *root = find_port(graph, out->root_port);
	double seen = 0;
	bool verdict = false;

	for (uint32_t i = 0; i < out->nports; i++) {
		const struct prov_port *port = find_port(graph, out->ports[i]);

		if (port == NULL || !port->paused)
			continue;
		verdict = true;
		seen = fmax(seen, time_seen(set, step, port));
	}
	if (!verdict)
		return 1;
	return merge_is(out, FINDING_FILLED) && root != NULL ? fmin(seen, time_seen(set, step, root)) : seen;
}

/* The part of a finding's claim about the step that was measured. */
static double
measured(const struct cause_set *set, uint32_t step, const struct finding *out)
{
	if (merge_is(out, FINDING_OF_SENDER) && out->nports > 1)
		return pauses_seen(set, step, out); /* a receiver, by its pauses */
	if (merge_is(out, FINDING_OF_HOST))
		return 1;
	if (merge_is(out, FINDING_OF_PAUSES | FINDING_OF_CIRCLE))
		return pauses_seen(set, step, out);
	if (merge_is(out, FINDING_OF_QUEUES))
		return packets_seen(set, step, find_port(set->in->graphs[step], out->root_port));
	return delays_known(set->delays, step);
}

/* How many reports of a port the measured part is of: epochs of the step's time. */
static uint64_t
reports(const struct cause_set *set, uint32_t step, const struct finding *out)
{
	const struct prov_port *port = find_port(set->in->graphs[step], out->root_port);
	uint64_t epoch_ps = set->in->ev->run.epoch_ps;

	if (port == NULL || epoch_ps == 0 || !merge_is(out, FINDING_OF_QUEUES))
		return 0;
	return (uint64_t)port->covered_ps / epoch_ps;
}

/* What supports a claim about the step: what was counted, and what is likely without that. */
struct support {
	double counted, likely;
};

static struct support
support_of(const struct cause_set *set, uint32_t step, const struct finding *out)
{
	uint64_t times = out->evidence.count != 0 ? out->evidence.count : set->in->steps[step].retransmits;
	double part;

	if (merge_is(out, FINDING_OF_STATE))
		return (struct support){ 1, 0 };
	if (!merge_is(out, FINDING_OF_SENDER | FINDING_OF_HOST | FINDING_OF_PAUSES | FINDING_OF_CIRCLE | FINDING_OF_QUEUES |
				   FINDING_BY_DEFAULT)) /* events */
		return (struct support){ confidence_seen(times != 0 ? times : 1), 0 };
	part = measured(set, step, out);
	return (struct support){ part, confidence_inferred(part, reports(set, step, out)) };
}

static bool
share_culprit(const struct finding *a, const struct finding *b)
{
	for (uint32_t i = 0; i < a->nflows; i++) {
		for (uint32_t k = 0; k < b->nflows; k++) {
			if (a->flows[i] == b->flows[k])
				return true;
		}
	}
	return false;
}

/*
 * Is the other about something else? Not of the same place or culprit, nor of a cause that only gets what others leave.
 */
static bool
is_rival(const struct finding *out, const struct finding *other)
{
	return other != out && !merge_is(other, FINDING_OF_HOST | FINDING_OF_LOSS | FINDING_OF_HOLE) &&
	       (other->root_port == EV_NONE || other->root_port != out->root_port) && !share_culprit(out, other);
}

/*
 * Packets that were sent again were lost: where no finding explains that, another cause may have cost all of the time. A
 * link at a lower rate, or a timer that ends before a round trip, explains those that were sent again by time alone.
 */
static double
unfound_ps(const struct cause_set *set, uint32_t step, double lost_ps)
{
	const struct run_step *s = &set->in->steps[step];
	bool found = !drops_sent_again(set->in, step);

	for (uint32_t i = 0; i < set->count && !found; i++)
		found = merge_is(&set->findings[i].out, FINDING_OF_LOSS | FINDING_OF_HOLE | FINDING_OF_LOOP) ||
			((set->findings[i].out.type == &cause_link_rate.type ||
			  set->findings[i].out.type == &cause_timer_too_short.type) &&
			 s->waited_ns != 0 && s->naks == 0);
	return found ? 0 : lost_ps;
}

/* The claims of other findings to the step. */
static double
rivals_ps(const struct cause_set *set, const struct finding *out, double lost_ps)
{
	double rivals_ps = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		const struct cause_finding *other = &set->findings[i];

		if (is_rival(out, &other->out))
			rivals_ps += fmin(other->claimed_ps, lost_ps);
	}
	return rivals_ps;
}

void
confidence_step(struct cause_set *set, uint32_t step)
{
	double lost_ps = cause_excess_ps(set->in, step), unfound = unfound_ps(set, step, lost_ps);

	for (uint32_t i = 0; i < set->count; i++) {
		struct cause_finding *finding = &set->findings[i];
		struct cause_trust *trust = &finding->trust[set->in->own[step].critical];
		bool host = merge_is(&finding->out, FINDING_OF_HOST);
		double machine = cause_machine_share(set->in, step, finding);
		double claim_ps = fmax(1, host ? finding->claimed_ps : fmin(finding->claimed_ps, lost_ps));
		struct support support = support_of(set, step, &finding->out);
		double rivals = rivals_ps(set, &finding->out, lost_ps);
		double alone = host ? 1 : confidence_undisputed(claim_ps, unfound, lost_ps);
		double beside = host ? 1 : confidence_undisputed(claim_ps, unfound + rivals, lost_ps);
		double complete_ps = claim_ps * (1 - machine) * (host ? 1 : set->in->steps[step].completeness);

		trust->of_ps += claim_ps;
		trust->machine_ps += claim_ps * machine;
		trust->borne_ps += complete_ps * alone * (support.counted + support.likely);
		trust->sure_ps += complete_ps * (alone * support.counted + beside * support.likely);
	}
}

void
confidence_reported(struct cause_set *set, struct cause_finding *finding, uint32_t step)
{
	struct cause_trust *trust = &finding->trust[set->in->own[step].critical];

	trust->of_ps = 1;
	trust->borne_ps = trust->sure_ps = set->in->steps[step].completeness;
}

void
confidence_conclude(struct cause_finding *finding)
{
	const struct cause_trust *trust = &finding->trust[finding->trust[1].of_ps > 0];

	finding->out.confidence = trust->of_ps > 0 ? fmin(1, trust->sure_ps / trust->of_ps) : 0;
	finding->out.machine = trust->of_ps > 0 ? fmin(1, trust->machine_ps / trust->of_ps) : 0;
	finding->out.borne_out = trust->of_ps > 0 ? fmin(1, trust->borne_ps / trust->of_ps) : 0;
}

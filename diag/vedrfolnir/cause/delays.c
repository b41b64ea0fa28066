/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/delays.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "diag/vedrfolnir/cause/delay_links.h"
#include "diag/vedrfolnir/cause/delay_waits.h"

/* A step of which it is certain. */
struct delayed {
	uint32_t step;
	uint32_t first, count; /* in links: those that may be at fault */
	bool throughout;       /* all of its packets took longer; else they did on average */
	double cost_ps;
	bool placed;
};

struct placing {
	const struct cause_input *in;
	struct delays *out;
	struct delayed *delayed; /* [ndelayed] */
	uint32_t ndelayed;
	uint32_t *links;
	double *cost_ps; /* [nports] */
	bool uneven;     /* is_uneven() */
};

/* Of a full frame on the slowest link of a flow's way. */
static double
frame_ps(const struct evidence *ev, const struct ev_flow *flow)
{
	double most_ps = 0;

	for (uint32_t h = 0; h < flow->nhops; h++)
		most_ps = fmax(most_ps,
			       ev->run.frame_bytes * 8e12 / (double)ev->ports[ev->hops[flow->first_hop + h]].rate_bps);
	return most_ps;
}

double
delay_cost_ps(const struct cause_input *in, uint32_t step, double extra_ps)
{
	const struct run_step *s = &in->steps[step];
	double bytes = (double)(s->open ? s->acked_bytes : s->bytes), done = s->bytes != 0 ? bytes / (double)s->bytes : 1;
	double packets = fmax(1, ceil(bytes / fmax(1, in->ev->run.payload_bytes)));
	double rtt_ps = (double)s->base_rtt_ps + extra_ps, rounds = floor((packets - 1) / in->window);
	double takes_ps =
		(rounds + 1) * rtt_ps + (packets - rounds * in->window) * frame_ps(in->ev, &in->ev->flows[s->flow]);

	return fmax(extra_ps, takes_ps - done * (double)s->expect_ps);
}

double
delays_known(const struct delays *delays, uint32_t step)
{
	return delays->extra_ps[step] > 0 ? fmin(1, delays->certain_ps[step] / delays->extra_ps[step]) : 0;
}

/*
 * Do links between switches differ in rate or length? Then a packet with a path of its own may take longer than the one path
 * that is configured for its flow, and nothing is known of an idle one.
 */
static bool
is_uneven(const struct evidence *ev)
{
	const struct ev_port *first = NULL;

	for (uint32_t p = 0; p < ev->nports; p++) {
		const struct ev_port *port = &ev->ports[p];

		if (port->peer_node == EV_NONE || ev->nodes[port->node].host || ev->nodes[port->peer_node].host)
			continue;
		if (first == NULL)
			first = port;
		if (port->rate_bps != first->rate_bps || port->delay_ps != first->delay_ps)
			return true;
	}
	return false;
}

static bool
is_of_many_paths(const struct placing *p, const struct run_step *s)
{
	return p->uneven && !run_is_local(s) && evidence_is_sprayed(p->in->ev, s->flow);
}

static bool
may_be_delayed(const struct placing *p, uint32_t step)
{
	const struct cause_input *in = p->in;
	const struct run_step *s = &in->steps[step];

	return s->slow && !is_of_many_paths(p, s) && !run_is_local(s) && in->graphs[step] != NULL && s->rtt_min_ps != 0 &&
	       s->base_rtt_ps != 0;
}

/* @return 0: queues may have made them so long */
static double
at_least_ps(const struct run_step *s, double rtt_ps, double wait_ps)
{
	double extra_ps = rtt_ps - (double)s->base_rtt_ps - wait_ps;

	return extra_ps >= CAUSE_MIN_SHARE * (double)s->base_rtt_ps ? extra_ps : 0;
}

/* By how much all of its round trips were longer. */
static double
least_extra_ps(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];

	return at_least_ps(s, (double)s->rtt_min_ps, delay_least_wait_ps(in, step));
}

/* On average. */
static double
mean_extra_ps(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];

	return at_least_ps(s, (double)s->rtt_mean_ps, delay_mean_wait_ps(in, step));
}

/* On average, of which queues that nobody told of may have been a part. */
static double
likely_extra_ps(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];

	return at_least_ps(s, (double)s->rtt_mean_ps, delay_likely_wait_ps(in, step));
}

static uint32_t
hops_of(const struct cause_input *in, uint32_t step)
{
	const struct ev_flow *flow = &in->ev->flows[in->steps[step].flow];

	return flow->nhops + flow->nback;
}

/* The steps of which it is certain, and which links each may have met. @return 0 or -ENOMEM */
static int
find_delayed(struct placing *p)
{
	const struct cause_input *in = p->in;
	struct delay_links links = { 0 };
	uint32_t nlinks = 0;
	int rc = 0;

	for (uint32_t i = 0; i < in->nsteps; i++) {
		double extra_ps = 0;

		in->unjudged->paths += in->steps[i].slow && is_of_many_paths(p, &in->steps[i]);
		if (may_be_delayed(p, i))
			extra_ps = fmax(least_extra_ps(in, i), mean_extra_ps(in, i));
		p->out->certain_ps[i] = p->out->extra_ps[i] = extra_ps;
		p->ndelayed += extra_ps > 0;
		nlinks += extra_ps > 0 ? hops_of(in, i) : 0;
	}
	if (p->ndelayed == 0)
		return 0;
	p->delayed = calloc(p->ndelayed, sizeof(*p->delayed));
	p->links = calloc((size_t)nlinks + 1, sizeof(*p->links));
	p->cost_ps = calloc((size_t)in->ev->nports + 1, sizeof(*p->cost_ps));
	p->out->places = calloc(p->ndelayed, sizeof(*p->out->places));
	p->out->ports = calloc((size_t)nlinks + 1, sizeof(*p->out->ports));
	if (p->delayed == NULL || p->links == NULL || p->cost_ps == NULL || p->out->places == NULL || p->out->ports == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = delay_links_init(&links, in);
	nlinks = p->ndelayed = 0;
	for (uint32_t i = 0; i < in->nsteps && rc == 0; i++) {
		struct delayed *at = &p->delayed[p->ndelayed];

		if (p->out->extra_ps[i] <= 0)
			continue;
		p->ndelayed++;
		*at = (struct delayed){ .step = i, .first = nlinks, .throughout = least_extra_ps(in, i) > 0 };
		at->count = delay_links_of(&links, i, at->throughout ? least_extra_ps(in, i) : p->out->extra_ps[i],
					   at->throughout, p->links + nlinks);
		nlinks += at->count;
		p->out->extra_ps[i] = fmax(p->out->extra_ps[i], likely_extra_ps(in, i));
		at->cost_ps = delay_cost_ps(in, i, p->out->extra_ps[i]);
	}
	delay_links_fini(&links);
	return rc;
}

static bool
may_be(const struct placing *p, const struct delayed *at, uint32_t port)
{
	for (uint32_t i = at->first; i < at->first + at->count; i++)
		if (p->links[i] == port)
			return true;
	return false;
}

/* The link that most of the time lost by steps without a place has in common. @return EV_NONE: none is left to any of them */
static uint32_t
most_in_common(struct placing *p)
{
	uint32_t best = EV_NONE;

	for (uint32_t port = 0; port < p->in->ev->nports; port++)
		p->cost_ps[port] = 0;
	for (uint32_t d = 0; d < p->ndelayed; d++)
		for (uint32_t i = 0; i < p->delayed[d].count && !p->delayed[d].placed; i++)
			p->cost_ps[p->links[p->delayed[d].first + i]] += p->delayed[d].cost_ps;
	for (uint32_t port = 0; port < p->in->ev->nports; port++)
		if (p->cost_ps[port] > 0 && (best == EV_NONE || p->cost_ps[port] > p->cost_ps[best]))
			best = port;
	return best;
}

/* Is a link as likely as another: may the same steps have met it? */
static bool
is_alike(const struct placing *p, uint32_t port, uint32_t best)
{
	for (uint32_t d = 0; d < p->ndelayed; d++)
		if (!p->delayed[d].placed && may_be(p, &p->delayed[d], port) != may_be(p, &p->delayed[d], best))
			return false;
	return true;
}

static void
add_step(struct placing *p, struct delay_place *place, struct delayed *at, double *most_ps)
{
	const struct run_step *s = &p->in->steps[at->step];

	at->placed = true;
	p->out->place[at->step] = (uint32_t)(place - p->out->places);
	if (at->cost_ps > *most_ps) {
		*most_ps = at->cost_ps;
		place->flow = s->flow;
	}
	place->from_ps = s->start_ps < place->from_ps ? s->start_ps : place->from_ps;
	place->to_ps = s->end_ps > place->to_ps ? s->end_ps : place->to_ps;
}

static void
name_root(const struct evidence *ev, const uint32_t *ports, struct delay_place *place)
{
	place->root_port = place->count != 0 ? ports[place->first] : EV_NONE;
	for (uint32_t i = 1; i < place->count; i++)
		if (ports[place->first + i] != ev->ports[place->root_port].peer) {
			place->root_port = EV_NONE;
			return;
		}
}

/* @param best  EV_NONE: of the first step that has no place, about which nothing is left but its way */
static void
make_place(struct placing *p, uint32_t best, uint32_t *nports)
{
	struct delay_place *place = &p->out->places[p->out->nplaces++];
	double most_ps = -1;

	*place = (struct delay_place){ .first = *nports, .root_port = EV_NONE, .flow = EV_NONE, .from_ps = UINT64_MAX };
	for (uint32_t port = 0; best != EV_NONE && port < p->in->ev->nports; port++)
		if (p->cost_ps[port] > 0 && (port == best || is_alike(p, port, best)))
			p->out->ports[(*nports)++] = port;
	place->count = *nports - place->first;
	name_root(p->in->ev, p->out->ports, place);
	for (uint32_t d = 0; d < p->ndelayed; d++) {
		struct delayed *at = &p->delayed[d];

		if (at->placed || (best != EV_NONE && !may_be(p, at, best)) ||
		    (best == EV_NONE && place->flow != EV_NONE && p->in->steps[at->step].flow != place->flow))
			continue;
		add_step(p, place, at, &most_ps);
	}
}

static bool
has_unplaced(const struct placing *p)
{
	for (uint32_t d = 0; d < p->ndelayed; d++)
		if (!p->delayed[d].placed)
			return true;
	return false;
}

static bool
crosses(const struct evidence *ev, uint32_t flow, uint32_t port)
{
	const struct ev_flow *f = &ev->flows[flow];

	for (uint32_t h = 0; h < f->nhops + f->nback; h++)
		if (ev->hops[f->first_hop + h] == port)
			return true;
	return false;
}

/* A link that was found at fault was so for a part of the steps beside those times, too: their mean round trips tell. */
static void
add_neighbours(struct placing *p)
{
	const struct cause_input *in = p->in;

	for (uint32_t i = 0; i < in->nsteps; i++) {
		const struct run_step *s = &in->steps[i];
		uint64_t took_ps = s->end_ps - s->start_ps;

		for (uint32_t n = 0; n < p->out->nplaces && may_be_delayed(p, i) && p->out->place[i] == EV_NONE; n++) {
			const struct delay_place *place = &p->out->places[n];
			double extra_ps;

			if (place->root_port == EV_NONE || s->start_ps > place->to_ps + took_ps ||
			    s->end_ps + took_ps < place->from_ps || !crosses(in->ev, s->flow, place->root_port))
				continue;
			extra_ps = likely_extra_ps(in, i);
			if (extra_ps <= 0)
				continue;
			p->out->extra_ps[i] = extra_ps;
			p->out->place[i] = n;
		}
	}
}

int
delays_init(struct delays *delays, const struct cause_input *in)
{
	struct placing p = { .in = in, .out = delays, .uneven = is_uneven(in->ev) };
	uint32_t nports = 0;
	int rc;

	*delays = (struct delays){ 0 };
	delays->certain_ps = calloc((size_t)in->nsteps + 1, sizeof(*delays->certain_ps));
	delays->extra_ps = calloc((size_t)in->nsteps + 1, sizeof(*delays->extra_ps));
	delays->place = calloc((size_t)in->nsteps + 1, sizeof(*delays->place));
	if (delays->certain_ps == NULL || delays->extra_ps == NULL || delays->place == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < in->nsteps; i++)
		delays->place[i] = EV_NONE;
	rc = find_delayed(&p);
	while (rc == 0 && has_unplaced(&p))
		make_place(&p, most_in_common(&p), &nports);
	if (rc == 0 && delays->nplaces != 0)
		add_neighbours(&p);
	free(p.delayed);
	free(p.links);
	free(p.cost_ps);
	return rc;
}

void
delays_fini(struct delays *delays)
{
	free(delays->certain_ps);
	free(delays->extra_ps);
	free(delays->place);
	free(delays->places);
	free(delays->ports);
}

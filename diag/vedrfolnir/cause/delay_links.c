/* SPDX-License-Identifier: BSD-3-Clause */
#include "diag/vedrfolnir/cause/delay_links.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "diag/vedrfolnir/provenance/window.h"

#define IN_TIME 0.5 /* of the delay: who took less more than that did not have it */
#define MOST 0.9    /* of a step's time: what was so for as long was so when it was delayed */

enum direction { DIRECTION_UNKNOWN, DIRECTION_FORWARD, DIRECTION_REVERSE };

static bool
is_decisive(const struct cause_input *in, uint32_t step)
{
	const struct run_step *s = &in->steps[step];

	return !run_is_local(s) && s->reported && s->started && s->rtt_min_ps != 0 && s->base_rtt_ps != 0;
}

/* Counts, or puts, the step at each port of both ways. */
static void
cross(struct delay_links *links, uint32_t step, bool put)
{
	const struct run_step *s = &links->in->steps[step];
	const struct ev_flow *flow = &links->in->ev->flows[s->flow];

	for (uint32_t h = 0; h < flow->nhops + flow->nback; h++) {
		uint32_t port = links->in->ev->hops[flow->first_hop + h];

		if (put)
			links->crossings[links->first[port]++] =
				(struct delay_crossing){ .step = step, .start_ps = s->start_ps };
		else
			links->first[port + 1]++;
		if (s->end_ps - s->start_ps > links->longest_ps[port])
			links->longest_ps[port] = s->end_ps - s->start_ps;
	}
}

static int
by_start(const void *a, const void *b)
{
	const struct delay_crossing *x = a, *y = b;

	if (x->start_ps != y->start_ps)
		return x->start_ps < y->start_ps ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

/* When messages were there: who waited for one, and was not late, began then. */
static void
note_arrivals(struct delay_links *links)
{
	const struct cause_input *in = links->in;

	for (uint32_t i = 0; i < in->nsteps; i++)
		links->arrived_ps[i] = RUN_UNKNOWN;
	for (uint32_t i = 0; i < in->nsteps; i++) {
		const struct run_step *s = &in->steps[i];

		if (s->started && s->late_ps == 0 && s->waited_for != RUN_NONE && in->steps[s->waited_for].host != s->host)
			links->arrived_ps[s->waited_for] = s->start_ps;
	}
}

int
delay_links_init(struct delay_links *links, const struct cause_input *in)
{
	uint32_t nports = in->ev->nports;

	*links = (struct delay_links){ .in = in };
	links->arrived_ps = calloc((size_t)in->nsteps + 1, sizeof(*links->arrived_ps));
	links->first = calloc((size_t)nports + 2, sizeof(*links->first));
	links->longest_ps = calloc((size_t)nports + 1, sizeof(*links->longest_ps));
	if (links->arrived_ps == NULL || links->first == NULL || links->longest_ps == NULL)
		return -ENOMEM;
	note_arrivals(links);
	for (uint32_t i = 0; i < in->nsteps; i++)
		if (is_decisive(in, i))
			cross(links, i, false);
	for (uint32_t p = 0; p < nports; p++)
		links->first[p + 1] += links->first[p];
	links->crossings = calloc((size_t)links->first[nports] + 1, sizeof(*links->crossings));
	if (links->crossings == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < in->nsteps; i++)
		if (is_decisive(in, i))
			cross(links, i, true);
	for (uint32_t p = nports; p > 0; p--) /* each has moved to where the next begins */
		links->first[p] = links->first[p - 1];
	links->first[0] = 0;
	for (uint32_t p = 0; p < nports; p++)
		if (links->first[p + 1] - links->first[p] > 1)
			qsort(links->crossings + links->first[p], links->first[p + 1] - links->first[p],
			      sizeof(*links->crossings), by_start);
	return 0;
}

void
delay_links_fini(struct delay_links *links)
{
	free(links->arrived_ps);
	free(links->first);
	free(links->longest_ps);
	free(links->crossings);
}

/*
 * Would a step have taken longer than it did on average, if a link of its ways had taken so much more for as long as it ran
 * beside another? A sender that waits for its window has fewer packets under way while they take longer.
 */
static bool
was_in_time(const struct run_step *s, const struct run_step *delayed, double extra_ps)
{
	struct window during = { delayed->start_ps, delayed->end_ps };
	double base_ps = (double)s->base_rtt_ps, took_ps = (double)(s->end_ps - s->start_ps);
	double both_ps = (double)window_overlap_ps(during, s->start_ps, s->end_ps), packets;

	if (took_ps <= 0 || both_ps <= 0)
		return false;
	if (both_ps >= took_ps) /* each of its packets, then */
		return (double)s->rtt_min_ps - base_ps < IN_TIME * extra_ps;
	packets = both_ps / (base_ps + extra_ps);
	packets /= packets + (took_ps - both_ps) / base_ps;
	return (double)s->rtt_mean_ps - base_ps < IN_TIME * extra_ps * packets;
}

/*
 * Did others cross a port in time while this one was delayed? One is enough where it was all the time; else such that were
 * there for most of it.
 */
static bool
is_cleared(const struct delay_links *links, uint32_t port, uint32_t step, double extra_ps, bool throughout)
{
	const struct run_step *delayed = &links->in->steps[step];
	uint64_t took_ps = delayed->end_ps - delayed->start_ps, until_ps = delayed->start_ps, in_time_ps = 0;
	uint32_t lo = links->first[port], hi = links->first[port + 1];
	uint64_t longest_ps = links->longest_ps[port];
	uint64_t from_ps = delayed->start_ps > longest_ps ? delayed->start_ps - longest_ps : 0;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (links->crossings[mid].start_ps < from_ps)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < links->first[port + 1] && links->crossings[lo].start_ps < delayed->end_ps; lo++) {
		const struct run_step *s = &links->in->steps[links->crossings[lo].step];

		if (s == delayed || !was_in_time(s, delayed, extra_ps))
			continue;
		if (throughout)
			return true;
		in_time_ps += window_overlap_ps((struct window){ until_ps, delayed->end_ps }, s->start_ps, s->end_ps);
		until_ps = s->end_ps > until_ps ? s->end_ps : until_ps;
		if (until_ps >= delayed->end_ps)
			break;
	}
	return (double)in_time_ps >= MOST * (double)took_ps && took_ps != 0;
}

/* What a port on the way adds to an idle trip, without the switch or host behind it. */
static double
link_ps(const struct evidence *ev, uint32_t port, double bytes)
{
	return (double)ev->ports[port].delay_ps + bytes * 8e12 / (double)ev->ports[port].rate_bps;
}

/*
 * Which of the two ways is longer: the last ACK left when the message was there. If its trip was in time, that may be so because
 * all was over by then.
 */
static enum direction
longer_direction(const struct delay_links *links, uint32_t step, double extra_ps, bool throughout)
{
	const struct evidence *ev = links->in->ev;
	const struct run_step *s = &links->in->steps[step];
	const struct ev_flow *flow = &ev->flows[s->flow];
	double there_ps = 0, back_ps = 0, behind_ps, trip_ps;

	if (links->arrived_ps[step] == RUN_UNKNOWN || s->open || links->arrived_ps[step] > s->end_ps || flow->nback == 0)
		return DIRECTION_UNKNOWN;
	for (uint32_t h = 0; h < flow->nhops; h++)
		there_ps += link_ps(ev, ev->hops[flow->first_hop + h], ev->run.frame_bytes);
	for (uint32_t h = flow->nhops; h < flow->nhops + flow->nback; h++)
		back_ps += link_ps(ev, ev->hops[flow->first_hop + h], ev->run.ack_bytes);
	behind_ps = ((double)s->base_rtt_ps - there_ps - back_ps) / (flow->nhops + flow->nback);
	trip_ps = (double)(s->end_ps - links->arrived_ps[step]);
	if (trip_ps - back_ps - behind_ps * flow->nback >= IN_TIME * extra_ps)
		return DIRECTION_REVERSE;
	return throughout ? DIRECTION_FORWARD : DIRECTION_UNKNOWN;
}

uint32_t
delay_links_of(const struct delay_links *links, uint32_t step, double extra_ps, bool throughout, uint32_t *ports)
{
	const struct evidence *ev = links->in->ev;
	const struct ev_flow *flow = &ev->flows[links->in->steps[step].flow];
	enum direction direction = longer_direction(links, step, extra_ps, throughout);
	uint32_t count = 0;

	for (uint32_t h = 0; h < flow->nhops + flow->nback; h++) {
		uint32_t port = ev->hops[flow->first_hop + h];

		if ((direction == DIRECTION_REVERSE && h < flow->nhops) ||
		    (direction == DIRECTION_FORWARD && h >= flow->nhops) ||
		    is_cleared(links, port, step, extra_ps, throughout))
			continue;
		ports[count++] = port;
	}
	return count;
}

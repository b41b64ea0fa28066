/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A switch that loses by addresses: a route or an entry of an ACL is missing, or its table is corrupt. No link of its
 * loses: of some tuples all packets are lost, of others that cross the same links none. The switch loses all packets
 * with these addresses, so a switch that forwards as much of the same addresses is not at fault.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/minmax.h"
#include "diag/pingmesh/ballot.h"

/* Good and lost probes of a tuple in one direction: they separate losses by addresses from those of links. */

#define TUPLE_LOSS_LEAST 8 /* probes of a tuple, all of them lost, or none, that are no chance where a link loses some */

struct tuple_loss {
	uint32_t good, bad;
	bool revived;               /* one was good after one was bad */
	bool unsure;                /* of some the direction of loss is unknown */
	bool silent;                /* and none has arrived since the first of those */
	uint64_t since_ps, lost_ps; /* when the first was lost; when TUPLE_LOSS_LEAST were */
	uint64_t well_ps;           /* when the last was good */
};

/* No probe is lost, out of enough. */
static bool
tuple_loss_is_clean(const struct tuple_loss *loss)
{
	return loss->bad == 0 && !loss->unsure && loss->good >= TUPLE_LOSS_LEAST;
}

/* No probe arrived any more, out of enough. */
static bool
tuple_loss_is_lost(const struct tuple_loss *loss)
{
	return loss->bad >= TUPLE_LOSS_LEAST && !loss->revived;
}

/* No probe arrived any more, but out of too few to be significant. */
static bool
tuple_loss_is_few(const struct tuple_loss *loss)
{
	return loss->bad != 0 && loss->bad < TUPLE_LOSS_LEAST && !loss->revived;
}

static bool
tuple_loss_is_decided(const struct tuple_loss *loss)
{
	return tuple_loss_is_lost(loss) || tuple_loss_is_clean(loss) || tuple_loss_is_few(loss);
}

static void
count_result(struct tuple_loss *loss, bool good, bool bad, uint64_t sent_ps)
{
	loss->revived |= good && loss->bad != 0;
	loss->good += good;
	loss->bad += bad;
	if (good)
		loss->well_ps = sent_ps;
	if (bad && loss->bad == 1)
		loss->since_ps = sent_ps;
	if (bad && loss->bad == TUPLE_LOSS_LEAST)
		loss->lost_ps = sent_ps;
}

/*
 * Counts all that take part. @param tuple_losses  [2 * ntuples] zeroed; of tuple i, forward at 2 * i, and back behind
 * that
 */
static void
tuple_losses_count(const struct ballot *b, struct tuple_loss *tuple_losses)
{
	for (uint32_t i = b->first; i < b->j->end; i++) {
		const struct net_probe *probe = &b->j->net.probes[i];
		struct tuple_loss *of = &tuple_losses[2 * (size_t)probe->tuple];
		bool part = probe->result == REC_PROBE_FIRST_LOST || probe->result == REC_PROBE_SECOND_LOST;
		bool good = probe->result == REC_PROBE_OK, back = probe->lost == NET_LOST_BACK;

		if (!ballot_takes_part(b, i))
			continue;
		count_result(&of[0], good || part || back, probe->lost == NET_LOST_FORTH, probe->sent_ps);
		count_result(&of[1], good || part, part || back, probe->sent_ps);
		of[1].revived |= part;
		if (probe->result == REC_PROBE_TIMEOUT && probe->lost == NET_LOST_SOMEWHERE) {
			of[0].silent |= !of[0].unsure;
			of[0].unsure = true;
		}
		of[0].silent &= !good && !part && !back;
		of[1].unsure = of[0].unsure;
	}
}

/* A path through a switch. */
struct crossing {
	uint32_t node, direction; /* path: 2 * tuple + back */
	uint32_t src, dst;        /* RNICs */
	uint64_t at_ps;           /* since when it is lost; when it was last well */
	bool lost;
	bool dark; /* lost as well, but by its links that might be theirs */
	bool few;  /* its last losses are too few against chance: it is no evidence by itself */
};

enum unit { UNIT_DST, UNIT_SRC, UNIT_PAIR, NUNITS };

struct selecting {
	const struct ballot *b;
	struct tuple_loss *tuple_losses; /* [2 * ntuples] */
	uint64_t *clean_ps;              /* [nports] the last good probe of paths without loss */
	uint8_t *lost;                   /* [2 * ntuples] paths that only a loss by addresses explains */
	struct crossing *all;            /* [count] by switch */
	uint32_t count, ndirections, nlost, ndark;
	uint64_t since_ps; /* when the first of all that are lost was */
};

/* A candidate culprit. */
struct culprit {
	uint32_t node;
	double score; /* logarithm of its likelihood */
};

/* @return the traced path of 2 * tuple + back, NULL: it is not known as a whole */
static const struct net_trace *
trace_of(const struct selecting *s, uint32_t direction)
{
	const struct judging *j = s->b->j;
	uint32_t trace = net_trace_at(&j->net, direction / 2, direction % 2 != 0, j->net.probes[j->end - 1].sent_ps);

	return trace != RUN_NONE && j->net.traces[trace].whole ? &j->net.traces[trace] : NULL;
}

/* Each switch on a path once. */
static void
add_crossings(struct selecting *s, uint32_t direction, const struct net_trace *trace)
{
	const struct net *net = &s->b->j->net;
	const struct rec_tuple *tuple = &net->tuples[direction / 2].tuple;
	uint32_t ends[2] = { net_find_rnic(net, tuple->src_ip), net_find_rnic(net, tuple->dst_ip) };
	const struct tuple_loss *loss = &s->tuple_losses[direction];
	struct crossing crossing = { .direction = direction,
				     .src = ends[direction % 2],
				     .dst = ends[1 - direction % 2],
				     .at_ps = tuple_loss_is_lost(loss) ? loss->since_ps : loss->well_ps,
				     .lost = s->lost[direction] != 0,
				     .dark = s->lost[direction] == 0 && tuple_loss_is_lost(loss),
				     .few = tuple_loss_is_few(loss) };

	for (uint32_t i = 0; i < trace->count; i++) {
		crossing.node = net->run->ports[net->links[trace->first + i]].node;
		if (!net->run->nodes[crossing.node].host)
			s->all[s->count++] = crossing;
	}
}

/* @return 0 or -ENOMEM */
static int
list_crossings(struct selecting *s)
{
	const struct net *net = &s->b->j->net;
	size_t cap = 1;

	for (uint32_t direction = 0; direction < 2 * net->ntuples; direction++) {
		const struct net_trace *trace =
			tuple_loss_is_clean(&s->tuple_losses[direction]) ? trace_of(s, direction) : NULL;

		for (uint32_t i = 0; trace != NULL && i < trace->count; i++)
			s->clean_ps[net->links[trace->first + i]] =
				max_u64(s->clean_ps[net->links[trace->first + i]], s->tuple_losses[direction].well_ps);
	}
	for (uint32_t direction = 0; direction < 2 * net->ntuples; direction++) {
		const struct tuple_loss *loss = &s->tuple_losses[direction];
		bool lost = tuple_loss_is_lost(loss);
		const struct net_trace *trace = tuple_loss_is_decided(loss) ? trace_of(s, direction) : NULL;

		for (uint32_t i = 0; trace != NULL && i < trace->count; i++)
			lost &= s->clean_ps[net->links[trace->first + i]] > loss->lost_ps;
		if (trace == NULL)
			continue;
		cap += trace->count;
		if (tuple_loss_is_few(loss))
			continue;
		s->lost[direction] = lost;
		s->nlost += lost;
		s->ndark += !lost && tuple_loss_is_lost(loss);
		s->ndirections++;
		if (tuple_loss_is_lost(loss))
			s->since_ps = min_u64(s->since_ps, loss->since_ps);
	}
	s->all = calloc(cap, sizeof(*s->all));
	if (s->all == NULL)
		return -ENOMEM;
	for (uint32_t direction = 0; s->nlost != 0 && direction < 2 * net->ntuples; direction++) {
		const struct net_trace *trace =
			tuple_loss_is_decided(&s->tuple_losses[direction]) ? trace_of(s, direction) : NULL;

		if (trace != NULL)
			add_crossings(s, direction, trace);
	}
	return 0;
}

/* ---- culprits ---- */

static int
cmp(uint32_t a, uint32_t b)
{
	return ORDER(a, b);
}

#define BY(first, second, third)                                                                                           \
	const struct crossing *a = pa, *b = pb;                                                                            \
	int by = cmp(a->node, b->node);                                                                                    \
                                                                                                                           \
	by = by != 0 ? by : cmp(a->first, b->first);                                                                       \
	by = by != 0 ? by : cmp(a->second, b->second);                                                                     \
	return by != 0 ? by : cmp(a->third, b->third);

static int
by_dst(const void *pa, const void *pb)
{
	BY(dst, src, direction)
}

static int
by_src(const void *pa, const void *pb)
{
	BY(src, dst, direction)
}

static bool
is_one(const struct crossing *a, const struct crossing *b, enum unit unit)
{
	return a->node == b->node && (unit == UNIT_SRC || a->dst == b->dst) && (unit == UNIT_DST || a->src == b->src);
}

/* Good and bad paths of the same addresses through a switch. */
struct fared {
	uint32_t lost, dark, well;
};

/*
 * A path that was well only before the first of them was lost is no evidence: a path whose probes are lost earlier does
 * not cross this switch any more, and its state is old.
 */
static struct fared
fare(const struct selecting *s, const struct crossing *of, uint32_t count)
{
	struct fared fared = { 0 };
	uint64_t since_ps = UINT64_MAX;

	for (uint32_t i = 0; i < count; i++) {
		fared.lost += of[i].lost;
		fared.dark += of[i].dark;
		if (of[i].lost || of[i].dark)
			since_ps = min_u64(since_ps, of[i].at_ps);
	}
	since_ps = (since_ps != UINT64_MAX ? since_ps : s->since_ps) + s->b->j->net.config.timeout_ps;
	for (uint32_t i = 0; i < count; i++)
		fared.well += !of[i].lost && !of[i].dark && !of[i].few && of[i].at_ps > since_ps;
	return fared;
}

/*
 * Likelihood of a switch that loses a part of all units, whole ones: units with both lost and good probes count against
 * it.
 */
static double
score(const struct selecting *s, const struct crossing *of, uint32_t count, enum unit unit)
{
	double lost = 0, well = 0, part, sum;
	uint32_t covered = 0, dark = 0;

	for (uint32_t first = 0, end; first < count; first = end) {
		struct fared fared;

		for (end = first; end < count && is_one(&of[first], &of[end], unit); end++)
			;
		fared = fare(s, &of[first], end - first);
		if (fared.well != 0) {
			well++;
		} else if (fared.lost + fared.dark != 0) {
			lost++;
			covered += fared.lost;
			dark += fared.dark;
		}
	}
	if (2 * covered < s->nlost)
		return -INFINITY; /* dark paths alone may be a link's loss */
	part = lost / (lost + well);
	sum = lost * log(part) + (well != 0 ? well * log(1 - part) : 0);
	/* each of the others has a cause of its own */
	return sum - (s->nlost + s->ndark - covered - dark) * log((double)s->ndirections + 1);
}

/* @return the likeliest; second: the next likeliest switch */
static struct culprit
choose(struct selecting *s, struct culprit *second)
{
	static int (*const orders[NUNITS])(const void *, const void *) = { by_dst, by_src, by_src };
	struct culprit best = { .node = RUN_NONE, .score = -INFINITY };

	*second = best;
	for (uint32_t unit = 0; unit < NUNITS; unit++) {
		qsort(s->all, s->count, sizeof(*s->all), orders[unit]);
		for (uint32_t first = 0, end; first < s->count; first = end) {
			struct culprit one = { .node = s->all[first].node };

			for (end = first; end < s->count && s->all[end].node == one.node; end++)
				;
			one.score = score(s, &s->all[first], end - first, unit);
			if (one.score > best.score) {
				*second = one.node != best.node ? best : *second;
				best = one;
			} else if (one.score > second->score && one.node != best.node) {
				*second = one;
			}
		}
	}
	return best;
}

/*
 * Sets the paths that it explains: all of pairs of which nothing crosses it; and of those that cross it and lost their
 * last probes, but too few to be significant.
 */
static void
find_explained(struct selecting *s, const struct culprit *by, uint8_t *directions)
{
	qsort(s->all, s->count, sizeof(*s->all), by_src);
	for (uint32_t first = 0, end; first < s->count; first = end) {
		struct fared fared;

		for (end = first; end < s->count && is_one(&s->all[first], &s->all[end], UNIT_PAIR); end++)
			;
		fared = fare(s, &s->all[first], end - first);
		for (uint32_t i = first; s->all[first].node == by->node && fared.well == 0 && i < end; i++)
			directions[s->all[i].direction] = s->all[i].lost || s->all[i].dark || s->all[i].few;
	}
}

/* Does anything of the same addresses go well through a switch? */
static bool
goes_well(const struct selecting *s, uint32_t node, uint32_t src, uint32_t dst)
{
	bool well = false;

	for (uint32_t i = 0; i < s->count && !well; i++)
		well = s->all[i].node == node && s->all[i].src == src && s->all[i].dst == dst && !s->all[i].lost &&
		       !s->all[i].dark && !s->all[i].few && s->all[i].at_ps > s->since_ps;
	return well;
}

/*
 * Of tuples that no probe arrives from any more, with an unknown direction of loss, since their responders have
 * received none: the losses that fit the culprit count as its own, too.
 */
static void
explain_silent(const struct selecting *s, const struct culprit *by, uint8_t *directions)
{
	const struct net *net = &s->b->j->net;

	for (uint32_t direction = 0; direction < 2 * net->ntuples; direction++) {
		const struct tuple_loss *loss = &s->tuple_losses[direction - direction % 2];
		const struct rec_tuple *tuple = &net->tuples[direction / 2].tuple;
		uint32_t ends[2] = { net_find_rnic(net, tuple->src_ip), net_find_rnic(net, tuple->dst_ip) };
		const struct net_trace *trace;

		if (!loss[0].silent)
			continue;
		trace = trace_of(s, direction);
		for (uint32_t i = 0; trace != NULL && i < trace->count; i++)
			if (net->run->ports[net->links[trace->first + i]].node == by->node &&
			    !goes_well(s, by->node, ends[direction % 2], ends[1 - direction % 2]))
				directions[direction] = 1;
	}
}

static bool
was_named(const struct ballot *b, uint32_t node)
{
	const struct pingmesh *own = b->j->own;

	for (uint32_t i = 0; i < own->nproblems; i++)
		if (own->problems[i].kind == PINGMESH_PROBLEM_SWITCH && own->problems[i].node == node &&
		    own->problems[i].last_period + JUDGE_RNIC_PERIODS >= b->j->period)
			return true;
	return false;
}

/* The losses that the culprit explains are reported, or wait. */
static int
report_culprit(const struct selecting *s, const struct culprit *by, bool sure, const uint8_t *directions)
{
	const struct ballot *b = s->b;
	struct pingmesh_problem seen = { .kind = PINGMESH_PROBLEM_SWITCH,
					 .node = by->node,
					 .bases = 1u << PINGMESH_BY_VOTES,
					 .or_node = RUN_NONE,
					 .networks = 1u << b->network,
					 .start_ps = UINT64_MAX,
					 .confidence = 1 };
	bool waits = false, any = false;

	for (uint32_t i = b->first; i < b->j->end; i++) {
		struct net_probe *probe = &b->j->net.probes[i];

		if (!ballot_takes_part(b, i) ||
		    (!directions[2 * (size_t)probe->tuple] && !directions[2 * (size_t)probe->tuple + 1]))
			continue;
		seen.probes++;
		if (!probe->open)
			continue;
		waits |= !any && !sure && ballot_can_wait(b->j, probe); /* the oldest */
		any = true;
		b->voted[i - b->first] = 1;
		seen.bad++;
		seen.start_ps = min_u64(seen.start_ps, probe->sent_ps);
		seen.end_ps = max_u64(seen.end_ps, probe->sent_ps);
		if (waits)
			continue;
		probe->cause = PINGMESH_SWITCH;
		probe->open = false;
	}
	return waits || !any ? 0 : problem_add(b->j, &seen);
}

#define AT_ONE_TIME 16   /* probes in a row */
#define LEAST_OF_TUPLE 2 /* probes that are all lost: one alone is no sign of a tuple's loss */

/* A tuple's probes over a place, since the first that it lost. */
struct at_place {
	uint32_t good, bad;
};

/* @return the logarithm of the likelihood of so many bad ones among all, which are alike */
static double
log_likelihood(double bad, double all)
{
	return (bad > 0 ? bad * log(bad / all) : 0) + (bad < all ? (all - bad) * log(1 - bad / all) : 0);
}

/*
 * @param tuples  [ntuples] zeroed
 * @return the logarithm of the likelihood of a place that loses probes of all tuples alike, more at one time than at
 *         another: it may flap, and routes may avoid it
 */
static double
count_at(const struct ballot *b, const struct pingmesh_problem *at, struct at_place *tuples)
{
	double bad_now = 0, all_now = 0, sum = 0;
	bool any = false;

	for (uint32_t i = b->first; i < b->j->end; i++) {
		const struct net_probe *probe = &b->j->net.probes[i];
		struct at_place *of = &tuples[probe->tuple];
		bool bad = ballot_is_bad(b, probe);

		if (!ballot_takes_part(b, i) || (!bad && !any) || !ballot_is_over(b, probe, at))
			continue;
		any = true;
		of->good += !bad;
		of->bad += bad;
		all_now++;
		bad_now += bad;
		if (all_now < AT_ONE_TIME)
			continue;
		sum += log_likelihood(bad_now, all_now);
		all_now = bad_now = 0;
	}
	return sum + (all_now > 0 ? log_likelihood(bad_now, all_now) : 0);
}

int
selective_is_likelier(const struct ballot *b, const struct pingmesh_problem *at)
{
	const struct net *net = &b->j->net;
	struct at_place *tuples = calloc(net->ntuples + 1u, sizeof(*tuples));
	struct tuple_loss *tuple_losses = calloc(2 * (size_t)net->ntuples + 1, sizeof(*tuple_losses));
	double bad = 0, all = 0, of_lost = 0, lost = 0, units = 0, alike = 0, by_addresses;
	bool decided = tuples == NULL || tuple_losses == NULL;
	int rc = decided ? -ENOMEM : 0;

	if (!decided) {
		alike = count_at(b, at, tuples);
		tuple_losses_count(b, tuple_losses);
	}
	for (uint32_t i = 0; !decided && i < net->ntuples; i++) {
		const struct at_place *of = &tuples[i];
		bool is_lost = of->good == 0 && of->bad >= LEAST_OF_TUPLE;

		bad += of->bad;
		all += of->good + of->bad;
		of_lost += is_lost ? of->bad : 0;
		units += of->good + of->bad >= LEAST_OF_TUPLE;
		lost += is_lost;
		decided = of->bad != 0 &&
			  (tuple_loss_is_lost(&tuple_losses[2 * i]) || tuple_loss_is_lost(&tuple_losses[2 * i + 1]));
	}
	if (!decided) {
		/* Beside whole tuples the place may lose some of all others. */
		by_addresses = log_likelihood(lost, units) + log_likelihood(bad - of_lost, all - of_lost);
		rc = by_addresses - alike >= JUDGE_SURELY;
	}
	free(tuples);
	free(tuple_losses);
	return rc;
}

int
selective_once(const struct ballot *b)
{
	const struct net *net = &b->j->net;
	size_t ndirections = 2 * (size_t)net->ntuples + 1;
	struct selecting s = { .b = b,
			       .tuple_losses = calloc(ndirections, sizeof(*s.tuple_losses)),
			       .clean_ps = calloc(net->run->nports + 1u, sizeof(*s.clean_ps)),
			       .lost = calloc(ndirections, 1),
			       .since_ps = UINT64_MAX };
	uint8_t *directions = calloc(ndirections, 1);
	int rc = s.tuple_losses != NULL && s.clean_ps != NULL && s.lost != NULL && directions != NULL ? 0 : -ENOMEM;

	if (rc == 0) {
		tuple_losses_count(b, s.tuple_losses);
		rc = list_crossings(&s);
	}
	if (rc == 0 && s.nlost != 0) {
		struct culprit second, best = choose(&s, &second);

		if (best.node != RUN_NONE) {
			find_explained(&s, &best, directions);
			explain_silent(&s, &best, directions);
			rc = report_culprit(&s, &best, best.score - second.score >= JUDGE_SURELY || was_named(b, best.node),
					    directions);
			rc = rc == 0 ? 1 : rc;
		}
	}
	free(s.tuple_losses);
	free(s.clean_ps);
	free(s.lost);
	free(s.all);
	free(directions);
	return rc;
}

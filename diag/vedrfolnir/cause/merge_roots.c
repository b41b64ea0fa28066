/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One root, one finding. An incast that a flow of the collective stands in is what halts others from there, too, and so
 * is load imbalance. Loss that only retransmissions tell of is the work of a hole on the way of the data or of the ACKs,
 * if one was found. A loop of packets explains the deadlock in it, the packets that die of old age behind it, and
 * those that are missing at its switches. What was
 * inferred because nothing else was known goes where packets stood still, went round or vanished on the way.
 */
#include "diag/vedrfolnir/cause/drops.h"
#include "diag/vedrfolnir/cause/merge.h"

static bool
share_port(const struct finding *a, const struct finding *b)
{
	for (uint32_t i = 0; i < a->nports; i++) {
		for (uint32_t j = 0; j < b->nports; j++) {
			if (a->ports[i] == b->ports[j])
				return true;
		}
	}
	return false;
}

static bool
share_node(const struct evidence *ev, const struct finding *a, const struct finding *b)
{
	for (uint32_t i = 0; i < a->nports; i++) {
		for (uint32_t j = 0; j < b->nports; j++) {
			if (ev->ports[a->ports[i]].node == ev->ports[b->ports[j]].node)
				return true;
		}
	}
	return false;
}

/* Both findings stay; the loop has the deadlock's victims, weight and time, and comes first. */
static void
credit_loop(struct cause_set *all, struct finding *loop, struct finding *circle)
{
	if (!merge_is(circle, FINDING_OF_CIRCLE) || circle->collective != loop->collective || !share_port(loop, circle))
		return;
	for (uint32_t s = 0; s < circle->nsteps; s++)
		merge_put(all, &loop->steps, &loop->nsteps, circle->steps[s]);
	for (uint32_t v = 0; v < circle->nvictims; v++)
		merge_put(all, &loop->victims, &loop->nvictims, circle->victims[v]);
	merge_take_claims(all, loop, circle);
	circle->explained_ps = 0;
	circle->nclaims = 0;
	if (circle->score > loop->score)
		loop->score = circle->score;
}

/* Is a finding's root, or for a blackhole its node, on the configured way of a flow or of its ACKs? */
static bool
is_on_path(const struct evidence *ev, const struct finding *hole, uint32_t flow)
{
	const struct ev_flow *f = &ev->flows[flow];
	const struct ev_port *root = &ev->ports[hole->root_port];

	for (uint32_t h = 0; h < f->nhops + f->nback; h++) {
		uint32_t port = ev->hops[f->first_hop + h];

		if (port == hole->root_port || port == root->peer ||
		    (merge_is(hole, FINDING_OF_NODE) && ev->ports[port].node == root->node))
			return true;
	}
	return false;
}

/* The hole that explains a loss nobody counted. @return NULL: there is none */
static struct cause_finding *
find_hole(struct cause_set *all, const struct finding *loss)
{
	for (uint32_t i = 0; i < all->count && merge_is(loss, FINDING_OF_LOSS) && loss->root_port == EV_NONE; i++) {
		const struct finding *hole = &all->findings[i].out;

		if (merge_is(hole, FINDING_OF_HOLE) && hole->collective == loss->collective &&
		    hole->start_ps <= loss->end_ps && loss->start_ps <= hole->end_ps &&
		    is_on_path(all->in->ev, hole, loss->victims[0]))
			return &all->findings[i];
	}
	return NULL;
}

/*
 * Is the switch, where packets are missing, one that the loop goes through? What came to it goes round, or stands, or died of
 * that, and has not vanished.
 */
static bool
is_in_loop(const struct evidence *ev, const struct finding *loop, const struct finding *hole)
{
	uint32_t node = hole->root_port != EV_NONE ? ev->ports[hole->root_port].node : EV_NONE;

	for (uint32_t i = 0; i < loop->nports && merge_is(hole, FINDING_OF_HOLE | FINDING_OF_LOSS); i++) {
		const struct ev_port *port = &ev->ports[loop->ports[i]];

		if (port->node == node || port->peer_node == node)
			return true;
	}
	return false;
}

/*
 * The loop, seen itself, that packets came from which died of old age anywhere, or which has them that are missing.
 * @return NULL: there is none
 */
static struct cause_finding *
find_loop(struct cause_set *all, const struct cause_finding *drops)
{
	bool old_age = merge_is(&drops->out, FINDING_OF_LOOP) && drops->out.key == DROPS_OF_OLD_AGE;

	for (uint32_t i = 0; i < all->count; i++) {
		const struct cause_finding *loop = &all->findings[i];

		if (merge_is(&loop->out, FINDING_OF_LOOP) && loop->out.key != DROPS_OF_OLD_AGE &&
		    loop->out.collective == drops->out.collective && loop->out.start_ps <= drops->out.end_ps &&
		    (old_age || is_in_loop(all->in->ev, &loop->out, &drops->out)))
			return &all->findings[i];
	}
	return NULL;
}

/*
 * Is there, on the way of what was inferred from the lack of a cause, one that round trips can be longer for? A loop turns
 * packets away from the way's ports: it is on it by its switches.
 */
static bool
is_explained(const struct cause_set *all, const struct finding *inferred)
{
	for (uint32_t i = 0; i < all->count && merge_is(inferred, FINDING_BY_DEFAULT); i++) {
		const struct finding *other = &all->findings[i].out;

		if (other->start_ps > inferred->end_ps || inferred->start_ps > other->end_ps)
			continue;
		if ((merge_is(other, FINDING_OF_HOLE) && share_port(other, inferred)) ||
		    (merge_is(other, FINDING_OF_LOOP) && share_node(all->in->ev, other, inferred)))
			return true;
	}
	return false;
}

void
merge_roots(struct cause_set *all)
{
	for (uint32_t i = all->count; i-- > 0;) {
		if (is_explained(all, &all->findings[i].out))
			merge_remove(all, i);
	}
	for (uint32_t i = all->count; i-- > 0;) {
		struct cause_finding *root = merge_queue_of(all, &all->findings[i]);

		if (root == NULL)
			root = find_hole(all, &all->findings[i].out);
		if (root == NULL)
			root = find_loop(all, &all->findings[i]);
		if (root == NULL)
			continue;
		/* The ports of a loss are its whole path: they say nothing of the hole. Nor do deaths say of the loop. */
		if (!merge_is(&all->findings[i].out, FINDING_FILLED))
			all->findings[i].out.nports = 0;
		merge_take(all, root, &all->findings[i]);
		merge_remove(all, i);
	}
	for (uint32_t i = 0; i < all->count; i++) {
		for (uint32_t j = 0; j < all->count && merge_is(&all->findings[i].out, FINDING_OF_LOOP); j++)
			credit_loop(all, &all->findings[i].out, &all->findings[j].out);
	}
}

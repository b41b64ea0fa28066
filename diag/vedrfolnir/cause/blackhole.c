/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blackhole: a switch on the slow step's way swallows its packets. One that knows of it counts them, or has no route;
 * one that does not swallows the polling packets too, and is what lies behind the last port that saw them.
 */
#include "common/array.h"
#include "diag/vedrfolnir/cause/drops.h"

enum { SAYS_SWALLOWED, SAYS_NO_ROUTE = DROPS_CLAUSES, SAYS_SILENT = 2 * DROPS_CLAUSES };
static const char *const clauses[] = {
	DROPS_SAY("packets swallowed"),
	DROPS_SAY("packets dropped for want of a route"),
	[SAYS_SILENT] = "{step}: polling packets on its path left by {port}, and {node} did not see them; {again}",
};

static void
add_silent(struct cause_set *set, uint32_t step, uint32_t port)
{
	const struct evidence *ev = set->in->ev;
	const struct run_step *s = &set->in->steps[step];
	struct cause_finding *finding = cause_add(set, port, NULL, 0, step);
	double excess_ps = cause_excess_ps(set->in, step);

	if (finding == NULL)
		return;
	cause_port(set, finding, port);
	cause_time(finding, s->start_ps, s->end_ps);
	cause_explains(finding, port, excess_ps);
	if (cause_score(finding, cause_lost_frames(set->in, step, excess_ps)))
		finding->out.evidence = (struct finding_evidence){ .clauses = { SAYS_SILENT },
								   .nclauses = 1,
								   .step = step,
								   .port = port,
								   .node = ev->ports[port].peer_node };
}

static void
look(struct cause_set *set, uint32_t step)
{
	uint32_t port;

	drops_add(set, step, REC_DROP_BLACKHOLE, SAYS_SWALLOWED);
	/* A way that is lost because links are down is theirs to explain. */
	if (!drops_any(set->in, step, REC_DROP_LINK_DOWN))
		drops_add(set, step, REC_DROP_NO_ROUTE, SAYS_NO_ROUTE);
	port = drops_silent_end(set->in, step);
	if (port != EV_NONE)
		add_silent(set, step, port);
}

const struct cause cause_blackhole = {
	.type = { .key = "blackhole",
		  .title = "blackhole",
		  .preposition = "at ",
		  .badge = "lost",
		  .traits = FINDING_OF_HOLE | FINDING_OF_NODE_BEHIND,
		  .clauses = clauses,
		  .nclauses = ARRAY_LEN(clauses) },
	.look = look,
};

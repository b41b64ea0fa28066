/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks that are innocent: nothing wrong at all, or a host that is late. */
#include <errno.h>

#include "eval/case.h"
#include "eval/place.h"

#define QUIET_CASES 30
#define CLEAN_MAX_FLOWS 4

/* Does a path touch no port that any other data takes? */
static bool
is_alone(const struct eval_case *c, const struct route_path *path)
{
	struct route_path other;

	for (uint32_t send = 0; send < c->sends.count; send++) {
		place_send_path(c, send, &other);
		if (place_shares(path, &other))
			return false;
	}
	for (uint32_t i = 0; i < c->nflows; i++) {
		place_path(c, c->flows[i].src, c->flows[i].dst, c->flows[i].sport, &other);
		if (place_shares(path, &other))
			return false;
	}
	return true;
}

/*
 * The collective, and other jobs' flows that share no port with it or each other.
 * @param acks_too  neither do their ACKs: these go first, and take 4 % of a link
 */
static int
make_undisturbed(struct eval_case *c, bool acks_too)
{
	uint32_t flows = case_pick(c, 0, CLEAN_MAX_FLOWS);

	if (case_pick(c, 0, 1) == 0)
		place_beside(c);
	for (uint32_t i = 0; i < PLACE_TRIES && c->nflows < flows; i++) {
		uint32_t src = place_any_host(c), dst = place_any_host(c);
		uint16_t sport = place_any_sport(c);
		struct route_path path;

		if (src == dst)
			continue;
		place_path(c, src, dst, sport, &path);
		if (!is_alone(c, &path))
			continue;
		place_ack_path(c, src, dst, sport, &path);
		if (!acks_too || is_alone(c, &path))
			case_add_flow(c, src, dst, sport, case_bytes(c, 20 * CASE_MB, 1000 * CASE_MB),
				      case_time_ns(c, 0, 200 * CASE_MS));
	}
	return 0;
}

static int
make_clean(struct eval_case *c)
{
	return make_undisturbed(c, false);
}

int
inject_slow_host(struct eval_case *c)
{
	const char *host = c->routing.topo->nodes[c->ranks[case_pick(c, 0, c->source->shape->ranks - 1)]].name;
	uint32_t step = case_pick(c, 1, c->sends.steps);

	case_add_fault(c, "{ kind = \"slow-host\"; host = \"%s\"; step = %u; delay = \"%lluns\"; }", host, step,
		       (unsigned long long)case_time_ns(c, 5 * CASE_MS, 50 * CASE_MS));
	case_add_anomaly(c, json_pack("{s:s, s:s, s:I}", "kind", "slow-host", "host", host, "step", (json_int_t)step));
	return 0;
}

static int
make_slow_host(struct eval_case *c)
{
	int ret = make_undisturbed(c, true);

	return ret == 0 ? inject_slow_host(c) : ret;
}

const struct family family_clean = {
	.name = "clean",
	.draws = "clean",
	.cases = QUIET_CASES,
	.doc = "no fault, and no two data flows in one queue",
	.make = make_clean,
};

const struct family family_slow_host = {
	.name = "slow-host",
	.draws = "slowhost",
	.cases = QUIET_CASES,
	.doc = "as clean, but a rank starts a step 5 to 50 ms late",
	.make = make_slow_host,
};

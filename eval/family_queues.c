/* SPDX-License-Identifier: BSD-3-Clause */
/* Flows that share queues with the collective: contention and incast (IV-A). */
#include <errno.h>

#include "eval/case.h"
#include "eval/place.h"

#define CONTENTION_CASES 60
#define CONTENTION_MAX_FLOWS 6
#define INCAST_CASES 60
#define INCAST_MIN_FLOWS 3
#define INCAST_MAX_FLOWS 8
#define LATEST_NS (200 * CASE_MS)

static void
layout(struct eval_case *c)
{
	if (case_pick(c, 0, 1) == 0)
		place_beside(c);
}

/* A random flow that crosses a port. @return false: chance did not find one */
static bool
find_crossing(struct eval_case *c, uint32_t port, uint32_t *src, uint32_t *dst, uint16_t *sport)
{
	for (uint32_t i = 0; i < PLACE_TRIES; i++) {
		struct route_path path;

		*src = place_any_host(c);
		*dst = place_any_host(c);
		*sport = place_any_sport(c);
		if (*src == *dst)
			continue;
		place_path(c, *src, *dst, *sport, &path);
		if (place_crosses(&path, port))
			return true;
	}
	return false;
}

static void
list_culprits(struct eval_case *c, const char *kind, uint32_t first)
{
	json_t *flows = json_array();
	char name[CASE_NAME];

	for (uint32_t i = first; i < c->nflows; i++)
		json_array_append_new(flows, json_string(case_flow_name(c, &c->flows[i], name)));
	case_add_anomaly(c, json_pack("{s:s, s:o}", "kind", kind, "flows", flows));
}

int
inject_contention(struct eval_case *c, uint32_t flows, double latest_ns)
{
	uint32_t first = c->nflows;

	for (uint32_t i = 0; i < flows; i++) {
		uint32_t src, dst;
		uint16_t sport;

		if (!find_crossing(c, place_any_port(c), &src, &dst, &sport))
			return -EAGAIN;
		case_add_flow(c, src, dst, sport, case_bytes(c, 20 * CASE_MB, 1000 * CASE_MB),
			      case_time_ns(c, 0, latest_ns));
	}
	list_culprits(c, "contention", first);
	return 0;
}

int
inject_incast(struct eval_case *c, uint32_t flows, double latest_ns)
{
	uint32_t first = c->nflows, target = c->ranks[case_pick(c, 0, c->source->shape->ranks - 1)];
	uint64_t start_ns = case_time_ns(c, 0, latest_ns);

	while (c->nflows < first + flows) {
		uint32_t src = place_any_host(c);
		bool taken = src == target;

		for (uint32_t i = first; i < c->nflows; i++)
			taken |= c->flows[i].src == src;
		if (!taken)
			case_add_flow(c, src, target, place_any_sport(c), case_bytes(c, 20 * CASE_MB, 200 * CASE_MB),
				      start_ns);
	}
	list_culprits(c, "incast", first);
	return 0;
}

static int
make_contention(struct eval_case *c)
{
	layout(c);
	return inject_contention(c, case_pick(c, 1, CONTENTION_MAX_FLOWS), LATEST_NS);
}

static int
make_incast(struct eval_case *c)
{
	layout(c);
	return inject_incast(c, case_pick(c, INCAST_MIN_FLOWS, INCAST_MAX_FLOWS), LATEST_NS);
}

const struct family family_contention = {
	.name = "contention",
	.draws = "contention",
	.cases = CONTENTION_CASES,
	.doc = "1 to 6 flows of 20 MB to 1 GB cross the collective's ports",
	.make = make_contention,
};

const struct family family_incast = {
	.name = "incast",
	.draws = "incast",
	.cases = INCAST_CASES,
	.doc = "3 to 8 flows of 20 to 200 MB start at once towards one rank",
	.make = make_incast,
};

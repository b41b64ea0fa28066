/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic that is in the job's way, and ports that make it wait. */
#include <errno.h>
#include <stdio.h>

#include "eval/compare/corpus.h"

#define TRIES 1000
#define SENDERS 4 /* of an incast */

static int
no_place(struct err *err, const char *what)
{
	return err_set(err, -EAGAIN, "no place for %s", what);
}

/* A flow at line rate, or two, that leave a switch by a port of the job's. */
int
compare_contention(struct odd_case *c, struct err *err)
{
	struct route_path path;
	uint32_t flows = odd_pick(c, 1, 2), port;
	uint64_t start_ns;
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	odd_path(c, odd_send(c), false, &path);
	port = path.ports[odd_pick(c, 1, path.hops - 1)];
	start_ns = compare_start_ns(c);
	for (uint32_t i = 0; ret == 0 && i < flows; i++)
		ret = odd_crossing(c, port,
				   &(struct odd_flow){ .prio = -1,
						       .bytes = odd_bytes(c, 20 * ODD_MB, 60 * ODD_MB),
						       .start_ns = start_ns },
				   err);
	return ret;
}

/* Several flows at once to the host behind a port. */
static int
converge(struct odd_case *c, uint32_t port, struct err *err)
{
	uint64_t start_ns = compare_start_ns(c);
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < SENDERS; i++)
		ret = odd_crossing(c, port,
				   &(struct odd_flow){ .prio = -1,
						       .bytes = odd_bytes(c, 8 * ODD_MB, 20 * ODD_MB),
						       .start_ns = start_ns },
				   err);
	return ret;
}

/* To a rank's host. */
int
compare_incast(struct odd_case *c, struct err *err)
{
	struct route_path path;
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	odd_path(c, odd_send(c), false, &path);
	return converge(c, path.ports[path.hops - 1], err);
}

/* To a host without a rank beside one with: no data of the job goes by that port, and pauses lead to it. */
int
compare_backpressure(struct odd_case *c, struct err *err)
{
	const struct topo *topo;
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	topo = c->loaded->topo;
	for (uint32_t i = 0; i < TRIES; i++) {
		uint32_t host = topo->hosts[odd_pick(c, 0, topo->nhosts - 1)];

		if (!compare_is_rank(c, host))
			return converge(c, topo_port_of(topo, host, 0)->peer_port, err);
	}
	return no_place(err, "an incast beside the job");
}

/* Most flows that could go up by several ports go up by one. */
int
compare_imbalance(struct odd_case *c, struct err *err)
{
	struct route_path path;
	char more[64];
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	if (!compare_far(c, &path))
		return no_place(err, "a port of equal cost");
	snprintf(more, sizeof(more), "share = %.2f; ", 0.7 + 0.3 * prng_unit(&c->prng));
	odd_fault(c, "ecmp-imbalance", path.ports[1], 0, 0, "%s", more);
	return 0;
}

/* It is in the fabric's hash. */
int
compare_polarisation(struct odd_case *c, struct err *err)
{
	return compare_begin(c, err);
}

/* A port that has its peer on the job's way stand still: for good, or for 0.5 to 3 ms of every 10 to 30. */
int
compare_storm(struct odd_case *c, struct err *err)
{
	uint32_t port;
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	port = c->loaded->topo->ports[odd_port(c)].peer_port;
	if (odd_chance(c, 0.5))
		odd_fault(c, "pfc-storm", port, compare_start_ns(c), 0, " ");
	else
		odd_fault(c, "pfc-storm", port, compare_start_ns(c), (uint64_t)odd_log(c, 500 * ODD_US, 3000 * ODD_US),
			  "period = \"%.0fns\"; ", odd_log(c, 10000 * ODD_US, 30000 * ODD_US));
	return 0;
}

/* A rank's own switch sends what is for it up again, for 0.2 to 2 ms, or for good. */
int
compare_loop(struct odd_case *c, struct err *err)
{
	const struct topo *topo;
	struct route_path path;
	char port[64];
	int ret = compare_begin(c, err);

	if (ret < 0)
		return ret;
	if (!compare_far(c, &path))
		return no_place(err, "a loop");
	topo = c->loaded->topo;
	odd_add(c, ODD_FAULTS,
		"{ kind = \"misroute\"; dst = \"%s\"; port = \"%s\"; start = \"%lluns\"; duration = \"%.0fns\"; }",
		topo->nodes[topo->ports[path.ports[0]].node].name, odd_port_name(c, path.ports[1], port),
		(unsigned long long)compare_start_ns(c), odd_chance(c, 0.5) ? 0 : odd_log(c, 200 * ODD_US, 2000 * ODD_US));
	return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets that vanish where no port counts them. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "common/array.h"
#include "eval/odd/build.h"

/*
 * A switch on the way of one of the collective's flows swallows what its source sends its destination, what anybody sends
 * that destination, or what comes in where the flow does; of such pairs all, or a share.
 */
int
odd_fib(struct odd_case *c, struct err *err)
{
	const struct topo *topo;
	const struct flow *flow;
	struct route_path path;
	char in[64];
	uint32_t hop;
	int ret = odd_plain(c, err);

	if (ret < 0)
		return ret;
	topo = c->loaded->topo;
	flow = odd_send(c);
	odd_path(c, flow, false, &path);
	hop = odd_pick(c, 1, path.hops - 1);
	odd_add(c, ODD_FAULTS,
		"{ kind = \"fib-corruption\"; switch = \"%s\"; start = \"%" PRIu64 "ns\"; duration = \"%.0fns\"; ",
		topo->nodes[topo->ports[path.ports[hop]].node].name, odd_part_ns(c, 0, 0.8),
		odd_log(c, 20 * ODD_US, 1000 * ODD_US));
	switch (odd_pick(c, 0, 2)) {
	case 0:
		odd_more(c, ODD_FAULTS, "src = \"%s\"; dst = \"%s\"; }", topo->nodes[flow->src_node].name,
			 topo->nodes[flow->dst_node].name);
		break;
	case 1:
		odd_more(c, ODD_FAULTS, "dst = \"%s\"; share = %.3f; }", topo->nodes[flow->dst_node].name,
			 odd_log(c, 0.2, 1));
		break;
	default:
		odd_more(c, ODD_FAULTS, "in = \"%s\"; share = %.3f; }",
			 odd_port_name(c, topo->ports[path.ports[hop - 1]].peer_port, in), odd_log(c, 0.2, 1));
		break;
	}
	return odd_chance(c, 1.0 / 3) ? odd_disturb(c, err) : 0;
}

/* Every packet has a way of its own, and one link between switches loses some behind the far MAC. */
int
odd_sprayed(struct odd_case *c, struct err *err)
{
	static const char *const kinds[] = { "adaptive", "random", "round-robin" };
	uint32_t port;
	char more[64];
	int ret;

	odd_head(c, "load_balancing = { kind = \"%s\"; };\nhost = { transport = \"selective\"; };\n",
		 kinds[odd_pick(c, 0, ARRAY_LEN(kinds) - 1)]);
	ret = odd_plain(c, err);
	if (ret < 0)
		return ret;
	port = odd_trunk(c);
	if (port == TOPO_NONE)
		return err_set(err, -EAGAIN, "no flow of the collective leaves its switch");
	snprintf(more, sizeof(more), "rate = %.6f; silent = true; ", odd_log(c, 1e-4, 0.3));
	odd_fault_sometime(c, "loss", port, more);
	return odd_chance(c, 1.0 / 3) ? odd_disturb(c, err) : 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "eval/odd/odd.h"

const struct odd_group odd_groups[] = {
	{ .name = "delay", .doc = "5 to 100 us more delay on a link", .make = odd_delay },
	{ .name = "loss", .doc = "frames of a port are lost, 1 in 100,000 to half", .make = odd_loss },
	{ .name = "ack-side", .doc = "the way of ACKs is cut, or loses", .make = odd_acks },
	{ .name = "cuts", .doc = "a link between switches is cut", .make = odd_cuts },
	{ .name = "corruption", .doc = "frames are damaged at a host's link", .make = odd_corruption },
	{ .name = "blackhole", .doc = "a switch loses all for a host, for 20 us to 1 ms", .make = odd_blackhole },
	{ .name = "fib",
	  .doc = "a corrupt FIB: a switch swallows all between some hosts, for 20 us to 1 ms",
	  .make = odd_fib },
	{ .name = "sprayed",
	  .doc = "packets are sprayed, and a link loses some that no port misses, 1 in 10,000 to a third",
	  .make = odd_sprayed },
	{ .name = "storms", .doc = "PAUSE for 50 us to the whole run", .make = odd_storms },
	{ .name = "outside", .doc = "before the collective, after it, or both", .make = odd_around },
	{ .name = "classes", .doc = "two lossless classes, with flows and a storm in the other", .make = odd_classes },
	{ .name = "class0", .doc = "traffic in class 0, or ACK streams of others", .make = odd_class0 },
	{ .name = "mice", .doc = "generated flows of others", .make = odd_mice },
	{ .name = "jobs", .doc = "two or three jobs", .make = odd_jobs },
	{ .name = "small", .doc = "messages of 1 to 64 KB, late hosts", .make = odd_small },
	{ .name = "rates", .doc = "links of unequal rates", .make = odd_rates },
	{ .name = "k8", .doc = "fat-tree K=8, 16 ranks of 128 hosts", .make = odd_k8 },
	{ .name = "rails", .doc = "hosts of several NICs, a rail each", .make = odd_rails },
	{ .name = "window", .doc = "windows below the bandwidth-delay product", .make = odd_window },
	{ .name = "starved", .doc = "a telemetry budget that is nothing", .make = odd_starved },
	{ .name = NULL },
};

const struct odd_group *
odd_group_find(const char *name)
{
	for (const struct odd_group *group = odd_groups; group->name != NULL; group++)
		if (strcmp(group->name, name) == 0)
			return group;
	return NULL;
}

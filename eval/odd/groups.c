/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "eval/odd/odd.h"

const struct odd_group odd_groups[] = {
	{ "delay", "5 to 100 us more delay on a link", odd_delay },
	{ "loss", "frames of a port are lost, 1 in 100,000 to half", odd_loss },
	{ "ack-side", "the way of ACKs is cut, or loses", odd_acks },
	{ "cuts", "a link between switches is cut", odd_cuts },
	{ "corruption", "frames are damaged at a host's link", odd_corruption },
	{ "blackhole", "a switch loses all for a host, for 20 us to 1 ms", odd_blackhole },
	{ "fib", "a corrupt FIB: a switch swallows all between some hosts, for 20 us to 1 ms", odd_fib },
	{ "sprayed", "packets are sprayed, and a link loses some that no port misses, 1 in 10,000 to a third",
	  odd_sprayed },
	{ "storms", "PAUSE for 50 us to the whole run", odd_storms },
	{ "outside", "before the collective, after it, or both", odd_outside },
	{ "classes", "two lossless classes, with flows and a storm in the other", odd_classes },
	{ "class0", "traffic in class 0, or ACK streams of others", odd_class0 },
	{ "mice", "generated flows of others", odd_mice },
	{ "jobs", "two or three jobs", odd_jobs },
	{ "small", "messages of 1 to 64 KB, late hosts", odd_small },
	{ "rates", "links of unequal rates", odd_rates },
	{ "k8", "fat-tree K=8, 16 ranks of 128 hosts", odd_k8 },
	{ "rails", "hosts of several NICs, a rail each", odd_rails },
	{ "window", "windows below the bandwidth-delay product", odd_window },
	{ "starved", "a telemetry budget that is nothing", odd_starved },
	{ NULL, NULL, NULL },
};

const struct odd_group *
odd_group_find(const char *name)
{
	for (const struct odd_group *group = odd_groups; group->name != NULL; group++)
		if (strcmp(group->name, name) == 0)
			return group;
	return NULL;
}

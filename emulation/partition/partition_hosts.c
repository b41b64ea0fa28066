/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/partition/partition_hosts.h"

#include "emulation/embedded_hosts.h"
#include "emulation/partition/partition_state.h"
#include "rxe-hosts/steps/engine.h"
#include "rxe-hosts/steps/remote.h"

static struct node *
node_create(void *ctx, uint32_t node, struct err *err)
{
	return embedded_hosts.node_create(((struct partitions *)ctx)->emulation, node, err);
}

static struct step_engine *
program_create(void *ctx, uint32_t node, struct err *err)
{
	return step_engine_create_remote(((struct partitions *)ctx)->scenario->plan, node, err);
}

static const struct partition_peer *
peer_of(const void *ctx, uint32_t node)
{
	const struct partitions *partitions = ctx;

	return &partitions->peers[partitions->partition_of[node]];
}

static bool
working(void *ctx, uint32_t node)
{
	return peer_of(ctx, node)->working;
}

static bool
sending(void *ctx, uint32_t node, uint64_t *next_ps)
{
	const struct partition_peer *peer = peer_of(ctx, node);

	*next_ps = peer->next_ps;
	return peer->sending;
}

static bool
ready(void *ctx)
{
	const struct partitions *partitions = ctx;
	bool all = true;

	for (uint32_t p = 0; p < partitions->count; p++)
		all &= p == partitions->which || !partitions->peers[p].working;
	return all;
}

const struct host_driver_ops partition_hosts = {
	.node_create = node_create,
	.program_create = program_create,
	.working = working,
	.sending = sending,
	.ready = ready,
};

/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/partition/partition.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/minmax.h"
#include "emulation/partition/partition_hosts.h"
#include "emulation/partition/partition_state.h"

static void
join(void *ctx, struct emulation *emulation)
{
	((struct partitions *)ctx)->emulation = emulation;
}

static int
start(void *ctx, uint64_t *zero_ns, struct err *err)
{
	return partition_start(ctx, zero_ns, err);
}

static void
stop(void *ctx)
{
	partition_stop(ctx);
}

static bool
up(void *ctx, bool ours)
{
	struct partitions *partitions = ctx;
	bool all = partitions->up = ours;

	for (uint32_t p = 0; p < partitions->count; p++)
		all &= p == partitions->which || partitions->peers[p].up;
	return all;
}

static struct bodies *
bodies(void *ctx)
{
	return &((struct partitions *)ctx)->segments.base;
}

static void
leaving(void *ctx, const struct window *window)
{
	boundary_leaving(ctx, window);
}

static void
entering(void *ctx, const struct window *window)
{
	struct partitions *partitions = ctx;
	struct err err = { 0 };
	uint32_t from = 0;

	if (boundary_entering(partitions, window, &from, &err) < 0)
		partition_lose(partitions, from, err.text);
}

static bool
over(void *ctx, enum rec_end_reason *reason, uint32_t *node)
{
	const struct partitions *partitions = ctx;

	*reason = partitions->reason;
	*node = partitions->node;
	return partitions->over;
}

static struct partition_crossed
crossed(const void *ctx)
{
	return ((const struct partitions *)ctx)->boundary.crossed;
}

static const char *
why(const void *ctx)
{
	const struct partitions *partitions = ctx;

	return partitions->why[0] != '\0' ? partitions->why : NULL;
}

static bool
broken(const void *ctx)
{
	const struct partitions *partitions = ctx;
	bool any = false;

	for (uint32_t p = 0; p < partitions->count; p++)
		any |= partitions->peers[p].lost || partitions->peers[p].violates;
	return any;
}

static const json_t *
reported(const void *ctx, uint32_t partition)
{
	return ((const struct partitions *)ctx)->peers[partition].reported;
}

static uint64_t
clock_error_ns(const void *ctx)
{
	const struct partitions *partitions = ctx;
	uint64_t worst_ns = emulation_clock_error_ns(partitions->emulation);

	if (worst_ns != 0)
		worst_ns += partitions->clock_error_ns; /* the first part's is 0 */
	for (uint32_t p = 0; p < partitions->count; p++)
		worst_ns = max_u64(worst_ns, partition_clock_error_ns(partitions->peers[p].reported));
	return worst_ns;
}

static json_t *
partition_json(const void *ctx)
{
	const struct partitions *partitions = ctx;
	const struct topo *topo = partitions->scenario->topo;
	json_t *nodes = json_array(), *root;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (!partitions->remote[i])
			json_array_append_new(nodes, json_string(topo->nodes[i].name));
	root = json_pack("{s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "part", (json_int_t)partitions->which,
			 "of", (json_int_t)partitions->count, "nodes", nodes, "cut_cables",
			 (json_int_t)partitions->boundary.count, "frames_in",
			 (json_int_t)partitions->boundary.crossed.in_packets, "frames_out",
			 (json_int_t)partitions->boundary.crossed.out_packets, "bytes_out",
			 (json_int_t)partitions->boundary.crossed.out_bytes, "frames_ended",
			 (json_int_t)partitions->boundary.crossed.ended_packets, "windows_waited",
			 (json_int_t)partitions->blocked_windows, "waited_s", (double)partitions->waits_ns / 1e9,
			 "clock_error_us", (double)partitions->clock_error_ns / 1e3);
	return root;
}

static const struct partition_ops ops = {
	.join = join,
	.start = start,
	.stop = stop,
	.up = up,
	.bodies = bodies,
	.pace = partition_pace,
	.leaving = leaving,
	.entering = entering,
	.horizon_ps = partition_horizon,
	.over = over,
	.collect = partition_collect,
	.finish = partition_finish,
	.crossed = crossed,
	.why = why,
	.broken = broken,
	.reported = reported,
	.clock_error_ns = clock_error_ns,
	.json = partition_json,
};

/* What parts cannot do. */
static int
check_scenario(const struct scenario *sc, struct err *err)
{
	if (sc->timing.clock != CLOCK_REAL)
		return cfg_fail(&sc->timing.where, "clock", err, "parts of a fabric run in real time: set it to \"real\"");
	if (sc->pingmesh.enabled)
		return cfg_fail(&sc->pingmesh.where, NULL, err,
				"agents of R-Pingmesh ask a controller in their own program: "
				"run it without --parts, or leave pingmesh out");
	if (sc->flowtracer.enabled)
		return cfg_fail(
			&sc->flowtracer.where, NULL, err,
			"a tracer asks devices of its own program: run it without --parts, or leave flowtracer out");
	if (sc->management.sockets)
		return cfg_fail(&sc->management.where, "sockets", err,
				"a part would serve the devices of all: run it without --parts, or set it to false");
	if (sc->nexternal != 0 && sc->nexternal != sc->topo->nhosts)
		return cfg_fail(
			&sc->host_configs[0].where, "kind", err,
			"embedded hosts beside such with their own kernel need a fabric that is whole, as the bytes of "
			"their messages are read where frames leave: run it without --parts");
	return 0;
}

int
partition_number(const char *text, struct partition_options *options, struct err *err)
{
	char rest;

	if (sscanf(text, "%4" SCNu32 "/%4" SCNu32 "%c", &options->which, &options->count, &rest) == 2 &&
	    options->count >= 2 && options->count <= PARTITION_MAX && options->which < options->count &&
	    strspn(text, "0123456789/") == strlen(text))
		return 0;
	return err_set(err, -EINVAL, "\"%s\" is no part: give I/N, as 0/2 and 1/2; N is 2 to %d", text, PARTITION_MAX);
}

struct partitions *
partition_create(struct scenario *scenario, const struct partition_options *options, struct err *err)
{
	const struct topo *topo = scenario->topo;
	struct partitions *partitions = calloc(1, sizeof(*partitions));
	int ret = check_scenario(scenario, err);

	if (partitions == NULL || ret < 0) {
		free(partitions);
		err_set(err, -ENOMEM, "out of memory for parts");
		return NULL;
	}
	partitions->which = options->which;
	partitions->count = options->count;
	partitions->scenario = scenario;
	partitions->node = REC_NONE;
	partitions->promised.state = PARTITION_WORKING; /* until it has looked at its hosts */
	segments_init(&partitions->segments);
	for (uint32_t p = 0; p < PARTITION_MAX; p++)
		partitions->peers[p] = (struct partition_peer){ .channel.fd = -1,
								.delay_ps = TIME_NEVER,
								.working = p < partitions->count };
	partitions->partition_of = calloc(topo->nnodes + 1u, sizeof(*partitions->partition_of));
	partitions->remote = calloc(topo->nnodes + 1u, sizeof(*partitions->remote));
	ret = partitions->partition_of != NULL && partitions->remote != NULL
		      ? division_make(scenario, partitions->count, partitions->partition_of, err)
		      : err_set(err, -ENOMEM, "out of memory for parts");
	if (ret == 0 && boundary_init(&partitions->boundary, topo, partitions->partition_of, partitions->which) < 0)
		ret = err_set(err, -ENOMEM, "out of memory for parts");
	if (ret < 0) {
		partition_destroy(partitions);
		return NULL;
	}
	for (uint32_t i = 0; i < topo->nnodes; i++)
		partitions->remote[i] = partitions->partition_of[i] != partitions->which;
	for (uint32_t i = 0; i < partitions->boundary.count; i++) {
		struct partition_peer *peer = &partitions->peers[partitions->boundary.crossings[i].from];

		peer->delay_ps = min_u64(peer->delay_ps, topo->ports[partitions->boundary.crossings[i].port].delay_ps +
								 scenario->timing.pipeline_ps);
	}
	partitions->partition = (struct partition){ &ops,
						    partitions,
						    partitions->which,
						    partitions->count,
						    partitions->remote,
						    partitions->which == 0,
						    { &partition_hosts, partitions } };
	return partitions;
}

void
partition_destroy(struct partitions *partitions)
{
	if (partitions == NULL)
		return;
	for (uint32_t p = 0; p < PARTITION_MAX; p++) {
		channel_fini(&partitions->peers[p].channel);
		json_decref(partitions->peers[p].reported);
		free(partitions->peers[p].report);
	}
	boundary_fini(&partitions->boundary);
	segments_fini(&partitions->segments);
	record_check_destroy(partitions->check);
	free(partitions->partition_of);
	free(partitions->remote);
	free(partitions);
}

const struct partition *
partition_here(const struct partitions *partitions)
{
	return partitions != NULL ? &partitions->partition : NULL;
}

struct record_check *
partition_check(const struct partitions *partitions)
{
	return partitions->check;
}

char *
partition_describe(const struct partitions *partitions, char *buf)
{
	char name[DIVISION_NAME];

	division_name(partitions->scenario->topo, partitions->partition_of, partitions->which, name);
	snprintf(buf, 200, "%s of %u, %u cables cut", name, partitions->count, partitions->boundary.count);
	return buf;
}

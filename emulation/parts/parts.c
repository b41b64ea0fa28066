/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/parts/parts.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/minmax.h"
#include "emulation/parts/parts_hosts.h"
#include "emulation/parts/parts_state.h"

static void
join(void *ctx, struct emulation *emulation)
{
	((struct parts *)ctx)->emulation = emulation;
}

static int
start(void *ctx, uint64_t *zero_ns, struct err *err)
{
	return parts_start(ctx, zero_ns, err);
}

static void
stop(void *ctx)
{
	parts_stop(ctx);
}

static bool
up(void *ctx, bool ours)
{
	struct parts *parts = ctx;
	bool all = parts->up = ours;

	for (uint32_t p = 0; p < parts->count; p++)
		all &= p == parts->which || parts->peers[p].up;
	return all;
}

static struct bodies *
bodies(void *ctx)
{
	return &((struct parts *)ctx)->segments.base;
}

static void
leaving(void *ctx, const struct window *window)
{
	cut_leaving(ctx, window);
}

static void
entering(void *ctx, const struct window *window)
{
	struct parts *parts = ctx;
	struct err err = { 0 };
	uint32_t from = 0;

	if (cut_entering(parts, window, &from, &err) < 0)
		parts_lose(parts, from, err.text);
}

static bool
over(void *ctx, enum rec_end_reason *reason, uint32_t *node)
{
	const struct parts *parts = ctx;

	*reason = parts->reason;
	*node = parts->node;
	return parts->over;
}

static struct part_crossed
crossed(const void *ctx)
{
	return ((const struct parts *)ctx)->cut.crossed;
}

static const char *
why(const void *ctx)
{
	const struct parts *parts = ctx;

	return parts->why[0] != '\0' ? parts->why : NULL;
}

static bool
broken(const void *ctx)
{
	const struct parts *parts = ctx;
	bool any = false;

	for (uint32_t p = 0; p < parts->count; p++)
		any |= parts->peers[p].lost || parts->peers[p].violates;
	return any;
}

static const json_t *
told(const void *ctx, uint32_t part)
{
	return ((const struct parts *)ctx)->peers[part].told;
}

static uint64_t
clock_error_ns(const void *ctx)
{
	const struct parts *parts = ctx;
	uint64_t worst_ns = emulation_clock_error_ns(parts->emulation);

	if (worst_ns != 0)
		worst_ns += parts->clock_error_ns; /* the first part's is 0 */
	for (uint32_t p = 0; p < parts->count; p++)
		worst_ns = max_u64(worst_ns, parts_told_clock_ns(parts->peers[p].told));
	return worst_ns;
}

static json_t *
parts_json(const void *ctx)
{
	const struct parts *parts = ctx;
	const struct topo *topo = parts->scenario->topo;
	json_t *nodes = json_array(), *root;

	for (uint32_t i = 0; i < topo->nnodes; i++)
		if (!parts->foreign[i])
			json_array_append_new(nodes, json_string(topo->nodes[i].name));
	root = json_pack("{s:I, s:I, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f}", "part", (json_int_t)parts->which, "of",
			 (json_int_t)parts->count, "nodes", nodes, "cut_cables", (json_int_t)parts->cut.count, "frames_in",
			 (json_int_t)parts->cut.crossed.in_packets, "frames_out",
			 (json_int_t)parts->cut.crossed.out_packets, "bytes_out", (json_int_t)parts->cut.crossed.out_bytes,
			 "frames_ended", (json_int_t)parts->cut.crossed.ended_packets, "windows_waited",
			 (json_int_t)parts->blocked_windows, "waited_s", (double)parts->waits_ns / 1e9, "clock_error_us",
			 (double)parts->clock_error_ns / 1e3);
	return root;
}

static const struct part_ops ops = {
	.join = join,
	.start = start,
	.stop = stop,
	.up = up,
	.bodies = bodies,
	.pace = parts_pace,
	.leaving = leaving,
	.entering = entering,
	.horizon_ps = parts_horizon,
	.over = over,
	.collect = parts_collect,
	.finish = parts_finish,
	.crossed = crossed,
	.why = why,
	.broken = broken,
	.told = told,
	.clock_error_ns = clock_error_ns,
	.json = parts_json,
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
parts_number(const char *text, struct parts_options *options, struct err *err)
{
	char rest;

	if (sscanf(text, "%4" SCNu32 "/%4" SCNu32 "%c", &options->which, &options->count, &rest) == 2 &&
	    options->count >= 2 && options->count <= PARTS_MAX && options->which < options->count &&
	    strspn(text, "0123456789/") == strlen(text))
		return 0;
	return err_set(err, -EINVAL, "\"%s\" is no part: give I/N, as 0/2 and 1/2; N is 2 to %d", text, PARTS_MAX);
}

struct parts *
parts_create(struct scenario *scenario, const struct parts_options *options, struct err *err)
{
	const struct topo *topo = scenario->topo;
	struct parts *parts = calloc(1, sizeof(*parts));
	int ret = check_scenario(scenario, err);

	if (parts == NULL || ret < 0) {
		free(parts);
		err_set(err, -ENOMEM, "out of memory for parts");
		return NULL;
	}
	parts->which = options->which;
	parts->count = options->count;
	parts->scenario = scenario;
	parts->node = REC_NONE;
	parts->said.state = PARTS_WORKING; /* until it has looked at its hosts */
	segments_init(&parts->segments);
	for (uint32_t p = 0; p < PARTS_MAX; p++)
		parts->peers[p] =
			(struct part_peer){ .channel.fd = -1, .delay_ps = TIME_NEVER, .working = p < parts->count };
	parts->part_of = calloc(topo->nnodes + 1u, sizeof(*parts->part_of));
	parts->foreign = calloc(topo->nnodes + 1u, sizeof(*parts->foreign));
	ret = parts->part_of != NULL && parts->foreign != NULL ? division_make(scenario, parts->count, parts->part_of, err)
							       : err_set(err, -ENOMEM, "out of memory for parts");
	if (ret == 0 && cut_init(&parts->cut, topo, parts->part_of, parts->which) < 0)
		ret = err_set(err, -ENOMEM, "out of memory for parts");
	if (ret < 0) {
		parts_destroy(parts);
		return NULL;
	}
	for (uint32_t i = 0; i < topo->nnodes; i++)
		parts->foreign[i] = parts->part_of[i] != parts->which;
	for (uint32_t i = 0; i < parts->cut.count; i++) {
		struct part_peer *peer = &parts->peers[parts->cut.ways[i].from];

		peer->delay_ps = min_u64(peer->delay_ps,
					 topo->ports[parts->cut.ways[i].port].delay_ps + scenario->timing.pipeline_ps);
	}
	parts->part = (struct part){
		&ops, parts, parts->which, parts->count, parts->foreign, parts->which == 0, { &parts_hosts, parts }
	};
	return parts;
}

void
parts_destroy(struct parts *parts)
{
	if (parts == NULL)
		return;
	for (uint32_t p = 0; p < PARTS_MAX; p++) {
		channel_fini(&parts->peers[p].channel);
		json_decref(parts->peers[p].told);
		free(parts->peers[p].report);
	}
	cut_fini(&parts->cut);
	segments_fini(&parts->segments);
	record_check_destroy(parts->check);
	free(parts->part_of);
	free(parts->foreign);
	free(parts);
}

const struct part *
parts_part(const struct parts *parts)
{
	return parts != NULL ? &parts->part : NULL;
}

struct record_check *
parts_check(const struct parts *parts)
{
	return parts->check;
}

char *
parts_describe(const struct parts *parts, char *buf)
{
	char name[DIVISION_NAME];

	division_name(parts->scenario->topo, parts->part_of, parts->which, name);
	snprintf(buf, 200, "%s of %u, %u cables cut", name, parts->count, parts->cut.count);
	return buf;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/parts/cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "emulation/parts/parts_state.h"
#include "rxe-hosts/device/embedded/embedded.h"

int
cut_init(struct cut *cut, const struct topo *topo, const uint32_t *part_of, uint32_t part)
{
	*cut = (struct cut){
		.ways = calloc(topo->nports + 1u, sizeof(*cut->ways)),
		.way_of = calloc(topo->nports + 1u, sizeof(*cut->way_of)),
		.leaving = calloc(topo->nports + 1u, sizeof(*cut->leaving)),
	};
	if (cut->ways == NULL || cut->way_of == NULL || cut->leaving == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < topo->nports; i++) {
		const struct topo_port *port = &topo->ports[i];

		cut->way_of[i] = TOPO_NONE;
		if (part_of[port->node] == part || part_of[port->peer] != part)
			continue;
		cut->way_of[i] = cut->count;
		cut->leaving[cut->count] = port->peer_port;
		cut->ways[cut->count++] = (struct cut_way){ .port = i, .from = part_of[port->node] };
	}
	return 0;
}

void
cut_fini(struct cut *cut)
{
	for (uint32_t i = 0; cut->ways != NULL && i < cut->count; i++) {
		free(cut->ways[i].frames);
		free(cut->ways[i].pauses);
	}
	free(cut->ways);
	free(cut->way_of);
	free(cut->leaving);
	*cut = (struct cut){ 0 };
}

/* What keeps the bytes of packets. */
static struct bodies *
bodies_of(const struct parts *parts)
{
	return parts->emulation->fabric->config.bodies;
}

void
cut_stop(struct parts *parts)
{
	for (uint32_t i = 0; i < parts->cut.count; i++) {
		struct cut_way *way = &parts->cut.ways[i];

		for (; way->frames_head < way->frames_used; way->frames_head++)
			body_release(bodies_of(parts), &way->frames[way->frames_head].p);
	}
}

void
cut_renew(struct cut *cut)
{
	for (uint32_t i = 0; i < cut->count; i++) {
		struct cut_way *way = &cut->ways[i], fresh = { .port = way->port, .from = way->from };

		fresh.frames = way->frames;
		fresh.frames_cap = way->frames_cap;
		fresh.pauses = way->pauses;
		fresh.pauses_cap = way->pauses_cap;
		*way = fresh;
	}
	cut->crossed = (struct part_crossed){ 0 };
}

uint64_t
cut_next_ps(const struct cut *cut)
{
	uint64_t next_ps = TIME_NEVER;

	for (uint32_t i = 0; i < cut->count; i++) {
		const struct cut_way *way = &cut->ways[i];

		if (way->frames_head < way->frames_used && way->frames[way->frames_head].p.time_ps < next_ps)
			next_ps = way->frames[way->frames_head].p.time_ps;
		if (way->pauses_head < way->pauses_used && way->pauses[way->pauses_head].time_ps < next_ps)
			next_ps = way->pauses[way->pauses_head].time_ps;
	}
	return next_ps;
}

static struct link *
link_of(const struct parts *parts, uint32_t port)
{
	return &parts->emulation->fabric->links[port];
}

static bool
lost_on_the_way(const struct cut_way *way, const struct link *link, uint64_t time_ps)
{
	return way->cut_ps != 0 && time_ps - link->delay_ps < way->cut_ps;
}

static int
enter_frames(struct parts *parts, struct cut_way *way, const struct window *window, struct err *err)
{
	struct link *link = link_of(parts, way->port);
	struct part_crossed *crossed = &parts->cut.crossed;
	uint32_t parity = window->parity ^ 1;

	for (; way->frames_head < way->frames_used; way->frames_head++) {
		const struct cut_frame *frame = &way->frames[way->frames_head];
		uint64_t left_ps = frame->p.time_ps - link->delay_ps;

		/* Those that are on the cable already meet its faults, as they would if it were whole. */
		if (frame->p.time_ps >= window->end_ps &&
		    (left_ps >= window->start_ps || !link_has_room(link, parity, false)))
			break;
		crossed->in_packets++;
		crossed->in_bytes += frame->p.wire_bytes;
		if (lost_on_the_way(way, link, frame->p.time_ps)) {
			body_release(bodies_of(parts), &frame->p);
			link->down_packets++;
			link->down_bytes += frame->p.wire_bytes;
			continue;
		}
		if (!link_has_room(link, parity, false))
			return err_set(err, -EPROTO, "it sends more frames than its cable carries");
		if (frame->p.flags & PKT_INT)
			link_send_int(link, parity, &frame->p, &frame->header, frame->p.time_ps - link->delay_ps);
		else
			link_send(link, parity, &frame->p, frame->p.time_ps - link->delay_ps);
	}
	if (way->frames_head == way->frames_used)
		way->frames_head = way->frames_used = 0;
	return 0;
}

static int
enter_pauses(struct parts *parts, struct cut_way *way, const struct window *window, struct err *err)
{
	struct link *link = link_of(parts, way->port);
	uint32_t parity = window->parity ^ 1;

	for (; way->pauses_head < way->pauses_used && way->pauses[way->pauses_head].time_ps < window->end_ps;
	     way->pauses_head++) {
		const struct pause_frame *pause = &way->pauses[way->pauses_head];

		if (lost_on_the_way(way, link, pause->time_ps))
			continue;
		if (!link_has_room(link, parity, true))
			return err_set(err, -EPROTO, "it sends more PAUSE frames than its cable carries");
		way->pausing = pause->xoff ? way->pausing | pause->prio_mask : way->pausing & (uint8_t)~pause->prio_mask;
		link_send_pause(link, parity, pause->prio_mask, pause->xoff, pause->time_ps - link->delay_ps);
	}
	if (way->pauses_head == way->pauses_used)
		way->pauses_head = way->pauses_used = 0;
	return 0;
}

static void
put_pause(struct parts *parts, uint32_t port, uint64_t time_ps, uint8_t prio_mask, bool xoff)
{
	const struct topo_port *from = &parts->scenario->topo->ports[port];
	const struct parts_pause pause = { .time_ps = time_ps, .port = port, .prio_mask = prio_mask, .xoff = xoff };

	channel_put(&parts->peers[parts->part_of[from->peer]].channel, PARTS_PAUSE, &pause, sizeof(pause), NULL, 0);
}

/*
 * A fault has mended the cable. Ours comes up with those classes paused that the other end was last heard to hold; the other
 * end is told what ours holds, one delay later: what it sends until then is what headroom is for.
 */
static void
mended(struct parts *parts, struct cut_way *way, uint32_t leaving, const struct window *window)
{
	const struct topo_port *port = &parts->scenario->topo->ports[leaving];
	struct node *node = parts->emulation->fabric->nodes[port->node];
	struct link *link = link_of(parts, way->port);
	uint64_t time_ps = window->start_ps + link_of(parts, leaving)->delay_ps;
	uint8_t held = node->ops->pausing(node, port->index);

	if (way->pausing != 0)
		link_send_pause(link, window->parity ^ 1, way->pausing, true, window->start_ps - link->delay_ps);
	put_pause(parts, leaving, time_ps, (uint8_t)~held, false);
	if (held != 0)
		put_pause(parts, leaving, time_ps, held, true);
}

int
cut_entering(struct parts *parts, const struct window *window, uint32_t *from, struct err *err)
{
	struct cut *cut = &parts->cut;

	for (uint32_t i = 0; i < cut->count; i++) {
		struct cut_way *way = &cut->ways[i];
		bool down = link_of(parts, way->port)->down;
		int ret;

		if (down && !way->down)
			way->cut_ps = window->start_ps;
		if (!down && way->down)
			mended(parts, way, cut->leaving[i], window);
		way->down = down;
		ret = enter_pauses(parts, way, window, err);
		if (ret == 0)
			ret = enter_frames(parts, way, window, err);
		*from = way->from;
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* @return bytes of what a message's segment brings along, in more; 0: it has no contents */
static size_t
contents_of(const struct parts *parts, const struct pkt *p, uint8_t *more)
{
	struct parts_contents contents = { 0 };
	struct pkt_message message = { 0 };
	struct body body;

	if (p->type == PKT_DATA && !(p->flags & PKT_BYTES))
		embedded_describe(parts->emulation->shared, &parts->scenario->roce, p, &message);
	else if (p->type == PKT_DATA && segments_read(&parts->segments, p->arg, &body))
		message = (struct pkt_message){ .va = body.va, .dma_bytes = body.dma_bytes, .payload = body.payload };
	if (message.payload == NULL)
		return 0;
	contents.va = message.va;
	contents.dma_bytes = message.dma_bytes;
	memcpy(more, &contents, sizeof(contents));
	memcpy(more + sizeof(contents), message.payload, p->payload_bytes);
	return sizeof(contents) + p->payload_bytes;
}

/*
 * What goes along with a descriptor, and what of it changes for that.
 * @return bytes in more; -ENOBUFS: the packet ends here, which is counted
 */
static int
put_contents(struct parts *parts, const struct pkt *p, struct parts_frame *frame, uint8_t *more, size_t cap)
{
	size_t size = 0;

	if (parts->scenario->nexternal != 0) {
		const struct host_driver *outside = &parts->emulation->drivers.rows[1];

		if (p->flags & PKT_BYTES)
			size = outside->ops->bytes(outside->ctx, p, more, cap);
		frame->has_bytes = size != 0;
		body_release(bodies_of(parts), p);
		if (size == 0 && ((p->flags & PKT_BYTES) || p->flow >= parts->scenario->plan->flows.count))
			return -ENOBUFS;
	} else if (parts->scenario->roce.real_payload) {
		size = contents_of(parts, p, more);
		frame->has_contents = size != 0;
		frame->arg = segments_imm(&parts->segments, p);
		body_release(bodies_of(parts), p);
	}
	frame->flags &= (uint8_t)~PKT_BYTES;
	return (int)size;
}

static void
put_frame(struct parts *parts, uint32_t port, const struct pkt *p, const struct int_header *header)
{
	uint32_t to = parts->part_of[parts->scenario->topo->ports[port].peer];
	uint8_t more[sizeof(struct parts_int) + sizeof(struct parts_contents) + UINT16_MAX];
	struct parts_frame frame = {
		.time_ps = p->time_ps,
		.port = port,
		.flow = p->flow,
		.psn = p->id,
		.arg = p->arg,
		.wire_bytes = p->wire_bytes,
		.payload_bytes = p->payload_bytes,
		.opcode = p->opcode,
		.syndrome = p->syndrome,
		.type = p->type,
		.prio = p->prio,
		.flags = p->flags,
		.ttl = p->ttl,
	};
	size_t size = 0;
	int contents;

	if (p->flags & PKT_INT) {
		struct parts_int ints = { .path = header->path, .count = header->count };

		memcpy(ints.hops, header->hops, sizeof(ints.hops));
		memcpy(more, &ints, sizeof(ints));
		size = sizeof(ints);
	}
	contents = put_contents(parts, p, &frame, more + size, sizeof(more) - size);
	parts->cut.crossed.out_packets++;
	parts->cut.crossed.out_bytes += p->wire_bytes;
	if (contents < 0)
		parts->cut.crossed.ended_packets++;
	else
		channel_put(&parts->peers[to].channel, PARTS_FRAME, &frame, sizeof(frame), more, size + (size_t)contents);
}

void
cut_leaving(struct parts *parts, const struct window *window)
{
	for (uint32_t i = 0; i < parts->cut.count; i++) {
		uint32_t port = parts->cut.leaving[i];
		struct link *link = link_of(parts, port);
		struct link_lane *lane = &link->lane[window->parity];

		for (uint32_t n = 0; n < lane->npauses; n++)
			put_pause(parts, port, lane->pauses[n].time_ps, lane->pauses[n].prio_mask, lane->pauses[n].xoff);
		for (uint32_t n = 0; n < lane->npkts; n++)
			put_frame(parts, port, &lane->pkts[n], link->inband ? &link->lane_ints[window->parity][n] : NULL);
		lane->npkts = lane->npauses = 0;
	}
}

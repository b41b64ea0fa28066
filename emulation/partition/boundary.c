/* SPDX-License-Identifier: BSD-3-Clause */
#include "emulation/partition/boundary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/grow.h"
#include "emulation/partition/partition_state.h"
#include "rxe-hosts/device/embedded/embedded.h"

int
boundary_init(struct boundary *boundary, const struct topo *topo, const uint32_t *partition_of, uint32_t partition)
{
	*boundary = (struct boundary){
		.crossings = calloc(topo->nports + 1u, sizeof(*boundary->crossings)),
		.crossing_of = calloc(topo->nports + 1u, sizeof(*boundary->crossing_of)),
		.leaving = calloc(topo->nports + 1u, sizeof(*boundary->leaving)),
	};
	if (boundary->crossings == NULL || boundary->crossing_of == NULL || boundary->leaving == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < topo->nports; i++) {
		const struct topo_port *port = &topo->ports[i];

		boundary->crossing_of[i] = TOPO_NONE;
		if (partition_of[port->node] == partition || partition_of[port->peer] != partition)
			continue;
		boundary->crossing_of[i] = boundary->count;
		boundary->leaving[boundary->count] = port->peer_port;
		boundary->crossings[boundary->count++] =
			(struct boundary_crossing){ .port = i, .from = partition_of[port->node] };
	}
	return 0;
}

void
boundary_fini(struct boundary *boundary)
{
	for (uint32_t i = 0; boundary->crossings != NULL && i < boundary->count; i++) {
		free(boundary->crossings[i].frames);
		free(boundary->crossings[i].pauses);
	}
	free(boundary->crossings);
	free(boundary->crossing_of);
	free(boundary->leaving);
	*boundary = (struct boundary){ 0 };
}

/* What keeps the bytes of packets. */
static struct bodies *
bodies_of(const struct partitions *partitions)
{
	return partitions->emulation->fabric->config.bodies;
}

void
boundary_stop(struct partitions *partitions)
{
	for (uint32_t i = 0; i < partitions->boundary.count; i++) {
		struct boundary_crossing *crossing = &partitions->boundary.crossings[i];

		for (; crossing->frames_head < crossing->frames_used; crossing->frames_head++)
			body_release(bodies_of(partitions), &crossing->frames[crossing->frames_head].p);
	}
}

void
boundary_renew(struct boundary *boundary)
{
	for (uint32_t i = 0; i < boundary->count; i++) {
		struct boundary_crossing *crossing = &boundary->crossings[i],
					 fresh = { .port = crossing->port, .from = crossing->from };

		fresh.frames = crossing->frames;
		fresh.frames_cap = crossing->frames_cap;
		fresh.pauses = crossing->pauses;
		fresh.pauses_cap = crossing->pauses_cap;
		*crossing = fresh;
	}
	boundary->crossed = (struct partition_crossed){ 0 };
}

uint64_t
boundary_next_ps(const struct boundary *boundary)
{
	uint64_t next_ps = TIME_NEVER;

	for (uint32_t i = 0; i < boundary->count; i++) {
		const struct boundary_crossing *crossing = &boundary->crossings[i];

		if (crossing->frames_head < crossing->frames_used &&
		    crossing->frames[crossing->frames_head].p.time_ps < next_ps)
			next_ps = crossing->frames[crossing->frames_head].p.time_ps;
		if (crossing->pauses_head < crossing->pauses_used &&
		    crossing->pauses[crossing->pauses_head].time_ps < next_ps)
			next_ps = crossing->pauses[crossing->pauses_head].time_ps;
	}
	return next_ps;
}

static struct link *
link_of(const struct partitions *partitions, uint32_t port)
{
	return &partitions->emulation->fabric->links[port];
}

static bool
lost_in_transit(const struct boundary_crossing *crossing, const struct link *link, uint64_t time_ps)
{
	return crossing->down_ps != 0 && time_ps - link->delay_ps < crossing->down_ps;
}

static int
enter_frames(struct partitions *partitions, struct boundary_crossing *crossing, const struct window *window,
	     struct err *err)
{
	struct link *link = link_of(partitions, crossing->port);
	struct partition_crossed *crossed = &partitions->boundary.crossed;
	uint32_t parity = window->parity ^ 1;

	for (; crossing->frames_head < crossing->frames_used; crossing->frames_head++) {
		const struct boundary_frame *frame = &crossing->frames[crossing->frames_head];
		uint64_t left_ps = frame->p.time_ps - link->delay_ps;

		/* Those that are on the cable already meet its faults, as they would if it were whole. */
		if (frame->p.time_ps >= window->end_ps &&
		    (left_ps >= window->start_ps || !link_has_room(link, parity, false)))
			break;
		crossed->in_packets++;
		crossed->in_bytes += frame->p.wire_bytes;
		if (lost_in_transit(crossing, link, frame->p.time_ps)) {
			body_release(bodies_of(partitions), &frame->p);
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
	if (crossing->frames_head == crossing->frames_used)
		crossing->frames_head = crossing->frames_used = 0;
	return 0;
}

static int
enter_pauses(struct partitions *partitions, struct boundary_crossing *crossing, const struct window *window,
	     struct err *err)
{
	struct link *link = link_of(partitions, crossing->port);
	uint32_t parity = window->parity ^ 1;

	for (; crossing->pauses_head < crossing->pauses_used &&
	       crossing->pauses[crossing->pauses_head].time_ps < window->end_ps;
	     crossing->pauses_head++) {
		const struct pause_frame *pause = &crossing->pauses[crossing->pauses_head];

		if (lost_in_transit(crossing, link, pause->time_ps))
			continue;
		if (!link_has_room(link, parity, true))
			return err_set(err, -EPROTO, "it sends more PAUSE frames than its cable carries");
		crossing->pausing =
			pause->xoff ? crossing->pausing | pause->prio_mask : crossing->pausing & (uint8_t)~pause->prio_mask;
		link_send_pause(link, parity, pause->prio_mask, pause->xoff, pause->time_ps - link->delay_ps);
	}
	if (crossing->pauses_head == crossing->pauses_used)
		crossing->pauses_head = crossing->pauses_used = 0;
	return 0;
}

static void
put_pause(struct partitions *partitions, uint32_t port, uint64_t time_ps, uint8_t prio_mask, bool xoff)
{
	const struct topo_port *from = &partitions->scenario->topo->ports[port];
	const struct partition_pause pause = { .time_ps = time_ps, .port = port, .prio_mask = prio_mask, .xoff = xoff };

	channel_put(&partitions->peers[partitions->partition_of[from->peer]].channel, PARTITION_PAUSE, &pause,
		    sizeof(pause), NULL, 0);
}

/*
 * A fault has mended the cable. Ours comes up with those classes paused that the other end was last heard to hold; the other
 * end is told what ours holds, one delay later: what it sends until then is what headroom is for.
 */
static void
mended(struct partitions *partitions, struct boundary_crossing *crossing, uint32_t leaving, const struct window *window)
{
	const struct topo_port *port = &partitions->scenario->topo->ports[leaving];
	struct node *node = partitions->emulation->fabric->nodes[port->node];
	struct link *link = link_of(partitions, crossing->port);
	uint64_t time_ps = window->start_ps + link_of(partitions, leaving)->delay_ps;
	uint8_t held = node->ops->pausing(node, port->index);

	if (crossing->pausing != 0)
		link_send_pause(link, window->parity ^ 1, crossing->pausing, true, window->start_ps - link->delay_ps);
	put_pause(partitions, leaving, time_ps, (uint8_t)~held, false);
	if (held != 0)
		put_pause(partitions, leaving, time_ps, held, true);
}

int
boundary_entering(struct partitions *partitions, const struct window *window, uint32_t *from, struct err *err)
{
	struct boundary *boundary = &partitions->boundary;

	for (uint32_t i = 0; i < boundary->count; i++) {
		struct boundary_crossing *crossing = &boundary->crossings[i];
		bool down = link_of(partitions, crossing->port)->down;
		int ret;

		if (down && !crossing->down)
			crossing->down_ps = window->start_ps;
		if (!down && crossing->down)
			mended(partitions, crossing, boundary->leaving[i], window);
		crossing->down = down;
		ret = enter_pauses(partitions, crossing, window, err);
		if (ret == 0)
			ret = enter_frames(partitions, crossing, window, err);
		*from = crossing->from;
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* @return bytes of what a message's segment brings along, in more; 0: it has no contents */
static size_t
contents_of(const struct partitions *partitions, const struct pkt *p, uint8_t *more)
{
	struct partition_contents contents = { 0 };
	struct pkt_message message = { 0 };
	struct body body;

	if (p->type == PKT_DATA && !(p->flags & PKT_BYTES))
		embedded_describe(partitions->emulation->shared, &partitions->scenario->roce, p, &message);
	else if (p->type == PKT_DATA && segments_read(&partitions->segments, p->arg, &body))
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
put_contents(struct partitions *partitions, const struct pkt *p, struct partition_frame *frame, uint8_t *more, size_t cap)
{
	size_t size = 0;

	if (partitions->scenario->nexternal != 0) {
		const struct host_driver *kernel_driver = &partitions->emulation->drivers.rows[1];

		if (p->flags & PKT_BYTES)
			size = kernel_driver->ops->bytes(kernel_driver->ctx, p, more, cap);
		frame->has_bytes = size != 0;
		body_release(bodies_of(partitions), p);
		if (size == 0 && ((p->flags & PKT_BYTES) || p->flow >= partitions->scenario->plan->flows.count))
			return -ENOBUFS;
	} else if (partitions->scenario->roce.real_payload) {
		size = contents_of(partitions, p, more);
		frame->has_contents = size != 0;
		frame->arg = segments_imm(&partitions->segments, p);
		body_release(bodies_of(partitions), p);
	}
	frame->flags &= (uint8_t)~PKT_BYTES;
	return (int)size;
}

static void
put_frame(struct partitions *partitions, uint32_t port, const struct pkt *p, const struct int_header *header)
{
	uint32_t to = partitions->partition_of[partitions->scenario->topo->ports[port].peer];
	uint8_t more[sizeof(struct partition_int) + sizeof(struct partition_contents) + UINT16_MAX];
	struct partition_frame frame = {
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
		struct partition_int ints = { .path = header->path, .count = header->count };

		memcpy(ints.hops, header->hops, sizeof(ints.hops));
		memcpy(more, &ints, sizeof(ints));
		size = sizeof(ints);
	}
	contents = put_contents(partitions, p, &frame, more + size, sizeof(more) - size);
	partitions->boundary.crossed.out_packets++;
	partitions->boundary.crossed.out_bytes += p->wire_bytes;
	if (contents < 0)
		partitions->boundary.crossed.ended_packets++;
	else
		channel_put(&partitions->peers[to].channel, PARTITION_FRAME, &frame, sizeof(frame), more,
			    size + (size_t)contents);
}

void
boundary_leaving(struct partitions *partitions, const struct window *window)
{
	for (uint32_t i = 0; i < partitions->boundary.count; i++) {
		uint32_t port = partitions->boundary.leaving[i];
		struct link *link = link_of(partitions, port);
		struct link_lane *lane = &link->lane[window->parity];

		for (uint32_t n = 0; n < lane->npauses; n++)
			put_pause(partitions, port, lane->pauses[n].time_ps, lane->pauses[n].prio_mask,
				  lane->pauses[n].xoff);
		for (uint32_t n = 0; n < lane->npkts; n++)
			put_frame(partitions, port, &lane->pkts[n],
				  link->inband ? &link->lane_ints[window->parity][n] : NULL);
		lane->npkts = lane->npauses = 0;
	}
}
